/* op_gelu_slope.c - y = Phi(a) + a phi(a), the slope of gelu in its exact form; phi the normal density. In
 * one op, since it is as often computed as gelu itself wherever gradients are. Gradient: g phi(a) (2 - a^2).
 * 0 at -inf, 1 at inf, NaN stays NaN. */
#include "pointwise.h"

#define EXPR                                                                                                 \
    a<-40 ? 0.0 : a> 40                                                                                      \
        ? 1.0                                                                                                \
        : 0.5 * erfc(-0.70710678118654752 * a) + a *(0.39894228040143268 * exp(-0.5 * a * a))
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-3, 3, 0)
ASC_UNARY_BUILDER(gelu_slope)

static const double ROOT_HALF = 0.70710678118654752, BELL = 0.39894228040143268; /* 1/sqrt(2), 1/sqrt(2 pi) */

static asc_tensor *density(asc_ctx *ctx, asc_tensor *x2) {
    return asc_scale(ctx, asc_exp(ctx, asc_scale(ctx, x2, -0.5)), BELL);
}

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    asc_tensor *x2 = asc_square(ctx, x), *bend = asc_shift(ctx, asc_neg(ctx, x2), 2);
    return asc_mul(ctx, g, asc_mul(ctx, density(ctx, x2), bend));
}
ASC_UNARY_RULES

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    asc_tensor *x = in[0], *half = asc_scale(ctx, asc_erf(ctx, asc_scale(ctx, x, ROOT_HALF)), 0.5);
    asc_tensor *bell = density(ctx, asc_square(ctx, x));
    return asc_add(ctx, asc_shift(ctx, half, 0.5), asc_mul(ctx, x, bell));
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 24;
}

const asc_op asc_op_gelu_slope = {
    ASC_UNARY_FIELDS(GELU_SLOPE, gelu_slope),
    ASC_OP_RULES,
    .decompose = decompose,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Slope of gelu, exact form.",
    .formula = "y = Phi(a) + a phi(a)",
};
