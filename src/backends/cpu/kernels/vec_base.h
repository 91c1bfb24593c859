/* vec_base.h - see vec.h; four lanes of the compiler's own vector type, no fused multiply-add: runs anywhere.
 */
#ifndef ASC_VEC_BASE_H
#define ASC_VEC_BASE_H

enum { VW = 4 };
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef uint32_t vu __attribute__((vector_size(16)));
typedef vi vm; /* all bits of a lane set or clear */
typedef double vd_half __attribute__((vector_size(16)));
typedef struct vd2 {
    vd_half a, b;
} vd2;

VEC_INLINE vf vset1(float x) { return (vf){x, x, x, x}; }
VEC_INLINE vf vzero(void) { return (vf){0, 0, 0, 0}; }
VEC_INLINE vf vload(const float *p) {
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}
VEC_INLINE void vstore(float *p, vf v) { memcpy(p, &v, sizeof v); }
VEC_INLINE vm vfirst(int64_t n) { /* the first n lanes, n <= VW */
    int32_t k = (int32_t)n;
    return (vi){k, k, k, k} > (vi){0, 1, 2, 3};
}
VEC_INLINE vf vloadn(const float *p, int64_t n) {
    vf v = vzero();
    memcpy(&v, p, (size_t)n * sizeof(float));
    return v;
}
VEC_INLINE void vstoren(float *p, vf v, int64_t n) { memcpy(p, &v, (size_t)n * sizeof(float)); }
VEC_INLINE vf vfma(vf a, vf b, vf c) { return a * b + c; }
VEC_INLINE vf vfnma(vf a, vf b, vf c) { return c - a * b; }
VEC_INLINE vf vsel(vm m, vf t, vf f) { return (vf)((m & (vi)t) | (~m & (vi)f)); }
/* The second operand if either is NaN. */
VEC_INLINE vf vmax(vf a, vf b) { return vsel(a > b, a, b); }
VEC_INLINE vf vmin(vf a, vf b) { return vsel(a < b, a, b); }
VEC_INLINE vf vsqrt(vf a) { return (vf){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])}; }
VEC_INLINE vf vrecip(vf d) {
    return vset1(1.0f) / d;
} /* 1 / d within 1 ULP for d from 1e-30 to 1e30 or NaN */
VEC_INLINE vm vlt(vf a, vf b) { return a < b; }
VEC_INLINE vm vle(vf a, vf b) { return a <= b; }
VEC_INLINE vm veq(vf a, vf b) { return a == b; }
VEC_INLINE vm vnan(vf a) { return a != a; }
VEC_INLINE vm vmor(vm a, vm b) { return a | b; }
VEC_INLINE vm vmand(vm a, vm b) { return a & b; }
VEC_INLINE vi vtoi(vf a) { return __builtin_convertvector(a, vi); }
VEC_INLINE vf vtof(vi a) { return __builtin_convertvector(a, vf); }
/* p 2^n in two steps, so that n from -252 to 254 needs no care and a denormal result is rounded once. */
VEC_INLINE vf vldexp(vf p, vf n) {
    vi k = vtoi(n), h = k >> 1;
    return (vf)((vu)(h + 127) << 23) * ((vf)((vu)(k - h + 127) << 23) * p);
}
/* As vldexp, if the result is normal. A NaN in both p and n stays: it converts to 2^31, which is shifted out.
 */
VEC_INLINE vf vldexp_normal(vf p, vf n) { return (vf)((vu)p + ((vu)vtoi(n) << 23)); }
VEC_INLINE float vhsum(vf a) { return (a[0] + a[2]) + (a[1] + a[3]); }
VEC_INLINE float vhmax(vf a) {
    float x = a[0] > a[2] ? a[0] : a[2], y = a[1] > a[3] ? a[1] : a[3];
    return x > y ? x : y;
}

VEC_INLINE vd2 vd_zero(void) { return (vd2){{0, 0}, {0, 0}}; }
VEC_INLINE vd2 vd_of(vf x) { return (vd2){{(double)x[0], (double)x[1]}, {(double)x[2], (double)x[3]}}; }
VEC_INLINE vd2 vd_set1(double x) { return (vd2){{x, x}, {x, x}}; }
VEC_INLINE vd2 vd_add(vd2 s, vd2 x) { return (vd2){s.a + x.a, s.b + x.b}; }
VEC_INLINE vd2 vd_sub(vd2 s, vd2 x) { return (vd2){s.a - x.a, s.b - x.b}; }
VEC_INLINE vd2 vd_fma(vd2 x, vd2 y, vd2 s) { return (vd2){x.a * y.a + s.a, x.b * y.b + s.b}; }
VEC_INLINE double vd_sum(vd2 s) { return (s.a[0] + s.b[0]) + (s.a[1] + s.b[1]); }
VEC_INLINE vf vd_to_f(vd2 s) { return (vf){(float)s.a[0], (float)s.a[1], (float)s.b[0], (float)s.b[1]}; }

#endif
