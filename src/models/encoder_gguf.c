/* encoder_gguf.c - text encoders in GGUF files, as llama.cpp's converter writes them: architectures bert
 * (also RoBERTa's and XLM-R's, whose positions the converter cuts), nomic-bert, nomic-bert-moe, jina-bert-v2
 * and modern-bert. Facts and their sources: docs/formats/gguf.md. */
#include "encoder_family.h"
#include "encoder_gguf.h"
#include "gguf_vocab.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

#define ENTRY .prefix = "", .word = "token_embd", .embed_norm = "token_embd_norm", .layer = "blk.%lld."
#define QKV .q = "attn_q", .k = "attn_k", .v = "attn_v", .qkv = "attn_qkv" /* files have either */
#define POST_NORMS .o = "attn_output", .attn_norm = "attn_output_norm", .mlp_norm = "layer_output_norm"

static const asc_encoder_names bert = {ENTRY,
                                       .position = "position_embd",
                                       .type = "token_types",
                                       QKV,
                                       POST_NORMS,
                                       .up = "ffn_up",
                                       .down = "ffn_down",
                                       .head_dense = "cls",
                                       .head = "cls.output"};
static const asc_encoder_names nomic = {
    ENTRY,          .type = "token_types", .qkv = "attn_qkv",   POST_NORMS,          .gate = "ffn_gate",
    .up = "ffn_up", .down = "ffn_down",    .head_dense = "cls", .head = "cls.output"};
/* the experts are plain MLPs; the converter leaves their common bias out */
static const asc_encoder_names nomic_moe = {ENTRY,
                                            .type = "token_types",
                                            .qkv = "attn_qkv",
                                            POST_NORMS,
                                            .up = "ffn_up",
                                            .down = "ffn_down",
                                            .router = "ffn_gate_inp",
                                            .up_exps = "ffn_up_exps.weight",
                                            .down_exps = "ffn_down_exps.weight",
                                            .head_dense = "cls",
                                            .head = "cls.output"};
static const asc_encoder_names jina = {ENTRY,
                                       .type = "token_types",
                                       QKV,
                                       POST_NORMS,
                                       .gate = "ffn_gate",
                                       .up = "ffn_up",
                                       .down = "ffn_down",
                                       .head_dense = "cls",
                                       .head = "cls.output"};
static const asc_encoder_names modern = {ENTRY,
                                         .final_norm = "output_norm",
                                         QKV,
                                         .o = "attn_output",
                                         .attn_norm = "attn_norm",
                                         .up = "ffn_up",
                                         .down = "ffn_down",
                                         .mlp_norm = "ffn_norm",
                                         .head_dense = "cls",
                                         .head_norm = "cls.norm",
                                         .head = "cls.output"};

static const asc_encoder_family families[] = {
    {.model_type = "bert", .names = &bert, .head_act = ASC_MLP_TANH},
    {.model_type = "nomic-bert", .names = &nomic, .head_act = ASC_MLP_TANH},
    {.model_type = "nomic-bert-moe", .names = &nomic_moe, .head_act = ASC_MLP_TANH},
    {.model_type = "jina-bert-v2", .names = &jina, .alibi = true, .head_act = ASC_MLP_TANH},
    {.model_type = "modern-bert", .names = &modern, .modern = true, .head_act = ASC_MLP_GELU},
};

static const asc_encoder_family *family_of(asc_view arch) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (asc_view_eqs(arch, families[i].model_type)) return &families[i];
    }
    return NULL;
}

bool asc_encoder_is_gguf(const asc_gguf *g) {
    const asc_gguf_kv *kv = asc_gguf_kv_find(g, "general.architecture");
    return kv != NULL && !kv->is_array && kv->values.type == ASC_GGUF_STRING &&
           family_of(asc_gguf_str_at(kv->values, 0)) != NULL;
}

const char *asc_encoder_gguf_names(void) {
    return "bert, nomic-bert, nomic-bert-moe, jina-bert-v2, modern-bert";
}

