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
    static const asc_shape cases[][2] = {
        {{.rank = 0}, {.rank = 2, .dims = {3, 5}}},
        {{.rank = 1, .dims = {7}}, {.rank = 2, .dims = {3, 7}}},
        {{.rank = 2, .dims = {3, 1}}, {.rank = 3, .dims = {2, 3, 5}}},
        {{.rank = 3, .dims = {2, 1, 3}}, {.rank = 3, .dims = {2, 4, 3}}},
        {{.rank = 1, .dims = {1}}, {.rank = 1, .dims = {1}}},
        {{.rank = 2, .dims = {1, 7}}, {.rank = 2, .dims = {3, 7}}},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    *out = (asc_sample){
        .n_in = 1, .in_dtype = {ASC_DTYPE_F32}, .in_shape = {cases[i][0]}, .lo = {-2}, .hi = {2}};
    out->attrs = asc_attrs_of_shape(&cases[i][1]);
    if (i == (int)(sizeof cases / sizeof cases[0]) - 1) asc_sample_integers(out);
    return true;
}

const asc_op asc_op_broadcast = {
    .name = "broadcast",
    .opcode = ASC_OPCODE_BROADCAST,
    .min_in = 1,
    .max_in = 1,
    .attrs = attr_defs,
    .n_attrs = 1,
    .infer = infer,
    .ref = ref,
    .vjp = vjp,
    .jvp = jvp,
    .fuse = ASC_FUSE_VIEW,
    .cost = asc_cost_move,
    .sample = sample,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Repeated to a larger shape: axes of length 1 stretched, leading axes added.",
    .formula = "y = a, repeated",
};
