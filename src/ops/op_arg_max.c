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
    static const asc_case cases[] = {
        {{.rank = 1, .dims = {7}}, {.i = {0, 0}}},       {{.rank = 2, .dims = {3, 1}}, {.i = {1, 0}}},
        {{.rank = 3, .dims = {2, 3, 5}}, {.i = {1, 1}}}, {{.rank = 2, .dims = {2, 67}}, {.i = {1, 0}}},
        {{.rank = 2, .dims = {67, 3}}, {.i = {0, 1}}},
    };
    return asc_sample_apart(i, cases, ASC_N_CASES(cases), out);
}

const asc_op asc_op_arg_max = {
    ASC_OP_FIELDS_OF(ARG_MAX, arg_max, 1, 1, asc_infer_place, sample),
    ASC_OP_ATTRS,
    .fuse = ASC_FUSE_REDUCE,
    .cost = asc_cost_reduce,
    .flags = ASC_OP_NO_GRAD,
    .doc = "Position of the largest value along an axis, as i32; the first of equals, or the last; NaN wins.",
    .formula = "y = argmax along axis of a",
};
