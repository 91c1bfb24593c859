/* op_transpose.c - axes reordered: axis k of y is axis perm[k] of a. Gradient: g with the inverse order. */
#include "move.h"

static const asc_attr_def attr_defs[] = {{"perm", ASC_ATTR_INTS, 0}};

asc_tensor *asc_transpose(asc_ctx *ctx, asc_tensor *a, int n, const int *perm) {
    asc_attrs attrs = {.i = {n}};
    for (int k = 0; k < n && k < ASC_MAX_RANK; k++) attrs.i[k + 1] = asc_axis_from_front(a, perm[k]);
    return asc_apply(ctx, &asc_op_transpose, &attrs, &a, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_plain(ctx, c, 0);
    if (st != ASC_OK) return st;
    const asc_shape *in = &c->in_shape[0];
    bool seen[ASC_MAX_RANK] = {false};
    if (c->attrs->i[0] != in->rank)
        return asc_infer_fail(ctx, c, "%lld axes named, rank %d", (long long)c->attrs->i[0], in->rank);
    c->shape = (asc_shape){.rank = in->rank};
    for (int k = 0; k < in->rank; k++) {
        int64_t from = c->attrs->i[k + 1];
        if (from < 0 || from >= in->rank || seen[from])
            return asc_infer_fail(ctx, c, "axis %lld is missing in rank %d or named twice", (long long)from,
                                  in->rank);
        seen[from] = true;
        c->shape.dims[k] = in->dims[from];
    }
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    int64_t strides[ASC_MAX_RANK] = {0};
    for (int k = 0; k < a->out.rank; k++) strides[k] = a->in[0].strides[a->attrs->i[k + 1]];
    asc_nd_copy(&a->out, a->in[0].data, strides);
}

static void vjp(asc_vjp_args *a) {
    if (!a->need[0]) return;
    int back[ASC_MAX_RANK] = {0}, n = (int)a->attrs->i[0];
    for (int k = 0; k < n; k++) back[a->attrs->i[k + 1]] = k;
    a->gin[0] = asc_transpose(a->ctx, a->g, n, back);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_apply(a->ctx, &asc_op_transpose, a->attrs, &a->tin[0], 1);
}

static bool sample(int i, asc_sample *out) {
    static const asc_case cases[] = {
        /* the order as a list: its length, then its axes */
        {{.rank = 0}, {.i = {0}}},
        {{.rank = 2, .dims = {3, 5}}, {.i = {2, 1, 0}}},
        {{.rank = 3, .dims = {2, 3, 5}}, {.i = {3, 2, 0, 1}}},
        {{.rank = 4, .dims = {2, 3, 1, 4}}, {.i = {4, 0, 2, 1, 3}}},
        {{.rank = 3, .dims = {2, 3, 5}}, {.i = {3, 0, 1, 2}}},
        {{.rank = 2, .dims = {2, 7}}, {.i = {2, 1, 0}}},
    };
    return asc_sample_moved(i, cases, ASC_N_CASES(cases), out);
}

const asc_op asc_op_transpose = {
    ASC_OP_FIELDS(TRANSPOSE, transpose, 1, 1),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_VIEW,
    .cost = asc_cost_move,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Axes in another order.",
    .formula = "axis k of y = axis perm[k] of a",
};
