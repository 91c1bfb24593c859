/* conv_direct.inl - convolution jobs with few rows per group (depthwise): no column is used often enough to
 * be gathered, so each output row is summed up tap by tap where it stands, 64 positions in registers. The
 * order is that of (channel, tap). */
#ifndef ASC_CONV_DIRECT_INL
#define ASC_CONV_DIRECT_INL

#include "conv_fill.inl"
#include "flush.h"

enum {
    CONV_CHUNK = 512,     /* positions of a row at once: stays in the first-level cache */
    CONV_DIRECT_ROWS = 3, /* of the weight, at most */
    CONV_BAND = 16,       /* rows of positions that are a thread's unit of work */
    CONV_AHEAD = 2,       /* channels */
    CONV_AT_ONCE = 4,     /* vectors */
    CONV_ROW_TAPS = 64    /* longer rows of taps go the slower way */
};

/* acc[i] += w x[i step] */
static void conv_axpy(float *acc, const float *x, int64_t step, float w, int64_t n) {
    if (step == 1) {
        const vf wv = vset1(w);
        int64_t i = 0;
        for (; i + VW <= n; i += VW) vstore(acc + i, vfma(wv, vload(x + i), vload(acc + i)));
        if (i < n) vstoren(acc + i, vfma(wv, vloadn(x + i, n - i), vloadn(acc + i, n - i)), n - i);
        return;
    }
    float row[64];
    for (int64_t i = 0; i < n; i += 64) {
        const int64_t len = asc_kmin(64, n - i);
        for (int64_t k = 0; k < len; k++) row[k] = x[(i + k) * step];
        conv_axpy(acc + i, row, 1, w, len);
    }
}

/* Positions [begin, begin + n) of row (o0, o1). */
static void conv_direct_row(const asc_conv_job *j, const float *x, const float *w, const int64_t *o,
                            int64_t begin, int64_t n, float *acc) {
    for (int64_t c = 0; c < j->c; c++)
        for (int64_t t0 = 0; t0 < j->n_taps[0]; t0++) {
            const int64_t i0 = o[0] * j->step[0] + j->off[0] + t0 * j->off_step[0];
            if (i0 < 0 || i0 >= j->src[0]) continue;
            for (int64_t t1 = 0; t1 < j->n_taps[1]; t1++) {
                const int64_t i1 = o[1] * j->step[1] + j->off[1] + t1 * j->off_step[1];
                if (i1 < 0 || i1 >= j->src[1]) continue;
                const float *row = x + c * j->src_plane + (i0 * j->src[1] + i1) * j->src[2],
                            *wr = w + c * j->taps + (t0 * j->n_taps[1] + t1) * j->n_taps[2];
                for (int64_t t2 = 0; t2 < j->n_taps[2]; t2++) {
                    const int64_t off = j->off[2] + t2 * j->off_step[2];
                    int64_t first, end;
                    asc_window_valid(off, j->step[2], j->src[2], begin + n, &first, &end);
                    first = asc_kmax(first, begin);
                    if (first < end)
                        conv_axpy(acc + first - begin, row + first * j->step[2] + off, j->step[2], wr[t2],
                                  end - first);
                }
            }
        }
}

static float *conv_direct_to(const asc_conv_job *j, float *y, const int64_t *o, int64_t begin) {
    return y +
           ((o[0] * j->dst_step[0] + j->dst_off[0]) * j->dst[1] + o[1] * j->dst_step[1] + j->dst_off[1]) *
               j->dst[2] +
           begin * j->dst_step[2] + j->dst_off[2];
}

static void conv_direct_long(const asc_conv_job *j, const float *x, const float *w, float *y, float bias) {
    float acc[CONV_CHUNK];
    int64_t o[2];
    for (o[0] = 0; o[0] < j->grid[0]; o[0]++)
        for (o[1] = 0; o[1] < j->grid[1]; o[1]++)
            for (int64_t begin = 0; begin < j->grid[2]; begin += CONV_CHUNK) {
                const int64_t n = asc_kmin(CONV_CHUNK, j->grid[2] - begin);
                float *to = conv_direct_to(j, y, o, begin);
                memset(acc, 0, (size_t)n * sizeof acc[0]);
                conv_direct_row(j, x, w, o, begin, n, acc);
                for (int64_t i = 0; i < n; i++) to[i * j->dst_step[2]] = acc[i] + bias;
            }
}

