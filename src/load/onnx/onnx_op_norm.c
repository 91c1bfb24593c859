/* onnx_op_norm.c - normalisations. Those with fixed statistics are a multiplication and an addition a
 * channel; the others are written with means, so that the gradient goes through the statistics. */
#include "onnx_parts.h"

/* One number a channel, laid along axis 1. */
static asc_tensor *per_channel(asc_onnx_call *c, asc_tensor *t) {
    return asc_onnx_along(c, t, 1, asc_onnx_shape(c, 0).rank);
}

static asc_tensor *rstd(asc_onnx_call *c, asc_tensor *var, double eps) {
    return asc_rsqrt(c->ctx, asc_shift(c->ctx, var, eps));
}

/* Statistics of this batch, and the running ones moved towards them. */
static asc_status batch_norm_training(asc_onnx_call *c, double eps) {
    asc_ctx *ctx = c->ctx;
    asc_tensor *x = asc_onnx_t(c, 0);
    double keep = asc_onnx_attr_float(c, "momentum", (double)0.9F);
    int axes[ASC_MAX_RANK], n = 0;
    for (int i = 0; i < asc_onnx_shape(c, 0).rank; i++) {
        if (i != 1) axes[n++] = i;
    }
    asc_tensor *mean = asc_mean(ctx, x, n, axes, true), *off = asc_sub(ctx, x, mean);
    asc_tensor *var = asc_mean(ctx, asc_square(ctx, off), n, axes, true);
    asc_tensor *y = asc_mul(ctx, off, asc_mul(ctx, rstd(c, var, eps), per_channel(c, asc_onnx_t(c, 1))));
    asc_onnx_set_like(c, 0, asc_add(ctx, y, per_channel(c, asc_onnx_t(c, 2))));
    for (size_t i = 1; i < 3; i++) {
        asc_tensor *now = asc_reshape(ctx, i == 1 ? mean : var, asc_onnx_shape(c, 3));
        now = asc_add(ctx, asc_scale(ctx, asc_onnx_t(c, i + 2), keep), asc_scale(ctx, now, 1 - keep));
        asc_onnx_set(c, i, now, asc_onnx_elem(c, i + 2));
    }
    return c->st;
}

asc_status asc_onnx_BatchNormalization(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0);
    double eps = asc_onnx_attr_float(c, "epsilon", (double)1e-5F);
    if (s.rank < 2) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an input of %d dimensions", s.rank);
    for (size_t i = 1; i < 5; i++) {
        asc_shape p = asc_onnx_shape(c, i);
        if (c->st != ASC_OK) return c->st;
        if (asc_shape_elems(&p) != s.dims[1] && asc_onnx_attr_int(c, "spatial", 1) != 0)
            return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "input %zu has %lld elements for %lld channels", i,
                                 (long long)asc_shape_elems(&p), (long long)s.dims[1]);
    }
    if (asc_onnx_attr_int(c, "training_mode", 0) != 0) return batch_norm_training(c, eps);
    asc_tensor *scale = asc_mul(ctx, asc_onnx_t(c, 1), rstd(c, asc_onnx_t(c, 4), eps));
    asc_tensor *add = asc_sub(ctx, asc_onnx_t(c, 2), asc_mul(ctx, asc_onnx_t(c, 3), scale));
    if (asc_onnx_attr_int(c, "spatial", 1) != 0) {
        scale = per_channel(c, scale);
        add = per_channel(c, add);
    }
    return asc_onnx_set_like(c, 0, asc_add(ctx, asc_mul(ctx, asc_onnx_t(c, 0), scale), add));
}

/* x [A, B] with each row brought to mean 0 and variance 1. */
static asc_tensor *standard_rows(asc_onnx_call *c, asc_tensor *x, double eps) {
    const int last = -1;
    asc_tensor *off = asc_sub(c->ctx, x, asc_mean(c->ctx, x, 1, &last, true));
    asc_tensor *var = asc_mean(c->ctx, asc_square(c->ctx, off), 1, &last, true);
    return asc_mul(c->ctx, off, rstd(c, var, eps));
}