typedef struct meta {
    asc_ctx *ctx;
    const asc_gguf *g;
    asc_encoder_config *c;
    char key[128];
} meta;

static const char *key_of(meta *m, const char *suffix) {
    snprintf(m->key, sizeof m->key, "%s.%s", m->c->architecture, suffix);
    return m->key;
}

static asc_status count(meta *m, const char *suffix, uint64_t most, int64_t *out) {
    uint64_t v = 0;
    asc_status st = asc_gguf_get_u64(m->ctx, m->g, key_of(m, suffix), &v);
    if (st != ASC_OK) return st;
    if (v < 1 || v > most)
        return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s is %llu; expected 1 to %llu",
                        asc_gguf_name(m->g), m->key, (unsigned long long)v, (unsigned long long)most);
    *out = (int64_t)v;
    return ASC_OK;
}

/* A number above 0; fallback 0 = the key is required. */
static asc_status positive(meta *m, const char *suffix, double fallback, double *out) {
    const char *k = key_of(m, suffix);
    asc_status st = fallback > 0.0 ? asc_gguf_get_f64_or(m->ctx, m->g, k, fallback, out)
                                   : asc_gguf_get_f64(m->ctx, m->g, k, out);
    if (st != ASC_OK || (*out >= 1e-30 && *out <= 1e12)) return st;
    return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s is %g, not a number above 0", asc_gguf_name(m->g),
                    k, *out);
}

/* What would change the numbers and is not supported: the key's value that means "not used" is accepted. */
static asc_status refuse(meta *m) {
    enum { FIRST_OF_MIXTURES = 3 };
    static const char *const off[] = {"attention.causal", "attention.max_alibi_bias", "attention.clamp_kqv",
                                      "expert_count", "moe_every_n_layers"};
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        const bool mixes = m->c->family->names->router != NULL && i >= FIRST_OF_MIXTURES;
        const asc_gguf_kv *kv = mixes ? NULL : asc_gguf_kv_find(m->g, key_of(m, off[i]));
        if (kv == NULL || (!kv->is_array && !(fabs(asc_gguf_num_at(kv->values, 0)) > 0.0))) continue;
        ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED, "'%s': %s is set, which is not supported", asc_gguf_name(m->g),
                 m->key);
        return asc_hint(m->ctx, "ignoring it would change the numbers; docs/encoders.md lists what is "
                                "supported");
    }
    asc_view type;
    const asc_view none = asc_view_of("none");
    asc_status st = asc_gguf_get_str_or(m->ctx, m->g, key_of(m, "rope.scaling.type"), none, &type);
    if (st != ASC_OK || asc_view_eq(type, none)) return st;
    asc_view cut = asc_view_cut(type, 40);
    ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED, "'%s': %s '" ASC_VIEW_FMT "' is not supported", asc_gguf_name(m->g),
             m->key, ASC_VIEW_ARG(cut));
    return asc_hint(m->ctx, "encoders turn positions without scaling here");
}

/* Rows of a table; 0 = there is none. */
static int64_t rows_of(const meta *m, const char *tensor) {
    const asc_gguf_tensor *t = asc_gguf_tensor_find(m->g, tensor);
    return t == NULL ? 0 : t->rank == 1 ? 1 : t->dims[0];
}

static bool has(const meta *m, const char *tensor) { return asc_gguf_tensor_find(m->g, tensor) != NULL; }

