/* rows.c - row loops, and what the row ops share in shape rules and recorded arithmetic. */
#include "rows.h"
#include "ops.h"

static int64_t row_count(const asc_nd *out) {
    int64_t n = 1;
    for (int i = 0; i + 1 < out->rank; i++) n *= out->dims[i];
    return n;
}

/* Element offset of row `index` in array x, seen with out's leading dimensions. */
static int64_t row_offset(const asc_nd *x, const asc_nd *out, int64_t index) {
    if (x->rank != out->rank) return 0; /* one row for all */
    int64_t off = 0;
    for (int i = out->rank - 2; i >= 0; i--) {
        off += index % out->dims[i] * (x->dims[i] == 1 ? 0 : x->strides[i]);
        index /= out->dims[i];
    }
    return off;
}

void asc_ref_rows(const asc_ref_args *a, void (*fn)(const asc_row *r, const asc_attrs *attrs)) {
    const int last = a->out.rank - 1;
    const int64_t n = a->out.dims[last], rows = row_count(&a->out);
    if (n <= 0) return;
#pragma omp parallel for num_threads(a->n_threads) if (rows * n > 20000)
    for (int64_t i = 0; i < rows; i++) {
        asc_row r = {.n = n};
        for (int k = 0; k < a->n_in && k < ASC_ROW_MAX_IN; k++) {
            r.in[k] = a->in[k].data + row_offset(&a->in[k], &a->out, i);
            r.step[k] = a->in[k].strides[a->in[k].rank - 1];
        }
        r.out = a->out.data + row_offset(&a->out, &a->out, i);
        r.out_step = a->out.strides[last];
        fn(&r, a->attrs);
    }
}

asc_status asc_infer_rows(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_need_f32(ctx, c, 0);
    if (st != ASC_OK) return st;
    if (c->in_shape[0].rank < 1) return asc_infer_fail(ctx, c, "a scalar has no rows; needs rank 1 or more");
    c->dtype = ASC_DTYPE_F32;
    c->shape = c->in_shape[0];
    return ASC_OK;
}

asc_status asc_infer_like_rows(asc_ctx *ctx, const asc_call *c, int k, const char *what) {
    asc_status st = asc_infer_need_f32(ctx, c, k);
    if (st != ASC_OK) return st;
    if (!asc_shape_eq(&c->in_shape[0], &c->in_shape[k]))
        return asc_infer_fail(ctx, c, "%s must have the shape of input 0", what);
    return ASC_OK;
}

asc_status asc_infer_per_column(asc_ctx *ctx, const asc_call *c, int k, const char *what) {
    asc_status st = asc_infer_need_f32(ctx, c, k);
    if (st != ASC_OK) return st;
    const asc_shape *rows = &c->in_shape[0];
    if (c->in_shape[k].rank != 1 || c->in_shape[k].dims[0] != rows->dims[rows->rank - 1])
        return asc_infer_fail(ctx, c, "%s must be [%lld], one value a column", what,
                              (long long)rows->dims[rows->rank - 1]);
    return ASC_OK;
}

void asc_cost_rows(const asc_call *c, double flops_per_elem, asc_cost *out) {
    asc_cost_move(c, out);
    out->flops = flops_per_elem * (double)asc_shape_elems(&c->shape);
}

bool asc_sample_scores(int i, asc_sample *out) {
    static const asc_shape shapes[] = {{2, {3, 7}}, {1, {1}}, {3, {2, 1, 5}}, {1, {37}}};
    static const double range[] = {2, 1, 20, 6};
    if (i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    *out = (asc_sample){
        .n_in = 1, .in_shape = {shapes[i]}, .lo = {-range[i]}, .hi = {range[i]}, .min_gap = 1e-3};
    return true;
}

asc_tensor *asc_row_mean(asc_ctx *ctx, asc_tensor *a) { return asc_mean(ctx, a, 1, (int[]){-1}, true); }

asc_tensor *asc_row_sum(asc_ctx *ctx, asc_tensor *a) { return asc_sum(ctx, a, 1, (int[]){-1}, true); }

asc_tensor *asc_column_sum(asc_ctx *ctx, asc_tensor *a) {
    int axes[ASC_MAX_RANK] = {0};
    const int n = a->shape.rank - 1;
    if (n <= 0) return a;
    for (int i = 0; i < n; i++) axes[i] = i;
    return asc_sum(ctx, a, n, axes, false);
}
