/* encoder_weights.c - binds the tensors of a text encoder's files, by the names of its family. Every tensor
 * is checked for its shape; one that has no place is refused by name, but for heads that are not used. */
#include "encoder_family.h"
#include "exec.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct binder {
    asc_ctx *ctx;
    const asc_weights *g;
    asc_encoder *e;
    const asc_encoder_names *names;
    asc_status st;
    bool *used; /* by tensor index */
    bool prefixed;
    int64_t layer;  /* whose tensors are bound, or which group (ALBERT); -1 = none */
    int64_t inner;  /* the block in its group */
    int64_t number; /* of the layer that they are bound to */
} binder;

static asc_tensor *own(binder *b, asc_tensor *t) { return asc_owned_add(b->ctx, &b->e->owned, t, &b->st); }

/* Name of a tensor in the files: of the current layer, of the base ('^' or base true), or as it is. */
static void full_name(const binder *b, const char *name, bool base, const char *end, char out[200]) {
    char layer[96] = "";
    if (name[0] == '^') {
        base = true;
        name++;
    }
    if (b->layer >= 0) {
        const char *at = strstr(b->names->layer, "%lld"), *second = strstr(at + 4, "%lld");
        int n = snprintf(layer, sizeof layer, "%.*s%lld", (int)(at - b->names->layer), b->names->layer,
                         (long long)b->layer);
        if (second == NULL)
            snprintf(layer + n, sizeof layer - (size_t)n, "%s", at + 4);
        else
            snprintf(layer + n, sizeof layer - (size_t)n, "%.*s%lld%s", (int)(second - at - 4), at + 4,
                     (long long)b->inner, second + 4);
    }
    snprintf(out, 200, "%s%s%s%s", base && b->prefixed ? b->names->prefix : "", layer, name, end);
}

/* As f32, once: vectors that the files hold in halves. */
static asc_tensor *widened(binder *b, asc_tensor *w) {
    w = asc_cast(b->ctx, w, ASC_DTYPE_F32);
    if ((b->st = asc_run(b->ctx, &w, 1)) != ASC_OK) return NULL;
    asc_tensor_detach(w);
    return w;
}

/* rows == 0: a vector of cols. NULL when it is optional and absent, or after an error. */
static asc_tensor *bind(binder *b, const char *name, bool base, const char *end, bool required, int64_t rows,
                        int64_t cols) {
    char full[200], text[128];
    if (b->st != ASC_OK) return NULL;
    full_name(b, name, base, end, full);
    const asc_weight *t = asc_weights_find(b->g, full);
    if (t == NULL) {
        if (required) {
            b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT, "'%s': tensor %s is missing", b->g->path, full);
            asc_hint(b->ctx, "the files are incomplete, or the config is of another model");
        }
        return NULL;
    }
    b->used[t - b->g->v] = true;
    bool ok = rows == 0 ? t->rank == 1 && t->dims[0] == cols
                        : t->rank == 2 && t->dims[0] == rows && t->dims[1] == cols;
    asc_shape shape = {.rank = t->rank};
    for (int i = 0; i < t->rank; i++) shape.dims[i] = t->dims[i];
    if (!ok) {
        b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT,
                         "'%s': tensor %s has shape %s; the config asks for [%lld%s%lld]", b->g->path, full,
                         asc_shape_text(&shape, text), (long long)(rows > 0 ? rows : cols),
                         rows > 0 ? "," : "", (long long)(rows > 0 ? cols : 0));
        asc_hint(b->ctx, "config and weights contradict each other; fetch the model again");
        return NULL;
    }
    if (t->dtype != ASC_DTYPE_F32 && asc_dtype_expand(t->dtype) == NULL) {
        b->st = ASC_FAIL(b->ctx, ASC_UNIMPLEMENTED,
                         "'%s': tensor %s is stored as %s, which is not supported here", b->g->path, full,
                         asc_dtype_of(t->dtype)->name);
        return NULL;
    }
    asc_tensor *w = asc_from_stored(b->ctx, t->dtype, shape, t->data);
    if (rows == 0 && t->dtype != ASC_DTYPE_F32) w = widened(b, w);
    return b->st == ASC_OK ? own(b, w) : NULL;
}

