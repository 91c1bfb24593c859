/* vec.h - the vector type that the kernel bodies (*.inl) are written in. The including file defines VEC_ISA
 * (2 = AVX-512, 1 = AVX2 with FMA, 0 = any machine, GCC vector extension) before the first include; one file,
 * one instruction set. vf  VW floats     vi  VW 32-bit integers     vm  a mask of VW lanes     vd2  VW
 * doubles, for sums Partial vectors (vloadn, vstoren) touch exactly n elements, and missing lanes are 0.
 * Since a tail runs the same instructions as the body, a result does not depend on where its element stands.
 */
#ifndef ASC_VEC_H
#define ASC_VEC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if !defined(VEC_ISA)
#error "define VEC_ISA first"
#endif

#define VEC_INLINE static inline __attribute__((always_inline, unused))
#if defined(__clang__)
#define VEC_UNROLL _Pragma("unroll")
#else
#define VEC_UNROLL _Pragma("GCC unroll 16")
#endif

#if VEC_ISA == 2
#include "vec_avx512.h"
#define VEC_NAME(f) f##_avx512
#define VEC_ISA_ENUM ASC_ISA_AVX512
#elif VEC_ISA == 1
#include "vec_avx2.h"
#define VEC_NAME(f) f##_avx2
#define VEC_ISA_ENUM ASC_ISA_AVX2
#else
#include "vec_base.h"
#define VEC_NAME(f) f##_base
#define VEC_ISA_ENUM ASC_ISA_BASELINE
#endif

/* Clamps that let a NaN in x pass. */
VEC_INLINE vf vat_most(vf x, float hi) { return vmin(vset1(hi), x); }
VEC_INLINE vf vat_least(vf x, float lo) { return vmax(vset1(lo), x); }

VEC_INLINE vf vbits(uint32_t b) {
    float f;
    memcpy(&f, &b, sizeof f);
    return vset1(f);
}
VEC_INLINE vf vand(vf a, vf b) { return (vf)((vi)a & (vi)b); }
VEC_INLINE vf vor(vf a, vf b) { return (vf)((vi)a | (vi)b); }
VEC_INLINE vf vxor(vf a, vf b) { return (vf)((vi)a ^ (vi)b); }
VEC_INLINE vf vabs(vf a) { return vand(a, vbits(0x7fffffffu)); }
VEC_INLINE vf vneg(vf a) { return vxor(a, vbits(0x80000000u)); }
/* |a| with the sign of s. */
VEC_INLINE vf vcopysign(vf a, vf s) { return vor(vabs(a), vand(s, vbits(0x80000000u))); }
VEC_INLINE vf vpoly(vf x, const float *c, int n) {
    vf p = vset1(c[n - 1]);
    VEC_UNROLL
    for (int i = n - 2; i >= 0; i--) p = vfma(p, x, vset1(c[i]));
    return p;
}

#define VEC_MIN(a, b) ((a) < (b) ? (a) : (b))

#endif
