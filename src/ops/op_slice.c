/* op_slice.c - the part of a that starts at `start` along one axis and is `len` long (0 is allowed).
 * Gradient: g padded with zeros to a's shape. */
#include "move.h"

static const asc_attr_def attr_defs[] = {
    {"axis", ASC_ATTR_INT, 0}, {"start", ASC_ATTR_INT, 1}, {"len", ASC_ATTR_INT, 2}};

asc_tensor *asc_slice(asc_ctx *ctx, asc_tensor *a, int axis, int64_t start, int64_t len) {
    return asc_apply(ctx, &asc_op_slice, &(asc_attrs){.i = {asc_axis_from_front(a, axis), start, len}}, &a,
                     1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    int64_t axis = c->attrs->i[0], start = c->attrs->i[1], len = c->attrs->i[2];
    asc_status st = asc_infer_plain(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_axis(ctx, c, 0, axis);
    if (st != ASC_OK) return st;
    c->shape = c->in_shape[0];
    if (start < 0 || len < 0 || start > c->shape.dims[axis] || len > c->shape.dims[axis] - start)
        return asc_infer_fail(ctx, c, "%lld from %lld on does not fit into axis %lld", (long long)len,
                              (long long)start, (long long)axis);
    c->shape.dims[axis] = len;
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    asc_nd part = asc_nd_part(&a->in[0], a->attrs->i[0], a->attrs->i[1], a->attrs->i[2]);
    asc_nd_copy(&a->out, part.data, part.strides);
}

static void vjp(asc_vjp_args *a) {
    if (!a->need[0]) return;
    int64_t axis = a->attrs->i[0], start = a->attrs->i[1], len = a->attrs->i[2];
    int64_t after = asc_tensor_shape(a->in[0]).dims[axis] - start - len;
    a->gin[0] = asc_pad(a->ctx, a->g, (int)axis, start, after);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_apply(a->ctx, &asc_op_slice, a->attrs, &a->tin[0], 1);
}

static void cost(const asc_call *c, asc_cost *out) { /* reads only what it takes */
    asc_cost_move(c, out);
    out->bytes_read = out->bytes_written;
}

static bool sample(int i, asc_sample *out) {
    static const asc_case cases[] = {
        {{.rank = 1, .dims = {7}}, {.i = {0, 2, 3}}},       {{.rank = 2, .dims = {3, 5}}, {.i = {1, 4, 1}}},
        {{.rank = 3, .dims = {2, 3, 5}}, {.i = {1, 1, 2}}}, {{.rank = 2, .dims = {3, 5}}, {.i = {0, 0, 3}}},
        {{.rank = 2, .dims = {1, 1}}, {.i = {0, 0, 1}}},    {{.rank = 2, .dims = {3, 5}}, {.i = {1, 1, 3}}},
    };
    return asc_sample_moved(i, cases, ASC_N_CASES(cases), out);
}

const asc_op asc_op_slice = {
    ASC_OP_FIELDS(SLICE, slice, 1, 1),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_VIEW,
    .cost = cost,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Part of an axis.",
    .formula = "y = a[.., start : start + len, ..]",
};
