/* onnx_op_arrange.c - other shapes of the same numbers, and arrays made from shapes and numbers. */
#include "onnx_parts.h"
#include <math.h>

asc_status asc_onnx_Flatten(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0);
    int64_t axis = asc_onnx_attr_int(c, "axis", 1);
    if (axis < 0) axis += s.rank;
    if (axis < 0 || axis > s.rank)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "axis %lld of %d dimensions", (long long)axis, s.rank);
    asc_shape to = ASC_SHAPE(asc_onnx_span(&s, 0, (int)axis), asc_onnx_span(&s, (int)axis, s.rank));
    return asc_onnx_set_like(c, 0, asc_reshape(c->ctx, asc_onnx_t(c, 0), to));
}

asc_status asc_onnx_Squeeze(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0), to = {0};
    int axes[ASC_MAX_RANK], n = asc_onnx_axes(c, 13, 1, s.rank, axes);
    if (c->st != ASC_OK) return c->st;
    for (int i = 0; i < s.rank; i++) {
        bool named = n < 0 && s.dims[i] == 1;
        for (int k = 0; k < n; k++) named = named || axes[k] == i;
        if (named && s.dims[i] != 1)
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "axis %d has %lld elements", i,
                                 (long long)s.dims[i]);
        if (!named) to.dims[to.rank++] = s.dims[i];
    }
    return asc_onnx_set_like(c, 0, asc_reshape(c->ctx, asc_onnx_t(c, 0), to));
}

asc_status asc_onnx_Unsqueeze(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0), to = {0};
    int64_t given[ASC_MAX_RANK];
    bool one[ASC_MAX_RANK] = {false};
    int n = c->opset < 13 ? asc_onnx_attr_ints(c, "axes", given, ASC_MAX_RANK)
                          : asc_onnx_ints(c, 1, given, ASC_MAX_RANK);
    if (c->st != ASC_OK) return c->st;
    if (n < 0) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "no axes");
    if (s.rank + n > ASC_MAX_RANK)
        return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "%d dimensions, at most %d are known", s.rank + n,
                             ASC_MAX_RANK);
    to.rank = s.rank + n;
    for (int i = 0; i < n; i++) {
        int axis = asc_onnx_axis(c, given[i], to.rank);
        if (one[axis]) asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "axis %d is named twice", axis);
        one[axis] = true;
    }
    if (c->st != ASC_OK) return c->st;
    for (int i = 0, k = 0; i < to.rank; i++) to.dims[i] = one[i] ? 1 : s.dims[k++];
    return asc_onnx_set_like(c, 0, asc_reshape(c->ctx, asc_onnx_t(c, 0), to));
}

asc_status asc_onnx_Size(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0);
    double n = (double)asc_shape_elems(&s);
    return asc_onnx_set_host(c, 0, ASC_SCALAR_SHAPE, &n, ASC_ONNX_INT64);
}

/* Block size and shape of DepthToSpace and SpaceToDepth; 0 after an error. */
static int64_t block_of(asc_onnx_call *c, const asc_shape *s) {
    int64_t b = asc_onnx_attr_int(c, "blocksize", 0);
    if (s->rank != 4 || b < 1 || b > 1 << 15) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "blocksize %lld of %d dimensions", (long long)b, s->rank);
        return 0;
    }
    return b;
}

asc_status asc_onnx_DepthToSpace(asc_onnx_call *c) {
    const int dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
    asc_shape s = asc_onnx_shape(c, 0);
    int64_t b = block_of(c, &s);
    if (b == 0) return c->st;
    if (s.dims[1] % (b * b) != 0)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%lld channels in blocks of %lld", (long long)s.dims[1],
                             (long long)b);
    int64_t n = s.dims[1] / (b * b), h = s.dims[2], w = s.dims[3];
    bool columns = asc_onnx_attr_is(c, "mode", "DCR", "CRD");
    asc_shape parts = columns ? ASC_SHAPE(s.dims[0], n, b, b, h, w) : ASC_SHAPE(s.dims[0], b, b, n, h, w);
    asc_tensor *t =
        asc_transpose(c->ctx, asc_reshape(c->ctx, asc_onnx_t(c, 0), parts), 6, columns ? crd : dcr);
    return asc_onnx_set_like(c, 0, asc_reshape(c->ctx, t, ASC_SHAPE(s.dims[0], n, h * b, w * b)));
}

