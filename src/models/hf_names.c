/* hf_names.c - from the names of a folder's tensors to those of GGUF files, which the decoder asks for, by
 * the family's two lists. Prefixes ("model.", "transformer.") may be there or not: files of the bare model
 * lack them. A tensor without a place is refused by name. */
#include "hf_family.h"
#include "view.h"
#include <stdio.h>

/* A tensor's name in parts: PREFIX layers.LAYER.stem.end, or PREFIX stem.end. */
typedef struct parts {
    asc_view stem;
    const char *end;       /* ".weight", ".bias" or "" */
    int64_t layer, expert; /* -1 = none */
} parts;

static bool eat(asc_view *v, const char *start) {
    asc_view s = asc_view_of(start);
    if (!asc_view_starts(*v, s)) return false;
    *v = asc_view_make(v->ptr + s.len, v->len - s.len);
    return true;
}

static bool ends(asc_view v, const char *with) {
    size_t n = strlen(with);
    return v.len > n && memcmp(v.ptr + v.len - n, with, n) == 0;
}

/* Up to six digits without a leading zero, then a dot; -1 otherwise. */
static int64_t eat_number(asc_view *v) {
    int64_t n = 0;
    size_t i = 0;
    for (; i < v->len && i < 6 && v->ptr[i] >= '0' && v->ptr[i] <= '9'; i++) n = 10 * n + (v->ptr[i] - '0');
    if (i == 0 || i >= v->len || v->ptr[i] != '.' || (i > 1 && v->ptr[0] == '0')) return -1;
    *v = asc_view_make(v->ptr + i + 1, v->len - i - 1);
    return n;
}

/* A text of up to six digits and nothing else; -1 otherwise. */
static int64_t whole_number(asc_view v) {
    char text[8];
    if (v.len == 0 || v.len > 6) return -1;
    memcpy(text, v.ptr, v.len);
    text[v.len] = '.';
    asc_view with_dot = asc_view_make(text, v.len + 1);
    int64_t n = eat_number(&with_dot);
    return with_dot.len == 0 ? n : -1;
}

/* The stem with the number of an expert or of a head's norm replaced by '#', in buf. */
static parts split(asc_view name, char buf[256]) {
    static const char *const prefixes[] = {"language_model.", "model.",   "transformer.",
                                           "gpt_neox.",       "decoder.", "language_model."};
    parts p = {.end = "", .layer = -1, .expert = -1};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) (void)eat(&name, prefixes[i]);
    asc_view rest = name;
    if (eat(&rest, "layers.") || eat(&rest, "h.") || eat(&rest, "blocks.")) {
        p.layer = eat_number(&rest);
        if (p.layer >= 0) name = rest;
    }
    if (ends(name, ".weight")) p.end = ".weight";
    if (ends(name, ".bias")) p.end = ".bias";
    name.len -= strlen(p.end);
    p.stem = name;
    for (size_t i = 0; i + 6 < name.len && name.len < 250; i++) {
        asc_view tail = asc_view_make(name.ptr + i, name.len - i);
        if (eat(&tail, "norms.")) { /* of heads, one by one: the number is the end */
            p.expert = whole_number(tail);
            if (p.expert < 0) break;
            p.stem = asc_view_make(buf, (size_t)snprintf(buf, 256, ASC_VIEW_FMT "norms.#", (int)i, name.ptr));
            break;
        }
        if (!eat(&tail, "experts.")) continue;
        p.expert = eat_number(&tail);
        if (p.expert < 0) break;
        int n =
            snprintf(buf, 256, ASC_VIEW_FMT "experts.#." ASC_VIEW_FMT, (int)i, name.ptr, ASC_VIEW_ARG(tail));
        p.stem = asc_view_make(buf, (size_t)n);
        break;
    }
    return p;
}

