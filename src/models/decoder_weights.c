/* decoder_weights.c - binds the tensors of a model file to a decoder. Every tensor is checked for its shape
 * and must be used: one that the family does not know would change the numbers silently, so it is refused by
 * name. */
#include "adapter.h"
#include "decoder_bind.h"
#include "exec.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

asc_tensor *asc_bind_own(asc_binder *b, asc_tensor *t) {
    return asc_owned_add(b->ctx, &b->d->owned, t, &b->st);
}

/* NULL when optional and absent, or after an error; otherwise the tensor is marked as used. */
const asc_weight *asc_bind_find(asc_binder *b, const char *name, bool required) {
    char full[160];
    if (b->st != ASC_OK) return NULL;
    if (b->layer >= 0) {
        snprintf(full, sizeof full, "blk.%lld.%s", (long long)b->layer, name);
    } else {
        snprintf(full, sizeof full, "%s", name);
    }
    const asc_weight *t = asc_weights_find(b->g, full);
    if (t != NULL) {
        b->used[t - b->g->v] = true;
    } else if (required) {
        b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT,
                         b->g->gguf != NULL ? "'%s': tensor %s is missing"
                                            : "'%s': the tensor called %s in GGUF files is missing",
                         b->g->path, full);
        asc_hint(b->ctx, "the file is incomplete or not a %s model", b->d->cfg.architecture);
    }
    return t;
}

static bool has(asc_binder *b, const char *name) {
    char full[160];
    snprintf(full, sizeof full, "blk.%lld.%s", (long long)b->layer, name);
    return asc_weights_find(b->g, full) != NULL;
}

bool asc_bind_fits(asc_binder *b, const asc_weight *t, asc_shape want) {
    asc_shape have = {.rank = t->rank};
    char text[2][128];
    asc_view n = asc_view_cut(t->source, 100);
    for (int i = 0; i < t->rank; i++) have.dims[i] = t->dims[i];
    if (!asc_shape_eq(&have, &want)) {
        b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT,
                         "'%s': tensor " ASC_VIEW_FMT " has shape %s; the %s asks for %s", b->g->path,
                         ASC_VIEW_ARG(n), asc_shape_text(&have, text[0]),
                         b->g->gguf != NULL ? "metadata" : "configuration", asc_shape_text(&want, text[1]));
    } else if (asc_dtype_expand(t->dtype) == NULL) {
        b->st = ASC_FAIL(b->ctx, ASC_UNIMPLEMENTED,
                         "'%s': tensor " ASC_VIEW_FMT " is stored as %s, which is not supported here",
                         b->g->path, ASC_VIEW_ARG(n), asc_dtype_of(t->dtype)->name);
    } else if (t->transposed && asc_dtype_of(t->dtype)->block_elems > 1) {
        b->st =
            ASC_FAIL(b->ctx, ASC_UNIMPLEMENTED,
                     "'%s': tensor " ASC_VIEW_FMT " is stored as %s by columns, which is not supported here",
                     b->g->path, ASC_VIEW_ARG(n), asc_dtype_of(t->dtype)->name);
    }
    return b->st == ASC_OK;
}

asc_tensor *asc_bind_stored(asc_binder *b, asc_dtype dtype, asc_shape shape, const void *data) {
    asc_tensor *w = asc_from_stored(b->ctx, dtype, shape, data);
    if (b->expand && dtype != ASC_DTYPE_F32) {
        w = asc_cast(b->ctx, w, ASC_DTYPE_F32);
        if ((b->st = asc_run(b->ctx, &w, 1)) != ASC_OK) return NULL;
        asc_tensor_detach(w);
    }
    return asc_bind_own(b, w);
}

/* Rows first .. first + rows - 1 of a matrix [all,cols] that is not transposed, without a copy. */
static asc_tensor *rows_of(asc_binder *b, const asc_weight *t, int64_t all, int64_t cols, int64_t first,
                           int64_t rows) {
    size_t skip = 0;
    if (!asc_bind_fits(b, t, ASC_SHAPE(all, cols)) || !asc_dtype_bytes(t->dtype, first * cols, &skip))
        return NULL;
    return asc_bind_stored(b, t->dtype, ASC_SHAPE(rows, cols), (const char *)t->data + skip);
}

/* Small parameters are kept as f32 (f64 on the reference device), each plus `add`: files hold them in f32,
 * f16 or bf16. */