/* Weight and bias; older files call them gamma and beta. A norm without bias adds zeros. */
static asc_norm bind_norm(binder *b, const char *name, bool base, bool required, int64_t d) {
    asc_norm n = {0};
    if (name == NULL || b->st != ASC_OK) return n;
    n.w = bind(b, name, base, ".gamma", false, 0, d);
    bool old = n.w != NULL, biased = b->e->cfg.norm_bias;
    if (!old) n.w = bind(b, name, base, ".weight", required, 0, d);
    if (n.w != NULL && biased) n.b = bind(b, name, base, old ? ".beta" : ".bias", true, 0, d);
    if (n.w == NULL || n.b != NULL || b->st != ASC_OK) return n;
    float *zeros = asc_calloc(b->ctx, ASC_MEM_WEIGHTS, (size_t)d, sizeof *zeros);
    if (zeros == NULL) {
        b->st = ASC_RESOURCE_EXHAUSTED;
        return n;
    }
    n.b = own(b, asc_from_f32(b->ctx, ASC_SHAPE(d), zeros));
    asc_free(b->ctx, zeros);
    return n;
}

/* A bias that is missing would be zeros or random numbers elsewhere; one too many would be dropped. */
static asc_proj bind_proj(binder *b, const char *name, bool base, bool bias, int64_t out, int64_t in) {
    asc_proj p = {.w = bind(b, name, base, ".weight", true, out, in)};
    if (p.w != NULL && bias) p.b = bind(b, name, base, ".bias", true, 0, out);
    return p;
}

/* Is there a matrix of this name, in the current layer if there is one? */
static bool stored(const binder *b, const char *name, bool base) {
    char full[200];
    full_name(b, name, base, ".weight", full);
    return asc_weights_find(b->g, full) != NULL;
}

static void name_layer(binder *b, asc_encoder_layer *w) {
    char text[64];
    snprintf(text, sizeof text, "blocks.%lld.attn", (long long)b->number);
    w->attn_label = asc_label_intern(b->ctx, text);
    snprintf(text, sizeof text, "blocks.%lld.mlp", (long long)b->number);
    w->mlp_label = asc_label_intern(b->ctx, text);
    if (b->st == ASC_OK && (w->attn_label == NULL || w->mlp_label == NULL)) b->st = ASC_RESOURCE_EXHAUSTED;
}

/* A stack of matrices [E,rows,cols], of a tensor of that shape or one with the first two in one. */
static asc_tensor *bind_stack(binder *b, const char *name, int64_t rows, int64_t cols) {
    const int64_t n = b->e->cfg.n_experts;
    char full[200], text[128];
    if (b->st != ASC_OK) return NULL;
    full_name(b, name, true, "", full);
    const asc_weight *t = asc_weights_find(b->g, full);
    if (t == NULL || t->rank == 2) {
        asc_tensor *flat = bind(b, name, true, "", true, n * rows, cols);
        return flat != NULL ? own(b, asc_from_stored(b->ctx, t->dtype, ASC_SHAPE(n, rows, cols), t->data))
                            : NULL;
    }
    asc_shape shape = {.rank = t->rank};
    for (int i = 0; i < t->rank; i++) shape.dims[i] = t->dims[i];
    b->used[t - b->g->v] = true;
    if (t->rank == 3 && t->dims[0] == n && t->dims[1] == rows && t->dims[2] == cols &&
        asc_dtype_expand(t->dtype) != NULL)
        return own(b, asc_from_stored(b->ctx, t->dtype, shape, t->data));
    b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT,
                     "'%s': tensor %s has shape %s and type %s; expected [%lld,%lld,%lld] of weights",
                     b->g->path, full, asc_shape_text(&shape, text), asc_dtype_of(t->dtype)->name,
                     (long long)n, (long long)rows, (long long)cols);
    asc_hint(b->ctx, "config and weights contradict each other; fetch the model again");
    return NULL;
}

