/* int8_avx512.h - what both int8_*_avx512.c give to int8_gemm.inl. */
#ifndef ASC_INT8_AVX512_H
#define ASC_INT8_AVX512_H

#include "gemm_turn_avx512.h"

#define VEC_ISA 2
#include "vec.h"
#define HOLD(v) __asm__("" : "+v"(v))
#define INT8_FILL asc_gemm_fill_avx512
#define INT8_ROWS 8
#define INT8_VECS 3

VEC_INLINE vi vi_all(uint32_t x) { return (vi)_mm512_set1_epi32((int)x); }
VEC_INLINE vi vi_max(vi a, vi b) { return (vi)_mm512_max_epi32((__m512i)a, (__m512i)b); }
VEC_INLINE int32_t vi_most(vi a) { return _mm512_reduce_max_epi32((__m512i)a); }
VEC_INLINE vi whole(vf x) { return (vi)_mm512_cvtps_epi32(x); }

static inline void turn(const uint32_t *rows, int64_t stride, int64_t steps, uint32_t *out) {
    for (int64_t s = 0; s < steps; s += 16)
        transpose16((const float *)(const void *)(rows + s), stride, (float *)(void *)(out + 48 * s),
                    steps - s);
}

#endif
