/* onnx_op_conv.c - Conv and ConvTranspose, with every way of saying the padding. */
#include "onnx_parts.h"

enum { MAX_STEP = 1 << 20 }; /* of strides, dilations, paddings, kernels: far beyond any picture */

static bool fill(asc_onnx_call *c, const char *name, int n, int64_t fallback, int64_t least, int64_t *out) {
    int got = asc_onnx_attr_ints(c, name, out, 2 * ASC_MAX_SPATIAL);
    if (c->st != ASC_OK) return false;
    if (got >= 0 && got != n) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "attribute '%s' has %d numbers, not %d", name, got, n);
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (got < 0) out[i] = fallback;
        if (out[i] >= least && out[i] <= MAX_STEP) continue;
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "attribute '%s' is %lld", name, (long long)out[i]);
        return false;
    }
    return true;
}

typedef enum auto_pad { NOTSET, VALID, SAME_UPPER, SAME_LOWER } auto_pad;

static auto_pad automatic(asc_onnx_call *c) {
    static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    asc_view v = asc_onnx_attr_string(c, "auto_pad", "NOTSET");
    for (int i = 0; i < 4; i++) {
        if (asc_view_eqs(v, names[i])) return (auto_pad)i;
    }
    if (v.len > 0) asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "auto_pad '" ASC_VIEW_FMT "'", ASC_VIEW_ARG(v));
    return NOTSET;
}

/* Number of spatial axes of x; 0 after an error. */
static int spatial(asc_onnx_call *c, const asc_shape *x, const int64_t *kernel) {
    int n = x->rank - 2;
    if (n < 1 || n > ASC_MAX_SPATIAL) {
        asc_onnx_fail(c, ASC_UNIMPLEMENTED, "an input of %d dimensions; 3 to %d are known", x->rank,
                      ASC_MAX_SPATIAL + 2);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        if (kernel[i] >= 1 && kernel[i] <= MAX_STEP) continue;
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a kernel of size %lld", (long long)kernel[i]);
        return 0;
    }
    return n;
}

bool asc_onnx_window(asc_onnx_call *c, const asc_shape *x, const int64_t *kernel, asc_window *out) {
    int64_t stride[6], dilation[6], pads[6];
    int n = spatial(c, x, kernel);
    auto_pad mode = automatic(c);
    *out = (asc_window){.ceil = false};
    if (n == 0 || c->st != ASC_OK || !fill(c, "strides", n, 1, 1, stride) ||
        !fill(c, "dilations", n, 1, 1, dilation) || !fill(c, "pads", 2 * n, 0, -MAX_STEP, pads))
        return false;
    for (int i = 0; i < n; i++) {
        out->kernel[i] = kernel[i];
        out->stride[i] = stride[i];
        out->dilation[i] = dilation[i];
        out->before[i] = mode == NOTSET ? pads[i] : 0;
        out->after[i] = mode == NOTSET ? pads[n + i] : 0;
        if (mode != SAME_UPPER && mode != SAME_LOWER) continue;
        int64_t size = x->dims[2 + i], steps = (size + stride[i] - 1) / stride[i];
        int64_t total = (steps - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - size;
        if (total < 0) total = 0;
        out->before[i] = mode == SAME_LOWER ? (total + 1) / 2 : total / 2;
        out->after[i] = total - out->before[i];
    }
    return true;
}

/* kernel_shape, when given, must be that of the weight. */
static bool check_kernel(asc_onnx_call *c, const asc_shape *w, int n) {
    int64_t said[ASC_MAX_SPATIAL];
    int got = asc_onnx_attr_ints(c, "kernel_shape", said, ASC_MAX_SPATIAL);
    bool same = got < 0 || got == n;
    for (int i = 0; i < got && same; i++) same = said[i] == w->dims[2 + i];
    if (!same) asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "kernel_shape differs from the weight's shape");
    return same && c->st == ASC_OK;
}

asc_status asc_onnx_Conv(asc_onnx_call *c) {
    asc_shape x = asc_onnx_shape(c, 0), w = asc_onnx_shape(c, 1);
    asc_window win;
    if (c->st != ASC_OK) return c->st;
    if (w.rank != x.rank)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an input of %d dimensions, a weight of %d", x.rank,
                             w.rank);
    if (!check_kernel(c, &w, x.rank - 2) || !asc_onnx_window(c, &x, w.dims + 2, &win)) return c->st;
    int64_t groups = asc_onnx_attr_int(c, "group", 1);
    asc_tensor *bias = asc_onnx_has(c, 2) ? asc_onnx_t(c, 2) : NULL;
    asc_tensor *t = asc_onnx_t(c, 0), *weight = asc_onnx_t(c, 1);
    return asc_onnx_set_like(c, 0, asc_conv(c->ctx, t, weight, bias, &win, groups));
}

