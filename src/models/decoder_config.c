/* decoder_config.c - table of model families, and what a GGUF file's metadata says about one.
 * Facts about families: docs/formats/gguf.md. */
#include "decoder.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

typedef struct family {
    const char *name; /* general.architecture */
    bool interleaved, post_norms, embed_scale /* sqrt(D) */, alternate_window /* on layers 0, 2, 4, ... */;
    asc_qk_norm qk_norm;
    asc_mlp_act act;
} family;

static const family families[] = {
    {.name = "llama", .interleaved = true, .act = ASC_MLP_SILU},
    {.name = "qwen2", .act = ASC_MLP_SILU},
    {.name = "qwen3", .qk_norm = ASC_QK_NORM_HEAD, .act = ASC_MLP_SILU},
    {.name = "gemma2",
     .post_norms = true,
     .embed_scale = true,
     .alternate_window = true,
     .act = ASC_MLP_GELU_TANH},
};

static const family *family_find(asc_view name) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (asc_view_eqs(name, families[i].name)) return &families[i];
    }
    return NULL;
}

const char *asc_family_names(void) { return "llama, qwen2, qwen3, gemma2"; }

void asc_decoder_config_deinit(asc_ctx *ctx, asc_decoder_config *c) {
    asc_free(ctx, c->plan);
    c->plan = NULL;
}

typedef struct meta {
    asc_ctx *ctx;
    const asc_gguf *g;
    const char *arch;
    char key[128];
} meta;

static const char *key_of(meta *m, const char *suffix) {
    snprintf(m->key, sizeof m->key, "%s.%s", m->arch, suffix);
    return m->key;
}

/* A count in [1, most]; fallback 0 = the key is required. */
static asc_status count(meta *m, const char *suffix, uint64_t fallback, uint64_t most, int64_t *out) {
    uint64_t v = 0;
    const char *k = key_of(m, suffix);
    asc_status st = fallback == 0 ? asc_gguf_get_u64(m->ctx, m->g, k, &v)
                                  : asc_gguf_get_u64_or(m->ctx, m->g, k, fallback, &v);
    if (st != ASC_OK) return st;
    if (v < 1 || v > most)
        return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s is %llu; expected 1 to %llu",
                        asc_gguf_name(m->g), k, (unsigned long long)v, (unsigned long long)most);
    *out = (int64_t)v;
    return ASC_OK;
}

/* A number in [lo, hi]; fallback NAN = the key is required. */
static asc_status number(meta *m, const char *suffix, double fallback, double lo, double hi, double *out) {
    const char *k = key_of(m, suffix);
    asc_status st = isnan(fallback) ? asc_gguf_get_f64(m->ctx, m->g, k, out)
                                    : asc_gguf_get_f64_or(m->ctx, m->g, k, fallback, out);
    if (st != ASC_OK) return st;
    if (!(*out >= lo && *out <= hi)) {
        ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s is %g; expected %g to %g", asc_gguf_name(m->g), k,
                 *out, lo, hi);
        return asc_hint(
            m->ctx, "the file's metadata is damaged or was written by a faulty converter; fetch it again");
    }
    return ASC_OK;
}

static asc_status rope_config(meta *m, asc_decoder_config *c) {
    asc_rope_config *r = &c->rope[0];
    asc_view type;
    double legacy;
    int64_t original;
    asc_status st = ASC_OK;
    ASC_TRY(count(m, "rope.dimension_count", (uint64_t)c->head_dim, (uint64_t)c->head_dim, &r->n_rot));
    if (r->n_rot % 2 != 0)
        return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s.rope.dimension_count is %lld, not even",
                        asc_gguf_name(m->g), m->arch, (long long)r->n_rot);
    ASC_TRY(number(m, "rope.freq_base", 10000.0, 1.000001, 1e12, &r->base));
    ASC_TRY(asc_gguf_get_str_or(m->ctx, m->g, key_of(m, "rope.scaling.type"), asc_view_of("none"), &type));
    ASC_TRY(number(m, "rope.scale_linear", 1.0, 1e-3, 1e6, &legacy));
    r->factor = legacy;
    r->scaling = legacy > 1.0 || legacy < 1.0 ? ASC_ROPE_LINEAR : ASC_ROPE_NONE;
    if (asc_view_eqs(type, "linear") || asc_view_eqs(type, "yarn")) {
        r->scaling = asc_view_eqs(type, "yarn") ? ASC_ROPE_YARN : ASC_ROPE_LINEAR;
        ASC_TRY(number(m, "rope.scaling.factor", legacy, 1e-3, 1e6, &r->factor));
    } else if (!asc_view_eqs(type, "none")) {
        asc_view t = asc_view_cut(type, 40);
        ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED, "'%s': rope scaling '" ASC_VIEW_FMT "' is not supported",
                 asc_gguf_name(m->g), ASC_VIEW_ARG(t));
        return asc_hint(m->ctx, "supported: none, linear, yarn, and llama3 as rope_freqs.weight");
    }
    ASC_TRY(
        count(m, "rope.scaling.original_context_length", (uint64_t)c->context, (uint64_t)1 << 40, &original));
    r->original_context = (double)original;
    ASC_TRY(number(m, "rope.scaling.yarn_beta_fast", 32.0, 1e-6, 1e6, &r->beta_fast));
    ASC_TRY(number(m, "rope.scaling.yarn_beta_slow", 1.0, 1e-6, 1e6, &r->beta_slow));
    ASC_TRY(number(m, "rope.scaling.attn_factor", 1.0, 1e-6, 1e6, &r->attn_factor));
