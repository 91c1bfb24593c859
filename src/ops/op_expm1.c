/* op_expm1.c - y = e^a - 1 without loss of digits near 0. Gradient: g (y + 1). expm1(-inf) = -1. */
#include "pointwise.h"

#define EXPR expm1(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 0)
ASC_UNARY_BUILDER(expm1)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)x;
    return asc_mul(ctx, g, asc_shift(ctx, y, 1));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_expm1 = {
    ASC_UNARY_FIELDS(EXPM1, expm1),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Exponential minus 1, exact near 0.",
    .formula = "y = e^a - 1",
};
