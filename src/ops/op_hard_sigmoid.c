/* op_hard_sigmoid.c - y = the line alpha a + beta cut to 0..1. Gradient: alpha g strictly inside, else 0. NaN
 * stays NaN. */
#include "pointwise.h"

#define EXPR s0 *a + s1 <= 0 ? 0.0 : s0 *a + s1 >= 1 ? 1.0 : s0 *a + s1
ASC_UNARY_PARAMS_REF

static const asc_attr_def attr_defs[] = {{"alpha", ASC_ATTR_FLOAT, 0}, {"beta", ASC_ATTR_FLOAT, 1}};

asc_tensor *asc_hard_sigmoid(asc_ctx *ctx, asc_tensor *a, double alpha, double beta) {
    return asc_apply(ctx, &asc_op_hard_sigmoid, &(asc_attrs){.f = {alpha, beta}}, &a, 1);
}

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, const asc_attrs *attrs, asc_tensor *g) {
    asc_tensor *line = asc_shift(ctx, asc_scale(ctx, x, attrs->f[0]), attrs->f[1]);
    asc_tensor *zero = asc_scalar(ctx, 0);
    asc_tensor *high = asc_where(ctx, asc_less(ctx, line, asc_scalar(ctx, 1)), g, zero);
    return asc_scale(ctx, asc_where(ctx, asc_less(ctx, zero, line), high, zero), attrs->f[0]);
}
ASC_UNARY_PARAM_RULES

static bool sample(int i, asc_sample *out) {
    static const double cases[][2] = {{0.2, 0.5}, {1.0 / 6, 0.5}, {0.2, 0.5}, {-0.5, 0.25}, {1.0 / 6, 0.5}};
    return asc_sample_unary(i, out, -5, 5, 1e-3) && asc_sample_params(out, cases[i], 2);
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 4;
}

const asc_op asc_op_hard_sigmoid = {
    ASC_UNARY_FIELDS(HARD_SIGMOID, hard_sigmoid),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "A line cut to 0..1; NaN stays NaN.",
    .formula = "y = max(0, min(1, alpha a + beta))",
};