static void bind_mlp(binder *b, asc_encoder_layer *w) {
    const asc_encoder_names *n = b->names;
    const asc_encoder_config *c = &b->e->cfg;
    const int64_t d = c->d_model, f = c->d_ff;
    const bool apart = c->gated && n->gate != NULL && !c->gate_in_up;
    if (c->plan[b->number].moe) {
        w->router = bind(b, n->router, true, ".weight", true, c->n_experts, d);
        w->up_exps = bind_stack(b, n->up_exps, f, d);
        w->down_exps =
            c->down_by_rows ? bind_stack(b, n->down_exps, f, d) : bind_stack(b, n->down_exps, d, f);
        if (n->exps_bias != NULL) w->exps_bias = bind(b, n->exps_bias, true, "", true, 0, d);
        return;
    }
    if (apart) w->gate = bind_proj(b, n->gate, true, c->up_bias, f, d);
    w->up = bind_proj(b, !c->gated && n->plain_up != NULL ? n->plain_up : n->up, true, c->up_bias,
                      c->gated && !apart ? 2 * f : f, d);
    w->down = bind_proj(b, n->down, true, c->mlp_bias, d, f);
}

static void bind_layer(binder *b, asc_encoder_layer *w) {
    const asc_encoder_names *n = b->names;
    const asc_encoder_config *c = &b->e->cfg;
    int64_t d = c->d_model;
    bool first_without = c->pre_norm && b->number == 0; /* ModernBERT: the embeddings' norm stands for it */
    if (n->qkv != NULL && (n->q == NULL || stored(b, n->qkv, true))) {
        w->qkv = bind_proj(b, n->qkv, true, c->attn_bias && n->q_bias == NULL, 3 * d, d);
        if (n->q_bias != NULL) w->q_bias = bind(b, n->q_bias, true, "", true, 0, d);
        if (n->v_bias != NULL) w->v_bias = bind(b, n->v_bias, true, "", true, 0, d);
    } else {
        w->q = bind_proj(b, n->q, true, c->attn_bias, d, d);
        w->k = bind_proj(b, n->k, true, c->attn_bias, d, d);
        w->v = bind_proj(b, n->v, true, c->attn_bias, d, d);
    }
    if (c->deberta.on && !c->deberta.shared) {
        if (c->deberta.on_key) w->pos_k = bind_proj(b, n->pos_k, true, !c->family->by_head, d, d);
        if (c->deberta.on_query) w->pos_q = bind_proj(b, n->pos_q, true, true, d, d);
    }
    w->o = bind_proj(b, n->o, true, c->attn_bias, d, d);
    bind_mlp(b, w);
    w->attn_norm = bind_norm(b, n->attn_norm, true, !first_without, d);
    w->mlp_norm = bind_norm(b, n->mlp_norm, true, true, d);
    name_layer(b, w);
}

static void bind_ropes(binder *b) {
    asc_encoder *e = b->e;
    for (int k = 0; k < e->cfg.n_ropes && b->st == ASC_OK; k++) {
        int64_t half = e->cfg.rope[k].n_rot / 2;
        double mscale, *f = asc_calloc(b->ctx, ASC_MEM_WEIGHTS, (size_t)half + 1, sizeof *f);
        if (f == NULL) {
            b->st = ASC_RESOURCE_EXHAUSTED;
            return;
        }
        asc_rope_frequencies(&e->cfg.rope[k], NULL, f, &mscale);
        e->inv_freq[k] = own(b, asc_from_f64(b->ctx, ASC_SHAPE(half), f));
        asc_free(b->ctx, f);
    }
}

/* Masked language models: the last layer is the word table unless the file has one, and so is its bias
 * under one of two names. A file of the bare model has no head, whatever its config says. */
