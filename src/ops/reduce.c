/* reduce.c - the shared parts of the reductions. */
#include "reduce.h"
#include <math.h>

int64_t asc_axis_from_front(const asc_tensor *a, int64_t axis) {
    return axis < 0 ? axis + asc_tensor_shape(a).rank : axis;
}

asc_attrs asc_reduce_attrs(const asc_tensor *a, int n_axes, const int *axes, bool keep) {
    asc_attrs attrs = {.i = {n_axes}};
    attrs.i[ASC_REDUCE_KEEP] = keep;
    for (int n = 0; n < n_axes && n < ASC_MAX_RANK; n++) {
        int64_t axis = asc_axis_from_front(a, axes[n]);
        int k = n;
        for (; k > 0 && attrs.i[k] > axis; k--) attrs.i[k + 1] = attrs.i[k];
        attrs.i[k + 1] = axis;
    }
    return attrs;
}

bool asc_reduces_axis(const asc_attrs *attrs, int64_t k) {
    for (int64_t n = 1; n <= attrs->i[0]; n++)
        if (attrs->i[n] == k) return true;
    return false;
}

asc_status asc_infer_reduce(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_need_f32(ctx, c, 0);
    if (st != ASC_OK) return st;
    const asc_shape *in = &c->in_shape[0];
    const int64_t *axes = c->attrs->i + 1;
    int64_t n_axes = c->attrs->i[0];
    bool keep = c->attrs->i[ASC_REDUCE_KEEP] != 0;
    if (n_axes < 0 || n_axes > in->rank)
        return asc_infer_fail(ctx, c, "%lld axes for an input of rank %d", (long long)n_axes, in->rank);
    for (int64_t n = 0; n < n_axes; n++) {
        if (axes[n] < 0 || axes[n] >= in->rank)
            return asc_infer_fail(ctx, c, "no axis %lld in rank %d", (long long)axes[n], in->rank);
        for (int64_t m = 0; m < n; m++)
            if (axes[m] == axes[n]) return asc_infer_fail(ctx, c, "axis %lld twice", (long long)axes[n]);
    }
    c->dtype = ASC_DTYPE_F32;
    c->shape = (asc_shape){0};
    for (int k = 0; k < in->rank; k++) {
        bool reduced = asc_reduces_axis(c->attrs, k);
        if (!reduced || keep) c->shape.dims[c->shape.rank++] = reduced ? 1 : in->dims[k];
    }
    return ASC_OK;
}

asc_status asc_infer_axis(asc_ctx *ctx, asc_call *c, int64_t axis, bool keep, asc_dtype dtype) {
    asc_status st = asc_infer_need_f32(ctx, c, 0);
    if (st != ASC_OK) return st;
    const asc_shape *in = &c->in_shape[0];
    if (axis < 0 || axis >= in->rank)
        return asc_infer_fail(ctx, c, "no axis %lld in rank %d", (long long)axis, in->rank);
    if (in->dims[axis] == 0) return asc_infer_fail(ctx, c, "axis %lld is empty", (long long)axis);
    c->dtype = dtype;
    c->shape = (asc_shape){0};
    for (int k = 0; k < in->rank; k++)
        if (k != axis || keep) c->shape.dims[c->shape.rank++] = k == axis ? 1 : in->dims[k];
    return ASC_OK;
}

double asc_reduce_count(const asc_shape *in, const asc_attrs *attrs) {
    double n = 1;
    for (int k = 0; k < in->rank; k++)
        if (asc_reduces_axis(attrs, k)) n *= (double)in->dims[k];
    return n;
}

/* Strides of out by the axes of the input; 0 on the reduced ones. */
static void out_strides(const asc_ref_args *a, bool keep, int64_t strides[ASC_MAX_RANK]) {
    int o = 0;
    for (int k = 0; k < a->in[0].rank; k++) {
        bool reduced = asc_reduces_axis(a->attrs, k);
        strides[k] = reduced ? 0 : a->out.strides[o];
        if (!reduced || keep) o++;
    }
}

