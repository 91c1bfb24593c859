/* op_neg.c - y = -a. Gradient: -g. NaN stays NaN; the sign of zero turns. */
#include "pointwise.h"

#define EXPR -a
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 0)
ASC_UNARY_BUILDER(neg)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)x, (void)y;
    return asc_neg(ctx, g);
}
ASC_UNARY_RULES

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    return asc_scale(ctx, in[0], -1);
}

const asc_op asc_op_neg = {
    ASC_UNARY_FIELDS(NEG, neg),
    ASC_OP_RULES,
    .decompose = decompose,
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE | ASC_OP_LINEAR_0,
    .doc = "Negative.",
    .formula = "y = -a",
};
