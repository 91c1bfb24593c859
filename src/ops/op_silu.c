/* op_silu.c - y = a sigmoid(a). Gradient: g (s + a s (1 - s)), s = sigmoid(a). Far to the left the value is
 * 0 (silu(-inf) = 0, where the product would be NaN); silu(inf) = inf, NaN stays NaN. */
#include "pointwise.h"

#define EXPR a < -800 ? 0.0 : a / (1.0 + exp(-a))
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-4, 4, 0)
ASC_UNARY_BUILDER(silu)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_mul(ctx, g, asc_silu_slope(ctx, x));
}
ASC_UNARY_RULES

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    return asc_mul(ctx, in[0], asc_sigmoid(ctx, in[0]));
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 12;
}

const asc_op asc_op_silu = {
    ASC_UNARY_FIELDS(SILU, silu),    ASC_OP_RULES,
    .decompose = decompose,          .cost = cost,
    .flags = ASC_OP_INPLACE,         .doc = "Sigmoid-weighted linear unit (swish); 0 at -inf.",
    .formula = "y = a / (1 + e^-a)",
};
