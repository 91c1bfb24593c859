/* int8_words_avx2.c - matrix products at int8 (int8_gemm.inl) by products of 16-bit numbers: for processors
 * without sums of bytes. Products of bytes in pairs (vpmaddubsw) would overflow 16 bits. */
#include "int8_avx2.h"

enum { EACH = 2 };
#define INT8_NAME matmul_int8_avx2
#define INT8_FITS true
#define WITH_DOT

VEC_INLINE vi dot(vi sum, vi x, vi w) {
    return (vi)_mm256_add_epi32((__m256i)sum, _mm256_madd_epi16((__m256i)x, (__m256i)w));
}

VEC_INLINE void put_whole(const vi q[2], uint32_t flip, uint32_t *out) {
    (void)flip;
    const __m256i both = _mm256_packs_epi32((__m256i)q[0], (__m256i)q[1]);
    _mm256_storeu_si256((void *)out, _mm256_permute4x64_epi64(both, 0xD8));
}

#include "int8_gemm.inl"
