/* op_add.c - y = a + b with broadcasting. Gradient: g to both inputs, summed where an input was repeated.
 * IEEE: inf - inf gives NaN. */
#include "pointwise.h"

#define EXPR a + b
ASC_BINARY_REF
ASC_BINARY_SAMPLES(-2, 2, 0)
ASC_BINARY_BUILDER(add)

static void vjp(asc_vjp_args *a) {
    for (int k = 0; k < 2; k++)
        if (a->need[k]) a->gin[k] = asc_unbroadcast(a->ctx, a->g, a->in[k]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return asc_tangent_like(a->ctx, asc_add_or(a->ctx, a->tin[0], a->tin[1]), a->y);
}

const asc_op asc_op_add = {
    ASC_BINARY_FIELDS(ADD, add), ASC_OP_RULES,
    .flags = ASC_OP_INPLACE,     .doc = "Sum of two arrays, with broadcasting.",
    .formula = "y = a + b",
};
