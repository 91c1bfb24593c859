/* op_tan.c - y = tan(a), a in radians. Gradient: g (1 + y^2). An infinity gives NaN. */
#include "pointwise.h"

#define EXPR tan(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-1.2, 1.2, 0)
ASC_UNARY_BUILDER(tan)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)x;
    return asc_mul(ctx, g, asc_shift(ctx, asc_square(ctx, y), 1));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_tan = {
    ASC_UNARY_FIELDS(TAN, tan),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Tangent of radians; NaN for infinities.",
    .formula = "y = tan(a)",
};
