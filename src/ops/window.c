/* window.c - see window.h: sizes, checks and walks of windows. */
#include "ops.h"
#include <string.h>

enum { N = ASC_MAX_SPATIAL };
/* Limits that keep every product of sizes in an int64_t; no model comes near them. */
static const int64_t MAX_ATTR = (int64_t)1 << 30, MAX_SIZE = (int64_t)1 << 40;

int asc_spatial_rank(const asc_tensor *t) {
    const int n = t->shape.rank - 2;
    return n < 0 ? 0 : n > N ? N : n;
}

asc_attrs asc_window_attrs(const asc_window *win, int n, bool kernel) {
    asc_attrs a = {.i = {0}};
    for (int d = 0; d < n; d++) {
        if (kernel) a.i[ASC_WIN_KERNEL + d] = win->kernel[d];
        a.i[ASC_WIN_STRIDE + d] = win->stride[d] != 0 ? win->stride[d] : 1;
        a.i[ASC_WIN_DILATION + d] = win->dilation[d] != 0 ? win->dilation[d] : 1;
        a.i[ASC_WIN_BEFORE + d] = win->before[d];
        a.i[ASC_WIN_AFTER + d] = win->after[d];
    }
    return a;
}

asc_window asc_window_of(const asc_attrs *attrs) {
    asc_window w = {.ceil = false};
    memcpy(w.kernel, attrs->i + ASC_WIN_KERNEL, sizeof w.kernel);
    memcpy(w.stride, attrs->i + ASC_WIN_STRIDE, sizeof w.stride);
    memcpy(w.dilation, attrs->i + ASC_WIN_DILATION, sizeof w.dilation);
    memcpy(w.before, attrs->i + ASC_WIN_BEFORE, sizeof w.before);
    memcpy(w.after, attrs->i + ASC_WIN_AFTER, sizeof w.after);
    return w;
}

void asc_window_set_size(asc_attrs *attrs, int n, const int64_t *size) {
    for (int d = 0; d < n; d++) attrs->i[ASC_WIN_SIZE + d] = size[d];
}

const int64_t *asc_spatial_of(const int64_t sizes[N], int n) { return sizes + N - n; }

/* How many windows there are; 0 or less: none fits. With ceil the last one (also when it is the only one) may
 * hang over, by less than a stride, but must start in the input or in the padding before it. */
static int64_t positions(const asc_geometry *g, int d, bool ceil) {
    const int64_t reach = (g->kernel[d] - 1) * g->dilation[d] + 1,
                  room = g->in[d] + g->before[d] + g->after[d] - reach, s = g->stride[d];
    if (room < 0) return ceil && room + s > 0;
    int64_t out = (room + (ceil ? s - 1 : 0)) / s + 1;
    if (ceil && out > 1 && (out - 1) * s >= g->in[d] + g->before[d]) out--;
    return out;
}

void asc_geometry_of(const asc_attrs *attrs, int n, const int64_t *in, const int64_t *kernel, bool ceil,
                     asc_geometry *out) {
    for (int d = 0; d < N; d++) {
        const int k = d - (N - n);
        const bool there = k >= 0;
        out->in[d] = there ? in[k] : 1;
        out->kernel[d] = there ? kernel[k] : 1;
        out->stride[d] = there ? attrs->i[ASC_WIN_STRIDE + k] : 1;
        out->dilation[d] = there ? attrs->i[ASC_WIN_DILATION + k] : 1;
        out->before[d] = there ? attrs->i[ASC_WIN_BEFORE + k] : 0;
        out->after[d] = there ? attrs->i[ASC_WIN_AFTER + k] : 0;
        out->out[d] = positions(out, d, ceil);
    }
}

static bool named(const asc_call *c, int slot) {
    for (int k = 0; k < c->op->n_attrs; k++)
        if (c->op->attrs[k].slot == slot) return true;
    return false;
}

static asc_status check_axis(asc_ctx *ctx, const asc_call *c, int d, int64_t in, int64_t kernel) {
    const int64_t *i = c->attrs->i;
    const int64_t stride = i[ASC_WIN_STRIDE + d], dilation = i[ASC_WIN_DILATION + d],
                  before = i[ASC_WIN_BEFORE + d], after = i[ASC_WIN_AFTER + d];
    if (kernel < 1 || kernel > MAX_ATTR)
        return asc_infer_fail(ctx, c, "spatial axis %d: no kernel of size %lld", d, (long long)kernel);
    if (stride < 1 || stride > MAX_ATTR)
        return asc_infer_fail(ctx, c, "spatial axis %d: no stride of %lld", d, (long long)stride);
    if (dilation < 1 || dilation > MAX_ATTR)
        return asc_infer_fail(ctx, c, "spatial axis %d: no dilation of %lld", d, (long long)dilation);
    if (before < -MAX_ATTR || before > MAX_ATTR || after < -MAX_ATTR || after > MAX_ATTR)
        return asc_infer_fail(ctx, c, "spatial axis %d: cannot pad by %lld and %lld", d, (long long)before,
                              (long long)after);
    if (in < 0 || in > MAX_SIZE)
        return asc_infer_fail(ctx, c, "spatial axis %d: no input of size %lld", d, (long long)in);
    return ASC_OK;
}

