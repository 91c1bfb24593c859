/* encoder_heads.c - what stands on top of a text encoder's last block, as ops: pooling, classes, embeddings.
 * Errors poison the result. */
#include "encoder.h"
#include <math.h>

/* sum over t of (t + 1) x_t, by the sum of the weights: [B,T,D] -> [B,D] */
static asc_tensor *weighted(asc_ctx *ctx, asc_tensor *x) {
    int64_t t = x->shape.dims[1];
    const double all = 0.5 * (double)t * (double)(t + 1);
    int axis[] = {1};
    asc_tensor *w = asc_reshape(ctx, asc_iota(ctx, t, 1.0 / all, 1.0 / all), ASC_SHAPE(1, t, 1));
    return asc_sum(ctx, asc_mul(ctx, x, w), 1, axis, false);
}

/* [B,T,D] -> [B,D] */
static asc_tensor *pool(asc_ctx *ctx, asc_tensor *x, asc_pooling how) {
    int axis[] = {1};
    if (x->poison != ASC_OK) return x;
    const int64_t t = x->shape.dims[1];
    switch (how) {
    case ASC_POOL_FIRST:
    case ASC_POOL_LAST:
        return asc_reshape(ctx, asc_slice(ctx, x, 1, how == ASC_POOL_FIRST ? 0 : t - 1, 1),
                           ASC_SHAPE(x->shape.dims[0], -1));
    case ASC_POOL_MAX:
        return asc_max(ctx, x, 1, false);
    case ASC_POOL_WEIGHTED:
        return weighted(ctx, x);
    case ASC_POOL_MEAN_SQRT:
        return asc_scale(ctx, asc_sum(ctx, x, 1, axis, false), 1.0 / sqrt((double)t));
    case ASC_POOL_MEAN:
    case ASC_N_POOLINGS:
        break;
    }
    return asc_mean(ctx, x, 1, axis, false);
}

asc_tensor *asc_encoder_classes(asc_encoder *e, asc_tensor *hidden) {
    asc_ctx *ctx = e->ctx;
    const asc_encoder_config *c = &e->cfg;
    const char *label = asc_set_label(ctx, "head");
    asc_tensor *h = c->head != ASC_HEAD_CLASSES ? hidden : pool(ctx, hidden, c->head_pool);
    if (c->has_head_dense) h = asc_activate(ctx, asc_project(ctx, h, &e->head_dense), c->head_act);
    if (e->head_norm.w != NULL) h = asc_layer_norm(ctx, h, e->head_norm.w, e->head_norm.b, c->head_eps);
    h = asc_project(ctx, h, &e->head);
    asc_set_label(ctx, label);
    return h;
}

static asc_tensor *of_length_1(asc_ctx *ctx, asc_tensor *x) {
    int axis[] = {-1};
    return asc_div(ctx, x, asc_sqrt(ctx, asc_sum(ctx, asc_square(ctx, x), 1, axis, true)));
}

asc_tensor *asc_encoder_embedding(asc_encoder *e, asc_tensor *hidden) {
    asc_ctx *ctx = e->ctx;
    const asc_encoder_config *c = &e->cfg;
    const char *label = asc_set_label(ctx, "pooled");
    asc_tensor *all[ASC_N_POOLINGS];
    for (int i = 0; i < c->n_poolings; i++) all[i] = pool(ctx, hidden, c->pooling[i]);
    asc_tensor *p = c->n_poolings > 1 ? asc_concat(ctx, all, c->n_poolings, 1) : all[0];
    for (int i = 0; i < c->n_stages; i++) {
        const asc_embed_stage *s = &c->stages[i];
        p = s->dense ? asc_project(ctx, p, &e->stages[i]) : of_length_1(ctx, p);
        if (s->dense && s->act_on) p = asc_activate(ctx, p, s->act);
    }
    p = of_length_1(ctx, p);
    asc_set_label(ctx, label);
    return p;
}