static const asc_hf_name *look_up(const asc_hf_family *f, const parts *p, bool bias) {
    const asc_hf_name *list = p->layer < 0 ? f->whole : f->layer;
    char full[300];
    for (; list->hf != NULL; list++) {
        if (asc_view_eqs(p->stem, list->hf)) return list;
        /* what has no effect is listed with its ending, if it is called "bias" itself */
        if (!bias || list->gguf != NULL) continue;
        snprintf(full, sizeof full, ASC_VIEW_FMT "%s", ASC_VIEW_ARG(p->stem), p->end);
        if (strcmp(full, list->hf) == 0) return list;
    }
    return NULL;
}

bool asc_hf_gguf_name(const asc_hf_family *f, asc_view name, char *out, size_t size) {
    char buf[256];
    parts p = split(name, buf);
    const asc_hf_name *n = look_up(f, &p, false);
    if (n == NULL || n->gguf == NULL || n->gguf[0] == '+' || n->gguf[0] == '*' || p.end[0] == '\0')
        return false;
    const char *stem = n->gguf + (n->gguf[0] == '=' ? 1 : 0);
    int len = p.layer < 0 ? snprintf(out, size, "%s%s", stem, p.end)
                          : snprintf(out, size, "blk.%lld.%s%s", (long long)p.layer, stem, p.end);
    return len > 0 && (size_t)len < size;
}

/* Parts of models of pictures and text that text does not reach. */
static bool is_picture(asc_view name) {
    (void)eat(&name, "model.");
    return eat(&name, "vision_tower.") || eat(&name, "multi_modal_projector.");
}

/* Norms of heads, one by one, called blk.L.attn_q_norm.H.weight. Matrices of experts: one by one, called
 * blk.L.ffn_gate.E.weight, or for all experts in one tensor [E,2F,D] with the gate's rows of each first,
 * which is cut into views. */
static asc_status place_experts(asc_hf_folder *folder, asc_hf_tensor *t, const asc_hf_name *n, const parts *p,
                                const asc_decoder_config *c, asc_weights *w) {
    char name[200];
    asc_weight as = {.name = asc_view_of(name), .rank = 2};
    bool stacked = strcmp(n->gguf, "+gate_up") == 0;
    const int64_t *dims = t->shape.dims;
    bool is_norm = strstr(n->gguf, "_norm") != NULL;
    if (strcmp(p->end, ".bias") == 0 || t->shape.rank != (stacked ? 3 : is_norm ? 1 : 2))
        return ASC_OK; /* not used: refused */
    if (!stacked) {
        snprintf(name, sizeof name, "blk.%lld.%s.%lld.weight", (long long)p->layer, n->gguf + 1,
                 (long long)p->expert);
        as.name = asc_view_of(name);
        as.rank = is_norm ? 1 : 2;
        as.dims[0] = dims[0];
        as.dims[1] = is_norm ? 0 : dims[1];
        return asc_hf_put(folder, t, 0, &as, w);
    }
    if (dims[0] != c->n_experts || dims[1] % 2 != 0) {
        asc_view cut = asc_view_cut(t->name, 200);
        ASC_FAIL(folder->ctx, ASC_INVALID_ARGUMENT,
                 "'%s': tensor '" ASC_VIEW_FMT "' has shape [%lld,%lld,%lld]; expected the gate's and the up "
                 "projection's rows for each of %lld experts",
                 folder->path, ASC_VIEW_ARG(cut), (long long)dims[0], (long long)dims[1], (long long)dims[2],
                 (long long)c->n_experts);
        return asc_hint(folder->ctx, "config.json and the weights are of different models; fetch both again");
    }
    as.dims[0] = dims[1] / 2;
    as.dims[1] = dims[2];
    for (int64_t e = 0; e < 2 * dims[0]; e++) {
        snprintf(name, sizeof name, "blk.%lld.%s.%lld.weight", (long long)p->layer,
                 e % 2 == 0 ? "ffn_gate" : "ffn_up", (long long)(e / 2));
        as.name = asc_view_of(name);
        asc_status st = asc_hf_put(folder, t, e * as.dims[0] * as.dims[1], &as, w);
        if (st != ASC_OK) return st;
    }
    return ASC_OK;
}

