/* int8_bytes_avx2.c - matrix products at int8 (int8_gemm.inl) by sums of products of bytes (AVX-VNNI). */
#include "int8_avx2.h"

enum { EACH = 4 };
#define INT8_NAME matmul_int8_vnni256
#define INT8_FITS asc_cpu_sums_bytes(VEC_ISA_ENUM)
#define WITH_DOT __attribute__((target("avxvnni")))

VEC_INLINE WITH_DOT vi dot(vi sum, vi x, vi w) {
    return (vi)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)x, (__m256i)w);
}

VEC_INLINE void put_whole(const vi q[4], uint32_t flip, uint32_t *out) {
    const __m256i low = _mm256_packs_epi32((__m256i)q[0], (__m256i)q[1]),
                  high = _mm256_packs_epi32((__m256i)q[2], (__m256i)q[3]);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i all = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
    _mm256_storeu_si256((void *)out, _mm256_xor_si256(all, _mm256_set1_epi32((int)flip)));
}

#include "int8_gemm.inl"
