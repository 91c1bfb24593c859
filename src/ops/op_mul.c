/* op_mul.c - y = a b with broadcasting. Gradient: g b to a, g a to b, summed where an input was repeated.
 * IEEE: 0 inf gives NaN. */
#include "pointwise.h"

#define EXPR a *b
ASC_BINARY_REF
ASC_BINARY_SAMPLES(-2, 2, 0)
ASC_BINARY_BUILDER(mul)

static void vjp(asc_vjp_args *a) {
    for (int k = 0; k < 2; k++)
        if (a->need[k]) a->gin[k] = asc_unbroadcast(a->ctx, asc_mul(a->ctx, a->g, a->in[1 - k]), a->in[k]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_tensor *t = NULL;
    for (int k = 0; k < 2; k++)
        if (a->tin[k] != NULL) t = asc_add_or(a->ctx, t, asc_mul(a->ctx, a->tin[k], a->in[1 - k]));
    return t;
}

const asc_op asc_op_mul = {
    ASC_BINARY_FIELDS(MUL, mul),
    ASC_OP_RULES,
    .flags = ASC_OP_INPLACE | ASC_OP_LINEAR_0 | ASC_OP_LINEAR_1,
    .doc = "Product of two arrays, element by element, with broadcasting.",
    .formula = "y = a b",
};
