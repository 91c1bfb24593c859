/* decoder_config.c - what a GGUF file's metadata says about a model of a family of the table in
 * decoder_families.c. Facts about families: docs/formats/gguf.md. */
#include "decoder_family.h"
#include "encoder_gguf.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

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

/* A number that stands for itself, or 0 when absent. */
static asc_status factor(meta *m, const char *suffix, double *out) {
    return number(m, suffix, 0.0, 0.0, 1e9, out);
}

/* How the frequencies of rope 0 are stretched. A factor without a type is linear, as in llama.cpp
 * (load_hparams, LLM_KV_ROPE_SCALING_TYPE). */
static asc_status rope_scaling(meta *m, const asc_family *f, asc_decoder_config *c, asc_rope_config *r) {
    asc_view type;
    double legacy, stretch, less;
    int64_t original;
    asc_status st = ASC_OK;
    ASC_TRY(asc_gguf_get_str_or(m->ctx, m->g, key_of(m, "rope.scaling.type"), asc_view_of("linear"), &type));
    ASC_TRY(number(m, "rope.scale_linear", 1.0, 1e-3, 1e6, &legacy));
    r->factor = legacy;
    r->scaling = legacy > 1.0 || legacy < 1.0 ? ASC_ROPE_LINEAR : ASC_ROPE_NONE;
    if (asc_view_eqs(type, "linear") || asc_view_eqs(type, "yarn")) {
        r->scaling = asc_view_eqs(type, "yarn") ? ASC_ROPE_YARN : ASC_ROPE_LINEAR;
        ASC_TRY(number(m, "rope.scaling.factor", legacy, 1e-3, 1e6, &r->factor));
    } else if (!asc_view_eqs(type, "none") && !asc_view_eqs(type, "longrope")) {
        asc_view t = asc_view_cut(type, 40);
        ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED, "'%s': rope scaling '" ASC_VIEW_FMT "' is not supported",
                 asc_gguf_name(m->g), ASC_VIEW_ARG(t));
        return asc_hint(m->ctx, "supported: none, linear, yarn, longrope, and llama3 as rope_freqs.weight");
    }
    ASC_TRY(
        count(m, "rope.scaling.original_context_length", (uint64_t)c->context, (uint64_t)1 << 40, &original));
    r->original_context = (double)original;
    ASC_TRY(number(m, "rope.scaling.yarn_beta_fast", 32.0, 1e-6, 1e6, &r->beta_fast));
    ASC_TRY(number(m, "rope.scaling.yarn_beta_slow", 1.0, 1e-6, 1e6, &r->beta_slow));
    ASC_TRY(number(m, "rope.scaling.attn_factor", 1.0, 1e-6, 1e6, &stretch));
    ASC_TRY(factor(m, "rope.scaling.yarn_log_multiplier", &less));
    if (r->scaling == ASC_ROPE_YARN && less > 0.0 && r->factor > 1.0)
        stretch /= 1.0 + 0.1 * less * log(r->factor);
    r->attn_factor = stretch;
    r->unrounded = f->exact_yarn;
    if (r->scaling != ASC_ROPE_YARN) r->long_mscale = stretch; /* longrope: the same at any length */
done:
    return st;
}

static asc_status rope_config(meta *m, const asc_family *f, asc_decoder_config *c) {
    asc_rope_config *r = &c->rope[0];
    asc_status st = ASC_OK;
    c->n_ropes = 1;
    ASC_TRY(count(m, "rope.dimension_count", (uint64_t)c->head_dim, (uint64_t)c->head_dim, &r->n_rot));
    if (r->n_rot % 2 != 0)
        return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s.rope.dimension_count is %lld, not even",
                        asc_gguf_name(m->g), m->arch, (long long)r->n_rot);
    ASC_TRY(number(m, "rope.freq_base", 10000.0, 1.000001, 1e12, &r->base));
    ASC_TRY(rope_scaling(m, f, c, r));
    if (f->local_rope) {
        double base = f->local_rope_base > 0.0 ? f->local_rope_base : r->base;
        c->rope[1] = (asc_rope_config){
            .n_rot = r->n_rot, .factor = 1.0, .attn_factor = 1.0, .original_context = r->original_context};
        ASC_TRY(number(m, "rope.freq_base_swa", base, 1.000001, 1e12, &c->rope[1].base));
        c->n_ropes = 2;
    }
