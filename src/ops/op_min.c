/* op_min.c - y = smallest value of a along one axis. Gradient: g to the smallest, to the first of equals; the
 * others get 0. A NaN wins over every number. An axis of length 0 is an error. */
#include "reduce.h"

static const asc_attr_def attr_defs[] = {{"axis", ASC_ATTR_INT, 0}, {"keep", ASC_ATTR_BOOL, 1}};

asc_tensor *asc_min(asc_ctx *ctx, asc_tensor *a, int axis, bool keep) {
    return asc_apply(ctx, &asc_op_min, &(asc_attrs){.i = {asc_axis_from_front(a, axis), keep}}, &a, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    return asc_infer_axis(ctx, c, c->attrs->i[0], c->attrs->i[1] != 0, ASC_DTYPE_F32);
}

static double smallest(const double *x, int64_t stride, int64_t n) {
    return x[asc_find_extreme(x, stride, n, true, false) * stride];
}

static void ref(const asc_ref_args *a) {
    asc_ref_axis(a, (int)a->attrs->i[0], a->attrs->i[1] != 0, smallest);
}

/* 1 at the smallest value of each run. */
static asc_tensor *mask(asc_ctx *ctx, asc_tensor *in, const asc_attrs *attrs) {
    return asc_largest_mask(ctx, asc_neg(ctx, in), (int)attrs->i[0]);
}

static void vjp(asc_vjp_args *a) {
    if (!a->need[0]) return;
    asc_shape kept = asc_tensor_shape(a->in[0]);
    kept.dims[a->attrs->i[0]] = 1;
    asc_tensor *g = asc_reshape(a->ctx, a->g, kept), *zero = asc_full(a->ctx, ASC_SCALAR_SHAPE, 0);
    a->gin[0] = asc_where(a->ctx, mask(a->ctx, a->in[0], a->attrs), g, zero);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    if (a->tin[0] == NULL) return NULL;
    int axis = (int)a->attrs->i[0];
    asc_tensor *zero = asc_full(a->ctx, ASC_SCALAR_SHAPE, 0);
    asc_tensor *chosen = asc_where(a->ctx, mask(a->ctx, a->in[0], a->attrs), a->tin[0], zero);
    return asc_sum(a->ctx, chosen, 1, &axis, a->attrs->i[1] != 0);
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    return asc_neg(ctx, asc_max(ctx, asc_neg(ctx, in[0]), (int)attrs->i[0], attrs->i[1] != 0));
}

static bool sample(int i, asc_sample *out) { return asc_sample_axis(i, out); }

const asc_op asc_op_min = {
    ASC_OP_FIELDS(MIN, min, 1, 1),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_REDUCE,
    .cost = asc_cost_reduce,
    .doc = "Smallest value along an axis; NaN wins; the gradient of equals goes to the first.",
    .formula = "y = min along axis of a",
};
