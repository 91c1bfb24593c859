/* conv_stride2.inl - the transpose of a convolution of stride 2 with few rows per group (the gradient for a
 * picture): its four phases at once. They read almost the same values, so a vector of x, once loaded, meets
 * the weights of every phase that has it under a tap: with 3 rows 12 sums per load instead of 3. Each sum
 * takes its taps in the order in which its phase alone would: the bits are those of conv_direct.inl. */
#ifndef ASC_CONV_STRIDE2_INL
#define ASC_CONV_STRIDE2_INL

#include "conv_direct.inl"

enum { CONV_S2_VECS = VEC_ISA == 2 ? 2 : 1 /* positions at once: 4 phases of 3 rows stay in registers */ };

typedef struct conv_s2 {
    asc_conv_job j; /* of phase 0; taps of axes 1 and 2: all offsets that some phase reads, descending */
    uint8_t on[2][CONV_ROW_TAPS]; /* axes 1 and 2: bit p is set where phase p has a tap */
    int64_t kernel2, group_floats;
    const float *w; /* [groups][c][tap of axis 0][offset 1][offset 2][phases 1 that are on][phases 2][m] */
} conv_s2;

typedef struct conv_s2_chunk {
    int64_t begin, n; /* positions of a row */
} conv_s2_chunk;

/* The offsets of one axis from those of its two phases. */
static bool conv_s2_axis(conv_s2 *s, const asc_conv_job *p0, const asc_conv_job *p1, int d) {
    const int64_t top = asc_kmax(p0->off[d], p1->off[d]), skip[2] = {top - p0->off[d], top - p1->off[d]},
                  taps[2] = {p0->n_taps[d], p1->n_taps[d]},
                  n = asc_kmax(skip[0] + taps[0], skip[1] + taps[1]);
    if (n > CONV_ROW_TAPS) return false;
    for (int64_t u = 0; u < n; u++) {
        s->on[d - 1][u] = 0;
        for (int p = 0; p < 2; p++)
            if (u >= skip[p] && u < skip[p] + taps[p]) s->on[d - 1][u] |= (uint8_t)(1 << p);
    }
    s->j.off[d] = top;
    s->j.off_step[d] = -1;
    s->j.n_taps[d] = n;
    return true;
}

/* Whether these jobs, all those of the transpose, are four phases to be done at once. */
static bool conv_s2_find(const asc_conv_sizes *sizes, const asc_conv_job *jobs, int n_jobs, conv_s2 *s) {
    const asc_geometry *g = &sizes->geo;
    if (n_jobs != 4 || jobs[0].m < 1 || jobs[0].m > CONV_DIRECT_ROWS || g->stride[0] != 1) return false;
    for (int d = 1; d < ASC_CONV_AXES; d++)
        if (g->stride[d] != 2 || g->dilation[d] != 1) return false;
    s->j = jobs[0];
    s->kernel2 = g->kernel[2];
    s->group_floats = s->j.c * s->j.m * g->kernel[0] * g->kernel[1] * g->kernel[2];
    return conv_s2_axis(s, &jobs[0], &jobs[2], 1) && conv_s2_axis(s, &jobs[0], &jobs[1], 2);
}

/* The weight [groups c, m, kernel] as s->w. */
static void conv_s2_pack(conv_s2 *s, const asc_conv_job *jobs, const asc_conv_sizes *sizes, const float *w,
                         float *out) {
    const asc_conv_job *j = &s->j;
    const int64_t *kernel = sizes->geo.kernel;
    s->w = out;
    for (int64_t gc = 0; gc < j->groups * j->c; gc++, w += j->m * kernel[0] * kernel[1] * kernel[2])
        for (int64_t t0 = 0; t0 < kernel[0]; t0++)
            for (int64_t u = 0; u < j->n_taps[1] * j->n_taps[2]; u++) {
                const int64_t u1 = u / j->n_taps[2], u2 = u % j->n_taps[2];
                for (int p = 0; p < 4; p++) {
                    if (!(s->on[0][u1] >> (p >> 1) & 1) || !(s->on[1][u2] >> (p & 1) & 1)) continue;
                    const asc_conv_job *q = &jobs[p];
                    const int64_t k1 = q->first_tap[1] + (u1 - (j->off[1] - q->off[1])) * q->tap_step[1],
                                  k2 = q->first_tap[2] + (u2 - (j->off[2] - q->off[2])) * q->tap_step[2];
                    for (int64_t i = 0; i < j->m; i++)
                        *out++ = w[((i * kernel[0] + t0) * kernel[1] + k1) * kernel[2] + k2];
                }
            }
}

