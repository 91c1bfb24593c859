/* op_cosh.c - y = hyperbolic cosine of a. Gradient: g sinh(a). Overflow gives inf. */
#include "pointwise.h"

#define EXPR cosh(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 0)
ASC_UNARY_BUILDER(cosh)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_mul(ctx, g, asc_sinh(ctx, x));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_cosh = {
    ASC_UNARY_FIELDS(COSH, cosh),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Hyperbolic cosine.",
    .formula = "y = (e^a + e^-a) / 2",
};
