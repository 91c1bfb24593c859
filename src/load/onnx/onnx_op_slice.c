/* onnx_op_slice.c - parts of arrays and arrays made larger: Slice, Split, Pad, Tile, Expand. */
#include "onnx_parts.h"

static int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* The axis cut by NumPy's rule of start:end:step, but that a start before the axis is its first element when
 * going backwards, too. */
static asc_tensor *cut(asc_onnx_call *c, asc_tensor *t, int axis, int64_t from, int64_t to, int64_t step) {
    if (asc_tensor_poisoned(t)) return t;
    int64_t n = t->shape.dims[axis], count = 0;
    if (from < 0) from += n;
    if (to < 0) to = to < -n ? -1 : to + n;
    if (step > 0) {
        from = clamp(from, 0, n);
        to = clamp(to, 0, n);
        count = to > from ? (to - from - 1) / step + 1 : 0;
    } else {
        from = clamp(from, n > 0 ? 0 : -1, n - 1);
        to = clamp(to, -1, n - 1);
        count = from > to ? (from - to - 1) / -step + 1 : 0;
    }
    if (step == 1 || count <= 1)
        return count == n ? t : asc_slice(c->ctx, t, axis, count == 0 ? 0 : from, count);
    int32_t *index = n <= INT32_MAX ? asc_onnx_places(c, count) : asc_onnx_places(c, n);
    if (index == NULL) return asc_graph_poison(asc_graph_of(c->ctx));
    for (int64_t i = 0; i < count; i++) index[i] = (int32_t)(from + i * step);
    return asc_onnx_choose(c, t, axis, index, count);
}

asc_status asc_onnx_Slice(asc_onnx_call *c) {
    int64_t from[ASC_MAX_RANK], to[ASC_MAX_RANK], step[ASC_MAX_RANK] = {1, 1, 1, 1, 1, 1};
    int rank = asc_onnx_shape(c, 0).rank, axes[ASC_MAX_RANK];
    bool inputs = c->opset >= 10;
    int n = inputs ? asc_onnx_ints(c, 1, from, ASC_MAX_RANK)
                   : asc_onnx_attr_ints(c, "starts", from, ASC_MAX_RANK);
    int m = inputs ? asc_onnx_ints(c, 2, to, ASC_MAX_RANK) : asc_onnx_attr_ints(c, "ends", to, ASC_MAX_RANK);
    int given = asc_onnx_axes(c, 10, 3, rank, axes);
    if (given < 0) {
        for (given = 0; given < rank; given++) axes[given] = given;
        if (n >= 0 && n < given) given = n;
    }
    if (inputs && asc_onnx_has(c, 4) && asc_onnx_ints(c, 4, step, ASC_MAX_RANK) != n)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "as many steps as starts are needed");
    if (c->st != ASC_OK) return c->st;
    if (n < 0 || n != m || n != given)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%d starts, %d ends, %d axes", n, m, given);
    asc_tensor *t = asc_onnx_t(c, 0);
    for (int i = 0; i < n; i++) {
        if (step[i] == 0) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a step of 0");
        step[i] = clamp(step[i], -INT32_MAX, INT32_MAX);
        from[i] = clamp(from[i], -((int64_t)1 << 60), (int64_t)1 << 60);
        to[i] = clamp(to[i], -((int64_t)1 << 60), (int64_t)1 << 60);
        t = cut(c, t, axes[i], from[i], to[i], step[i]);
    }
    return asc_onnx_set_like(c, 0, t);
}

asc_status asc_onnx_Split(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0);
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", 0), s.rank), got = -1;
    int64_t n = (int64_t)c->n_out, at = 0, *sizes = asc_onnx_memory(c, c->n_out, sizeof *sizes);
    if (sizes == NULL || c->st != ASC_OK || n == 0) return c->st;
    if (c->opset >= 13 || (c->opset == 1 && asc_onnx_has(c, 1))) {
        if (asc_onnx_has(c, 1)) got = asc_onnx_ints(c, 1, sizes, (int)n);
    } else {
        got = asc_onnx_attr_ints(c, "split", sizes, (int)n);
    }
    int64_t each = (s.dims[axis] + n - 1) / n, sum = 0;
    if (got < 0 && c->opset < 18 && s.dims[axis] % n != 0)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%lld elements in %lld equal parts",
                             (long long)s.dims[axis], (long long)n);
    for (int64_t i = 0; i < n; i++) {
        if (got < 0) sizes[i] = clamp(s.dims[axis] - i * each, 0, each);
        if (sizes[i] < 0 || sizes[i] > s.dims[axis] - sum) sum = -1;
        if (sum < 0) break;
        sum += sizes[i];
    }
    if (c->st != ASC_OK) return c->st;
    if (sum != s.dims[axis] || (got >= 0 && got != n))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "parts that do not add up to the %lld elements",
                             (long long)s.dims[axis]);
    asc_tensor *t = asc_onnx_t(c, 0);
    for (int64_t i = 0; i < n; i++) {
        asc_onnx_set_like(c, (size_t)i, asc_slice(c->ctx, t, axis, at, sizes[i]));
        at += sizes[i];
    }
    return c->st;
}

