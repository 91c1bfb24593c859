/* vision.c - the forward pass of image classifiers made of patches. Dosovitskiy et al. 2021 (ViT), Touvron et
 * al. 2021 (DeiT). */
#include "vision.h"
#include "frame.h"
#include "ops.h"
#include <math.h>
#include <stdio.h>

enum { MAX_NAME = 160 };

typedef struct run {
    asc_frame *f;
    asc_ctx *ctx;
    const asc_vision_config *c;
    char name[MAX_NAME]; /* of the block or model being recorded */
} run;

static const char *join(const run *r, const char *end, char out[MAX_NAME + 64]) {
    snprintf(out, MAX_NAME + 64, "%s.%s", r->name, end);
    return out;
}

static asc_tensor *linear(const run *r, const char *end, asc_tensor *x) {
    char full[MAX_NAME + 64];
    return asc_nn_linear(r->f, join(r, end, full), x);
}

static asc_tensor *norm(const run *r, const char *end, asc_tensor *x) {
    char full[MAX_NAME + 64];
    return asc_nn_layer_norm(r->f, join(r, end, full), x, r->c->eps);
}

static asc_tensor *named(const run *r, const char *end, asc_tensor *x) {
    char full[MAX_NAME + 64];
    return asc_site(r->f, join(r, end, full), x);
}

/* A row of the model's own [1,1,D], once for each picture. */
static asc_tensor *token(const run *r, const char *end, int64_t b) {
    char full[MAX_NAME + 64];
    return asc_broadcast(r->ctx, asc_param(r->f, join(r, end, full)), ASC_SHAPE(b, 1, r->c->d_model));
}

/* Patches as rows, behind the class token, with positions: [B,N,D]. */
static asc_tensor *embeddings(const run *r, asc_tensor *x) {
    const asc_vision_config *c = r->c;
    asc_ctx *ctx = r->ctx;
    char full[MAX_NAME + 64];
    static const int swap[] = {0, 2, 1};
    asc_conv_shape patch = {.stride = {c->patch_height, c->patch_width}};
    int64_t b = x->shape.rank == 4 ? x->shape.dims[0] : 1;
    asc_tensor *y = asc_nn_conv(r->f, join(r, "embeddings.patch_embeddings.projection", full), x, &patch);
    y = asc_transpose(ctx, asc_reshape(ctx, y, ASC_SHAPE(b, c->d_model, -1)), 3, swap);
    asc_tensor *rows[3] = {token(r, "embeddings.cls_token", b), y, y};
    if (c->has_second_token) rows[1] = token(r, "embeddings.distillation_token", b);
    y = asc_concat(ctx, rows, c->has_second_token ? 3 : 2, 1);
    y = asc_add(ctx, y, asc_param(r->f, join(r, "embeddings.position_embeddings", full)));
    return named(r, "embeddings", y);
}

static asc_tensor *block(const run *r, asc_tensor *x) {
    const asc_vision_config *c = r->c;
    asc_ctx *ctx = r->ctx;
    int64_t head = c->d_model / c->n_heads;
    asc_tensor *h = norm(r, "layernorm_before", x);
    asc_tensor *q = asc_split_heads(ctx, linear(r, "attention.attention.query", h), head);
    asc_tensor *k = asc_split_heads(ctx, linear(r, "attention.attention.key", h), head);
    asc_tensor *v = asc_split_heads(ctx, linear(r, "attention.attention.value", h), head);
    asc_tensor *a = asc_sdpa(ctx, q, k, v, 1.0 / sqrt((double)head), false, 0, 0.0);
    if (a->poison != ASC_OK) return a;
    a = asc_reshape(ctx, a, ASC_SHAPE(a->shape.dims[0], a->shape.dims[1], c->d_model));
    x = asc_add(ctx, x, linear(r, "attention.output.dense", a));
    h = asc_activate(ctx, linear(r, "intermediate.dense", norm(r, "layernorm_after", x)), c->act);
    x = asc_add(ctx, x, linear(r, "output.dense", named(r, "intermediate", h)));
    return asc_site(r->f, r->name, x);
}

/* The row of token i: [B,D]. */
static asc_tensor *row(asc_ctx *ctx, asc_tensor *x, int64_t i) {
    if (x->poison != ASC_OK) return x;
    return asc_reshape(ctx, asc_slice(ctx, x, 1, i, 1), ASC_SHAPE(x->shape.dims[0], -1));
}

void asc_vision_forward(asc_frame *f, const asc_vision_config *c, asc_tensor *const *in, asc_tensor **out) {
    run r = {.f = f, .ctx = asc_frame_ctx(f), .c = c};
    snprintf(r.name, sizeof r.name, "%s", c->base);
    asc_tensor *x = embeddings(&r, in[0]);
    for (int64_t l = 0; l < c->n_layers; l++) {
        snprintf(r.name, sizeof r.name, "%s.encoder.layer.%lld", c->base, (long long)l);
        x = block(&r, x);
    }
    snprintf(r.name, sizeof r.name, "%s", c->base);
    x = norm(&r, "layernorm", x);
    if (!c->distilled) {
        out[0] = asc_nn_linear(f, "classifier", row(r.ctx, x, 0));
        return;
    }
    asc_tensor *first = asc_nn_linear(f, "cls_classifier", row(r.ctx, x, 0)),
               *second = asc_nn_linear(f, "distillation_classifier", row(r.ctx, x, 1));
    out[0] = asc_scale(r.ctx, asc_add(r.ctx, first, second), 0.5);
}
