/* encoder_config.c - config.json of a text encoder to what the forward pass needs. What would change the
 * numbers and is not supported is refused by the name of its key. */
#include "encoder_family.h"
#include "hf_act.h"
#include "hf_labels.h"
#include "view.h"
#include <stdio.h>
#include <string.h>

enum { MOST_LAYERS = 1024, MOST_SIZE = 1 << 24 };

typedef struct reader {
    asc_hf_keys k;
    asc_encoder_config *c;
} reader;

asc_status asc_encoder_refuse(const asc_hf_keys *k, const char *key) {
    return asc_hf_refuse(k, key,
                         "ignoring it would change the numbers; docs/encoders.md lists what is supported");
}

static asc_status token_id(const reader *r, const char *key, int32_t *out) {
    const asc_json *v = asc_json_get(r->k.obj, key);
    int64_t id = asc_json_int(v, -1);
    *out = -1;
    if (asc_json_typeof(v) != ASC_JSON_INT) return ASC_OK; /* absent, null, or a list: the tokenizer knows */
    if (id >= r->c->n_vocab) return asc_hf_invalid(&r->k, key, "an id below vocab_size");
    if (id >= 0) *out = (int32_t)id;
    return ASC_OK;
}

/* Of several rows the one whose width the config has, and whose kind of positions. */
static const asc_encoder_family *find_family(asc_view type, const asc_json *config) {
    const asc_encoder_family *found = NULL;
    const bool alibi = asc_view_eqs(asc_json_str(asc_json_get(config, "position_embedding_type")), "alibi");
    for (size_t i = 0; i < asc_n_encoder_families; i++) {
        const asc_encoder_family *f = &asc_encoder_families[i];
        if (!asc_view_eqs(type, f->model_type)) continue;
        if (found == NULL || asc_json_get(config, found->width) == NULL || (f->alibi && alibi)) found = f;
    }
    return found;
}

void asc_encoder_list_families(asc_strbuf *out) {
    for (size_t i = 0; i < asc_n_encoder_families; i++) {
        const char *name = asc_encoder_families[i].model_type;
        if (i == 0 || strcmp(name, asc_encoder_families[i - 1].model_type) != 0)
            asc_strbuf_addf(out, "%s%s", i > 0 ? ", " : "", name);
    }
}

bool asc_encoder_is_family(asc_view model_type) { return find_family(model_type, NULL) != NULL; }

void asc_encoder_config_deinit(asc_ctx *ctx, asc_encoder_config *c) {
    if (c->labels != NULL) asc_hf_free_labels(ctx, c->labels, c->n_classes);
    asc_free(ctx, c->plan);
    *c = (asc_encoder_config){0};
}

/* Kinds of layers: global ones, which see everything, and local ones. */
static const char *const modern_kinds[2] = {"full_attention", "sliding_attention"};

/* A number above 0. */
static asc_status positive(const asc_hf_keys *k, const char *key, double fallback, double *out) {
    return asc_hf_number(k, key, fallback, 1e-30, 1e12, out);
}

/* Which layers see a window, and in which of two ways positions turn: layer_types (transformers 5) or
 * global_attn_every_n_layers. */
static asc_status modern_layers(const reader *r) {
    asc_encoder_config *c = r->c;
    asc_status st = ASC_OK;
    const asc_json *types = asc_hf_key(&r->k, "layer_types");
    int64_t every, window;
    ASC_TRY(asc_hf_count(&r->k, "global_attn_every_n_layers", 3, MOST_LAYERS, &every));
    ASC_TRY(asc_hf_count(&r->k, "local_attention", 128, MOST_SIZE, &window));
    if (window < 2) return asc_hf_invalid(&r->k, "local_attention", "at least two tokens");
    if (types != NULL && asc_json_len(types) != (size_t)c->n_layers)
        return asc_hf_invalid(&r->k, "layer_types", "a list of num_hidden_layers kinds");
    for (int64_t l = 0; l < c->n_layers; l++) {
        asc_view t = asc_json_str(asc_json_at(types, (size_t)l));
        bool local = types != NULL ? asc_view_eqs(t, modern_kinds[1]) : l % every != 0;
        if (types != NULL && !local && !asc_view_eqs(t, modern_kinds[0]))
            return asc_encoder_refuse(&r->k, "layer_types");
        c->plan[l] = (asc_layer_plan){.window = local ? window / 2 : 0, .rope = local ? 1 : 0};
    }
done:
    return st;
}

