/* gguf_vocab.c - see gguf_vocab.h. Keys as the GGUF specification (ggml, docs/gguf.md) lists them. */
#include "gguf_vocab.h"
#include "gguf_stages.h"
#include "vocab.h"

typedef struct arrays {
    asc_gguf_array tokens, scores, types, merges;
} arrays;

static asc_view token_at(void *self, size_t i) { return asc_gguf_str_at(((arrays *)self)->tokens, i); }
static asc_view merge_at(void *self, size_t i) { return asc_gguf_str_at(((arrays *)self)->merges, i); }
static float score_at(void *self, size_t i) { return (float)asc_gguf_num_at(((arrays *)self)->scores, i); }

static int32_t type_at(void *self, size_t i) {
    int64_t t = asc_gguf_int_at(((arrays *)self)->types, i);
    return t < 0 || t > INT32_MAX ? INT32_MAX : (int32_t)t; /* refused later, by index */
}

static asc_status get_flag(asc_ctx *ctx, const asc_gguf *g, const char *key, int *out) {
    bool v = false;
    *out = -1;
    if (asc_gguf_kv_find(g, key) == NULL) return ASC_OK;
    asc_status st = asc_gguf_get_bool(ctx, g, key, &v);
    if (st == ASC_OK) *out = v;
    return st;
}

static asc_status fill(asc_ctx *ctx, const asc_gguf *g, arrays *a, asc_vocab_spec *s) {
    asc_status st = ASC_OK;
    const asc_view none = {NULL, 0};
    const struct {
        const char *key;
        int64_t *out;
    } ids[] = {{"tokenizer.ggml.bos_token_id", &s->bos},
               {"tokenizer.ggml.eos_token_id", &s->eos},
               {"tokenizer.ggml.eot_token_id", &s->eot},
               {"tokenizer.ggml.padding_token_id", &s->pad},
               {"tokenizer.ggml.unknown_token_id", &s->unk}};
    ASC_TRY(asc_gguf_get_str_or(ctx, g, "tokenizer.ggml.model", none, &s->model));
    ASC_TRY(asc_gguf_get_str_or(ctx, g, "tokenizer.ggml.pre", none, &s->pre));
    ASC_TRY(asc_gguf_get_array_or(ctx, g, "tokenizer.ggml.tokens", ASC_GGUF_STRINGS, &a->tokens));
    ASC_TRY(asc_gguf_get_array_or(ctx, g, "tokenizer.ggml.scores", ASC_GGUF_FLOATS, &a->scores));
    ASC_TRY(asc_gguf_get_array_or(ctx, g, "tokenizer.ggml.token_type", ASC_GGUF_INTEGERS, &a->types));
    ASC_TRY(asc_gguf_get_array_or(ctx, g, "tokenizer.ggml.merges", ASC_GGUF_STRINGS, &a->merges));
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        ASC_TRY(asc_gguf_get_i64_or(ctx, g, ids[i].key, -1, ids[i].out));
    }
    ASC_TRY(get_flag(ctx, g, "tokenizer.ggml.add_bos_token", &s->add_bos));
    ASC_TRY(get_flag(ctx, g, "tokenizer.ggml.add_eos_token", &s->add_eos));
    ASC_TRY(get_flag(ctx, g, "tokenizer.ggml.add_space_prefix", &s->add_space_prefix));
    s->n_tokens = a->tokens.count;
    s->n_scores = a->scores.count;
    s->n_types = a->types.count;
    s->n_merges = a->merges.count;
    s->has_merges = asc_gguf_kv_find(g, "tokenizer.ggml.merges") != NULL;
done:
    return st;
}

asc_status asc_tokenizer_from_gguf(asc_ctx *ctx, const asc_gguf *g, asc_tokenizer **out) {
    asc_status st = ASC_OK;
    arrays a = {0};
    bool handled = false;
    asc_vocab_spec spec = asc_vocab_spec_empty();
    spec.self = &a;
    spec.token = token_at;
    spec.score = score_at;
    spec.type = type_at;
    spec.merge = merge_at;
    *out = NULL;
    ASC_TRY(asc_gguf_check(ctx, g));
    ASC_TRY(fill(ctx, g, &a, &spec));
    st = asc_gguf_stages_create(ctx, g, spec.model, &handled, out);
    if (st == ASC_OK && !handled) st = asc_tokenizer_create(ctx, &spec, out);
    if (st != ASC_OK) asc_fail_context(ctx, "%s", asc_gguf_name(g));
done:
    return st;
}
