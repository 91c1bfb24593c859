/* op_max_pool_index.c - where max_pool found its value: an i32 index into the spatial plane of x in row-major
 * order; the first of equals, the first NaN if there is one, -1 if the window lies in padding altogether.
 * Piecewise constant, so its gradient is zero. */
#include "pool.h"

asc_tensor *asc_max_pool_index(asc_ctx *ctx, asc_tensor *x, const asc_window *win) {
    const asc_attrs attrs = asc_pool_attrs(x, win);
    return asc_apply(ctx, &asc_op_max_pool_index, &attrs, &x, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_pool(ctx, c);
    if (st != ASC_OK) return st;
    int64_t n = 1;
    for (int d = 2; d < c->in_shape[0].rank; d++)
        if (__builtin_mul_overflow(n, c->in_shape[0].dims[d], &n) || n > INT32_MAX)
            return asc_infer_fail(ctx, c, "a plane has too many elements for i32 indices");
    c->dtype = ASC_DTYPE_I32;
    return ASC_OK;
}

static double place(const asc_pool_at *p, const double *plane) {
    return (double)asc_pool_find_largest(p, plane);
}

static void ref(const asc_ref_args *a) { asc_ref_pool(a, place); }

static bool sample(int i, asc_sample *out) { return asc_sample_pool(i, 1e-3, out); }

const asc_op asc_op_max_pool_index = {
    ASC_OP_FIELDS(MAX_POOL_INDEX, max_pool_index, 1, 1),
    .attrs = asc_pool_attr_defs,
    .n_attrs = ASC_MAX_POOL_N_ATTRS,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_pool,
    .flags = ASC_OP_NO_GRAD,
    .doc = "Index in the spatial plane of the largest value under each window (first of equals); -1 = only "
           "padding.",
    .formula = "y[b,c,o] = argmax_t x[b,c,o stride + t dilation - before]",
};
