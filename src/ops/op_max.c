/* op_max.c - y = largest value of a along one axis. Gradient: g to the largest, to the first of equals; the
 * others get 0. A NaN wins over every number. An axis of length 0 is an error. */
#include "reduce.h"

static const asc_attr_def attr_defs[] = {{"axis", ASC_ATTR_INT, 0}, {"keep", ASC_ATTR_BOOL, 1}};

asc_tensor *asc_max(asc_ctx *ctx, asc_tensor *a, int axis, bool keep) {
    return asc_apply(ctx, &asc_op_max, &(asc_attrs){.i = {asc_axis_from_front(a, axis), keep}}, &a, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    return asc_infer_axis(ctx, c, c->attrs->i[0], c->attrs->i[1] != 0, ASC_DTYPE_F32);
}

static double largest(const double *x, int64_t stride, int64_t n) {
    return x[asc_find_largest(x, stride, n) * stride];
}

static void ref(const asc_ref_args *a) { asc_ref_axis(a, (int)a->attrs->i[0], a->attrs->i[1] != 0, largest); }

static void vjp(asc_vjp_args *a) {
    if (!a->need[0]) return;
    asc_shape kept = asc_tensor_shape(a->in[0]);
    kept.dims[a->attrs->i[0]] = 1;
    asc_tensor *mask = asc_largest_mask(a->ctx, a->in[0], (int)a->attrs->i[0]);
    a->gin[0] =
        asc_where(a->ctx, mask, asc_reshape(a->ctx, a->g, kept), asc_full(a->ctx, ASC_SCALAR_SHAPE, 0));
}

static asc_tensor *jvp(asc_jvp_args *a) {
    if (a->tin[0] == NULL) return NULL;
    int axis = (int)a->attrs->i[0];
    asc_tensor *zero = asc_full(a->ctx, ASC_SCALAR_SHAPE, 0);
    asc_tensor *chosen = asc_where(a->ctx, asc_largest_mask(a->ctx, a->in[0], axis), a->tin[0], zero);
    return asc_sum(a->ctx, chosen, 1, &axis, a->attrs->i[1] != 0);
}

static bool sample(int i, asc_sample *out) {
    static const asc_case cases[] = {
        {{.rank = 1, .dims = {7}}, {.i = {0, 0}}},     {{.rank = 1, .dims = {1}}, {.i = {0, 1}}},
        {{.rank = 2, .dims = {3, 5}}, {.i = {1, 1}}},  {{.rank = 3, .dims = {2, 3, 5}}, {.i = {1, 0}}},
        {{.rank = 2, .dims = {67, 2}}, {.i = {0, 0}}},
    };
    return asc_sample_apart(i, cases, ASC_N_CASES(cases), out);
}

const asc_op asc_op_max = {
    ASC_OP_FIELDS(MAX, max, 1, 1),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_REDUCE,
    .cost = asc_cost_reduce,
    .doc = "Largest value along an axis; NaN wins; the gradient of equals goes to the first.",
    .formula = "y = max along axis of a",
};
