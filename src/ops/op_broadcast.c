/* op_broadcast.c - a repeated to a larger shape by NumPy's rule: axes of length 1 are stretched, missing
 * leading axes added. Gradient: g summed over the repeats. */
#include "move.h"

static const asc_attr_def attr_defs[] = {{"shape", ASC_ATTR_INTS, 0}};

asc_tensor *asc_broadcast(asc_ctx *ctx, asc_tensor *a, asc_shape shape) {
    asc_attrs attrs = asc_attrs_of_shape(&shape);
    return asc_apply(ctx, &asc_op_broadcast, &attrs, &a, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    char text[128];
    asc_shape both;
    asc_status st = asc_infer_plain(ctx, c, 0);
    if (st != ASC_OK) return st;
    if (!asc_shape_of_attrs(c->attrs, &c->shape))
        return asc_infer_fail(ctx, c, "the attribute is not a shape");
    if (!asc_shape_broadcast(&c->in_shape[0], &c->shape, &both) || !asc_shape_eq(&both, &c->shape))
        return asc_infer_fail(ctx, c, "cannot be repeated to %s", asc_shape_text(&c->shape, text));
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    int64_t strides[ASC_MAX_RANK] = {0};
    asc_nd_broadcast(&a->in[0], &a->out, strides);
    asc_nd_copy(&a->out, a->in[0].data, strides);
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = asc_unbroadcast(a->ctx, a->g, a->in[0]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_broadcast(a->ctx, a->tin[0], asc_tensor_shape(a->y));
}

static bool sample(int i, asc_sample *out) {
    static const asc_case cases[] = {
        /* the new shape as a list: its rank, then its dimensions */
        {{.rank = 0}, {.i = {2, 3, 5}}},
        {{.rank = 1, .dims = {7}}, {.i = {2, 3, 7}}},
        {{.rank = 2, .dims = {3, 1}}, {.i = {3, 2, 3, 5}}},
        {{.rank = 3, .dims = {2, 1, 3}}, {.i = {3, 2, 4, 3}}},
        {{.rank = 1, .dims = {1}}, {.i = {1, 1}}},
        {{.rank = 2, .dims = {1, 7}}, {.i = {2, 3, 7}}},
    };
    return asc_sample_moved(i, cases, ASC_N_CASES(cases), out);
}

const asc_op asc_op_broadcast = {
    ASC_OP_FIELDS(BROADCAST, broadcast, 1, 1),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_VIEW,
    .cost = asc_cost_move,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Repeated to a larger shape: axes of length 1 stretched, leading axes added.",
    .formula = "y = a, repeated",
};