asc_status asc_onnx_InstanceNormalization(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0);
    double eps = asc_onnx_attr_float(c, "epsilon", (double)1e-5F);
    if (s.rank < 3) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an input of %d dimensions", s.rank);
    asc_shape rows = ASC_SHAPE(s.dims[0] * s.dims[1], asc_onnx_span(&s, 2, s.rank));
    asc_tensor *y = standard_rows(c, asc_reshape(c->ctx, asc_onnx_t(c, 0), rows), eps);
    y = asc_mul(c->ctx, asc_reshape(c->ctx, y, s), per_channel(c, asc_onnx_t(c, 1)));
    return asc_onnx_set_like(c, 0, asc_add(c->ctx, y, per_channel(c, asc_onnx_t(c, 2))));
}

/* Scale and bias are one number a group in opset 18, one a channel from 21 on. */
asc_status asc_onnx_GroupNormalization(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0), p = asc_onnx_shape(c, 1);
    double eps = asc_onnx_attr_float(c, "epsilon", (double)1e-5F);
    int64_t groups = asc_onnx_attr_int(c, "num_groups", 0);
    if (s.rank < 2 || groups < 1 || s.dims[1] % groups != 0)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%lld groups of %lld channels", (long long)groups,
                             s.rank < 2 ? 0LL : (long long)s.dims[1]);
    asc_shape rows = ASC_SHAPE(s.dims[0] * groups, asc_onnx_span(&s, 1, s.rank) / groups);
    asc_tensor *y = standard_rows(c, asc_reshape(ctx, asc_onnx_t(c, 0), rows), eps);
    bool by_group = c->opset < 21 && asc_shape_elems(&p) == groups;
    asc_shape work = by_group ? ASC_SHAPE(s.dims[0], groups, rows.dims[1]) : s;
    y = asc_mul(ctx, asc_reshape(ctx, y, work), asc_onnx_along(c, asc_onnx_t(c, 1), 1, work.rank));
    y = asc_add(ctx, y, asc_onnx_along(c, asc_onnx_t(c, 2), 1, work.rank));
    return asc_onnx_set_like(c, 0, by_group ? asc_reshape(ctx, y, s) : y);
}

/* A parameter that broadcasts to the normalised axes, as [B]. */
static asc_tensor *flat_param(asc_onnx_call *c, asc_tensor *t, const asc_shape *s, int axis) {
    asc_shape part = {.rank = s->rank - axis};
    for (int i = axis; i < s->rank; i++) part.dims[i - axis] = s->dims[i];
    if (asc_tensor_poisoned(t)) return t;
    if (!asc_shape_eq(&t->shape, &part)) t = asc_broadcast(c->ctx, t, part);
    return asc_reshape(c->ctx, t, ASC_SHAPE(asc_onnx_span(s, axis, s->rank)));
}

asc_status asc_onnx_LayerNormalization(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    const int last = -1;
    asc_shape s = asc_onnx_shape(c, 0), stats = s;
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", -1), s.rank);
    double eps = asc_onnx_attr_float(c, "epsilon", (double)1e-5F);
    if (c->st != ASC_OK) return c->st;
    asc_shape rows = ASC_SHAPE(asc_onnx_span(&s, 0, axis), asc_onnx_span(&s, axis, s.rank));
    asc_tensor *x = asc_reshape(ctx, asc_onnx_t(c, 0), rows);
    asc_tensor *w = flat_param(c, asc_onnx_t(c, 1), &s, axis);
    asc_tensor *b = asc_onnx_has(c, 2) ? flat_param(c, asc_onnx_t(c, 2), &s, axis)
                                       : asc_full(ctx, ASC_SHAPE(rows.dims[1]), 0.0);
    asc_onnx_set_like(c, 0, asc_reshape(ctx, asc_layer_norm(ctx, x, w, b, eps), s));
    for (int i = axis; i < s.rank; i++) stats.dims[i] = 1;
    if (asc_onnx_wants(c, 1) || asc_onnx_wants(c, 2)) {
        asc_tensor *mean = asc_mean(ctx, x, 1, &last, true);
        asc_tensor *var = asc_mean(ctx, asc_square(ctx, asc_sub(ctx, x, mean)), 1, &last, true);
        asc_onnx_set(c, 1, asc_reshape(ctx, mean, stats), ASC_ONNX_FLOAT);
        asc_onnx_set(c, 2, asc_reshape(ctx, rstd(c, var, eps), stats), ASC_ONNX_FLOAT);
    }
    return c->st;
}