static asc_tensor *vector_part(asc_binder *b, const asc_weight *t, int64_t all, int64_t first, int64_t n,
                               double add) {
    if (t == NULL || !asc_bind_fits(b, t, ASC_SHAPE(all))) return NULL;
    if (t->dtype == ASC_DTYPE_F32 && !(add > 0.0))
        return asc_bind_own(b,
                            asc_from_stored(b->ctx, t->dtype, ASC_SHAPE(n), (const float *)t->data + first));
    float *f = asc_calloc(b->ctx, ASC_MEM_WEIGHTS, (size_t)all, sizeof *f);
    double *v = asc_calloc(b->ctx, ASC_MEM_WEIGHTS, (size_t)n, sizeof *v);
    asc_tensor *out = NULL;
    if (f == NULL || v == NULL) {
        b->st = ASC_RESOURCE_EXHAUSTED;
    } else {
        asc_dtype_expand(t->dtype)(t->data, f, all);
        for (int64_t i = 0; i < n; i++) v[i] = (double)f[first + i] + add;
        out = asc_bind_own(b, asc_from_f64(b->ctx, ASC_SHAPE(n), v));
    }
    asc_free(b->ctx, f);
    asc_free(b->ctx, v);
    return out;
}

/* Norms of heads, each in a tensor of its own: NAME.0.weight and so on. */
static asc_norm bind_norms_of_heads(asc_binder *b, const char *name, int64_t heads) {
    const int64_t cols = b->d->cfg.head_dim;
    asc_norm out = {0};
    char one[64];
    float *f = asc_calloc(b->ctx, ASC_MEM_WEIGHTS, (size_t)cols, sizeof *f);
    double *v = asc_calloc(b->ctx, ASC_MEM_WEIGHTS, (size_t)(heads * cols), sizeof *v);
    if (f == NULL || v == NULL) b->st = ASC_RESOURCE_EXHAUSTED;
    for (int64_t h = 0; h < heads && b->st == ASC_OK; h++) {
        snprintf(one, sizeof one, "%s.%lld.weight", name, (long long)h);
        const asc_weight *t = asc_bind_find(b, one, true);
        if (t == NULL || !asc_bind_fits(b, t, ASC_SHAPE(cols))) break;
        asc_dtype_expand(t->dtype)(t->data, f, cols);
        for (int64_t i = 0; i < cols; i++) v[h * cols + i] = (double)f[i];
    }
    if (b->st == ASC_OK) out.w = asc_bind_own(b, asc_from_f64(b->ctx, ASC_SHAPE(heads, cols), v));
    asc_free(b->ctx, f);
    asc_free(b->ctx, v);
    return out;
}

/* Norms of heads with weights of their own [H,D]. */
static asc_norm bind_norm_each(asc_binder *b, const char *stem, int64_t heads) {
    const int64_t cols = b->d->cfg.head_dim;
    char name[64];
    snprintf(name, sizeof name, "%s.0.weight", stem);
    if (b->st == ASC_OK && has(b, name)) return bind_norms_of_heads(b, stem, heads);
    snprintf(name, sizeof name, "%s.weight", stem);
    const asc_weight *t = asc_bind_find(b, name, b->g->gguf == NULL); /* GGUF: large models only have them */
    if (t == NULL || !asc_bind_fits(b, t, ASC_SHAPE(heads, cols))) return (asc_norm){0};
    asc_weight flat = *t;
    flat.rank = 1;
    flat.dims[0] = heads * cols;
    asc_tensor *w = vector_part(b, &flat, heads * cols, 0, heads * cols, 0.0);
    return (asc_norm){.w =
                          w != NULL ? asc_bind_own(b, asc_reshape(b->ctx, w, ASC_SHAPE(heads, cols))) : NULL};
}

asc_tensor *asc_bind_vector(asc_binder *b, const char *name, bool required, int64_t n, double add) {
    return vector_part(b, asc_bind_find(b, name, required), n, 0, n, add);
}

asc_tensor *asc_bind_matrix(asc_binder *b, const char *name, bool required, int64_t rows, int64_t cols) {
    const asc_weight *t = asc_bind_find(b, name, required);
    return t != NULL ? rows_of(b, t, rows, cols, 0, rows) : NULL;
}

