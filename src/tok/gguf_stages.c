/* gguf_stages.c - see gguf_stages.h. WordPiece and Unigram vocabularies, and BPE over characters, are what
 * tokenizer.json files describe as stages, so the metadata is written as such a file and read by the one
 * reader. GGUF has no words for some of the stages; what a kind of vocabulary implies is in the functions
 * below. */
#include "gguf_stages.h"
#include "alloc.h"
#include "json.h"
#include "tokenizer.h"
#include "tokenizer_json.h"
#include "word_model.h"

#define MARK "\xE2\x96\x81" /* U+2581, a space */

typedef enum kind { KIND_BERT, KIND_T5, KIND_GEMMA4 } kind;

typedef struct source {
    const asc_gguf *g;
    kind kind;
    asc_gguf_array tokens, scores, types, merges, map;
    int64_t bos, eos, unk, pad, cls, sep, mask, eot; /* -1 = none */
    bool add_bos, add_eos, space, merge_spaces, lowercase, strip_accents;
    asc_strbuf text; /* of the file, and of a name */
    asc_strbuf name;
    asc_jsonw w;
} source;

static asc_status flag(asc_ctx *ctx, const asc_gguf *g, const char *key, bool fallback, bool *out) {
    *out = fallback;
    return asc_gguf_kv_find(g, key) == NULL ? ASC_OK : asc_gguf_get_bool(ctx, g, key, out);
}

static asc_status array(asc_ctx *ctx, const asc_gguf *g, const char *key, unsigned types,
                        asc_gguf_array *out) {
    return asc_gguf_get_array_or(ctx, g, key, types, out);
}

static asc_status read_ids(asc_ctx *ctx, source *s) {
    asc_status st = ASC_OK;
    bool bert = s->kind == KIND_BERT;
    /* What llama.cpp takes where a file is silent; the misspelt key is the one that files have. */
    const struct {
        const char *key;
        int64_t fallback, *out;
    } ids[] = {{"tokenizer.ggml.bos_token_id", bert ? 101 : -1, &s->bos},
               {"tokenizer.ggml.eos_token_id", s->kind == KIND_T5 ? 1 : -1, &s->eos},
               {"tokenizer.ggml.eot_token_id", -1, &s->eot},
               {"tokenizer.ggml.unknown_token_id",
                bert                 ? 100
                : s->kind == KIND_T5 ? 2
                                     : -1,
                &s->unk},
               {"tokenizer.ggml.padding_token_id", s->kind == KIND_GEMMA4 ? -1 : 0, &s->pad},
               {"tokenizer.ggml.seperator_token_id", bert ? 102 : -1, &s->sep},
               {"tokenizer.ggml.cls_token_id", -1, &s->cls},
               {"tokenizer.ggml.mask_token_id", bert ? 103 : -1, &s->mask}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        ASC_TRY(asc_gguf_get_i64_or(ctx, s->g, ids[i].key, ids[i].fallback, ids[i].out));
        if (*ids[i].out >= 0 && (uint64_t)*ids[i].out < s->tokens.count) continue;
        if (*ids[i].out != ids[i].fallback)
            asc_logf(ctx, ASC_LOG_WARN, "%s is %lld, but there are only %zu tokens: ignored", ids[i].key,
                     (long long)*ids[i].out, s->tokens.count);
        *ids[i].out = -1;
    }
    if (s->cls >= 0) s->bos = s->cls;
    if (bert && s->sep >= 0) s->eos = s->sep;
done:
    return st;
}

