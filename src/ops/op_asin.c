/* op_asin.c - y = arcsine of a in radians. Gradient: g / sqrt(1 - a^2), infinite at the ends. NaN outside
 * [-1, 1]. */
#include "pointwise.h"

#define EXPR asin(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-0.9, 0.9, 0)
ASC_UNARY_BUILDER(asin)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_mul(ctx, g, asc_rsqrt(ctx, asc_sub(ctx, asc_scalar(ctx, 1), asc_square(ctx, x))));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_asin = {
    ASC_UNARY_FIELDS(ASIN, asin),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Arcsine in radians; NaN outside [-1, 1].",
    .formula = "y = asin(a)",
};
