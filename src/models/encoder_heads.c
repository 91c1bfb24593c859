/* encoder_heads.c - what stands on top of a text encoder's last block, as ops: pooling, classes, embeddings.
 * Errors poison the result. */
#include "encoder.h"
#include <math.h>

/* Sums over the tokens, each with its weight [1 or B,T]: of x [B,T,D] -> [B,D], by the
 * sum of the weights or its root. */
static asc_tensor *weighted(asc_ctx *ctx, asc_tensor *x, asc_tensor *w, bool root) {
    int tokens[] = {1};
    const int64_t b = w->shape.dims[0], t = w->shape.dims[1];
    if (w->poison != ASC_OK) return w;
    asc_tensor *all = asc_sum(ctx, w, 1, tokens, true);
    all = asc_maximum(ctx, all, asc_full(ctx, ASC_SHAPE(1, 1), 1e-9)); /* no token counts: zeros */
    asc_tensor *sum =
        asc_sum(ctx, asc_mul(ctx, x, asc_reshape(ctx, w, ASC_SHAPE(b, t, 1))), 1, tokens, false);
    return asc_div(ctx, sum, root ? asc_sqrt(ctx, all) : all);
}

/* [B,T,D] -> [B,D]. seen [B,T]: tokens that count; NULL = all. First and last tokens always do. */
static asc_tensor *pool(asc_ctx *ctx, asc_tensor *x, asc_tensor *seen, asc_pooling how) {
    int axis[] = {1};
    if (x->poison != ASC_OK) return x;
    if (seen != NULL && seen->poison != ASC_OK) return seen;
    const int64_t t = x->shape.dims[1];
    asc_tensor *w;
    switch (how) {
    case ASC_POOL_FIRST:
    case ASC_POOL_LAST:
        return asc_reshape(ctx, asc_slice(ctx, x, 1, how == ASC_POOL_FIRST ? 0 : t - 1, 1),
                           ASC_SHAPE(x->shape.dims[0], -1));
    case ASC_POOL_MAX:
        if (seen != NULL) {
            asc_tensor *hide = asc_scale(ctx, asc_shift(ctx, seen, -1.0), 1e9);
            x = asc_add(ctx, x, asc_reshape(ctx, hide, ASC_SHAPE(seen->shape.dims[0], t, 1)));
        }
        return asc_max(ctx, x, 1, false);
    case ASC_POOL_WEIGHTED:
        w = asc_reshape(ctx, asc_iota(ctx, t, 1.0, 1.0), ASC_SHAPE(1, t));
        return weighted(ctx, x, seen != NULL ? asc_mul(ctx, seen, w) : w, false);
    case ASC_POOL_MEAN_SQRT:
        if (seen != NULL) return weighted(ctx, x, seen, true);
        return asc_scale(ctx, asc_sum(ctx, x, 1, axis, false), 1.0 / sqrt((double)t));
    case ASC_POOL_MEAN:
    case ASC_N_POOLINGS:
        break;
    }
    return seen != NULL ? weighted(ctx, x, seen, false) : asc_mean(ctx, x, 1, axis, false);
}

asc_tensor *asc_encoder_classes(asc_encoder *e, asc_tensor *hidden, asc_tensor *seen) {
    asc_ctx *ctx = e->ctx;
    const asc_encoder_config *c = &e->cfg;
    const char *label = asc_set_label(ctx, "head");
    asc_tensor *h = c->head != ASC_HEAD_CLASSES ? hidden : pool(ctx, hidden, seen, c->head_pool);
    if (c->has_head_dense) h = asc_activate(ctx, asc_project(ctx, h, &e->head_dense), c->head_act);
    if (e->head_norm.w != NULL) h = asc_layer_norm(ctx, h, e->head_norm.w, e->head_norm.b, c->head_eps);
    h = asc_project(ctx, h, &e->head);
    asc_set_label(ctx, label);
    return h;
}

/* some: x may be all zeros, which it stays */
static asc_tensor *of_length_1(asc_ctx *ctx, asc_tensor *x, bool some) {
    int axis[] = {-1};
    asc_tensor *length = asc_sqrt(ctx, asc_sum(ctx, asc_square(ctx, x), 1, axis, true));
    if (some) length = asc_maximum(ctx, length, asc_full(ctx, ASC_SHAPE(1, 1), 1e-12));
    return asc_div(ctx, x, length);
}

asc_tensor *asc_encoder_embedding(asc_encoder *e, asc_tensor *hidden, asc_tensor *seen) {
    asc_ctx *ctx = e->ctx;
    const asc_encoder_config *c = &e->cfg;
    const char *label = asc_set_label(ctx, "pooled");
    asc_tensor *all[ASC_N_POOLINGS];
    for (int i = 0; i < c->n_poolings; i++) all[i] = pool(ctx, hidden, seen, c->pooling[i]);
    asc_tensor *p = c->n_poolings > 1 ? asc_concat(ctx, all, c->n_poolings, 1) : all[0];
    for (int i = 0; i < c->n_stages; i++) {
        const asc_embed_stage *s = &c->stages[i];
        p = s->dense ? asc_project(ctx, p, &e->stages[i]) : of_length_1(ctx, p, seen != NULL);
        if (s->dense && s->act_on) p = asc_activate(ctx, p, s->act);
    }
    p = of_length_1(ctx, p, seen != NULL);
    asc_set_label(ctx, label);
    return p;
}
