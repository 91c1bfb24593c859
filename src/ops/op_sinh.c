/* op_sinh.c - y = hyperbolic sine of a. Gradient: g cosh(a). Overflow gives infinities. */
#include "pointwise.h"

#define EXPR sinh(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 0)
ASC_UNARY_BUILDER(sinh)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_mul(ctx, g, asc_cosh(ctx, x));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_sinh = {
    ASC_UNARY_FIELDS(SINH, sinh),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Hyperbolic sine.",
    .formula = "y = (e^a - e^-a) / 2",
};