asc_status asc_geometry_infer(asc_ctx *ctx, const asc_call *c, int n, const int64_t *in,
                              const int64_t *kernel, bool ceil, asc_geometry *out) {
    static const int slots[] = {ASC_WIN_KERNEL, ASC_WIN_STRIDE, ASC_WIN_DILATION,
                                ASC_WIN_BEFORE, ASC_WIN_AFTER,  ASC_WIN_SIZE};
    for (int d = 0; d < n; d++) {
        asc_status st = check_axis(ctx, c, d, in[d], kernel[d]);
        if (st != ASC_OK) return st;
    }
    for (size_t k = 0; k < sizeof slots / sizeof slots[0]; k++)
        for (int d = n; d < N && named(c, slots[k]); d++)
            if (c->attrs->i[slots[k] + d] != 0)
                return asc_infer_fail(ctx, c, "a number for spatial axis %d, which is not there", d);
    asc_geometry_of(c->attrs, n, in, kernel, ceil, out);
    for (int d = 0; d < N; d++)
        if (out->out[d] < 1)
            return asc_infer_fail(
                ctx, c,
                "spatial axis %d: a window of %lld, dilated by %lld, does not fit into %lld with %lld + %lld",
                d - (N - n), (long long)out->kernel[d], (long long)out->dilation[d], (long long)out->in[d],
                (long long)out->before[d], (long long)out->after[d]);
    return ASC_OK;
}

asc_status asc_infer_need_planes(asc_ctx *ctx, const asc_call *c, int k) {
    asc_status st = asc_infer_need_f32(ctx, c, k);
    if (st != ASC_OK) return st;
    const int n = c->in_shape[k].rank - 2;
    if (n < 1 || n > N) return asc_infer_fail(ctx, c, "input %d must have 1 to %d spatial axes", k, (int)N);
    return ASC_OK;
}

void asc_infer_planes(asc_call *c, int64_t batch, int64_t channels, int n, const int64_t *sizes) {
    c->dtype = ASC_DTYPE_F32;
    c->shape = (asc_shape){.rank = n + 2, .dims = {batch, channels}};
    for (int d = 0; d < n; d++) c->shape.dims[2 + d] = sizes[d];
}

asc_planes asc_planes_of(const asc_nd *a) {
    asc_planes p = {.data = a->data,
                    .batch = a->dims[0],
                    .channels = a->dims[1],
                    .b_stride = a->strides[0],
                    .c_stride = a->strides[1]};
    for (int d = 0; d < N; d++) {
        const int k = d - (N - (a->rank - 2));
        p.size[d] = k >= 0 ? a->dims[2 + k] : 1;
        p.stride[d] = k >= 0 ? a->strides[2 + k] : 0;
    }
    return p;
}

static void swap_last(int64_t v[N]) {
    const int64_t last = v[N - 1];
    v[N - 1] = v[N - 2];
    v[N - 2] = last;
}

void asc_planes_turn(asc_geometry *g, asc_planes *in, asc_planes *out, asc_planes *kernel) {
    int64_t *const of_geo[] = {g->in, g->out, g->kernel, g->stride, g->dilation, g->before, g->after};
    asc_planes *const p[] = {in, out, kernel};
    if (g->in[N - 1] != 1 || g->out[N - 1] != 1 || g->kernel[N - 1] != 1) return;
    for (size_t k = 0; k < sizeof of_geo / sizeof of_geo[0]; k++) swap_last(of_geo[k]);
    for (size_t k = 0; k < sizeof p / sizeof p[0]; k++) {
        swap_last(p[k]->size);
        swap_last(p[k]->stride);
    }
}

void asc_planes_join_rows(asc_geometry *g, asc_planes *in, asc_planes *out) {
    for (int d = 1; d < N; d++)
        if (g->kernel[d] != 1 || g->stride[d] != 1 || g->before[d] != 0 || g->after[d] != 0) return;
    if (in->stride[1] != in->size[2] * in->stride[2] || out->stride[1] != out->size[2] * out->stride[2])
        return;
    g->in[2] = g->out[2] = in->size[2] = out->size[2] = g->in[1] * g->in[2];
    g->in[1] = g->out[1] = in->size[1] = out->size[1] = 1;
}