static asc_status read_keys(asc_ctx *ctx, source *s) {
    asc_status st = ASC_OK;
    bool suffix;
    const asc_gguf *g = s->g;
    ASC_TRY(array(ctx, g, "tokenizer.ggml.tokens", ASC_GGUF_STRINGS, &s->tokens));
    ASC_TRY(array(ctx, g, "tokenizer.ggml.scores", ASC_GGUF_FLOATS, &s->scores));
    ASC_TRY(array(ctx, g, "tokenizer.ggml.token_type", ASC_GGUF_INTEGERS, &s->types));
    ASC_TRY(array(ctx, g, "tokenizer.ggml.merges", ASC_GGUF_STRINGS, &s->merges));
    ASC_TRY(array(ctx, g, "tokenizer.ggml.precompiled_charsmap", ASC_GGUF_INTEGERS, &s->map));
    if (s->tokens.count == 0)
        ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tokenizer.ggml.tokens is missing or empty"));
    if (s->tokens.count > ASC_TOK_MAX_TOKENS)
        ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tokenizer.ggml.tokens has %zu entries, more than %d",
                         s->tokens.count, ASC_TOK_MAX_TOKENS));
    if (s->types.count != 0 && s->types.count != s->tokens.count)
        ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                         "tokenizer.ggml.token_type has %zu entries for %zu tokens", s->types.count,
                         s->tokens.count));
    if (s->kind == KIND_T5 && s->scores.count != s->tokens.count)
        ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tokenizer.ggml.scores has %zu entries for %zu tokens",
                         s->scores.count, s->tokens.count));
    if (s->kind == KIND_GEMMA4 && asc_gguf_kv_find(g, "tokenizer.ggml.merges") == NULL)
        ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                         "tokenizer.ggml.merges is missing, which model 'gemma4' needs"));
    ASC_TRY(read_ids(ctx, s));
    ASC_TRY(flag(ctx, g, "tokenizer.ggml.add_bos_token", s->kind == KIND_BERT, &s->add_bos));
    ASC_TRY(flag(ctx, g, "tokenizer.ggml.add_eos_token", s->kind != KIND_GEMMA4, &s->add_eos));
    ASC_TRY(flag(ctx, g, "tokenizer.ggml.add_space_prefix", s->kind == KIND_T5, &s->space));
    ASC_TRY(flag(ctx, g, "tokenizer.ggml.remove_extra_whitespaces", false, &s->merge_spaces));
    ASC_TRY(flag(ctx, g, "tokenizer.ggml.normalizer.lowercase", true, &s->lowercase));
    ASC_TRY(flag(ctx, g, "tokenizer.ggml.normalizer.strip_accents", s->lowercase, &s->strip_accents));
    ASC_TRY(flag(ctx, g, "tokenizer.ggml.treat_whitespace_as_suffix", false, &suffix));
    if (suffix)
        ASC_TRY(ASC_FAIL(ctx, ASC_UNIMPLEMENTED,
                         "tokenizer.ggml.treat_whitespace_as_suffix is set, which is not supported"));
done:
    return st;
}

static int64_t type_of(const source *s, size_t i) {
    return s->types.count > 0 ? asc_gguf_int_at(s->types, i) : ASC_TOKEN_NORMAL;
}

/* The token as a tokenizer.json has it. BERT's GGUF files mark the begin of a word, the others its inside. */
static asc_view name_of(source *s, size_t i) {
    asc_view t = asc_gguf_str_at(s->tokens, i);
    if (s->kind != KIND_BERT) return t;
    if (t.len > 3 && memcmp(t.ptr, MARK, 3) == 0) return (asc_view){t.ptr + 3, t.len - 3};
    bool bare =
        type_of(s, i) != ASC_TOKEN_NORMAL || (t.len > 2 && t.ptr[0] == '[' && t.ptr[t.len - 1] == ']');
    if (bare) return t;
    asc_strbuf_clear(&s->name);
    asc_strbuf_adds(&s->name, "##");
    asc_strbuf_addv(&s->name, t);
    return asc_strbuf_view(&s->name);
}

static void raw(source *s, const char *json) { asc_strbuf_adds(&s->text, json); }

static void write_str(source *s, asc_view v) {
    asc_jsonw w;
    asc_jsonw_init(&w, &s->text, true);
    asc_jsonw_str(&w, v);
}

static void write_base64(source *s) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = s->map.count;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = 0;
        for (size_t k = 0; k < 3; k++)
            v = v << 8 | (i + k < n ? (uint32_t)asc_gguf_int_at(s->map, i + k) & 0xFFu : 0u);
        for (size_t k = 0; k < 4; k++)
            asc_strbuf_addc(&s->text, i + k <= n ? digits[v >> (18 - 6 * k) & 63] : '=');
    }
}

