/* op_iota.c - n evenly spaced f32 values; start and step are run-time parameters. No inputs, no gradient. */
#include "move.h"

static const asc_attr_def attr_defs[] = {
    {"n", ASC_ATTR_INT, 0}, {"start", ASC_ATTR_SCALAR, 0}, {"step", ASC_ATTR_SCALAR, 1}};

asc_tensor *asc_iota(asc_ctx *ctx, int64_t n, double start, double step) {
    return asc_apply(ctx, &asc_op_iota, &(asc_attrs){.i = {n}, .f = {start, step}}, NULL, 0);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    if (c->attrs->i[0] < 0) return asc_infer_fail(ctx, c, "%lld values", (long long)c->attrs->i[0]);
    c->dtype = ASC_DTYPE_F32;
    c->shape = ASC_SHAPE(c->attrs->i[0]);
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    for (int64_t i = 0; i < a->out.dims[0]; i++)
        a->out.data[i * a->out.strides[0]] = a->attrs->f[0] + (double)i * a->attrs->f[1];
}

static bool sample(int i, asc_sample *out) {
    static const int64_t lengths[] = {1, 7, 67, 0};
    if (i < 0 || i >= (int)(sizeof lengths / sizeof lengths[0])) return false;
    out->attrs = (asc_attrs){.i = {lengths[i]}, .f = {-1.5, 0.25 * (i + 1)}};
    return true;
}

const asc_op asc_op_iota = {
    ASC_OP_FIELDS(IOTA, iota, 0, 0),
    ASC_OP_ATTRS,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_NO_GRAD,
    .doc = "Evenly spaced values.",
    .formula = "y[i] = start + i step",
};
