/* op_mish.c - y = a tanh(softplus(a)). Gradient: g (t + a (1 - t^2) sigmoid(a)), t = tanh(softplus(a)).
 * mish(-inf) = 0, where the product would be NaN, mish(inf) = inf. */
#include "pointwise.h"

#define EXPR a < -700 ? 0.0 : a *tanh((a > 0 ? a : 0.0) + log1p(exp(-fabs(a))))
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-4, 4, 0)
ASC_UNARY_BUILDER(mish)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    asc_tensor *t = asc_tanh(ctx, asc_softplus(ctx, x));
    asc_tensor *rest = asc_sub(ctx, asc_scalar(ctx, 1), asc_square(ctx, t));
    asc_tensor *bend = asc_mul(ctx, asc_mul(ctx, x, rest), asc_sigmoid(ctx, x));
    return asc_mul(ctx, g, asc_add(ctx, t, bend));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 30;
}

const asc_op asc_op_mish = {
    ASC_UNARY_FIELDS(MISH, mish),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Mish; 0 at -inf.",
    .formula = "y = a tanh(log(1 + e^a))",
};
