/* hf_config.c - config.json into what a forward pass needs. Both layouts are read: that of transformers 4
 * (torch_dtype, rope_theta, rope_scaling) and that of 5 (dtype, rope_parameters, layer_types). Keys that the
 * family's own program would not look at are ignored here too; those that change numbers in a way unknown
 * here are refused by name. */
#include "encoder.h"
#include "hf_act.h"
#include "hf_family.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

const char *asc_hf_key_name(const asc_hf_family *f, const char *key) {
    for (const char *const *p = f->keys; p != NULL && *p != NULL; p += 2) {
        if (strcmp(p[0], key) == 0) return p[1];
    }
    return key;
}

/* The family's own name of a number, or the common one, which stands for it in every configuration. */
static asc_status count(asc_hf_reading *r, const char *key, int64_t fallback, int64_t most, int64_t *out) {
    const char *own = asc_hf_key_name(&r->f, key);
    const bool aliases = strcmp(own, key) != 0 && strcmp(key, "intermediate_size") != 0;
    if (!aliases || asc_hf_key(&r->k, key) == NULL) return asc_hf_count(&r->k, own, fallback, most, out);
    asc_status st = asc_hf_count(&r->k, key, fallback, most, out);
    int64_t other = *out;
    if (st == ASC_OK) st = asc_hf_count(&r->k, own, -1, most, &other);
    if (st != ASC_OK || other == *out) return st;
    ASC_FAIL(r->k.ctx, ASC_INVALID_ARGUMENT, "'%s': %s is %lld, but %s is %lld", r->k.file, own,
             (long long)other, key, (long long)*out);
    return asc_hint(r->k.ctx, "these are two names of one number; take out the one that is wrong");
}

static bool is_value(const asc_json *v, const char *want) {
    if (strcmp(want, "null") == 0) return false; /* null itself counts as absent */
    return asc_json_typeof(v) == ASC_JSON_BOOL && asc_json_bool(v, false) == (strcmp(want, "true") == 0);
}

/* Keys that any family could have, and those of this one. */
static asc_status refuse_unknown(asc_hf_reading *r) {
    static const char *const any[] = {"quantization_config",
                                      "null",
                                      "is_encoder_decoder",
                                      "false",
                                      "cross_attention_hidden_size",
                                      "null",
                                      NULL};
    const char *const *lists[] = {any, r->f.fixed};
    for (size_t i = 0; i < 2; i++) {
        for (const char *const *p = lists[i]; p != NULL && *p != NULL; p += 2) {
            const asc_json *v = asc_hf_key(&r->k, p[0]);
            if (v == NULL || is_value(v, p[1])) continue;
            if (r->f.quantised != NULL && strcmp(p[0], "quantization_config") == 0 &&
                asc_view_eqs(asc_json_str(asc_json_get(v, "quant_method")), r->f.quantised))
                continue;
            return asc_hf_refuse(&r->k, p[0],
                                 strcmp(p[0], "quantization_config") == 0
                                     ? "open the model before quantisation, or a GGUF file of it"
                                     : "this variant of the architecture computes something else");
        }
    }
    const asc_json *pruned = asc_hf_key(&r->k, "pruned_heads");
    return pruned == NULL || asc_json_len(pruned) == 0
               ? ASC_OK
               : asc_hf_refuse(&r->k, "pruned_heads", "save the model again, as it is");
}

