/* op_scatter_add.c - the transpose of gather: rows [N..,D..] added up in the rows of a result [n,D..] that
 * i32 indices [N..] name; rows named by nobody are 0. Gradient: gather. Adds in the order of the indices.
 * Indices outside count for the nearest row, as in gather. */
#include "move.h"

static const asc_attr_def attr_defs[] = {{"n", ASC_ATTR_INT, 0}};

asc_tensor *asc_scatter_add(asc_ctx *ctx, asc_tensor *rows, asc_tensor *index, int64_t n) {
    return asc_apply(ctx, &asc_op_scatter_add, &(asc_attrs){.i = {n}}, (asc_tensor *[]){rows, index}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    const asc_shape *rows = &c->in_shape[0], *index = &c->in_shape[1];
    int64_t n = c->attrs->i[0];
    asc_status st = asc_infer_need_f32(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_i32(ctx, c, 1);
    if (st != ASC_OK) return st;
    bool fits = rows->rank >= index->rank && rows->rank - index->rank < ASC_MAX_RANK;
    for (int k = 0; fits && k < index->rank; k++) fits = rows->dims[k] == index->dims[k];
    if (!fits) return asc_infer_fail(ctx, c, "the rows must begin with the shape of the indices");
    if (n < 0 || (n == 0 && asc_shape_elems(index) != 0))
        return asc_infer_fail(ctx, c, "no room in %lld rows", (long long)n);
    c->dtype = ASC_DTYPE_F32;
    c->shape = ASC_SHAPE(n);
    for (int k = index->rank; k < rows->rank; k++) c->shape.dims[c->shape.rank++] = rows->dims[k];
    return ASC_OK;
}

static void add_row(double *to, const int64_t *to_strides, const double *from, const asc_nd *row) {
    int64_t idx[ASC_MAX_RANK] = {0}, off[2] = {0}, strides[2][ASC_MAX_RANK] = {{0}};
    for (int k = 0; k < row->rank; k++) {
        strides[0][k] = to_strides[k];
        strides[1][k] = row->strides[k];
    }
    do to[off[0]] += from[off[1]];
    while (asc_nd_next(row->rank, row->dims, idx, 2, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

static void ref(const asc_ref_args *a) {
    const asc_nd *rows = &a->in[0], *index = &a->in[1];
    int64_t idx[ASC_MAX_RANK] = {0}, off[2] = {0}, strides[2][ASC_MAX_RANK] = {{0}};
    asc_nd_fill(&a->out, 0);
    if (asc_nd_elems(rows) == 0) return;
    asc_nd row = {.rank = rows->rank - index->rank};
    for (int k = 0; k < row.rank; k++) {
        row.dims[k] = rows->dims[index->rank + k];
        row.strides[k] = rows->strides[index->rank + k];
    }
    for (int k = 0; k < index->rank; k++) {
        strides[0][k] = rows->strides[k];
        strides[1][k] = index->strides[k];
    }
    do {
        int64_t v = asc_nd_row(index->data[off[1]], a->out.dims[0]);
        add_row(a->out.data + v * a->out.strides[0], a->out.strides + 1, rows->data + off[0], &row);
    } while (asc_nd_next(index->rank, index->dims, idx, 2, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = asc_gather(a->ctx, a->g, a->in[1]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_scatter_add(a->ctx, a->tin[0], a->in[1], a->attrs->i[0]);
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_move(c, out);
    out->flops = (double)asc_shape_elems(&c->in_shape[0]);
}

static bool sample(int i, asc_sample *out) {
    static const struct {
        asc_shape rows, index;
        int64_t n;
    } cases[] = {
        {{.rank = 2, .dims = {7, 3}}, {.rank = 1, .dims = {7}}, 4},
        {{.rank = 1, .dims = {5}}, {.rank = 1, .dims = {5}}, 3},
        {{.rank = 0}, {.rank = 0}, 3},
        {{.rank = 4, .dims = {2, 3, 1, 2}}, {.rank = 2, .dims = {2, 3}}, 5},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    *out = asc_sample_indexed(cases[i].rows, cases[i].index, (double)cases[i].n);
    out->attrs.i[0] = cases[i].n;
    return true;
}

const asc_op asc_op_scatter_add = {
    ASC_OP_FIELDS(SCATTER_ADD, scatter_add, 2, 2),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Rows added up in the rows of the result that the indices name; the transpose of gather.",
    .formula = "y[v,d..] = sum over n.. with index[n..] = v of rows[n..,d..]",
};
