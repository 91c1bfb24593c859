/* op_atanh.c - y = inverse hyperbolic tangent of a. Gradient: g / (1 - a^2). Infinities at -1 and 1, NaN
 * beyond. */
#include "pointwise.h"

#define EXPR atanh(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-0.9, 0.9, 0)
ASC_UNARY_BUILDER(atanh)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_div(ctx, g, asc_sub(ctx, asc_scalar(ctx, 1), asc_square(ctx, x)));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_atanh = {
    ASC_UNARY_FIELDS(ATANH, atanh),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Inverse hyperbolic tangent; NaN outside [-1, 1].",
    .formula = "y = log((1 + a) / (1 - a)) / 2",
};
