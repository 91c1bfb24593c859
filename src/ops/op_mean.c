/* op_mean.c - y = mean of a over some axes: their sum divided by the number of elements. Gradient: g / n
 * repeated along them. The mean of nothing is NaN. */
#include "reduce.h"
#include <math.h>

static const asc_attr_def attr_defs[] = {{"axes", ASC_ATTR_INTS, 0},
                                         {"keep", ASC_ATTR_BOOL, ASC_REDUCE_KEEP}};

asc_tensor *asc_mean(asc_ctx *ctx, asc_tensor *a, int n_axes, const int *axes, bool keep) {
    asc_attrs attrs = asc_reduce_attrs(a, n_axes, axes, keep);
    return asc_apply(ctx, &asc_op_mean, &attrs, &a, 1);
}

/* 1 / n; NaN for no elements, where 0 times it gives the NaN wanted. */
static double share(const asc_shape *in, const asc_attrs *attrs) {
    double n = asc_reduce_count(in, attrs);
    return n == 0 ? (double)NAN : 1 / n;
}

static void ref(const asc_ref_args *a) {
    asc_shape in = {.rank = a->in[0].rank};
    for (int k = 0; k < in.rank; k++) in.dims[k] = a->in[0].dims[k];
    asc_ref_sum(a, share(&in, a->attrs));
}

static void vjp(asc_vjp_args *a) {
    if (!a->need[0]) return;
    asc_shape in = asc_tensor_shape(a->in[0]);
    asc_tensor *kept = asc_reshape(a->ctx, a->g, asc_reduce_kept(a->in[0], a->attrs));
    a->gin[0] = asc_broadcast(a->ctx, asc_scale(a->ctx, kept, share(&in, a->attrs)), in);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_apply(a->ctx, &asc_op_mean, a->attrs, &a->tin[0], 1);
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    asc_shape shape = asc_tensor_shape(in[0]);
    return asc_scale(ctx, asc_apply(ctx, &asc_op_sum, attrs, in, 1), share(&shape, attrs));
}

const asc_op asc_op_mean = {
    ASC_REDUCE_FIELDS(MEAN, mean),
    .decompose = decompose,
    .cost = asc_cost_reduce,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Mean over axes; keep leaves them with length 1; NaN for no elements.",
    .formula = "y = sum over axes of a / n",
};
