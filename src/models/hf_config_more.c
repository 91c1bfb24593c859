/* hf_config_more.c - what config.json says in single families and no field of hf_family.h tells: keys that
 * choose between layouts. Sources: the configuration and model classes of transformers 5.24. */
#include "hf_family.h"
#include "view.h"
#include <math.h>

static asc_status heads(asc_hf_reading *r, const char *key, int64_t n) {
    r->c->n_kv = n;
    return r->c->n_heads % n == 0 ? ASC_OK
                                  : asc_hf_invalid(&r->k, key, "a divisor of the number of attention heads");
}

/* Falcon: one key head (7b), as many as heads, or groups (40b, 180b, 11b); attention and MLP side by side
 * with one norm or two, or one after the other. */
asc_status asc_hf_more_falcon(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    bool grown, one, parallel, slopes;
    int64_t n_kv = r->c->n_heads, norms;
    ASC_TRY(asc_hf_flag(&r->k, "new_decoder_architecture", false, &grown));
    ASC_TRY(asc_hf_flag(&r->k, "multi_query", true, &one));
    ASC_TRY(asc_hf_flag(&r->k, "parallel_attn", true, &parallel));
    if (grown || !one) ASC_TRY(asc_hf_count(&r->k, "num_kv_heads", n_kv, 1 << 16, &n_kv));
    if (!grown && !one && n_kv != r->c->n_heads)
        return asc_hf_refuse(&r->k, "num_kv_heads", "without new_decoder_architecture: as many as heads");
    ASC_TRY(heads(r, "num_kv_heads", grown || !one ? n_kv : 1));
    ASC_TRY(asc_hf_count(&r->k, "num_ln_in_parallel_attn", grown ? 2 : 1, 2, &norms));
    if (!grown && norms == 2)
        return asc_hf_refuse(&r->k, "num_ln_in_parallel_attn", "2 needs new_decoder_architecture");
    r->c->block = grown || parallel ? ASC_BLOCK_PARALLEL : ASC_BLOCK_SERIAL;
    ASC_TRY(asc_hf_flag(&r->k, "alibi", false, &slopes));
    if (slopes) { /* what is added is divided like the scores, and comes in bf16 whatever the weights are */
        r->c->alibi = 8.0;
        r->c->alibi_scale = 1.0 / sqrt((double)r->c->head_dim);
        r->c->alibi_rounded = true;
        r->c->positions = ASC_POSITIONS_NONE;
    }
done:
    return st;
}

asc_status asc_hf_more_bigcode(asc_hf_reading *r) {
    bool one;
    asc_status st = asc_hf_flag(&r->k, "multi_query", true, &one);
    if (st == ASC_OK && one) st = heads(r, "multi_query", 1);
    return st;
}

asc_status asc_hf_more_opt(asc_hf_reading *r) {
    int64_t width = r->c->d_model;
    asc_status st = asc_hf_count(&r->k, "word_embed_proj_dim", width, 1 << 24, &width);
    if (st != ASC_OK || width == r->c->d_model) return st;
    return asc_hf_refuse(&r->k, "word_embed_proj_dim", "supported: the same as hidden_size");
}

/* rotary_dim columns of a head turn. */
asc_status asc_hf_more_gptj(asc_hf_reading *r) {
    int64_t n;
    asc_status st = asc_hf_count(&r->k, "rotary_dim", 64, r->c->head_dim, &n);
    if (st != ASC_OK) return st;
    if (n % 2 != 0) return asc_hf_invalid(&r->k, "rotary_dim", "an even number");
    r->f.partial_default = (double)n / (double)r->c->head_dim;
    return ASC_OK;
}

/* The keys of an object inside; those of an empty one where it is absent. prefix: "attn_config.". */
static asc_status inside(asc_hf_reading *r, const char *name, const char *prefix, asc_hf_keys *out) {
    *out = (asc_hf_keys){r->k.ctx, asc_hf_key(&r->k, name), r->k.file, prefix};
    if (out->obj == NULL || asc_json_typeof(out->obj) == ASC_JSON_OBJECT) return ASC_OK;
    return asc_hf_invalid(&r->k, name, "an object");
}

