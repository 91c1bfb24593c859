/* op_rsqrt.c - y = 1 / sqrt(a). Gradient: -g y^3 / 2. A zero gives an infinity, a negative number NaN, inf
 * gives 0. */
#include "pointwise.h"

#define EXPR 1.0 / sqrt(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(0.2, 3, 0)
ASC_UNARY_BUILDER(rsqrt)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)x;
    return asc_scale(ctx, asc_mul(ctx, g, asc_mul(ctx, y, asc_square(ctx, y))), -0.5);
}
ASC_UNARY_RULES

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    return asc_recip(ctx, asc_sqrt(ctx, in[0]));
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 2;
}

const asc_op asc_op_rsqrt = {
    ASC_UNARY_FIELDS(RSQRT, rsqrt), ASC_OP_RULES,
    .decompose = decompose,         .cost = cost,
    .flags = ASC_OP_INPLACE,        .doc = "Reciprocal square root; inf at 0, NaN for negative numbers.",
    .formula = "y = a^(-1/2)",
};