void asc_ref_sum(const asc_ref_args *a, double factor) {
    const asc_nd *in = &a->in[0], *out = &a->out;
    int64_t idx[ASC_MAX_RANK] = {0}, off[2] = {0}, strides[2][ASC_MAX_RANK] = {{0}};
    for (int k = 0; k < out->rank; k++) strides[0][k] = out->strides[k];
    if (asc_nd_elems(out) == 0) return;
    do out->data[off[0]] = 0;
    while (asc_nd_next(out->rank, out->dims, idx, 1, (const int64_t(*)[ASC_MAX_RANK])strides, off));
    if (asc_nd_elems(in) != 0) {
        for (int k = 0; k < in->rank; k++) strides[1][k] = in->strides[k];
        out_strides(a, a->attrs->i[ASC_REDUCE_KEEP] != 0, strides[0]);
        for (int k = 0; k < ASC_MAX_RANK; k++) idx[k] = 0;
        off[0] = 0;
        const int outer = in->rank > 0 ? in->rank - 1 : 0; /* the last axis is walked without idx */
        const int64_t n = in->rank > 0 ? in->dims[outer] : 1, to = strides[0][outer],
                      from = strides[1][outer];
        do {
            double *y = out->data + off[0];
            const double *x = in->data + off[1];
            double sum = *y;
            for (int64_t i = 0; i < n && to == 0; i++) sum += x[i * from];
            for (int64_t i = 0; i < n && to != 0; i++) y[i * to] += x[i * from];
            if (to == 0) *y = sum;
        } while (asc_nd_next(outer, in->dims, idx, 2, (const int64_t(*)[ASC_MAX_RANK])strides, off));
    }
    if (factor == 1) return;
    for (int k = 0; k < ASC_MAX_RANK; k++) {
        strides[0][k] = k < out->rank ? out->strides[k] : 0;
        idx[k] = 0;
    }
    off[0] = 0;
    do out->data[off[0]] *= factor;
    while (asc_nd_next(out->rank, out->dims, idx, 1, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

void asc_ref_axis(const asc_ref_args *a, int axis, bool keep,
                  double (*f)(const double *x, int64_t stride, int64_t n)) {
    const asc_nd *in = &a->in[0];
    int64_t idx[ASC_MAX_RANK] = {0}, off[2] = {0}, dims[ASC_MAX_RANK], strides[2][ASC_MAX_RANK] = {{0}};
    if (asc_nd_elems(in) == 0) return;
    int rank = 0;
    for (int k = 0; k < in->rank; k++) { /* the other axes */
        if (k == axis) continue;
        dims[rank] = in->dims[k];
        strides[0][rank] = a->out.strides[keep ? k : rank];
        strides[1][rank++] = in->strides[k];
    }
    do a->out.data[off[0]] = f(in->data + off[1], in->strides[axis], in->dims[axis]);
    while (asc_nd_next(rank, dims, idx, 2, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

int64_t asc_find_largest(const double *x, int64_t stride, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n && !isnan(x[best * stride]); i++)
        if (x[i * stride] > x[best * stride] || isnan(x[i * stride])) best = i;
    return best;
}

int64_t asc_find_extreme(const double *x, int64_t stride, int64_t n, bool smallest, bool last) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        double v = x[i * stride], b = x[best * stride];
        bool nan = isnan(v), better = smallest ? v < b : v > b;
        if (isnan(b) ? nan && last : nan || better || (v == b && last)) best = i;
    }
    return best;
}

asc_status asc_infer_place(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_axis(ctx, c, c->attrs->i[0], false, ASC_DTYPE_I32);
    if (st == ASC_OK && c->in_shape[0].dims[c->attrs->i[0]] > INT32_MAX)
        return asc_infer_fail(ctx, c, "the axis is too long for i32 positions");
    return st;
}

bool asc_sample_apart(int i, const asc_case *cases, int n_cases, asc_sample *out) {
    if (!asc_sample_case(i, cases, n_cases, out)) return false;
    out->min_gap = 1e-3;
    return true;
}

bool asc_sample_axis(int i, asc_sample *out) {
    static const asc_case cases[] = {
        {{.rank = 1, .dims = {7}}, {.i = {0, 0}}},     {{.rank = 1, .dims = {1}}, {.i = {0, 1}}},
        {{.rank = 2, .dims = {3, 5}}, {.i = {1, 1}}},  {{.rank = 3, .dims = {2, 3, 5}}, {.i = {1, 0}}},
        {{.rank = 2, .dims = {13, 2}}, {.i = {0, 0}}},
    };
    return asc_sample_apart(i, cases, ASC_N_CASES(cases), out);
}

asc_shape asc_reduce_kept(const asc_tensor *in, const asc_attrs *attrs) {
    asc_shape shape = asc_tensor_shape(in);
    for (int k = 0; k < shape.rank; k++)
        if (asc_reduces_axis(attrs, k)) shape.dims[k] = 1;
    return shape;
}

asc_tensor *asc_largest_mask(asc_ctx *ctx, asc_tensor *in, int axis) {
    asc_shape shape = asc_tensor_shape(in), kept = shape, along = {.rank = shape.rank};
    kept.dims[axis] = 1;
    for (int k = 0; k < shape.rank; k++) along.dims[k] = k == axis ? shape.dims[k] : 1;
    asc_tensor *where = asc_cast(ctx, asc_arg_max(ctx, in, axis), ASC_DTYPE_F32);
    asc_tensor *place = asc_reshape(ctx, asc_iota(ctx, shape.dims[axis], 0, 1), along);
    return asc_equal(ctx, place, asc_reshape(ctx, where, kept));
}

void asc_cost_reduce(const asc_call *c, asc_cost *out) {
    asc_cost_move(c, out);
    out->flops = (double)asc_shape_elems(&c->in_shape[0]);
}

bool asc_sample_reduce(int i, asc_sample *out) {
    static const asc_case cases[] = {
        /* count, axes.., keep at ASC_REDUCE_KEEP */
        {{.rank = 0}, {.i = {0}}},
        {{.rank = 1, .dims = {7}}, {.i = {1, 0}}},
        {{.rank = 2, .dims = {3, 5}}, {.i = {1, 1, 0, 0, 0, 0, 0, 1}}},
        {{.rank = 3, .dims = {2, 3, 5}}, {.i = {2, 0, 2}}},
        {{.rank = 3, .dims = {2, 3, 5}}, {.i = {2, 1, 2, 0, 0, 0, 0, 1}}},
        {{.rank = 4, .dims = {2, 1, 3, 2}}, {.i = {4, 0, 1, 2, 3}}},
        {{.rank = 2, .dims = {67, 3}}, {.i = {1, 0}}},
    };
    return asc_sample_case(i, cases, ASC_N_CASES(cases), out);
}
