/* vmath.inl - exp, log, tanh, sigmoid, erfc and kin on vectors; at most 2 ULP from the true value (3 for sigmoid)
 * where not stated. Argument reduction after Cody and Waite; the polynomials come from
 * scripts/refs/fit_polynomials.py. NaN goes through, infinities and the ends of the range give the limits,
 * denormal results are rounded, not flushed. */
#ifndef ASC_VMATH_INL
#define ASC_VMATH_INL

#include "vec.h"

/* (e^r - 1 - r) / r^2 on |r| < 0.347; largest relative error of the whole 3.1e-9 */
static const float vm_exp_c[5] = {0.499999934f, 0.1666652f, 0.0416683952f, 0.00836879675f, 0.00138144731f};
/* (log(1+f) - f + f^2/2) / f^3 on 1+f from sqrt(1/2) to sqrt(2); 7.5e-10 */
static const float vm_log_c[9] = {0.333333125f,  -0.250000095f, 0.200021236f,  -0.166680085f, 0.142194527f,
                                  -0.124052775f, 0.118886336f,  -0.116778863f, 0.0674834574f};
/* (tanh x - x) / x^3 in x^2, |x| < 0.65; 2.6e-10 */
static const float vm_tanh_c[6] = {-0.333333294f, 0.133331522f,    -0.0539399435f,
                                   0.021663407f,  -0.00808563429f, 0.00205958682f};
/* erf(x) / x - 1 in x^2, |x| < 1; 3.3e-11 of erf(x) / x */
static const float vm_erf_c[8] = {0.128379166f,   -0.376126384f,    0.11283782f,     -0.0268654f,
                                  0.00522094542f, -0.000848282854f, 0.000112569454f, -9.64150841e-06f};
/* (1 + 2z) e^(z^2) erfc z in t = (z - 3.75) / (z + 3.75), z from 0 to 10.2; 5.5e-9 (the form of Shepherd and
 * Laframboise, Mathematics of Computation 36, 1981) */
static const float vm_erfc_c[11] = {1.23751264f,     -0.140240518f,  0.00358480605f, 0.0822728679f,
                                    -0.108793534f,   0.0923604101f,  -0.0587260146f, 0.0280466459f,
                                    -0.00992950303f, 0.00230321409f, 0.00109422467f};

/* x / ln 2 to the nearest whole number, for |x| < 2^21: the sum has no bits below the point. */
VEC_INLINE vf vexp_power(vf x) {
    const vf magic = vset1(12582912.0f); /* 1.5 2^23 */
    return vfma(x, vset1(1.44269504f), magic) - magic;
}

/* e^(r + 2^-24-ish rest) 2^n pieces: e^x with x + c, c a small correction (0 for plain exp). */
VEC_INLINE vf vexp_fix(vf x, vf c) {
    x = vat_least(vat_most(x, 89.0f), -104.0f); /* beyond: infinity and 0 in f32 */
    vf n = vexp_power(x);
    vf r = vfnma(n, vset1(0.693145752f), x); /* 15 bits of ln 2: exact for |n| < 512 */
    r = vfnma(n, vset1(1.42860677e-06f), r) + c;
    vf p = vfma(vpoly(r, vm_exp_c, 5), r * r, r) + vset1(1.0f);
    return vldexp(p, n);
}

VEC_INLINE vf vexp(vf x) { return vexp_fix(x, vzero()); }

/* exp for |x| <= 87 or NaN, where the result is a normal number. */
VEC_INLINE vf vexp_normal(vf x) {
    vf n = vexp_power(x);
    vf r = vfnma(n, vset1(0.693145752f), x);
    r = vfnma(n, vset1(1.42860677e-06f), r);
    vf p = vfma(vpoly(r, vm_exp_c, 5), r * r, r) + vset1(1.0f);
    return vldexp_normal(p, n);
}

/* exp for weights of a sum, x <= 0: 0 below e^-87 = 1.6e-38, near the end of the normal numbers. Making a
 * denormal number (or one that the processor takes for it) costs as much as 30 vectors of ordinary ones, and
 * hidden scores, -infinity, would pass through that each time. NaN goes through. */
VEC_INLINE vf vexp_weight(vf x) {
    return vsel(vlt(x, vset1(-87.0f)), vzero(), vexp_normal(vat_least(x, -87.0f)));
}

VEC_INLINE vf vlog(vf x) {
    vm tiny = vlt(x, vset1(1.17549435e-38f));
    vf s = vsel(tiny, x * vset1(8388608.0f), x); /* denormals times 2^23 */
    vi b = (vi)((vu)s - 0x3f3504f3u);            /* steps at sqrt(1/2) */
    vf e = vtof(b >> 23);
    vf f = (vf)((b & 0x007fffff) + 0x3f3504f3) - vset1(1.0f);
    e = vsel(tiny, e - vset1(23.0f), e);
    vf ff = f * f;
    vf t = vfma(vpoly(f, vm_log_c, 9), ff * f, e * vset1(1.42860677e-06f));
    t = vfma(ff, vset1(-0.5f), t);
    vf y = vfma(e, vset1(0.693145752f), f + t);
    y = vsel(veq(x, vset1(INFINITY)), x, y);
    y = vsel(veq(x, vzero()), vset1(-INFINITY), y);
    return vsel(vmor(vlt(x, vzero()), vnan(x)), vset1(NAN), y);
}

