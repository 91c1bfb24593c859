/* op_sin.c - y = sin(a), a in radians. Gradient: g cos(a). An infinity gives NaN. */
#include "pointwise.h"

#define EXPR sin(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-4, 4, 0)
ASC_UNARY_BUILDER(sin)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_mul(ctx, g, asc_cos(ctx, x));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_sin = {
    ASC_UNARY_FIELDS(SIN, sin),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Sine of radians; NaN for infinities.",
    .formula = "y = sin(a)",
};
