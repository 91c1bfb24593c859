/* encoder.c - the forward pass of text encoders, as ops; see encoder.h. Errors poison the result. */
#include "encoder_family.h"
#include "site_edits.h"
#include <math.h>

static asc_tensor *at_site(asc_encoder *e, const asc_encoder_run *r, asc_decoder_site site, int64_t layer,
                           asc_tensor *v) {
    if (e->edits != NULL && v->poison == ASC_OK) {
        asc_tensor *pos = asc_cast(e->ctx, asc_iota(e->ctx, v->shape.dims[1], 0.0, 1.0), ASC_DTYPE_I32);
        v = asc_site_edits_apply(e->ctx, e->edits, site, layer, v, pos);
    }
    return r->site != NULL ? r->site(r->site_self, site, layer, v) : v;
}

static asc_tensor *norm(asc_encoder *e, asc_tensor *x, const asc_norm *n) {
    return n->w != NULL ? asc_layer_norm(e->ctx, x, n->w, n->b, e->cfg.eps) : x;
}

/* Rows first .. first + t - 1 of a table [P,D], as [1,t,D]. */
static asc_tensor *rows_of(asc_ctx *ctx, asc_tensor *table, int64_t first, int64_t t) {
    asc_tensor *at = asc_cast(ctx, asc_iota(ctx, t, (double)first, 1.0), ASC_DTYPE_I32);
    asc_tensor *rows = asc_gather(ctx, table, at);
    return asc_reshape(ctx, rows, ASC_SHAPE(1, t, -1));
}

/* DeBERTa: a token that is not seen starts with zeros and looks at all tokens alike. Its own logits, which an
 * answer's places are weighed against, are of that. */
static bool hides_queries(const asc_encoder *e) { return e->cfg.family->deberta; }

asc_tensor *asc_encoder_entry(asc_encoder *e, const asc_encoder_run *run) {
    asc_ctx *ctx = e->ctx;
    const asc_encoder_config *c = &e->cfg;
    const char *label = asc_set_label(ctx, "embed");
    asc_tensor *x = at_site(e, run, ASC_SITE_EMBED, -1, run->x);
    if (x->poison != ASC_OK) return x;
    int64_t t = x->shape.dims[1];
    if (c->word_width < c->d_model) x = asc_slice(ctx, x, 2, 0, c->word_width); /* behind are zeros */
    if (e->types != NULL) {
        asc_tensor *types =
            run->types != NULL ? asc_gather(ctx, e->types, run->types) : rows_of(ctx, e->types, 0, 1);
        x = asc_add(ctx, x, types);
    }
    if (e->positions != NULL) x = asc_add(ctx, x, rows_of(ctx, e->positions, c->first_position, t));
    x = norm(e, x, &e->embed_norm);
    if (hides_queries(e) && run->seen != NULL)
        x = asc_mul(ctx, x, asc_reshape(ctx, run->seen, ASC_SHAPE(run->seen->shape.dims[0], t, 1)));
    if (e->project.w != NULL) x = asc_project(ctx, x, &e->project);
    asc_set_label(ctx, label);
    return x;
}

/* Bucket of how far key s lies behind query t, as in T5 for encoders: half of the buckets for each direction,
 * of these half for single distances and the rest growing logarithmically up to max_distance. Raffel et al.
 * 2020. */
static int32_t bucket(int64_t distance, int64_t n_buckets, int64_t max_distance) {
    int64_t half = n_buckets / 2, at = distance > 0 ? half : 0, far = distance < 0 ? -distance : distance;
    int64_t exact = half / 2;
    if (far < exact) return (int32_t)(at + far);
    double f = log((double)far / (double)exact) / log((double)max_distance / (double)exact);
    int64_t step = exact + (int64_t)(f * (double)(half - exact));
    return (int32_t)(at + (step < half - 1 ? step : half - 1));
}

