/* decoder_weights.c - binds the tensors of a GGUF file to a decoder. Every tensor is checked for its shape
 * and must be used: one that the family does not know would change the numbers silently, so it is refused by
 * name. */
#include "decoder.h"
#include "exec.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

typedef struct binder {
    asc_ctx *ctx;
    const asc_weights *g;
    asc_decoder *d;
    bool expand;
    asc_status st;
    bool *used; /* by tensor index */
    int64_t layer;
} binder;

static asc_tensor *own(binder *b, asc_tensor *t) {
    asc_decoder *d = b->d;
    if (asc_tensor_poisoned(t)) {
        b->st = asc_graph_take_error(asc_graph_of(b->ctx));
        return NULL;
    }
    b->st = asc_grow(b->ctx, ASC_MEM_WEIGHTS, (void **)&d->owned, &d->cap_owned, d->n_owned + 1,
                     sizeof *d->owned);
    if (b->st != ASC_OK) return NULL;
    asc_tensor_retain(t);
    d->owned[d->n_owned++] = t;
    return t;
}

/* Only layouts the kernels read: matrices in any type that expands, vectors in f32. */
static asc_status check_type(binder *b, const asc_weight *t) {
    asc_view n = asc_view_cut(t->name, 100);
    if (t->rank == 1 ? t->dtype == ASC_DTYPE_F32 : asc_dtype_expand(t->dtype) != NULL) return ASC_OK;
    return ASC_FAIL(b->ctx, ASC_UNIMPLEMENTED,
                    "'%s': tensor " ASC_VIEW_FMT " is stored as %s, which is not supported here", b->g->path,
                    ASC_VIEW_ARG(n), asc_dtype_of(t->dtype)->name);
}

/* rows == 0: a vector of cols. Returns NULL when optional and absent, or after an error. */
static asc_tensor *bind(binder *b, const char *name, bool required, int64_t rows, int64_t cols) {
    if (b->st != ASC_OK) return NULL;
    char full[160];
    if (b->layer >= 0) {
        snprintf(full, sizeof full, "blk.%lld.%s", (long long)b->layer, name);
    } else {
        snprintf(full, sizeof full, "%s", name);
    }
    const asc_weight *t = asc_weights_find(b->g, full);
    if (t == NULL) {
        if (required) {
            b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT, "'%s': tensor %s is missing", b->g->path, full);
            asc_hint(b->ctx, "the file is incomplete or not a %s model", b->d->cfg.architecture);
        }
        return NULL;
    }
    b->used[t - b->g->v] = true;
    if ((b->st = check_type(b, t)) != ASC_OK) return NULL;
    bool ok = rows == 0 ? t->rank == 1 && t->dims[0] == cols
                        : t->rank == 2 && t->dims[0] == rows && t->dims[1] == cols;
    asc_shape shape = {.rank = t->rank};
    for (int i = 0; i < t->rank; i++) shape.dims[i] = t->dims[i];
    if (!ok) {
        char text[128];
        b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT,
                         "'%s': tensor %s has shape %s; the metadata asks for [%lld%s%lld]", b->g->path, full,
                         asc_shape_text(&shape, text), (long long)(rows > 0 ? rows : cols),
                         rows > 0 ? "," : "", (long long)(rows > 0 ? cols : 0));
        return NULL;
    }
    asc_tensor *w = asc_from_stored(b->ctx, t->dtype, shape, t->data);
    if (b->expand && t->rank == 2 && t->dtype != ASC_DTYPE_F32) {
        w = asc_cast(b->ctx, w, ASC_DTYPE_F32);
        if ((b->st = asc_run(b->ctx, &w, 1)) != ASC_OK) return NULL;
        asc_tensor_detach(w);
    }
    return own(b, w);
}

static asc_norm bind_norm(binder *b, const char *name, bool wanted, int64_t cols) {
    char bias[64], weight[64];
    asc_norm n = {0};
    if (!wanted) return n;
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    n.w = bind(b, weight, true, 0, cols);
    if (b->d->cfg.norm == ASC_NORM_LAYER) n.b = bind(b, bias, true, 0, cols);
    return n;
}