static void bind_words(binder *b) {
    asc_encoder *e = b->e;
    asc_encoder_config *c = &e->cfg;
    const asc_encoder_names *n = b->names;
    bool here, later;
    if (b->st != ASC_OK) return;
    here = stored(b, n->words_dense, false);
    later = n->later_dense != NULL && stored(b, n->later_dense, false);
    if (!here && !later) {
        c->head = ASC_HEAD_NONE;
        return;
    }
    if (!(c->later_words ? later : here)) {
        if (c->words_said) {
            b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT,
                             "'%s': legacy is %s, but the head of masked words is %s", b->g->path,
                             c->later_words ? "false" : "true", later ? n->later_bias : n->words_bias);
            asc_hint(b->ctx, "config.json and the weights are of different models; set legacy to %s",
                     later ? "false" : "true");
            return;
        }
        c->later_words = later; /* nobody said: the one that there is */
    }
    if (c->later_words) {
        e->head_dense = bind_proj(b, n->later_dense, false, true, c->d_model, c->d_model);
        e->head_norm = bind_norm(b, n->later_norm, false, true, c->d_model);
        e->head = (asc_proj){.w = e->embed, .b = bind(b, n->later_bias, false, ".bias", true, 0, c->n_vocab)};
        return;
    }
    e->head_dense = bind_proj(b, n->words_dense, false, c->head_bias, c->word_width, c->d_model);
    e->head_norm = bind_norm(b, n->words_norm, false, true, c->word_width);
    e->head.w = bind(b, n->words, false, ".weight", false, c->n_vocab, c->word_width);
    if (e->head.w == NULL) e->head.w = e->embed;
    e->head.b = bind(b, n->words, false, ".bias", false, 0, c->n_vocab);
    asc_tensor *other =
        n->words_bias != NULL ? bind(b, n->words_bias, false, ".bias", false, 0, c->n_vocab) : NULL;
    if (e->head.b == NULL) e->head.b = other;
}

static void bind_head(binder *b) {
    asc_encoder *e = b->e;
    const asc_encoder_config *c = &e->cfg;
    const asc_encoder_names *n = b->names;
    if (c->head == ASC_HEAD_NONE) return;
    if (c->head == ASC_HEAD_WORDS) {
        bind_words(b);
        return;
    }
    const bool tokens = c->head != ASC_HEAD_CLASSES;
    const char *norm = tokens ? n->token_norm : n->head_norm, *last = c->head == ASC_HEAD_SPAN ? n->span
                                                                      : c->head == ASC_HEAD_TOKENS
                                                                          ? "classifier"
                                                                          : n->head;
    if (c->has_head_dense)
        e->head_dense = bind_proj(b, tokens ? n->token_dense : n->head_dense, false, c->head_bias, c->d_model,
                                  c->d_model);
    if (norm != NULL) e->head_norm = bind_norm(b, norm, false, true, c->d_model);
    e->head = bind_proj(b, last, false, true, c->n_classes, c->d_model);
}

/* Layers behind pooling. */
static void bind_stages(binder *b) {
    const asc_encoder_config *c = &b->e->cfg;
    for (int i = 0; i < c->n_stages; i++) {
        const asc_embed_stage *s = &c->stages[i];
        if (s->dense) b->e->stages[i] = bind_proj(b, s->name, false, s->bias, s->out, s->in);
    }
}

/* Tensors without effect on what is computed: buffers, and heads that nothing asks for. */
static bool has_no_effect(const binder *b, asc_view name) {
    asc_view base = name;
    bool in_base = b->prefixed && asc_view_starts(name, asc_view_of(b->names->prefix));
    size_t n = strlen(b->names->prefix);
    if (in_base) base = asc_view_make(name.ptr + n, name.len - n);
    if (asc_view_eqs(base, "embeddings.position_ids") || asc_view_starts(base, asc_view_of("pooler.")))
        return true;
    if (b->e->cfg.family->deberta && !b->e->cfg.deberta.on &&
        (asc_view_starts(base, asc_view_of("encoder.rel_embeddings.")) ||
         asc_view_starts(base, asc_view_of("encoder.LayerNorm."))))
        return true; /* distances, which no score looks at */
    if (b->e->cfg.head == ASC_HEAD_WORDS && asc_view_starts(name, asc_view_of("cls.seq_relationship.")))
        return true;
    if (b->e->cfg.head == ASC_HEAD_WORDS && b->names->later_dense != NULL &&
        (asc_view_starts(name, asc_view_of("mask_predictions.")) ||
         asc_view_starts(name, asc_view_of(b->e->cfg.later_words ? "cls.predictions." : "lm_predictions."))))
        return true; /* the other head of two, and the one that tells replaced words */
    return b->e->cfg.head == ASC_HEAD_NONE &&
           ((b->prefixed && !in_base) || asc_view_starts(name, asc_view_of("cls.")) ||
            asc_view_starts(name, asc_view_of("lm_head.")));
}