/* MPNet's part of attention's scores: [1,H,T,T] */
static asc_tensor *relative_bias(asc_encoder *e, int64_t t) {
    static const int perm[] = {2, 0, 1};
    asc_ctx *ctx = e->ctx;
    const asc_encoder_config *c = &e->cfg;
    size_t n;
    int32_t *at =
        asc_mul_size((size_t)t, (size_t)t, &n) ? asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *at) : NULL;
    if (at == NULL) return asc_graph_poison(asc_graph_of(ctx));
    for (int64_t i = 0; i < t * t; i++) at[i] = bucket(i % t - i / t, c->n_buckets, c->max_distance);
    asc_tensor *bias = asc_gather(ctx, e->relative, asc_from_i32(ctx, ASC_SHAPE(t, t), at));
    asc_free(ctx, at);
    return asc_reshape(ctx, asc_transpose(ctx, bias, 3, perm), ASC_SHAPE(1, c->n_heads, t, t));
}

/* ALiBi, both ways: minus the distance times each head's slope. [1,H,T,T] */
static asc_tensor *by_slope(asc_encoder *e, int64_t t) {
    asc_ctx *ctx = e->ctx;
    const int64_t heads = e->cfg.n_heads;
    double *slope = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)heads, sizeof *slope);
    if (slope == NULL) return asc_graph_poison(asc_graph_of(ctx));
    asc_alibi_slopes(heads, 8.0, slope);
    for (int64_t i = 0; i < heads; i++) slope[i] = -slope[i];
    asc_tensor *s = asc_from_f64(ctx, ASC_SHAPE(1, heads, 1, 1), slope);
    asc_free(ctx, slope);
    asc_tensor *at = asc_iota(ctx, t, 0.0, 1.0);
    asc_tensor *d = asc_sub(ctx, asc_reshape(ctx, at, ASC_SHAPE(1, 1, t, 1)),
                            asc_reshape(ctx, at, ASC_SHAPE(1, 1, 1, t)));
    return asc_mul(ctx, s, asc_abs(ctx, d));
}

/* far for keys further away than the window, near for the others: [1,1,T,T] */
static asc_tensor *by_distance(asc_ctx *ctx, int64_t t, int64_t window, float near, float far) {
    size_t n;
    float *v = asc_mul_size((size_t)t, (size_t)t, &n) ? asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *v) : NULL;
    if (v == NULL) return asc_graph_poison(asc_graph_of(ctx));
    for (int64_t i = 0; i < t * t; i++) {
        const int64_t d = i % t - i / t;
        v[i] = d > window || -d > window ? far : near;
    }
    asc_tensor *out = asc_from_f32(ctx, ASC_SHAPE(1, 1, t, t), v);
    asc_free(ctx, v);
    return out;
}

/* What is added to attention's scores, [1 or B,1 or H,1 or T,T]; NULL = nothing: less than anything for keys
 * outside of the window and for those that are not seen (seen [B,T], NULL = all are). Both at once count
 * once: a token none of whose neighbours is seen looks at all tokens alike, in every precision. */
static asc_tensor *score_bias(asc_encoder *e, int64_t t, int64_t window, asc_tensor *seen) {
    asc_ctx *ctx = e->ctx;
    const bool narrow = window > 0 && window < t - 1;
    asc_tensor *hide = NULL, *bias = e->cfg.n_buckets > 0 ? relative_bias(e, t)
                                     : e->cfg.alibi       ? by_slope(e, t)
                                                          : NULL;
    if (seen != NULL) {
        hide = asc_reshape(ctx, seen, ASC_SHAPE(seen->shape.dims[0], 1, 1, t));
        if (hides_queries(e))
            hide = asc_mul(ctx, hide, asc_reshape(ctx, seen, ASC_SHAPE(seen->shape.dims[0], 1, t, 1)));
        if (narrow) hide = asc_mul(ctx, hide, by_distance(ctx, t, window, 1.0f, 0.0f));
        hide = asc_scale(ctx, asc_shift(ctx, hide, -1.0), 1e30);
    } else if (narrow) {
        hide = by_distance(ctx, t, window, 0.0f, -1e30f);
    }
    return bias == NULL ? hide : hide == NULL ? bias : asc_add(ctx, hide, bias);
}

/* What attention's scores have beside queries and keys; NULL = nothing. */
typedef struct beside {
    asc_tensor *bias;   /* added (score_bias) */
    asc_tensor *places; /* DeBERTa's (asc_deberta_places) */
} beside;