/* rope_parameters (transformers 5) or global_rope_theta and local_rope_theta. */
static asc_status modern_ropes(const reader *r) {
    static const char *const keys[2] = {"global_rope_theta", "local_rope_theta"};
    static const char *const prefixes[2] = {"rope_parameters.full_attention.",
                                            "rope_parameters.sliding_attention."};
    static const double thetas[2] = {160000.0, 10000.0};
    asc_encoder_config *c = r->c;
    asc_status st = ASC_OK;
    const asc_json *ropes = asc_hf_key(&r->k, "rope_parameters");
    if (asc_hf_key(&r->k, "rope_scaling") != NULL) return asc_encoder_refuse(&r->k, "rope_scaling");
    if (c->head_dim % 2 != 0)
        return asc_hf_invalid(&r->k, c->family->heads, "a number that makes the width of a head even");
    for (int i = 0; i < 2; i++) {
        const reader p = {.k = {r->k.ctx, asc_json_get(ropes, modern_kinds[i]), r->k.file, prefixes[i]}};
        asc_view kind;
        double theta;
        ASC_TRY(asc_hf_word(&p.k, "rope_type", "default", &kind));
        if (!asc_view_eqs(kind, "default")) return asc_encoder_refuse(&p.k, "rope_type");
        ASC_TRY(positive(&r->k, keys[i], thetas[i], &theta));
        ASC_TRY(positive(&p.k, "rope_theta", theta, &theta));
        c->rope[i] = (asc_rope_config){.n_rot = c->head_dim, .base = theta};
    }
    c->n_ropes = 2;
done:
    return st;
}

static const char *default_act(const asc_encoder_family *f) {
    return f->default_act != NULL ? f->default_act : "gelu";
}

static asc_status sizes(const reader *r) {
    asc_encoder_config *c = r->c;
    const asc_hf_keys *k = &r->k;
    const asc_encoder_family *f = c->family;
    asc_status st = ASC_OK;
    ASC_TRY(asc_hf_count(k, f->layers, 0, MOST_LAYERS, &c->n_layers));
    ASC_TRY(asc_hf_count(k, f->width, 0, MOST_SIZE, &c->d_model));
    ASC_TRY(asc_hf_count(k, f->heads, 0, MOST_SIZE, &c->n_heads));
    ASC_TRY(asc_hf_count(k, f->ff, 0, MOST_SIZE, &c->d_ff));
    ASC_TRY(asc_hf_count(k, "vocab_size", 0, INT32_MAX, &c->n_vocab));
    const char *positions = f->positions != NULL ? f->positions : "max_position_embeddings";
    ASC_TRY(asc_hf_count(k, positions, 0, MOST_SIZE, &c->n_positions));
    c->eps = f->default_eps;
    if (f->eps != NULL) ASC_TRY(positive(k, f->eps, f->default_eps, &c->eps));
    if (f->act != NULL) ASC_TRY(asc_hf_read_act(k, f->act, default_act(f), &c->act));
    if (c->d_model % c->n_heads != 0) return asc_hf_invalid(k, f->heads, "a divisor of the model's width");
    c->head_dim = c->d_model / c->n_heads;
    c->embed_width = c->d_model;
    ASC_TRY(token_id(r, "pad_token_id", &c->pad));
    ASC_TRY(token_id(r, "cls_token_id", &c->cls));
    ASC_TRY(token_id(r, "sep_token_id", &c->sep));
    ASC_TRY(token_id(r, "mask_token_id", &c->mask));
    if (f->names->type != NULL && !f->deberta)
        ASC_TRY(asc_hf_count(k, "type_vocab_size", 2, 1 << 16, &c->n_types));
    c->first_position = f->behind_pad ? (f->fixed_pad || c->pad < 0 ? 1 : c->pad) + 1 : 0;
    c->context = c->n_positions - c->first_position;
    if (c->context < 1) return asc_hf_invalid(k, positions, "positions behind that of pad_token_id");
    c->alibi = f->alibi;
    if (f->modern || f->rotary || f->alibi) c->n_positions = 0;
    if (f->deberta) ASC_TRY(asc_encoder_deberta(k, c));
    if (f->names->relative != NULL && !f->deberta) {
        ASC_TRY(asc_hf_count(k, "relative_attention_num_buckets", 32, 1 << 16, &c->n_buckets));
        if (c->n_buckets != 32) return asc_encoder_refuse(&r->k, "relative_attention_num_buckets");
        c->max_distance = 128; /* of the model's code; not in the config */
    }
done:
    return st;
}