/* What each tap of a row reads for positions [begin, begin + n): the same in every row. */
typedef struct conv_row_taps {
    int64_t begin, n;
    int vecs;
    bool whole[CONV_ROW_TAPS]; /* every lane of every vector */
    conv_piece p[CONV_ROW_TAPS][CONV_AT_ONCE];
} conv_row_taps;

static void conv_row_taps_find(const asc_conv_job *j, int64_t begin, conv_row_taps *r) {
    r->begin = begin;
    r->n = asc_kmin(CONV_AT_ONCE * VW, j->grid[2] - begin);
    r->vecs = (int)asc_kceil(r->n, VW);
    for (int64_t t = 0; t < j->n_taps[2]; t++) {
        const int64_t off = j->off[2] + t * j->off_step[2];
        int64_t first, end;
        asc_window_valid(off, j->step[2], j->src[2], begin + r->n, &first, &end);
        r->whole[t] = r->n == CONV_AT_ONCE * VW && first <= begin && end == begin + r->n;
        for (int v = 0; v < r->vecs; v++) {
            const int64_t at = begin + v * VW;
            r->p[t][v] = (conv_piece){.at = at * j->step[2] + off,
                                      .first = (int)asc_kmin(asc_kmax(first - at, 0), VW),
                                      .end = (int)asc_kmin(asc_kmax(end - at, 0), VW)};
        }
    }
}

/* One chunk of one row of positions, for `rows` rows of the weight; step: of the reads. Both known when
 * compiled where it matters. */
VEC_INLINE void conv_direct_step(const asc_conv_job *j, const float *x, const float *w, const int64_t *o,
                                 const conv_row_taps *r, const float *bias, float *to, const int rows,
                                 const int64_t step) {
    vf acc[CONV_DIRECT_ROWS][CONV_AT_ONCE];
    const int64_t fetch = r->n * j->step[2] + 16;
    VEC_UNROLL
    for (int i = 0; i < rows; i++) {
        VEC_UNROLL
        for (int v = 0; v < CONV_AT_ONCE; v++) acc[i][v] = vzero();
    }
    for (int64_t c = 0; c < j->c; c++, x += j->src_plane)
        for (int64_t t0 = 0; t0 < j->n_taps[0]; t0++) {
            const int64_t i0 = o[0] * j->step[0] + j->off[0] + t0 * j->off_step[0];
            for (int64_t t1 = 0; t1 < j->n_taps[1]; t1++, w += j->n_taps[2]) {
                const int64_t i1 = o[1] * j->step[1] + j->off[1] + t1 * j->off_step[1];
                if (i0 < 0 || i0 >= j->src[0] || i1 < 0 || i1 >= j->src[1]) continue;
                const float *row = x + (i0 * j->src[1] + i1) * j->src[2];
                if (c + CONV_AHEAD < j->c) /* planes are far apart: the processor does not see it coming */
                    for (int64_t k = 0; k < fetch; k += 16)
                        __builtin_prefetch(row + CONV_AHEAD * j->src_plane + r->p[0][0].at + k, 0, 3);
                for (int64_t t = 0; t < j->n_taps[2]; t++) {
                    const bool whole = step == 1 && r->whole[t];
                    const float *from = row + r->p[t][0].at;
                    VEC_UNROLL
                    for (int v = 0; v < CONV_AT_ONCE; v++) {
                        if (!whole && v >= r->vecs) break;
                        const vf xv =
                            whole ? vload(from + v * VW) : conv_read(vzero(), row, &r->p[t][v], step);
                        VEC_UNROLL
                        for (int i = 0; i < rows; i++)
                            acc[i][v] = vfma(vset1(w[i * j->k + t]), xv, acc[i][v]);
                    }
                }
            }
        }
    float out[CONV_AT_ONCE * VW];
    const bool dense = j->dst_step[2] == 1;
    VEC_UNROLL
    for (int i = 0; i < rows; i++) {
        float *y = to + i * j->dst_plane;
        VEC_UNROLL
        for (int v = 0; v < CONV_AT_ONCE; v++) {
            const int64_t n = r->n - v * VW;
            const vf sum = acc[i][v] + vset1(bias != NULL ? bias[i] : 0.0f);
            if (!dense)
                vstore(out + v * VW, sum);
            else if (n >= VW)
                vstore(y + v * VW, sum);
            else if (n > 0)
                vstoren(y + v * VW, sum, n);
        }
        for (int64_t k = 0; k < r->n && !dense; k++) y[k * j->dst_step[2]] = out[k];
    }
}

