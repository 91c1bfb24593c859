/* op_take_along.c - elements chosen along one axis: y has the shape of the i32 index, which has the rank of a
 * and on the other axes no more elements than a: y[..i..] = a[..index[..i..]..]. Gradient: g added up in the
 * places it came from (put_along). An index outside reads the nearest element; callers check. */
#include "move.h"

static const asc_attr_def attr_defs[] = {{"axis", ASC_ATTR_INT, 0}};

asc_tensor *asc_take_along(asc_ctx *ctx, asc_tensor *a, asc_tensor *index, int axis) {
    asc_attrs attrs = {.i = {asc_axis_from_front(a, axis)}};
    return asc_apply(ctx, &asc_op_take_along, &attrs, (asc_tensor *[]){a, index}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_need_f32(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_i32(ctx, c, 1);
    if (st == ASC_OK) st = asc_infer_need_axis(ctx, c, 0, c->attrs->i[0]);
    if (st != ASC_OK) return st;
    if (!asc_along_fits(&c->in_shape[0], &c->in_shape[1], c->attrs->i[0]))
        return asc_infer_fail(ctx, c, "the indices need the input's rank and no more elements on other axes");
    if (c->in_shape[0].dims[c->attrs->i[0]] == 0 && asc_shape_elems(&c->in_shape[1]) != 0)
        return asc_infer_fail(ctx, c, "axis %lld is empty", (long long)c->attrs->i[0]);
    c->dtype = ASC_DTYPE_F32;
    c->shape = c->in_shape[1];
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    const asc_nd *in = &a->in[0], *index = &a->in[1], *out = &a->out;
    const int axis = (int)a->attrs->i[0];
    int64_t idx[ASC_MAX_RANK] = {0}, off[3] = {0}, strides[3][ASC_MAX_RANK] = {{0}};
    if (asc_nd_elems(out) == 0) return;
    for (int k = 0; k < out->rank; k++) {
        strides[0][k] = out->strides[k];
        strides[1][k] = k == axis ? 0 : in->strides[k];
        strides[2][k] = index->strides[k];
    }
    do {
        int64_t v = asc_nd_row(index->data[off[2]], in->dims[axis]);
        out->data[off[0]] = in->data[off[1] + v * in->strides[axis]];
    } while (asc_nd_next(out->rank, out->dims, idx, 3, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0])
        a->gin[0] = asc_put_along(a->ctx, a->g, a->in[1], (int)a->attrs->i[0], asc_tensor_shape(a->in[0]));
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_take_along(a->ctx, a->tin[0], a->in[1], (int)a->attrs->i[0]);
}

static void cost(const asc_call *c, asc_cost *out) { /* index, one element, result */
    double n = (double)asc_shape_elems(&c->shape);
    *out = (asc_cost){.bytes_read = 8 * n, .bytes_written = 4 * n};
}

static bool sample(int i, asc_sample *out) {
    int64_t axis = 0;
    if (!asc_sample_along(i, out, &axis)) return false;
    out->attrs.i[0] = axis;
    return true;
}

const asc_op asc_op_take_along = {
    ASC_OP_FIELDS(TAKE_ALONG, take_along, 2, 2),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Elements chosen along an axis by i32 indices; indices outside read the nearest, so check them "
           "before.",
    .formula = "y[..,i,..] = a[..,index[..,i,..],..]",
};