/* Element of an axis of n that stands at place i (which may be outside) of the axis continued. */
static int64_t continued(int64_t i, int64_t n, char mode) {
    if (mode == 'e') return clamp(i, 0, n - 1);
    int64_t period = mode == 'w' ? n : 2 * (n - 1);
    if (period == 0) return 0;
    i %= period;
    if (i < 0) i += period;
    return i < n ? i : period - i;
}

static asc_tensor *pad_constant(asc_onnx_call *c, asc_tensor *t, int axis, int64_t before, int64_t after,
                                double value) {
    if (value == 0) return asc_pad(c->ctx, t, axis, before, after);
    if (asc_tensor_poisoned(t)) return t;
    asc_tensor *parts[3];
    int n = 0;
    asc_shape s = t->shape;
    s.dims[axis] = before;
    if (before > 0) parts[n++] = asc_full(c->ctx, s, value);
    parts[n++] = t;
    s.dims[axis] = after;
    if (after > 0) parts[n++] = asc_full(c->ctx, s, value);
    return asc_concat(c->ctx, parts, n, axis);
}

static asc_tensor *pad_axis(asc_onnx_call *c, asc_tensor *t, int axis, int64_t before, int64_t after,
                            char mode, double value) {
    if (asc_tensor_poisoned(t) || (before == 0 && after == 0)) return t;
    int64_t n = t->shape.dims[axis], limit = (int64_t)1 << 31;
    int64_t cut_front = before < 0 && before >= -n ? -before : 0,
            cut_back = after < 0 && after >= -n ? -after : 0;
    if (before > limit || after > limit || before < -n || after < -n || cut_front + cut_back > n) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "pads %lld and %lld of an axis of %lld", (long long)before,
                      (long long)after, (long long)n);
        return t;
    }
    if (cut_front + cut_back > 0) t = asc_slice(c->ctx, t, axis, cut_front, n - cut_front - cut_back);
    if (before < 0) before = 0;
    if (after < 0) after = 0;
    n -= cut_front + cut_back;
    if (before == 0 && after == 0) return t;
    if (mode == 'c') return pad_constant(c, t, axis, before, after, value);
    if (n == 0) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an empty axis cannot be continued");
        return t;
    }
    int64_t count = before + n + after;
    int32_t *index = asc_onnx_places(c, count);
    if (index == NULL) return asc_graph_poison(asc_graph_of(c->ctx));
    for (int64_t i = 0; i < count; i++) index[i] = (int32_t)continued(i - before, n, mode);
    return asc_onnx_choose(c, t, axis, index, count);
}

asc_status asc_onnx_Pad(asc_onnx_call *c) {
    int64_t pads[2 * ASC_MAX_RANK];
    int axes[ASC_MAX_RANK], rank = asc_onnx_shape(c, 0).rank, n = -1;
    bool inputs = c->opset >= 11;
    const char *name = c->opset < 2 ? "paddings" : "pads";
    double value = inputs ? asc_onnx_number(c, 2, 0) : asc_onnx_attr_float(c, "value", 0);
    asc_view mode = asc_onnx_attr_string(c, "mode", "constant");
    bool known = asc_view_eqs(mode, "constant") || asc_view_eqs(mode, "reflect") ||
                 asc_view_eqs(mode, "edge") || asc_view_eqs(mode, "wrap");
    if (!known)
        return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "mode '" ASC_VIEW_FMT "'",
                             ASC_VIEW_ARG(asc_view_cut(mode, 40)));
    int got = inputs ? asc_onnx_ints(c, 1, pads, 2 * ASC_MAX_RANK)
                     : asc_onnx_attr_ints(c, name, pads, 2 * ASC_MAX_RANK);
    if (c->opset >= 18 && asc_onnx_has(c, 3)) n = asc_onnx_axes(c, 18, 3, rank, axes);
    if (c->st != ASC_OK) return c->st;
    if (n < 0) {
        for (n = 0; n < rank; n++) axes[n] = n;
    }
    if (got != 2 * n) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%d pads for %d axes", got, n);
    asc_tensor *t = asc_onnx_t(c, 0);
    for (int i = 0; i < n && c->st == ASC_OK; i++)
        t = pad_axis(c, t, axes[i], pads[i], pads[n + i], (char)mode.ptr[0], value);
    return asc_onnx_set_like(c, 0, t);
}