static asc_status read_sizes(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    asc_decoder_config *c = r->c;
    const asc_hf_family *f = &r->f;
    ASC_TRY(count(r, "num_hidden_layers", 0, 4096, &c->n_layers));
    ASC_TRY(count(r, "hidden_size", 0, 1 << 20, &c->d_model));
    ASC_TRY(count(r, "vocab_size", 0, 1 << 24, &c->n_vocab));
    ASC_TRY(count(r, "num_attention_heads", 0, 1 << 16, &c->n_heads));
    ASC_TRY(count(r, "intermediate_size", f->wide_mlp * c->d_model, 1 << 24, &c->d_ff));
    ASC_TRY(count(r, "max_position_embeddings", f->context, (int64_t)1 << 40, &c->context));
    c->n_kv = c->n_heads;
    /* null and absent differ: null asks for as many as heads */
    bool given = asc_json_get(r->k.obj, "num_key_value_heads") != NULL;
    if (!f->one_kv)
        ASC_TRY(
            count(r, "num_key_value_heads", given || f->n_kv == 0 ? c->n_heads : f->n_kv, 1 << 16, &c->n_kv));
    if (c->n_kv > c->n_heads || c->n_heads % c->n_kv != 0) {
        ASC_FAIL(r->k.ctx, ASC_INVALID_ARGUMENT, "'%s': %lld heads (%s) are not a multiple of %lld key heads",
                 r->k.file, (long long)c->n_heads, asc_hf_key_name(f, "num_attention_heads"),
                 (long long)c->n_kv);
        return asc_hint(r->k.ctx, "num_key_value_heads must divide the number of heads");
    }
    given = asc_json_get(r->k.obj, "head_dim") != NULL;
    ASC_TRY(count(r, "head_dim", given || f->head_dim == 0 ? -1 : f->head_dim, 1 << 16, &c->head_dim));
    if (c->head_dim == 0) {
        c->head_dim = c->d_model / c->n_heads;
        if (c->d_model % c->n_heads != 0) {
            ASC_FAIL(r->k.ctx, ASC_INVALID_ARGUMENT, "'%s': %s %lld is not a multiple of %s %lld", r->k.file,
                     asc_hf_key_name(f, "hidden_size"), (long long)c->d_model,
                     asc_hf_key_name(f, "num_attention_heads"), (long long)c->n_heads);
            return asc_hint(r->k.ctx, "head_dim must then be given");
        }
    }
done:
    return st;
}

/* A factor that must not be 0: 0 stands for "not scaled" in the config. */
static asc_status factor(asc_hf_reading *r, const char *key, double fallback, double *out) {
    return asc_hf_number(&r->k, key, fallback, 1e-9, 1e9, out);
}

static asc_status read_numbers(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    asc_decoder_config *c = r->c;
    const asc_hf_family *f = &r->f;
    double scalar = (double)c->head_dim;
    ASC_TRY(asc_hf_number(&r->k, f->eps_key, f->eps, 0.0, 1.0, &c->eps));
    if (f->query_scalar > 0.0) ASC_TRY(factor(r, "query_pre_attn_scalar", f->query_scalar, &scalar));
    c->attn_scale = 1.0 / sqrt(scalar);
    bool scaled = true;
    if (f->scale_key != NULL) ASC_TRY(asc_hf_flag(&r->k, f->scale_key, true, &scaled));
    if (f->attn_scale > 0.0) c->attn_scale = f->attn_scale;
    if (!scaled || f->unscaled) c->attn_scale = 1.0;
    if (f->depth_key != NULL) ASC_TRY(asc_hf_flag(&r->k, f->depth_key, false, &c->scale_by_depth));
    if (f->clip_key != NULL && asc_hf_key(&r->k, f->clip_key) != NULL)
        ASC_TRY(factor(r, f->clip_key, 1.0, &c->clip_qkv));
    if (f->caps) {
        /* null means no cap, an absent key the default */
        bool attn = asc_json_get(r->k.obj, "attn_logit_softcapping") == NULL;
        bool last = asc_json_get(r->k.obj, "final_logit_softcapping") == NULL;
        if (!f->final_only)
            ASC_TRY(asc_hf_number(&r->k, "attn_logit_softcapping", attn ? f->attn_cap : 0.0, 0.0, 1e6,
                                  &c->attn_cap));
        ASC_TRY(asc_hf_number(&r->k, "final_logit_softcapping", last ? f->final_cap : 0.0, 0.0, 1e6,
                              &c->final_cap));
    }
    if (f->embed_sqrt) c->embed_scale = sqrt((double)c->d_model);
    if (f->multipliers) {
        double divide;
        ASC_TRY(factor(r, "embedding_multiplier", 1.0, &c->embed_scale));
        ASC_TRY(factor(r, "residual_multiplier", 1.0, &c->residual_scale));
        ASC_TRY(factor(r, "attention_multiplier", 1.0, &c->attn_scale));
        ASC_TRY(factor(r, "logits_scaling", 1.0, &divide));
        c->logit_scale = 1.0 / divide;
    }
    if (f->logit_scale > 0.0) ASC_TRY(factor(r, "logit_scale", f->logit_scale, &c->logit_scale));
done:
    return st;
}