/* pooling_type's numbers are those of llama.cpp. */
static asc_status pooling(meta *m) {
    enum { NONE, MEAN, CLS, LAST, RANK };
    asc_encoder_config *c = m->c;
    uint64_t how = NONE;
    asc_status st = asc_gguf_get_u64_or(m->ctx, m->g, key_of(m, "pooling_type"), NONE, &how);
    if (st != ASC_OK) return st;
    if (how > RANK) {
        ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED, "'%s': %s is %llu", asc_gguf_name(m->g), m->key,
                 (unsigned long long)how);
        return asc_hint(m->ctx, "supported: 0 none, 1 mean, 2 first token, 3 last token, 4 classes");
    }
    c->plain_pooling = how == NONE || how == RANK;
    c->pooling[0] = how == CLS ? ASC_POOL_FIRST : how == LAST ? ASC_POOL_LAST : ASC_POOL_MEAN;
    if (how != RANK) return ASC_OK;
    c->head = ASC_HEAD_CLASSES;
    c->head_pool = ASC_POOL_FIRST;
    c->head_act = c->family->head_act;
    c->has_head_dense = has(m, "cls.weight");
    c->head_bias = has(m, "cls.bias");
    c->head_eps = c->eps;
    if (c->family->modern) {
        uint64_t head = MEAN;
        st = asc_gguf_get_u64_or(m->ctx, m->g, key_of(m, "classifier.pooling_type"), MEAN, &head);
        if (st == ASC_OK && head != MEAN && head != CLS)
            st = ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED, "'%s': %s is %llu, neither mean nor first token",
                          asc_gguf_name(m->g), m->key, (unsigned long long)head);
        if (st != ASC_OK) return st;
        c->head_pool = head == MEAN ? ASC_POOL_MEAN : ASC_POOL_FIRST;
    }
    c->n_classes = rows_of(m, "cls.output.weight");
    c->many_labels = c->n_classes == 1;
    if (c->n_classes > 0) return ASC_OK;
    ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': tensor cls.output.weight is missing, which %s 4 asks for",
             asc_gguf_name(m->g), m->key);
    return asc_hint(m->ctx, "convert the model again, with its classifier");
}

/* Files of modern-bert name it; the others' is that of the models that they were made of. */
static asc_status activation(meta *m) {
    static const struct {
        const char *name;
        asc_mlp_act act;
    } acts[] = {{"gelu", ASC_MLP_GELU},  {"geglu", ASC_MLP_GELU},  {"silu", ASC_MLP_SILU},
                {"swish", ASC_MLP_SILU}, {"swiglu", ASC_MLP_SILU}, {"relu", ASC_MLP_RELU},
                {"reglu", ASC_MLP_RELU}};
    asc_encoder_config *c = m->c;
    asc_view name;
    c->act = c->family->names->gate != NULL && !c->alibi ? ASC_MLP_SILU : ASC_MLP_GELU;
    if (asc_gguf_kv_find(m->g, key_of(m, "hidden_activation")) == NULL) return ASC_OK;
    asc_status st = asc_gguf_get_str(m->ctx, m->g, m->key, &name);
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (!asc_view_eqs(name, acts[i].name)) continue;
        c->act = acts[i].act;
        return ASC_OK;
    }
    asc_view cut = asc_view_cut(name, 40);
    ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED, "'%s': %s '" ASC_VIEW_FMT "' is not supported", asc_gguf_name(m->g),
             m->key, ASC_VIEW_ARG(cut));
    return asc_hint(m->ctx, "supported: gelu, silu, relu");
}