asc_status asc_onnx_SpaceToDepth(asc_onnx_call *c) {
    const int dcr[] = {0, 3, 5, 1, 2, 4}, crd[] = {0, 1, 3, 5, 2, 4};
    asc_shape s = asc_onnx_shape(c, 0);
    bool columns = asc_onnx_attr_is(c, "mode", "DCR", "CRD"); /* since opset 28 */
    int64_t b = block_of(c, &s);
    if (b == 0) return c->st;
    if (s.dims[2] % b != 0 || s.dims[3] % b != 0)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%lld by %lld in blocks of %lld", (long long)s.dims[2],
                             (long long)s.dims[3], (long long)b);
    int64_t h = s.dims[2] / b, w = s.dims[3] / b;
    asc_tensor *t = asc_reshape(c->ctx, asc_onnx_t(c, 0), ASC_SHAPE(s.dims[0], s.dims[1], h, b, w, b));
    t = asc_transpose(c->ctx, t, 6, columns ? crd : dcr);
    return asc_onnx_set_like(c, 0, asc_reshape(c->ctx, t, ASC_SHAPE(s.dims[0], s.dims[1] * b * b, h, w)));
}

/* The first lens[b] elements of each example in the opposite order. */
asc_status asc_onnx_ReverseSequence(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0), ls = asc_onnx_shape(c, 1);
    int64_t batch = asc_onnx_attr_int(c, "batch_axis", 1), time = asc_onnx_attr_int(c, "time_axis", 0);
    if (s.rank < 2 || batch < 0 || batch > 1 || time != 1 - batch || ls.rank != 1 ||
        ls.dims[0] != s.dims[batch])
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "batch axis %lld and time axis %lld of %d dimensions",
                             (long long)batch, (long long)time, s.rank);
    const double *lens = asc_onnx_doubles(c, 1);
    int64_t n = s.dims[0] * s.dims[1];
    int32_t *index = lens != NULL ? asc_onnx_places(c, n) : NULL;
    if (index == NULL) return c->st;
    for (int64_t i = 0; i < n; i++) {
        int64_t at[2] = {i / s.dims[1], i % s.dims[1]};
        double len = lens[at[batch]];
        if (!(len >= 0 && len <= (double)s.dims[time]))
            return asc_onnx_fail(c, ASC_OUT_OF_RANGE, "a sequence of %.0f in %lld steps", len,
                                 (long long)s.dims[time]);
        if (at[time] < (int64_t)len) at[time] = (int64_t)len - 1 - at[time];
        index[i] = (int32_t)(at[0] * s.dims[1] + at[1]);
    }
    asc_tensor *rows = asc_reshape(c->ctx, asc_onnx_t(c, 0), ASC_SHAPE(n, asc_onnx_span(&s, 2, s.rank)));
    return asc_onnx_set_like(c, 0, asc_reshape(c->ctx, asc_onnx_choose(c, rows, 0, index, n), s));
}

asc_status asc_onnx_Trilu(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0);
    int64_t k = asc_onnx_int(c, 1, 0);
    bool upper = asc_onnx_attr_int(c, "upper", 1) != 0;
    if (s.rank < 2) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an input of %d dimensions", s.rank);
    asc_tensor *row =
        asc_reshape(ctx, asc_iota(ctx, s.dims[s.rank - 2], (double)k, 1), ASC_SHAPE(s.dims[s.rank - 2], 1));
    asc_tensor *col = asc_iota(ctx, s.dims[s.rank - 1], 0, 1);
    asc_tensor *keep = upper ? asc_less_equal(ctx, row, col) : asc_less_equal(ctx, col, row);
    return asc_onnx_set_like(c, 0, asc_where(ctx, keep, asc_onnx_t(c, 0), asc_onnx_const(c, 0)));
}

