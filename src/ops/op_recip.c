/* op_recip.c - y = 1 / a. Gradient: -g y^2. 1 / 0 gives an infinity of the zero's sign, 1 / inf gives 0. */
#include "pointwise.h"

#define EXPR 1.0 / a
ASC_UNARY_REF
ASC_UNARY_SAMPLES(0.4, 2, 0)
ASC_UNARY_BUILDER(recip)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)x;
    return asc_neg(ctx, asc_mul(ctx, g, asc_square(ctx, y)));
}
ASC_UNARY_RULES

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    return asc_div(ctx, asc_scalar(ctx, 1), in[0]);
}

const asc_op asc_op_recip = {
    ASC_UNARY_FIELDS(RECIP, recip), ASC_OP_RULES,
    .decompose = decompose,         .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE,        .doc = "Reciprocal; 1 / 0 gives inf.",
    .formula = "y = 1 / a",
};
