/* encoder_nomic.c - Nomic BERT's config: of transformers (hidden_act, rope_parameters), and of the model's
 * own first files, whose keys are those of GPT-2 and of flash-attention (activation_function,
 * rotary_emb_base). What would change the numbers and is not supported is refused by the name of its key. */
#include "encoder_family.h"
#include "hf_act.h"
#include "view.h"
#include <math.h>

/* Gated forms have names of their own here; the others are not gated. */
static asc_status first_act(const asc_hf_keys *k, bool *gated, asc_mlp_act *out) {
    asc_view name;
    asc_status st = asc_hf_word(k, "activation_function", "gelu", &name);
    if (st != ASC_OK) return st;
    *gated = asc_view_eqs(name, "geglu") || asc_view_eqs(name, "swiglu");
    *out = asc_view_eqs(name, "geglu") ? ASC_MLP_GELU : ASC_MLP_SILU;
    if (*gated) return ASC_OK;
    *out = asc_view_eqs(name, "gelu") ? ASC_MLP_GELU : ASC_MLP_GELU_TANH;
    if (asc_view_eqs(name, "gelu") || asc_view_eqs(name, "gelu_new") || asc_view_eqs(name, "gelu_fast") ||
        asc_view_eqs(name, "gelu_pytorch_tanh"))
        return ASC_OK;
    return asc_hf_refuse(k, "activation_function", "supported: swiglu, geglu, gelu and its tanh forms");
}

/* Every n-th layer is a mixture of plain MLPs, from the second one on. */
static asc_status experts(const asc_hf_keys *k, asc_encoder_config *c) {
    static const char *const off[] = {"expert_choice_router", "num_shared_experts"};
    asc_status st = ASC_OK;
    double every; /* 0, like null: no mixture */
    ASC_TRY(asc_hf_number(k, "moe_every_n_layers", 0.0, 0.0, 1024.0, &every));
    if (!(every > 1.0)) return ASC_OK; /* of 1 no layer's number is 1 modulo it */
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        const asc_json *v = asc_hf_key(k, off[i]);
        if (asc_json_bool(v, false) || asc_json_int(v, 0) != 0) return asc_encoder_refuse(k, off[i]);
    }
    if (c->gated)
        return asc_hf_refuse(k, "moe_every_n_layers", "experts here are not gated: activation gelu");
    ASC_TRY(asc_hf_count(k, "num_experts", 0, 65536, &c->n_experts));
    ASC_TRY(asc_hf_count(k, "moe_top_k", 0, c->n_experts, &c->n_experts_used));
    ASC_TRY(asc_hf_flag(k, "moe_normalize_expert_weights", false, &c->norm_top_k));
    c->down_by_rows = true;
    for (int64_t l = 0; l < c->n_layers; l++) c->plan[l].moe = l % (int64_t)every == 1;
done:
    return st;
}

static asc_status first_keys(const asc_hf_keys *k, asc_encoder_config *c, double *theta) {
    static const char *const off[] = {"prenorm",
                                      "use_rms_norm",
                                      "parallel_block",
                                      "causal",
                                      "scale_attn_by_inverse_layer_idx",
                                      "rotary_emb_interleaved"};
    static const char *const absent[] = {"rotary_scaling_factor", "rotary_emb_scale_base"};
    asc_status st = ASC_OK;
    bool on;
    double part;
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        ASC_TRY(asc_hf_flag(k, off[i], false, &on));
        if (on) return asc_encoder_refuse(k, off[i]);
    }
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (asc_hf_key(k, absent[i]) != NULL) return asc_encoder_refuse(k, absent[i]);
    ASC_TRY(asc_hf_number(k, "rotary_emb_fraction", 1.0, 0.0, 1.0, &part));
    if (part < 1.0) return asc_encoder_refuse(k, "rotary_emb_fraction");
    ASC_TRY(asc_hf_flag(k, "qkv_proj_bias", true, &c->attn_bias));
    ASC_TRY(asc_hf_flag(k, "mlp_fc1_bias", true, &c->up_bias));
    ASC_TRY(asc_hf_flag(k, "mlp_fc2_bias", true, &c->mlp_bias));
    ASC_TRY(asc_hf_number(k, "rotary_emb_base", 10000.0, 1e-30, 1e12, theta));
    ASC_TRY(first_act(k, &c->gated, &c->act));
    ASC_TRY(experts(k, c));
done:
    return st;
}

static asc_status new_keys(const asc_hf_keys *k, asc_encoder_config *c, double *theta) {
    const asc_hf_keys rope = {k->ctx, asc_hf_key(k, "rope_parameters"), k->file, "rope_parameters."};
    asc_status st = ASC_OK;
    asc_view kind;
    int64_t width = c->head_dim;
    c->attn_bias = c->up_bias = c->mlp_bias = false;
    c->gated = true;
    ASC_TRY(asc_hf_count(k, "head_dim", width, 1 << 24, &width));
    if (width != c->head_dim) return asc_encoder_refuse(k, "head_dim");
    ASC_TRY(asc_hf_word(&rope, "rope_type", "default", &kind));
    if (!asc_view_eqs(kind, "default")) return asc_encoder_refuse(&rope, "rope_type");
    ASC_TRY(asc_hf_number(&rope, "rope_theta", 1000.0, 1e-30, 1e12, theta));
    ASC_TRY(asc_hf_read_act(k, c->family->act, c->family->default_act, &c->act));
done:
    return st;
}

asc_status asc_encoder_nomic(const asc_hf_keys *k, asc_encoder_config *c) {
    double theta = 0.0;
    asc_status st = c->family->act != NULL ? new_keys(k, c, &theta) : first_keys(k, c, &theta);
    if (st != ASC_OK) return st;
    if (c->head_dim % 2 != 0)
        return asc_hf_invalid(k, c->family->heads, "a number that makes the width of a head even");
    c->rope[0] = (asc_rope_config){.n_rot = c->head_dim, .base = theta};
    c->n_ropes = 1;
    for (int64_t l = 0; l < c->n_layers; l++) c->plan[l].rope = 0;
    return ASC_OK;
}