/* What a chunk at the end of a row reads, `n` elements from `first` on, with zeros outside the row. AVX-512
 * has masks for that; otherwise they are copied, and not inline: that would cost the sums their registers. */
#if VEC_ISA == 2
VEC_INLINE vf conv_s2_read(const float *row, int64_t size, int64_t first) {
    const conv_piece p = {.at = first,
                          .first = (int)asc_kmin(asc_kmax(-first, 0), VW),
                          .end = (int)asc_kmin(asc_kmax(size - first, 0), VW)};
    return conv_read(vzero(), row, &p, 1);
}
#else
enum { CONV_S2_READ = CONV_ROW_TAPS + CONV_S2_VECS * VW };
static __attribute__((noinline)) void conv_s2_copy(const float *row, int64_t size, int64_t first, int64_t n,
                                                   float *out) {
    for (int64_t k = 0; k < n; k++) out[k] = first + k >= 0 && first + k < size ? row[first + k] : 0.0f;
}
#endif

/* Sums of both phases of the last axis to their places in row 2 o + p1 of a plane. */
static inline void conv_s2_store(const asc_conv_job *j, const int64_t *o, const conv_s2_chunk *r, int p1,
                                 const float (*sum)[CONV_S2_VECS * VW], float *y) {
    const int64_t at = 2 * o[1] + p1, n = asc_kmin(2 * r->n, j->dst[2] - 2 * r->begin);
    if (at >= j->dst[1]) return;
    y += (o[0] * j->dst[1] + at) * j->dst[2] + 2 * r->begin;
    for (int64_t k = 0; k < n / 2; k++) {
        y[2 * k] = sum[0][k];
        y[2 * k + 1] = sum[1][k];
    }
    if (n % 2 != 0) y[n - 1] = sum[0][n / 2];
}

/* One chunk of one row of positions, of `rows` rows of the weight and `vecs` vectors. */
VEC_INLINE void conv_s2_sum(const conv_s2 *s, const float *x, const float *w, const int64_t *o,
                            const conv_s2_chunk *r, float *y, const int rows, const int vecs) {
    const asc_conv_job *j = &s->j;
    const int64_t n1 = j->n_taps[1], n2 = j->n_taps[2], fetch = r->n + n2 + 15,
                  lowest = r->begin + j->off[2] - (n2 - 1);
#if VEC_ISA != 2
    const int64_t n_read = n2 - 1 + vecs * VW;
    const bool inside = lowest >= 0 && lowest + n_read <= j->src[2];
    float copy[CONV_S2_READ];
#endif
    vf acc[4][CONV_DIRECT_ROWS][CONV_S2_VECS];
    VEC_UNROLL
    for (int p = 0; p < 4; p++) {
        VEC_UNROLL
        for (int i = 0; i < rows; i++) {
            VEC_UNROLL
            for (int v = 0; v < vecs; v++) acc[p][i][v] = vzero();
        }
    }
    for (int64_t c = 0; c < j->c; c++, x += j->src_plane)
        for (int64_t t = 0; t < j->n_taps[0] * n1; t++) {
            const int64_t u1 = t % n1, i0 = o[0] + j->off[0] + t / n1 * j->off_step[0],
                          i1 = o[1] + j->off[1] - u1;
            const unsigned on1 = s->on[0][u1];
            if (i0 < 0 || i0 >= j->src[0] || i1 < 0 || i1 >= j->src[1]) {
                w += (int64_t)((on1 & 1) + (on1 >> 1)) * s->kernel2 * rows;
                continue;
            }
            const float *row = x + (i0 * j->src[1] + i1) * j->src[2];
            if (c + CONV_AHEAD < j->c)
                for (int64_t k = 0; k < fetch; k += 16)
                    __builtin_prefetch(row + CONV_AHEAD * j->src_plane + lowest + k, 0, 3);
#if VEC_ISA != 2
            if (!inside) conv_s2_copy(row, j->src[2], lowest, n_read, copy);
            const float *from = (inside ? row + lowest : copy) + n2 - 1;
#endif
            for (int64_t u2 = 0; u2 < n2; u2++) {
                const unsigned on2 = s->on[1][u2];
                vf xv[CONV_S2_VECS];
#if VEC_ISA == 2
                const int64_t at = lowest + n2 - 1 - u2;
                const bool whole = at >= 0 && at + vecs * VW <= j->src[2];
                VEC_UNROLL
                for (int v = 0; v < vecs; v++)
                    xv[v] = whole ? vload(row + at + v * VW) : conv_s2_read(row, j->src[2], at + v * VW);
#else
                VEC_UNROLL
                for (int v = 0; v < vecs; v++) xv[v] = vload(from - u2 + v * VW);
#endif
                VEC_UNROLL
                for (int p = 0; p < 4; p++) {
                    if (!(on1 >> (p >> 1) & 1) || !(on2 >> (p & 1) & 1)) continue;
                    VEC_UNROLL
                    for (int i = 0; i < rows; i++) {
                        const vf wv = vset1(w[i]);
                        VEC_UNROLL
                        for (int v = 0; v < vecs; v++) acc[p][i][v] = vfma(wv, xv[v], acc[p][i][v]);
                    }
                    w += rows;
                }
            }
        }
    VEC_UNROLL
    for (int p1 = 0; p1 < 2; p1++) {
        VEC_UNROLL
        for (int i = 0; i < rows; i++) {
            float sum[2][CONV_S2_VECS * VW];
            VEC_UNROLL
            for (int v = 0; v < CONV_S2_VECS; v++) {
                vstore(sum[0] + v * VW, v < vecs ? acc[2 * p1][i][v] : vzero());
                vstore(sum[1] + v * VW, v < vecs ? acc[2 * p1 + 1][i][v] : vzero());
            }
            conv_s2_store(j, o, r, p1, (const float(*)[CONV_S2_VECS * VW]) sum, y + i * j->dst_plane);
        }
    }
}

