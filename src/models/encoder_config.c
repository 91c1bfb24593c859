/* encoder_config.c - config.json of a text encoder to what the forward pass needs. What would change the
 * numbers and is not supported is refused by the name of its key. */
#include "encoder_family.h"
#include "view.h"
#include <stdio.h>
#include <string.h>

enum { MOST_LAYERS = 1024, MOST_CLASSES = 1 << 20, MOST_SIZE = 1 << 24 };

typedef struct reader {
    asc_ctx *ctx;
    const char *path;
    const asc_json *root;
    asc_encoder_config *c;
    asc_status st;
} reader;

static void wrong(reader *r, const char *key, const char *what) {
    if (r->st != ASC_OK) return;
    r->st = ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "'%s': %s %s", r->path, key, what);
    asc_hint(r->ctx, "the folder's config.json is damaged or of another model; fetch the folder again");
}

static void unsupported(reader *r, const char *key, const char *what) {
    if (r->st != ASC_OK) return;
    r->st = ASC_FAIL(r->ctx, ASC_UNIMPLEMENTED, "'%s': %s %s is not supported", r->path, key, what);
    asc_hint(r->ctx, "ignoring it would change the numbers; docs/encoders.md lists what is supported");
}

static bool present(const reader *r, const char *key) {
    const asc_json *v = asc_json_get(r->root, key);
    return v != NULL && asc_json_typeof(v) != ASC_JSON_NULL;
}

/* A whole number from `least` to `most`; `fallback` when it is absent, which -1 forbids. */
static int64_t whole(reader *r, const char *key, int64_t fallback, int64_t least, int64_t most) {
    char what[96];
    const asc_json *v = asc_json_get(r->root, key);
    if (!present(r, key)) {
        if (fallback < 0) wrong(r, key, "is missing");
        return fallback < 0 ? least : fallback;
    }
    int64_t n = asc_json_int(v, INT64_MIN);
    if (asc_json_typeof(v) == ASC_JSON_INT && n >= least && n <= most) return n;
    snprintf(what, sizeof what, "is no whole number from %lld to %lld", (long long)least, (long long)most);
    wrong(r, key, what);
    return least;
}

static double number(reader *r, const asc_json *of, const char *key, double fallback) {
    const asc_json *v = asc_json_get(of, key);
    if (v == NULL || asc_json_typeof(v) == ASC_JSON_NULL) return fallback;
    double x = asc_json_num(v, -1.0);
    if (x > 0.0 && x < 1e12) return x;
    wrong(r, key, "is no number above 0");
    return fallback;
}

static bool flag(reader *r, const char *key, bool fallback) {
    const asc_json *v = asc_json_get(r->root, key);
    if (!present(r, key)) return fallback;
    if (asc_json_typeof(v) != ASC_JSON_BOOL) wrong(r, key, "is neither true nor false");
    return asc_json_bool(v, fallback);
}

static asc_mlp_act activation(reader *r, const char *key, asc_mlp_act fallback) {
    static const struct {
        const char *name;
        asc_mlp_act act;
    } known[] = {{"gelu", ASC_MLP_GELU},
                 {"gelu_new", ASC_MLP_GELU_TANH},
                 {"gelu_pytorch_tanh", ASC_MLP_GELU_TANH},
                 {"gelu_python", ASC_MLP_GELU},
                 {"quick_gelu", ASC_MLP_QUICK_GELU},
                 {"relu", ASC_MLP_RELU},
                 {"relu2", ASC_MLP_RELU_SQUARED},
                 {"silu", ASC_MLP_SILU},
                 {"swish", ASC_MLP_SILU},
                 {"tanh", ASC_MLP_TANH}};
    char what[80];
    if (!present(r, key)) return fallback;
    asc_view v = asc_json_str(asc_json_get(r->root, key)), cut = asc_view_cut(v, 40);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (asc_view_eqs(v, known[i].name)) return known[i].act;
    }
    snprintf(what, sizeof what, "\"" ASC_VIEW_FMT "\"", ASC_VIEW_ARG(cut));
    unsupported(r, key, what);
    return fallback;
}

