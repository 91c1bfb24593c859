/* op_put_last.c - the transpose of take_last: y [..,n] is 0 but for y[.., index[..]] = g[..]. Gradient:
 * take_last. An index outside writes the nearest element, as take_last reads it. */
#include "move.h"

static const asc_attr_def attr_defs[] = {{"n", ASC_ATTR_INT, 0}};

asc_tensor *asc_put_last(asc_ctx *ctx, asc_tensor *g, asc_tensor *index, int64_t n) {
    return asc_apply(ctx, &asc_op_put_last, &(asc_attrs){.i = {n}}, (asc_tensor *[]){g, index}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    int64_t n = c->attrs->i[0];
    asc_status st = asc_infer_need_f32(ctx, c, 0);
    if (st == ASC_OK) st = asc_infer_need_i32(ctx, c, 1);
    if (st != ASC_OK) return st;
    if (!asc_shape_eq(&c->in_shape[0], &c->in_shape[1]))
        return asc_infer_fail(ctx, c, "values and indices differ in shape");
    if (c->in_shape[0].rank == ASC_MAX_RANK)
        return asc_infer_fail(ctx, c, "at most %d axes", ASC_MAX_RANK - 1);
    if (n < 0 || (n == 0 && asc_shape_elems(&c->in_shape[0]) != 0))
        return asc_infer_fail(ctx, c, "no room in rows of %lld", (long long)n);
    c->dtype = ASC_DTYPE_F32;
    c->shape = c->in_shape[0];
    c->shape.dims[c->shape.rank++] = n;
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    const asc_nd *g = &a->in[0], *index = &a->in[1];
    int64_t idx[ASC_MAX_RANK] = {0}, off[3] = {0}, strides[3][ASC_MAX_RANK] = {{0}};
    asc_nd_fill(&a->out, 0);
    if (asc_nd_elems(g) == 0) return;
    for (int k = 0; k < g->rank; k++) {
        strides[0][k] = a->out.strides[k];
        strides[1][k] = g->strides[k];
        strides[2][k] = index->strides[k];
    }
    do {
        int64_t v = asc_nd_row(index->data[off[2]], a->out.dims[g->rank]);
        a->out.data[off[0] + v * a->out.strides[g->rank]] = g->data[off[1]];
    } while (asc_nd_next(g->rank, g->dims, idx, 3, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = asc_take_last(a->ctx, a->g, a->in[1]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_put_last(a->ctx, a->tin[0], a->in[1], a->attrs->i[0]);
}

static bool sample(int i, asc_sample *out) {
    static const struct {
        asc_shape shape;
        int64_t n;
    } cases[] = {{{.rank = 0}, 5},
                 {{.rank = 1, .dims = {3}}, 7},
                 {{.rank = 2, .dims = {2, 1}}, 4},
                 {{.rank = 1, .dims = {5}}, 1}};
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    *out = asc_sample_indexed(cases[i].shape, cases[i].shape, (double)cases[i].n);
    out->attrs.i[0] = cases[i].n;
    return true;
}

const asc_op asc_op_put_last = {
    ASC_OP_FIELDS(PUT_LAST, put_last, 2, 2),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_move,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Zeros but for one element of each row; the transpose of take_last.",
    .formula = "y[..,index[..]] = g[..], else 0",
};
