/* gguf_meta.h - test side: the tokenizer arrays of a trusted GGUF file as a spec. */
#ifndef TEST_GGUF_META_H
#define TEST_GGUF_META_H

#include "file.h"
#include "harness.h"
#include "view.h"
#include "vocab.h"

typedef struct gguf_meta {
    asc_map map;
    const uint8_t *p;
    asc_view *tokens, *merges;
    const uint8_t *scores, *types;
    char model[32], pre[32];
    asc_vocab_spec spec;
} gguf_meta;

static inline uint64_t meta_u(gguf_meta *m, size_t bytes) {
    uint64_t v = 0;
    memcpy(&v, m->p, bytes);
    m->p += bytes;
    return v;
}
static inline asc_view meta_str(gguf_meta *m) {
    size_t n = (size_t)meta_u(m, 8);
    asc_view v = {(const char *)m->p, n};
    m->p += n;
    return v;
}
static inline size_t meta_size(uint64_t t) {
    return t <= 1 || t == 7 ? 1 : t <= 3 ? 2 : t <= 6 ? 4 : 8;
}
static inline asc_view meta_token(void *self, size_t i) { return ((gguf_meta *)self)->tokens[i]; }
static inline asc_view meta_merge(void *self, size_t i) { return ((gguf_meta *)self)->merges[i]; }
static inline float meta_score(void *self, size_t i) {
    float f;
    memcpy(&f, ((gguf_meta *)self)->scores + 4 * i, 4);
    return f;
}
static inline int32_t meta_type(void *self, size_t i) {
    int32_t v;
    memcpy(&v, ((gguf_meta *)self)->types + 4 * i, 4);
    return v;
}

static inline void meta_array(gguf_meta *m, asc_view key) {
    uint64_t t = meta_u(m, 4), n = meta_u(m, 8);
    if (t != 8) {
        if (asc_view_eqs(key, "tokenizer.ggml.scores")) m->scores = m->p, m->spec.n_scores = n;
        if (asc_view_eqs(key, "tokenizer.ggml.token_type")) m->types = m->p, m->spec.n_types = n;
        m->p += n * meta_size(t);
        return;
    }
    asc_view *v = calloc(n + 1, sizeof *v);
    for (size_t i = 0; i < n; i++) v[i] = meta_str(m);
    if (asc_view_eqs(key, "tokenizer.ggml.tokens")) {
        m->tokens = v, m->spec.n_tokens = n;
    } else if (asc_view_eqs(key, "tokenizer.ggml.merges")) {
        m->merges = v, m->spec.n_merges = n, m->spec.has_merges = true;
    } else {
        free(v);
    }
}

static inline void meta_scalar(gguf_meta *m, asc_view key, uint64_t t) {
    if (t == 8) {
        asc_view v = meta_str(m);
        if (asc_view_eqs(key, "tokenizer.ggml.model")) m->spec.model = v;
        if (asc_view_eqs(key, "tokenizer.ggml.pre")) m->spec.pre = v;
        return;
    }
    int64_t v = (int64_t)meta_u(m, meta_size(t));
    if (asc_view_eqs(key, "tokenizer.ggml.bos_token_id")) m->spec.bos = v;
    if (asc_view_eqs(key, "tokenizer.ggml.eos_token_id")) m->spec.eos = v;
    if (asc_view_eqs(key, "tokenizer.ggml.padding_token_id")) m->spec.pad = v;
    if (asc_view_eqs(key, "tokenizer.ggml.unknown_token_id")) m->spec.unk = v;
    if (asc_view_eqs(key, "tokenizer.ggml.add_bos_token")) m->spec.add_bos = (int)v;
    if (asc_view_eqs(key, "tokenizer.ggml.add_eos_token")) m->spec.add_eos = (int)v;
    if (asc_view_eqs(key, "tokenizer.ggml.add_space_prefix")) m->spec.add_space_prefix = (int)v;
}

static inline void gguf_meta_open(asc_ctx *ctx, const char *path, gguf_meta *m) {
    *m = (gguf_meta){.spec = asc_vocab_spec_empty()};
    assert_ok(ctx, asc_map_open(ctx, path, &m->map));
    m->p = m->map.data + 8;
    meta_u(m, 8);
    uint64_t n = meta_u(m, 8);
    for (uint64_t i = 0; i < n; i++) {
        asc_view key = meta_str(m);
        uint64_t t = meta_u(m, 4);
        if (t == 9) {
            meta_array(m, key);
        } else {
            meta_scalar(m, key, t);
        }
    }
    m->spec.self = m;
    m->spec.token = meta_token;
    m->spec.merge = meta_merge;
    m->spec.score = meta_score;
    m->spec.type = meta_type;
}

static inline void gguf_meta_close(asc_ctx *ctx, gguf_meta *m) {
    free(m->tokens);
    free(m->merges);
    asc_map_close(ctx, &m->map);
}
#endif
