/* vec_avx2.h - see vec.h; AVX2 and FMA. */
#ifndef ASC_VEC_AVX2_H
#define ASC_VEC_AVX2_H

#include <immintrin.h>

enum { VW = 8 };
typedef __m256 vf;
typedef int32_t vi __attribute__((vector_size(32)));
typedef uint32_t vu __attribute__((vector_size(32)));
typedef __m256 vm; /* all bits of a lane set or clear */
typedef struct vd2 {
    __m256d a, b;
} vd2;

VEC_INLINE vf vset1(float x) { return _mm256_set1_ps(x); }
VEC_INLINE vf vzero(void) { return _mm256_setzero_ps(); }
VEC_INLINE vf vload(const float *p) { return _mm256_loadu_ps(p); }
VEC_INLINE void vstore(float *p, vf v) { _mm256_storeu_ps(p, v); }
VEC_INLINE vm vfirst(int64_t n) { /* the first n lanes, n <= VW */
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane));
}
VEC_INLINE vf vloadn(const float *p, int64_t n) {
    return _mm256_maskload_ps(p, _mm256_castps_si256(vfirst(n)));
}
VEC_INLINE void vstoren(float *p, vf v, int64_t n) {
    _mm256_maskstore_ps(p, _mm256_castps_si256(vfirst(n)), v);
}
VEC_INLINE vf vfma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
VEC_INLINE vf vfnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
/* As the instruction: the second operand if either is NaN. */
VEC_INLINE vf vmax(vf a, vf b) { return _mm256_max_ps(a, b); }
VEC_INLINE vf vmin(vf a, vf b) { return _mm256_min_ps(a, b); }
VEC_INLINE vf vsqrt(vf a) { return _mm256_sqrt_ps(a); }
VEC_INLINE vf vrecip(vf d) {
    return vset1(1.0f) / d;
} /* 1 / d within 1 ULP for d from 1e-30 to 1e30 or NaN */
VEC_INLINE vm vlt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
VEC_INLINE vm vle(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
VEC_INLINE vm veq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
VEC_INLINE vm vnan(vf a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
VEC_INLINE vm vmor(vm a, vm b) { return _mm256_or_ps(a, b); }
VEC_INLINE vm vmand(vm a, vm b) { return _mm256_and_ps(a, b); }
VEC_INLINE vf vsel(vm m, vf t, vf f) { return _mm256_blendv_ps(f, t, m); }
VEC_INLINE vi vtoi(vf a) { return (vi)_mm256_cvttps_epi32(a); }
VEC_INLINE vf vtof(vi a) { return _mm256_cvtepi32_ps((__m256i)a); }
/* p 2^n in two steps, so that n from -252 to 254 needs no care and a denormal result is rounded once. */
VEC_INLINE vf vldexp(vf p, vf n) {
    vi k = vtoi(n), h = k >> 1;
    return (vf)((vu)(h + 127) << 23) * ((vf)((vu)(k - h + 127) << 23) * p);
}
/* As vldexp, if the result is normal. A NaN in both p and n stays: it converts to 2^31, which is shifted out.
 */
VEC_INLINE vf vldexp_normal(vf p, vf n) { return (vf)((vu)p + ((vu)vtoi(n) << 23)); }
VEC_INLINE float vhsum(vf a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
VEC_INLINE float vhmax(vf a) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

VEC_INLINE vd2 vd_zero(void) { return (vd2){_mm256_setzero_pd(), _mm256_setzero_pd()}; }
VEC_INLINE vd2 vd_of(vf x) {
    return (vd2){_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
}
VEC_INLINE vd2 vd_set1(double x) { return (vd2){_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
VEC_INLINE vd2 vd_add(vd2 s, vd2 x) { return (vd2){_mm256_add_pd(s.a, x.a), _mm256_add_pd(s.b, x.b)}; }
VEC_INLINE vd2 vd_sub(vd2 s, vd2 x) { return (vd2){_mm256_sub_pd(s.a, x.a), _mm256_sub_pd(s.b, x.b)}; }
VEC_INLINE vd2 vd_fma(vd2 x, vd2 y, vd2 s) {
    return (vd2){_mm256_fmadd_pd(x.a, y.a, s.a), _mm256_fmadd_pd(x.b, y.b, s.b)};
}
VEC_INLINE double vd_sum(vd2 s) {
    __m256d t = _mm256_add_pd(s.a, s.b);
    __m128d u = _mm_add_pd(_mm256_castpd256_pd128(t), _mm256_extractf128_pd(t, 1));
    return _mm_cvtsd_f64(_mm_add_sd(u, _mm_unpackhi_pd(u, u)));
}
VEC_INLINE vf vd_to_f(vd2 s) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(s.a)), _mm256_cvtpd_ps(s.b), 1);
}

#endif
