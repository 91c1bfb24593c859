/* op_sub.c - y = a - b with broadcasting. Gradient: g to a, -g to b, summed where an input was repeated.
 * IEEE: inf - inf gives NaN. */
#include "pointwise.h"

#define EXPR a - b
ASC_BINARY_REF
ASC_BINARY_SAMPLES(-2, 2, 0)
ASC_BINARY_BUILDER(sub)

static void vjp(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = asc_unbroadcast(a->ctx, a->g, a->in[0]);
    if (a->need[1]) a->gin[1] = asc_neg(a->ctx, asc_unbroadcast(a->ctx, a->g, a->in[1]));
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_tensor *minus = a->tin[1] == NULL ? NULL : asc_neg(a->ctx, a->tin[1]);
    return asc_tangent_like(a->ctx, asc_add_or(a->ctx, a->tin[0], minus), a->y);
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    return asc_add(ctx, in[0], asc_neg(ctx, in[1]));
}

const asc_op asc_op_sub = {
    ASC_BINARY_FIELDS(SUB, sub),
    ASC_OP_RULES,
    .decompose = decompose,
    .flags = ASC_OP_INPLACE,
    .doc = "Difference of two arrays, with broadcasting.",
    .formula = "y = a - b",
};