/* A flag whose other value is refused. */
static asc_status must_be(const asc_hf_keys *k, const char *key, bool fallback, bool want) {
    bool v;
    asc_status st = asc_hf_flag(k, key, fallback, &v);
    if (st != ASC_OK || v == want) return st;
    return asc_hf_refuse(k, key, "this variant of the architecture computes something else");
}

asc_status asc_hf_more_mpt(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    asc_hf_keys k;
    asc_view type;
    double most;
    ASC_TRY(inside(r, "attn_config", "attn_config.", &k));
    ASC_TRY(must_be(&k, "alibi", true, true));
    ASC_TRY(must_be(&k, "qk_ln", false, false));
    ASC_TRY(must_be(&k, "prefix_lm", false, false));
    ASC_TRY(asc_hf_word(&k, "attn_type", "multihead_attention", &type));
    if (!asc_view_eqs(type, "multihead_attention"))
        return asc_hf_refuse(&k, "attn_type", "supported: multihead_attention");
    ASC_TRY(asc_hf_number(&k, "alibi_bias_max", 8.0, 1e-3, 1e3, &most));
    if (fabs(most - 8.0) > 1e-9)
        return asc_hf_refuse(&k, "alibi_bias_max", "supported: 8; programs that run such models differ here");
    ASC_TRY(asc_hf_number(&k, "clip_qkv", 0.0, 0.0, 1e9, &r->c->clip_qkv));
    ASC_TRY(asc_hf_number(&k, "softmax_scale", 0.0, 0.0, 1e9, &r->f.attn_scale));
done:
    return st;
}

asc_status asc_hf_more_gpt_oss(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    r->c->paired_experts = true;
    ASC_TRY(asc_hf_number(&r->k, "swiglu_alpha", 1.702, 1e-6, 1e6, &r->c->swiglu_alpha));
    ASC_TRY(asc_hf_number(&r->k, "swiglu_limit", 7.0, 1e-6, 1e9, &r->c->swiglu_limit));
done:
    return st;
}

asc_status asc_hf_more_apertus(asc_hf_reading *r) {
    asc_view act;
    asc_status st = asc_hf_word(&r->k, r->f.act_key, r->f.act, &act);
    r->c->xielu = st == ASC_OK && asc_view_eqs(act, "xielu");
    if (r->c->xielu) r->f.act_key = "", r->f.act = "silu"; /* that is not used then */
    return st;
}

/* A whole number from 0 on, where 0 has a meaning of its own. */
static asc_status from_zero(asc_hf_reading *r, const char *key, int64_t fallback, int64_t *out) {
    double v;
    asc_status st = asc_hf_number(&r->k, key, (double)fallback, 0.0, 1 << 24, &v);
    if (st == ASC_OK && v > floor(v)) st = asc_hf_invalid(&r->k, key, "a whole number");
    if (st == ASC_OK) *out = (int64_t)v;
    return st;
}

asc_status asc_hf_more_granitemoeshared(asc_hf_reading *r) { /* 0 is a width, too: no such expert */
    return from_zero(r, "shared_intermediate_size", 0, &r->c->d_shared);
}

asc_status asc_hf_more_llama4(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    asc_decoder_config *c = r->c;
    bool grows;
    c->sigmoid_shares = c->scale_expert_input = true;
    ASC_TRY(asc_hf_count(&r->k, r->f.expert_width_key, r->f.expert_width, 1 << 24, &c->d_shared));
    ASC_TRY(asc_hf_flag(&r->k, "attn_temperature_tuning", true, &grows));
    ASC_TRY(asc_hf_number(&r->k, "floor_scale", 8192.0, 1.0, 1e15, &c->q_floor));
    ASC_TRY(asc_hf_number(&r->k, "attn_scale", 0.1, 0.0, 1e6, &c->q_grow));
    if (!grows) c->q_grow = 0.0;
done:
    return st;
}