static asc_tensor *filled(asc_binder *b, int64_t n, double with) {
    double *v = asc_calloc(b->ctx, ASC_MEM_GENERAL, (size_t)n, sizeof *v);
    if (v == NULL) {
        b->st = ASC_RESOURCE_EXHAUSTED;
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) v[i] = with;
    asc_tensor *t = asc_bind_own(b, asc_from_f64(b->ctx, ASC_SHAPE(n), v));
    asc_free(b->ctx, v);
    return t;
}

static asc_norm bind_norm(asc_binder *b, const char *name, bool wanted, int64_t cols) {
    char bias[64], weight[64];
    asc_norm n = {0};
    if (!wanted) return n;
    if (b->d->cfg.bare_norms) {
        if (b->st == ASC_OK) n.w = filled(b, cols, 1.0);
        if (b->st == ASC_OK && b->d->cfg.norm == ASC_NORM_LAYER) n.b = filled(b, cols, 0.0);
        return n;
    }
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    n.w = asc_bind_vector(b, weight, true, cols, b->d->cfg.norm_plus_one ? 1.0 : 0.0);
    if (b->d->cfg.norm != ASC_NORM_LAYER) return n;
    n.b = asc_bind_vector(b, bias, false, cols, 0.0);
    if (n.b != NULL) b->d->has_bias = true;
    if (n.b == NULL && b->st == ASC_OK) n.b = filled(b, cols, 0.0); /* Cohere's have none; the op wants one */
    return n;
}

static void bind_bias(asc_binder *b, const char *name, int64_t n, asc_proj *p) {
    char bias[64];
    snprintf(bias, sizeof bias, "%s.bias", name);
    if (p->w != NULL) p->b = asc_bind_vector(b, bias, false, n, 0.0);
    if (p->b != NULL) b->d->has_bias = true;
}

