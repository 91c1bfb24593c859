/* op_log1p.c - y = log(1 + a) without loss of digits near 0. Gradient: g / (1 + a). log1p(-1) = -inf, NaN
 * below. */
#include "pointwise.h"

#define EXPR log1p(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-0.8, 3, 0)
ASC_UNARY_BUILDER(log1p)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_div(ctx, g, asc_shift(ctx, x, 1));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_log1p = {
    ASC_UNARY_FIELDS(LOG1P, log1p),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Natural logarithm of 1 + a, exact near 0; NaN below -1.",
    .formula = "y = log(1 + a)",
};
