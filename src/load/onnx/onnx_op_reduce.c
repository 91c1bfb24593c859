/* onnx_op_reduce.c - reductions over axes (an attribute first, an input later), places of extremes, running
 * sums. */
#include "onnx_parts.h"
#include <math.h>

typedef struct over {
    asc_tensor *x;
    int axes[ASC_MAX_RANK], n;
    bool keep, none; /* none: nothing to reduce, by noop_with_empty_axes */
} over;

/* since: the opset from which axes is an input. */
static over reduction(asc_onnx_call *c, int since) {
    over o = {.x = asc_onnx_t(c, 0)};
    int rank = asc_onnx_shape(c, 0).rank;
    o.keep = asc_onnx_attr_int(c, "keepdims", 1) != 0;
    o.n = asc_onnx_axes(c, since, 1, rank, o.axes);
    if (o.n <= 0) {
        o.none = asc_onnx_attr_int(c, "noop_with_empty_axes", 0) != 0;
        for (o.n = 0; o.n < rank; o.n++) o.axes[o.n] = o.n;
    }
    if (rank == 0) o.n = 0;
    return o;
}

/* Shape of the result: with dimensions of 1, or without them. */
static asc_tensor *shaped(asc_onnx_call *c, asc_tensor *y, const asc_shape *x, int n, const int *axes,
                          bool keep) {
    asc_shape s = {0};
    for (int i = 0; i < x->rank; i++) {
        bool gone = false;
        for (int k = 0; k < n; k++) gone = gone || axes[k] == i;
        if (!gone || keep) s.dims[s.rank++] = gone ? 1 : x->dims[i];
    }
    return asc_reshape(c->ctx, y, s);
}

typedef asc_tensor *(*one_axis)(asc_ctx *, asc_tensor *, int, bool);

/* Ops that reduce one axis: the axes become one. */
static asc_tensor *merged(asc_onnx_call *c, asc_tensor *x, int n, const int *axes, bool keep, one_axis op) {
    if (asc_tensor_poisoned(x)) return x;
    asc_shape s = x->shape;
    if (n == 1) return op(c->ctx, x, axes[0], keep);
    asc_tensor *m = asc_onnx_merged(c, x, n, axes);
    return shaped(c, op(c->ctx, m, -1, false), &s, n, axes, keep);
}

asc_tensor *asc_onnx_max_over(asc_onnx_call *c, asc_tensor *t, int n_axes, const int *axes, bool keep) {
    return merged(c, t, n_axes, axes, keep, asc_max);
}

static asc_tensor *sum(asc_onnx_call *c, const over *o, asc_tensor *x) {
    return o->n > 0 ? asc_sum(c->ctx, x, o->n, o->axes, o->keep) : x;
}

asc_status asc_onnx_ReduceSum(asc_onnx_call *c) {
    over o = reduction(c, 13);
    return asc_onnx_set_like(c, 0, o.none ? o.x : sum(c, &o, o.x));
}
asc_status asc_onnx_ReduceMean(asc_onnx_call *c) {
    over o = reduction(c, 18);
    if (o.none || o.n == 0) return asc_onnx_set_like(c, 0, o.x);
    return asc_onnx_set_like(c, 0, asc_mean(c->ctx, o.x, o.n, o.axes, o.keep));
}
asc_status asc_onnx_ReduceSumSquare(asc_onnx_call *c) {
    over o = reduction(c, 18);
    asc_tensor *x = asc_square(c->ctx, o.x);
    return asc_onnx_set_like(c, 0, o.none ? x : sum(c, &o, x));
}
asc_status asc_onnx_ReduceL1(asc_onnx_call *c) {
    over o = reduction(c, 18);
    asc_tensor *x = asc_abs(c->ctx, o.x);
    return asc_onnx_set_like(c, 0, o.none ? x : sum(c, &o, x));
}
asc_status asc_onnx_ReduceL2(asc_onnx_call *c) {
    over o = reduction(c, 18);
    asc_tensor *x = asc_square(c->ctx, o.x);
    return asc_onnx_set_like(c, 0, asc_sqrt(c->ctx, o.none ? x : sum(c, &o, x)));
}
asc_status asc_onnx_ReduceLogSum(asc_onnx_call *c) {
    over o = reduction(c, 18);
    return asc_onnx_set_like(c, 0, asc_log(c->ctx, o.none ? o.x : sum(c, &o, o.x)));
}
asc_status asc_onnx_ReduceLogSumExp(asc_onnx_call *c) {
    over o = reduction(c, 18);
    if (o.none || o.n == 0) return asc_onnx_set_like(c, 0, o.x);
    return asc_onnx_set_like(c, 0, asc_log_sum_exp(c->ctx, o.x, o.n, o.axes, o.keep));
}