static void write_stages(source *s) {
    switch (s->kind) {
    case KIND_BERT:
        asc_strbuf_addf(&s->text,
                        "\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":%s,\"strip_accents\":%s},",
                        s->lowercase ? "true" : "false", s->strip_accents ? "true" : "false");
        raw(s, "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
               "\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},");
        return;
    case KIND_T5:
        raw(s, "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
        if (s->map.count > 0) {
            raw(s, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"");
            write_base64(s);
            raw(s, s->merge_spaces ? "\"}," : "\"}");
        }
        if (s->merge_spaces)
            raw(s, "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\A +| +\\\\z\"},\"content\":\"\"},"
                   "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"}");
        raw(s, "]},");
        for (int i = 0; i < 2; i++) {
            raw(s, i == 0 ? "\"pre_tokenizer\":" : "\"decoder\":");
            raw(s, "{\"type\":\"Metaspace\",\"replacement\":\"" MARK "\",\"prepend_scheme\":");
            raw(s, s->space ? "\"always\"}," : "\"never\"},");
        }
        return;
    case KIND_GEMMA4:
        raw(s, "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
        if (s->space) raw(s, "{\"type\":\"Prepend\",\"prepend\":\"" MARK "\"},");
        raw(s, "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" MARK "\"}]},"
               "\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[^\\\\n]+|\\\\n+\"},"
               "\"behavior\":\"Isolated\"},\"decoder\":{\"type\":\"Sequence\",\"decoders\":["
               "{\"type\":\"Replace\",\"pattern\":{\"String\":\"" MARK "\"},\"content\":\" \"},"
               "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},");
        return;
    }
}

static void special(source *s, int64_t id, int type_id) {
    if (id < 0) return;
    raw(s, "{\"SpecialToken\":{\"id\":");
    write_str(s, asc_gguf_str_at(s->tokens, (size_t)id));
    asc_strbuf_addf(&s->text, ",\"type_id\":%d}},", type_id);
}

/* bos A eos, and for a pair B eos behind it; with bos and without types (XLM-R) one more eos between. */
static void write_post(source *s) {
    int64_t bos = s->add_bos ? s->bos : -1, eos = s->add_eos ? s->eos : -1;
    int b = s->kind == KIND_BERT;
    if (bos < 0 && eos < 0) return;
    raw(s, "\"post_processor\":{\"type\":\"TemplateProcessing\",");
    for (int pair = 0; pair < 2; pair++) {
        raw(s, pair ? "\"pair\":[" : "\"single\":[");
        special(s, bos, 0);
        raw(s, "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},");
        special(s, eos, 0);
        if (pair) {
            if (s->kind == KIND_T5 && bos >= 0) special(s, eos, 0);
            if (s->kind == KIND_GEMMA4) special(s, bos, 0);
            asc_strbuf_addf(&s->text, "{\"Sequence\":{\"id\":\"B\",\"type_id\":%d}},", b);
            special(s, eos, b);
        }
        s->text.len--; /* the last comma */
        raw(s, "],");
    }
    raw(s, "\"special_tokens\":{");
    for (int i = 0; i < 2; i++) {
        int64_t id = i == 0 ? bos : eos;
        if (id < 0 || (i == 1 && id == bos)) continue;
        asc_view t = asc_gguf_str_at(s->tokens, (size_t)id);
        if (i == 1 && bos >= 0) raw(s, ",");
        write_str(s, t);
        raw(s, ":{\"id\":");
        write_str(s, t);
        asc_strbuf_addf(&s->text, ",\"ids\":[%lld],\"tokens\":[", (long long)id);
        write_str(s, t);
        raw(s, "]}");
    }
    raw(s, "}},");
}

static void write_added(source *s) {
    bool first = true;
    raw(s, "\"added_tokens\":[");
    for (size_t i = 0; i < s->tokens.count; i++) {
        int64_t t = type_of(s, i);
        if (t != ASC_TOKEN_CONTROL && t != ASC_TOKEN_USER_DEFINED) continue;
        asc_strbuf_addf(&s->text,
                        "%s{\"id\":%zu,\"normalized\":false,\"special\":%s,\"content\":", first ? "" : ",", i,
                        t == ASC_TOKEN_CONTROL ? "true" : "false");
        write_str(s, name_of(s, i));
        raw(s, "}");
        first = false;
    }
    raw(s, "],");
}

static asc_status check_tokens(asc_ctx *ctx, const source *s, bool *bytes) {
    for (size_t i = 0; i < s->tokens.count; i++) {
        const asc_view t = asc_gguf_str_at(s->tokens, i);
        if (asc_utf8_check(t) != t.len)
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "tokenizer.ggml.tokens[%zu] is not valid UTF-8", i);
        *bytes |= type_of(s, i) == ASC_TOKEN_BYTE;
    }
    return ASC_OK;
}

/* BERT's vocabulary is written out, since its names are; the others, of ten times as many tokens and merges,
 * are handed over as lists. */
static asc_status write_model(asc_ctx *ctx, source *s) {
    static const char *const types[] = {"WordPiece", "Unigram", "BPE"};
    bool bytes = false;
    asc_status st = check_tokens(ctx, s, &bytes);
    if (st != ASC_OK) return st;
    asc_strbuf_addf(&s->text, "\"model\":{\"type\":\"%s\"", types[s->kind]);
    if (s->kind != KIND_T5 && s->unk >= 0) {
        raw(s, ",\"unk_token\":");
        write_str(s, name_of(s, (size_t)s->unk));
    } else if (s->unk >= 0) {
        asc_strbuf_addf(&s->text, ",\"unk_id\":%lld", (long long)s->unk);
    }
    if (s->kind == KIND_BERT) raw(s, ",\"vocab\":{");
    for (size_t i = 0; s->kind == KIND_BERT && i < s->tokens.count; i++) {
        if (i > 0) raw(s, ",");
        write_str(s, name_of(s, i));
        asc_strbuf_addf(&s->text, ":%zu", i);
    }
    if (s->kind == KIND_BERT) raw(s, "}");
    if (bytes) raw(s, ",\"byte_fallback\":true");
    if (s->kind == KIND_GEMMA4) raw(s, ",\"fuse_unk\":true");
    raw(s, "}");
    return asc_strbuf_status(&s->text);
}

static asc_view token_at(void *self, size_t i) { return asc_gguf_str_at(((const source *)self)->tokens, i); }
static asc_view merge_at(void *self, size_t i) { return asc_gguf_str_at(((const source *)self)->merges, i); }
static double score_at(void *self, size_t i) { return asc_gguf_num_at(((const source *)self)->scores, i); }

static void set_info(asc_tokenizer *tk, const source *s, const char *model) {
    asc_tokenizer_info *f = &tk->info;
    f->model = model;
    f->bos = (int32_t)s->bos;
    f->eos = (int32_t)s->eos;
    f->unk = (int32_t)s->unk;
    f->pad = (int32_t)s->pad;
    f->mask = (int32_t)s->mask;
    f->cls = (int32_t)(s->kind == KIND_GEMMA4 ? -1 : s->cls >= 0 ? s->cls : s->bos);
    f->sep = (int32_t)(s->sep >= 0 || s->kind == KIND_GEMMA4 ? s->sep : s->eos);
    if (s->eot >= 0) f->eot = (int32_t)s->eot;
    f->add_bos = s->add_bos && s->bos >= 0;
    f->add_eos = s->add_eos && s->eos >= 0;
    f->add_space_prefix = s->space;
}

asc_status asc_gguf_stages_create(asc_ctx *ctx, const asc_gguf *g, asc_view model, bool *handled,
                                  asc_tokenizer **out) {
    static const char *const names[] = {"bert", "t5", "gemma4"};
    asc_status st = ASC_OK;
    source s = {.g = g};
    size_t k = 0;
    *out = NULL;
    while (k < 3 && !asc_view_eqs(model, names[k])) k++;
    *handled = k < 3;
    if (k == 3) return ASC_OK;
    s.kind = (kind)k;
    asc_strbuf_init(&s.text, ctx);
    asc_strbuf_init(&s.name, ctx);
    ASC_TRY(read_keys(ctx, &s));
    raw(&s, "{");
    write_stages(&s);
    write_post(&s);
    write_added(&s);
    ASC_TRY(write_model(ctx, &s));
    raw(&s, "}");
    ASC_TRY(asc_strbuf_status(&s.text));
    ASC_TRY(asc_strbuf_status(&s.name));
    const asc_word_lists lists = {.self = &s,
                                  .n_tokens = s.tokens.count,
                                  .n_merges = s.merges.count,
                                  .token = token_at,
                                  .score = score_at,
                                  .merge = merge_at};
    ASC_TRY(asc_tokenizer_from_stages(ctx, asc_strbuf_view(&s.text), s.kind == KIND_BERT ? NULL : &lists,
                                      "its vocabulary as tokenizer.json", out));
    set_info(*out, &s, names[k]);
done:
    asc_strbuf_deinit(&s.text);
    asc_strbuf_deinit(&s.name);
    return st;
}