static asc_proj bind_proj(binder *b, const char *name, bool required, int64_t out, int64_t in) {
    char bias[64], weight[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    asc_proj p = {.w = bind(b, weight, required, out, in)};
    if (p.w != NULL) p.b = bind(b, bias, false, 0, out);
    if (p.b != NULL) b->d->has_bias = true;
    return p;
}

static void bind_layer(binder *b, asc_layer *l) {
    const asc_decoder_config *c = &b->d->cfg;
    int64_t dq = c->n_heads * c->head_dim, dk = c->n_kv * c->head_dim, d = c->d_model;
    bool head = c->qk_norm == ASC_QK_NORM_HEAD, any = c->qk_norm != ASC_QK_NORM_NONE;
    l->attn_norm = bind_norm(b, "attn_norm", c->pre_norms, d);
    l->qkv = bind_proj(b, "attn_qkv", false, dq + 2 * dk, d);
    if (l->qkv.w == NULL) {
        l->q = bind_proj(b, "attn_q", true, dq, d);
        l->k = bind_proj(b, "attn_k", true, dk, d);
        l->v = bind_proj(b, "attn_v", true, dk, d);
    }
    l->q_norm = bind_norm(b, "attn_q_norm", any, head ? c->head_dim : dq);
    l->k_norm = bind_norm(b, "attn_k_norm", any, head ? c->head_dim : dk);
    l->o = bind_proj(b, "attn_output", true, d, dq);
    l->ffn_norm = bind_norm(b, "ffn_norm", c->pre_norms, d);
    if (c->gated) l->gate = bind_proj(b, "ffn_gate", true, c->d_ff, d);
    l->up = bind_proj(b, "ffn_up", true, c->d_ff, d);
    l->down = bind_proj(b, "ffn_down", true, d, c->d_ff);
    l->attn_post_norm = bind_norm(b, "post_attention_norm", c->post_norms, d);
    l->ffn_post_norm = bind_norm(b, "post_ffw_norm", c->post_norms, d);
}

static void bind_rope(binder *b) {
    asc_decoder *d = b->d;
    const asc_rope_config *rope = &d->cfg.rope[0];
    int64_t half = rope->n_rot / 2;
    if (b->st != ASC_OK) return;
    double *f = asc_calloc(b->ctx, ASC_MEM_WEIGHTS, (size_t)half * 2, sizeof *f);
    if (f == NULL) {
        b->st = ASC_RESOURCE_EXHAUSTED;
        return;
    }
    const double *divide = rope->divide;
    const asc_weight *t = asc_weights_find(b->g, "rope_freqs.weight");
    if (t != NULL && bind(b, "rope_freqs.weight", true, 0, half) != NULL) {
        for (int64_t i = 0; i < half; i++) f[half + i] = (double)((const float *)t->data)[i];
        divide = f + half;
    }
    for (int64_t i = 0; divide != NULL && i < half; i++) {
        if (divide[i] > 0.0) continue;
        b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT,
                         "'%s': rope_freqs.weight[%lld] is %g; expected more than 0", b->g->path,
                         (long long)i, divide[i]);
    }
    if (b->st == ASC_OK) {
        asc_rope_frequencies(rope, divide, f, &d->mscale[0]);
        for (int64_t i = 0; i < half && b->st == ASC_OK;
             i++) { /* an angle must stay a number at any position */
            if (isfinite((float)(f[i] * (double)d->cfg.context))) continue;
            b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT,
                             "'%s': the rotary frequency %lld is %g, too large for %lld positions "
                             "(rope_freqs.weight, rope.freq_base, rope.scaling.factor)",
                             b->g->path, (long long)i, f[i], (long long)d->cfg.context);
        }
    }
    if (b->st == ASC_OK) d->inv_freq[0] = own(b, asc_from_f64(b->ctx, ASC_SHAPE(half), f));
    asc_free(b->ctx, f);
}

static asc_status all_used(binder *b) {
    for (size_t i = 0; i < b->g->n; i++) {
        if (b->used[i]) continue;
        asc_view n = asc_view_cut(b->g->v[i].source, 100);
        ASC_FAIL(b->ctx, ASC_UNIMPLEMENTED, "'%s': tensor " ASC_VIEW_FMT " has no place in a %s model here",
                 b->g->path, ASC_VIEW_ARG(n), b->d->cfg.architecture);
        return asc_hint(
            b->ctx,
            "ignoring it would change the numbers; this variant of the architecture is not supported");
    }
    return ASC_OK;
}

