/* op_minimum.c - the smaller of a and b, with broadcasting. Gradient: g to the smaller; to a where they are
 * equal. A NaN in either input gives NaN. */
#include "pointwise.h"

#define EXPR a < b || a != a ? a : b
ASC_BINARY_REF
ASC_BINARY_SAMPLES(-2, 2, 1e-3)
ASC_BINARY_BUILDER(minimum)

static void vjp(asc_vjp_args *a) {
    asc_tensor *second = asc_less(a->ctx, a->in[1], a->in[0]), *zero = asc_scalar(a->ctx, 0);
    if (a->need[0]) a->gin[0] = asc_unbroadcast(a->ctx, asc_where(a->ctx, second, zero, a->g), a->in[0]);
    if (a->need[1]) a->gin[1] = asc_unbroadcast(a->ctx, asc_where(a->ctx, second, a->g, zero), a->in[1]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    if (a->tin[0] == NULL && a->tin[1] == NULL) return NULL;
    asc_tensor *second = asc_less(a->ctx, a->in[1], a->in[0]), *zero = asc_scalar(a->ctx, 0);
    return asc_where(a->ctx, second, a->tin[1] != NULL ? a->tin[1] : zero,
                     a->tin[0] != NULL ? a->tin[0] : zero);
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    return asc_neg(ctx, asc_maximum(ctx, asc_neg(ctx, in[0]), asc_neg(ctx, in[1])));
}

const asc_op asc_op_minimum = {
    ASC_BINARY_FIELDS(MINIMUM, minimum),
    ASC_OP_RULES,
    .decompose = decompose,
    .flags = ASC_OP_INPLACE,
    .doc = "Smaller of two values, with broadcasting; NaN wins; the gradient of equals goes to a.",
    .formula = "y = min(a, b)",
};
