/* op_gelu.c - y = a Phi(a), Phi the standard normal distribution function (the exact form; see gelu_tanh).
 * Gradient: g (Phi(a) + a phi(a)), phi the normal density. By erfc, so that no digits are lost to the left;
 * gelu(-inf) = 0, gelu(inf) = inf, NaN stays NaN. */
#include "pointwise.h"

#define EXPR a < -40 ? 0.0 : 0.5 * a *erfc(-0.70710678118654752 * a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-3, 3, 0)
ASC_UNARY_BUILDER(gelu)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_mul(ctx, g, asc_gelu_slope(ctx, x));
}
ASC_UNARY_RULES

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    asc_tensor *e = asc_erf(ctx, asc_scale(ctx, in[0], 0.70710678118654752)); /* 1 / sqrt(2) */
    return asc_mul(ctx, asc_scale(ctx, in[0], 0.5), asc_shift(ctx, e, 1));
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 20;
}

const asc_op asc_op_gelu = {
    ASC_UNARY_FIELDS(GELU, gelu),
    ASC_OP_RULES,
    .decompose = decompose,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Gaussian error linear unit, exact form; 0 at -inf.",
    .formula = "y = a Phi(a) = a/2 (1 + erf(a / sqrt(2)))",
};