done:
    return st;
}

/* Features that a file of these families can ask for and that would change every number if ignored: the key
 * may be absent or have the value that means "not used". */
static asc_status refuse_unknown(meta *m, const asc_family *f) {
    const struct {
        const char *suffix;
        double off, also_off;
        bool read; /* by this family */
    } keys[] = {
        {"attention.clamp_kqv", 0, 0, f->clip_qkv},
        {"expert_shared_count", 0, 0, f->shared_expert},
        {"expert_shared_feed_forward_length", 0, 0, f->shared_expert},
        {"attention.max_alibi_bias", 0, 0, f->alibi_key},
        {"attention.output_scale", 0, 0, false},
        {"attention.temperature_scale", 0, 0, f->grows},
        {"attention.temperature_length", 0, 0, false},
        {"attention.kv_lora_rank", 0, 0, false},
        {"expert_group_count", 0, 1, false},
        {"expert_gating_func", 0, 1 /* softmax */, f->more_experts},
        {"expert_weights_scale", 0, 1, f->more_experts},
        {"router_logit_softcapping", 0, 0, false},
        {"nextn_predict_layers", 0, 0, f->more_experts},
        {"n_deepstack_layers", 0, 0, false},
        {"rope.scaling.yarn_log_multiplier", 0, 0, f->grows},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const asc_gguf_kv *kv = asc_gguf_kv_find(m->g, key_of(m, keys[i].suffix));
        if (kv == NULL || keys[i].read) continue;
        double v = kv->is_array ? (double)NAN : asc_gguf_num_at(kv->values, 0);
        if (fabs(v - keys[i].off) < 1e-9 || fabs(v - keys[i].also_off) < 1e-9) continue;
        ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED, "'%s': %s is not supported (its value is %g)",
                 asc_gguf_name(m->g), m->key, v);
        return asc_hint(m->ctx, "ignoring it would change the numbers; this variant of the architecture is "
                                "not supported");
    }
    bool causal = true;
    asc_status st = asc_gguf_get_bool_or(m->ctx, m->g, key_of(m, "attention.causal"), true, &causal);
    if (st != ASC_OK || causal) return st;
    return ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED,
                    "'%s': %s is false: a model that is not causal generates no text", asc_gguf_name(m->g),
                    m->key);
}

static asc_status vocab_size(meta *m, asc_decoder_config *c) {
    const asc_gguf_tensor *e = asc_gguf_tensor_find(m->g, "token_embd.weight");
    if (e == NULL || e->rank != 2)
        return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT,
                        "'%s': tensor token_embd.weight is missing or not a matrix", asc_gguf_name(m->g));
    c->n_vocab = e->dims[0];
    return ASC_OK;
}

