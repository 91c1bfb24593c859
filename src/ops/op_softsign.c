/* op_softsign.c - y = a / (1 + |a|). Gradient: g / (1 + |a|)^2. Infinities give NaN. */
#include "pointwise.h"

#define EXPR a / (1 + fabs(a))
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 1e-3)
ASC_UNARY_BUILDER(softsign)

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, asc_tensor *y, asc_tensor *g) {
    (void)y;
    return asc_div(ctx, g, asc_square(ctx, asc_shift(ctx, asc_abs(ctx, x), 1)));
}
ASC_UNARY_RULES

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 3;
}

const asc_op asc_op_softsign = {
    ASC_UNARY_FIELDS(SOFTSIGN, softsign),
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Softsign; NaN for infinities.",
    .formula = "y = a / (1 + |a|)",
};
