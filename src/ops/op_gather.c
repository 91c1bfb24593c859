/* op_gather.c - rows of a table [V,D..] chosen by i32 indices [N..]: y [N..,D..]. The embedding look-up; the
 * table may be stored weights, of which only the chosen rows are expanded. Gradient: g scattered back to the
 * rows it came from (scatter_add), for an f32 table only. Values of indices are not known when an op is
 * recorded: one below 0 reads row 0, one past the end the last row, so nothing outside is touched; callers
 * check ids. */
#include "move.h"

asc_tensor *asc_gather(asc_ctx *ctx, asc_tensor *table, asc_tensor *index) {
    return asc_apply(ctx, &asc_op_gather, &(asc_attrs){.i = {0}}, (asc_tensor *[]){table, index}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_dtype type = c->in_dtype[0];
    bool stored = asc_dtype_of(type)->is_weight_only && asc_dtype_expand(type) != NULL;
    const asc_shape *table = &c->in_shape[0], *index = &c->in_shape[1];
    if (type != ASC_DTYPE_F32 && type != ASC_DTYPE_I32 && !stored)
        return asc_infer_fail(ctx, c, "the table must be f32, i32 or stored weights");
    asc_status st = asc_infer_need_i32(ctx, c, 1);
    if (st != ASC_OK) return st;
    if (table->rank == 0) return asc_infer_fail(ctx, c, "the table has no axis to choose from");
    if (index->rank + table->rank - 1 > ASC_MAX_RANK)
        return asc_infer_fail(ctx, c, "the result would have over %d axes", ASC_MAX_RANK);
    if (table->dims[0] == 0 && asc_shape_elems(index) != 0)
        return asc_infer_fail(ctx, c, "the table is empty");
    c->dtype = stored ? ASC_DTYPE_F32 : type;
    c->shape = *index;
    for (int k = 1; k < table->rank; k++) c->shape.dims[c->shape.rank++] = table->dims[k];
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    const asc_nd *table = &a->in[0], *index = &a->in[1];
    int64_t idx[ASC_MAX_RANK] = {0}, off[2] = {0}, strides[2][ASC_MAX_RANK] = {{0}};
    if (asc_nd_elems(&a->out) == 0) return;
    asc_nd row = {.rank = table->rank - 1}; /* one row of the result */
    for (int k = 0; k < row.rank; k++) {
        row.dims[k] = table->dims[k + 1];
        row.strides[k] = a->out.strides[index->rank + k];
    }
    for (int k = 0; k < index->rank; k++) {
        strides[0][k] = a->out.strides[k];
        strides[1][k] = index->strides[k];
    }
    do {
        row.data = a->out.data + off[0];
        int64_t v = asc_nd_row(index->data[off[1]], table->dims[0]);
        asc_nd_copy(&row, table->data + v * table->strides[0], table->strides + 1);
    } while (asc_nd_next(index->rank, index->dims, idx, 2, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0] && a->in[0]->dtype == ASC_DTYPE_F32)
        a->gin[0] = asc_scatter_add(a->ctx, a->g, a->in[1], asc_tensor_shape(a->in[0]).dims[0]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    bool varies = a->tin[0] != NULL && a->in[0]->dtype == ASC_DTYPE_F32;
    return varies ? asc_gather(a->ctx, a->tin[0], a->in[1]) : NULL;
}

static void cost(const asc_call *c, asc_cost *out) { /* of the table, only the chosen rows are read */
    double n = (double)asc_shape_elems(&c->shape);
    *out = (asc_cost){.bytes_written = 4 * n};
    out->bytes_read = asc_cost_bytes(c->in_dtype[0], n) + 4 * (double)asc_shape_elems(&c->in_shape[1]);
}

static bool sample(int i, asc_sample *out) {
    static const struct {
        asc_dtype type;
        asc_shape table, index;
    } cases[] = {
        {ASC_DTYPE_F32, {.rank = 2, .dims = {5, 3}}, {.rank = 1, .dims = {7}}},
        {ASC_DTYPE_F32, {.rank = 1, .dims = {5}}, {.rank = 0}},
        {ASC_DTYPE_F32, {.rank = 3, .dims = {4, 2, 3}}, {.rank = 2, .dims = {2, 1}}},
        {ASC_DTYPE_Q8_0, {.rank = 2, .dims = {5, 64}}, {.rank = 1, .dims = {3}}},
        {ASC_DTYPE_BF16, {.rank = 2, .dims = {5, 7}}, {.rank = 2, .dims = {2, 3}}},
        {ASC_DTYPE_I32, {.rank = 2, .dims = {5, 3}}, {.rank = 1, .dims = {4}}},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    *out = (asc_sample){.n_in = 2,
                        .in_dtype = {cases[i].type, ASC_DTYPE_I32},
                        .in_shape = {cases[i].table, cases[i].index},
                        .lo = {-2},
                        .hi = {2, (double)cases[i].table.dims[0]},
                        .no_grad = {cases[i].type != ASC_DTYPE_F32, true}};
    return true;
}

const asc_op asc_op_gather = {
    ASC_OP_FIELDS(GATHER, gather, 2, 2),
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Rows of a table by i32 indices; indices outside read the nearest row, so check them before.",
    .formula = "y[n..,d..] = table[index[n..],d..]",
};
