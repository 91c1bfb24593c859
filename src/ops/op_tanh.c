/* op_tanh.c - y = tanh(a). Gradient: g (1 - y^2). tanh(+-inf) = +-1, NaN stays NaN. */
#include "pointwise.h"

#define EXPR tanh(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 0)
ASC_UNARY_BUILDER(tanh)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)x;
    return asc_mul(ctx, g, asc_sub(ctx, asc_scalar(ctx, 1), asc_square(ctx, y)));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_tanh = {
    ASC_UNARY_FIELDS(TANH, tanh),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Hyperbolic tangent.",
    .formula = "y = tanh(a)",
};
