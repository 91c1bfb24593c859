/* int8_words_base.c - matrix products at int8 (int8_gemm.inl) by products of 16-bit numbers on any machine;
 * every x86-64 has an instruction for them. */
#define VEC_ISA 0
#include "vec.h"
#ifdef __SSE2__
#include <emmintrin.h>
#define HOLD(v) __asm__("" : "+x"(v))
#else
#define HOLD(v) __asm__("" : "+m"(v))
#endif

enum { EACH = 2 };
#define INT8_NAME matmul_int8_base
#define INT8_FITS true
#define INT8_FILL asc_gemm_fill_any
#define INT8_ROWS 6
#define INT8_VECS 2
#define WITH_DOT

VEC_INLINE vi vi_all(uint32_t x) { return (vi)(vu){x, x, x, x}; }
VEC_INLINE vi vi_max(vi a, vi b) { return (a & (a > b)) | (b & (a <= b)); }
VEC_INLINE int32_t vi_most(vi a) {
    const int32_t x = a[0] > a[1] ? a[0] : a[1], y = a[2] > a[3] ? a[2] : a[3];
    return x > y ? x : y;
}

#ifdef __SSE2__
VEC_INLINE vi whole(vf x) { return (vi)_mm_cvtps_epi32((__m128)x); }
VEC_INLINE vi dot(vi sum, vi x, vi w) { return sum + (vi)_mm_madd_epi16((__m128i)x, (__m128i)w); }
#else
VEC_INLINE vi whole(vf x) {
    vi q;
    for (int i = 0; i < VW; i++) q[i] = (int32_t)nearbyintf(x[i]);
    return q;
}
VEC_INLINE vi dot(vi sum, vi x, vi w) {
    return sum + ((vi)((vu)x << 16) >> 16) * ((vi)((vu)w << 16) >> 16) + (x >> 16) * (w >> 16);
}
#endif

VEC_INLINE void put_whole(const vi q[2], uint32_t flip, uint32_t *out) {
    (void)flip;
    for (int e = 0; e < 2; e++, out += 2) {
        out[0] = ((uint32_t)q[e][0] & 0xFFFF) | (uint32_t)q[e][1] << 16;
        out[1] = ((uint32_t)q[e][2] & 0xFFFF) | (uint32_t)q[e][3] << 16;
    }
}

static inline void turn(const uint32_t *rows, int64_t stride, int64_t steps, uint32_t *out) {
    for (int64_t s = 0; s < steps; s++)
        for (int c = 0; c < VW; c++) out[s * INT8_VECS * VW + c] = rows[c * stride + s];
}

#include "int8_gemm.inl"
