/* op_gelu_tanh_slope.c - the slope of gelu_tanh: with v = 2 sqrt(2/pi) (a + 0.044715 a^3) and s = sigmoid(v),
 * y = s + a s (1 - s) v'. Gradient: g s (1 - s) (2 v' + a v'' + a v'^2 (1 - 2 s)). 0 at -inf, 1 at inf, NaN
 * stays NaN. */
#include "pointwise.h"

static const double ROOT = 1.5957691216057308, CUBIC = 0.044715; /* 2 sqrt(2/pi) and the fitted constant */

static double slope(double a) {
    const double v = ROOT * (a + CUBIC * a * a * a), dv = ROOT * (1 + 3 * CUBIC * a * a), e = exp(-fabs(v));
    const double s = v < 0 ? e / (1 + e) : 1 / (1 + e);
    return s + a * (e / ((1 + e) * (1 + e))) * dv;
}

#define EXPR a<-40 ? 0.0 : a> 40 ? 1.0 : slope(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-3, 3, 0)
ASC_UNARY_BUILDER(gelu_tanh_slope)

typedef struct parts {
    asc_tensor *s, *bell, *dv; /* sigmoid(v), s (1 - s), v' */
} parts;

static parts parts_of(asc_ctx *ctx, asc_tensor *x) {
    asc_tensor *x2 = asc_square(ctx, x);
    asc_tensor *v = asc_mul(ctx, x, asc_shift(ctx, asc_scale(ctx, x2, ROOT * CUBIC), ROOT));
    parts p = {.s = asc_sigmoid(ctx, v), .dv = asc_shift(ctx, asc_scale(ctx, x2, 3 * ROOT * CUBIC), ROOT)};
    p.bell = asc_mul(ctx, p.s, asc_sigmoid(ctx, asc_neg(ctx, v)));
    return p;
}

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    const parts p = parts_of(ctx, x);
    asc_tensor *skew = asc_shift(ctx, asc_scale(ctx, p.s, -2), 1);
    asc_tensor *bends = asc_scale(ctx, asc_square(ctx, x), 6 * ROOT * CUBIC); /* x v'' */
    asc_tensor *turns = asc_mul(ctx, x, asc_mul(ctx, asc_square(ctx, p.dv), skew));
    asc_tensor *sum = asc_add(ctx, asc_add(ctx, asc_scale(ctx, p.dv, 2), bends), turns);
    return asc_mul(ctx, g, asc_mul(ctx, p.bell, sum));
}
ASC_UNARY_RULES

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    const parts p = parts_of(ctx, in[0]);
    return asc_add(ctx, p.s, asc_mul(ctx, in[0], asc_mul(ctx, p.bell, p.dv)));
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 24;
}

const asc_op asc_op_gelu_tanh_slope = {
    ASC_UNARY_FIELDS(GELU_TANH_SLOPE, gelu_tanh_slope),
    ASC_OP_RULES,
    .decompose = decompose,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Slope of gelu, tanh form.",
    .formula = "y = s + a s (1 - s) v', s = sigmoid(v), v = 2 sqrt(2/pi) (a + 0.044715 a^3)",
};
