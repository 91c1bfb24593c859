/* int8_avx2.h - what both int8_*_avx2.c give to int8_gemm.inl. */
#ifndef ASC_INT8_AVX2_H
#define ASC_INT8_AVX2_H

#define VEC_ISA 1
#include "vec.h"
#define HOLD(v) __asm__("" : "+x"(v))
#define INT8_FILL asc_gemm_fill_any
#define INT8_ROWS 6
#define INT8_VECS 2

VEC_INLINE vi vi_all(uint32_t x) { return (vi)_mm256_set1_epi32((int)x); }
VEC_INLINE vi vi_max(vi a, vi b) { return (vi)_mm256_max_epi32((__m256i)a, (__m256i)b); }
VEC_INLINE int32_t vi_most(vi a) {
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128((__m256i)a), _mm256_extracti128_si256((__m256i)a, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
    return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1)));
}
VEC_INLINE vi whole(vf x) { return (vi)_mm256_cvtps_epi32(x); }

/* 8 x 8 words at a time; beyond `steps` too, up to the next 8. */
static inline void turn(const uint32_t *rows, int64_t stride, int64_t steps, uint32_t *out) {
    enum { PITCH = INT8_VECS * 8 };
    for (int64_t s = 0; s < steps; s += 8) {
        __m256 r[8], t[8];
        for (int i = 0; i < 8; i++) r[i] = vload((const float *)(const void *)(rows + i * stride + s));
        for (int i = 0; i < 8; i += 2) {
            t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
            t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
        }
        for (int i = 0; i < 8; i += 4) { /* r[i + c]: words c and 4 + c of rows i to i + 3 */
            r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
            r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
            r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
            r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
        }
        for (int c = 0; c < 4; c++) {
            t[c] = _mm256_permute2f128_ps(r[c], r[4 + c], 0x20);
            t[4 + c] = _mm256_permute2f128_ps(r[c], r[4 + c], 0x31);
        }
        for (int i = 0; i < 8; i++) vstore((float *)(void *)(out + (s + i) * PITCH), t[i]);
    }
}

#endif
