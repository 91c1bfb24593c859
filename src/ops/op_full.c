/* op_full.c - one value in every element. The value is a run-time parameter: changing it makes no other
 * program. No inputs, no gradient. */
#include "move.h"
#include "pointwise.h"

#define EXPR s0

static const asc_attr_def attr_defs[] = {{"shape", ASC_ATTR_INTS, 0}, {"value", ASC_ATTR_SCALAR, 0}};

asc_tensor *asc_full(asc_ctx *ctx, asc_shape shape, double value) {
    asc_attrs attrs = asc_attrs_of_shape(&shape);
    attrs.f[0] = value;
    return asc_apply(ctx, &asc_op_full, &attrs, NULL, 0);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    if (!asc_shape_of_attrs(c->attrs, &c->shape))
        return asc_infer_fail(ctx, c, "the attribute is not a shape");
    c->dtype = ASC_DTYPE_F32;
    return ASC_OK;
}

static void ref(const asc_ref_args *a) { asc_nd_fill(&a->out, a->attrs->f[0]); }

static bool sample(int i, asc_sample *out) {
    static const asc_shape shapes[] = {
        {.rank = 0}, {.rank = 1, .dims = {7}}, {.rank = 3, .dims = {2, 1, 3}}, {.rank = 2, .dims = {0, 3}}};
    if (i < 0 || i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    out->attrs = asc_attrs_of_shape(&shapes[i]);
    out->attrs.f[0] = 0.5 - i;
    return true;
}

const asc_op asc_op_full = {
    ASC_OP_FIELDS(FULL, full, 0, 0),
    ASC_OP_ATTRS,
    .fuse = ASC_FUSE_POINTWISE,
    .expr = ASC_TEXT(EXPR),
    .cost = asc_cost_move,
    .flags = ASC_OP_NO_GRAD,
    .doc = "One value in every element.",
    .formula = "y = value",
};
