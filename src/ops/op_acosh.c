/* op_acosh.c - y = inverse hyperbolic cosine of a. Gradient: g / sqrt(a^2 - 1), infinite at 1. NaN below 1.
 */
#include "pointwise.h"

#define EXPR acosh(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(1.3, 4, 0)
ASC_UNARY_BUILDER(acosh)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_mul(ctx, g, asc_rsqrt(ctx, asc_shift(ctx, asc_square(ctx, x), -1)));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_acosh = {
    ASC_UNARY_FIELDS(ACOSH, acosh),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Inverse hyperbolic cosine; NaN below 1.",
    .formula = "y = log(a + sqrt(a^2 - 1))",
};
