/* pointwise.inl - ops of one input, and the gated pair swiglu, over vectors. An op is a function of a vector
 * x and broadcast attributes s and t; the loop over blocks is shared. In place is safe: an element is read
 * before it is written. */
#include "kutil.h"
#include "vmath.inl"

typedef void map_fn(const float *x, float *y, int64_t n, float s, float t);
typedef struct map_job {
    map_fn *fn;
    const float *x;
    float *y;
    int64_t n;
    float s, t;
} map_job;

static void map_unit(void *self, int64_t i, int thread) {
    (void)thread;
    const map_job *j = self;
    int64_t at = i * ASC_K_BLOCK;
    j->fn(j->x + at, j->y + at, asc_kmin(ASC_K_BLOCK, j->n - at), j->s, j->t);
}

static void map_run(const asc_kargs *a, map_fn *fn, const char *attr, const char *attr2) {
    map_job j = {fn, a->in[0], a->out, asc_kelems(&a->call->shape), 0, 0};
    if (attr != NULL) j.s = (float)asc_kfloat(a->call, attr);
    if (attr2 != NULL) j.t = (float)asc_kfloat(a->call, attr2);
    asc_kpar(asc_kceil(j.n, ASC_K_BLOCK), asc_kthreads(a, (double)j.n), false, map_unit, &j);
}