/* (x - mean) / (standard deviation + 1e-9), over axes 0, 2, 3 unless said otherwise. */
asc_status asc_onnx_MeanVarianceNormalization(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_tensor *x = asc_onnx_t(c, 0);
    int rank = asc_onnx_shape(c, 0).rank, axes[ASC_MAX_RANK];
    int n = asc_onnx_axes(c, 99, 0, rank, axes);
    for (int i = n < 0 ? 0 : rank; i < rank; i++) {
        if (i == 0) n = 0;
        if (i != 1) axes[n++] = i;
    }
    if (c->st != ASC_OK) return c->st;
    asc_tensor *off = asc_sub(ctx, x, asc_mean(ctx, x, n, axes, true));
    asc_tensor *std = asc_sqrt(ctx, asc_mean(ctx, asc_square(ctx, off), n, axes, true));
    return asc_onnx_set_like(c, 0, asc_div(ctx, off, asc_shift(ctx, std, 1e-9)));
}

asc_status asc_onnx_LpNormalization(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", -1), asc_onnx_shape(c, 0).rank);
    int64_t p = asc_onnx_attr_int(c, "p", 2);
    if (p != 1 && p != 2) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "p is %lld", (long long)p);
    if (c->st != ASC_OK) return c->st;
    asc_tensor *x = asc_onnx_t(c, 0);
    asc_tensor *each = p == 1 ? asc_abs(ctx, x) : asc_square(ctx, x);
    asc_tensor *norm = asc_sum(ctx, each, 1, &axis, true), *zero = asc_onnx_const(c, 0);
    norm = asc_where(ctx, asc_equal(ctx, norm, zero), asc_onnx_const(c, 1), norm); /* zeros stay zeros */
    return asc_onnx_set_like(c, 0, asc_div(ctx, x, p == 1 ? norm : asc_sqrt(ctx, norm)));
}

/* x / (bias + alpha mean)^beta, the mean of squares over `size` channels around each (zeros outside). */
asc_status asc_onnx_LRN(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0);
    int64_t size = asc_onnx_attr_int(c, "size", 0);
    double alpha = asc_onnx_attr_float(c, "alpha", (double)1e-4F),
           beta = asc_onnx_attr_float(c, "beta", 0.75);
    double bias = asc_onnx_attr_float(c, "bias", 1.0);
    if (s.rank < 2 || size < 1 || size > 1 << 16)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "size %lld over %d dimensions", (long long)size,
                             s.rank);
    asc_tensor *x = asc_onnx_t(c, 0);
    asc_shape planes = ASC_SHAPE(s.dims[0], 1, s.dims[1], asc_onnx_span(&s, 2, s.rank));
    asc_window win = {.kernel = {size, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    win.before[0] = (size - 1) / 2;
    win.after[0] = size - 1 - win.before[0];
    asc_tensor *mean = asc_avg_pool(ctx, asc_reshape(ctx, asc_square(ctx, x), planes), &win, true);
    asc_tensor *base = asc_shift(ctx, asc_scale(ctx, asc_reshape(ctx, mean, s), alpha), bias);
    return asc_onnx_set_like(c, 0, asc_mul(ctx, x, asc_pow(ctx, base, asc_onnx_const(c, -beta))));
}
