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

/* The pieces of a slab: vector v of tap t has those from start[t * CONV_VECS + v] to the next start. */
enum { CONV_TAPS_KEPT = 64, CONV_PIECES = CONV_TAPS_KEPT * CONV_SLAB };
typedef struct conv_pieces {
    int start[CONV_TAPS_KEPT * CONV_VECS + 1];
    conv_piece p[CONV_PIECES];
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

/* Pieces of taps [t0, t0 + n), at most CONV_TAPS_KEPT. */
static void conv_find_pieces(const asc_conv_job *j, const asc_conv_run *runs, int n_runs, int64_t t0,
                             int64_t n, conv_pieces *out) {
    const int64_t step = j->step[2], image = j->groups * j->c * j->src_plane;
    int count = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t q = t0 + i,
                      tap[2] = {q / (j->n_taps[1] * j->n_taps[2]), q / j->n_taps[2] % j->n_taps[1]},
                      off2 = j->off[2] + q % j->n_taps[2] * j->off_step[2];
        int64_t first, end;
        asc_window_valid(off2, step, j->src[2], j->grid[2], &first, &end);
        int v = 0; /* vectors whose pieces have begun */
        out->start[i * CONV_VECS] = count;
        for (int r = 0; r < n_runs; r++) {
            const asc_conv_run *run = &runs[r];
            const int64_t i0 = run->o[0] * j->step[0] + j->off[0] + tap[0] * j->off_step[0],
                          i1 = run->o[1] * j->step[1] + j->off[1] + tap[1] * j->off_step[1];
            if (i0 < 0 || i0 >= j->src[0] || i1 < 0 || i1 >= j->src[1]) continue;
            int from = run->col, to = run->col + run->len;
            if (first > run->o[2]) from += (int)asc_kmin(first - run->o[2], run->len);
            if (end < run->o[2] + run->len) to = run->col + (int)asc_kmax(end - run->o[2], 0);
            /* where column 0 of the slab would read */
            const int64_t at =
                run->b * image + (i0 * j->src[1] + i1) * j->src[2] + (run->o[2] - run->col) * step + off2;
            while (from < to) {
                const int w = from / VW, stop = to < (w + 1) * VW ? to : (w + 1) * VW;
                while (v < w) out->start[i * CONV_VECS + ++v] = count;
                out->p[count++] =
                    (conv_piece){.at = at + w * VW * step, .first = from - w * VW, .end = stop - w * VW};
                from = stop;
            }
        }
        while (v < CONV_VECS) out->start[i * CONV_VECS + ++v] = count;
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
    if (n == 0) {
        for (int64_t c = 0; c < channels; c++) vstore(to + c * to_step, vzero());
        return;
    }
    const conv_piece one = p[0], two[2] = {p[0], p[n > 1 ? 1 : 0]};
    if (step == 1 && n == 1 && one.first == 0 && one.end == VW) {
        for (int64_t c = 0; c < channels; c++) vstore(to + c * to_step, vload(x + c * plane + one.at));
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
        else if (n == 2)
            conv_copy(to, to_step, x, plane, channels, two, 2, 2);
        else
            conv_copy(to, to_step, x, plane, channels, p, n, 2);
    } else {
        conv_copy(to, to_step, x, plane, channels, p, n, step);
    }
}

/* Values k0 to k0 + depth of a slab's columns, out [depth][CONV_SLAB]; x: the group's first channel. kept:
 * its pieces if there are at most CONV_TAPS_KEPT taps; otherwise they are found again in it. */
static void conv_fill(const asc_conv_job *j, const float *x, const asc_conv_run *runs, int n_runs, int64_t k0,
                      int64_t depth, conv_pieces *kept, float *out) {
    const int64_t taps = j->taps, k1 = k0 + depth;
    if (depth == 0) return;
    const int64_t c0 = k0 / taps, r0 = k0 % taps, c1 = k1 / taps, r1 = k1 % taps;
    for (int64_t t = 0; t < taps; t++) {
        const int64_t from = c0 + (t < r0 ? 1 : 0), to = c1 + (t < r1 ? 1 : 0); /* channels of this tap */
        if (from >= to) continue;
        if (taps > CONV_TAPS_KEPT) conv_find_pieces(j, runs, n_runs, t, 1, kept);
        const int *start = kept->start + (taps > CONV_TAPS_KEPT ? 0 : t * CONV_VECS);
        for (int v = 0; v < CONV_VECS; v++)
            conv_copy_any(out + (from * taps + t - k0) * CONV_SLAB + v * VW, taps * CONV_SLAB,
                          x + from * j->src_plane, j->src_plane, to - from, kept->p + start[v],
                          start[v + 1] - start[v], j->step[2]);
    }
}

#endif
