/* nn_norm.c - normalisations in their inference form. */
#include "layer.h"
#include "ops.h"

static const double DEFAULT_EPS = 1e-5; /* PyTorch's */
static double eps_or(double eps) { return eps != 0.0 ? eps : DEFAULT_EPS; }

/* y = x s + t with s = weight / sqrt(var + eps), t = bias - mean s: constant per channel, so two ops touch x.
 */
asc_tensor *asc_nn_batch_norm(asc_frame *f, const char *name, asc_tensor *x, double eps) {
    asc_layer l = asc_layer_begin(f, name, &x);
    asc_ctx *ctx = l.ctx;
    asc_tensor *w = asc_layer_weight(&l, "weight", true), *b = asc_layer_weight(&l, "bias", true),
               *mean = asc_layer_weight(&l, "running_mean", false),
               *var = asc_layer_weight(&l, "running_var", false);
    if (x->poison == ASC_OK && x->shape.rank < 2)
        return asc_layer_end(&l, asc_layer_fail(&l, "x must be [B,C,..]"));
    if (x->poison != ASC_OK) return asc_layer_end(&l, x);
    asc_tensor *s = asc_rsqrt(ctx, asc_shift(ctx, var, eps_or(eps)));
    if (w != NULL) s = asc_mul(ctx, w, s);
    asc_tensor *t = asc_neg(ctx, asc_mul(ctx, mean, s));
    if (b != NULL) t = asc_add(ctx, b, t);
    asc_tensor *y = asc_mul(ctx, x, asc_layer_per_channel(&l, s, x));
    return asc_layer_end(&l, asc_add(ctx, y, asc_layer_per_channel(&l, t, x)));
}

static asc_tensor *filled(asc_ctx *ctx, int64_t n, double value) {
    return asc_full(ctx, ASC_SHAPE(n), value);
}

asc_tensor *asc_nn_layer_norm(asc_frame *f, const char *name, asc_tensor *x, double eps) {
    asc_layer l = asc_layer_begin(f, name, &x);
    asc_tensor *w = asc_layer_weight(&l, "weight", true), *b = asc_layer_weight(&l, "bias", true);
    if (x->poison == ASC_OK && x->shape.rank < 1)
        return asc_layer_end(&l, asc_layer_fail(&l, "x has no axis"));
    if (x->poison != ASC_OK) return asc_layer_end(&l, x);
    const int64_t d = x->shape.dims[x->shape.rank - 1];
    if (w == NULL) w = filled(l.ctx, d, 1.0);
    if (b == NULL) b = filled(l.ctx, d, 0.0);
    return asc_layer_end(&l, asc_layer_norm(l.ctx, x, w, b, eps_or(eps)));
}

/* Each group's channels and positions are one row. */
asc_tensor *asc_nn_group_norm(asc_frame *f, const char *name, asc_tensor *x, int64_t groups, double eps) {
    asc_layer l = asc_layer_begin(f, name, &x);
    asc_ctx *ctx = l.ctx;
    asc_tensor *w = asc_layer_weight(&l, "weight", true), *b = asc_layer_weight(&l, "bias", true);
    if (x->poison != ASC_OK) return asc_layer_end(&l, x);
    asc_shape s = x->shape;
    if (s.rank < 2 || groups < 1 || s.dims[1] % groups != 0)
        return asc_layer_end(&l, asc_layer_fail(&l, "%lld channels do not go into %lld groups",
                                                (long long)(s.rank < 2 ? 0 : s.dims[1]), (long long)groups));
    int64_t d = s.dims[1] / groups;
    for (int i = 2; i < s.rank; i++) d *= s.dims[i];
    asc_tensor *y = asc_reshape(ctx, x, ASC_SHAPE(s.dims[0], groups, d));
    y = asc_layer_norm(ctx, y, filled(ctx, d, 1.0), filled(ctx, d, 0.0), eps_or(eps));
    y = asc_reshape(ctx, y, s);
    if (w != NULL) y = asc_mul(ctx, y, asc_layer_per_channel(&l, w, x));
    if (b != NULL) y = asc_add(ctx, y, asc_layer_per_channel(&l, b, x));
    return asc_layer_end(&l, y);
}