static asc_status place(asc_hf_folder *folder, asc_hf_tensor *t, const asc_hf_family *f,
                        const asc_decoder_config *c, asc_weights *w) {
    char buf[256], name[200];
    asc_weight as;
    parts p = split(t->name, buf);
    if (p.layer >= c->n_layers && p.layer < c->n_layers + f->extra_layers) {
        t->used = true;
        return ASC_OK;
    }
    const asc_hf_name *n = look_up(f, &p, strcmp(p.end, ".bias") == 0);
    if (n == NULL && strcmp(f->model_type, "gemma3_text") == 0 && is_picture(t->name)) t->used = true;
    if (n == NULL) return ASC_OK;
    if (n->gguf == NULL) {
        t->used = true;
        return ASC_OK;
    }
    if (p.layer >= c->n_layers) {
        asc_view cut = asc_view_cut(t->name, 200);
        ASC_FAIL(folder->ctx, ASC_INVALID_ARGUMENT,
                 "'%s': tensor '" ASC_VIEW_FMT "' is of layer %lld, but config.json says %lld layers (%s)",
                 folder->path, ASC_VIEW_ARG(cut), (long long)p.layer, (long long)c->n_layers,
                 asc_hf_key_name(f, "num_hidden_layers"));
        return asc_hint(folder->ctx, "the files are of different models; fetch them again");
    }
    if (n->gguf[0] == '+') return place_experts(folder, t, n, &p, c, w);
    if (n->gguf[0] == '*') {
        snprintf(name, sizeof name, "blk.%lld.%s.weight", (long long)p.layer, n->gguf + 1);
        return asc_hf_put_mxfp4(folder, t, asc_view_of(name), w);
    }
    bool transposed = n->gguf[0] == '=';
    const char *stem = n->gguf + (transposed ? 1 : 0);
    /* what has no ending is a weight, unless the list says more */
    const char *end = strchr(stem, '.') != NULL ? "" : p.end[0] != '\0' ? p.end : ".weight";
    if (p.layer < 0) snprintf(name, sizeof name, "%s%s", stem, end);
    if (p.layer >= 0) snprintf(name, sizeof name, "blk.%lld.%s%s", (long long)p.layer, stem, end);
    asc_status st = asc_hf_weight_of(folder, t, asc_view_of(name), &as);
    if (st != ASC_OK) return st;
    if (as.rank == 2 && end[0] != '\0' && c->n_experts > 0 && as.dims[0] % c->n_experts == 0 &&
        strstr(stem, "_exps") != NULL) {
        as.rank = 3; /* all experts' rows in one matrix (DBRX) */
        as.dims[2] = as.dims[1];
        as.dims[1] = as.dims[0] / c->n_experts;
        as.dims[0] = c->n_experts;
    }
    if (as.rank == 2 && as.dims[0] == 1 && strcmp(stem, "exp_probs_b.bias") == 0) { /* of one group */
        as.rank = 1;
        as.dims[0] = as.dims[1];
    }
    as.transposed = transposed && as.rank >= 2;
    return asc_hf_put(folder, t, 0, &as, w);
}

/* Where the config says a bias, there is one, and only there: programs that load such files would fill the
 * one with random numbers and drop the other. */
