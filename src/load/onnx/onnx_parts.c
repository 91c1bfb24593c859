/* onnx_parts.c - axes, choices along an axis; see onnx_parts.h. */
#include "onnx_parts.h"

asc_tensor *asc_onnx_const(asc_onnx_call *c, double value) {
    return asc_full(c->ctx, ASC_SCALAR_SHAPE, value);
}

bool asc_onnx_known(const asc_onnx_call *c, size_t i) {
    return asc_onnx_has(c, i) && (c->in[i]->host != NULL || c->in[i]->init != NULL);
}

int asc_onnx_axes(asc_onnx_call *c, int since, size_t input, int rank, int out[ASC_MAX_RANK]) {
    int64_t axes[ASC_MAX_RANK];
    bool seen[ASC_MAX_RANK] = {false};
    int n = -1;
    if (c->opset < since) {
        n = asc_onnx_attr_ints(c, "axes", axes, ASC_MAX_RANK);
    } else if (asc_onnx_has(c, input)) {
        n = asc_onnx_ints(c, input, axes, ASC_MAX_RANK);
    }
    for (int i = 0; i < n; i++) {
        out[i] = asc_onnx_axis(c, axes[i], rank);
        if (c->st != ASC_OK) return -1;
        if (seen[out[i]]) {
            asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "axis %lld is named twice", (long long)axes[i]);
            return -1;
        }
        seen[out[i]] = true;
    }
    return c->st == ASC_OK ? n : -1;
}

int64_t asc_onnx_span(const asc_shape *s, int from, int to) {
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= s->dims[i];
    return n;
}

asc_shape asc_onnx_three(const asc_shape *s, int axis) {
    return ASC_SHAPE(asc_onnx_span(s, 0, axis), s->dims[axis], asc_onnx_span(s, axis + 1, s->rank));
}

asc_tensor *asc_onnx_move_axis(asc_onnx_call *c, asc_tensor *t, int from, int to) {
    int perm[ASC_MAX_RANK], n = 0, rank = t->shape.rank;
    if (from == to || asc_tensor_poisoned(t)) return t;
    for (int i = 0; i < rank; i++) {
        if (i == from) continue;
        if (n == to) perm[n++] = from;
        perm[n++] = i;
    }
    if (n == to) perm[n] = from;
    return asc_transpose(c->ctx, t, rank, perm);
}

int32_t *asc_onnx_places(asc_onnx_call *c, int64_t n) {
    enum { MAX_PLACES = 1 << 28 }; /* 1 GB of places */
    if (n >= 0 && n <= MAX_PLACES) return asc_onnx_memory(c, (size_t)n, sizeof(int32_t));
    asc_onnx_fail(c, ASC_RESOURCE_EXHAUSTED, "%lld places of elements, at most %d are chosen one by one",
                  (long long)n, MAX_PLACES);
    return NULL;
}

asc_tensor *asc_onnx_choose(asc_onnx_call *c, asc_tensor *t, int axis, const int32_t *index, int64_t n) {
    if (asc_tensor_poisoned(t)) return t;
    asc_shape s = t->shape, three = asc_onnx_three(&s, axis);
    const int swap[] = {1, 0, 2};
    bool first = three.dims[0] == 1;
    asc_tensor *i = asc_from_i32(c->ctx, ASC_SHAPE(n), index);
    s.dims[axis] = n;
    if (first) {
        asc_tensor *rows = asc_reshape(c->ctx, t, ASC_SHAPE(three.dims[1], three.dims[2]));
        return asc_reshape(c->ctx, asc_gather(c->ctx, rows, i), s);
    }
    asc_tensor *rows = asc_transpose(c->ctx, asc_reshape(c->ctx, t, three), 3, swap);
    return asc_reshape(c->ctx, asc_transpose(c->ctx, asc_gather(c->ctx, rows, i), 3, swap), s);
}

asc_tensor *asc_onnx_reversed(asc_onnx_call *c, asc_tensor *t, int axis) {
    if (asc_tensor_poisoned(t)) return t;
    int64_t n = t->shape.dims[axis];
    int32_t *index = asc_onnx_places(c, n);
    if (index == NULL) return asc_graph_poison(asc_graph_of(c->ctx));
    for (int64_t i = 0; i < n; i++) index[i] = (int32_t)(n - 1 - i);
    return asc_onnx_choose(c, t, axis, index, n);
}

asc_tensor *asc_onnx_i32(asc_onnx_call *c, asc_tensor *t) { return asc_cast(c->ctx, t, ASC_DTYPE_I32); }

asc_tensor *asc_onnx_wrapped(asc_onnx_call *c, size_t i, int64_t n) {
    asc_shape s = asc_onnx_shape(c, i);
    if (asc_onnx_known(c, i) || c->on_host) {
        int64_t count = asc_shape_elems(&s);
        const double *d = asc_onnx_doubles(c, i);
        int32_t *index = d != NULL ? asc_onnx_memory(c, (size_t)count, sizeof *index) : NULL;
        if (index == NULL) return asc_graph_poison(asc_graph_of(c->ctx));
        for (int64_t k = 0; k < count; k++) {
            double at = d[k] < 0 ? d[k] + (double)n : d[k];
            if (!(at >= 0 && at < (double)n && at <= INT32_MAX)) {
                asc_onnx_fail(c, ASC_OUT_OF_RANGE, "index %.0f into %lld elements", d[k], (long long)n);
                return asc_graph_poison(asc_graph_of(c->ctx));
            }
            index[k] = (int32_t)at;
        }
        return asc_from_i32(c->ctx, s, index);
    }
    asc_tensor *t = asc_onnx_t(c, i);
    asc_tensor *below = asc_less(c->ctx, t, asc_onnx_const(c, 0));
    return asc_onnx_i32(c, asc_add(c->ctx, t, asc_scale(c->ctx, below, (double)n)));
}

asc_tensor *asc_onnx_along(asc_onnx_call *c, asc_tensor *t, int axis, int rank) {
    if (asc_tensor_poisoned(t)) return t;
    asc_shape s = {.rank = rank};
    for (int i = 0; i < rank; i++) s.dims[i] = i == axis ? asc_tensor_elems(t) : 1;
    return asc_reshape(c->ctx, t, s);
}

asc_tensor *asc_onnx_merged(asc_onnx_call *c, asc_tensor *t, int n_axes, const int *axes) {
    if (asc_tensor_poisoned(t)) return t;
    int perm[ASC_MAX_RANK], n = 0, rank = t->shape.rank;
    bool moved[ASC_MAX_RANK] = {false}, in_place = true;
    asc_shape s = {0};
    int64_t size = 1;
    for (int i = 0; i < n_axes; i++) moved[axes[i]] = true;
    for (int i = 0; i < rank; i++) {
        if (moved[i]) continue;
        s.dims[s.rank++] = t->shape.dims[i];
        perm[n++] = i;
    }
    for (int i = 0; i < rank; i++) {
        if (!moved[i]) continue;
        size *= t->shape.dims[i];
        perm[n++] = i;
    }
    for (int i = 0; i < rank; i++) in_place = in_place && perm[i] == i;
    if (s.rank == ASC_MAX_RANK) {
        asc_onnx_fail(c, ASC_UNIMPLEMENTED, "more than %d axes", ASC_MAX_RANK - 1);
        return t;
    }
    s.dims[s.rank++] = size;
    return asc_reshape(c->ctx, in_place ? t : asc_transpose(c->ctx, t, rank, perm), s);
}
