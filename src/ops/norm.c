/* norm.c - first and second derivatives of row normalisation, as recorded ops. */
#include "norm.h"
#include "ops.h"
#include "rows.h"

asc_tensor *asc_norm_fill(asc_ctx *ctx, const asc_tensor *a, double value) {
    return asc_full(ctx, ASC_SHAPE(a->shape.dims[a->shape.rank - 1]), value);
}

asc_tensor *asc_norm_centred(asc_ctx *ctx, asc_tensor *a) { return asc_sub(ctx, a, asc_row_mean(ctx, a)); }

asc_tensor *asc_norm_rstd(asc_ctx *ctx, asc_tensor *c, double eps) {
    return asc_rsqrt(ctx, asc_shift(ctx, asc_row_mean(ctx, asc_square(ctx, c)), eps));
}

static asc_tensor *mean_of(asc_ctx *ctx, asc_tensor *a, asc_tensor *b) {
    return asc_row_mean(ctx, asc_mul(ctx, a, b));
}

asc_tensor *asc_norm_first(asc_ctx *ctx, asc_tensor *c, asc_tensor *r, asc_tensor *u) {
    asc_tensor *n = asc_mul(ctx, c, r);
    return asc_mul(ctx, r, asc_sub(ctx, u, asc_mul(ctx, n, mean_of(ctx, n, u))));
}

/* Written with n = c r, which keeps every factor near 1 where r itself may be large:
 * r^2 (3 n M(h n) M(u n) - n M(h u) - h M(u n) - u M(h n)). */
asc_tensor *asc_norm_second(asc_ctx *ctx, asc_tensor *c, asc_tensor *r, asc_tensor *u, asc_tensor *h) {
    asc_tensor *n = asc_mul(ctx, c, r);
    asc_tensor *hn = mean_of(ctx, h, n), *un = mean_of(ctx, u, n), *hu = mean_of(ctx, h, u);
    asc_tensor *along_n = asc_sub(ctx, asc_scale(ctx, asc_mul(ctx, hn, un), 3), hu);
    asc_tensor *sum = asc_sub(ctx, asc_mul(ctx, n, along_n), asc_mul(ctx, h, un));
    sum = asc_sub(ctx, sum, asc_mul(ctx, u, hn));
    return asc_mul(ctx, asc_square(ctx, r), sum);
}

bool asc_norm_sample(int i, asc_sample *out) {
    static const asc_shape shapes[] = {{2, {3, 7}}, {1, {5}}, {3, {2, 1, 4}}, {2, {2, 1}}};
    static const double eps[] = {1e-5, 1e-6, 0.1, 1e-2};
    if (i < 0 || i >= ASC_N_CASES(shapes)) return false;
    const asc_shape w = {1, {shapes[i].dims[shapes[i].rank - 1]}};
    *out = (asc_sample){.attrs = {.f = {eps[i]}},
                        .n_in = 2,
                        .in_shape = {shapes[i], w},
                        .lo = {-2, 0.5},
                        .hi = {2, 1.5},
                        .min_gap = 1e-2};
    return true;
}

asc_status asc_norm_grad_infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_rows(ctx, c);
    if (st == ASC_OK) st = asc_infer_per_column(ctx, c, 1, "the weight");
    return st != ASC_OK ? st : asc_infer_like_rows(ctx, c, 2, "g");
}

bool asc_norm_grad_sample(int i, asc_sample *out) {
    if (!asc_norm_sample(i, out)) return false;
    out->in_shape[out->n_in] = out->in_shape[0];
    out->lo[out->n_in] = -1;
    out->hi[out->n_in++] = 1;
    return true;
}

/* u = g w: what z is linear in has the cotangent z(a, 1, h), of which g and w take their shares. */
void asc_norm_grad_vjp(asc_vjp_args *a, const asc_norm_grad_ops *ops) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[0], *w = a->in[1], *g = a->in[2], *h = a->g;
    const double eps = a->attrs->f[0];
    if (a->need[0]) a->gin[0] = ops->second(ctx, x, w, g, h, eps);
    if (!a->need[1] && !a->need[2]) return;
    asc_tensor *du = ops->z(ctx, x, asc_norm_fill(ctx, x, 1), h, eps);
    if (a->need[1]) a->gin[1] = asc_column_sum(ctx, asc_mul(ctx, g, du));
    if (a->need[2]) a->gin[2] = asc_mul(ctx, du, w);
}

asc_tensor *asc_norm_grad_jvp(asc_jvp_args *a, const asc_norm_grad_ops *ops) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[0], *w = a->in[1], *g = a->in[2], *t = NULL;
    const double eps = a->attrs->f[0];
    if (a->tin[0] != NULL) t = ops->second(ctx, x, w, g, a->tin[0], eps);
    if (a->tin[1] != NULL) t = asc_add_or(ctx, t, ops->z(ctx, x, a->tin[1], g, eps));
    if (a->tin[2] != NULL) t = asc_add_or(ctx, t, ops->z(ctx, x, w, a->tin[2], eps));
    return t;
}
