/* onnx_op_pool.c - pools over windows and over everything, and the way back from a max pool's indices. */
#include "onnx_parts.h"

/* kernel_shape and what asc_onnx_window reads. */
static bool pool_window(asc_onnx_call *c, asc_window *win) {
    int64_t kernel[2 * ASC_MAX_SPATIAL] = {0};
    asc_shape x = asc_onnx_shape(c, 0);
    int n = asc_onnx_attr_ints(c, "kernel_shape", kernel, ASC_MAX_SPATIAL);
    if (c->st != ASC_OK) return false;
    if (n != x.rank - 2) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "kernel_shape has %d numbers for an input of %d dimensions",
                      n < 0 ? 0 : n, x.rank);
        return false;
    }
    if (!asc_onnx_window(c, &x, kernel, win)) return false;
    win->ceil = asc_onnx_attr_int(c, "ceil_mode", 0) != 0;
    return c->st == ASC_OK;
}

asc_status asc_onnx_AveragePool(asc_onnx_call *c) {
    asc_window win;
    if (!pool_window(c, &win)) return c->st;
    bool include = asc_onnx_attr_int(c, "count_include_pad", 0) != 0;
    return asc_onnx_set_like(c, 0, asc_avg_pool(c->ctx, asc_onnx_t(c, 0), &win, include));
}

/* Places in one plane as places in the whole tensor; in_columns: the last two or three axes counted the other
 * way round (storage_order 1). */
static asc_tensor *global_places(asc_onnx_call *c, asc_tensor *at, const asc_shape *x, bool in_columns) {
    asc_ctx *ctx = c->ctx;
    int64_t plane = asc_onnx_span(x, 2, x->rank);
    asc_tensor *p = asc_cast(ctx, at, ASC_DTYPE_F32);
    if (in_columns) { /* digit by digit, from the last axis on */
        asc_tensor *rest = p, *sum = NULL;
        int64_t weight = plane;
        for (int i = x->rank - 1; i >= 2; i--) {
            asc_tensor *n = asc_onnx_const(c, (double)x->dims[i]);
            weight /= x->dims[i];
            asc_tensor *digit = asc_scale(ctx, asc_mod(ctx, rest, n, false), (double)weight);
            sum = sum == NULL ? digit : asc_add(ctx, sum, digit);
            rest = asc_trunc_div(ctx, rest, n);
        }
        p = sum;
    }
    asc_tensor *first = asc_iota(ctx, x->dims[0] * x->dims[1], 0, (double)plane);
    asc_shape lead = {.rank = x->rank, .dims = {x->dims[0], x->dims[1], 1, 1, 1, 1}};
    return asc_add(ctx, p, asc_reshape(ctx, first, lead));
}

asc_status asc_onnx_MaxPool(asc_onnx_call *c) {
    asc_window win;
    asc_shape s = asc_onnx_shape(c, 0);
    if (!pool_window(c, &win)) return c->st;
    asc_tensor *x = asc_onnx_t(c, 0);
    asc_onnx_set_like(c, 0, asc_max_pool(c->ctx, x, &win));
    if (!asc_onnx_wants(c, 1)) return c->st;
    bool columns = asc_onnx_attr_int(c, "storage_order", 0) != 0;
    asc_tensor *at = asc_max_pool_index(c->ctx, x, &win);
    return asc_onnx_set(c, 1, global_places(c, at, &s, columns), ASC_ONNX_INT64);
}

/* The p-th root of the sum of p-th powers: a mean over full windows times their size. */
asc_status asc_onnx_LpPool(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_window win;
    asc_shape s = asc_onnx_shape(c, 0);
    const asc_onnx_attr *p_attr = asc_onnx_attr_find(c, "p"); /* a float in opset 1 */
    double p = p_attr == NULL ? 2 : p_attr->type == ASC_ONNX_ATTR_FLOAT ? p_attr->f : (double)p_attr->i;
    double count = 1;
    if (!pool_window(c, &win)) return c->st;
    if (!(p >= 1)) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "p is %g", p);
    for (int i = 0; i < s.rank - 2; i++) {
        count *= (double)win.kernel[i];
        int64_t reach = (win.kernel[i] - 1) * win.dilation[i] + 1;
        int64_t room = s.dims[2 + i] + win.before[i] + win.after[i] - reach;
        int64_t step = win.stride[i], past = (room % step + step) % step,
                over = win.ceil && past != 0 ? step - past : 0;
        /* a window that would hang over must start in the input or in the padding before it */
        if (over > 0 && room + over < s.dims[2 + i] + win.before[i]) win.after[i] += over;
    }
    win.ceil = false;
    asc_tensor *x = asc_onnx_t(c, 0);
    asc_tensor *each = p == 2 ? asc_square(ctx, x) : asc_pow(ctx, asc_abs(ctx, x), asc_onnx_const(c, p));
    asc_tensor *sum = asc_scale(ctx, asc_avg_pool(ctx, each, &win, true), count);
    return asc_onnx_set_like(c, 0, p == 2 ? asc_sqrt(ctx, sum) : asc_pow(ctx, sum, asc_onnx_const(c, 1 / p)));
}

