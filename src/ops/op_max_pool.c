/* op_max_pool.c - y[b,c,o] = largest x under the window at o; padding counts as -infinity, and a window that
 * lies in padding altogether gives that. A NaN wins. Gradient: to the first of equals in row-major order of
 * the window, through max_pool_index: pool_put backwards, pool_take forwards. */
#include "pool.h"

asc_tensor *asc_max_pool(asc_ctx *ctx, asc_tensor *x, const asc_window *win) {
    const asc_attrs attrs = asc_pool_attrs(x, win);
    return asc_apply(ctx, &asc_op_max_pool, &attrs, &x, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) { return asc_infer_pool(ctx, c); }

static double largest(const asc_pool_at *p, const double *plane) {
    const int64_t at = asc_pool_find_largest(p, plane);
    return at < 0 ? -INFINITY : *asc_pool_element(p, plane, at);
}

static void ref(const asc_ref_args *a) { asc_ref_pool(a, largest); }

static asc_tensor *index_of(asc_ctx *ctx, asc_tensor *x, const asc_attrs *attrs) {
    return asc_apply(ctx, &asc_op_max_pool_index, attrs, &x, 1);
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0])
        a->gin[0] =
            asc_pool_put(a->ctx, a->g, index_of(a->ctx, a->in[0], a->attrs), a->in[0]->shape.dims + 2);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_pool_take(a->ctx, a->tin[0], index_of(a->ctx, a->in[0], a->attrs));
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    return asc_pool_take(ctx, in[0], index_of(ctx, in[0], attrs));
}

static bool sample(int i, asc_sample *out) { return asc_sample_pool(i, 1e-3, out); }

const asc_op asc_op_max_pool = {
    ASC_OP_FIELDS(MAX_POOL, max_pool, 1, 1),
    .attrs = asc_pool_attr_defs,
    .n_attrs = ASC_MAX_POOL_N_ATTRS,
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_pool,
    .doc = "Largest value under each window; padding is -infinity; the gradient of equals goes to the first.",
    .formula = "y[b,c,o] = max_t x[b,c,o stride + t dilation - before]",
};