typedef void conv_s2_step(const conv_s2 *s, const float *x, const float *w, const int64_t *o,
                          const conv_s2_chunk *r, float *y);

#define CONV_S2_STEP(rows, vecs)                                                                             \
    static __attribute__((noinline)) void conv_s2_##rows##x##vecs(const conv_s2 *s, const float *x,          \
                                                                  const float *w, const int64_t *o,          \
                                                                  const conv_s2_chunk *r, float *y) {        \
        conv_s2_sum(s, x, w, o, r, y, rows, VEC_MIN(vecs, CONV_S2_VECS));                                    \
    }
CONV_S2_STEP(1, 1)
CONV_S2_STEP(2, 1)
CONV_S2_STEP(3, 1)
#if VEC_ISA == 2
CONV_S2_STEP(1, 2)
CONV_S2_STEP(2, 2)
CONV_S2_STEP(3, 2)
#endif
static conv_s2_step *const conv_s2_steps[CONV_S2_VECS][CONV_DIRECT_ROWS] = {
    {conv_s2_1x1, conv_s2_2x1, conv_s2_3x1},
#if VEC_ISA == 2
    {conv_s2_1x2, conv_s2_2x2, conv_s2_3x2},
#endif
};

/* A band of rows of positions of one group of one example. */
static void conv_s2_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const conv_s2 *s = self;
    const asc_conv_job *j = &s->j;
    const int64_t rows = j->grid[0] * j->grid[1], bands = asc_kceil(rows, CONV_BAND), bg = u / bands,
                  first = u % bands * CONV_BAND, end = asc_kmin(first + CONV_BAND, rows);
    const unsigned int mode = asc_flush_enter();
    for (int64_t begin = 0; begin < j->grid[2]; begin += CONV_S2_VECS * VW) {
        const conv_s2_chunk chunk = {.begin = begin, .n = asc_kmin(CONV_S2_VECS * VW, j->grid[2] - begin)};
        for (int64_t r = first; r < end; r++) {
            const int64_t o[2] = {r / j->grid[1], r % j->grid[1]};
            conv_s2_steps[(chunk.n - 1) / VW][j->m - 1](s, j->x + bg * j->c * j->src_plane,
                                                        s->w + bg % j->groups * s->group_floats, o, &chunk,
                                                        j->y + bg * j->m * j->dst_plane);
        }
    }
    asc_flush_leave(mode);
}

static void conv_s2_run(conv_s2 *s, int threads) {
    asc_kpar(s->j.batch * s->j.groups * asc_kceil(s->j.grid[0] * s->j.grid[1], CONV_BAND), threads, false,
             conv_s2_unit, s);
}

#endif