static asc_status all_used(binder *b) {
    for (size_t i = 0; i < b->g->n; i++) {
        if (b->used[i] || has_no_effect(b, b->g->v[i].name)) continue;
        asc_view n = asc_view_cut(b->g->v[i].source, 100);
        ASC_FAIL(b->ctx, ASC_UNIMPLEMENTED, "'%s': tensor " ASC_VIEW_FMT " has no place in a %s model here",
                 b->g->path, ASC_VIEW_ARG(n), b->e->cfg.architecture);
        return asc_hint(b->ctx,
                        "ignoring it would change the numbers; this variant of the model is not supported");
    }
    return ASC_OK;
}

asc_status asc_encoder_load(asc_ctx *ctx, const asc_weights *g, asc_encoder_config *take_cfg,
                            asc_encoder *out) {
    *out = (asc_encoder){.ctx = ctx, .cfg = *take_cfg};
    const asc_encoder_config *c = &out->cfg;
    const asc_encoder_names *n = c->family->names;
    binder b = {.ctx = ctx, .g = g, .e = out, .names = n, .layer = -1};
    char word[200];
    *take_cfg = (asc_encoder_config){0};
    b.used = asc_calloc(ctx, ASC_MEM_GENERAL, g->n + 1, sizeof *b.used);
    out->layers = asc_calloc(ctx, ASC_MEM_WEIGHTS, (size_t)c->n_layers, sizeof *out->layers);
    if (b.used == NULL || out->layers == NULL) b.st = ASC_RESOURCE_EXHAUSTED;
    asc_scope_begin(ctx); /* weights are held by `owned`, not by a scope */
    snprintf(word, sizeof word, "%s%s.weight", n->prefix, n->word);
    b.prefixed = asc_weights_find(g, word) != NULL;
    out->embed = bind(&b, n->word, true, ".weight", true, c->n_vocab, c->word_width);
    if (n->position != NULL && c->n_positions > 0)
        out->positions = bind(&b, n->position, true, ".weight", true, c->n_positions, c->word_width);
    if (n->type != NULL && c->n_types > 0)
        out->types = bind(&b, n->type, true, ".weight", true, c->n_types, c->word_width);
    if (n->relative != NULL && c->n_buckets > 0)
        out->relative = bind(&b, n->relative, true, ".weight", true, c->n_buckets, c->n_heads);
    if (c->deberta.on) {
        out->relative = bind(&b, n->relative, true, ".weight", true, 2 * c->deberta.span, c->d_model);
        if (c->deberta.normed) out->relative_norm = bind_norm(&b, n->relative_norm, true, true, c->d_model);
    }
    out->embed_norm = bind_norm(&b, n->embed_norm, true, true, c->word_width);
    out->final_norm = bind_norm(&b, n->final_norm, true, true, c->d_model);
    if (n->project != NULL && (c->family->grouped || c->word_width < c->d_model))
        out->project = bind_proj(&b, n->project, true, true, c->d_model, c->word_width);
    bind_ropes(&b);
    for (int64_t l = 0; l < c->n_layers && b.st == ASC_OK; l++) {
        const int64_t inner = c->n_groups > 0 ? c->n_inner : 1, at = l / inner;
        const double each = (double)(c->n_layers / inner) / (double)(c->n_groups > 0 ? c->n_groups : 1);
        b.layer = c->n_groups > 0 ? (int64_t)((double)at / each) : l;
        b.inner = l % inner;
        b.number = l;
        bind_layer(&b, &out->layers[l]);
    }
    b.layer = -1;
    bind_head(&b);
    bind_stages(&b);
    asc_status st = b.st == ASC_OK ? all_used(&b) : b.st;
    st = asc_scope_close(ctx, st);
    asc_free(ctx, b.used);
    if (st != ASC_OK) asc_encoder_unload(out);
    return st;
}

void asc_encoder_unload(asc_encoder *e) {
    asc_owned_release(e->ctx, &e->owned);
    if (e->ctx != NULL) {
        asc_free(e->ctx, e->layers);
        asc_encoder_config_deinit(e->ctx, &e->cfg);
    }
    *e = (asc_encoder){0};
}
