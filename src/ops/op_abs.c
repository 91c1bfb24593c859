/* op_abs.c - y = |a|. Gradient: g sign(a), 0 at 0. NaN stays NaN, |-inf| = inf. */
#include "pointwise.h"

#define EXPR fabs(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 1e-3)
ASC_UNARY_BUILDER(abs)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_mul(ctx, g, asc_sign(ctx, x));
}
ASC_UNARY_RULES

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    return asc_maximum(ctx, in[0], asc_neg(ctx, in[0]));
}

const asc_op asc_op_abs = {
    ASC_UNARY_FIELDS(ABS, abs), ASC_OP_RULES,
    .decompose = decompose,     .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE,    .doc = "Absolute value; the gradient at 0 is 0.",
    .formula = "y = |a|",
};
