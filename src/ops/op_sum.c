/* op_sum.c - y = sum of a over some axes. Gradient: g repeated along them. An empty sum is 0; inf - inf gives
 * NaN. The reference adds in row-major order in double. */
#include "reduce.h"

static const asc_attr_def attr_defs[] = {{"axes", ASC_ATTR_INTS, 0},
                                         {"keep", ASC_ATTR_BOOL, ASC_REDUCE_KEEP}};

asc_tensor *asc_sum(asc_ctx *ctx, asc_tensor *a, int n_axes, const int *axes, bool keep) {
    asc_attrs attrs = asc_reduce_attrs(a, n_axes, axes, keep);
    return asc_apply(ctx, &asc_op_sum, &attrs, &a, 1);
}

static void ref(const asc_ref_args *a) { asc_ref_sum(a, 1); }

static void vjp(asc_vjp_args *a) {
    if (!a->need[0]) return;
    asc_tensor *kept = asc_reshape(a->ctx, a->g, asc_reduce_kept(a->in[0], a->attrs));
    a->gin[0] = asc_broadcast(a->ctx, kept, asc_tensor_shape(a->in[0]));
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_apply(a->ctx, &asc_op_sum, a->attrs, &a->tin[0], 1);
}

const asc_op asc_op_sum = {
    ASC_REDUCE_FIELDS(SUM, sum),
    .cost = asc_cost_reduce,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Sum over axes; keep leaves them with length 1.",
    .formula = "y = sum over axes of a",
};
