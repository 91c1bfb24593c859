/* op_selu.c - y = gamma a for a > 0, else gamma alpha (e^a - 1). Gradient: g gamma for a > 0, else g gamma
 * alpha e^a; gamma alpha at 0. Klambauer and others 2017 derive alpha = 1.67326.. and gamma = 1.05070... */
#include "pointwise.h"

#define EXPR s1 *(a > 0 ? a : s0 * expm1(a))
ASC_UNARY_PARAMS_REF

static const asc_attr_def attr_defs[] = {{"alpha", ASC_ATTR_FLOAT, 0}, {"gamma", ASC_ATTR_FLOAT, 1}};

asc_tensor *asc_selu(asc_ctx *ctx, asc_tensor *a, double alpha, double gamma) {
    return asc_apply(ctx, &asc_op_selu, &(asc_attrs){.f = {alpha, gamma}}, &a, 1);
}

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, const asc_attrs *attrs, asc_tensor *g) {
    asc_tensor *zero = asc_scalar(ctx, 0);
    asc_tensor *left = asc_less_equal(ctx, x, zero);
    asc_tensor *slope = asc_scale(ctx, asc_exp(ctx, asc_minimum(ctx, x, zero)), attrs->f[0]);
    return asc_scale(ctx, asc_where(ctx, left, asc_mul(ctx, g, slope), g), attrs->f[1]);
}
ASC_UNARY_PARAM_RULES

static bool sample(int i, asc_sample *out) {
    static const double cases[][2] = {{1.6732632423543772, 1.0507009873554805},
                                      {1, 1},
                                      {1.6732632423543772, 1.0507009873554805},
                                      {0.5, 2},
                                      {1.5, 0.5}};
    return asc_sample_unary(i, out, -2, 2, 1e-3) && asc_sample_params(out, cases[i], 2);
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

const asc_op asc_op_selu = {
    ASC_UNARY_FIELDS(SELU, selu),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Scaled exponential linear unit.",
    .formula = "y = gamma (a > 0 ? a : alpha (e^a - 1))",
};
