/* op_softplus.c - y = log(1 + e^a), written so that neither end overflows. Gradient: g sigmoid(a).
 * softplus(inf) = inf, softplus(-inf) = 0. */
#include "pointwise.h"

#define EXPR (a > 0 ? a : 0.0) + log1p(exp(-fabs(a)))
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-4, 4, 0)
ASC_UNARY_BUILDER(softplus)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_mul(ctx, g, asc_sigmoid(ctx, x));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 20;
}

const asc_op asc_op_softplus = {
    ASC_UNARY_FIELDS(SOFTPLUS, softplus),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Smooth form of the positive part.",
    .formula = "y = log(1 + e^a)",
};