done:
    return st;
}

/* Features that these families can have in a file and that would change every number if ignored. */
static asc_status refuse_unknown(meta *m) {
    static const char *const counts[] = {"expert_count", "expert_used_count"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t v;
        asc_status st = asc_gguf_get_u64_or(m->ctx, m->g, key_of(m, counts[i]), 0, &v);
        if (st != ASC_OK) return st;
        if (v > 0)
            return ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED,
                            "'%s': %s is %llu: mixture-of-experts models are not supported",
                            asc_gguf_name(m->g), m->key, (unsigned long long)v);
    }
    double v;
    asc_status st = asc_gguf_get_f64_or(m->ctx, m->g, key_of(m, "attention.clamp_kqv"), 0.0, &v);
    if (st == ASC_OK && (v > 0.0 || v < 0.0))
        st = ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED, "'%s': %s is not supported", asc_gguf_name(m->g), m->key);
    return st;
}

static asc_status vocab_size(meta *m, asc_decoder_config *c) {
    const asc_gguf_tensor *e = asc_gguf_tensor_find(m->g, "token_embd.weight");
    if (e == NULL || e->rank != 2)
        return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT,
                        "'%s': tensor token_embd.weight is missing or not a matrix", asc_gguf_name(m->g));
    c->n_vocab = e->dims[0];
    return ASC_OK;
}

asc_status asc_decoder_configure(asc_ctx *ctx, const asc_gguf *g, asc_decoder_config *out) {
    asc_status st = ASC_OK;
    asc_view arch;
    asc_decoder_config c = {0};
    meta m = {.ctx = ctx, .g = g};
    int64_t kl, vl, win = 0;
    ASC_TRY(asc_gguf_get_str(ctx, g, "general.architecture", &arch));
    const family *f = family_find(arch);
    if (f == NULL) {
        asc_view a = asc_view_cut(arch, 60);
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "'%s': architecture '" ASC_VIEW_FMT "' is not supported",
                 asc_gguf_name(g), ASC_VIEW_ARG(a));
        return asc_hint(ctx, "supported architectures: %s", asc_family_names());
    }
    m.arch = f->name;
    c.architecture = f->name;
    c.rope_interleaved = f->interleaved;
    c.pre_norms = true;
    c.post_norms = f->post_norms;
    c.qk_norm = f->qk_norm;
    c.act = f->act;
    c.gated = true;
    c.n_ropes = 1;
    ASC_TRY(refuse_unknown(&m));
    ASC_TRY(count(&m, "block_count", 0, 4096, &c.n_layers));
    ASC_TRY(count(&m, "embedding_length", 0, 1 << 20, &c.d_model));
    ASC_TRY(count(&m, "feed_forward_length", 0, 1 << 24, &c.d_ff));
    ASC_TRY(count(&m, "context_length", 0, (uint64_t)1 << 40, &c.context));
    ASC_TRY(count(&m, "attention.head_count", 0, 1 << 16, &c.n_heads));
    ASC_TRY(count(&m, "attention.head_count_kv", (uint64_t)c.n_heads, (uint64_t)c.n_heads, &c.n_kv));
    ASC_TRY(count(&m, "attention.key_length", c.d_model >= c.n_heads ? (uint64_t)(c.d_model / c.n_heads) : 1,
                  1 << 16, &kl));
    ASC_TRY(count(&m, "attention.value_length", (uint64_t)kl, 1 << 16, &vl));
    if (c.n_heads % c.n_kv != 0)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s': %lld heads are not a multiple of %lld key heads",
                        asc_gguf_name(g), (long long)c.n_heads, (long long)c.n_kv);
    if (kl != vl)
        return ASC_FAIL(ctx, ASC_UNIMPLEMENTED,
                        "'%s': keys of %lld and values of %lld columns are not supported", asc_gguf_name(g),
                        (long long)kl, (long long)vl);
    c.head_dim = kl;
    c.attn_scale = 1.0 / sqrt((double)c.head_dim);
    ASC_TRY(number(&m, "attention.layer_norm_rms_epsilon", (double)NAN, 0.0, 1.0, &c.eps));
    ASC_TRY(number(&m, "attn_logit_softcapping", 0.0, 0.0, 1e6, &c.attn_cap));
    ASC_TRY(number(&m, "final_logit_softcapping", 0.0, 0.0, 1e6, &c.final_cap));
    if (asc_gguf_kv_find(g, key_of(&m, "attention.sliding_window")) != NULL) {
        uint64_t w;
        ASC_TRY(asc_gguf_get_u64(ctx, g, key_of(&m, "attention.sliding_window"), &w));
        win = w > (uint64_t)c.context ? 0 : (int64_t)w; /* 0 and more than the context both mean: no window */
    }
    ASC_TRY(rope_config(&m, &c));
    ASC_TRY(vocab_size(&m, &c));
    if (f->embed_scale) c.embed_scale = sqrt((double)c.d_model);
    c.plan = asc_calloc(ctx, ASC_MEM_WEIGHTS, (size_t)c.n_layers, sizeof *c.plan);
    if (c.plan == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (int64_t l = 0; l < c.n_layers; l++) c.plan[l].window = f->alternate_window && l % 2 == 1 ? 0 : win;
    *out = c;
done:
    return st;
}