static asc_status read_experts(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    asc_decoder_config *c = r->c;
    const asc_hf_family *f = &r->f;
    if (f->experts_key == NULL) return ASC_OK;
    /* both names are in use for one number */
    const char *key = asc_hf_key(&r->k, f->experts_key) != NULL        ? f->experts_key
                      : asc_hf_key(&r->k, "num_local_experts") != NULL ? "num_local_experts"
                                                                       : "num_experts";
    ASC_TRY(asc_hf_count(&r->k, key, f->n_experts, 65536, &c->n_experts));
    ASC_TRY(count(r, "num_experts_per_tok", f->n_used, c->n_experts, &c->n_experts_used));
    ASC_TRY(asc_hf_count(&r->k, f->expert_width_key, f->expert_width, 1 << 24, &c->d_expert));
    c->shared_gate = f->shared_width_key != NULL;
    if (f->shared_width_key != NULL)
        ASC_TRY(asc_hf_count(&r->k, f->shared_width_key, f->shared_width, 1 << 24, &c->d_shared));
    c->norm_top_k = !f->raw_shares;
    if (f->top_k_key != NULL) ASC_TRY(asc_hf_flag(&r->k, f->top_k_key, f->normed_shares, &c->norm_top_k));
done:
    return st;
}

static asc_status read_all(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    asc_decoder_config *c = r->c;
    const asc_hf_family *f = &r->f;
    bool parallel;
    c->architecture = f->model_type;
    c->norm = f->norm;
    c->norm_plus_one = f->plus_one;
    c->pre_norms = !f->no_pre_norms;
    c->post_norms = f->post_norms;
    c->block = f->block;
    c->qk_norm = f->qk_norm;
    c->qk_norm_late = f->qk_norm_late;
    c->bare_norms = f->bare_norms;
    c->position_offset = f->position_offset;
    c->gated = !f->plain_mlp;
    c->fused_qkv_by_head = f->by_head;
    c->rope_interleaved = f->interleaved;
    c->fused_qkv_shards = f->qkv_shards;
    c->embed_norm = f->embed_norm;
    c->sinks = f->sinks;
    c->alibi = f->alibi;
    c->alibi_scale = 1.0;
    c->positions = f->alibi > 0.0                        ? ASC_POSITIONS_NONE
                   : f->rope_layers == ASC_HF_ROPE_NEVER ? ASC_POSITIONS_LEARNED
                                                         : ASC_POSITIONS_ROTARY;
    ASC_TRY(refuse_unknown(r));
    ASC_TRY(read_sizes(r));
    if (f->more != NULL) ASC_TRY(f->more(r));
    ASC_TRY(read_numbers(r));
    ASC_TRY(asc_hf_read_act(&r->k, f->act_key, f->act, &c->act));
    if (f->gelu_is_tanh && c->act == ASC_MLP_GELU) c->act = ASC_MLP_GELU_TANH;
    if (f->parallel_key != NULL) {
        ASC_TRY(asc_hf_flag(&r->k, f->parallel_key, f->block == ASC_BLOCK_PARALLEL, &parallel));
        c->block = parallel ? ASC_BLOCK_PARALLEL : ASC_BLOCK_SERIAL;
    }
    if (f->qk_norm_key != NULL) {
        bool normed;
        ASC_TRY(asc_hf_flag(&r->k, f->qk_norm_key, f->qk_normed, &normed));
        c->qk_norm = normed ? f->qk_norm : ASC_QK_NORM_NONE;
    }
    ASC_TRY(read_experts(r));
    if (c->positions == ASC_POSITIONS_ROTARY) ASC_TRY(asc_hf_read_ropes(r));
    ASC_TRY(asc_hf_read_layers(r));
done:
    return st;
}

