/* int8_bytes_avx512.c - matrix products at int8 (int8_gemm.inl) by sums of products of bytes (AVX512-VNNI).
 */
#include "int8_avx512.h"

enum { EACH = 4 };
#define INT8_NAME matmul_int8_vnni512
#define INT8_FITS asc_cpu_sums_bytes(VEC_ISA_ENUM)
#define WITH_DOT __attribute__((target("avx512vnni")))

VEC_INLINE WITH_DOT vi dot(vi sum, vi x, vi w) {
    return (vi)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)w);
}

VEC_INLINE void put_whole(const vi q[4], uint32_t flip, uint32_t *out) {
    const __m512i low = _mm512_packs_epi32((__m512i)q[0], (__m512i)q[1]),
                  high = _mm512_packs_epi32((__m512i)q[2], (__m512i)q[3]);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i all = _mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, high));
    _mm512_storeu_si512(out, _mm512_xor_si512(all, _mm512_set1_epi32((int)flip)));
}

#include "int8_gemm.inl"
