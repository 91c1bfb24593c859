/* op_celu.c - y = a for a > 0, else alpha (e^(a/alpha) - 1): an elu whose slope is continuous. Gradient: g
 * for a > 0, else g e^(a/alpha). */
#include "pointwise.h"

#define EXPR a > 0 ? a : s0 *expm1(a / s0)
ASC_UNARY_PARAM_REF

static const asc_attr_def attr_defs[] = {{"alpha", ASC_ATTR_FLOAT, 0}};

asc_tensor *asc_celu(asc_ctx *ctx, asc_tensor *a, double alpha) {
    return asc_apply(ctx, &asc_op_celu, &(asc_attrs){.f = {alpha}}, &a, 1);
}

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, const asc_attrs *attrs, asc_tensor *g) {
    asc_tensor *zero = asc_scalar(ctx, 0);
    asc_tensor *left = asc_less_equal(ctx, x, zero);
    asc_tensor *slope = asc_exp(ctx, asc_scale(ctx, asc_minimum(ctx, x, zero), 1 / attrs->f[0]));
    return asc_where(ctx, left, asc_mul(ctx, g, slope), g);
}
ASC_UNARY_PARAM_RULES

static bool sample(int i, asc_sample *out) {
    static const double cases[][1] = {{1}, {0.5}, {1}, {2}, {1}};
    return asc_sample_unary(i, out, -2, 2, 1e-3) && asc_sample_params(out, cases[i], 1);
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_celu = {
    ASC_UNARY_FIELDS(CELU, celu),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Exponential linear unit with a continuous slope.",
    .formula = "y = a > 0 ? a : alpha (e^(a/alpha) - 1)",
};