#define MAP_KERNEL2(OPCODE, op, attr, attr2, EXPR)                                                           \
    VEC_INLINE vf map1_##op(vf x, vf s, vf t) {                                                              \
        (void)s, (void)t;                                                                                    \
        return EXPR;                                                                                         \
    }                                                                                                        \
    static void map_##op(const float *x, float *y, int64_t n, float s, float t) {                            \
        int64_t i = 0;                                                                                       \
        for (; i + VW <= n; i += VW) vstore(y + i, map1_##op(vload(x + i), vset1(s), vset1(t)));             \
        if (i < n) vstoren(y + i, map1_##op(vloadn(x + i, n - i), vset1(s), vset1(t)), n - i);               \
    }                                                                                                        \
    static void run_##op(const asc_kargs *a) { map_run(a, map_##op, attr, attr2); }                          \
    static void strip_##op(const asc_strip *a) { map_##op(a->in[0], a->y, a->n, a->s[0], a->s[1]); }         \
    const asc_kernel VEC_NAME(asc_kernel_##op) = {.name = #op,                                               \
                                                  .opcode = ASC_OPCODE_##OPCODE,                             \
                                                  .isa = VEC_ISA_ENUM,                                       \
                                                  .fits = asc_kfits_f32,                                     \
                                                  .run = run_##op,                                           \
                                                  .strip = strip_##op,                                       \
                                                  .strip_attr = {attr, attr2}};
#define MAP_KERNEL(OPCODE, op, attr, EXPR) MAP_KERNEL2(OPCODE, op, attr, NULL, EXPR)

VEC_INLINE vf vsign(vf x) {
    vf one = vcopysign(vset1(1.0f), x);
    return vsel(vmor(vlt(x, vzero()), vlt(vzero(), x)), one, x); /* zeros and NaN stay */
}
VEC_INLINE vf vgelu_tanh(vf x) {
    vf u = x * vfma(x * x, vset1(0.0713548163f), vset1(1.59576912f)); /* 2 sqrt(2/pi) (x + 0.044715 x^3) */
    vf rest, y = x * vgate(u, &rest);
    return vsel(vlt(u, vset1(-87.0f)), vzero(), y);
}
/* 0 at -infinity, where the product would be NaN. */
VEC_INLINE vf vgelu(vf x) {
    vf bell;
    return vat_least(x, -20.0f) * vnormal_cdf(x, &bell);
}
/* Beyond 14 the density is 0 as good as, and infinity times it would be NaN. */
VEC_INLINE vf vgelu_slope(vf x) {
    vf bell, cdf = vnormal_cdf(x, &bell), near = vat_most(vat_least(x, -14.0f), 14.0f);
    return vfma(near * vset1(0.398942280f), bell, cdf);
}
/* s + x s (1 - s) v', as above */
VEC_INLINE vf vgelu_tanh_slope(vf x) {
    vf near = vat_most(vat_least(x, -11.0f), 11.0f), xx = near * near; /* beyond, |v| > 112: s is 0 or 1 */
    vf rest, s = vgate(near * vfma(xx, vset1(0.0713548163f), vset1(1.59576912f)), &rest);
    vf slope = near * vfma(xx, vset1(0.214064449f), vset1(1.59576912f));
    return s * vfma(slope, rest, vset1(1.0f));
}

/* x where it is above 0, else y; NaN chooses y, which must then be NaN. */
VEC_INLINE vf vright(vf x, vf y) { return vsel(vlt(vzero(), x), x, y); }
VEC_INLINE vf vclip(vf x, vf lo, vf hi) {
    vf y = vsel(vlt(x, lo), lo, x);
    return vsel(vlt(hi, y), hi, y);
}
VEC_INLINE vf vhard_swish(vf x) {
    vf y = vsel(vle(vset1(3.0f), x), x, x * (x + vset1(3.0f)) / vset1(6.0f));
    return vsel(vle(x, vset1(-3.0f)), vzero(), y);
}

MAP_KERNEL(NEG, neg, NULL, vneg(x))
MAP_KERNEL(RECIP, recip, NULL, vset1(1.0f) / x)
MAP_KERNEL(ABS, abs, NULL, vabs(x))
MAP_KERNEL(SIGN, sign, NULL, vsign(x))
MAP_KERNEL(SQUARE, square, NULL, x *x)
MAP_KERNEL(SQRT, sqrt, NULL, vsqrt(x))
MAP_KERNEL(RSQRT, rsqrt, NULL, vset1(1.0f) / vsqrt(x))
MAP_KERNEL(EXP, exp, NULL, vexp(x))
MAP_KERNEL(LOG, log, NULL, vlog(x))
MAP_KERNEL(TANH, tanh, NULL, vtanh(x))
MAP_KERNEL(SIGMOID, sigmoid, NULL, vsigmoid(x))
MAP_KERNEL(ERF, erf, NULL, verf(x))
MAP_KERNEL(RELU, relu, NULL, vsel(vlt(x, vzero()), vzero(), x))
MAP_KERNEL(SILU, silu, NULL, vsilu(x))
MAP_KERNEL(GELU, gelu, NULL, vgelu(x))
MAP_KERNEL(GELU_TANH, gelu_tanh, NULL, vgelu_tanh(x))
MAP_KERNEL(GELU_SLOPE, gelu_slope, NULL, vgelu_slope(x))
MAP_KERNEL(GELU_TANH_SLOPE, gelu_tanh_slope, NULL, vgelu_tanh_slope(x))
MAP_KERNEL(SOFTPLUS, softplus, NULL, vsoftplus(x))
MAP_KERNEL(MISH, mish, NULL, vmish(x))
MAP_KERNEL(SOFTSIGN, softsign, NULL, x / (vset1(1.0f) + vabs(x)))
MAP_KERNEL(HARD_SWISH, hard_swish, NULL, vhard_swish(x))
MAP_KERNEL(ELU, elu, "alpha", vright(x, s *vexpm1(x)))
MAP_KERNEL(CELU, celu, "alpha", vright(x, s *vexpm1(x / s)))
MAP_KERNEL(LEAKY_RELU, leaky_relu, "alpha", vright(x, s *x))
MAP_KERNEL2(SELU, selu, "alpha", "gamma", t *vright(x, s *vexpm1(x)))
MAP_KERNEL2(HARD_SIGMOID, hard_sigmoid, "alpha", "beta", vclip(vfma(s, x, t), vzero(), vset1(1.0f)))
MAP_KERNEL2(CLIP, clip, "lo", "hi", vclip(x, s, t))
MAP_KERNEL(SCALE, scale, "factor", x *s)
MAP_KERNEL(SHIFT, shift, "addend", x + s)

/* d silu = s (1 + x (1 - s)), s = sigmoid(x) */
VEC_INLINE void glu_grad1(vf x, vf up, vf g, vf *dgate, vf *dup) {
    vf rest, s = vgate(x, &rest);
    vf finite = vat_most(vat_least(x, -87.0f), 87.0f); /* beyond, x (1 - s) and s x are 0 as good as */
    *dgate = (g * up) * (s * vfma(finite, rest, vset1(1.0f)));
    *dup = g * vgated(x, s);
}

/* swiglu, or swiglu_grad where there is a third input. */
static void glu_strip(const asc_strip *a) {
    const float *gate = a->in[0], *pu = a->in[1], *pg = a->in[2];
    float *py = a->y, *py2 = a->y2;
    for (int64_t i = 0, end = a->n; i < end; i += VW) {
        int64_t n = asc_kmin(VW, end - i);
        vf x = n == VW ? vload(gate + i) : vloadn(gate + i, n);
        vf up = n == VW ? vload(pu + i) : vloadn(pu + i, n);
        vf y, y2 = vzero();
        if (pg == NULL)
            y = vsilu(x) * up;
        else
            glu_grad1(x, up, n == VW ? vload(pg + i) : vloadn(pg + i, n), &y, &y2);
        if (n == VW) {
            vstore(py + i, y);
            if (pg != NULL) vstore(py2 + i, y2);
        } else {
            vstoren(py + i, y, n);
            if (pg != NULL) vstoren(py2 + i, y2, n);
        }
    }
}

static void glu_unit(void *self, int64_t u, int thread) {
    (void)thread;
    asc_strip a = *(const asc_strip *)self;
    const int64_t at = u * ASC_K_BLOCK;
    a.n = asc_kmin(ASC_K_BLOCK, a.n - at);
    for (int k = 0; k < 3; k++)
        if (a.in[k] != NULL) a.in[k] += at;
    a.y += at;
    if (a.y2 != NULL) a.y2 += at;
    glu_strip(&a);
}

static void run_glu(const asc_kargs *a) {
    asc_strip j = {.in = {a->in[0], a->in[1]}, .y = a->out, .n = asc_kelems(&a->call->in_shape[0])};
    if (a->call->n_in == 3) {
        j.in[2] = a->in[2];
        j.y2 = j.y + j.n;
    }
    asc_kpar(asc_kceil(j.n, ASC_K_BLOCK), asc_kthreads(a, (double)j.n), false, glu_unit, &j);
}

const asc_kernel VEC_NAME(asc_kernel_swiglu) = {.name = "swiglu",
                                                .opcode = ASC_OPCODE_SWIGLU,
                                                .isa = VEC_ISA_ENUM,
                                                .fits = asc_kfits_f32,
                                                .run = run_glu,
                                                .strip = glu_strip};
const asc_kernel VEC_NAME(asc_kernel_swiglu_grad) = {.name = "swiglu_grad",
                                                     .opcode = ASC_OPCODE_SWIGLU_GRAD,
                                                     .isa = VEC_ISA_ENUM,
                                                     .fits = asc_kfits_f32,
                                                     .run = run_glu,
                                                     .strip = glu_strip};