static asc_proj bind_proj(asc_binder *b, const char *name, bool required, int64_t out, int64_t in) {
    char weight[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    const asc_weight *t = asc_bind_find(b, weight, required);
    asc_proj p = {.transposed = t != NULL && t->transposed};
    if (t == NULL) return p;
    p.w = p.transposed ? rows_of(b, t, in, out, 0, in) : rows_of(b, t, out, in, 0, out);
    bind_bias(b, name, out, &p);
    asc_bind_lora(b, weight, out, in, 0, out, &p);
    return p;
}

/* gate and up of one file tensor [2n,D], the gate's rows first (Phi-3). */
static void cut_gate(asc_binder *b, asc_layer *l, const char *stem, int64_t n) {
    const int64_t d = b->d->cfg.d_model;
    char name[64];
    snprintf(name, sizeof name, "%s.weight", stem);
    const asc_weight *t = asc_bind_find(b, name, true);
    if (t == NULL) return;
    l->gate.w = rows_of(b, t, 2 * n, d, 0, n);
    if (b->st == ASC_OK) l->up.w = rows_of(b, t, 2 * n, d, n, n);
    asc_bind_lora(b, name, 2 * n, d, 0, n, &l->gate);
    asc_bind_lora(b, name, 2 * n, d, n, n, &l->up);
    snprintf(name, sizeof name, "%s.bias", stem);
    t = asc_bind_find(b, name, false);
    l->gate.b = vector_part(b, t, 2 * n, 0, n, 0.0);
    l->up.b = vector_part(b, t, 2 * n, n, n, 0.0);
    if (l->up.b != NULL) b->d->has_bias = true;
}

/* One number of a file that has them in tensors. */
static double number_of(asc_binder *b, const char *name) {
    float v = 0.0f;
    const asc_weight *t = asc_bind_find(b, name, true);
    if (t != NULL && asc_bind_fits(b, t, ASC_SHAPE(1))) asc_dtype_expand(t->dtype)(t->data, &v, 1);
    return (double)v;
}

/* log(1 + e^x), which is x where e^x is large: files hold what it makes positive. */
static double softplus(double x) { return fmax(x, 0.0) + log1p(exp(-fabs(x))); }

static void bind_xielu(asc_binder *b, asc_layer *l) {
    l->xielu = b->d->cfg.plan[b->layer].xielu;
    if (b->g->gguf == NULL)
        l->xielu = (asc_xielu){number_of(b, "xielu.alpha_p"), number_of(b, "xielu.alpha_n"),
                               number_of(b, "xielu.beta"), number_of(b, "xielu.eps")};
    l->xielu.positive = softplus(l->xielu.positive);
    l->xielu.negative = softplus(l->xielu.negative) + l->xielu.beta;
}

/* [1,D], which GGUF files hold as [D]. */
static asc_tensor *bind_share(asc_binder *b, int64_t d) {
    const asc_weight *t = asc_bind_find(b, "ffn_gate_inp_shexp.weight", true);
    if (t == NULL) return NULL;
    asc_weight row = *t;
    if (row.rank == 1) {
        row.rank = 2;
        row.dims[1] = row.dims[0];
        row.dims[0] = 1;
    }
    return rows_of(b, &row, 1, d, 0, 1);
}

static void bind_mlp(asc_binder *b, asc_layer *l) {
    const asc_decoder_config *c = &b->d->cfg;
    int64_t d = c->d_model;
    if (c->plan[b->layer].moe) {
        asc_bind_experts(b, l);
        if (c->d_shared == 0) return;
        l->gate = bind_proj(b, "ffn_gate_shexp", false, c->d_shared, d);
        if (l->gate.w != NULL) {
            l->up = bind_proj(b, "ffn_up_shexp", true, c->d_shared, d);
        } else {
            cut_gate(b, l, "ffn_up_shexp", c->d_shared);
        }
        l->down = bind_proj(b, "ffn_down_shexp", true, d, c->d_shared);
        if (c->shared_gate) l->shared_gate = bind_share(b, d);
        return;
    }
    if (c->gated) l->gate = bind_proj(b, "ffn_gate", false, c->d_ff, d);
    if (c->gated && l->gate.w == NULL && b->st == ASC_OK) {
        cut_gate(b, l, "ffn_up", c->d_ff);
    } else {
        l->up = bind_proj(b, "ffn_up", true, c->d_ff, d);
    }
    l->down = bind_proj(b, "ffn_down", true, d, c->d_ff);
    if (c->xielu) bind_xielu(b, l);
}

static void bind_layer(asc_binder *b, asc_layer *l) {
    const asc_decoder_config *c = &b->d->cfg;
    int64_t dq = c->n_heads * c->head_dim, dk = c->n_kv * c->head_dim, d = c->d_model;
    bool head = c->qk_norm == ASC_QK_NORM_HEAD, each = c->qk_norm == ASC_QK_NORM_EACH,
         any = c->qk_norm != ASC_QK_NORM_NONE && c->qk_norm != ASC_QK_NORM_TURNED;
    const bool swapped = c->norms_swapped && has(b, "attn_norm_2.weight");
    const char *ffn_norm = swapped ? "attn_norm" : c->ffn_norm != NULL ? c->ffn_norm : "ffn_norm";
    l->attn_norm = bind_norm(b, swapped ? "attn_norm_2" : "attn_norm", c->pre_norms, d);
    l->qkv = bind_proj(b, "attn_qkv", false, dq + 2 * dk, d);
    if (l->qkv.w == NULL) {
        l->q = bind_proj(b, "attn_q", true, dq, d);
        l->k = bind_proj(b, "attn_k", true, dk, d);
        l->v = bind_proj(b, "attn_v", true, dk, d);
    }
    l->q_norm = each ? bind_norm_each(b, "attn_q_norm", c->n_heads)
                     : bind_norm(b, "attn_q_norm", any, head ? c->head_dim : dq);
    l->k_norm = each ? bind_norm_each(b, "attn_k_norm", c->n_kv)
                     : bind_norm(b, "attn_k_norm", any, head ? c->head_dim : dk);
    l->o = bind_proj(b, "attn_output", true, d, dq);
    if (c->sinks) l->sinks = asc_bind_vector(b, "attn_sinks.weight", true, c->n_heads, 0.0);
    /* a parallel block may have one norm for both halves (Cohere) */
    bool two = c->pre_norms && (c->block == ASC_BLOCK_SERIAL || swapped || has(b, "ffn_norm.weight"));
    l->ffn_norm = bind_norm(b, ffn_norm, two, d);
    bind_mlp(b, l);
    l->attn_post_norm = bind_norm(b, "post_attention_norm", c->post_norms, d);
    l->ffn_post_norm = bind_norm(b, "post_ffw_norm", c->post_norms, d);
}

/* A tensor of a layer behind the last. */
static bool is_extra(const asc_binder *b, asc_view name) {
    const asc_decoder_config *c = &b->d->cfg;
    char text[32];
    for (int64_t l = c->n_layers; l < c->n_layers + c->extra_layers; l++) {
        snprintf(text, sizeof text, "blk.%lld.", (long long)l);
        if (asc_view_starts(name, asc_view_of(text))) return true;
    }
    return false;
}

static asc_status all_used(asc_binder *b) {
    for (size_t i = 0; i < b->g->n; i++) {
        if (b->used[i] || is_extra(b, b->g->v[i].source)) continue;
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
static void name_layer(asc_binder *b, asc_layer *w) {
    char text[64];
    snprintf(text, sizeof text, "blocks.%lld.attn", (long long)b->layer);
    w->attn_label = asc_label_intern(b->ctx, text);
    snprintf(text, sizeof text, "blocks.%lld.mlp", (long long)b->layer);
    w->mlp_label = asc_label_intern(b->ctx, text);
    if (b->st == ASC_OK && (w->attn_label == NULL || w->mlp_label == NULL)) b->st = ASC_RESOURCE_EXHAUSTED;
}

asc_status asc_decoder_load(asc_ctx *ctx, const asc_weights *g, asc_decoder_config *take_cfg, bool expand,
                            struct asc_lora_set *lora, asc_decoder *out) {
    *out = (asc_decoder){.ctx = ctx, .cfg = *take_cfg};
    asc_status st = ASC_OK;
    const asc_decoder_config *c = &out->cfg;
    asc_binder b = {.ctx = ctx, .g = g, .d = out, .expand = expand, .lora = lora, .layer = -1};
    *take_cfg = (asc_decoder_config){0};
    b.used = asc_calloc(ctx, ASC_MEM_GENERAL, g->n + 1, sizeof *b.used);
    out->layers = asc_calloc(ctx, ASC_MEM_WEIGHTS, (size_t)c->n_layers, sizeof *out->layers);
    if (b.used == NULL || out->layers == NULL) b.st = ASC_RESOURCE_EXHAUSTED;
    asc_scope_begin(ctx); /* weights are held by `owned`, not by a scope */
    out->embed = asc_bind_matrix(&b, "token_embd.weight", true, c->n_vocab, c->d_model);
    if (c->positions == ASC_POSITIONS_LEARNED) {
        const int64_t skip = c->position_offset;
        const asc_weight *t = asc_bind_find(&b, "position_embd.weight", true);
        if (t != NULL) out->pos_embed = rows_of(&b, t, c->context + skip, c->d_model, skip, c->context);
        out->has_bias = true; /* what is added to every token does not shrink with the embedding */
    }
    out->embed_norm = bind_norm(&b, "token_embd_norm", c->embed_norm, c->d_model);
    out->out_norm = bind_norm(&b, "output_norm", true, c->d_model);
    out->head = bind_proj(&b, "output", false, c->n_vocab, c->d_model);
    if (out->head.w == NULL) {
        out->head.w = out->embed;
        bind_bias(&b, "output", c->n_vocab, &out->head);
        asc_bind_lora(&b, "output.weight", c->n_vocab, c->d_model, 0, c->n_vocab, &out->head);
    }
    if (c->positions == ASC_POSITIONS_ROTARY) asc_bind_ropes(&b);
    if (c->alibi > 0.0) asc_bind_slopes(&b);
    for (int64_t l = 0; l < c->n_layers && b.st == ASC_OK; l++) {
        b.layer = l;
        bind_layer(&b, &out->layers[l]);
        name_layer(&b, &out->layers[l]);
    }
    st = b.st == ASC_OK ? all_used(&b) : b.st;
    if (st == ASC_OK) st = asc_lora_all_used(lora, g->path);
    st = asc_scope_close(ctx, st);
    asc_free(ctx, b.used);
    return st;
}

void asc_decoder_unload(asc_decoder *d) {
    asc_owned_release(d->ctx, &d->owned);
    if (d->ctx != NULL) {
        for (size_t i = 0; i < d->n_copies; i++) asc_free(d->ctx, d->copies[i]);
        asc_free(d->ctx, d->copies);
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
                asc_view name = asc_view_cut(t->source, 100);
                ASC_FAIL(ctx, ASC_DATA_LOSS, "'%s': tensor " ASC_VIEW_FMT " holds %s at element %lld",
                         g->path, ASC_VIEW_ARG(name), isnan(tmp[k]) ? "NaN" : "infinity",
                         (long long)(at + k));
                return asc_hint(ctx, "the file is damaged; fetch it again");
            }
        }
    }
    return ASC_OK;
}