asc_status asc_onnx_ConstantOfShape(asc_onnx_call *c) {
    asc_shape s = {0};
    double value = 0;
    int elem = ASC_ONNX_FLOAT;
    const asc_onnx_attr *a = asc_onnx_attr_find(c, "value");
    s.rank = asc_onnx_ints(c, 0, s.dims, ASC_MAX_RANK);
    if (c->st != ASC_OK) return c->st;
    if (a != NULL && a->t != NULL) {
        if (a->t->n != 1 || asc_onnx_type_bytes(a->t->elem) == 0)
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a value of %lld elements of type %s",
                                 (long long)a->t->n, asc_onnx_type_name(a->t->elem));
        asc_onnx_tensor_get(a->t, 0, 1, &value);
        elem = a->t->elem;
    }
    for (int i = 0; i < s.rank; i++) {
        if (s.dims[i] < 0)
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a dimension of %lld", (long long)s.dims[i]);
    }
    return asc_onnx_set(c, 0, asc_full(c->ctx, s, value), elem);
}

asc_status asc_onnx_Range(asc_onnx_call *c) {
    double from = asc_onnx_number(c, 0, 0), to = asc_onnx_number(c, 1, 0), step = asc_onnx_number(c, 2, 1);
    if (c->st != ASC_OK) return c->st;
    double n = ceil((to - from) / step);
    if (step == 0 || !(n <= (double)ASC_ONNX_MAX_ELEMS))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a range from %g to %g by %g", from, to, step);
    return asc_onnx_set_like(c, 0, asc_iota(c->ctx, n > 0 ? (int64_t)n : 0, from, step));
}

asc_status asc_onnx_EyeLike(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0);
    int64_t k = asc_onnx_attr_int(c, "k", 0), elem = asc_onnx_attr_int(c, "dtype", asc_onnx_elem(c, 0));
    if (s.rank != 2) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an input of %d dimensions", s.rank);
    if (elem < 1 || elem > 63 || asc_onnx_type_bytes((int)elem) == 0)
        return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "dtype %lld", (long long)elem);
    asc_tensor *row = asc_reshape(ctx, asc_iota(ctx, s.dims[0], (double)k, 1), ASC_SHAPE(s.dims[0], 1));
    return asc_onnx_set(c, 0, asc_equal(ctx, row, asc_iota(ctx, s.dims[1], 0, 1)), (int)elem);
}

/* Nothing is dropped but where training_mode asks for it. */
asc_status asc_onnx_Dropout(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0);
    double ratio = c->opset >= 12 ? asc_onnx_number(c, 1, 0.5) : 0;
    bool training = c->opset >= 12 && asc_onnx_number(c, 2, 0) != 0;
    int mask_elem = c->opset < 10 ? asc_onnx_elem(c, 0) : ASC_ONNX_BOOL;
    if (c->st != ASC_OK) return c->st;
    if (!training || ratio == 0) {
        asc_onnx_set_value(c, 0, asc_onnx_in(c, 0));
        return asc_onnx_wants(c, 1) ? asc_onnx_set(c, 1, asc_full(ctx, s, 1.0), mask_elem) : c->st;
    }
    if (!(ratio > 0 && ratio < 1)) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "ratio %g", ratio);
    asc_tensor *draw = asc_random(ctx, s, ASC_RANDOM_UNIFORM, (uint64_t)asc_onnx_attr_int(c, "seed", 0),
                                  (uint32_t)c->node->index);
    asc_tensor *keep = asc_less_equal(ctx, asc_onnx_const(c, ratio), draw);
    asc_onnx_set_like(c, 0, asc_scale(ctx, asc_mul(ctx, asc_onnx_t(c, 0), keep), 1 / (1 - ratio)));
    return asc_onnx_set(c, 1, keep, mask_elem);
}
