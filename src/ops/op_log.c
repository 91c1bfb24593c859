/* op_log.c - y = ln(a). Gradient: g / a. log(0) = -inf, a negative number gives NaN, log(inf) = inf. */
#include "pointwise.h"

#define EXPR log(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(0.2, 3, 0)
ASC_UNARY_BUILDER(log)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_div(ctx, g, x);
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_log = {
    ASC_UNARY_FIELDS(LOG, log),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Natural logarithm; -inf at 0, NaN for negative numbers.",
    .formula = "y = ln(a)",
};
