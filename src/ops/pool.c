/* pool.c - see pool.h. */
#include "pool.h"
#include <string.h>

enum { N = ASC_MAX_SPATIAL };

const asc_attr_def asc_pool_attr_defs[ASC_AVG_POOL_GRAD_N_ATTRS] = {
    {"kernel", ASC_ATTR_AXES, ASC_WIN_KERNEL},
    {"stride", ASC_ATTR_AXES, ASC_WIN_STRIDE},
    {"dilation", ASC_ATTR_AXES, ASC_WIN_DILATION},
    {"before", ASC_ATTR_AXES, ASC_WIN_BEFORE},
    {"after", ASC_ATTR_AXES, ASC_WIN_AFTER},
    {"ceil", ASC_ATTR_BOOL, ASC_WIN_CEIL},
    {"include_pad", ASC_ATTR_BOOL, ASC_WIN_INCLUDE_PAD},
    {"size", ASC_ATTR_AXES, ASC_WIN_SIZE}};

asc_attrs asc_pool_attrs(const asc_tensor *like, const asc_window *win) {
    asc_attrs a = asc_window_attrs(win, asc_spatial_rank(like), true);
    a.i[ASC_WIN_CEIL] = win->ceil;
    return a;
}

void asc_pool_geometry_of(const asc_attrs *attrs, int n, const int64_t *in, asc_geometry *out) {
    asc_geometry_of(attrs, n, in, attrs->i + ASC_WIN_KERNEL, attrs->i[ASC_WIN_CEIL] != 0, out);
}

asc_status asc_infer_pool(asc_ctx *ctx, asc_call *c) {
    const asc_shape *x = &c->in_shape[0];
    const int n = x->rank - 2;
    asc_geometry g;
    asc_status st = asc_infer_need_planes(ctx, c, 0);
    if (st != ASC_OK) return st;
    st = asc_geometry_infer(ctx, c, n, x->dims + 2, c->attrs->i + ASC_WIN_KERNEL,
                            c->attrs->i[ASC_WIN_CEIL] != 0, &g);
    if (st == ASC_OK) asc_infer_planes(c, x->dims[0], x->dims[1], n, asc_spatial_of(g.out, n));
    return st;
}

void asc_cost_pool(const asc_call *c, asc_cost *out) {
    const asc_shape *small = &c->shape;
    if (c->op->opcode == ASC_OPCODE_AVG_POOL_GRAD) small = &c->in_shape[0];
    asc_cost_move(c, out);
    out->flops = (double)asc_shape_elems(small);
    for (int d = 0; d < small->rank - 2; d++) out->flops *= (double)c->attrs->i[ASC_WIN_KERNEL + d];
}

void asc_pool_place(asc_pool_at *p, const int64_t o[N]) {
    const asc_geometry *g = p->geo;
    p->count = 1;
    for (int d = 0; d < N; d++) {
        const int64_t start = o[d] * g->stride[d] - g->before[d], step = g->dilation[d];
        const int64_t skip = start < 0 ? (-start + step - 1) / step : 0;
        int64_t end = start < g->in[d] ? (g->in[d] - start - 1) / step + 1 : 0;
        int64_t counted =
            start < g->in[d] + g->after[d] ? (g->in[d] + g->after[d] - start - 1) / step + 1 : 0;
        if (end > g->kernel[d]) end = g->kernel[d];
        if (counted > g->kernel[d]) counted = g->kernel[d];
        p->first[d] = start + skip * step;
        p->n[d] = end > skip ? end - skip : 0;
        p->count *= (double)counted;
    }
}

