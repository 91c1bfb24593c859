/* expert_matmul: every row of x [R..,K] times the matrix of a stack w [E,K,N] (or transposes of [E,N,K] if
 * tw) that index [R..] (i32) names: y [R..,N]. The experts of a mixture: rows that take the same matrix are
 * multiplied together by fast kernels, and matrices that no row takes are not read, while shapes stay those
 * of the program. w may be stored weights; these have no gradient. Gradient: dx is the same op with tw
 * flipped; dw[e] = sum over the rows of e of the outer products, as a batched matmul with rows of other
 * experts zeroed. Edge cases: an index outside counts for the nearest matrix; K = 0 gives zeros; no rows give
 * an empty result. The reference adds products in order of k from 0. Source: Shazeer et al. 2017,
 * "Outrageously Large Neural Networks: the Sparsely-Gated Mixture-of-Experts Layer". */
#include "move.h"

enum { X, W, INDEX };

asc_tensor *asc_expert_matmul(asc_ctx *ctx, asc_tensor *x, asc_tensor *w, asc_tensor *index, bool tw) {
    return asc_apply(ctx, &asc_op_expert_matmul, &(asc_attrs){.i = {tw}}, (asc_tensor *[]){x, w, index}, 3);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    const asc_shape *x = &c->in_shape[X], *w = &c->in_shape[W], *index = &c->in_shape[INDEX];
    asc_status st = asc_infer_need_f32(ctx, c, X);
    if (st == ASC_OK) st = asc_infer_need_i32(ctx, c, INDEX);
    if (st != ASC_OK) return st;
    if (asc_dtype_expand(c->in_dtype[W]) == NULL)
        return asc_infer_fail(ctx, c, "w must be f32 or a weight type that can be expanded, not %s",
                              asc_dtype_of(c->in_dtype[W])->name);
    if (w->rank != 3) return asc_infer_fail(ctx, c, "w must be a stack of matrices, of rank 3");
    bool fits = x->rank == index->rank + 1;
    for (int i = 0; fits && i < index->rank; i++) fits = x->dims[i] == index->dims[i];
    if (!fits) return asc_infer_fail(ctx, c, "x must have a row for every index");
    const bool tw = c->attrs->i[0] != 0;
    const int64_t k = x->dims[x->rank - 1];
    if (k != w->dims[tw ? 2 : 1])
        return asc_infer_fail(ctx, c, "inner dimensions %lld and %lld differ", (long long)k,
                              (long long)w->dims[tw ? 2 : 1]);
    if (w->dims[0] == 0 && asc_shape_elems(index) > 0) return asc_infer_fail(ctx, c, "the stack is empty");
    c->dtype = ASC_DTYPE_F32;
    c->shape = *x;
    c->shape.dims[x->rank - 1] = w->dims[tw ? 1 : 2];
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    const asc_nd *x = &a->in[X], *w = &a->in[W], *index = &a->in[INDEX], *y = &a->out;
    const bool tw = a->attrs->i[0] != 0;
    const int last = index->rank;
    const int64_t k = x->dims[last], n = y->dims[last];
    const int64_t w_k = w->strides[tw ? 2 : 1], w_n = w->strides[tw ? 1 : 2];
    int64_t idx[ASC_MAX_RANK] = {0}, off[3] = {0}, strides[3][ASC_MAX_RANK] = {{0}};
    if (asc_nd_elems(y) == 0) return;
    for (int i = 0; i < last; i++) {
        strides[0][i] = y->strides[i];
        strides[1][i] = x->strides[i];
        strides[2][i] = index->strides[i];
    }
    do {
        const double *wm = w->data + asc_nd_row(index->data[off[2]], w->dims[0]) * w->strides[0];
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t q = 0; q < k; q++)
                sum += x->data[off[1] + q * x->strides[last]] * wm[q * w_k + j * w_n];
            y->data[off[0] + j * y->strides[last]] = sum;
        }
    } while (asc_nd_next(last, index->dims, idx, 3, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

/* [E,R,1]: 1 where row r takes matrix e; indices outside count for the nearest one. */
static asc_tensor *taken(asc_ctx *ctx, asc_tensor *index, int64_t n_experts, int64_t rows) {
    asc_tensor *i = asc_cast(ctx, asc_reshape(ctx, index, ASC_SHAPE(1, rows, 1)), ASC_DTYPE_F32);
    asc_tensor *all = asc_reshape(ctx, asc_iota(ctx, n_experts, 0.0, 1.0), ASC_SHAPE(n_experts, 1, 1));
    return asc_equal(ctx, asc_clip(ctx, i, 0.0, (double)(n_experts - 1)), all);
}

static void vjp(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[X], *w = a->in[W], *index = a->in[INDEX];
    const bool tw = a->attrs->i[0] != 0;
    if (a->need[X]) a->gin[X] = asc_expert_matmul(ctx, a->g, w, index, !tw);
    if (!a->need[W] || w->dtype != ASC_DTYPE_F32 || w->shape.dims[0] == 0) return;
    const int64_t rows = asc_shape_elems(&index->shape), k = x->shape.dims[x->shape.rank - 1],
                  n = a->y->shape.dims[x->shape.rank - 1];
    asc_tensor *g = asc_mul(ctx, asc_reshape(ctx, a->g, ASC_SHAPE(1, rows, n)),
                            taken(ctx, index, w->shape.dims[0], rows));
    asc_tensor *xr = asc_reshape(ctx, x, ASC_SHAPE(1, rows, k));
    a->gin[W] = tw ? asc_matmul(ctx, g, xr, true, false) : asc_matmul(ctx, xr, g, true, false);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    const bool tw = a->attrs->i[0] != 0;
    asc_tensor *t =
        a->tin[X] == NULL ? NULL : asc_expert_matmul(a->ctx, a->tin[X], a->in[W], a->in[INDEX], tw);
    if (a->tin[W] == NULL) return t;
    asc_tensor *by_w = asc_expert_matmul(a->ctx, a->in[X], a->tin[W], a->in[INDEX], tw);
    return asc_add_or(a->ctx, t, by_w);
}

/* At most as many matrices are read as there are rows. */
static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_move(c, out);
    const asc_shape *w = &c->in_shape[W];
    const double rows = (double)asc_shape_elems(&c->in_shape[INDEX]), e = (double)w->dims[0];
    const double stack = asc_cost_bytes(c->in_dtype[W], (double)asc_shape_elems(w));
    if (rows < e) out->bytes_read -= stack * (1 - rows / e);
    out->flops = 2 * rows * (double)w->dims[1] * (double)w->dims[2];
}

static bool sample(int i, asc_sample *out) {
    static const struct {
        asc_shape x, w, index;
        asc_dtype type;
        bool tw;
    } cases[] = {
        {{2, {3, 5}}, {3, {2, 4, 5}}, {1, {3}}, ASC_DTYPE_F32, true},
        {{2, {3, 5}}, {3, {2, 5, 4}}, {1, {3}}, ASC_DTYPE_F32, false},
        {{3, {2, 3, 2}}, {3, {4, 3, 2}}, {2, {2, 3}}, ASC_DTYPE_F32, true},
        {{1, {3}}, {3, {2, 2, 3}}, {0}, ASC_DTYPE_F32, true},
        {{2, {1, 7}}, {3, {1, 7, 3}}, {1, {1}}, ASC_DTYPE_F32, false},
        {{2, {11, 6}}, {3, {3, 5, 6}}, {1, {11}}, ASC_DTYPE_F32, true},
        {{2, {12, 6}}, {3, {2, 6, 9}}, {1, {12}}, ASC_DTYPE_F32, false},
        {{2, {3, 64}}, {3, {2, 5, 64}}, {1, {3}}, ASC_DTYPE_Q8_0, true},
        {{2, {13, 5}}, {3, {3, 5, 64}}, {1, {13}}, ASC_DTYPE_Q8_0, false},
        {{2, {4, 7}}, {3, {2, 3, 7}}, {1, {4}}, ASC_DTYPE_BF16, true},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    *out = (asc_sample){.attrs = {.i = {cases[i].tw}},
                        .n_in = 3,
                        .in_dtype = {ASC_DTYPE_F32, cases[i].type, ASC_DTYPE_I32},
                        .in_shape = {cases[i].x, cases[i].w, cases[i].index},
                        .lo = {-1, -1, 0},
                        .hi = {1, 1, (double)cases[i].w.dims[0]},
                        .no_grad = {false, cases[i].type != ASC_DTYPE_F32, true}};
    return true;
}

static const asc_attr_def attr_defs[] = {{"tw", ASC_ATTR_BOOL, 0}};

const asc_op asc_op_expert_matmul = {
    ASC_OP_FIELDS(EXPERT_MATMUL, expert_matmul, 3, 3),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_0 | ASC_OP_LINEAR_1,
    .doc = "Each row times a matrix of a stack that its i32 index names: the experts of a mixture.",
    .formula = "y[r..,n] = sum_k x[r..,k] W[k,n], W = w[index[r..]] or its transpose",
};