/* Labels of the layer's ops, for profiles, messages and precision by site. */
static void name_layer(binder *b, asc_layer *w) {
    char text[64];
    snprintf(text, sizeof text, "blocks.%lld.attn", (long long)b->layer);
    w->attn_label = asc_label_intern(b->ctx, text);
    snprintf(text, sizeof text, "blocks.%lld.mlp", (long long)b->layer);
    w->mlp_label = asc_label_intern(b->ctx, text);
    if (b->st == ASC_OK && (w->attn_label == NULL || w->mlp_label == NULL)) b->st = ASC_RESOURCE_EXHAUSTED;
}

asc_status asc_decoder_load(asc_ctx *ctx, const asc_weights *g, asc_decoder_config *take_cfg, bool expand,
                            asc_decoder *out) {
    *out = (asc_decoder){.ctx = ctx, .cfg = *take_cfg};
    asc_status st = ASC_OK;
    const asc_decoder_config *c = &out->cfg;
    binder b = {.ctx = ctx, .g = g, .d = out, .expand = expand, .layer = -1};
    *take_cfg = (asc_decoder_config){0};
    b.used = asc_calloc(ctx, ASC_MEM_GENERAL, g->n + 1, sizeof *b.used);
    out->layers = asc_calloc(ctx, ASC_MEM_WEIGHTS, (size_t)c->n_layers, sizeof *out->layers);
    if (b.used == NULL || out->layers == NULL) b.st = ASC_RESOURCE_EXHAUSTED;
    asc_scope_begin(ctx); /* weights are held by `owned`, not by a scope */
    out->embed = bind(&b, "token_embd.weight", true, c->n_vocab, c->d_model);
    out->out_norm = bind_norm(&b, "output_norm", true, c->d_model);
    out->head = bind_proj(&b, "output", false, c->n_vocab, c->d_model);
    if (out->head.w == NULL) out->head.w = out->embed;
    bind_rope(&b);
    for (int64_t l = 0; l < c->n_layers && b.st == ASC_OK; l++) {
        b.layer = l;
        bind_layer(&b, &out->layers[l]);
        name_layer(&b, &out->layers[l]);
    }
    st = b.st == ASC_OK ? all_used(&b) : b.st;
    st = asc_scope_close(ctx, st);
    asc_free(ctx, b.used);
    return st;
}

void asc_decoder_unload(asc_decoder *d) {
    for (size_t i = 0; i < d->n_owned; i++) asc_tensor_release(d->owned[i]);
    if (d->ctx != NULL) {
        asc_free(d->ctx, d->owned);
        asc_free(d->ctx, d->layers);
        asc_decoder_config_deinit(d->ctx, &d->cfg);
    }
    *d = (asc_decoder){0};
}

asc_status asc_decoder_check_finite(asc_ctx *ctx, const asc_weights *g) {
    float tmp[1024]; /* a multiple of every block size */
    for (size_t i = 0; i < g->n; i++) {
        const asc_weight *t = &g->v[i];
        asc_expand_fn expand = asc_dtype_expand(t->dtype);
        int64_t n = 1;
        for (int k = 0; k < t->rank; k++) n *= t->dims[k];
        for (int64_t at = 0; expand != NULL && at < n; at += 1024) {
            int64_t m = n - at < 1024 ? n - at : 1024;
            size_t skip = 0;
            (void)asc_dtype_bytes(t->dtype, at, &skip);
            expand((const char *)t->data + skip, tmp, m);
            for (int64_t k = 0; k < m; k++) {
                if (isfinite(tmp[k])) continue;
                asc_view name = asc_view_cut(t->name, 100);
                ASC_FAIL(ctx, ASC_DATA_LOSS, "'%s': tensor " ASC_VIEW_FMT " holds %s at element %lld",
                         g->path, ASC_VIEW_ARG(name), isnan(tmp[k]) ? "NaN" : "infinity",
                         (long long)(at + k));
                return asc_hint(ctx, "the file is damaged; fetch it again");
            }
        }
    }
    return ASC_OK;
}
