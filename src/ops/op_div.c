/* op_div.c - y = a / b with broadcasting. Gradient: g / b to a, -g y / b to b, summed where an input was
 * repeated. IEEE: x / 0 gives a signed infinity, 0 / 0 and inf / inf give NaN. */
#include "pointwise.h"

#define EXPR a / b
ASC_BINARY_REF
ASC_BINARY_SAMPLES(0.5, 2, 0)
ASC_BINARY_BUILDER(div)

static void vjp(asc_vjp_args *a) {
    asc_tensor *q = asc_div(a->ctx, a->g, a->in[1]);
    if (a->need[0]) a->gin[0] = asc_unbroadcast(a->ctx, q, a->in[0]);
    if (a->need[1]) a->gin[1] = asc_neg(a->ctx, asc_unbroadcast(a->ctx, asc_mul(a->ctx, q, a->y), a->in[1]));
}

static asc_tensor *jvp(asc_jvp_args *a) { /* (ta - y tb) / b */
    asc_tensor *minus = a->tin[1] == NULL ? NULL : asc_neg(a->ctx, asc_mul(a->ctx, a->y, a->tin[1]));
    asc_tensor *t = asc_add_or(a->ctx, a->tin[0], minus);
    return t == NULL ? NULL : asc_div(a->ctx, t, a->in[1]);
}

const asc_op asc_op_div = {
    ASC_BINARY_FIELDS(DIV, div),
    ASC_OP_RULES,
    .flags = ASC_OP_INPLACE | ASC_OP_LINEAR_0,
    .doc = "Quotient of two arrays, with broadcasting; division by zero gives inf or NaN.",
    .formula = "y = a / b",
};