static asc_status labels(meta *m) {
    asc_encoder_config *c = m->c;
    asc_gguf_array names;
    if (c->head != ASC_HEAD_CLASSES) return ASC_OK;
    asc_status st =
        asc_gguf_get_array_or(m->ctx, m->g, key_of(m, "classifier.output_labels"), ASC_GGUF_STRINGS, &names);
    if (st != ASC_OK) return st;
    if (names.count > 0 && names.count != (size_t)c->n_classes)
        return ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s has %zu names for %lld classes",
                        asc_gguf_name(m->g), m->key, names.count, (long long)c->n_classes);
    c->labels = asc_calloc(m->ctx, ASC_MEM_GENERAL, (size_t)c->n_classes, sizeof *c->labels);
    if (c->labels == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < c->n_classes; i++) {
        char text[32];
        snprintf(text, sizeof text, "LABEL_%lld", (long long)i);
        asc_view v = names.count > 0 ? asc_gguf_str_at(names, (size_t)i) : asc_view_of(text);
        c->labels[i] = asc_strdup_view(m->ctx, ASC_MEM_GENERAL, v);
        if (c->labels[i] == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    return ASC_OK;
}

/* Layers that see a window, and by which of two ropes positions turn. A pattern of n: every n-th layer from
 * the first one on sees everything. */
static asc_status plan(meta *m) {
    asc_encoder_config *c = m->c;
    uint64_t window = 0, period = 3;
    asc_gguf_array list = {0};
    asc_status st = ASC_OK;
    const bool modern_kind = c->family->modern, turns = c->family->names->position == NULL && !c->alibi;
    c->plan = asc_calloc(m->ctx, ASC_MEM_GENERAL, (size_t)c->n_layers, sizeof *c->plan);
    if (c->plan == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (modern_kind) {
        ASC_TRY(asc_gguf_get_u64_or(m->ctx, m->g, key_of(m, "attention.sliding_window"), 0, &window));
        const asc_gguf_kv *kv = asc_gguf_kv_find(m->g, key_of(m, "attention.sliding_window_pattern"));
        if (kv != NULL && kv->is_array)
            ASC_TRY(asc_gguf_get_array(m->ctx, m->g, m->key,
                                       kv->values.type == ASC_GGUF_BOOL ? ASC_GGUF_BOOLS : ASC_GGUF_INTEGERS,
                                       &list));
        else
            ASC_TRY(asc_gguf_get_u64_or(m->ctx, m->g, m->key, period, &period));
        if (period < 1 || (list.count > 0 && list.count < (size_t)c->n_layers) || window > INT32_MAX) {
            st = ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s says nothing about %lld layers",
                          asc_gguf_name(m->g), key_of(m, "attention.sliding_window_pattern"),
                          (long long)c->n_layers);
            goto done;
        }
    }
    for (int64_t l = 0; l < c->n_layers; l++) {
        const bool local = window > 1 && (list.count > 0 ? asc_gguf_int_at(list, (size_t)l) != 0
                                                         : (uint64_t)l % period != 0);
        c->plan[l] = (asc_layer_plan){.window = local ? (int64_t)(window / 2) : 0,
                                      .rope = !turns  ? ASC_ROPE_OFF
                                              : local ? 1
                                                      : 0};
    }
    if (!turns) goto done;
    if (c->head_dim % 2 != 0) {
        st = ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': heads of %lld columns cannot turn in pairs",
                      asc_gguf_name(m->g), (long long)c->head_dim);
        goto done;
    }
    double base[2];
    ASC_TRY(positive(m, "rope.freq_base", 10000.0, &base[0]));
    ASC_TRY(positive(m, "rope.freq_base_swa", modern_kind ? 10000.0 : base[0], &base[1]));
    c->n_ropes = modern_kind ? 2 : 1;
    for (int i = 0; i < c->n_ropes; i++)
        c->rope[i] = (asc_rope_config){.n_rot = c->head_dim, .base = base[i]};
done:
    return st;
}

/* Every n-th layer is a mixture, from the second one on. */
static asc_status experts(meta *m) {
    asc_encoder_config *c = m->c;
    int64_t every;
    asc_status st = ASC_OK;
    ASC_TRY(count(m, "moe_every_n_layers", 1024, &every));
    ASC_TRY(count(m, "expert_count", 65536, &c->n_experts));
    ASC_TRY(count(m, "expert_used_count", (uint64_t)c->n_experts, &c->n_experts_used));
    for (int64_t l = 0; l < c->n_layers; l++) c->plan[l].moe = every > 1 && l % every == 1;
done:
    return st;
}