/* All axes from 2 on; false when there are none. */
static bool spatial_axes(asc_onnx_call *c, int axes[ASC_MAX_RANK], int *n) {
    int rank = asc_onnx_shape(c, 0).rank;
    *n = 0;
    for (int i = 2; i < rank; i++) axes[(*n)++] = i;
    if (*n == 0) asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an input of %d dimensions", rank);
    return c->st == ASC_OK;
}

asc_status asc_onnx_GlobalAveragePool(asc_onnx_call *c) {
    int axes[ASC_MAX_RANK], n;
    if (!spatial_axes(c, axes, &n)) return c->st;
    return asc_onnx_set_like(c, 0, asc_mean(c->ctx, asc_onnx_t(c, 0), n, axes, true));
}
asc_status asc_onnx_GlobalMaxPool(asc_onnx_call *c) {
    int axes[ASC_MAX_RANK], n;
    if (!spatial_axes(c, axes, &n)) return c->st;
    return asc_onnx_set_like(c, 0, asc_onnx_max_over(c, asc_onnx_t(c, 0), n, axes, true));
}
asc_status asc_onnx_GlobalLpPool(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    int axes[ASC_MAX_RANK], n;
    const asc_onnx_attr *p_attr = asc_onnx_attr_find(c, "p");
    double p = p_attr == NULL ? 2 : p_attr->type == ASC_ONNX_ATTR_FLOAT ? p_attr->f : (double)p_attr->i;
    if (!(p >= 1)) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "p is %g", p);
    if (!spatial_axes(c, axes, &n)) return c->st;
    asc_tensor *x = asc_abs(ctx, asc_onnx_t(c, 0));
    asc_tensor *sum = asc_sum(ctx, asc_pow(ctx, x, asc_onnx_const(c, p)), n, axes, true);
    return asc_onnx_set_like(c, 0, asc_pow(ctx, sum, asc_onnx_const(c, 1 / p)));
}

/* Values put where a max pool found them, zeros elsewhere. Indices count in the tensor that the window gives;
 * a larger output_shape is filled up with zeros behind it. */
asc_status asc_onnx_MaxUnpool(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_window win;
    asc_shape s = asc_onnx_shape(c, 0), at = asc_onnx_shape(c, 1);
    int64_t size[ASC_MAX_SPATIAL] = {0}, wanted[ASC_MAX_RANK], plane = 1;
    if (!pool_window(c, &win)) return c->st;
    if (!asc_shape_eq(&s, &at))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "values and indices differ in shape");
    for (int i = 0; i < s.rank - 2; i++) {
        size[i] = (s.dims[2 + i] - 1) * win.stride[i] + win.kernel[i] - win.before[i] - win.after[i];
        if (size[i] < 1)
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "axis %d becomes %lld long", i, (long long)size[i]);
        plane *= size[i];
    }
    asc_tensor *local = asc_mod(ctx, asc_onnx_t(c, 1), asc_onnx_const(c, (double)plane), false);
    asc_tensor *y = asc_pool_put(ctx, asc_onnx_t(c, 0), asc_onnx_i32(c, local), size);
    int n = asc_onnx_has(c, 2) ? asc_onnx_ints(c, 2, wanted, ASC_MAX_RANK) : 0;
    if (n != 0 && n != s.rank)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "output_shape has %d numbers for %d dimensions", n,
                             s.rank);
    for (int i = 2; i < n; i++) {
        if (wanted[i] < size[i - 2] || wanted[i] > ASC_ONNX_MAX_ELEMS)
            return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "output_shape %lld where the window gives %lld",
                                 (long long)wanted[i], (long long)size[i - 2]);
        if (wanted[i] > size[i - 2]) y = asc_pad(ctx, y, i, 0, wanted[i] - size[i - 2]);
    }
    return asc_onnx_set_like(c, 0, y);
}