/* softmax(scale q k' + bias) v, each [B,T,H,D]; taken apart where there is more or somebody looks. */
static asc_tensor *attend(asc_encoder *e, const asc_encoder_run *run, int64_t l, asc_tensor *q, asc_tensor *k,
                          asc_tensor *v, const beside *more) {
    static const int swap[] = {0, 2, 1, 3};
    asc_ctx *ctx = e->ctx;
    asc_tensor *bias = more->bias;
    const double parts = e->cfg.deberta.parts > 0 ? (double)e->cfg.deberta.parts : 1.0,
                 scale = 1.0 / sqrt((double)e->cfg.head_dim * parts);
    const bool shown = run->inner != NULL && run->show_probs;
    if (bias == NULL && more->places == NULL && !shown) return asc_sdpa(ctx, q, k, v, scale, false, 0, 0.0);
    q = asc_transpose(ctx, q, 4, swap);
    k = asc_transpose(ctx, k, 4, swap);
    v = asc_transpose(ctx, v, 4, swap);
    asc_tensor *p = asc_matmul(ctx, q, k, false, true);
    if (more->places != NULL) p = asc_add(ctx, p, asc_deberta_scores(e, l, q, k, more->places));
    p = asc_scale(ctx, p, scale);
    p = asc_softmax(ctx, bias != NULL ? asc_add(ctx, p, bias) : p);
    if (shown) p = run->inner(run->inner_self, l, true, p);
    return asc_transpose(ctx, asc_matmul(ctx, p, v, false, false), 4, swap);
}

/* y [B,T,H,D] plus a vector [H*D]; NULL = y */
static asc_tensor *biased(asc_encoder *e, asc_tensor *y, asc_tensor *bias) {
    const asc_shape row = ASC_SHAPE(e->cfg.n_heads, e->cfg.head_dim);
    return bias != NULL ? asc_add(e->ctx, y, asc_reshape(e->ctx, bias, row)) : y;
}

static asc_tensor *attention(asc_encoder *e, const asc_encoder_run *run, int64_t l, asc_tensor *h,
                             const beside *more) {
    asc_ctx *ctx = e->ctx;
    const asc_encoder_layer *w = &e->layers[l];
    const asc_layer_plan *plan = &e->cfg.plan[l];
    const asc_encoder_config *c = &e->cfg;
    asc_tensor *q, *k, *v;
    if (h->poison != ASC_OK) return h;
    if (w->qkv.w != NULL && c->family->by_head) {
        asc_tensor *y = asc_split_heads(ctx, asc_project(ctx, h, &w->qkv), 3 * c->head_dim);
        q = biased(e, asc_slice(ctx, y, 3, 0, c->head_dim), w->q_bias);
        k = asc_slice(ctx, y, 3, c->head_dim, c->head_dim);
        v = biased(e, asc_slice(ctx, y, 3, 2 * c->head_dim, c->head_dim), w->v_bias);
    } else if (w->qkv.w != NULL) {
        asc_tensor *y = asc_split_heads(ctx, asc_project(ctx, h, &w->qkv), c->head_dim);
        q = asc_slice(ctx, y, 2, 0, c->n_heads);
        k = asc_slice(ctx, y, 2, c->n_heads, c->n_heads);
        v = asc_slice(ctx, y, 2, 2 * c->n_heads, c->n_heads);
    } else {
        q = asc_split_heads(ctx, asc_project(ctx, h, &w->q), c->head_dim);
        k = asc_split_heads(ctx, asc_project(ctx, h, &w->k), c->head_dim);
        v = asc_split_heads(ctx, asc_project(ctx, h, &w->v), c->head_dim);
    }
    if (plan->rope != ASC_ROPE_OFF) {
        asc_tensor *pos = asc_cast(ctx, asc_iota(ctx, h->shape.dims[1], 0.0, 1.0), ASC_DTYPE_I32);
        q = asc_rope(ctx, q, pos, e->inv_freq[plan->rope], false, false, 1.0);
        k = asc_rope(ctx, k, pos, e->inv_freq[plan->rope], false, false, 1.0);
    }
    asc_tensor *o = attend(e, run, l, q, k, v, more);
    if (run->inner != NULL) o = run->inner(run->inner_self, l, false, o);
    o = asc_reshape(ctx, o, ASC_SHAPE(h->shape.dims[0], h->shape.dims[1], -1));
    return asc_project(ctx, at_site(e, run, ASC_SITE_ATTN_HEADS, l, o), &w->o);
}