VEC_INLINE vf vtanh(vf x) {
    vf a = vabs(x), xx = x * x;
    vf small = vfma(vpoly(xx, vm_tanh_c, 6), xx * x, x);
    vf twice = vat_most(a + a, 40.0f); /* beyond, 1 - 2 / (e^40 + 1) is 1 */
    vf big = vset1(1.0f) - vset1(2.0f) * vrecip(vexp(twice) + vset1(1.0f));
    return vsel(vlt(a, vset1(0.65f)), small, vcopysign(big, x));
}

/* e^x - 1: by the polynomial of exp near 0, by a difference elsewhere; 8 ULP. */
VEC_INLINE vf vexpm1(vf x) {
    vf near = vfma(vpoly(x, vm_exp_c, 5), x * x, x);
    return vsel(vlt(vabs(x), vset1(0.34f)), near, vexp(x) - vset1(1.0f));
}

/* log(1 + e^x) = max(x, 0) + log(1 + z), z = e^-|x|. The rounding of u = 1 + z is undone by the factor z / (u - 1);
 * where u is 1, log(1 + z) is z. 4 ULP. */
VEC_INLINE vf vsoftplus(vf x) {
    vf z = vexp(vor(x, vbits(0x80000000u))), u = vset1(1.0f) + z, d = u - vset1(1.0f);
    vf low = vsel(veq(d, vzero()), z, vlog(u) * (z / vsel(veq(d, vzero()), vset1(1.0f), d)));
    return vsel(vlt(x, vzero()), low, x + low);
}

/* x tanh(softplus(x)) = x n / (n + 2), n = e^x (e^x + 2); x itself from 40 on, 0 below -87 as in vgated. */
VEC_INLINE vf vmish(vf x) {
    vf e = vexp(vat_most(vat_least(x, -87.0f), 40.0f)), n = e * (e + vset1(2.0f));
    vf y = x * (n / (n + vset1(2.0f)));
    return vsel(vlt(x, vset1(-87.0f)), vzero(), vsel(vlt(vset1(40.0f), x), x, y));
}

/* 1 / (1 + e^-x) from e^-|x|, so that the small side keeps its digits down to the denormal numbers. */
VEC_INLINE vf vsigmoid(vf x) {
    vf z = vexp(vor(x, vbits(0x80000000u)));
    vf big = vrecip(vset1(1.0f) + z);
    return vsel(vlt(x, vzero()), z * big, big);
}

/* For gates x s(x): s = sigmoid(x) and 1 - s, with x taken as -87 or 87 beyond: sigmoid(-87) = 1.6e-38.
 * Cheaper by a third, and far from denormal numbers. */
VEC_INLINE vf vgate(vf x, vf *rest) {
    vf z = vexp_normal(vat_most(vat_least(vneg(x), -87.0f), 87.0f));
    vf s = vrecip(vset1(1.0f) + z);
    *rest = z * s;
    return s;
}
/* x s, 0 where x < -87 (so also at -infinity, where the product would be NaN). */
VEC_INLINE vf vgated(vf x, vf s) { return vsel(vlt(x, vset1(-87.0f)), vzero(), x * s); }
VEC_INLINE vf vsilu(vf x) {
    vf rest;
    return vgated(x, vgate(x, &rest));
}

/* e^(-x^2 / 2) (1 + 2z) e^(z^2) erfc(z) / (1 + 2z) = erfc(z) at z = |x| / sqrt(2); *bell = e^(-x^2 / 2). The rounding of x^2 / 2
 * would be amplified by its size, so its low part (from a fused multiply-add; 0 without one) goes into the
 * exponent as well. */
VEC_INLINE vf verfc_of(vf z, vf half_square, vf half_square_low, vf *bell) {
    vf zc = vat_most(z, 10.2f);
    vf t = (zc - vset1(3.75f)) / (zc + vset1(3.75f)); /* its rounding counts most, so no vrecip here */
    vf p = vpoly(t, vm_erfc_c, 11) * vrecip(vset1(1.0f) + (zc + zc));
    *bell = vexp_fix(vneg(half_square), vneg(half_square_low));
    return *bell * p;
}

VEC_INLINE vf verf(vf x) {
    vf a = vat_most(vabs(x), 10.0f), xx = a * a;
    vf small = vfma(x, vpoly(xx, vm_erf_c, 8), x);
    vf bell, big = vset1(1.0f) - verfc_of(a, xx, vzero(), &bell);
    return vsel(vlt(a, vset1(1.0f)), small, vcopysign(big, x));
}

/* The normal distribution function, with relative accuracy in the lower tail; *bell = e^(-x^2 / 2). */
VEC_INLINE vf vnormal_cdf(vf x, vf *bell) {
    vf a = vat_most(vabs(x), 14.4f), h = a * vset1(0.5f);
    vf hs = a * h;
    vf tail = vset1(0.5f) * verfc_of(a * vset1(0.707106781f), hs, vfma(a, h, vneg(hs)), bell);
    return vsel(vlt(x, vzero()), tail, vset1(1.0f) - tail);
}

#endif