int64_t asc_pool_find_largest(const asc_pool_at *p, const double *plane) {
    const asc_geometry *g = p->geo;
    int64_t best = -1;
    double most = 0;
    for (int64_t k0 = 0; k0 < p->n[0]; k0++)
        for (int64_t k1 = 0; k1 < p->n[1]; k1++)
            for (int64_t k2 = 0; k2 < p->n[2]; k2++) {
                const int64_t i0 = p->first[0] + k0 * g->dilation[0], i1 = p->first[1] + k1 * g->dilation[1],
                              i2 = p->first[2] + k2 * g->dilation[2];
                const double v = plane[i0 * p->stride[0] + i1 * p->stride[1] + i2 * p->stride[2]];
                if (best >= 0 && !(v > most || (isnan(v) && !isnan(most)))) continue;
                most = v;
                best = (i0 * g->in[1] + i1) * g->in[2] + i2;
            }
    return best;
}

void asc_ref_pool(const asc_ref_args *a, double (*f)(const asc_pool_at *p, const double *plane)) {
    const asc_planes x = asc_planes_of(&a->in[0]), y = asc_planes_of(&a->out);
    asc_geometry geo;
    asc_pool_geometry_of(a->attrs, a->in[0].rank - 2, a->in[0].dims + 2, &geo);
#pragma omp parallel for num_threads(a->n_threads) schedule(static) if (asc_nd_elems(&a->out) > 5000)
    for (int64_t job = 0; job < x.batch * x.channels; job++) {
        const int64_t b = job / x.channels, c = job % x.channels;
        asc_pool_at p = {.geo = &geo};
        memcpy(p.stride, x.stride, sizeof p.stride);
        int64_t o[N];
        for (o[0] = 0; o[0] < geo.out[0]; o[0]++)
            for (o[1] = 0; o[1] < geo.out[1]; o[1]++)
                for (o[2] = 0; o[2] < geo.out[2]; o[2]++) {
                    asc_pool_place(&p, o);
                    y.data[b * y.b_stride + c * y.c_stride + o[0] * y.stride[0] + o[1] * y.stride[1] +
                           o[2] * y.stride[2]] = f(&p, x.data + b * x.b_stride + c * x.c_stride);
                }
    }
}

/* Overlap, gaps, elements that no window sees, dilation, a last window that hangs over, one element. */
bool asc_sample_pool(int i, double min_gap, asc_sample *out) {
    static const struct {
        asc_shape x;
        asc_window win;
    } cases[] = {
        {{4, {1, 2, 4, 4}}, {.kernel = {2, 2}, .stride = {2, 2}}},
        {{4, {2, 1, 5, 4}}, {.kernel = {3, 3}, .stride = {2, 1}, .before = {1, 1}, .after = {1, 1}}},
        {{4, {1, 2, 5, 6}}, {.kernel = {2, 3}, .stride = {2, 2}, .after = {0, 1}, .ceil = true}},
        {{4, {1, 1, 6, 5}}, {.kernel = {2, 2}, .dilation = {3, 2}, .before = {1, 0}, .after = {0, 1}}},
        {{3, {2, 3, 7}}, {.kernel = {3}, .stride = {3}, .before = {1}, .ceil = true}},
        {{3, {1, 1, 1}}, {.kernel = {1}}},
        {{3, {1, 2, 5}}, {.kernel = {2}, .stride = {4}, .before = {-1}, .after = {2}, .ceil = true}},
        {{5, {1, 2, 3, 2, 4}},
         {.kernel = {2, 1, 3}, .stride = {1, 1, 2}, .before = {1, 0, 1}, .after = {0, 0, 1}}},
        {{4, {1, 1, 5, 5}},
         {.kernel = {3, 3}, .stride = {3, 3}, .before = {1, 1}, .after = {1, 1}, .ceil = true}},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    *out = (asc_sample){.n_in = 1, .in_shape = {cases[i].x}, .lo = {-2}, .hi = {2}, .min_gap = min_gap};
    out->attrs = asc_window_attrs(&cases[i].win, cases[i].x.rank - 2, true);
    out->attrs.i[ASC_WIN_CEIL] = cases[i].win.ceil;
    return true;
}
