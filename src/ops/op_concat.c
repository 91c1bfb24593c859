/* op_concat.c - 1 to 8 arrays one after another along an axis; the other dimensions are the same for all.
 * Gradient: each input gets its part of g. */
#include "move.h"
#include "ops.h"

static const asc_attr_def attr_defs[] = {{"axis", ASC_ATTR_INT, 0}};

asc_tensor *asc_concat(asc_ctx *ctx, asc_tensor *const *ts, int n, int axis) {
    int64_t front = n > 0 ? asc_axis_from_front(ts[0], axis) : axis;
    return asc_apply(ctx, &asc_op_concat, &(asc_attrs){.i = {front}}, ts, n);
}

/* Whole groups of eight, and of eight times eight, as far as they go: each array is copied once a level. */
asc_tensor *asc_concat_many(asc_ctx *ctx, asc_tensor *const *ts, size_t n, int axis) {
    asc_tensor *part[ASC_MAX_IN];
    size_t group = 1;
    int k = 0;
    if (n == 1) return ts[0];
    while (group * ASC_MAX_IN < n) group *= ASC_MAX_IN;
    for (size_t i = 0; i < n; i += group)
        part[k++] = asc_concat_many(ctx, ts + i, n - i < group ? n - i : group, axis);
    return asc_concat(ctx, part, k, axis);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    int64_t axis = c->attrs->i[0];
    asc_status st = asc_infer_plain(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_axis(ctx, c, 0, axis);
    if (st != ASC_OK) return st;
    c->shape = c->in_shape[0];
    for (int k = 1; k < c->n_in; k++) {
        asc_shape rest = c->in_shape[k];
        if (rest.rank != c->shape.rank || c->in_dtype[k] != c->dtype)
            return asc_infer_fail(ctx, c, "input %d differs in rank or type from input 0", k);
        int64_t len = rest.dims[axis];
        rest.dims[axis] = c->shape.dims[axis];
        if (!asc_shape_eq(&rest, &c->shape))
            return asc_infer_fail(ctx, c, "input %d differs from input 0 beside axis %lld", k,
                                  (long long)axis);
        if (__builtin_add_overflow(c->shape.dims[axis], len, &c->shape.dims[axis]))
            return asc_infer_fail(ctx, c, "the axis becomes too long");
    }
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    int64_t start = 0, axis = a->attrs->i[0];
    for (int k = 0; k < a->n_in; k++) {
        asc_nd part = asc_nd_part(&a->out, axis, start, a->in[k].dims[axis]);
        asc_nd_copy(&part, a->in[k].data, a->in[k].strides);
        start += a->in[k].dims[axis];
    }
}

static void vjp(asc_vjp_args *a) {
    int64_t start = 0, axis = a->attrs->i[0];
    for (int k = 0; k < a->n_in; k++) {
        int64_t len = asc_tensor_shape(a->in[k]).dims[axis];
        if (a->need[k]) a->gin[k] = asc_slice(a->ctx, a->g, (int)axis, start, len);
        start += len;
    }
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_tensor *ts[ASC_MAX_IN];
    bool any = false;
    for (int k = 0; k < a->n_in; k++) {
        any = any || a->tin[k] != NULL;
        ts[k] = a->tin[k] != NULL ? a->tin[k] : asc_full(a->ctx, asc_tensor_shape(a->in[k]), 0);
    }
    return any ? asc_apply(a->ctx, &asc_op_concat, a->attrs, ts, a->n_in) : NULL;
}

static bool sample(int i, asc_sample *out) {
    static const struct {
        int n;
        int64_t axis;
        asc_shape shapes[3];
    } cases[] = {
        {1, 0, {{.rank = 1, .dims = {7}}}},
        {2, 1, {{.rank = 2, .dims = {3, 5}}, {.rank = 2, .dims = {3, 2}}}},
        {3, 0, {{.rank = 1, .dims = {1}}, {.rank = 1, .dims = {4}}, {.rank = 1, .dims = {2}}}},
        {3,
         1,
         {{.rank = 3, .dims = {2, 1, 3}}, {.rank = 3, .dims = {2, 3, 3}}, {.rank = 3, .dims = {2, 2, 3}}}},
        {2, 0, {{.rank = 1, .dims = {3}}, {.rank = 1, .dims = {4}}}},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    *out = (asc_sample){.n_in = cases[i].n};
    for (int k = 0; k < out->n_in; k++) {
        out->in_dtype[k] = ASC_DTYPE_F32;
        out->in_shape[k] = cases[i].shapes[k];
        out->lo[k] = -2;
        out->hi[k] = 2;
    }
    out->attrs.i[0] = cases[i].axis;
    if (i == (int)(sizeof cases / sizeof cases[0]) - 1) asc_sample_integers(out);
    return true;
}

const asc_op asc_op_concat = {
    ASC_OP_FIELDS(CONCAT, concat, 1, ASC_MAX_IN),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_move,
    .doc = "Arrays one after another along an axis.",
    .formula = "y = (a, b, ..) along axis",
};