/* Which layers have the window, no rotary embedding, experts. */
static asc_status layer_plans(meta *m, const asc_family *f, asc_decoder_config *c) {
    asc_status st = ASC_OK;
    uint64_t win = 0, period = (uint64_t)f->local_of, dense;
    int64_t step = 1;
    asc_gguf_array pattern = {0};
    const asc_gguf_kv *kv = asc_gguf_kv_find(m->g, key_of(m, "attention.sliding_window_pattern"));
    if (kv != NULL && kv->is_array) {
        ASC_TRY(asc_gguf_get_array(m->ctx, m->g, m->key,
                                   kv->values.type == ASC_GGUF_BOOL ? ASC_GGUF_BOOLS : ASC_GGUF_INTEGERS,
                                   &pattern));
        if (pattern.count < (size_t)c->n_layers)
            return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s has %zu entries for %lld layers",
                            asc_gguf_name(m->g), m->key, pattern.count, (long long)c->n_layers);
    } else {
        ASC_TRY(asc_gguf_get_u64_or(m->ctx, m->g, m->key, period, &period));
    }
    ASC_TRY(asc_gguf_get_u64_or(m->ctx, m->g, key_of(m, "attention.sliding_window"), 0, &win));
    ASC_TRY(asc_gguf_get_u64_or(m->ctx, m->g, key_of(m, "leading_dense_block_count"), 0, &dense));
    if (f->more_experts) ASC_TRY(count(m, "interleave_moe_layer_step", 1, 4096, &step));
    c->plan = asc_calloc(m->ctx, ASC_MEM_WEIGHTS, (size_t)c->n_layers, sizeof *c->plan);
    if (c->plan == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (int64_t l = 0; l < c->n_layers; l++) {
        asc_layer_plan *p = &c->plan[l];
        bool local = pattern.count > 0 ? asc_gguf_int_at(pattern, (size_t)l) != 0
                     : period > 0      ? (uint64_t)l % period < period - 1
                                       : true;
        local = local && win > 0;
        /* a window of at least the context hides nothing, but the layer is still a local one */
        p->window = local && win < (uint64_t)c->context ? (int64_t)win : 0;
        p->rope = local && f->local_rope ? 1 : 0;
        if ((f->nope_full && !local && (win > 0 || !f->nope_if_windows)) ||
            (f->nope_of > 0 && (l + 1) % f->nope_of == 0))
            p->rope = ASC_ROPE_OFF;
        p->moe = c->n_experts > 0 && (uint64_t)l >= dense && (l + 1) % step == 0;
    }
done:
    return st;
}

/* What the router's scores become (llama.cpp's numbers: 1 softmax, 2 sigmoid), a factor of all shares, and
 * the width of shared experts side by side: where the file says it, that counts. */
static asc_status more_of_experts(meta *m, const asc_family *f, asc_decoder_config *c) {
    enum { SOFTMAX = 1, SIGMOID = 2 };
    asc_status st = ASC_OK;
    uint64_t gating, n;
    ASC_TRY(asc_gguf_get_u64_or(m->ctx, m->g, key_of(m, "expert_gating_func"), 0, &gating));
    if (gating > SIGMOID) {
        ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED, "'%s': %s is not supported (its value is %llu)",
                 asc_gguf_name(m->g), m->key, (unsigned long long)gating);
        return asc_hint(m->ctx, "supported: 1 softmax, 2 sigmoid");
    }
    c->sigmoid_shares = gating == 0 ? f->sigmoid_shares : gating == SIGMOID;
    ASC_TRY(factor(m, "expert_weights_scale", &c->share_scale));
    ASC_TRY(asc_gguf_get_u64_or(m->ctx, m->g, key_of(m, "expert_shared_count"), 0, &n));
    if (n > 65536)
        return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s is %llu; expected 0 to 65536",
                        asc_gguf_name(m->g), m->key, (unsigned long long)n);
    c->d_shared = (int64_t)n * c->d_expert;
done:
    return st;
}

static asc_status experts(meta *m, const asc_family *f, asc_decoder_config *c) {
    uint64_t n = 0;
    asc_status st = ASC_OK;
    ASC_TRY(asc_gguf_get_u64_or(m->ctx, m->g, key_of(m, "expert_count"), 0, &n));
    if (n == 0 && !f->experts) return ASC_OK;
    ASC_TRY(count(m, "expert_count", 0, 65536, &c->n_experts));
    ASC_TRY(count(m, "expert_used_count", 0, (uint64_t)c->n_experts, &c->n_experts_used));
    ASC_TRY(count(m, "expert_feed_forward_length", (uint64_t)c->d_ff, 1 << 24, &c->d_expert));
    /* the first families of these files normalise the chosen weights, and older files do not say so */
    ASC_TRY(
        asc_gguf_get_bool_or(m->ctx, m->g, key_of(m, "expert_weights_norm"), !f->raw_shares, &c->norm_top_k));
    if (f->more_experts) ASC_TRY(more_of_experts(m, f, c));
    ASC_TRY(asc_gguf_get_u64_or(m->ctx, m->g, key_of(m, "expert_shared_feed_forward_length"), 0, &n));
    if (!f->shared_expert || (n == 0 && (!f->shared_gate || c->d_shared > 0))) goto done;
    ASC_TRY(count(m, "expert_shared_feed_forward_length", 0, 1 << 24, &c->d_shared));
done:
    return st;
}