static asc_status configure(asc_ctx *ctx, const asc_gguf *g, asc_encoder_config *out) {
    asc_status st = ASC_OK;
    asc_view arch;
    meta m = {.ctx = ctx, .g = g, .c = out};
    *out = (asc_encoder_config){.plain_pooling = true,
                                .pooling = {ASC_POOL_MEAN},
                                .n_poolings = 1,
                                .pad = -1,
                                .cls = -1,
                                .sep = -1,
                                .mask = -1};
    ASC_TRY(asc_gguf_get_str(ctx, g, "general.architecture", &arch));
    out->family = family_of(arch);
    out->architecture = out->family->model_type;
    ASC_TRY(refuse(&m));
    ASC_TRY(count(&m, "block_count", 1024, &out->n_layers));
    ASC_TRY(count(&m, "embedding_length", 1 << 24, &out->d_model));
    ASC_TRY(count(&m, "feed_forward_length", 1 << 24, &out->d_ff));
    ASC_TRY(count(&m, "context_length", 1 << 24, &out->context));
    ASC_TRY(count(&m, "attention.head_count", 1 << 24, &out->n_heads));
    ASC_TRY(positive(&m, "attention.layer_norm_epsilon", 0.0, &out->eps));
    if (out->d_model % out->n_heads != 0) {
        st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s': %s is %lld, which does not divide the width of %lld",
                      asc_gguf_name(g), key_of(&m, "attention.head_count"), (long long)out->n_heads,
                      (long long)out->d_model);
        goto done;
    }
    out->head_dim = out->d_model / out->n_heads;
    out->embed_width = out->word_width = out->d_model;
    out->n_vocab = rows_of(&m, "token_embd.weight");
    out->n_positions = out->family->names->position != NULL ? out->context : 0;
    out->n_types = out->family->names->type != NULL ? rows_of(&m, "token_types.weight") : 0;
    out->pre_norm = out->family->modern;
    out->gated = out->family->modern || out->family->names->gate != NULL;
    out->alibi = out->family->alibi;
    out->gate_in_up = out->alibi && !has(&m, "blk.0.ffn_gate.weight");
    out->attn_bias = has(&m, "blk.0.attn_output.bias");
    out->up_bias = has(&m, "blk.0.ffn_up.bias");
    out->mlp_bias = has(&m, "blk.0.ffn_down.bias");
    out->norm_bias = has(&m, "token_embd_norm.bias");
    ASC_TRY(activation(&m));
    ASC_TRY(pooling(&m));
    ASC_TRY(labels(&m));
    ASC_TRY(plan(&m));
    if (out->family->names->router != NULL) ASC_TRY(experts(&m));
done:
    if (st != ASC_OK) asc_encoder_config_deinit(ctx, out);
    return st;
}

/* Ids of the tokens that frame a text: the file's metadata says them. */
static void special_tokens(asc_model *m) {
    asc_encoder_config *c = &m->encoder->cfg;
    const asc_tokenizer_info i = asc_tokenizer_get_info(m->tokenizer);
    const struct {
        int32_t from, *to;
    } ids[] = {{i.cls, &c->cls}, {i.sep, &c->sep}, {i.mask, &c->mask}, {i.pad, &c->pad}};
    for (size_t k = 0; k < sizeof ids / sizeof *ids; k++) {
        if (ids[k].from >= 0 && ids[k].from < c->n_vocab) *ids[k].to = ids[k].from;
    }
}

asc_status asc_encoder_gguf_open(asc_model *m, const asc_gguf *g) {
    asc_ctx *ctx = m->ctx;
    asc_encoder_config cfg;
    asc_status st = configure(ctx, g, &cfg);
    if (st != ASC_OK) return st;
    m->kind = ASC_MODEL_ENCODER;
    m->encoder = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *m->encoder);
    if (m->encoder == NULL) {
        asc_encoder_config_deinit(ctx, &cfg);
        return ASC_RESOURCE_EXHAUSTED;
    }
    st = asc_encoder_load(ctx, m->weights, &cfg, m->encoder);
    if (st == ASC_OK) st = asc_tokenizer_from_gguf(ctx, g, &m->tokenizer);
    if (st == ASC_OK) special_tokens(m);
    return st;
}