void asc_conv_sizes_of(const asc_call *c, asc_conv_sizes *out) {
    const int op = c->op->opcode, n = c->in_shape[0].rank - 2;
    const asc_shape *x = op == ASC_OPCODE_CONV_GRAD_INPUT ? &c->shape : &c->in_shape[0],
                    *w = op == ASC_OPCODE_CONV_GRAD_WEIGHT ? &c->shape : &c->in_shape[1];
    *out = (asc_conv_sizes){.batch = x->dims[0], .groups = c->attrs->i[ASC_WIN_GROUPS]};
    out->c = w->dims[1];
    out->m = w->dims[0] / out->groups;
    asc_geometry_of(c->attrs, n, x->dims + 2, w->dims + 2, false, &out->geo);
}

double asc_conv_flops(const asc_conv_sizes *s) {
    double f = 2 * (double)s->batch * (double)s->groups * (double)s->c * (double)s->m;
    for (int d = 0; d < N; d++) f *= (double)s->geo.kernel[d] * (double)s->geo.out[d];
    return f;
}

void asc_cost_conv(const asc_call *c, asc_cost *out) {
    asc_conv_sizes s;
    asc_conv_sizes_of(c, &s);
    asc_cost_move(c, out);
    out->flops = asc_conv_flops(&s);
}

asc_tensor *asc_sum_planes(asc_ctx *ctx, asc_tensor *g) {
    const int axes[] = {0, 2, 3, 4};
    const int n = asc_spatial_rank(g);
    return asc_sum(ctx, g, 1 + n, axes, false);
}

/* Overlap, gaps between windows, rows that no window sees, uneven padding, cropping, groups, one channel, one
 * position, a batch, 1 to 3 axes, kernels of one tap, a last axis of 1. */
bool asc_conv_case_at(int i, asc_conv_case *out) {
    static const struct {
        asc_shape x, w;
        int64_t groups;
        asc_window win;
        bool bias;
    } cases[] = {
        {{4, {1, 1, 4, 5}}, {4, {1, 1, 2, 3}}, 1, {.before = {0}}, false},
        {{4, {2, 3, 5, 4}}, {4, {4, 3, 3, 3}}, 1, {.before = {1, 1}, .after = {1, 1}}, true},
        {{4, {1, 2, 7, 6}},
         {4, {3, 2, 3, 2}},
         1,
         {.stride = {2, 3}, .before = {1, 0}, .after = {0, 2}},
         true},
        {{4, {2, 4, 5, 5}},
         {4, {6, 2, 2, 2}},
         2,
         {.dilation = {2, 3}, .before = {1, 2}, .after = {1, 1}},
         true},
        {{4, {1, 3, 6, 5}},
         {4, {3, 1, 3, 3}},
         3,
         {.stride = {2, 1}, .before = {1, 1}, .after = {1, 1}},
         true},
        {{4, {1, 2, 5, 5}}, {4, {4, 1, 1, 2}}, 2, {.stride = {3, 2}}, false},
        {{3, {2, 3, 9}},
         {3, {2, 3, 4}},
         1,
         {.stride = {2}, .dilation = {2}, .before = {3}, .after = {1}},
         true},
        {{3, {1, 1, 1}}, {3, {1, 1, 1}}, 1, {.before = {0}}, true},
        {{3, {1, 2, 6}}, {3, {2, 2, 2}}, 1, {.before = {-1}, .after = {-2}}, false},
        {{5, {1, 2, 3, 4, 3}}, {5, {2, 2, 2, 2, 2}}, 1, {.stride = {1, 2, 1}, .before = {0, 1, 1}}, true},
        {{5, {2, 2, 2, 3, 5}}, {5, {2, 1, 1, 3, 2}}, 2, {.stride = {1, 1, 2}, .after = {0, 1, 0}}, false},
        {{4, {1, 2, 1, 1}}, {4, {2, 2, 3, 3}}, 1, {.before = {1, 2}, .after = {1, 3}}, true},
        {{4, {2, 3, 3, 5}}, {4, {5, 3, 1, 1}}, 1, {.before = {0}}, true},
        {{4, {1, 4, 9, 1}},
         {4, {6, 2, 3, 1}},
         2,
         {.stride = {2}, .dilation = {2}, .before = {1}, .after = {2}},
         true},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    const int n = cases[i].x.rank - 2;
    asc_geometry g;
    *out = (asc_conv_case){.x = cases[i].x, .w = cases[i].w, .bias = cases[i].bias, .y = cases[i].x};
    out->attrs = asc_window_attrs(&cases[i].win, n, false);
    out->attrs.i[ASC_WIN_GROUPS] = cases[i].groups;
    asc_geometry_of(&out->attrs, n, out->x.dims + 2, out->w.dims + 2, false, &g);
    out->y.dims[1] = out->w.dims[0];
    memcpy(out->y.dims + 2, asc_spatial_of(g.out, n), (size_t)n * sizeof(int64_t));
    return true;
}
