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
    const asc_gguf *g;
    asc_decoder *d;
    bool expand;
    asc_status st;
    bool *used; /* by tensor index */
    int64_t layer;
} binder;

static size_t index_of(const asc_gguf *g, const asc_gguf_tensor *t) {
    size_t n = asc_gguf_tensor_count(g);
    for (size_t i = 0; i < n; i++) {
        if (asc_gguf_tensor_at(g, i) == t) return i;
    }
    return 0;
}

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
static asc_status check_type(binder *b, const asc_gguf_tensor *t) {
    asc_view n = asc_view_cut(t->name, 100);
    if (t->rank == 1 ? t->dtype == ASC_DTYPE_F32 : asc_dtype_expand(t->dtype) != NULL) return ASC_OK;
    return ASC_FAIL(b->ctx, ASC_UNIMPLEMENTED,
                    "'%s': tensor " ASC_VIEW_FMT " is stored as %s, which is not supported here",
                    asc_gguf_name(b->g), ASC_VIEW_ARG(n), asc_dtype_of(t->dtype)->name);
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
    const asc_gguf_tensor *t = asc_gguf_tensor_find(b->g, full);
    if (t == NULL) {
        if (required) {
            b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT, "'%s': tensor %s is missing", asc_gguf_name(b->g),
                             full);
            asc_hint(b->ctx, "the file is incomplete or not a %s model", b->d->cfg.family->name);
        }
        return NULL;
    }
    b->used[index_of(b->g, t)] = true;
    if ((b->st = check_type(b, t)) != ASC_OK) return NULL;
    bool ok = rows == 0 ? t->rank == 1 && t->dims[0] == cols
                        : t->rank == 2 && t->dims[0] == rows && t->dims[1] == cols;
    asc_shape shape = {.rank = t->rank};
    for (int i = 0; i < t->rank; i++) shape.dims[i] = t->dims[i];
    if (!ok) {
        char text[128];
        b->st = ASC_FAIL(
            b->ctx, ASC_INVALID_ARGUMENT, "'%s': tensor %s has shape %s; the metadata asks for [%lld%s%lld]",
            asc_gguf_name(b->g), full, asc_shape_text(&shape, text), (long long)(rows > 0 ? rows : cols),
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

static void bind_layer(binder *b, asc_layer *l) {
    const asc_decoder_config *c = &b->d->cfg;
    int64_t dq = c->n_heads * c->head_dim, dk = c->n_kv * c->head_dim, d = c->d_model;
    l->attn_norm = bind(b, "attn_norm.weight", true, 0, d);
    l->wq = bind(b, "attn_q.weight", true, dq, d);
    l->wk = bind(b, "attn_k.weight", true, dk, d);
    l->wv = bind(b, "attn_v.weight", true, dk, d);
    l->bq = bind(b, "attn_q.bias", false, 0, dq);
    l->bk = bind(b, "attn_k.bias", false, 0, dk);
    l->bv = bind(b, "attn_v.bias", false, 0, dk);
    if (c->family->qk_norm) {
        l->q_norm = bind(b, "attn_q_norm.weight", true, 0, c->head_dim);
        l->k_norm = bind(b, "attn_k_norm.weight", true, 0, c->head_dim);
    }
    l->wo = bind(b, "attn_output.weight", true, d, dq);
    l->bo = bind(b, "attn_output.bias", false, 0, d);
    l->ffn_norm = bind(b, "ffn_norm.weight", true, 0, d);
    l->w_gate = bind(b, "ffn_gate.weight", true, c->d_ff, d);
    l->w_up = bind(b, "ffn_up.weight", true, c->d_ff, d);
    l->w_down = bind(b, "ffn_down.weight", true, d, c->d_ff);
    if (c->family->post_norms) {
        l->attn_post_norm = bind(b, "post_attention_norm.weight", true, 0, d);
        l->ffn_post_norm = bind(b, "post_ffw_norm.weight", true, 0, d);
    }
    if (l->bq != NULL || l->bk != NULL || l->bv != NULL || l->bo != NULL) b->d->has_bias = true;
}

static void bind_rope(binder *b) {
    asc_decoder *d = b->d;
    int64_t half = d->cfg.rope.n_rot / 2;
    if (b->st != ASC_OK) return;
    double *f = asc_alloc(b->ctx, ASC_MEM_WEIGHTS, (size_t)half * sizeof *f);
    if (f == NULL) {
        b->st = ASC_RESOURCE_EXHAUSTED;
        return;
    }
    const float *divide = NULL;
    const asc_gguf_tensor *t = asc_gguf_tensor_find(b->g, "rope_freqs.weight");
    if (t != NULL && bind(b, "rope_freqs.weight", true, 0, half) != NULL) {
        divide = t->data;
        for (int64_t i = 0; i < half; i++) {
            if (!(divide[i] > 0.0f)) {
                b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT,
                                 "'%s': rope_freqs.weight[%lld] is %g; expected more than 0",
                                 asc_gguf_name(b->g), (long long)i, (double)divide[i]);
            }
        }
    }
    if (b->st == ASC_OK) {
        asc_rope_frequencies(&d->cfg.rope, divide, f, &d->mscale);
        for (int64_t i = 0; i < half && b->st == ASC_OK;
             i++) { /* an angle must stay a number at any position */
            if (isfinite((float)(f[i] * (double)d->cfg.context))) continue;
            b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT,
                             "'%s': the rotary frequency %lld is %g, too large for %lld positions "
                             "(rope_freqs.weight, rope.freq_base, rope.scaling.factor)",
                             asc_gguf_name(b->g), (long long)i, f[i], (long long)d->cfg.context);
        }
    }
    if (b->st == ASC_OK) {
        d->inv_freq = own(b, asc_from_f64(b->ctx, ASC_SHAPE(half), f));
    }
    asc_free(b->ctx, f);
}

