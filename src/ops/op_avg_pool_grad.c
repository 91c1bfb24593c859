/* op_avg_pool_grad.c - the transpose of avg_pool: y [B,C,size] is the sum over the windows that an element
 * lies under of g[b,c,o] divided by the number that avg_pool divides by. Gradient: avg_pool. */
#include "pool.h"
#include <string.h>

asc_tensor *asc_avg_pool_grad(asc_ctx *ctx, asc_tensor *g, const asc_window *win, bool include_pad,
                              const int64_t *size) {
    asc_attrs attrs = asc_pool_attrs(g, win);
    attrs.i[ASC_WIN_INCLUDE_PAD] = include_pad;
    asc_window_set_size(&attrs, asc_spatial_rank(g), size);
    return asc_apply(ctx, &asc_op_avg_pool_grad, &attrs, &g, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    const asc_shape *g = &c->in_shape[0];
    const int64_t *size = c->attrs->i + ASC_WIN_SIZE;
    const int n = g->rank - 2;
    asc_geometry geo;
    asc_status st = asc_infer_need_planes(ctx, c, 0);
    if (st != ASC_OK) return st;
    st = asc_geometry_infer(ctx, c, n, size, c->attrs->i + ASC_WIN_KERNEL, c->attrs->i[ASC_WIN_CEIL] != 0,
                            &geo);
    if (st != ASC_OK) return st;
    for (int d = 0; d < n; d++)
        if (asc_spatial_of(geo.out, n)[d] != g->dims[2 + d])
            return asc_infer_fail(ctx, c, "spatial axis %d: a pool of size %lld gives %lld, g has %lld", d,
                                  (long long)size[d], (long long)asc_spatial_of(geo.out, n)[d],
                                  (long long)g->dims[2 + d]);
    asc_infer_planes(c, g->dims[0], g->dims[1], n, size);
    return ASC_OK;
}

static void spread(const asc_pool_at *p, double *plane, double v) {
    const asc_geometry *g = p->geo;
    for (int64_t k0 = 0; k0 < p->n[0]; k0++)
        for (int64_t k1 = 0; k1 < p->n[1]; k1++)
            for (int64_t k2 = 0; k2 < p->n[2]; k2++)
                plane[(p->first[0] + k0 * g->dilation[0]) * p->stride[0] +
                      (p->first[1] + k1 * g->dilation[1]) * p->stride[1] +
                      (p->first[2] + k2 * g->dilation[2]) * p->stride[2]] += v;
}

static void ref(const asc_ref_args *a) {
    const asc_planes g = asc_planes_of(&a->in[0]), y = asc_planes_of(&a->out);
    const bool include_pad = a->attrs->i[ASC_WIN_INCLUDE_PAD] != 0;
    asc_geometry geo;
    if (asc_nd_elems(&a->out) == 0) return;
    asc_nd_fill(&a->out, 0);
    asc_pool_geometry_of(a->attrs, a->out.rank - 2, a->out.dims + 2, &geo);
    const int64_t n_out = geo.out[0] * geo.out[1] * geo.out[2];
#pragma omp parallel for num_threads(a->n_threads) schedule(static) if (asc_nd_elems(&a->out) > 5000)
    for (int64_t job = 0; job < y.batch * y.channels; job++) {
        const int64_t b = job / y.channels, c = job % y.channels;
        asc_pool_at p = {.geo = &geo};
        memcpy(p.stride, y.stride, sizeof p.stride);
        for (int64_t i = 0; i < n_out; i++) {
            const int64_t o[ASC_MAX_SPATIAL] = {i / (geo.out[1] * geo.out[2]), i / geo.out[2] % geo.out[1],
                                                i % geo.out[2]};
            asc_pool_place(&p, o);
            const double n = include_pad ? p.count : (double)p.n[0] * (double)p.n[1] * (double)p.n[2];
            if (n > 0)
                spread(&p, y.data + b * y.b_stride + c * y.c_stride,
                       g.data[b * g.b_stride + c * g.c_stride + o[0] * g.stride[0] + o[1] * g.stride[1] +
                              o[2] * g.stride[2]] /
                           n);
        }
    }
}

static void vjp(asc_vjp_args *a) {
    if (!a->need[0]) return;
    asc_attrs attrs = *a->attrs;
    asc_window_set_size(&attrs, ASC_MAX_SPATIAL, (const int64_t[ASC_MAX_SPATIAL]){0});
    a->gin[0] = asc_apply(a->ctx, &asc_op_avg_pool, &attrs, &a->g, 1);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_apply(a->ctx, &asc_op_avg_pool_grad, a->attrs, &a->tin[0], 1);
}

static bool sample(int i, asc_sample *out) {
    asc_geometry geo;
    if (!asc_sample_pool(i / 2, 0, out)) return false;
    asc_shape *s = &out->in_shape[0];
    const int n = s->rank - 2;
    out->attrs.i[ASC_WIN_INCLUDE_PAD] = i % 2;
    asc_window_set_size(&out->attrs, n, s->dims + 2);
    asc_pool_geometry_of(&out->attrs, n, s->dims + 2, &geo);
    memcpy(s->dims + 2, asc_spatial_of(geo.out, n), (size_t)n * sizeof(int64_t));
    return true;
}

const asc_op asc_op_avg_pool_grad = {
    ASC_OP_FIELDS(AVG_POOL_GRAD, avg_pool_grad, 1, 1),
    .attrs = asc_pool_attr_defs,
    .n_attrs = ASC_AVG_POOL_GRAD_N_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_pool,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Gradient of avg_pool: each value spread over the elements under its window.",
    .formula = "y[b,c,i] = sum_{o whose window holds i} g[b,c,o] / n(o)",
};
