/* op_pow.c - y = a^b, with broadcasting, as the C library's pow: a^0 = 1 for every a, 0^b = 0 for b > 0, NaN
 * for negative a and b not whole. Gradient: to a g b a^(b-1), 0 where b = 0; to b g y log(a), 0 where a = 0
 * and b >= 0 (the limit from the right), NaN for negative a. */
#include "pointwise.h"

#define EXPR pow(a, b)
ASC_BINARY_REF
ASC_BINARY_BUILDER(pow)

/* dy/da */
static asc_tensor *by_base(asc_ctx *ctx, asc_tensor *a, asc_tensor *b) {
    asc_tensor *slope = asc_mul(ctx, b, asc_pow(ctx, a, asc_shift(ctx, b, -1))), *zero = asc_scalar(ctx, 0);
    return asc_where(ctx, asc_equal(ctx, b, zero), zero, slope);
}

/* dy/db; where it is 0 by rule the logarithm is taken of 1, so that its own gradient is finite. */
static asc_tensor *by_exponent(asc_ctx *ctx, asc_tensor *a, asc_tensor *b, asc_tensor *y) {
    asc_tensor *zero = asc_scalar(ctx, 0);
    asc_tensor *flat = asc_mul(ctx, asc_equal(ctx, a, zero), asc_less_equal(ctx, zero, b));
    return asc_mul(ctx, y, asc_log(ctx, asc_where(ctx, flat, asc_scalar(ctx, 1), a)));
}

static void vjp(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[0], *b = a->in[1];
    if (a->need[0]) a->gin[0] = asc_unbroadcast(ctx, asc_mul(ctx, a->g, by_base(ctx, x, b)), x);
    if (a->need[1]) a->gin[1] = asc_unbroadcast(ctx, asc_mul(ctx, a->g, by_exponent(ctx, x, b, a->y)), b);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[0], *b = a->in[1], *t = NULL;
    if (a->tin[0] != NULL) t = asc_mul(ctx, a->tin[0], by_base(ctx, x, b));
    if (a->tin[1] != NULL) t = asc_add_or(ctx, t, asc_mul(ctx, a->tin[1], by_exponent(ctx, x, b, a->y)));
    return t;
}

static bool sample(int i, asc_sample *out) {
    if (!asc_sample_binary(i, out, 0.4, 2, 0)) return false;
    out->lo[1] = -2;
    return true;
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 30;
}

const asc_op asc_op_pow = {
    ASC_OP_FIELDS_OF(POW, pow, 2, 2, asc_infer_float, sample),
    ASC_OP_RULES,
    ASC_POINTWISE_FIELDS,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Power, with broadcasting; a^0 = 1; NaN for negative a and b not whole.",
    .formula = "y = a^b",
};
