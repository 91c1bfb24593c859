/* op_sqrt.c - y = sqrt(a). Gradient: g / (2 y), so inf at 0. A negative number gives NaN, sqrt(-0) = -0. */
#include "pointwise.h"

#define EXPR sqrt(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(0.2, 3, 0)
ASC_UNARY_BUILDER(sqrt)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)x;
    return asc_scale(ctx, asc_div(ctx, g, y), 0.5);
}
ASC_UNARY_RULES

const asc_op asc_op_sqrt = {
    ASC_UNARY_FIELDS(SQRT, sqrt),
    ASC_OP_RULES,
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE,
    .doc = "Square root; NaN for negative numbers; the gradient at 0 is inf.",
    .formula = "y = a^(1/2)",
};
