/* vec_avx512.h - see vec.h; AVX-512 F, BW, DQ, VL. */
#ifndef ASC_VEC_AVX512_H
#define ASC_VEC_AVX512_H

#include <immintrin.h>

enum { VW = 16 };
typedef __m512 vf;
typedef int32_t vi __attribute__((vector_size(64)));
typedef uint32_t vu __attribute__((vector_size(64)));
typedef __mmask16 vm;
typedef struct vd2 {
    __m512d a, b;
} vd2;

VEC_INLINE vf vset1(float x) { return _mm512_set1_ps(x); }
VEC_INLINE vf vzero(void) { return _mm512_setzero_ps(); }
VEC_INLINE vf vload(const float *p) { return _mm512_loadu_ps(p); }
VEC_INLINE void vstore(float *p, vf v) { _mm512_storeu_ps(p, v); }
VEC_INLINE vm vfirst(int64_t n) { return (vm)((1u << n) - 1u); } /* the first n lanes, n <= VW */
VEC_INLINE vf vloadn(const float *p, int64_t n) { return _mm512_maskz_loadu_ps(vfirst(n), p); }
VEC_INLINE void vstoren(float *p, vf v, int64_t n) { _mm512_mask_storeu_ps(p, vfirst(n), v); }
VEC_INLINE vf vfma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
VEC_INLINE vf vfnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
/* As the instruction: the second operand if either is NaN. */
VEC_INLINE vf vmax(vf a, vf b) { return _mm512_max_ps(a, b); }
VEC_INLINE vf vmin(vf a, vf b) { return _mm512_min_ps(a, b); }
VEC_INLINE vf vsqrt(vf a) { return _mm512_sqrt_ps(a); }
/* 1 / d within 1 ULP for d from 1e-30 to 1e30 or NaN: a guess of 14 bits and one step of Newton, a quarter of
 * the time of the division. */
VEC_INLINE vf vrecip(vf d) {
    vf r = _mm512_rcp14_ps(d);
    return vfma(r, vfnma(d, r, vset1(1.0f)), r);
}
VEC_INLINE vm vlt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
VEC_INLINE vm vle(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
VEC_INLINE vm veq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
VEC_INLINE vm vnan(vf a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
VEC_INLINE vm vmor(vm a, vm b) { return (vm)(a | b); }
VEC_INLINE vm vmand(vm a, vm b) { return (vm)(a & b); }
VEC_INLINE vf vsel(vm m, vf t, vf f) { return _mm512_mask_blend_ps(m, f, t); }
VEC_INLINE vf vldexp(vf p, vf n) { return _mm512_scalef_ps(p, n); }
VEC_INLINE vf vldexp_normal(vf p, vf n) {
    return _mm512_scalef_ps(p, n);
} /* as vldexp, if the result is normal */
VEC_INLINE vi vtoi(vf a) { return (vi)_mm512_cvttps_epi32(a); }
VEC_INLINE vf vtof(vi a) { return _mm512_cvtepi32_ps((__m512i)a); }
VEC_INLINE float vhsum(vf a) { return _mm512_reduce_add_ps(a); }
VEC_INLINE float vhmax(vf a) { return _mm512_reduce_max_ps(a); }

VEC_INLINE vd2 vd_zero(void) { return (vd2){_mm512_setzero_pd(), _mm512_setzero_pd()}; }
VEC_INLINE vd2 vd_of(vf x) {
    return (vd2){_mm512_cvtps_pd(_mm512_castps512_ps256(x)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
}
VEC_INLINE vd2 vd_set1(double x) { return (vd2){_mm512_set1_pd(x), _mm512_set1_pd(x)}; }
VEC_INLINE vd2 vd_add(vd2 s, vd2 x) { return (vd2){_mm512_add_pd(s.a, x.a), _mm512_add_pd(s.b, x.b)}; }
VEC_INLINE vd2 vd_sub(vd2 s, vd2 x) { return (vd2){_mm512_sub_pd(s.a, x.a), _mm512_sub_pd(s.b, x.b)}; }
VEC_INLINE vd2 vd_fma(vd2 x, vd2 y, vd2 s) {
    return (vd2){_mm512_fmadd_pd(x.a, y.a, s.a), _mm512_fmadd_pd(x.b, y.b, s.b)};
}
VEC_INLINE double vd_sum(vd2 s) { return _mm512_reduce_add_pd(_mm512_add_pd(s.a, s.b)); }
VEC_INLINE vf vd_to_f(vd2 s) {
    __m512 lo = _mm512_castps256_ps512(_mm512_cvtpd_ps(s.a));
    return _mm512_insertf32x8(lo, _mm512_cvtpd_ps(s.b), 1);
}

#endif
