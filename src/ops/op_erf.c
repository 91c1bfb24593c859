/* op_erf.c - y = erf(a) = 2/sqrt(pi) times the integral of e^(-t^2) from 0 to a. Gradient: g 2/sqrt(pi)
 * e^(-a^2). erf(+-inf) = +-1, NaN stays NaN. */
#include "pointwise.h"

#define EXPR erf(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 0)
ASC_UNARY_BUILDER(erf)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    asc_tensor *bell = asc_exp(ctx, asc_neg(ctx, asc_square(ctx, x)));
    return asc_scale(ctx, asc_mul(ctx, g, bell), 1.1283791670955126); /* 2 / sqrt(pi) */
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 15;
}

const asc_op asc_op_erf = {
    ASC_UNARY_FIELDS(ERF, erf),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Error function.",
    .formula = "y = 2/sqrt(pi) integral of e^(-t^2), t = 0..a",
};
