/* op_scale.c - y = factor a, the factor a run-time parameter: changing it neither makes a buffer nor another
 * program. Gradient: factor g. IEEE: 0 inf gives NaN. */
#include "pointwise.h"

#define EXPR a *s0
ASC_UNARY_PARAM_REF

static const asc_attr_def attr_defs[] = {{"factor", ASC_ATTR_SCALAR, 0}};

asc_tensor *asc_scale(asc_ctx *ctx, asc_tensor *a, double factor) {
    return asc_apply(ctx, &asc_op_scale, &(asc_attrs){.f = {factor}}, &a, 1);
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = asc_scale(a->ctx, a->g, a->attrs->f[0]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_scale(a->ctx, a->tin[0], a->attrs->f[0]);
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    return asc_mul(ctx, in[0], asc_scalar(ctx, attrs->f[0]));
}

static bool sample(int i, asc_sample *out) {
    static const double factors[] = {0.5, -3, 0, 1.25, 1e-3};
    return asc_sample_unary(i, out, -2, 2, 0) && asc_sample_params(out, &factors[i], 1);
}

const asc_op asc_op_scale = {
    ASC_UNARY_FIELDS(SCALE, scale),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .decompose = decompose,
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE | ASC_OP_LINEAR_0,
    .doc = "Product with a number that may change from call to call.",
    .formula = "y = factor a",
};