#define CONV_DIRECT_CASE(rows)                                                                               \
    case rows:                                                                                               \
        if (j->step[2] == 1)                                                                                 \
            conv_direct_step(j, x, w, o, taps, bias, to, rows, 1);                                           \
        else if (j->step[2] == 2)                                                                            \
            conv_direct_step(j, x, w, o, taps, bias, to, rows, 2);                                           \
        else                                                                                                 \
            conv_direct_step(j, x, w, o, taps, bias, to, rows, j->step[2]);                                  \
        break;

static void conv_direct_chunk(const asc_conv_job *j, const float *x, const float *w, const int64_t *o,
                              const conv_row_taps *taps, const float *bias, float *to) {
    switch (j->m) {
        CONV_DIRECT_CASE(1)
        CONV_DIRECT_CASE(2)
        CONV_DIRECT_CASE(3)
    default:
        break;
    }
}

/* Rows of positions [first, end) of one group of one example. */
static void conv_direct_rows(const asc_conv_job *j, int64_t b, int64_t g, int64_t first, int64_t end) {
    const float *x = j->x + (b * j->groups + g) * j->c * j->src_plane, *w = j->w + g * j->m * j->k,
                *bias = j->bias != NULL ? j->bias + g * j->m : NULL;
    float *y = j->y + (b * j->groups + g) * j->m * j->dst_plane;
    conv_row_taps taps;
    for (int64_t begin = 0; begin < j->grid[2]; begin += taps.n) {
        conv_row_taps_find(j, begin, &taps);
        for (int64_t r = first; r < end; r++) {
            const int64_t o[2] = {r / j->grid[1], r % j->grid[1]};
            conv_direct_chunk(j, x, w, o, &taps, bias, conv_direct_to(j, y, o, begin));
        }
    }
}

static void conv_direct_unit(void *self, int64_t u, int thread) {
    const asc_conv_job *j = self;
    const int64_t rows = j->grid[0] * j->grid[1], bands = asc_kceil(rows, CONV_BAND), bg = u / bands,
                  first = u % bands * CONV_BAND, end = asc_kmin(first + CONV_BAND, rows);
    const unsigned int mode = asc_flush_enter();
    conv_direct_rows(j, bg / j->groups, bg % j->groups, first, end);
    asc_flush_leave(mode);
    if (j->post != NULL && first < end)
        j->post->block(j->post, bg * j->m, (bg + 1) * j->m, first * j->grid[2], end * j->grid[2], thread);
}

/* Many taps in a row: one row of the weight at a time. */
static void conv_direct_long_unit(void *self, int64_t u, int thread) {
    const asc_conv_job *j = self;
    const int64_t r = u % (j->groups * j->m), b = u / (j->groups * j->m), g = r / j->m;
    const unsigned int mode = asc_flush_enter();
    conv_direct_long(j, j->x + (b * j->groups + g) * j->c * j->src_plane, j->w + r * j->k,
                     j->y + u * j->dst_plane, j->bias != NULL ? j->bias[r] : 0.0f);
    asc_flush_leave(mode);
    if (j->post != NULL) j->post->block(j->post, u, u + 1, 0, j->dst_plane, thread);
}

static void conv_direct(const asc_conv_job *j, int threads) {
    asc_conv_job copy = *j;
    if (j->n_taps[2] > CONV_ROW_TAPS)
        asc_kpar(j->batch * j->groups * j->m, threads, false, conv_direct_long_unit, &copy);
    else
        asc_kpar(j->batch * j->groups * asc_kceil(j->grid[0] * j->grid[1], CONV_BAND), threads, false,
                 conv_direct_unit, &copy);
}

#endif
