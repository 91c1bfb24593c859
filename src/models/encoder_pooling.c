/* encoder_pooling.c - see encoder_pooling.h. Format: the sentence-transformers library writes modules.json, a
 * list of {"type", "path"}: Transformer, Pooling, and perhaps Dense, Dropout, Normalize. A cosine does not
 * see whether vectors were normalised at the end, but a Dense does. */
#include "encoder_pooling.h"
#include "hf_parts.h"
#include "hf_values.h"
#include "view.h"
#include <stdio.h>
#include <string.h>

typedef struct reader {
    asc_ctx *ctx;
    asc_hf_folder *f;
    asc_encoder_config *cfg;
} reader;

static asc_status unsupported(const reader *r, const char *what, asc_view name) {
    asc_view cut = asc_view_cut(name, 80);
    ASC_FAIL(r->ctx, ASC_UNIMPLEMENTED, "'%s': %s " ASC_VIEW_FMT " is not supported", r->f->path, what,
             ASC_VIEW_ARG(cut));
    return asc_hint(r->ctx, "supported: a Transformer, Pooling, then Dense and Normalize");
}

/* Ways of pooling by the older keys, which are flags, and the newer names. Several of them stand side by
 * side: flags in the order of this table, names in their own. */
static const struct {
    const char *key, *name;
} modes[ASC_N_POOLINGS] = {
    [ASC_POOL_FIRST] = {"pooling_mode_cls_token", "cls"},
    [ASC_POOL_MAX] = {"pooling_mode_max_tokens", "max"},
    [ASC_POOL_MEAN] = {"pooling_mode_mean_tokens", "mean"},
    [ASC_POOL_MEAN_SQRT] = {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
    [ASC_POOL_WEIGHTED] = {"pooling_mode_weightedmean_tokens", "weightedmean"},
    [ASC_POOL_LAST] = {"pooling_mode_lasttoken", "lasttoken"},
};

static asc_status add_mode(const reader *r, asc_view name) {
    asc_encoder_config *c = r->cfg;
    for (int i = 0; i < ASC_N_POOLINGS && c->n_poolings < ASC_N_POOLINGS; i++) {
        if (!asc_view_eqs(name, modes[i].name)) continue;
        c->pooling[c->n_poolings++] = (asc_pooling)i;
        return ASC_OK;
    }
    return unsupported(r, "pooling_mode", name);
}

static asc_status read_modes(const reader *r, const asc_json *config) {
    asc_status st = ASC_OK;
    asc_encoder_config *c = r->cfg;
    const asc_json *mode = asc_json_get(config, "pooling_mode");
    c->n_poolings = 0;
    if (asc_json_typeof(mode) == ASC_JSON_STRING) ASC_TRY(add_mode(r, asc_json_str(mode)));
    for (size_t i = 0; i < asc_json_len(mode); i++) ASC_TRY(add_mode(r, asc_json_str(asc_json_at(mode, i))));
    for (int i = 0; mode == NULL && i < ASC_N_POOLINGS; i++) {
        if (asc_json_bool(asc_json_get(config, modes[i].key), false))
            c->pooling[c->n_poolings++] = (asc_pooling)i;
    }
    c->embed_width = c->d_model * c->n_poolings;
    if (c->n_poolings > 0) return ASC_OK;
    ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "'%s': the pooling module switches no way of pooling on",
             r->f->path);
    st = asc_hint(r->ctx, "one pooling_mode_... of its config.json is true");
done:
    return st;
}

/* The layer's activation: the name of a torch class, of which the last word counts. */
static asc_status read_activation(const reader *r, const asc_hf_keys *k, asc_embed_stage *s) {
    static const struct {
        const char *end;
        asc_mlp_act act;
    } acts[] = {
        {".Tanh", ASC_MLP_TANH}, {".ReLU", ASC_MLP_RELU}, {".GELU", ASC_MLP_GELU}, {".SiLU", ASC_MLP_SILU}};
    asc_view name;
    asc_status st = asc_hf_word(k, "activation_function", "torch.nn.modules.activation.Tanh", &name);
    if (st != ASC_OK || asc_view_ends(name, asc_view_of(".Identity"))) return st;
    s->act_on = true;
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (!asc_view_ends(name, asc_view_of(acts[i].end))) continue;
        s->act = acts[i].act;
        return ASC_OK;
    }
    return unsupported(r, "activation_function", name);
}

/* The layer's tensors join the folder's own, under names that begin with the module's folder. */
static asc_status add_tensors(const reader *r, const char *path) {
    char file[256];
    asc_hf_folder *f = r->f;
    const size_t before = f->n;
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    if (!asc_hf_has(f, file)) {
        ASC_FAIL(r->ctx, ASC_NOT_FOUND, "'%s' has no %s", f->path, file);
        return asc_hint(r->ctx,
                        "a module's weights are safetensors here; load the folder in Python and save it "
                        "again with safe_serialization=True");
    }
    asc_status st = asc_hf_add_file(f, asc_view_of(file), NULL);
    for (size_t i = before; st == ASC_OK && i < f->n; i++) {
        char name[128];
        const int n = snprintf(name, sizeof name, "%s/" ASC_VIEW_FMT, path,
                               ASC_VIEW_ARG(asc_view_cut(f->v[i].name, 64)));
        f->v[i].name.ptr = asc_arena_strdup(&f->arena, asc_view_make(name, (size_t)n));
        f->v[i].name.len = (size_t)n;
        if (f->v[i].name.ptr == NULL) st = ASC_RESOURCE_EXHAUSTED;
    }
    return st;
}

