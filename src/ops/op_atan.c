/* op_atan.c - y = arctangent of a in radians. Gradient: g / (1 + a^2). Infinities give plus or minus pi/2. */
#include "pointwise.h"

#define EXPR atan(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-3, 3, 0)
ASC_UNARY_BUILDER(atan)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_div(ctx, g, asc_shift(ctx, asc_square(ctx, x), 1));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_atan = {
    ASC_UNARY_FIELDS(ATAN, atan),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Arctangent in radians.",
    .formula = "y = atan(a)",
};