static asc_status head_sizes(meta *m, const asc_family *f, asc_decoder_config *c) {
    asc_status st = ASC_OK;
    int64_t vl;
    ASC_TRY(count(m, "attention.head_count", 0, 1 << 16, &c->n_heads));
    ASC_TRY(count(m, "attention.head_count_kv", (uint64_t)c->n_heads, (uint64_t)c->n_heads, &c->n_kv));
    ASC_TRY(count(m, "attention.key_length",
                  c->d_model >= c->n_heads ? (uint64_t)(c->d_model / c->n_heads) : 1, 1 << 16, &c->head_dim));
    ASC_TRY(count(m, "attention.value_length", (uint64_t)c->head_dim, 1 << 16, &vl));
    if (c->n_heads % c->n_kv != 0)
        return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %lld heads are not a multiple of %lld key heads",
                        asc_gguf_name(m->g), (long long)c->n_heads, (long long)c->n_kv);
    if (c->head_dim != vl)
        return ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED,
                        "'%s': keys of %lld and values of %lld columns are not supported",
                        asc_gguf_name(m->g), (long long)c->head_dim, (long long)vl);
    ASC_TRY(factor(m, "attention.scale", &c->attn_scale));
    if (!(c->attn_scale > 0.0)) {
        bool wide = c->n_layers == f->wide_scale_layers;
        c->attn_scale = 1.0 / sqrt(wide ? (double)c->d_model / (double)c->n_heads : (double)c->head_dim);
    }
done:
    return st;
}

/* ALiBi's least slope. */
static asc_status slopes(meta *m, const asc_family *f, asc_decoder_config *c) {
    asc_status st = ASC_OK;
    c->alibi = f->alibi;
    c->alibi_scale = 1.0;
    if (f->alibi_key) ASC_TRY(number(m, "attention.max_alibi_bias", (double)NAN, 1e-3, 1e3, &c->alibi));
    if (c->alibi > 0.0) c->positions = ASC_POSITIONS_NONE;
done:
    return st;
}

/* What llama.cpp knows of these files without a key (llama-model.cpp, LLM_ARCH_LLAMA4): every fourth layer
 * does not turn and sees everything, the others see chunks; a window of 0 says that there is none of it. The
 * size with 128 experts has no norm of queries and keys. */
static asc_status llama4(meta *m, asc_decoder_config *c) {
    asc_status st = ASC_OK;
    uint64_t window;
    int64_t step, none = 4, chunk = 8192;
    ASC_TRY(asc_gguf_get_u64_or(m->ctx, m->g, key_of(m, "attention.sliding_window"), 1, &window));
    ASC_TRY(count(m, "interleave_moe_layer_step", 1, 4096, &step));
    const bool plain = window == 0;
    c->qk_norm = c->n_experts == 128 ? ASC_QK_NORM_NONE : ASC_QK_NORM_TURNED;
    c->sigmoid_shares = c->scale_expert_input = true;
    c->d_shared = c->d_expert;
    c->q_floor = (double)chunk;
    c->q_grow = plain ? 0.0 : 0.1;
    for (int64_t l = 0; l < c->n_layers; l++) {
        asc_layer_plan *p = &c->plan[l];
        const bool turns = plain || (l + 1) % none != 0;
        p->window = 0;
        p->rope = turns ? 0 : ASC_ROPE_OFF;
        p->chunk = turns && !plain && chunk < c->context ? chunk : 0;
        p->moe = c->n_experts > 0 && (l + 1) % step == 0;
    }
done:
    return st;
}