/* The axis repeated as a whole. */
static asc_tensor *repeated(asc_onnx_call *c, asc_tensor *t, int axis, int64_t times) {
    if (asc_tensor_poisoned(t) || times == 1) return t;
    asc_shape s = t->shape, from = asc_onnx_three(&s, axis), to;
    from = ASC_SHAPE(from.dims[0], 1, from.dims[1] * from.dims[2]);
    to = from;
    to.dims[1] = times;
    s.dims[axis] *= times;
    return asc_reshape(c->ctx, asc_broadcast(c->ctx, asc_reshape(c->ctx, t, from), to), s);
}

asc_status asc_onnx_Tile(asc_onnx_call *c) {
    int64_t times[ASC_MAX_RANK];
    asc_shape s = asc_onnx_shape(c, 0);
    asc_tensor *t = asc_onnx_t(c, 0);
    for (int i = 0; i < s.rank; i++) times[i] = 1;
    if (c->opset < 6) { /* how often, and along which axis */
        int64_t often = asc_onnx_int(c, 1, 1);
        times[s.rank > 0 ? asc_onnx_axis(c, asc_onnx_int(c, 2, 0), s.rank) : 0] = often;
    } else if (asc_onnx_ints(c, 1, times, ASC_MAX_RANK) != s.rank) {
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "one number of repeats for each of %d axes is needed",
                             s.rank);
    }
    for (int i = 0; i < s.rank && c->st == ASC_OK; i++) {
        if (times[i] < 0 || times[i] > (int64_t)1 << 31 ||
            (times[i] > 1 && s.dims[i] > ASC_ONNX_MAX_ELEMS / times[i]))
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%lld repeats of axis %d", (long long)times[i], i);
        t = repeated(c, t, i, times[i]);
    }
    return asc_onnx_set_like(c, 0, t);
}

asc_status asc_onnx_Expand(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0), want = {0}, both;
    char from[128], to[128];
    want.rank = asc_onnx_ints(c, 1, want.dims, ASC_MAX_RANK);
    if (c->st != ASC_OK) return c->st;
    for (int i = 0; i < want.rank; i++) {
        if (want.dims[i] < 0)
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a dimension of %lld", (long long)want.dims[i]);
    }
    if (!asc_shape_broadcast(&s, &want, &both))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%s cannot be expanded to %s", asc_shape_text(&s, from),
                             asc_shape_text(&want, to));
    asc_tensor *t = asc_onnx_t(c, 0);
    return asc_onnx_set_like(c, 0, asc_shape_eq(&s, &both) ? t : asc_broadcast(c->ctx, t, both));
}

/* Cut or filled with zeros around the middle; an odd element is at the end. */
asc_status asc_onnx_CenterCropPad(asc_onnx_call *c) {
    int64_t want[ASC_MAX_RANK];
    asc_shape s = asc_onnx_shape(c, 0);
    int axes[ASC_MAX_RANK], n = asc_onnx_axes(c, INT32_MAX, 0, s.rank, axes);
    int m = asc_onnx_ints(c, 1, want, ASC_MAX_RANK);
    if (c->st != ASC_OK) return c->st;
    if (n < 0) {
        for (n = 0; n < s.rank; n++) axes[n] = n;
    }
    if (m != n) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%d sizes for %d axes", m, n);
    asc_tensor *t = asc_onnx_t(c, 0);
    for (int i = 0; i < n; i++) {
        if (want[i] < 0 || want[i] > ASC_ONNX_MAX_ELEMS)
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a size of %lld", (long long)want[i]);
        int64_t more = want[i] - s.dims[axes[i]];
        if (more < 0) t = asc_slice(c->ctx, t, axes[i], -more / 2, want[i]);
        if (more > 0) t = asc_pad(c->ctx, t, axes[i], more / 2, more - more / 2);
    }
    return asc_onnx_set_like(c, 0, t);
}
