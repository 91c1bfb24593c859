/* op_arg_min.c - y = position (i32) of the smallest value of a along one axis, the first of equals, or of the
 * first NaN; with `last` the last of them. The axis disappears. Integer-valued: no gradient. An axis of
 * length 0, or longer than an i32 counts, is an error. */
#include "reduce.h"

static const asc_attr_def attr_defs[] = {{"axis", ASC_ATTR_INT, 0}, {"last", ASC_ATTR_BOOL, 1}};

asc_tensor *asc_arg_min(asc_ctx *ctx, asc_tensor *a, int axis) {
    return asc_apply(ctx, &asc_op_arg_min, &(asc_attrs){.i = {asc_axis_from_front(a, axis)}}, &a, 1);
}

asc_tensor *asc_arg_min_last(asc_ctx *ctx, asc_tensor *a, int axis) {
    return asc_apply(ctx, &asc_op_arg_min, &(asc_attrs){.i = {asc_axis_from_front(a, axis), 1}}, &a, 1);
}

static double first_place(const double *x, int64_t stride, int64_t n) {
    return (double)asc_find_extreme(x, stride, n, true, false);
}
static double last_place(const double *x, int64_t stride, int64_t n) {
    return (double)asc_find_extreme(x, stride, n, true, true);
}

static void ref(const asc_ref_args *a) {
    asc_ref_axis(a, (int)a->attrs->i[0], false, a->attrs->i[1] != 0 ? last_place : first_place);
}

static bool sample(int i, asc_sample *out) { return asc_sample_axis(i, out); }

const asc_op asc_op_arg_min = {
    ASC_OP_FIELDS_OF(ARG_MIN, arg_min, 1, 1, asc_infer_place, sample),
    ASC_OP_ATTRS,
    .fuse = ASC_FUSE_REDUCE,
    .cost = asc_cost_reduce,
    .flags = ASC_OP_NO_GRAD,
    .doc =
        "Position of the smallest value along an axis, as i32; the first of equals, or the last; NaN wins.",
    .formula = "y = argmin along axis of a",
};
