/* pointwise.c - the shared parts of the pointwise ops that need not be inlined. */
#include "pointwise.h"

/* Makes one axis of neighbours that all arrays walk alike: same elements in the same order, longer rows. */
static int join_axes(asc_rows *w, int rank) {
    int n = 0; /* axes so far; the last one may still grow */
    for (int k = 0; k < rank; k++) {
        if (w->dims[k] == 1) continue;
        bool join = n > 0;
        for (int j = 0; j < w->n_arrays && join; j++)
            join = w->strides[j][n - 1] == w->strides[j][k] * w->dims[k];
        const int at = join ? n - 1 : n++;
        w->dims[at] = (join ? w->dims[at] : 1) * w->dims[k];
        for (int j = 0; j < w->n_arrays; j++) w->strides[j][at] = w->strides[j][k];
    }
    return n;
}

bool asc_rows_begin(asc_rows *w, const asc_ref_args *a) {
    *w = (asc_rows){.n_arrays = a->n_in + 1, .n = 1};
    if (asc_nd_elems(&a->out) == 0) return false;
    int rank = a->out.rank;
    for (int k = 0; k < rank; k++) w->dims[k] = a->out.dims[k];
    for (int j = 0; j < w->n_arrays; j++) {
        if (j == 0)
            for (int k = 0; k < rank; k++) w->strides[0][k] = a->out.strides[k];
        else
            asc_nd_broadcast(&a->in[j - 1], &a->out, w->strides[j]);
    }
    rank = join_axes(w, rank);
    w->rank = rank > 0 ? rank - 1 : 0;
    if (rank == 0) return true;
    w->n = w->dims[rank - 1];
    for (int j = 0; j < w->n_arrays; j++) w->step[j] = w->strides[j][rank - 1];
    return true;
}

bool asc_rows_next(asc_rows *w) {
    return asc_nd_next(w->rank, w->dims, w->idx, w->n_arrays, (const int64_t(*)[ASC_MAX_RANK])w->strides,
                       w->off);
}

static void set_input(asc_sample *s, int k, asc_shape shape, double lo, double hi) {
    s->in_dtype[k] = ASC_DTYPE_F32;
    s->in_shape[k] = shape;
    s->lo[k] = lo;
    s->hi[k] = hi;
}

bool asc_sample_unary(int i, asc_sample *out, double lo, double hi, double min_gap) {
    const asc_shape shapes[] = {ASC_SCALAR_SHAPE, ASC_SHAPE(7), ASC_SHAPE(3, 5), ASC_SHAPE(2, 1, 3, 2),
                                ASC_SHAPE(3, 67)};
    if (i < 0 || i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    out->n_in = 1;
    out->min_gap = min_gap;
    set_input(out, 0, shapes[i], lo, hi);
    return true;
}

bool asc_sample_binary(int i, asc_sample *out, double lo, double hi, double min_gap) {
    const asc_shape shapes[][2] = {
        {ASC_SCALAR_SHAPE, ASC_SCALAR_SHAPE},     {ASC_SHAPE(7), ASC_SHAPE(7)},
        {ASC_SCALAR_SHAPE, ASC_SHAPE(5)},         {ASC_SHAPE(2, 3, 1), ASC_SHAPE(1, 5)},
        {ASC_SHAPE(5), ASC_SHAPE(4, 1)},          {ASC_SHAPE(2, 67), ASC_SHAPE(67)},
        {ASC_SHAPE(2, 3, 2), ASC_SHAPE(2, 3, 2)},
    };
    if (i < 0 || i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    out->n_in = 2;
    out->min_gap = min_gap;
    for (int k = 0; k < 2; k++) set_input(out, k, shapes[i][k], lo, hi);
    return true;
}

bool asc_sample_params(asc_sample *out, const double *params, int n) {
    for (int k = 0; k < n; k++) out->attrs.f[k] = params[k];
    return true;
}

asc_tensor *asc_tangent_like(asc_ctx *ctx, asc_tensor *t, const asc_tensor *y) {
    if (t == NULL) return NULL;
    asc_shape have = asc_tensor_shape(t), want = asc_tensor_shape(y);
    return asc_shape_eq(&have, &want) ? t : asc_broadcast(ctx, t, want);
}

asc_tensor *asc_scalar(asc_ctx *ctx, double value) { return asc_full(ctx, ASC_SCALAR_SHAPE, value); }

asc_tensor *asc_silu_slope(asc_ctx *ctx, asc_tensor *x) {
    asc_tensor *s = asc_sigmoid(ctx, x);
    asc_tensor *rest = asc_sub(ctx, asc_scalar(ctx, 1), s);
    return asc_mul(ctx, s, asc_shift(ctx, asc_mul(ctx, x, rest), 1));
}

asc_tensor *asc_silu_curve(asc_ctx *ctx, asc_tensor *x) {
    asc_tensor *s = asc_sigmoid(ctx, x);
    asc_tensor *rest = asc_sub(ctx, asc_scalar(ctx, 1), s);
    asc_tensor *skew = asc_shift(ctx, asc_scale(ctx, s, -2), 1);
    return asc_mul(ctx, asc_mul(ctx, s, rest), asc_shift(ctx, asc_mul(ctx, x, skew), 2));
}