/* Layers that predict further tokens stand behind the others and are counted with them. */
static asc_status cut_extra(meta *m, asc_decoder_config *c) {
    uint64_t n;
    asc_status st = asc_gguf_get_u64_or(m->ctx, m->g, key_of(m, "nextn_predict_layers"), 0, &n);
    if (st != ASC_OK) return st;
    if (n >= (uint64_t)c->n_layers)
        return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s is %llu of %lld layers", asc_gguf_name(m->g),
                        m->key, (unsigned long long)n, (long long)c->n_layers);
    c->extra_layers = (int64_t)n;
    c->n_layers -= (int64_t)n;
    return ASC_OK;
}

/* Ministral 3 (llama.cpp, mistral3): queries grow by the position; 0 = none of it. */
static asc_status growth(meta *m, asc_decoder_config *c) {
    asc_status st = ASC_OK;
    c->q_grow_all = true;
    c->q_floor = c->rope[0].original_context;
    ASC_TRY(factor(m, "attention.temperature_scale", &c->q_grow));
done:
    return st;
}

/* Files from before their converter wrote factors: those of MiniCPM's 2B, as llama.cpp has them. */
static void old_minicpm(asc_decoder_config *c) {
    if (!(c->embed_scale > 0.0)) c->embed_scale = 12.0;
    if (!(c->residual_scale > 0.0)) c->residual_scale = 1.4 / sqrt((double)c->n_layers);
    if (!(c->logit_scale > 0.0)) c->logit_scale = 256.0 / (double)c->d_model;
}

/* Four lists with a number for each layer, or one for all. */
static asc_status xielu(meta *m, asc_decoder_config *c) {
    static const char *const names[] = {"alpha_p", "alpha_n", "beta", "eps"};
    c->xielu = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        asc_gguf_array v = {0};
        double one = 0.0;
        snprintf(m->key, sizeof m->key, "xielu.%s", names[i]);
        const asc_gguf_kv *kv = asc_gguf_kv_find(m->g, m->key);
        const bool single = kv != NULL && !kv->is_array;
        asc_status st = single ? asc_gguf_get_f64(m->ctx, m->g, m->key, &one)
                               : asc_gguf_get_array(m->ctx, m->g, m->key, ASC_GGUF_FLOATS, &v);
        if (st != ASC_OK) return st;
        if (!single && v.count != (size_t)c->n_layers)
            return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s has %zu entries for %lld layers",
                            asc_gguf_name(m->g), m->key, v.count, (long long)c->n_layers);
        for (int64_t l = 0; l < c->n_layers; l++) {
            asc_xielu *x = &c->plan[l].xielu;
            double *const to[] = {&x->positive, &x->negative, &x->beta, &x->eps};
            *to[i] = single ? one : asc_gguf_num_at(v, (size_t)l);
            if (!isfinite(*to[i]))
                return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s[%lld] is not finite",
                                asc_gguf_name(m->g), m->key, (long long)l);
        }
    }
    return ASC_OK;
}

/* What the table says alone. */
static asc_decoder_config of_family(const asc_family *f) {
    return (asc_decoder_config){.architecture = f->name,
                                .norm = f->layer_norm ? ASC_NORM_LAYER : ASC_NORM_RMS,
                                .block = f->parallel ? ASC_BLOCK_PARALLEL : ASC_BLOCK_SERIAL,
                                .pre_norms = !f->no_pre_norms,
                                .post_norms = f->post_norms,
                                .qk_norm = f->qk_norm,
                                .qk_norm_late = f->qk_norm_late,
                                .bare_norms = f->bare_norms,
                                .norms_swapped = f->norms_swapped,
                                .ffn_norm = f->ffn_norm,
                                .shared_gate = f->shared_gate,
                                .embed_norm = f->embed_norm,
                                .sinks = f->sinks,
                                .swiglu_limit = f->swiglu_limit,
                                .swiglu_alpha = f->swiglu_alpha,
                                .positions =
                                    f->learned_positions ? ASC_POSITIONS_LEARNED : ASC_POSITIONS_ROTARY,
                                .rope_interleaved = f->interleaved,
                                .act = f->act,
                                .gated = !f->plain_mlp};
}