static asc_status by_one_axis(asc_onnx_call *c, int since, one_axis op) {
    over o = reduction(c, since);
    asc_tensor *y = o.none || o.n == 0 ? o.x : merged(c, o.x, o.n, o.axes, o.keep, op);
    return asc_onnx_set_like(c, 0, y);
}
/* Of no elements at all: the least or the largest number of the type. */
static asc_status extreme(asc_onnx_call *c, one_axis op, bool largest) {
    over o = reduction(c, 18);
    asc_shape s = asc_onnx_shape(c, 0);
    bool empty = false;
    for (int i = 0; i < o.n; i++) empty = empty || s.dims[o.axes[i]] == 0;
    if (!empty || o.none || c->st != ASC_OK) return by_one_axis(c, 18, op);
    int elem = asc_onnx_elem(c, 0);
    double least = 0, most = 1; /* of bool */
    if (asc_onnx_type_is_float(elem))
        most = -(least = -INFINITY);
    else if (elem == ASC_ONNX_INT8 || elem == ASC_ONNX_UINT8)
        most = (least = elem == ASC_ONNX_INT8 ? -128 : 0) + 255;
    else if (elem != ASC_ONNX_BOOL) /* wider ones are not exact as floats */
        return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "the extreme of no integers");
    asc_shape one = s;
    for (int i = 0; i < o.n; i++) one.dims[o.axes[i]] = 1;
    asc_tensor *y = asc_full(c->ctx, one, largest ? least : most);
    return asc_onnx_set_like(c, 0, shaped(c, y, &s, o.n, o.axes, o.keep));
}
asc_status asc_onnx_ReduceMax(asc_onnx_call *c) { return extreme(c, asc_max, true); }
asc_status asc_onnx_ReduceMin(asc_onnx_call *c) { return extreme(c, asc_min, false); }
asc_status asc_onnx_ReduceProd(asc_onnx_call *c) { return by_one_axis(c, 18, asc_prod); }

static asc_status place(asc_onnx_call *c, bool largest) {
    asc_shape s = asc_onnx_shape(c, 0);
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", 0), s.rank);
    bool keep = asc_onnx_attr_int(c, "keepdims", 1) != 0;
    bool last = asc_onnx_attr_int(c, "select_last_index", 0) != 0;
    if (c->st != ASC_OK) return c->st;
    asc_tensor *x = asc_onnx_t(c, 0), *y;
    if (largest) {
        y = last ? asc_arg_max_last(c->ctx, x, axis) : asc_arg_max(c->ctx, x, axis);
    } else {
        y = last ? asc_arg_min_last(c->ctx, x, axis) : asc_arg_min(c->ctx, x, axis);
    }
    return asc_onnx_set(c, 0, shaped(c, y, &s, 1, &axis, keep), ASC_ONNX_INT64);
}
asc_status asc_onnx_ArgMax(asc_onnx_call *c) { return place(c, true); }
asc_status asc_onnx_ArgMin(asc_onnx_call *c) { return place(c, false); }

asc_status asc_onnx_CumSum(asc_onnx_call *c) {
    int axis = asc_onnx_axis(c, asc_onnx_int(c, 1, 0), asc_onnx_shape(c, 0).rank);
    bool exclusive = asc_onnx_attr_int(c, "exclusive", 0) != 0;
    bool reverse = asc_onnx_attr_int(c, "reverse", 0) != 0;
    if (c->st != ASC_OK) return c->st;
    return asc_onnx_set_like(c, 0, asc_cumsum(c->ctx, asc_onnx_t(c, 0), axis, exclusive, reverse));
}

/* Values and places of the k best along an axis. The values come by their places, so they have a gradient. */
asc_status asc_onnx_TopK(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0);
    int64_t k = c->opset < 10 ? asc_onnx_attr_int(c, "k", -1) : asc_onnx_int(c, 1, -1);
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", -1), s.rank);
    bool largest = asc_onnx_attr_int(c, "largest", 1) != 0;
    if (c->st != ASC_OK) return c->st;
    if (k < 0 || k > s.dims[axis])
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "k is %lld, the axis has %lld elements", (long long)k,
                             (long long)s.dims[axis]);
    asc_tensor *rows = asc_onnx_move_axis(c, asc_onnx_t(c, 0), axis, s.rank - 1);
    asc_tensor *at = asc_top_k(c->ctx, rows, k, largest);
    asc_tensor *best = asc_take_along(c->ctx, rows, at, s.rank - 1);
    asc_onnx_set_like(c, 0, asc_onnx_move_axis(c, best, s.rank - 1, axis));
    return asc_onnx_set(c, 1, asc_onnx_move_axis(c, at, s.rank - 1, axis), ASC_ONNX_INT64);
}