static asc_status read_dense(const reader *r, const char *path, const asc_json *config, const char *file) {
    enum { MOST = 1 << 24 };
    asc_encoder_config *c = r->cfg;
    const asc_hf_keys k = {r->ctx, config, file, ""};
    asc_embed_stage *s = &c->stages[c->n_stages];
    asc_status st = ASC_OK;
    asc_view word;
    ASC_TRY(asc_hf_count(&k, "in_features", 0, MOST, &s->in));
    ASC_TRY(asc_hf_count(&k, "out_features", 0, MOST, &s->out));
    ASC_TRY(asc_hf_flag(&k, "bias", true, &s->bias));
    ASC_TRY(read_activation(r, &k, s));
    ASC_TRY(asc_hf_word(&k, "module_input_name", "sentence_embedding", &word));
    if (!asc_view_eqs(word, "sentence_embedding")) return unsupported(r, "module_input_name", word);
    ASC_TRY(asc_hf_word(&k, "module_output_name", "sentence_embedding", &word));
    if (!asc_view_eqs(word, "sentence_embedding")) return unsupported(r, "module_output_name", word);
    if (s->in != c->embed_width) {
        ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "'%s': in_features is %lld, but %lld numbers come in", file,
                 (long long)s->in, (long long)c->embed_width);
        return asc_hint(r->ctx, "the modules contradict each other; fetch the folder again");
    }
    s->dense = true;
    snprintf(s->name, sizeof s->name, "%.40s/linear", path);
    c->n_stages++;
    c->embed_width = s->out;
    st = add_tensors(r, path);
done:
    return st;
}

/* A folder beside config.json: no path that leads elsewhere. */
static asc_status folder_of(const reader *r, asc_view path, char out[48]) {
    if (path.len > 0 && path.len <= 40 && path.ptr[0] != '/' && memchr(path.ptr, '.', path.len) == NULL &&
        memchr(path.ptr, '\0', path.len) == NULL) {
        snprintf(out, 48, ASC_VIEW_FMT, ASC_VIEW_ARG(path));
        return ASC_OK;
    }
    ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "'%s': modules.json: a module's path is no folder of it",
             r->f->path);
    return asc_hint(r->ctx, "it is usually 1_Pooling or 2_Dense");
}

static asc_status read_module(const reader *r, const asc_json *m, bool dense) {
    char path[48], file[64], shown[1200];
    asc_json *config = NULL;
    asc_status st = ASC_OK;
    ASC_TRY(folder_of(r, asc_json_str(asc_json_get(m, "path")), path));
    snprintf(file, sizeof file, "%s/config.json", path);
    snprintf(shown, sizeof shown, "%.1000s/%s", r->f->path, file);
    ASC_TRY(asc_hf_json(r->f, file, &config));
    if (config == NULL) {
        ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "'%s': modules.json lists %s, which is not there", r->f->path,
                 file);
        st = asc_hint(r->ctx, "fetch the folder again, with its sub-folders");
        goto done;
    }
    st = dense ? read_dense(r, path, config, shown) : read_modes(r, config);
done:
    asc_json_free(config);
    return st;
}

/* One module behind the first. */
static asc_status next_module(const reader *r, const asc_json *m, bool *pooled) {
    asc_view type = asc_json_str(asc_json_get(m, "type"));
    asc_encoder_config *c = r->cfg;
    if (asc_view_ends(type, asc_view_of(".Pooling")) && !*pooled) {
        *pooled = true;
        return read_module(r, m, false);
    }
    if (asc_view_ends(type, asc_view_of(".Dropout"))) return ASC_OK; /* of training */
    const bool dense = asc_view_ends(type, asc_view_of(".Dense"));
    if (!*pooled || (!dense && !asc_view_ends(type, asc_view_of(".Normalize"))))
        return unsupported(r, "modules.json: the module", type);
    if (c->n_stages == ASC_MAX_EMBED_STAGES)
        return ASC_FAIL(r->ctx, ASC_RESOURCE_EXHAUSTED, "'%s': more than %d modules behind pooling",
                        r->f->path, ASC_MAX_EMBED_STAGES);
    if (dense) return read_module(r, m, true);
    c->n_stages++; /* of zeros: a division by the length */
    return ASC_OK;
}

asc_status asc_encoder_read_pooling(asc_ctx *ctx, asc_hf_folder *f, asc_encoder_config *cfg) {
    const reader r = {ctx, f, cfg};
    char *text;
    size_t len;
    asc_json *modules = NULL;
    bool pooled = false;
    asc_status st = asc_hf_text(f, "modules.json", ASC_HF_MAX_CONFIG, &text, &len);
    if (st != ASC_OK || text == NULL) return st;
    st = asc_json_parse(ctx, text, len, &modules);
    if (st == ASC_OK && asc_json_typeof(modules) != ASC_JSON_ARRAY)
        st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "JSON: expected a list");
    if (st != ASC_OK) asc_fail_context(ctx, "'%s/modules.json'", f->path);
    for (size_t i = 0; st == ASC_OK && i < asc_json_len(modules); i++) {
        const asc_json *m = asc_json_at(modules, i);
        asc_view type = asc_json_str(asc_json_get(m, "type"));
        if (i > 0)
            st = next_module(&r, m, &pooled);
        else if (!asc_view_ends(type, asc_view_of(".Transformer")))
            st = unsupported(&r, "modules.json: a first module", type);
    }
    if (st == ASC_OK) cfg->plain_pooling = !pooled;
    asc_json_free(modules);
    asc_free(ctx, text);
    return st;
}
