/* hf_vocab.h - test side: a spec from a trusted tokenizer.json of kind BPE. */
#ifndef TEST_HF_VOCAB_H
#define TEST_HF_VOCAB_H

#include "golden_line.h"
#include "vocab.h"

typedef struct hf_vocab {
    asc_json *root;
    asc_view tokens[1024];
    int32_t types[1024];
    char **merges;
    size_t n_merges;
    asc_vocab_spec spec;
} hf_vocab;

static inline asc_view hf_token(void *self, size_t i) { return ((hf_vocab *)self)->tokens[i]; }
static inline int32_t hf_type(void *self, size_t i) { return ((hf_vocab *)self)->types[i]; }
static inline asc_view hf_merge(void *self, size_t i) { return asc_view_of(((hf_vocab *)self)->merges[i]); }

static inline void hf_vocab_open(asc_ctx *ctx, const char *path, const char *pre, hf_vocab *h) {
    char *file = NULL;
    size_t len = 0;
    *h = (hf_vocab){.spec = asc_vocab_spec_empty()};
    assert_ok(ctx, asc_file_read(ctx, path, 1 << 24, &file, &len));
    assert_ok(ctx, asc_json_parse(ctx, file, len, &h->root));
    asc_free(ctx, file);
    const asc_json *model = asc_json_get(h->root, "model"), *id, *list = asc_json_get(model, "merges");
    asc_view key;
    size_t n = 0;
    for (void *it = NULL; asc_json_next(asc_json_get(model, "vocab"), &it, &key, &id); n++) {
        h->tokens[asc_json_int(id, 0)] = key;
        h->types[asc_json_int(id, 0)] = ASC_TOKEN_NORMAL;
    }
    const asc_json *added = asc_json_get(h->root, "added_tokens");
    for (size_t i = 0; i < asc_json_len(added); i++) {
        const asc_json *a = asc_json_at(added, i);
        size_t at = (size_t)asc_json_int(asc_json_get(a, "id"), 0);
        h->tokens[at] = asc_json_str(asc_json_get(a, "content"));
        h->types[at] = ASC_TOKEN_CONTROL;
        if (at >= n) n = at + 1;
    }
    h->n_merges = asc_json_len(list);
    h->merges = calloc(h->n_merges, sizeof *h->merges);
    for (size_t i = 0; i < h->n_merges; i++) {
        asc_view a = asc_json_str(asc_json_at(asc_json_at(list, i), 0));
        asc_view b = asc_json_str(asc_json_at(asc_json_at(list, i), 1));
        h->merges[i] = malloc(a.len + b.len + 2);
        snprintf(h->merges[i], a.len + b.len + 2, "%.*s %.*s", ASC_VIEW_ARG(a), ASC_VIEW_ARG(b));
    }
    h->spec.model = asc_view_of("gpt2");
    h->spec.pre = asc_view_of(pre);
    h->spec.self = h;
    h->spec.n_tokens = h->spec.n_types = n;
    h->spec.token = hf_token;
    h->spec.type = hf_type;
    h->spec.has_merges = true;
    h->spec.n_merges = h->n_merges;
    h->spec.merge = hf_merge;
}

static inline void hf_vocab_close(hf_vocab *h) {
    for (size_t i = 0; i < h->n_merges; i++) free(h->merges[i]);
    free(h->merges);
    asc_json_free(h->root);
}
#endif
