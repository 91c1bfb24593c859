/* op_exp.c - y = e^a. Gradient: g y. exp(-inf) = 0, overflow gives inf, NaN stays NaN. */
#include "pointwise.h"

#define EXPR exp(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 0)
ASC_UNARY_BUILDER(exp)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)x;
    return asc_mul(ctx, g, y);
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_exp = {
    ASC_UNARY_FIELDS(EXP, exp),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Exponential; overflow gives inf.",
    .formula = "y = e^a",
};
