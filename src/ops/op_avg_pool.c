/* op_avg_pool.c - y[b,c,o] = mean of x under the window at o. With include_pad the zeros of the padding count
 * as elements, but what a last window has behind the padded end (ceil) does not; without, only elements of x
 * count. A window without any gives 0. Linear; its transpose is avg_pool_grad. */
#include "pool.h"

asc_tensor *asc_avg_pool(asc_ctx *ctx, asc_tensor *x, const asc_window *win, bool include_pad) {
    asc_attrs attrs = asc_pool_attrs(x, win);
    attrs.i[ASC_WIN_INCLUDE_PAD] = include_pad;
    return asc_apply(ctx, &asc_op_avg_pool, &attrs, &x, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) { return asc_infer_pool(ctx, c); }

static double sum(const asc_pool_at *p, const double *plane) {
    const asc_geometry *g = p->geo;
    double s = 0;
    for (int64_t k0 = 0; k0 < p->n[0]; k0++)
        for (int64_t k1 = 0; k1 < p->n[1]; k1++)
            for (int64_t k2 = 0; k2 < p->n[2]; k2++)
                s += plane[(p->first[0] + k0 * g->dilation[0]) * p->stride[0] +
                           (p->first[1] + k1 * g->dilation[1]) * p->stride[1] +
                           (p->first[2] + k2 * g->dilation[2]) * p->stride[2]];
    return s;
}

static double mean_of_padded(const asc_pool_at *p, const double *plane) {
    return p->count > 0 ? sum(p, plane) / p->count : 0;
}

static double mean_of_elements(const asc_pool_at *p, const double *plane) {
    const double n = (double)p->n[0] * (double)p->n[1] * (double)p->n[2];
    return n > 0 ? sum(p, plane) / n : 0;
}

static void ref(const asc_ref_args *a) {
    asc_ref_pool(a, a->attrs->i[ASC_WIN_INCLUDE_PAD] != 0 ? mean_of_padded : mean_of_elements);
}

static asc_tensor *pool_with(asc_ctx *ctx, asc_tensor *x, const asc_attrs *attrs) {
    return asc_apply(ctx, &asc_op_avg_pool, attrs, &x, 1);
}

static void vjp(asc_vjp_args *a) {
    if (!a->need[0]) return;
    asc_attrs attrs = *a->attrs;
    asc_window_set_size(&attrs, asc_spatial_rank(a->in[0]), a->in[0]->shape.dims + 2);
    a->gin[0] = asc_apply(a->ctx, &asc_op_avg_pool_grad, &attrs, &a->g, 1);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : pool_with(a->ctx, a->tin[0], a->attrs);
}

static bool sample(int i, asc_sample *out) {
    if (!asc_sample_pool(i / 2, 0, out)) return false;
    out->attrs.i[ASC_WIN_INCLUDE_PAD] = i % 2;
    return true;
}

const asc_op asc_op_avg_pool = {
    ASC_OP_FIELDS(AVG_POOL, avg_pool, 1, 1),
    .attrs = asc_pool_attr_defs,
    .n_attrs = ASC_AVG_POOL_N_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_pool,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Mean under each window, of the elements alone or of the padding's zeros too.",
    .formula = "y[b,c,o] = mean_t x[b,c,o stride + t dilation - before]",
};