static asc_status refuse(const reader *r) {
    static const char *const off[] = {"is_decoder", "add_cross_attention"};
    asc_status st = ASC_OK;
    asc_view word;
    bool on;
    ASC_TRY(asc_hf_word(&r->k, "position_embedding_type", "absolute", &word));
    if (!asc_view_eqs(word, r->c->alibi ? "alibi" : "absolute"))
        return asc_encoder_refuse(&r->k, "position_embedding_type");
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        ASC_TRY(asc_hf_flag(&r->k, off[i], false, &on));
        if (on) return asc_encoder_refuse(&r->k, off[i]);
    }
    if (asc_hf_key(&r->k, "quantization_config") != NULL)
        return asc_encoder_refuse(&r->k, "quantization_config");
    const int64_t d = r->c->d_model;
    ASC_TRY(
        asc_hf_count(&r->k, "embedding_size", r->c->family->grouped ? 128 : d, MOST_SIZE, &r->c->word_width));
    if (r->c->word_width > d || (r->c->word_width < d && r->c->family->names->project == NULL))
        return asc_encoder_refuse(&r->k, "embedding_size");
    if (!r->c->family->grouped) return ASC_OK;
    ASC_TRY(asc_hf_count(&r->k, "num_hidden_groups", 1, r->c->n_layers, &r->c->n_groups));
    ASC_TRY(asc_hf_count(&r->k, "inner_group_num", 1, MOST_LAYERS, &r->c->n_inner));
    if (r->c->n_layers * r->c->n_inner > MOST_LAYERS)
        return asc_hf_invalid(&r->k, "inner_group_num", "at most 1024 blocks in all");
    r->c->n_layers *= r->c->n_inner;
done:
    return st;
}

static asc_head_kind head_kind(const asc_json *config) {
    static const struct {
        const char *end;
        asc_head_kind kind;
    } ends[] = {{"ForSequenceClassification", ASC_HEAD_CLASSES},
                {"ForTokenClassification", ASC_HEAD_TOKENS},
                {"ForMaskedLM", ASC_HEAD_WORDS},
                {"BertForPreTraining", ASC_HEAD_WORDS},
                {"ForQuestionAnswering", ASC_HEAD_SPAN}};
    asc_view a = asc_json_str(asc_json_at(asc_json_get(config, "architectures"), 0));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (asc_view_ends(a, asc_view_of(ends[i].end))) return ends[i].kind;
    }
    return ASC_HEAD_NONE;
}

/* Heads that score words or places have no classes with names. */
static asc_status nameless_head(const reader *r) {
    asc_encoder_config *c = r->c;
    const asc_encoder_family *f = c->family;
    c->n_classes = c->head == ASC_HEAD_WORDS ? c->n_vocab : 2;
    c->head_eps = c->eps;
    if (c->head == ASC_HEAD_SPAN) c->has_head_dense = f->names->token_dense != NULL;
    if (c->head == ASC_HEAD_WORDS) c->has_head_dense = true;
    c->head_act = ASC_MLP_GELU;
    if (c->head == ASC_HEAD_WORDS && f->names->later_dense != NULL) {
        bool legacy;
        asc_status st = asc_hf_flag(&r->k, "legacy", true, &legacy);
        if (st != ASC_OK) return st;
        c->later_words = !legacy;
        c->words_said = asc_hf_key(&r->k, "legacy") != NULL;
    }
    return f->words_act != NULL ? asc_hf_read_act(&r->k, f->words_act, default_act(f), &c->head_act) : ASC_OK;
}

static asc_status head(const reader *r) {
    asc_encoder_config *c = r->c;
    const asc_hf_keys *k = &r->k;
    const asc_encoder_family *f = c->family;
    asc_status st = ASC_OK;
    asc_view problem, pooling;
    c->head = head_kind(k->obj);
    if (c->head == ASC_HEAD_NONE) return ASC_OK;
    if (c->head == ASC_HEAD_WORDS || c->head == ASC_HEAD_SPAN) return nameless_head(r);
    bool tokens = c->head == ASC_HEAD_TOKENS;
    c->has_head_dense = tokens ? f->names->token_dense != NULL : f->names->head_dense != NULL;
    c->head_pool = ASC_POOL_FIRST;
    c->head_act = f->head_act;
    if (f->modern) {
        c->head_eps = c->eps;
        ASC_TRY(asc_hf_read_act(k, "classifier_activation", "gelu", &c->head_act));
        ASC_TRY(asc_hf_word(k, "classifier_pooling", "cls", &pooling));
        c->head_pool = asc_view_eqs(pooling, "mean") ? ASC_POOL_MEAN : ASC_POOL_FIRST;
        if (c->head_pool == ASC_POOL_FIRST && !asc_view_eqs(pooling, "cls"))
            return asc_encoder_refuse(&r->k, "classifier_pooling");
    }
    if (!tokens && f->class_act != NULL) ASC_TRY(asc_hf_read_act(k, f->class_act, "gelu", &c->head_act));
    ASC_TRY(asc_hf_count_labels(k, &c->n_classes));
    ASC_TRY(asc_hf_read_labels(k, c->n_classes, &c->labels));
    ASC_TRY(asc_hf_word(k, "problem_type", NULL, &problem));
    c->many_labels = asc_view_eqs(problem, "multi_label_classification") || (!tokens && c->n_classes == 1);
done:
    return st;
}

