/* op_gelu_tanh.c - y = a/2 (1 + tanh(u)), u = sqrt(2/pi) (a + 0.044715 a^3): the approximation of gelu that
 * many models were trained with. Gradient: g (1/2 (1 + t) + a/2 (1 - t^2) u'), t = tanh(u). Computed as a
 * sigmoid(2 u), which is the same and keeps its digits to the left; 0 at -inf, inf at inf, NaN stays NaN. */
#include "pointwise.h"

#define EXPR a < -40 ? 0.0 : a / (1.0 + exp(-1.5957691216057308 * (a + 0.044715 * a * a * a)))
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-3, 3, 0)
ASC_UNARY_BUILDER(gelu_tanh)

static const double ROOT = 0.79788456080286536, CUBIC = 0.044715; /* sqrt(2/pi) and the fitted constant */

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_mul(ctx, g, asc_gelu_tanh_slope(ctx, x));
}
ASC_UNARY_RULES

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    asc_tensor *x = in[0], *x2 = asc_square(ctx, x); /* u as x (ROOT + ROOT CUBIC x^2) */
    asc_tensor *u = asc_mul(ctx, x, asc_shift(ctx, asc_scale(ctx, x2, ROOT * CUBIC), ROOT));
    asc_tensor *t = asc_tanh(ctx, u);
    return asc_mul(ctx, asc_scale(ctx, x, 0.5), asc_shift(ctx, t, 1));
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 18;
}

const asc_op asc_op_gelu_tanh = {
    ASC_UNARY_FIELDS(GELU_TANH, gelu_tanh),
    ASC_OP_RULES,
    .decompose = decompose,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Gaussian error linear unit, tanh form; 0 at -inf.",
    .formula = "y = a/2 (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3)))",
};
