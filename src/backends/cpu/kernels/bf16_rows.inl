/* bf16_rows.inl - f32 numbers cut into pieces (bf16.h) with vectors, and rows of a left side to tiles: for
 * kernels of any instruction set, which include it. The layout of left tiles is that of asc_bf16_job.left;
 * whoever includes this may use tiles that another one has cut. */
#include "bf16.h"
#include <stdint.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { AHEAD = 128 }; /* values of a row of a that are fetched before they are needed */

typedef float vf __attribute__((vector_size(64)));
typedef float vf_at __attribute__((vector_size(64), aligned(4), may_alias)); /* anywhere in memory */
typedef uint32_t vu __attribute__((vector_size(64)));
typedef uint32_t vu_at __attribute__((vector_size(64), aligned(4), may_alias));

/* The pieces of 16 pairs, pair p = (from[p], from2[p]): out[i] is a row of the tile of piece i. A last piece
 * of three is exact: 24 bits were three times 8. */
#ifdef __AVX512BF16__
#include <immintrin.h>
/* The processor's own rounding takes two vectors to one of bf16, which a permutation turns into pairs. */
ALWAYS_INLINE void cut_two(const vf *from, const vf *from2, const int pieces, vu out[3]) {
    const __m512i pairs = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23,
                                           7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    vf x0 = *from, x1 = *from2;
#pragma GCC unroll 3
    for (int i = 0; i < pieces; i++) {
        const __m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)x1, (__m512)x0);
        out[i] = (vu)_mm512_permutexvar_epi16(pairs, both);
        x0 -= (vf)(out[i] << 16);
        x1 -= (vf)(out[i] & 0xFFFF0000u);
    }
}
#else
ALWAYS_INLINE void cut_two(const vf *from, const vf *from2, const int pieces, vu out[3]) {
    vf x0 = *from, x1 = *from2;
#pragma GCC unroll 3
    for (int i = 0; i < pieces; i++) {
        vu h0 = (vu)x0, h1 = (vu)x1;
        if (i < 2) { /* to nearest, ties to even; a NaN keeps its upper half; what is denormal counts as 0 */
            h0 &= (vu)((vf)(h0 & 0x7FFFFFFFu) >= 0x1p-126f) | (vu)(x0 != x0);
            h1 &= (vu)((vf)(h1 & 0x7FFFFFFFu) >= 0x1p-126f) | (vu)(x1 != x1);
            vu up0 = (h0 >> 16 & 1) + 0x7FFF, up1 = (h1 >> 16 & 1) + 0x7FFF;
            if (i == 0) {
                up0 &= (vu)(x0 == x0);
                up1 &= (vu)(x1 == x1);
            }
            h0 += up0;
            h1 += up1;
        }
        out[i] = h0 >> 16 | (h1 & 0xFFFF0000u);
        x0 -= (vf)(h0 & 0xFFFF0000u);
        x1 -= (vf)(h1 & 0xFFFF0000u);
    }
}
#endif

/* The same, to one row of a tile for each piece. */
ALWAYS_INLINE void split_two(const vf *from, const vf *from2, const int pieces, uint16_t *out) {
    vu x[3];
    cut_two(from, from2, pieces, x);
#pragma GCC unroll 3
    for (int i = 0; i < pieces; i++, out += ASC_BF16_TILE) {
        __builtin_prefetch(out + pieces * ASC_BF16_TILE, 1); /* the next tile's row, to be written */
        *(vu_at *)(void *)out = x[i];
    }
}

ALWAYS_INLINE void split(const float *from, const float *from2, const int pieces, uint16_t *out) {
    const vf x0 = *(const vf_at *)from, x1 = *(const vf_at *)from2;
    split_two(&x0, &x1, pieces, out);
}

/* 32 values of k of the rows that there are (at most 16), to one tile for each piece; k_left of them count.
 */
ALWAYS_INLINE void pack_tile(const float *x, int64_t ldx, int64_t rows, int64_t k_left, int64_t ahead,
                             const int pieces, uint16_t *out) {
    if (rows == 16 && k_left >= 32) {
        for (int64_t r = 0; r < 16; r++) {
            const float *row = x + r * ldx;
            __builtin_prefetch(row + ahead);
            __builtin_prefetch(row + ahead + 16);
            split(row, row + 16, pieces, out + 32 * r);
        }
        return;
    }
    for (int64_t r = 0; r < 16; r++) {
        float some[32] = {0};
        if (r < rows) memcpy(some, x + r * ldx, (size_t)(k_left < 32 ? k_left : 32) * sizeof(float));
        split(some, some + 16, pieces, out + 32 * r);
    }
}

/* k numbers of each of `rows` rows (at most 16; the others count as 0), which lie ldx apart, to tiles: that
 * of block q, piece i is the (q * pieces + i)-th. */
ALWAYS_INLINE void pack_row_part(const float *x, int64_t ldx, int64_t rows, int64_t k, const int pieces,
                                 uint16_t *out) {
    for (int64_t q = 0; q < k; q += 32, x += 32, out += pieces * ASC_BF16_TILE)
        pack_tile(x, ldx, rows, k - q, q + AHEAD < k ? AHEAD : 16 * ldx + AHEAD - k, pieces, out);
}

/* The same of whole rows. */
ALWAYS_INLINE void pack_row_group(const float *x, int64_t rows, int64_t k, const int pieces, uint16_t *out) {
    pack_row_part(x, k, rows, k, pieces, out);
}
