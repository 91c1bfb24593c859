/* op_shift.c - y = a + addend, the addend a run-time parameter: changing it neither makes a buffer nor
 * another program. Gradient: g. IEEE: inf - inf gives NaN. */
#include "pointwise.h"

#define EXPR a + s0
ASC_UNARY_PARAM_REF

static const asc_attr_def attr_defs[] = {{"addend", ASC_ATTR_SCALAR, 0}};

asc_tensor *asc_shift(asc_ctx *ctx, asc_tensor *a, double addend) {
    return asc_apply(ctx, &asc_op_shift, &(asc_attrs){.f = {addend}}, &a, 1);
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = a->g;
}

static asc_tensor *jvp(asc_jvp_args *a) { return a->tin[0]; }

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    return asc_add(ctx, in[0], asc_scalar(ctx, attrs->f[0]));
}

static bool sample(int i, asc_sample *out) {
    static const double addends[] = {0.5, -3, 0, 1.25, 1e-3};
    return asc_sample_unary(i, out, -2, 2, 0) && asc_sample_params(out, &addends[i], 1);
}

const asc_op asc_op_shift = {
    ASC_UNARY_FIELDS(SHIFT, shift),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .decompose = decompose,
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE,
    .doc = "Sum with a number that may change from call to call.",
    .formula = "y = a + addend",
};
