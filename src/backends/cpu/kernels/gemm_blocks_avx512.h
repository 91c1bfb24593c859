/* gemm_blocks_avx512.h - the common block formats (Q4_0, Q4_1, Q8_0) in registers, for panels of weights. */
#ifndef ASC_GEMM_BLOCKS_AVX512_H
#define ASC_GEMM_BLOCKS_AVX512_H

#include "dtype.h"
#include <immintrin.h>

/* The common block formats straight from their bytes. A nibble picks one of 16 levels by a table look-up that
 * reads only the low four bits of its index. */
typedef struct levels {
    __m512 table;
    int header; /* bytes before the quants */
    bool has_min;
} levels;

static inline levels levels_of(asc_dtype t) {
    levels l = {.header = t == ASC_DTYPE_Q4_1 ? 4 : 2, .has_min = t == ASC_DTYPE_Q4_1};
    l.table = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    if (t == ASC_DTYPE_Q4_0) l.table = _mm512_sub_ps(l.table, _mm512_set1_ps(8));
    return l;
}

static inline __m512 level(const levels *l, __m512i index, __m512 d, __m512 m) {
    const __m512 x = _mm512_permutexvar_ps(index, l->table);
    return l->has_min ? _mm512_fmadd_ps(d, x, m) : _mm512_mul_ps(d, x);
}

/* Lane r of out[c]: bytes 4 c .. 4 c + 3 of row r; rows are `stride` bytes apart. */
static inline void transpose_words(const uint8_t *p, int64_t stride, __m512i out[4]) {
    __m512i z[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) { /* rows i, 4 + i, 8 + i, 12 + i */
        z[i] = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(p + i * stride)));
        z[i] = _mm512_inserti32x4(z[i], _mm_loadu_si128((const void *)(p + (4 + i) * stride)), 1);
        z[i] = _mm512_inserti32x4(z[i], _mm_loadu_si128((const void *)(p + (8 + i) * stride)), 2);
        z[i] = _mm512_inserti32x4(z[i], _mm_loadu_si128((const void *)(p + (12 + i) * stride)), 3);
    }
    const __m512i a = _mm512_unpacklo_epi32(z[0], z[1]), b = _mm512_unpacklo_epi32(z[2], z[3]);
    const __m512i c = _mm512_unpackhi_epi32(z[0], z[1]), d = _mm512_unpackhi_epi32(z[2], z[3]);
    out[0] = _mm512_unpacklo_epi64(a, b);
    out[1] = _mm512_unpackhi_epi64(a, b);
    out[2] = _mm512_unpacklo_epi64(c, d);
    out[3] = _mm512_unpackhi_epi64(c, d);
}

/* d and m of the blocks of 16 rows, `stride` bytes apart. */
static inline void block_scales(const uint8_t *p, int64_t stride, __m512 *d, __m512 *m) {
    const __m512i rows =
        _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                           _mm512_set1_epi32((int)stride));
    const __m512i scales = _mm512_i32gather_epi32(rows, (const void *)p, 1);
    *d = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(scales));
    *m = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(scales, 16)));
}

#endif
