/* op_is_inf.c - 1 where a is infinite, else 0 (f32); the attributes say which signs count. Piecewise
 * constant: no gradient. The attributes are floats 0 or 1, so that the expression can use them. */
#include "pointwise.h"

#define EXPR (s0 != 0 && a > 1.7976931348623157e308) || (s1 != 0 && a < -1.7976931348623157e308) ? 1.0 : 0.0
ASC_UNARY_PARAMS_REF

static const asc_attr_def attr_defs[] = {{"positive", ASC_ATTR_FLOAT, 0}, {"negative", ASC_ATTR_FLOAT, 1}};

asc_tensor *asc_is_inf(asc_ctx *ctx, asc_tensor *a, bool positive, bool negative) {
    return asc_apply(ctx, &asc_op_is_inf, &(asc_attrs){.f = {positive, negative}}, &a, 1);
}

static bool sample(int i, asc_sample *out) {
    if (!asc_sample_unary(i, out, -2, 2, 1e-3)) return false;
    out->attrs.f[0] = i % 2;
    out->attrs.f[1] = i < 3;
    return true;
}

const asc_op asc_op_is_inf = {
    ASC_UNARY_FIELDS(IS_INF, is_inf),
    ASC_OP_ATTRS,
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE | ASC_OP_NO_GRAD,
    .doc = "1 where a is infinite with a sign that counts, else 0.",
    .formula = "y = a = inf if positive, a = -inf if negative",
};