static asc_status all_used(binder *b) {
    for (size_t i = 0; i < asc_gguf_tensor_count(b->g); i++) {
        if (b->used[i]) continue;
        asc_view n = asc_view_cut(asc_gguf_tensor_at(b->g, i)->name, 100);
        ASC_FAIL(b->ctx, ASC_UNIMPLEMENTED, "'%s': tensor " ASC_VIEW_FMT " has no place in a %s model here",
                 asc_gguf_name(b->g), ASC_VIEW_ARG(n), b->d->cfg.family->name);
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

asc_status asc_decoder_load(asc_ctx *ctx, const asc_gguf *g, bool expand, asc_decoder *out) {
    *out = (asc_decoder){.ctx = ctx};
    asc_status st = asc_decoder_configure(ctx, g, &out->cfg);
    if (st != ASC_OK) return st;
    const asc_decoder_config *c = &out->cfg;
    binder b = {.ctx = ctx, .g = g, .d = out, .expand = expand, .layer = -1};
    b.used = asc_calloc(ctx, ASC_MEM_GENERAL, asc_gguf_tensor_count(g) + 1, sizeof *b.used);
    out->layers = asc_calloc(ctx, ASC_MEM_WEIGHTS, (size_t)c->n_layers, sizeof *out->layers);
    if (b.used == NULL || out->layers == NULL) b.st = ASC_RESOURCE_EXHAUSTED;
    asc_scope_begin(ctx); /* weights are held by `owned`, not by a scope */
    out->embed = bind(&b, "token_embd.weight", true, c->n_vocab, c->d_model);
    out->out_norm = bind(&b, "output_norm.weight", true, 0, c->d_model);
    out->head = bind(&b, "output.weight", false, c->n_vocab, c->d_model);
    if (out->head == NULL) out->head = out->embed;
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
    }
    *d = (asc_decoder){0};
}

asc_status asc_decoder_check_finite(asc_ctx *ctx, const asc_gguf *g) {
    float tmp[1024]; /* a multiple of every block size */
    for (size_t i = 0; i < asc_gguf_tensor_count(g); i++) {
        const asc_gguf_tensor *t = asc_gguf_tensor_at(g, i);
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
                         asc_gguf_name(g), ASC_VIEW_ARG(name), isnan(tmp[k]) ? "NaN" : "infinity",
                         (long long)(at + k));
                return asc_hint(ctx, "the file is damaged; fetch it again");
            }
        }
    }
    return ASC_OK;
}