static asc_status unknown_family(const asc_hf_keys *k, const char *key) {
    asc_strbuf names;
    asc_strbuf_init(&names, k->ctx);
    asc_strbuf_addf(&names, "supported: ");
    for (size_t i = 0; asc_hf_family_at(i) != NULL; i++)
        asc_strbuf_addf(&names, "%s%s", i > 0 ? ", " : "", asc_hf_family_at(i)->model_type);
    asc_strbuf_addf(&names, "; encoders: ");
    asc_encoder_list_families(&names);
    asc_status st = asc_strbuf_status(&names);
    if (st == ASC_OK) st = asc_hf_refuse(k, key, names.ptr);
    asc_strbuf_deinit(&names);
    return st;
}

/* `architectures` must name the family's language model: other heads have other outputs. */
static asc_status check_class(const asc_hf_keys *k, const asc_hf_family *f) {
    const asc_json *list = asc_hf_key(k, "architectures");
    if (list == NULL) return ASC_OK;
    if (asc_json_typeof(list) != ASC_JSON_ARRAY) return asc_hf_invalid(k, "architectures", "a list of names");
    for (size_t i = 0; i < asc_json_len(list); i++) {
        asc_view name = asc_json_str(asc_json_at(list, i)), left = asc_view_of(f->classes);
        for (; left.len > 0 && name.len > 0; left.ptr++, left.len--) {
            bool ends = left.len == name.len || (left.len > name.len && left.ptr[name.len] == ' ');
            if (ends && asc_view_starts(left, name)) return ASC_OK;
        }
    }
    if (asc_json_len(list) == 0) return ASC_OK;
    asc_view first = asc_view_cut(asc_json_str(asc_json_at(list, 0)), 80);
    ASC_FAIL(k->ctx, ASC_UNIMPLEMENTED, "'%s': architectures is \"" ASC_VIEW_FMT "\", which is not supported",
             k->file, ASC_VIEW_ARG(first));
    return asc_hint(k->ctx, "supported for %s: %s", f->model_type, f->classes);
}

/* Models of pictures and text keep their language model's configuration inside. Its model_type, if it has
 * none, into *type. */
static const asc_json *text_part(const asc_json *config, const char **type) {
    static const char *const known[][2] = {
        {"gemma3", "gemma3_text"}, {"llama4", "llama4_text"}, {"mistral3", "mistral"}};
    const asc_json *text = asc_json_get(config, "text_config");
    if (asc_json_typeof(text) != ASC_JSON_OBJECT) return NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        *type = known[i][1];
        if (asc_view_eqs(asc_json_str(asc_json_get(config, "model_type")), known[i][0])) return text;
    }
    return NULL;
}

asc_status asc_hf_configure(const asc_hf_folder *folder, asc_arena *arena, asc_hf_family *out_family,
                            asc_decoder_config *out) {
    asc_ctx *ctx = folder->ctx;
    asc_status st = ASC_OK;
    asc_view type;
    char file[4200];
    const char *text_type = NULL;
    const asc_json *text = text_part(folder->config, &text_type);
    *out = (asc_decoder_config){0};
    snprintf(file, sizeof file, "%s/config.json", folder->path);
    asc_hf_keys top = {ctx, folder->config, file, ""};
    asc_hf_reading r = {
        .k = {ctx, text != NULL ? text : folder->config, file, text != NULL ? "text_config." : ""},
        .arena = arena,
        .c = out};
    ASC_TRY(asc_hf_word(&r.k, "model_type", text != NULL ? text_type : NULL, &type));
    if (type.ptr == NULL) {
        st = asc_hf_invalid(&r.k, "model_type", "the name of an architecture");
        goto done;
    }
    const asc_hf_family *row = asc_hf_family_find(type);
    if (row == NULL) {
        st = unknown_family(&r.k, "model_type");
        goto done;
    }
    ASC_TRY(check_class(&top, row));
    *out_family = r.f = asc_hf_family_filled(row);
    if (text != NULL) {
        asc_hf_reading outer = {.k = top, .f = (asc_hf_family){0}};
        ASC_TRY(refuse_unknown(&outer));
    }
    ASC_TRY(read_all(&r));
    *out_family = r.f;
done:
    if (st != ASC_OK) asc_decoder_config_deinit(ctx, out);
    return st;
}