static asc_status check_biases(const asc_hf_folder *folder, const asc_hf_family *f, const asc_weights *w,
                               const asc_decoder_config *c) {
    static const struct {
        const char *name;
        int kind; /* 0 = qkv, 1 = o, 2 = mlp, 3 = norms */
    } projections[] = {{"attn_q", 0}, {"attn_k", 0},   {"attn_v", 0},    {"attn_qkv", 0}, {"attn_output", 1},
                       {"ffn_up", 2}, {"ffn_down", 2}, {"attn_norm", 3}, {"ffn_norm", 3}, {"ffn_gate", 2}};
    char file[4200], name[64];
    snprintf(file, sizeof file, "%s/config.json", folder->path);
    const asc_json *text = asc_json_get(folder->config, "text_config");
    asc_hf_keys k = {folder->ctx, asc_json_typeof(text) == ASC_JSON_OBJECT ? text : folder->config, file, ""};
    const char *keys[] = {f->qkv_bias, f->o_bias, f->mlp_bias, f->norm_bias ? "" : NULL};
    bool want[4];
    for (size_t i = 0; i < 4; i++) {
        want[i] = keys[i] != NULL;
        asc_status st = want[i] && keys[i][0] != '\0'
                            ? asc_hf_flag(&k, keys[i], f->biased && (i == 0 || !f->only_qkv_biased), &want[i])
                            : ASC_OK;
        if (st != ASC_OK) return st;
    }
    for (int64_t l = 0; l < c->n_layers; l++) {
        for (size_t i = 0; i < sizeof projections / sizeof projections[0]; i++) {
            int kind = projections[i].kind;
            snprintf(name, sizeof name, "blk.%lld.%s.weight", (long long)l, projections[i].name);
            const asc_weight *weight = asc_weights_find(w, name);
            snprintf(name, sizeof name, "blk.%lld.%s.bias", (long long)l, projections[i].name);
            bool there = asc_weights_find(w, name) != NULL;
            if (weight == NULL || there == want[kind]) continue;
            asc_view cut = asc_view_cut(weight->source, 200);
            ASC_FAIL(folder->ctx, ASC_INVALID_ARGUMENT,
                     "'%s': '" ASC_VIEW_FMT "' has %s, but config.json says %s%s%s", folder->path,
                     ASC_VIEW_ARG(cut), there ? "a bias" : "no bias",
                     keys[kind] == NULL || keys[kind][0] == '\0' ? "that a model of type " : keys[kind],
                     keys[kind] == NULL || keys[kind][0] == '\0' ? f->model_type
                     : want[kind]                                ? " true"
                                                                 : " false",
                     keys[kind] == NULL      ? " has none"
                     : keys[kind][0] == '\0' ? " has one"
                                             : "");
            return asc_hint(folder->ctx,
                            "config.json and the weights are of different models; fetch both again");
        }
    }
    return ASC_OK;
}

/* Without a head of its own a model uses the embedding table, if its config says so. */
static asc_status check_head(const asc_hf_folder *folder, const asc_hf_family *f, const asc_weights *w) {
    char file[4200];
    bool tied;
    snprintf(file, sizeof file, "%s/config.json", folder->path);
    const asc_json *text = asc_json_get(folder->config, "text_config");
    asc_hf_keys top = {folder->ctx, folder->config, file, ""};
    asc_hf_keys in = {folder->ctx, text, file, "text_config."};
    asc_status st = asc_hf_flag(&top, "tie_word_embeddings", f->tied, &tied);
    if (st == ASC_OK && asc_json_typeof(text) == ASC_JSON_OBJECT)
        st = asc_hf_flag(&in, "tie_word_embeddings", tied, &tied);
    if (st != ASC_OK || tied || asc_weights_find(w, "output.weight") != NULL) return st;
    ASC_FAIL(folder->ctx, ASC_INVALID_ARGUMENT,
             "'%s': there is no tensor for the head (lm_head.weight), and tie_word_embeddings is false",
             folder->path);
    return asc_hint(folder->ctx,
                    "a file is missing, or the model was saved without its head; fetch it again");
}

asc_status asc_hf_fill(asc_hf_folder *folder, const asc_hf_family *f, const asc_decoder_config *c,
                       asc_weights *w) {
    asc_status st = ASC_OK;
    char what[64];
    for (size_t i = 0; i < folder->n; i++) ASC_TRY(place(folder, &folder->v[i], f, c, w));
    snprintf(what, sizeof what, "a %s model", f->model_type);
    ASC_TRY(asc_hf_all_used(folder, what));
    ASC_TRY(asc_weights_seal(w));
    ASC_TRY(check_biases(folder, f, w, c));
    ASC_TRY(check_head(folder, f, w));
done:
    return st;
}
