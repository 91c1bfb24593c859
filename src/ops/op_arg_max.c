/* op_arg_max.c - y = position (i32) of the largest value of a along one axis, the first of equals, or of the
 * first NaN. The axis disappears. Integer-valued: no gradient. An axis of length 0, or longer than an i32
 * counts, is an error. */
#include "reduce.h"

static const asc_attr_def attr_defs[] = {{"axis", ASC_ATTR_INT, 0}};

asc_tensor *asc_arg_max(asc_ctx *ctx, asc_tensor *a, int axis) {
    return asc_apply(ctx, &asc_op_arg_max, &(asc_attrs){.i = {asc_axis_from_front(a, axis)}}, &a, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_axis(ctx, c, c->attrs->i[0], false, ASC_DTYPE_I32);
    if (st == ASC_OK && c->in_shape[0].dims[c->attrs->i[0]] > INT32_MAX)
        return asc_infer_fail(ctx, c, "the axis is too long for i32 positions");
    return st;
}

static double place(const double *x, int64_t stride, int64_t n) {
    return (double)asc_find_largest(x, stride, n);
}

static void ref(const asc_ref_args *a) { asc_ref_axis(a, (int)a->attrs->i[0], false, place); }

static bool sample(int i, asc_sample *out) {
    static const struct {
        asc_shape shape;
        int64_t axis;
    } cases[] = {
        {{.rank = 1, .dims = {7}}, 0},
        {{.rank = 2, .dims = {3, 1}}, 1},
        {{.rank = 3, .dims = {2, 3, 5}}, 1},
        {{.rank = 2, .dims = {2, 67}}, 1},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    *out = (asc_sample){.n_in = 1,
                        .in_dtype = {ASC_DTYPE_F32},
                        .in_shape = {cases[i].shape},
                        .lo = {-2},
                        .hi = {2},
                        .min_gap = 1e-3};
    out->attrs.i[0] = cases[i].axis;
    return true;
}

const asc_op asc_op_arg_max = {
    .name = "arg_max",
    .opcode = ASC_OPCODE_ARG_MAX,
    .min_in = 1,
    .max_in = 1,
    .attrs = attr_defs,
    .n_attrs = 1,
    .infer = infer,
    .ref = ref,
    .fuse = ASC_FUSE_REDUCE,
    .cost = asc_cost_reduce,
    .sample = sample,
    .flags = ASC_OP_NO_GRAD,
    .doc = "Position of the largest value along an axis, as i32; the first of equals; NaN wins.",
    .formula = "y = argmax along axis of a",
};
