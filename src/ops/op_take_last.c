/* op_take_last.c - one element of each row: y[..] = a[.., index[..]], for the log-probability of a known
 * token. Gradient: g put back in its place (put_last). An index outside reads the nearest element; callers
 * check ids. */
#include "move.h"

asc_tensor *asc_take_last(asc_ctx *ctx, asc_tensor *a, asc_tensor *index) {
    return asc_apply(ctx, &asc_op_take_last, &(asc_attrs){.i = {0}}, (asc_tensor *[]){a, index}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_need_f32(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_i32(ctx, c, 1);
    if (st != ASC_OK) return st;
    if (c->in_shape[0].rank == 0) return asc_infer_fail(ctx, c, "the input has no axis to choose from");
    c->dtype = ASC_DTYPE_F32;
    c->shape = c->in_shape[0];
    c->shape.dims[--c->shape.rank] = 0;
    if (!asc_shape_eq(&c->shape, &c->in_shape[1]))
        return asc_infer_fail(ctx, c, "the indices must have the input's shape without its last axis");
    if (c->in_shape[0].dims[c->shape.rank] == 0 && asc_shape_elems(&c->shape) != 0)
        return asc_infer_fail(ctx, c, "the last axis is empty");
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    const asc_nd *in = &a->in[0], *index = &a->in[1];
    int64_t idx[ASC_MAX_RANK] = {0}, off[3] = {0}, strides[3][ASC_MAX_RANK] = {{0}};
    int last = in->rank - 1;
    if (asc_nd_elems(&a->out) == 0) return;
    for (int k = 0; k < last; k++) {
        strides[0][k] = a->out.strides[k];
        strides[1][k] = in->strides[k];
        strides[2][k] = index->strides[k];
    }
    do {
        int64_t v = asc_nd_row(index->data[off[2]], in->dims[last]);
        a->out.data[off[0]] = in->data[off[1] + v * in->strides[last]];
    } while (asc_nd_next(last, a->out.dims, idx, 3, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

static void vjp(asc_vjp_args *a) {
    asc_shape in = asc_tensor_shape(a->in[0]);
    if (a->need[0]) a->gin[0] = asc_put_last(a->ctx, a->g, a->in[1], in.dims[in.rank - 1]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_take_last(a->ctx, a->tin[0], a->in[1]);
}

static void cost(const asc_call *c, asc_cost *out) { /* index, one element, result */
    double n = (double)asc_shape_elems(&c->shape);
    *out = (asc_cost){.bytes_read = 8 * n, .bytes_written = 4 * n};
}

static bool sample(int i, asc_sample *out) {
    static const asc_shape shapes[] = {
        {.rank = 1, .dims = {7}},
        {.rank = 2, .dims = {3, 5}},
        {.rank = 3, .dims = {2, 1, 4}},
        {.rank = 2, .dims = {3, 1}},
    };
    if (i < 0 || i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    asc_shape index = shapes[i];
    int64_t n = index.dims[--index.rank];
    index.dims[index.rank] = 0;
    *out = asc_sample_indexed(shapes[i], index, (double)n);
    return true;
}

const asc_op asc_op_take_last = {
    ASC_OP_FIELDS(TAKE_LAST, take_last, 2, 2),
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_0,
    .doc = "One element of each row, by i32 indices; indices outside read the nearest, so check them before.",
    .formula = "y[..] = a[..,index[..]]",
};
