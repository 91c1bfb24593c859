/* op_put_along.c - the transpose of take_along: g added up in zeros of a given shape, where the i32 index (of
 * g's shape) says along one axis: y[..index[..i..]..] += g[..i..]. Gradient: take_along. Adds in row-major
 * order of g. An index outside counts for the nearest element. To overwrite instead of adding, put ones as
 * well and choose. */
#include "move.h"

enum { AXIS = ASC_MAX_RANK + 1 };
static const asc_attr_def attr_defs[] = {{"shape", ASC_ATTR_INTS, 0}, {"axis", ASC_ATTR_INT, AXIS}};

asc_tensor *asc_put_along(asc_ctx *ctx, asc_tensor *g, asc_tensor *index, int axis, asc_shape shape) {
    asc_attrs attrs = asc_attrs_of_shape(&shape);
    attrs.i[AXIS] = asc_axis_from_front(g, axis);
    return asc_apply(ctx, &asc_op_put_along, &attrs, (asc_tensor *[]){g, index}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    const int64_t axis = c->attrs->i[AXIS];
    asc_status st = asc_infer_need_f32(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_i32(ctx, c, 1);
    if (st == ASC_OK) st = asc_infer_need_axis(ctx, c, 0, axis);
    if (st != ASC_OK) return st;
    if (!asc_shape_of_attrs(c->attrs, &c->shape))
        return asc_infer_fail(ctx, c, "the attribute is not a shape");
    if (!asc_shape_eq(&c->in_shape[0], &c->in_shape[1]))
        return asc_infer_fail(ctx, c, "values and indices differ in shape");
    if (!asc_along_fits(&c->shape, &c->in_shape[0], axis))
        return asc_infer_fail(ctx, c,
                              "the result needs the values' rank and no fewer elements on other axes");
    if (c->shape.dims[axis] == 0 && asc_shape_elems(&c->in_shape[0]) != 0)
        return asc_infer_fail(ctx, c, "no room on axis %lld", (long long)axis);
    c->dtype = ASC_DTYPE_F32;
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    const asc_nd *g = &a->in[0], *index = &a->in[1], *out = &a->out;
    const int axis = (int)a->attrs->i[AXIS];
    int64_t idx[ASC_MAX_RANK] = {0}, off[3] = {0}, strides[3][ASC_MAX_RANK] = {{0}};
    asc_nd_fill(out, 0);
    if (asc_nd_elems(g) == 0) return;
    for (int k = 0; k < g->rank; k++) {
        strides[0][k] = k == axis ? 0 : out->strides[k];
        strides[1][k] = g->strides[k];
        strides[2][k] = index->strides[k];
    }
    do {
        int64_t v = asc_nd_row(index->data[off[2]], out->dims[axis]);
        out->data[off[0] + v * out->strides[axis]] += g->data[off[1]];
    } while (asc_nd_next(g->rank, g->dims, idx, 3, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = asc_take_along(a->ctx, a->g, a->in[1], (int)a->attrs->i[AXIS]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    if (a->tin[0] == NULL) return NULL;
    return asc_put_along(a->ctx, a->tin[0], a->in[1], (int)a->attrs->i[AXIS], asc_tensor_shape(a->y));
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_move(c, out);
    out->flops = (double)asc_shape_elems(&c->in_shape[0]);
}

static bool sample(int i, asc_sample *out) {
    int64_t axis = 0;
    if (!asc_sample_along(i, out, &axis)) return false;
    out->attrs = asc_attrs_of_shape(&out->in_shape[0]);
    out->attrs.i[AXIS] = axis;
    out->in_shape[0] = out->in_shape[1];
    return true;
}

const asc_op asc_op_put_along = {
    ASC_OP_FIELDS(PUT_ALONG, put_along, 2, 2),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Values added up in zeros at the places along an axis that indices name; the transpose of "
           "take_along.",
    .formula = "y[..,v,..] = sum over i with index[..,i,..] = v of g[..,i,..]",
};
