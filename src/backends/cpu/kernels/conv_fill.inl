/* conv_fill.inl - the gathered side of a convolution: a slab of columns, [k][CONV_SLAB], brought together
 * from the rows of x. A vector of a slab is made of pieces, one for each run of columns that touches it:
 * lanes of a mask, read from one pointer with one step. Pieces depend on the tap, not on the channel. */
#ifndef ASC_CONV_FILL_INL
#define ASC_CONV_FILL_INL

#include "conv_job.h"
#include "vec.h"

enum { CONV_VECS = 3, CONV_SLAB = CONV_VECS * VW };

typedef struct conv_piece {
    int64_t at;     /* element of x's plane that lane 0 would read */
    int first, end; /* lanes */
} conv_piece;

typedef struct conv_pieces {
    int n[CONV_VECS];
    conv_piece p[CONV_VECS][VW];
} conv_pieces;

#if VEC_ISA == 2
VEC_INLINE vf conv_read(vf acc, const float *x, const conv_piece *p, int64_t step) {
    const __mmask16 m = (__mmask16)(vfirst(p->end) & ~vfirst(p->first));
    x += p->at;
    if (step == 1) return _mm512_mask_loadu_ps(acc, m, x);
    if (step == 2) {
        const uint32_t every = _pdep_u32(m, 0x55555555u);
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512 lo = _mm512_maskz_loadu_ps((__mmask16)every, x),
                     hi = _mm512_maskz_loadu_ps((__mmask16)(every >> 16), x + 16);
        return _mm512_mask_blend_ps(m, acc, _mm512_permutex2var_ps(lo, even, hi));
    }
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_mask_i32gather_ps(acc, m, _mm512_mullo_epi32(lane, _mm512_set1_epi32((int)step)), x, 4);
}
#else
VEC_INLINE vf conv_read(vf acc, const float *x, const conv_piece *p, int64_t step) {
    x += p->at;
    if (step == 1 && p->first == 0 && p->end == VW) return vload(x);
    float lane[VW];
    vstore(lane, acc);
    for (int i = p->first; i < p->end; i++) lane[i] = x[i * step];
    return vload(lane);
}
#endif

/* Pieces of one tap. */
static void conv_find_pieces(const asc_conv_job *j, const asc_conv_run *runs, int n_runs,
                             const int64_t t[ASC_CONV_AXES], int64_t image, conv_pieces *out) {
    const int64_t step = j->step[2], off2 = j->off[2] + t[2] * j->off_step[2];
    int64_t first, end;
    asc_window_valid(off2, step, j->src[2], j->grid[2], &first, &end);
    for (int v = 0; v < CONV_VECS; v++) out->n[v] = 0;
    for (int r = 0; r < n_runs; r++) {
        const asc_conv_run *run = &runs[r];
        const int64_t i0 = run->o[0] * j->step[0] + j->off[0] + t[0] * j->off_step[0],
                      i1 = run->o[1] * j->step[1] + j->off[1] + t[1] * j->off_step[1];
        if (i0 < 0 || i0 >= j->src[0] || i1 < 0 || i1 >= j->src[1]) continue;
        int from = run->col, to = run->col + run->len;
        if (first > run->o[2]) from += (int)asc_kmin(first - run->o[2], run->len);
        if (end < run->o[2] + run->len) to = run->col + (int)asc_kmax(end - run->o[2], 0);
        if (from >= to) continue;
        /* where column 0 of the slab would read */
        const int64_t at =
            run->b * image + (i0 * j->src[1] + i1) * j->src[2] + (run->o[2] - run->col) * step + off2;
        for (int v = from / VW; v * VW < to; v++)
            out->p[v][out->n[v]++] = (conv_piece){.at = at + v * VW * step,
                                                  .first = from > v * VW ? from - v * VW : 0,
                                                  .end = to < (v + 1) * VW ? to - v * VW : VW};
    }
}

/* One vector of all channels: n pieces, known when compiled where it matters. */
VEC_INLINE void conv_copy(float *to, int64_t to_step, const float *x, int64_t plane, int64_t channels,
                          const conv_piece *p, const int n, int64_t step) {
    for (int64_t c = 0; c < channels; c++, to += to_step, x += plane) {
        vf acc = vzero();
        for (int i = 0; i < n; i++) acc = conv_read(acc, x, &p[i], step);
        vstore(to, acc);
    }
}

static void conv_copy_any(float *to, int64_t to_step, const float *x, int64_t plane, int64_t channels,
                          const conv_piece *p, int n, int64_t step) {
    const conv_piece one = p[0], two[2] = {p[0], p[n > 1 ? 1 : 0]};
    if (n == 0) {
        for (int64_t c = 0; c < channels; c++) vstore(to + c * to_step, vzero());
    } else if (step == 1) {
        if (n == 1)
            conv_copy(to, to_step, x, plane, channels, &one, 1, 1);
        else if (n == 2)
            conv_copy(to, to_step, x, plane, channels, two, 2, 1);
        else
            conv_copy(to, to_step, x, plane, channels, p, n, 1);
    } else if (step == 2) {
        if (n == 1)
            conv_copy(to, to_step, x, plane, channels, &one, 1, 2);
        else
            conv_copy(to, to_step, x, plane, channels, p, n, 2);
    } else {
        conv_copy(to, to_step, x, plane, channels, p, n, step);
    }
}

/* Values k0 to k0 + depth of the columns of these runs, out [depth][CONV_SLAB]; x: the group's first channel.
 */
static void conv_fill(const asc_conv_job *j, const float *x, const asc_conv_run *runs, int n_runs, int64_t k0,
                      int64_t depth, float *out) {
    const int64_t image = j->groups * j->c * j->src_plane, taps = j->taps;
    conv_pieces pieces;
    for (int64_t i = 0; i < taps; i++) {
        const int64_t t[ASC_CONV_AXES] = {i / (j->n_taps[1] * j->n_taps[2]), i / j->n_taps[2] % j->n_taps[1],
                                          i % j->n_taps[2]};
        const int64_t c0 = k0 > i ? asc_kceil(k0 - i, taps) : 0,
                      c1 = k0 + depth > i ? asc_kceil(k0 + depth - i, taps) : 0;
        if (c0 >= c1) continue;
        conv_find_pieces(j, runs, n_runs, t, image, &pieces);
        for (int v = 0; v < CONV_VECS; v++)
            conv_copy_any(out + (c0 * taps + i - k0) * CONV_SLAB + v * VW, taps * CONV_SLAB,
                          x + c0 * j->src_plane, j->src_plane, c1 - c0, pieces.p[v], pieces.n[v], j->step[2]);
    }
}

#endif