asc_status asc_decoder_configure(asc_ctx *ctx, const asc_gguf *g, asc_decoder_config *out) {
    asc_status st = ASC_OK;
    asc_view arch;
    asc_decoder_config c = {0};
    meta m = {.ctx = ctx, .g = g};
    ASC_TRY(asc_gguf_get_str(ctx, g, "general.architecture", &arch));
    const asc_family *f = asc_family_find(arch);
    if (f == NULL) {
        asc_view a = asc_view_cut(arch, 60);
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "'%s': architecture '" ASC_VIEW_FMT "' is not supported",
                 asc_gguf_name(g), ASC_VIEW_ARG(a));
        return asc_hint(ctx, "supported architectures: %s; text encoders: %s", asc_family_names(),
                        asc_encoder_gguf_names());
    }
    m.arch = f->name;
    c = of_family(f);
    ASC_TRY(refuse_unknown(&m, f));
    ASC_TRY(count(&m, "block_count", 0, 4096, &c.n_layers));
    if (f->more_experts) ASC_TRY(cut_extra(&m, &c));
    ASC_TRY(count(&m, "embedding_length", 0, 1 << 20, &c.d_model));
    ASC_TRY(count(&m, "feed_forward_length", f->experts ? (uint64_t)1 : 0, 1 << 24, &c.d_ff));
    ASC_TRY(count(&m, "context_length", 0, (uint64_t)1 << 40, &c.context));
    ASC_TRY(head_sizes(&m, f, &c));
    ASC_TRY(experts(&m, f, &c));
    ASC_TRY(number(&m, f->layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
                   (double)NAN, 0.0, 1.0, &c.eps));
    ASC_TRY(number(&m, "attn_logit_softcapping", 0.0, 0.0, 1e6, &c.attn_cap));
    ASC_TRY(number(&m, "final_logit_softcapping", 0.0, 0.0, 1e6, &c.final_cap));
    bool parallel = f->parallel;
    ASC_TRY(asc_gguf_get_bool_or(ctx, g, key_of(&m, "use_parallel_residual"), parallel, &parallel));
    c.block = parallel ? ASC_BLOCK_PARALLEL : ASC_BLOCK_SERIAL;
    if (f->clip_qkv) ASC_TRY(factor(&m, "attention.clamp_kqv", &c.clip_qkv));
    ASC_TRY(factor(&m, "embedding_scale", &c.embed_scale));
    ASC_TRY(factor(&m, "residual_scale", &c.residual_scale));
    ASC_TRY(factor(&m, "logit_scale", &c.logit_scale));
    if (f->logits_divided && c.logit_scale > 0.0) c.logit_scale = 1.0 / c.logit_scale;
    if (f->embed_scale) c.embed_scale = sqrt((double)c.d_model);
    if (f->minicpm) old_minicpm(&c);
    if (f->qk_norm_optional && asc_gguf_tensor_find(g, "blk.0.attn_q_norm.weight") == NULL)
        c.qk_norm = ASC_QK_NORM_NONE;
    ASC_TRY(slopes(&m, f, &c));
    if (c.positions == ASC_POSITIONS_ROTARY) ASC_TRY(rope_config(&m, f, &c));
    if (f->grows) ASC_TRY(growth(&m, &c));
    ASC_TRY(vocab_size(&m, &c));
    ASC_TRY(layer_plans(&m, f, &c));
    if (f->llama4) ASC_TRY(llama4(&m, &c));
    if (f->xielu) ASC_TRY(xielu(&m, &c));
    *out = c;
    return ASC_OK;
done:
    asc_decoder_config_deinit(ctx, &c);
    return st;
}
