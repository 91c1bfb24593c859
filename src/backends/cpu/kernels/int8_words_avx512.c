/* int8_words_avx512.c - matrix products at int8 (int8_gemm.inl) by products of 16-bit numbers: for processors
 * without sums of bytes. */
#include "int8_avx512.h"

enum { EACH = 2 };
#define INT8_NAME matmul_int8_avx512
#define INT8_FITS true
#define WITH_DOT

VEC_INLINE vi dot(vi sum, vi x, vi w) {
    return (vi)_mm512_add_epi32((__m512i)sum, _mm512_madd_epi16((__m512i)x, (__m512i)w));
}

VEC_INLINE void put_whole(const vi q[2], uint32_t flip, uint32_t *out) {
    (void)flip;
    const __m512i both = _mm512_packs_epi32((__m512i)q[0], (__m512i)q[1]);
    _mm512_storeu_si512(out, _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), both));
}

#include "int8_gemm.inl"
