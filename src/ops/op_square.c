/* op_square.c - y = a^2. Gradient: 2 g a. Overflow gives inf, NaN stays NaN. */
#include "pointwise.h"

#define EXPR a *a
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 0)
ASC_UNARY_BUILDER(square)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_scale(ctx, asc_mul(ctx, g, x), 2);
}
ASC_UNARY_RULES

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    return asc_mul(ctx, in[0], in[0]);
}

const asc_op asc_op_square = {
    ASC_UNARY_FIELDS(SQUARE, square), ASC_OP_RULES,     .decompose = decompose, .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE,          .doc = "Square.", .formula = "y = a^2",
};