/* Size of the result and padding of one axis of a transposed convolution. */
static bool transposed_axis(asc_onnx_call *c, asc_window *win, int i, int64_t in, int64_t more, auto_pad mode,
                            const int64_t *wanted, int64_t *size) {
    int64_t stride = win->stride[i], reach = (win->kernel[i] - 1) * win->dilation[i] + 1;
    int64_t full = (in - 1) * stride + reach + more;
    bool same = mode == SAME_UPPER || mode == SAME_LOWER;
    if (wanted != NULL || same) {
        *size = wanted != NULL ? *wanted : in * stride;
        int64_t total = full - *size;
        win->before[i] = mode == SAME_LOWER || (mode == NOTSET && total > 0) ? (total + 1) / 2 : total / 2;
        if (mode == SAME_UPPER || total < 0) win->before[i] = total < 0 ? 0 : total / 2;
    } else {
        *size = full - win->before[i] - win->after[i];
    }
    if (*size < 1 || *size > (int64_t)1 << 31) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "spatial axis %d becomes %lld long", i, (long long)*size);
        return false;
    }
    win->after[i] = (in - 1) * stride + reach - *size - win->before[i];
    return true;
}

asc_status asc_onnx_ConvTranspose(asc_onnx_call *c) {
    asc_shape x = asc_onnx_shape(c, 0), w = asc_onnx_shape(c, 1);
    asc_window win;
    int64_t more[6], wanted[2 * ASC_MAX_RANK], size[ASC_MAX_SPATIAL];
    if (c->st != ASC_OK) return c->st;
    if (w.rank != x.rank)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an input of %d dimensions, a weight of %d", x.rank,
                             w.rank);
    int n = x.rank - 2;
    if (!check_kernel(c, &w, n) || !asc_onnx_window(c, &x, w.dims + 2, &win) ||
        !fill(c, "output_padding", n, 0, 0, more))
        return c->st;
    int got = asc_onnx_attr_ints(c, "output_shape", wanted, 2 * ASC_MAX_RANK);
    if (got >= 0 && got != n && got != n + 2)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "output_shape has %d numbers for %d axes", got, n);
    const int64_t *sizes = got < 0 ? NULL : wanted + (got - n);
    for (int i = 0; i < n; i++) {
        if (!transposed_axis(c, &win, i, x.dims[2 + i], more[i], automatic(c), sizes ? sizes + i : NULL,
                             &size[i]))
            return c->st;
    }
    asc_tensor *y = asc_conv_grad_input(c->ctx, asc_onnx_t(c, 0), asc_onnx_t(c, 1), &win,
                                        asc_onnx_attr_int(c, "group", 1), size);
    if (asc_onnx_has(c, 2)) y = asc_add(c->ctx, y, asc_onnx_along(c, asc_onnx_t(c, 2), 1, x.rank));
    return asc_onnx_set_like(c, 0, y);
}

/* Columns put back into a picture, overlaps added: the transposed convolution of every channel with the unit
 * pictures of its window. */
asc_status asc_onnx_Col2Im(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0), x = {.rank = 2}, w = {.rank = 2};
    int64_t size[ASC_MAX_SPATIAL], block[ASC_MAX_SPATIAL], k = 1, places = 1;
    asc_window win;
    int n = asc_onnx_ints(c, 1, size, ASC_MAX_SPATIAL), m = asc_onnx_ints(c, 2, block, ASC_MAX_SPATIAL);
    if (c->st != ASC_OK) return c->st;
    if (n < 1 || m != n || s.rank != 3)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "columns of %d dimensions, %d sizes, a block of %d",
                             s.rank, n, m);
    for (int i = 0; i < n; i++) {
        if (size[i] < 1 || size[i] > MAX_STEP)
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a picture of size %lld", (long long)size[i]);
        x.dims[x.rank++] = size[i];
    }
    if (!asc_onnx_window(c, &x, block, &win)) return c->st;
    asc_shape g = ASC_SHAPE(s.dims[0], s.dims[1]);
    for (int i = 0; i < n; i++) {
        int64_t room = size[i] + win.before[i] + win.after[i] - (block[i] - 1) * win.dilation[i] - 1;
        g.dims[g.rank++] = room < 0 ? 0 : room / win.stride[i] + 1;
        places *= g.dims[2 + i];
        w.dims[w.rank++] = block[i];
        k *= block[i];
    }
    if (k > MAX_STEP || s.dims[1] % k != 0 || places != s.dims[2] || s.dims[1] > MAX_STEP / k)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT,
                             "%lld rows for blocks of %lld, %lld columns for %lld places",
                             (long long)s.dims[1], (long long)k, (long long)s.dims[2], (long long)places);
    w.dims[0] = s.dims[1];
    w.dims[1] = 1;
    double *unit = asc_onnx_memory(c, (size_t)(s.dims[1] * k), sizeof *unit);
    for (int64_t i = 0; i < s.dims[1] && unit != NULL; i++) unit[i * k + i % k] = 1;
    if (unit == NULL) return c->st;
    asc_tensor *t = asc_reshape(c->ctx, asc_onnx_t(c, 0), g);
    t = asc_conv_grad_input(c->ctx, t, asc_from_f64(c->ctx, w, unit), &win, s.dims[1] / k, size);
    return asc_onnx_set_like(c, 0, t);
}
