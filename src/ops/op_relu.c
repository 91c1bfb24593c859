/* op_relu.c - y = max(a, 0). Gradient: g where a > 0, 0 where a <= 0 (0 at the kink). relu(NaN) = NaN,
 * relu(-inf) = 0. */
#include "pointwise.h"

#define EXPR a < 0 ? 0.0 : a
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 1e-3)
ASC_UNARY_BUILDER(relu)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    asc_tensor *zero = asc_scalar(ctx, 0);
    return asc_where(ctx, asc_less_equal(ctx, x, zero), zero, g);
}
ASC_UNARY_RULES

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    return asc_maximum(ctx, in[0], asc_scalar(ctx, 0));
}

const asc_op asc_op_relu = {
    ASC_UNARY_FIELDS(RELU, relu), ASC_OP_RULES,
    .decompose = decompose,       .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE,      .doc = "Positive part; NaN stays NaN; the gradient at 0 is 0.",
    .formula = "y = max(a, 0)",
};
