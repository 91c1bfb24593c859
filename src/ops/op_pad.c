/* op_pad.c - zeros put before and after a along one axis. Gradient: the middle part of g (a slice). */
#include "move.h"

static const asc_attr_def attr_defs[] = {
    {"axis", ASC_ATTR_INT, 0}, {"before", ASC_ATTR_INT, 1}, {"after", ASC_ATTR_INT, 2}};

asc_tensor *asc_pad(asc_ctx *ctx, asc_tensor *a, int axis, int64_t before, int64_t after) {
    return asc_apply(ctx, &asc_op_pad, &(asc_attrs){.i = {asc_axis_from_front(a, axis), before, after}}, &a,
                     1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    int64_t axis = c->attrs->i[0], before = c->attrs->i[1], after = c->attrs->i[2];
    asc_status st = asc_infer_plain(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_axis(ctx, c, 0, axis);
    if (st != ASC_OK) return st;
    c->shape = c->in_shape[0];
    int64_t *len = &c->shape.dims[axis];
    if (before < 0 || after < 0 || __builtin_add_overflow(*len, before, len) ||
        __builtin_add_overflow(*len, after, len))
        return asc_infer_fail(ctx, c, "cannot pad by %lld and %lld", (long long)before, (long long)after);
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    asc_nd middle = asc_nd_part(&a->out, a->attrs->i[0], a->attrs->i[1], a->in[0].dims[a->attrs->i[0]]);
    asc_nd_fill(&a->out, 0);
    asc_nd_copy(&middle, a->in[0].data, a->in[0].strides);
}

static void vjp(asc_vjp_args *a) {
    if (!a->need[0]) return;
    int64_t axis = a->attrs->i[0];
    a->gin[0] = asc_slice(a->ctx, a->g, (int)axis, a->attrs->i[1], asc_tensor_shape(a->in[0]).dims[axis]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_apply(a->ctx, &asc_op_pad, a->attrs, &a->tin[0], 1);
}

static bool sample(int i, asc_sample *out) {
    static const asc_case cases[] = {
        {{.rank = 1, .dims = {7}}, {.i = {0, 2, 3}}},       {{.rank = 2, .dims = {3, 5}}, {.i = {0, 0, 2}}},
        {{.rank = 3, .dims = {2, 1, 5}}, {.i = {1, 1, 0}}}, {{.rank = 2, .dims = {3, 5}}, {.i = {1, 0, 0}}},
        {{.rank = 2, .dims = {3, 2}}, {.i = {1, 1, 1}}},
    };
    return asc_sample_moved(i, cases, ASC_N_CASES(cases), out);
}

const asc_op asc_op_pad = {
    ASC_OP_FIELDS(PAD, pad, 1, 1),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_move,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Zeros before and after an axis.",
    .formula = "y = (0.., a, 0..) along axis",
};