/* Every layer's plan: without rotary positions and windows, but in ModernBERT. */
static asc_status plan(const reader *r) {
    asc_encoder_config *c = r->c;
    c->plan = asc_calloc(r->k.ctx, ASC_MEM_GENERAL, (size_t)c->n_layers, sizeof *c->plan);
    if (c->plan == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (int64_t l = 0; l < c->n_layers; l++) c->plan[l].rope = ASC_ROPE_OFF;
    c->pre_norm = c->family->modern;
    c->gated = c->gated || c->family->modern;
    if (c->family->rotary) return asc_encoder_nomic(&r->k, c);
    if (!c->family->modern) return ASC_OK;
    asc_status st = modern_layers(r);
    return st == ASC_OK ? modern_ropes(r) : st;
}

/* What Jina's own code reads beside BERT's keys: a gated MLP without bias, and how texts are pooled. */
static asc_status jina(const reader *r) {
    asc_encoder_config *c = r->c;
    asc_status st = ASC_OK;
    asc_view kind, pool;
    ASC_TRY(asc_hf_word(&r->k, "feed_forward_type", "original", &kind));
    if (!asc_view_eqs(kind, "geglu") && !asc_view_eqs(kind, "reglu"))
        return asc_hf_refuse(&r->k, "feed_forward_type", "supported: geglu, reglu");
    c->act = asc_view_eqs(kind, "geglu") ? ASC_MLP_GELU : ASC_MLP_RELU;
    c->gated = true;
    c->up_bias = false;
    ASC_TRY(asc_hf_word(&r->k, "emb_pooler", NULL, &pool));
    if (pool.ptr == NULL) return ASC_OK;
    if (!asc_view_eqs(pool, "mean")) return asc_hf_refuse(&r->k, "emb_pooler", "supported: mean");
    c->plain_pooling = false;
done:
    return st;
}

/* Where biases are: everywhere, but in ModernBERT where its keys say so. */
static asc_status biases(const reader *r) {
    asc_encoder_config *c = r->c;
    asc_status st = ASC_OK;
    c->attn_bias = c->up_bias = c->mlp_bias = c->norm_bias = c->head_bias = true;
    if (c->alibi) return jina(r);
    if (!c->family->modern) return ASC_OK;
    ASC_TRY(asc_hf_flag(&r->k, "attention_bias", false, &c->attn_bias));
    ASC_TRY(asc_hf_flag(&r->k, "mlp_bias", false, &c->mlp_bias));
    c->up_bias = c->mlp_bias;
    ASC_TRY(asc_hf_flag(&r->k, "norm_bias", false, &c->norm_bias));
    ASC_TRY(asc_hf_flag(&r->k, "classifier_bias", false, &c->head_bias));
done:
    return st;
}

asc_status asc_encoder_configure(asc_ctx *ctx, const char *path, const asc_json *config,
                                 asc_encoder_config *out) {
    char file[1100];
    reader r = {.k = {ctx, config, file, ""}, .c = out};
    asc_status st = ASC_OK;
    asc_view type;
    *out = (asc_encoder_config){.plain_pooling = true, .pooling = {ASC_POOL_MEAN}, .n_poolings = 1};
    snprintf(file, sizeof file, "%.1000s/config.json", path);
    ASC_TRY(asc_hf_word(&r.k, "model_type", "", &type));
    out->family = find_family(type, config);
    if (out->family == NULL) {
        asc_strbuf known;
        asc_strbuf_init(&known, ctx);
        asc_strbuf_addf(&known, "text encoders: ");
        asc_encoder_list_families(&known);
        st = asc_strbuf_status(&known);
        if (st == ASC_OK) st = asc_hf_refuse(&r.k, "model_type", known.ptr);
        asc_strbuf_deinit(&known);
        goto done;
    }
    out->architecture = out->family->model_type;
    ASC_TRY(sizes(&r));
    ASC_TRY(refuse(&r));
    ASC_TRY(biases(&r));
    ASC_TRY(plan(&r));
    ASC_TRY(head(&r));
done:
    if (st != ASC_OK) asc_encoder_config_deinit(ctx, out);
    return st;
}
