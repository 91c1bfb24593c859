/* op_arg_max.c - y = position (i32) of the largest value of a along one axis, the first of equals, or of the
 * first NaN; with `last` the last of them. The axis disappears. Integer-valued: no gradient. An axis of
 * length 0, or longer than an i32 counts, is an error. */
#include "reduce.h"

static const asc_attr_def attr_defs[] = {{"axis", ASC_ATTR_INT, 0}, {"last", ASC_ATTR_BOOL, 1}};

asc_tensor *asc_arg_max(asc_ctx *ctx, asc_tensor *a, int axis) {
    return asc_apply(ctx, &asc_op_arg_max, &(asc_attrs){.i = {asc_axis_from_front(a, axis)}}, &a, 1);
}

asc_tensor *asc_arg_max_last(asc_ctx *ctx, asc_tensor *a, int axis) {
    return asc_apply(ctx, &asc_op_arg_max, &(asc_attrs){.i = {asc_axis_from_front(a, axis), 1}}, &a, 1);
}

static double place(const double *x, int64_t stride, int64_t n) {
    return (double)asc_find_largest(x, stride, n);
}

static double last_place(const double *x, int64_t stride, int64_t n) {
    return (double)asc_find_extreme(x, stride, n, false, true);
}

static void ref(const asc_ref_args *a) {
    asc_ref_axis(a, (int)a->attrs->i[0], false, a->attrs->i[1] != 0 ? last_place : place);
}

static bool sample(int i, asc_sample *out) {
    static const struct {
        asc_shape shape;
        int64_t axis, last;
    } cases[] = {
        {{.rank = 1, .dims = {7}}, 0, 0},       {{.rank = 2, .dims = {3, 1}}, 1, 0},
        {{.rank = 3, .dims = {2, 3, 5}}, 1, 1}, {{.rank = 2, .dims = {2, 67}}, 1, 0},
        {{.rank = 2, .dims = {67, 3}}, 0, 1},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    *out = (asc_sample){.n_in = 1,
                        .in_dtype = {ASC_DTYPE_F32},
                        .in_shape = {cases[i].shape},
                        .lo = {-2},
                        .hi = {2},
                        .min_gap = 1e-3};
    out->attrs.i[0] = cases[i].axis;
    out->attrs.i[1] = cases[i].last;
    return true;
}

const asc_op asc_op_arg_max = {
    .name = "arg_max",
    .opcode = ASC_OPCODE_ARG_MAX,
    .min_in = 1,
    .max_in = 1,
    .attrs = attr_defs,
    .n_attrs = 2,
    .infer = asc_infer_place,
    .ref = ref,
    .fuse = ASC_FUSE_REDUCE,
    .cost = asc_cost_reduce,
    .sample = sample,
    .flags = ASC_OP_NO_GRAD,
    .doc = "Position of the largest value along an axis, as i32; the first of equals, or the last; NaN wins.",
    .formula = "y = argmax along axis of a",
};