static int32_t token_id(reader *r, const char *key) {
    const asc_json *v = asc_json_get(r->root, key);
    if (asc_json_typeof(v) != ASC_JSON_INT) return -1; /* absent, null, or a list: the tokenizer knows */
    int64_t id = asc_json_int(v, -1);
    if (id >= r->c->n_vocab) wrong(r, key, "is not below vocab_size");
    return id >= 0 && id < r->c->n_vocab ? (int32_t)id : -1;
}

const char *asc_encoder_family_names(void) {
    return "bert, roberta, xlm-roberta, camembert, electra, distilbert, mpnet, modernbert";
}

static const asc_encoder_family *find_family(asc_view type) {
    for (size_t i = 0; i < asc_n_encoder_families; i++) {
        if (asc_view_eqs(type, asc_encoder_families[i].model_type)) return &asc_encoder_families[i];
    }
    return NULL;
}

bool asc_encoder_is_family(asc_view model_type) { return find_family(model_type) != NULL; }

void asc_encoder_config_deinit(asc_ctx *ctx, asc_encoder_config *c) {
    for (int64_t i = 0; c->labels != NULL && i < c->n_classes; i++) asc_free(ctx, c->labels[i]);
    asc_free(ctx, c->labels);
    asc_free(ctx, c->plan);
    *c = (asc_encoder_config){0};
}

/* Windows and rotary frequencies of ModernBERT: layer_types and rope_parameters (transformers 5) or
 * global_attn_every_n_layers, global_rope_theta and local_rope_theta. */
static void modern(reader *r) {
    asc_encoder_config *c = r->c;
    const asc_json *types = asc_json_get(r->root, "layer_types"),
                   *ropes = asc_json_get(r->root, "rope_parameters");
    static const char *const kinds[2] = {"full_attention", "sliding_attention"};
    int64_t every = whole(r, "global_attn_every_n_layers", 3, 1, MOST_LAYERS);
    int64_t half = whole(r, "local_attention", 128, 2, MOST_SIZE) / 2;
    if (present(r, "layer_types") && asc_json_len(types) != (size_t)c->n_layers)
        wrong(r, "layer_types", "has not num_hidden_layers entries");
    for (int64_t l = 0; l < c->n_layers && r->st == ASC_OK; l++) {
        asc_view t = asc_json_str(asc_json_at(types, (size_t)l));
        bool local = types != NULL && asc_json_len(types) > 0 ? asc_view_eqs(t, kinds[1]) : l % every != 0;
        if (t.ptr != NULL && !local && !asc_view_eqs(t, kinds[0]))
            unsupported(r, "layer_types", "with another kind");
        c->plan[l] = (asc_layer_plan){.window = local ? half : 0, .rope = local ? 1 : 0};
    }
    if (present(r, "rope_scaling")) unsupported(r, "rope_scaling", "of an encoder");
    for (int k = 0; k < 2; k++) {
        const asc_json *p = asc_json_get(ropes, kinds[k]);
        double theta = number(r, r->root, k == 0 ? "global_rope_theta" : "local_rope_theta",
                              k == 0 ? 160000.0 : 10000.0);
        asc_view kind = asc_json_str(asc_json_get(p, "rope_type"));
        if (kind.ptr != NULL && !asc_view_eqs(kind, "default"))
            unsupported(r, "rope_type", "other than default");
        c->rope[k] = (asc_rope_config){.n_rot = c->head_dim, .base = number(r, p, "rope_theta", theta)};
    }
    c->n_ropes = 2;
    c->pre_norm = c->gated = true;
    if (c->head_dim % 2 != 0) wrong(r, "num_attention_heads", "gives heads of an odd width");
}

