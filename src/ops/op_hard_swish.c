/* op_hard_swish.c - y = a times a cut to 0..1 line: a max(0, min(1, a/6 + 1/2)). Gradient: g times 0 for a <=
 * -3, a/3 + 1/2 between, 1 for a >= 3. hard_swish(-inf) = 0, where the product would be NaN. */
#include "pointwise.h"

#define EXPR a <= -3 ? 0.0 : a >= 3 ? a : a *(a + 3) / 6
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-5, 5, 1e-3)
ASC_UNARY_BUILDER(hard_swish)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    asc_tensor *inner = asc_mul(ctx, g, asc_shift(ctx, asc_scale(ctx, x, 1.0 / 3), 0.5));
    asc_tensor *high = asc_where(ctx, asc_less_equal(ctx, asc_scalar(ctx, 3), x), g, inner);
    asc_tensor *zero = asc_scalar(ctx, 0);
    return asc_where(ctx, asc_less_equal(ctx, x, asc_scalar(ctx, -3)), zero, high);
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 4;
}

const asc_op asc_op_hard_swish = {
    ASC_UNARY_FIELDS(HARD_SWISH, hard_swish),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Piecewise form of silu; 0 at -inf.",
    .formula = "y = a max(0, min(1, a/6 + 1/2))",
};