asc_status asc_hf_more_dbrx(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    asc_decoder_config *c = r->c;
    asc_hf_keys attn, ffn, act;
    double power;
    ASC_TRY(inside(r, "attn_config", "attn_config.", &attn));
    ASC_TRY(inside(r, "ffn_config", "ffn_config.", &ffn));
    ASC_TRY(asc_hf_count(&attn, "kv_n_heads", 1, c->n_heads, &c->n_kv));
    if (c->n_heads % c->n_kv != 0)
        return asc_hf_invalid(&attn, "kv_n_heads", "a divisor of the number of attention heads");
    ASC_TRY(asc_hf_number(&attn, "clip_qkv", 0.0, 0.0, 1e9, &c->clip_qkv));
    ASC_TRY(asc_hf_number(&attn, "rope_theta", r->f.theta, 1.000001, 1e15, &r->f.theta));
    ASC_TRY(asc_hf_count(&ffn, "ffn_hidden_size", 3584, 1 << 24, &c->d_expert));
    ASC_TRY(asc_hf_count(&ffn, "moe_num_experts", 4, 65536, &c->n_experts));
    ASC_TRY(asc_hf_count(&ffn, "moe_top_k", 1, c->n_experts, &c->n_experts_used));
    /* an absent key and null differ: null leaves the shares as they are */
    const bool given = asc_json_get(ffn.obj, "moe_normalize_expert_weights") != NULL;
    ASC_TRY(asc_hf_number(&ffn, "moe_normalize_expert_weights", given ? 0.0 : 1.0, 0.0, 1e9, &power));
    if (power > 0.0 && fabs(power - 1.0) > 1e-12)
        return asc_hf_refuse(&ffn, "moe_normalize_expert_weights", "supported: 1, null");
    c->norm_top_k = power > 0.0;
    act = (asc_hf_keys){r->k.ctx, asc_hf_key(&ffn, "ffn_act_fn"), r->k.file, "ffn_config.ffn_act_fn."};
    asc_view name;
    ASC_TRY(asc_hf_word(&act, "name", "silu", &name));
    if (!asc_view_eqs(name, "silu")) return asc_hf_refuse(&act, "name", "supported: silu");
done:
    return st;
}

/* The width of experts that every token takes: `key` of them, side by side. */
static asc_status shared_experts(asc_hf_reading *r, const char *key, int64_t fallback) {
    int64_t n = 0, width = 0;
    asc_status st = from_zero(r, key, fallback, &n);
    if (st == ASC_OK) st = asc_hf_count(&r->k, r->f.expert_width_key, r->f.expert_width, 1 << 24, &width);
    r->c->d_shared = n * width;
    return st;
}

asc_status asc_hf_more_glm4_moe(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    int64_t groups, chosen;
    const bool other = asc_hf_key(&r->k, "num_mtp_layers") != NULL;
    r->c->sigmoid_shares = true;
    ASC_TRY(shared_experts(r, "n_shared_experts", 1));
    ASC_TRY(asc_hf_number(&r->k, "routed_scaling_factor", 1.0, 1e-9, 1e9, &r->c->share_scale));
    ASC_TRY(from_zero(r, "first_k_dense_replace", 1, &r->moe_first));
    ASC_TRY(from_zero(r, other ? "num_mtp_layers" : "num_nextn_predict_layers", 1, &r->f.extra_layers));
    ASC_TRY(asc_hf_count(&r->k, "n_group", 1, 65536, &groups));
    ASC_TRY(asc_hf_count(&r->k, "topk_group", 1, 65536, &chosen));
    if (groups != chosen) return asc_hf_refuse(&r->k, "n_group", "supported: as many as topk_group");
done:
    return st;
}

asc_status asc_hf_more_ernie_moe(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    double last, least;
    ASC_TRY(shared_experts(r, "moe_num_shared_experts", 2));
    ASC_TRY(from_zero(r, "moe_layer_start_index", 1, &r->moe_first));
    ASC_TRY(asc_hf_number(&r->k, "moe_layer_end_index", -1.0, -1.0, 1e6, &last));
    ASC_TRY(asc_hf_number(&r->k, "moe_norm_min", 1e-12, 0.0, 1.0, &least));
    if (least > 1e-9) return asc_hf_refuse(&r->k, "moe_norm_min", "supported: at most 1e-9");
    r->moe_end = (int64_t)last + 1; /* -1: all */
done:
    return st;
}