static void sizes(reader *r) {
    asc_encoder_config *c = r->c;
    const asc_encoder_family *f = c->family;
    c->n_layers = whole(r, f->layers, -1, 1, MOST_LAYERS);
    c->d_model = whole(r, f->width, -1, 1, MOST_SIZE);
    c->n_heads = whole(r, f->heads, -1, 1, MOST_SIZE);
    c->d_ff = whole(r, f->ff, -1, 1, MOST_SIZE);
    c->n_vocab = whole(r, "vocab_size", -1, 1, INT32_MAX);
    c->n_positions = whole(r, "max_position_embeddings", -1, 1, MOST_SIZE);
    c->eps = f->eps != NULL ? number(r, r->root, f->eps, f->default_eps) : f->default_eps;
    c->act = activation(r, f->act, ASC_MLP_GELU);
    if (c->d_model % c->n_heads != 0) wrong(r, f->heads, "does not divide the model's width");
    c->head_dim = c->d_model / c->n_heads;
    c->pad = token_id(r, "pad_token_id");
    c->cls = token_id(r, "cls_token_id");
    c->sep = token_id(r, "sep_token_id");
    c->mask = token_id(r, "mask_token_id");
    c->n_types = f->names->type != NULL ? whole(r, "type_vocab_size", 2, 1, 1 << 16) : 0;
    c->first_position = f->behind_pad ? (c->pad >= 0 ? c->pad : 1) + 1 : 0;
    c->context = c->n_positions - c->first_position;
    if (c->context < 1) wrong(r, "max_position_embeddings", "leaves no positions behind pad_token_id");
    if (f->modern) c->n_positions = 0;
    if (f->names->relative != NULL) {
        c->n_buckets = whole(r, "relative_attention_num_buckets", 32, 1, 1 << 16);
        if (c->n_buckets != 32) unsupported(r, "relative_attention_num_buckets", "other than 32");
        c->max_distance = 128; /* of the model's code; not in the config */
    }
}

static void refuse(reader *r) {
    asc_view p = asc_json_str(asc_json_get(r->root, "position_embedding_type"));
    if (p.ptr != NULL && !asc_view_eqs(p, "absolute"))
        unsupported(r, "position_embedding_type", "other than \"absolute\"");
    if (flag(r, "is_decoder", false)) unsupported(r, "is_decoder", "true");
    if (flag(r, "add_cross_attention", false)) unsupported(r, "add_cross_attention", "true");
    if (present(r, "quantization_config")) unsupported(r, "quantization_config", "of an encoder");
    if (present(r, "embedding_size") &&
        whole(r, "embedding_size", r->c->d_model, 1, MOST_SIZE) != r->c->d_model)
        unsupported(r, "embedding_size", "other than hidden_size");
}

static bool ends_with(asc_view v, const char *end) {
    size_t n = strlen(end);
    return v.len >= n && memcmp(v.ptr + v.len - n, end, n) == 0;
}

/* id2label, or LABEL_0 .. when there is none; two classes are what a config without it means. */
static void labels(reader *r) {
    asc_encoder_config *c = r->c;
    const asc_json *map = asc_json_get(r->root, "id2label");
    bool given = present(r, "id2label");
    char key[32], what[96];
    if (given && asc_json_typeof(map) != ASC_JSON_OBJECT) wrong(r, "id2label", "is no object");
    int64_t said = whole(r, "num_labels", given ? (int64_t)asc_json_len(map) : 2, 1, MOST_CLASSES);
    if (r->st != ASC_OK) return;
    if (given && (int64_t)asc_json_len(map) != said) {
        snprintf(what, sizeof what, "has %zu entries, but num_labels is %lld", asc_json_len(map),
                 (long long)said);
        wrong(r, "id2label", what);
        return;
    }
    c->labels = asc_calloc(r->ctx, ASC_MEM_GENERAL, (size_t)said, sizeof *c->labels);
    if (c->labels == NULL) r->st = ASC_RESOURCE_EXHAUSTED;
    if (r->st == ASC_OK) c->n_classes = said;
    for (int64_t i = 0; i < c->n_classes && r->st == ASC_OK; i++) {
        snprintf(key, sizeof key, "%lld", (long long)i);
        asc_view name = asc_json_str(asc_json_get(map, key));
        if (given && name.ptr == NULL) {
            snprintf(what, sizeof what, "has no name for class %lld", (long long)i);
            wrong(r, "id2label", what);
            return;
        }
        snprintf(key, sizeof key, "LABEL_%lld", (long long)i);
        c->labels[i] = asc_strdup_view(r->ctx, ASC_MEM_GENERAL, given ? name : asc_view_of(key));
        if (c->labels[i] == NULL) r->st = ASC_RESOURCE_EXHAUSTED;
    }
}