/* A mixture of plain MLPs (Nomic BERT). */
static asc_tensor *mixture(asc_encoder *e, const asc_encoder_layer *w, asc_tensor *h) {
    const asc_encoder_config *c = &e->cfg;
    const asc_mixture m = {.router = w->router,
                           .up = {.w = w->up_exps},
                           .down = {.w = w->down_exps, .transposed = c->down_by_rows},
                           .used = c->n_experts_used,
                           .normalised = c->norm_top_k,
                           .act = c->act};
    asc_tensor *y = asc_mix(e->ctx, h, &m);
    return w->exps_bias != NULL ? asc_add(e->ctx, y, w->exps_bias) : y;
}

static asc_tensor *mlp(asc_encoder *e, const asc_encoder_run *run, int64_t l, asc_tensor *h) {
    asc_ctx *ctx = e->ctx;
    const asc_encoder_layer *w = &e->layers[l];
    const asc_encoder_config *c = &e->cfg;
    if (w->router != NULL) return mixture(e, w, h);
    asc_tensor *u = asc_project(ctx, h, &w->up);
    if (w->gate.w != NULL)
        u = asc_gated(ctx, asc_project(ctx, h, &w->gate), u, c->act);
    else if (c->gated)
        u = asc_gated(ctx, asc_slice(ctx, u, 2, 0, c->d_ff), asc_slice(ctx, u, 2, c->d_ff, c->d_ff), c->act);
    else
        u = asc_activate(ctx, u, c->act);
    return asc_project(ctx, at_site(e, run, ASC_SITE_MLP_ACT, l, u), &w->down);
}

static asc_tensor *block(asc_encoder *e, const asc_encoder_run *run, int64_t l, asc_tensor *x,
                         const beside *more) {
    asc_ctx *ctx = e->ctx;
    const asc_encoder_layer *w = &e->layers[l];
    bool pre = e->cfg.pre_norm;
    const char *label = asc_set_label(ctx, w->attn_label);
    asc_tensor *h = at_site(e, run, ASC_SITE_ATTN_IN, l, pre ? norm(e, x, &w->attn_norm) : x);
    asc_tensor *a = at_site(e, run, ASC_SITE_ATTN_OUT, l, attention(e, run, l, h, more));
    x = asc_add(ctx, pre ? x : h, a);
    if (!pre) x = norm(e, x, &w->attn_norm);
    asc_set_label(ctx, w->mlp_label);
    h = at_site(e, run, ASC_SITE_MLP_IN, l, pre ? norm(e, x, &w->mlp_norm) : x);
    asc_tensor *m = at_site(e, run, ASC_SITE_MLP_OUT, l, mlp(e, run, l, h));
    x = asc_add(ctx, pre ? x : h, m);
    if (!pre) x = norm(e, x, &w->mlp_norm);
    asc_set_label(ctx, label);
    return at_site(e, run, ASC_SITE_BLOCK_OUT, l, x);
}

asc_tensor *asc_encoder_block(asc_encoder *e, const asc_encoder_run *run, int64_t l, asc_tensor *x) {
    if (x->poison != ASC_OK) return x;
    const int64_t t = x->shape.dims[1];
    const beside more = {score_bias(e, t, e->cfg.plan[l].window, NULL), asc_deberta_places(e, t)};
    return block(e, run, l, x, &more);
}

asc_tensor *asc_encoder_finish(asc_encoder *e, asc_tensor *x) {
    const char *label = asc_set_label(e->ctx, "head");
    x = norm(e, x, &e->final_norm);
    asc_set_label(e->ctx, label);
    return x;
}

asc_tensor *asc_encoder_hidden(asc_encoder *e, const asc_encoder_run *run) {
    asc_tensor *x = asc_encoder_entry(e, run);
    if (x->poison != ASC_OK) return x;
    int64_t t = x->shape.dims[1], local_window = -1;
    const beside whole = {score_bias(e, t, 0, run->seen), asc_deberta_places(e, t)};
    beside local = whole;
    for (int64_t l = 0; l < e->cfg.n_layers; l++) {
        int64_t window = e->cfg.plan[l].window;
        if (window > 0 && window != local_window) {
            local.bias = score_bias(e, t, window, run->seen);
            local_window = window;
        }
        x = block(e, run, l, x, window > 0 ? &local : &whole);
    }
    return asc_encoder_finish(e, x);
}
