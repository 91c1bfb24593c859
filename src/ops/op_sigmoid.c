/* op_sigmoid.c - y = 1 / (1 + e^-a). Gradient: g y (1 - y). Each sign of a uses the form whose exponential
 * cannot overflow; sigmoid(-inf) = 0, sigmoid(inf) = 1, NaN stays NaN. */
#include "pointwise.h"

#define EXPR a >= 0 ? 1.0 / (1.0 + exp(-a)) : exp(a) / (1.0 + exp(a))
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-4, 4, 0)
ASC_UNARY_BUILDER(sigmoid)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)x;
    return asc_mul(ctx, g, asc_mul(ctx, y, asc_sub(ctx, asc_scalar(ctx, 1), y)));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 12;
}

const asc_op asc_op_sigmoid = {
    ASC_UNARY_FIELDS(SIGMOID, sigmoid),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Logistic function.",
    .formula = "y = 1 / (1 + e^-a)",
};