static void head(reader *r) {
    asc_encoder_config *c = r->c;
    const asc_encoder_family *f = c->family;
    asc_view a = asc_json_str(asc_json_at(asc_json_get(r->root, "architectures"), 0)),
             problem = asc_json_str(asc_json_get(r->root, "problem_type")),
             pooling = asc_json_str(asc_json_get(r->root, "classifier_pooling"));
    c->head = ends_with(a, "ForSequenceClassification") ? ASC_HEAD_CLASSES
              : ends_with(a, "ForTokenClassification")  ? ASC_HEAD_TOKENS
                                                        : ASC_HEAD_NONE;
    if (c->head == ASC_HEAD_NONE) return;
    bool tokens = c->head == ASC_HEAD_TOKENS;
    c->has_head_dense = tokens ? f->names->token_dense != NULL : f->names->head_dense != NULL;
    c->head_pool = ASC_POOL_FIRST;
    c->head_act = f->head_act;
    if (f->modern) {
        c->head_eps = c->eps;
        c->head_act = activation(r, "classifier_activation", ASC_MLP_GELU);
        c->head_pool = asc_view_eqs(pooling, "mean") ? ASC_POOL_MEAN : ASC_POOL_FIRST;
        if (pooling.ptr != NULL && c->head_pool == ASC_POOL_FIRST && !asc_view_eqs(pooling, "cls"))
            unsupported(r, "classifier_pooling", "other than cls and mean");
    }
    labels(r);
    c->many_labels = asc_view_eqs(problem, "multi_label_classification") || (!tokens && c->n_classes == 1);
}

asc_status asc_encoder_configure(asc_ctx *ctx, const char *path, const asc_json *config,
                                 asc_encoder_config *out) {
    reader r = {.ctx = ctx, .path = path, .root = config, .c = out};
    asc_view type = asc_json_str(asc_json_get(config, "model_type"));
    *out = (asc_encoder_config){.family = find_family(type), .plain_pooling = true};
    if (out->family == NULL) {
        asc_view cut = asc_view_cut(type, 60);
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED,
                 "'%s': model_type \"" ASC_VIEW_FMT "\" is no text encoder known here", path,
                 ASC_VIEW_ARG(cut));
        return asc_hint(ctx, "known: %s", asc_encoder_family_names());
    }
    out->architecture = out->family->model_type;
    sizes(&r);
    if (r.st == ASC_OK) refuse(&r);
    if (r.st == ASC_OK) {
        out->plan = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)out->n_layers, sizeof *out->plan);
        if (out->plan == NULL) r.st = ASC_RESOURCE_EXHAUSTED;
    }
    for (int64_t l = 0; r.st == ASC_OK && l < out->n_layers; l++) out->plan[l].rope = ASC_ROPE_OFF;
    if (r.st == ASC_OK && out->family->modern) modern(&r);
    if (r.st == ASC_OK) head(&r);
    if (r.st != ASC_OK) asc_encoder_config_deinit(ctx, out);
    return r.st;
}
