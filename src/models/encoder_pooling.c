/* encoder_pooling.c - see encoder_pooling.h. Format: the sentence-transformers library writes modules.json, a
 * list of {"type", "path"}: Transformer, Pooling, and perhaps Normalize. A cosine does not see whether
 * vectors were normalised. */
#include "encoder_pooling.h"
#include "view.h"
#include <stdio.h>
#include <string.h>

static asc_status unsupported(asc_ctx *ctx, const asc_hf_folder *f, const char *what, asc_view name) {
    asc_view cut = asc_view_cut(name, 80);
    ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "'%s': %s " ASC_VIEW_FMT " is not supported", f->path, what,
             ASC_VIEW_ARG(cut));
    return asc_hint(ctx,
                    "supported: a Transformer, then Pooling by mean, first token or maximum, then Normalize");
}

/* 1_Pooling/config.json: which of the ways is switched on (one of them; several would be joined). */
static asc_status read_modes(asc_ctx *ctx, const asc_hf_folder *f, const asc_json *config,
                             asc_encoder_config *cfg) {
    static const struct {
        const char *key;
        int how; /* -1: known, and not supported */
    } modes[] = {
        {"pooling_mode_cls_token", ASC_POOL_FIRST},
        {"pooling_mode_mean_tokens", ASC_POOL_MEAN},
        {"pooling_mode_max_tokens", ASC_POOL_MAX},
        {"pooling_mode_mean_sqrt_len_tokens", ASC_POOL_MEAN}, /* the mean, longer: the same direction */
        {"pooling_mode_weightedmean_tokens", -1},
        {"pooling_mode_lasttoken", -1}};
    static const struct {
        const char *name;
        int how;
    } names[] = {{"cls", ASC_POOL_FIRST},
                 {"mean", ASC_POOL_MEAN},
                 {"max", ASC_POOL_MAX},
                 {"mean_sqrt_len_tokens", ASC_POOL_MEAN}};
    int found = 0;
    asc_view mode = asc_json_str(asc_json_get(config, "pooling_mode"));
    for (size_t i = 0; mode.ptr != NULL && i < sizeof names / sizeof *names; i++) {
        if (!asc_view_eqs(mode, names[i].name)) continue;
        cfg->pooling = (asc_pooling)names[i].how;
        return ASC_OK;
    }
    if (mode.ptr != NULL) return unsupported(ctx, f, "pooling_mode", mode);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (!asc_json_bool(asc_json_get(config, modes[i].key), false)) continue;
        if (modes[i].how < 0) return unsupported(ctx, f, "1_Pooling's", asc_view_of(modes[i].key));
        cfg->pooling = (asc_pooling)modes[i].how;
        found++;
    }
    if (found == 1) return ASC_OK;
    ASC_FAIL(ctx, found == 0 ? ASC_INVALID_ARGUMENT : ASC_UNIMPLEMENTED,
             "'%s': the pooling module switches %s", f->path,
             found == 0 ? "no way of pooling on" : "several ways of pooling on");
    return asc_hint(ctx, "exactly one pooling_mode_... of its config.json is true");
}

static asc_status read_module(asc_ctx *ctx, const asc_hf_folder *f, asc_view path, asc_encoder_config *cfg) {
    char file[256];
    asc_json *config = NULL;
    if (path.len == 0 || path.len > 200 || path.ptr[0] == '/' || memchr(path.ptr, '.', path.len) != NULL) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "'%s': modules.json: the pooling module's path is no folder of it", f->path);
        return asc_hint(ctx, "it is usually 1_Pooling");
    }
    snprintf(file, sizeof file, ASC_VIEW_FMT "/config.json", ASC_VIEW_ARG(path));
    asc_status st = asc_hf_json(f, file, &config);
    if (st == ASC_OK && config == NULL) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s': modules.json lists %.100s, which is not there", f->path,
                 file);
        st = asc_hint(ctx, "fetch the folder again, with its sub-folders");
    }
    if (st == ASC_OK) st = read_modes(ctx, f, config, cfg);
    asc_json_free(config);
    return st;
}

asc_status asc_encoder_read_pooling(asc_ctx *ctx, const asc_hf_folder *f, asc_encoder_config *cfg) {
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
        if (asc_view_ends(type, asc_view_of(".Pooling")) && !pooled) {
            st = read_module(ctx, f, asc_json_str(asc_json_get(m, "path")), cfg);
            pooled = true;
        } else if (i > 0 && !(asc_view_ends(type, asc_view_of(".Normalize")) && pooled)) {
            st = unsupported(ctx, f, "modules.json: the module", type);
        } else if (i == 0 && !asc_view_ends(type, asc_view_of(".Transformer"))) {
            st = unsupported(ctx, f, "modules.json: a first module", type);
        }
    }
    if (st == ASC_OK) cfg->plain_pooling = !pooled;
    asc_json_free(modules);
    asc_free(ctx, text);
    return st;
}
