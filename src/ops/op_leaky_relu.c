/* op_leaky_relu.c - y = a for a > 0, else alpha a. Gradient: g for a > 0, else alpha g; alpha g at 0. */
#include "pointwise.h"

#define EXPR a > 0 ? a : s0 *a
ASC_UNARY_PARAM_REF

static const asc_attr_def attr_defs[] = {{"alpha", ASC_ATTR_FLOAT, 0}};

asc_tensor *asc_leaky_relu(asc_ctx *ctx, asc_tensor *a, double alpha) {
    return asc_apply(ctx, &asc_op_leaky_relu, &(asc_attrs){.f = {alpha}}, &a, 1);
}

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, const asc_attrs *attrs, asc_tensor *g) {
    asc_tensor *zero = asc_scalar(ctx, 0);
    asc_tensor *right = asc_less(ctx, zero, x);
    return asc_where(ctx, right, g, asc_scale(ctx, g, attrs->f[0]));
}
ASC_UNARY_PARAM_RULES

static bool sample(int i, asc_sample *out) {
    static const double cases[][1] = {{0.01}, {0.2}, {0}, {-0.5}, {0.1}};
    return asc_sample_unary(i, out, -2, 2, 1e-3) && asc_sample_params(out, cases[i], 1);
}

const asc_op asc_op_leaky_relu = {
    ASC_UNARY_FIELDS(LEAKY_RELU, leaky_relu),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE,
    .doc = "Positive part plus alpha times the negative part; the gradient at 0 is alpha.",
    .formula = "y = a > 0 ? a : alpha a",
};
