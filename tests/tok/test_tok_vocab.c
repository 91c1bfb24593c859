/* test_tok_vocab.c - building a tokenizer from good and bad data, special tokens and plain spans, byte-exact
 * decoding of random bytes, and every allocation failing in turn. */
#include "fuzz/tiny_vocab.h"
#include "gguf_vocab.h"
#include "harness.h"
#include "hash.h"
#include "unicode.h"
#include <math.h>
#include <utf8proc.h>

/* ---- malformed vocabularies: one change each, the status and words of the message ---- */

static float nan_score(void *self, size_t i) {
    (void)self;
    return i == 7 ? NAN : 0.0F;
}

typedef struct bad {
    const char *what;
    bool spm;
    void (*change)(tiny_vocab *t);
    asc_status st;
    const char *says; /* in the message or the hint */
} bad;

static void no_model(tiny_vocab *t) { t->spec.model = (asc_view){NULL, 0}; }
static void other_model(tiny_vocab *t) { t->spec.model = asc_view_of("bert"); }
static void other_pre(tiny_vocab *t) { t->spec.pre = asc_view_of("afmoe"); }
static void long_pre(tiny_vocab *t) { t->spec.pre = (asc_view){(const char *)t, 5000}; }
static void no_tokens(tiny_vocab *t) { t->spec.n_tokens = 0; }
static void many_tokens(tiny_vocab *t) { t->spec.n_tokens = (size_t)1 << 40; }
static void short_types(tiny_vocab *t) { t->spec.n_types--; }
static void long_types(tiny_vocab *t) { t->spec.n_types++; }
static void no_scores(tiny_vocab *t) { t->spec.n_scores = 0; }
static void short_scores(tiny_vocab *t) { t->spec.n_scores--; }
static void bad_score(tiny_vocab *t) { t->spec.score = nan_score; }
static void no_merges(tiny_vocab *t) { t->spec.has_merges = false; }
static void many_merges(tiny_vocab *t) { t->spec.n_merges = SIZE_MAX; }
static void type_7(tiny_vocab *t) { t->token[9].type = 7; }
static void type_minus(tiny_vocab *t) { t->token[9].type = -1; }
static void byte_name(tiny_vocab *t) { t->token[9].type = ASC_TOKEN_BYTE; }
static void merge_one(tiny_vocab *t) { strcpy(t->merge[2], "ab"); }
static void merge_empty(tiny_vocab *t) { strcpy(t->merge[2], ""); }
static void merge_half(tiny_vocab *t) { strcpy(t->merge[2], "ab "); }
static void merge_left(tiny_vocab *t) { strcpy(t->merge[2], "zz a"); }
static void merge_right(tiny_vocab *t) { strcpy(t->merge[2], "a zz"); }
static void merge_result(tiny_vocab *t) { strcpy(t->merge[2], "a z"); }
static void merge_three(tiny_vocab *t) { strcpy(t->merge[2], "a a a"); }
static void merge_alien(tiny_vocab *t) { strcpy(t->merge[2], "a \xE4\xB8\xAD"); }
static void merge_utf8(tiny_vocab *t) { strcpy(t->merge[2], "a \xFF"); }

static const bad bads[] = {
    {"no model", false, no_model, ASC_INVALID_ARGUMENT, "tokenizer.ggml.model is missing"},
    {"other model", false, other_model, ASC_UNIMPLEMENTED, "'bert'"},
    {"models are listed", false, other_model, ASC_UNIMPLEMENTED, "gpt2, llama, bert"},
    {"other pre", false, other_pre, ASC_UNIMPLEMENTED, "'afmoe'"},
    {"pres are listed", false, other_pre, ASC_UNIMPLEMENTED, "smollm, gpt-2, llama-bpe"},
    {"long pre", false, long_pre, ASC_UNIMPLEMENTED, "tokenizer.ggml.pre"},
    {"no tokens", false, no_tokens, ASC_INVALID_ARGUMENT, "tokenizer.ggml.tokens is missing"},
    {"no tokens, spm", true, no_tokens, ASC_INVALID_ARGUMENT, "tokenizer.ggml.tokens is missing"},
    {"many tokens", false, many_tokens, ASC_INVALID_ARGUMENT, "tokenizer.ggml.tokens has"},
    {"short types", false, short_types, ASC_INVALID_ARGUMENT, "tokenizer.ggml.token_type has"},
    {"long types", true, long_types, ASC_INVALID_ARGUMENT, "tokenizer.ggml.token_type has"},
    {"no scores", true, no_scores, ASC_INVALID_ARGUMENT, "tokenizer.ggml.scores is missing"},
    {"short scores", true, short_scores, ASC_INVALID_ARGUMENT, "tokenizer.ggml.scores has"},
    {"score NaN", true, bad_score, ASC_INVALID_ARGUMENT, "tokenizer.ggml.scores[7]"},
    {"no merges", false, no_merges, ASC_INVALID_ARGUMENT, "tokenizer.ggml.merges is missing"},
    {"many merges", false, many_merges, ASC_INVALID_ARGUMENT, "tokenizer.ggml.merges has"},
    {"type 7", false, type_7, ASC_INVALID_ARGUMENT, "tokenizer.ggml.token_type[9] is 7"},
    {"type -1", true, type_minus, ASC_INVALID_ARGUMENT, "tokenizer.ggml.token_type[9] is -1"},
    {"byte token's name", false, byte_name, ASC_INVALID_ARGUMENT, "tokenizer.ggml.tokens[9]"},
    {"merge of one", false, merge_one, ASC_INVALID_ARGUMENT, "tokenizer.ggml.merges[2] 'ab'"},
    {"empty merge", false, merge_empty, ASC_INVALID_ARGUMENT, "tokenizer.ggml.merges[2] ''"},
    {"half a merge", false, merge_half, ASC_INVALID_ARGUMENT, "tokenizer.ggml.merges[2]"},
    {"merge of unknown left", false, merge_left, ASC_INVALID_ARGUMENT, "joins a piece that is no token"},
    {"merge of unknown right", false, merge_right, ASC_INVALID_ARGUMENT, "joins a piece that is no token"},
    {"merge to unknown", false, merge_result, ASC_INVALID_ARGUMENT, "makes a piece that is no token"},
    {"merge of three", false, merge_three, ASC_INVALID_ARGUMENT, "byte-level alphabet"},
    {"merge of other letters", false, merge_alien, ASC_INVALID_ARGUMENT, "byte-level alphabet"},
    {"merge of bad UTF-8", false, merge_utf8, ASC_INVALID_ARGUMENT, "byte-level alphabet"},
};

static void malformed(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        static tiny_vocab v;
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_tokenizer *tk = NULL;
        if (bads[i].spm) {
            tiny_spm(&v, true, true);
        } else {
            tiny_bpe(&v, "gpt-2", false);
        }
        bads[i].change(&v);
        asc_status st = asc_tokenizer_create(ctx, &v.spec, &tk);
        if (st != bads[i].st || (strstr(asc_error_message(ctx), bads[i].says) == NULL &&
                                 strstr(asc_error_hint(ctx), bads[i].says) == NULL)) {
            fail_msg("%s: %s: %s (%s)", bads[i].what, asc_status_name(st), asc_error_message(ctx),
                     asc_error_hint(ctx));
        }
        assert_null(tk);
        test_ctx_end(ctx);
    }
}

static void bad_files(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_gguf *g = NULL;
    asc_tokenizer *tk = NULL;
    assert_ok(ctx, asc_gguf_open(ctx, test_data("goldens/bad_gguf/control.gguf"), &g));
    assert_ok(ctx, asc_tokenizer_from_gguf(ctx, g, &tk));
    assert_int_equal(asc_tokenizer_get_info(tk).eos, 0);
    assert_int_equal(asc_token_find(tk, asc_view_of("abc")), 10);
    asc_tokenizer_destroy(tk);
    asc_gguf_close(ctx, g);
    assert_ok(ctx, asc_gguf_open(ctx, test_data("goldens/bad_gguf/no-tokens.gguf"), &g));
    assert_int_equal(asc_tokenizer_from_gguf(ctx, g, &tk), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "no-tokens.gguf"));
    assert_non_null(strstr(asc_error_message(ctx), "tokenizer.ggml.tokens"));
    asc_gguf_close(ctx, g);
    test_ctx_end(ctx);
}

/* ---- special tokens ---- */

typedef struct maker {
    asc_ctx *ctx;
    tiny_vocab v;
    asc_tokenizer *tk;
} maker;

static maker *make(bool spm, const char *pre) {
    static maker m;
    m.ctx = test_ctx("cpu", NULL);
    if (spm) {
        tiny_spm(&m.v, true, true);
    } else {
        tiny_bpe(&m.v, pre, true);
    }
    assert_ok(m.ctx, asc_tokenizer_create(m.ctx, &m.v.spec, &m.tk));
    return &m;
}

static void unmake(maker *m) {
    asc_tokenizer_destroy(m->tk);
    test_ctx_end(m->ctx);
}

/* The pieces of the tokens, special ones in braces, with a bar between them. */
static const char *show(maker *m, const char *text, asc_tokenize_options o) {
    static char out[1024];
    asc_token *t = NULL;
    size_t n = 0, len = 0;
    o.struct_size = sizeof o;
    assert_ok(m->ctx, asc_tokenize(m->ctx, m->tk, asc_view_of(text), &o, &t, &n));
    for (size_t i = 0, at = 0; i < n; at = t[i++].end) {
        asc_view p = asc_token_piece(m->tk, t[i].id);
        asc_token_type type = asc_token_get_type(m->tk, t[i].id);
        bool braces =
            type == ASC_TOKEN_CONTROL || type == ASC_TOKEN_USER_DEFINED || type == ASC_TOKEN_UNKNOWN;
        len += (size_t)snprintf(out + len, sizeof out - len, braces ? "%s{%.*s}" : "%s%.*s", i > 0 ? "|" : "",
                                ASC_VIEW_ARG(p));
        assert_int_equal(t[i].start, at);
        if (i + 1 == n) assert_int_equal(t[i].end, strlen(text));
    }
    out[len] = '\0';
    asc_tokens_free(m->ctx, t);
    return out;
}

static void special_tokens(void **state) {
    (void)state;
    maker *m = make(false, "gpt-2");
    asc_tokenize_options none = {0}, parse = {.parse_special = true}, bos = {.add_bos_eos = true};
    assert_string_equal(show(m, "a<|a|>b", none), "a|<|||a|||>|b");
    assert_string_equal(show(m, "a<|a|>b", parse), "a|{<|a|>}|b");
    assert_string_equal(show(m, "<|a|><|b|><|a|><|b|", parse),
                        "{<|a|><|b|>}|{<|a|>}|<|||b||");         /* longest first */
    assert_string_equal(show(m, "a<tool>", none), "a|{<tool>}"); /* user-defined: part of the vocabulary */
    assert_string_equal(show(m, "ab", bos), "ab"); /* nothing is added unless the model says so */
    asc_span plain[] = {{2, 4}, {9, 10}};
    asc_tokenize_options guarded = {.parse_special = true, .plain = plain, .n_plain = 2};
    assert_string_equal(show(m, "<|a|><|a|>", guarded), "<|||a|||>|<|||a|||>"); /* not even partly */
    plain[0] = (asc_span){5, 10};
    guarded.n_plain = 1;
    assert_string_equal(show(m, "<|a|><|b|><|a|>", guarded),
                        "{<|a|>}|<|||b|||>|{<|a|>}"); /* the shorter one */
    assert_string_equal(show(m, "<|a|><tool", guarded), "{<|a|>}|<|t|o|o|l");
    plain[0] = (asc_span){1, 0};
    asc_token *t = NULL;
    size_t n = 0;
    guarded.struct_size = sizeof guarded;
    assert_int_equal(asc_tokenize(m->ctx, m->tk, asc_view_of("ab"), &guarded, &t, &n), ASC_INVALID_ARGUMENT);
    plain[0] = (asc_span){0, 3};
    assert_int_equal(asc_tokenize(m->ctx, m->tk, asc_view_of("ab"), &guarded, &t, &n), ASC_INVALID_ARGUMENT);
    unmake(m);

    m = make(true, NULL);
    assert_true(asc_tokenizer_get_info(m->tk).add_bos);
    assert_string_equal(show(m, "the<|a|>the", parse), " the|{<|a|>}| the");
    assert_string_equal(show(m, "the<tool>he", parse), " the|{<tool>}|he");
    assert_string_equal(show(m, "the", bos), "{<|a|>}| the");
    assert_string_equal(show(m, "", bos), "{<|a|>}");
    unmake(m);
}

static void vanished_bytes(void **state) {
    (void)state;
    maker *m = make(false, "gpt-2"); /* it has no token for 04 and FF */
    asc_tokenize_options parse = {.struct_size = sizeof parse, .parse_special = true};
    assert_string_equal(show(m,
                             "\x04"
                             "a\x04"
                             "a\x04<|a|>\x04"
                             "b\x04",
                             parse),
                        "a|a|{<|a|>}|b");
    assert_string_equal(show(m, "!\x04!", parse), "!|!");
    assert_string_equal(show(m, "\x04\x04<|a|>\x04", parse), "{<|a|>}");
    asc_token *t = NULL;
    size_t n = 9;
    assert_ok(m->ctx, asc_tokenize(m->ctx, m->tk, asc_view_of("\x04\x04"), &parse, &t, &n));
    assert_int_equal(n, 0);
    assert_null(t);
    unmake(m);
}

static void questions(void **state) {
    (void)state;
    maker *m = make(true, NULL);
    asc_tokenizer_info f = asc_tokenizer_get_info(m->tk);
    assert_int_equal(f.n_vocab, m->v.spec.n_tokens);
    assert_string_equal(f.model, "llama");
    assert_int_equal(f.bos, 1);
    assert_int_equal(f.unk, 0);
    assert_int_equal(f.pad, -1);
    assert_int_equal(asc_token_find(m->tk, asc_view_of("<|a|>")), 1);
    assert_int_equal(asc_token_find(m->tk, asc_view_of("no such")), -1);
    assert_int_equal(asc_token_find(m->tk, (asc_view){NULL, 0}), -1);
    assert_true(asc_view_eqs(asc_token_piece(m->tk, asc_token_find(m->tk, asc_view_of(" the"))), " the"));
    assert_int_equal(asc_token_get_type(m->tk, asc_token_find(m->tk, asc_view_of("z"))), ASC_TOKEN_BYTE);
    assert_null(asc_token_piece(m->tk, -1).ptr);
    assert_null(asc_token_piece(m->tk, (int32_t)f.n_vocab).ptr);
    const int32_t ids[] = {1, asc_token_find(m->tk, asc_view_of(" the")), (int32_t)f.n_vocab};
    char *out = NULL;
    size_t len = 0;
    assert_ok(m->ctx, asc_detokenize(m->ctx, m->tk, ids, 2, true, &out, &len));
    assert_string_equal(out, "<|a|>the");
    asc_tokens_free(m->ctx, out);
    assert_ok(m->ctx, asc_detokenize(m->ctx, m->tk, ids, 2, false, &out, &len));
    assert_string_equal(out, "the");
    asc_tokens_free(m->ctx, out);
    assert_int_equal(asc_detokenize(m->ctx, m->tk, ids, 3, false, &out, &len), ASC_OUT_OF_RANGE);
    assert_null(out);
    unmake(m);
}

/* ---- classes of all code points: as many as Hugging Face tokenizers 0.23.3 sees with \\p{L}, \\p{N}, \\s
 * ---- */

static void class_counts(void **state) {
    (void)state;
    size_t n[4] = {0};
    for (uint32_t cp = 0; cp < 0x110000; cp++) n[asc_char_classify(cp)]++;
    /* a utf8proc newer than Unicode 16.0 may know more letters and numbers, never fewer */
    assert_true(n[ASC_CHAR_LETTER] >= 141028);
    assert_true(n[ASC_CHAR_NUMBER] >= 1911);
    assert_int_equal(n[ASC_CHAR_SPACE], 25);
    if (strncmp(utf8proc_unicode_version(), "15.", 3) == 0 ||
        strncmp(utf8proc_unicode_version(), "16.", 3) == 0) {
        assert_int_equal(n[ASC_CHAR_LETTER], 141028);
        assert_int_equal(n[ASC_CHAR_NUMBER], 1911);
    }
}

/* ---- decoding gives any bytes back, each bad subpart as U+FFFD ---- */

static size_t repaired(const char *text, size_t n, char *out) {
    size_t len = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        i += asc_utf8_decode(text + i, n - i, &cp, NULL);
        len += asc_utf8_encode(cp, out + len);
    }
    return len;
}

static void round_trip(asc_ctx *ctx, const asc_tokenizer *tk, uint64_t seed) {
    static const char *const bits[] = {" ",        "the",      "\n", "a",  "aa",    "\xE4\xB8\xAD",
                                       "\xC3\xA9", "\xE2\x80", "1",  "'s", "<|a|>", "\xF0\x9F\x91\xA9"};
    for (uint64_t round = 0; round < 2000; round++) {
        char text[256], want[800], *got = NULL;
        int32_t ids[800];
        size_t n = 0, nt = 0, len = 0, want_len;
        for (uint64_t k = 0; (double)k < 30 * asc_uniform(seed, round, 999); k++) {
            double r = asc_uniform(seed, round, 2 * k);
            if (r < 0.5) {
                text[n++] = (char)(int)(512 * r);
            } else {
                const char *b = bits[(size_t)(12 * (2 * r - 1))];
                memcpy(text + n, b, strlen(b));
                n += strlen(b);
            }
        }
        asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = round % 2 == 0};
        asc_token *t = NULL;
        assert_ok(ctx, asc_tokenize(ctx, tk, (asc_view){text, n}, &o, &t, &nt));
        for (size_t i = 0, at = 0; i < nt; at = t[i++].end) {
            assert_int_equal(t[i].start, at);
            ids[i] = t[i].id;
        }
        assert_int_equal(nt > 0 ? t[nt - 1].end : 0, n);
        assert_ok(ctx, asc_detokenize(ctx, tk, ids, nt, true, &got, &len));
        want_len = repaired(text, n, want);
        assert_int_equal(len, want_len);
        assert_memory_equal(got, want, len);
        asc_tokens_free(ctx, got);
        asc_tokens_free(ctx, t);
    }
}

static void random_bytes_come_back(void **state) {
    (void)state;
    static const char *const pres[] = {"gpt-2", "smollm", "llama-bpe", "qwen2"};
    for (size_t i = 0; i < 6; i++) {
        static tiny_vocab v;
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_tokenizer *tk = NULL;
        if (i < 4) {
            tiny_bpe(&v, pres[i], false);
        } else {
            tiny_spm(&v, i == 4, true);
        }
        assert_ok(ctx, asc_tokenizer_create(ctx, &v.spec, &tk));
        round_trip(ctx, tk, i);
        asc_tokenizer_destroy(tk);
        test_ctx_end(ctx);
    }
}

/* ---- long texts take no quadratic time, and no allocation failure is fatal ---- */

static void long_runs(void **state) {
    (void)state;
    enum { N = 1 << 18 }; /* quadratic time would be a quarter of an hour: somebody would see */
    char *text = malloc(N);
    for (int spm = 0; spm < 2; spm++) {
        maker *m = make(spm == 1, "llama-bpe");
        static const char fill[] = {'a', ' ', '\xFF', '<'};
        for (size_t f = 0; f < sizeof fill; f++) {
            memset(text, fill[f], N);
            asc_token *t = NULL;
            size_t n = 0;
            asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = true};
            assert_ok(m->ctx, asc_tokenize(m->ctx, m->tk, (asc_view){text, N}, &o, &t, &n));
            assert_int_equal(t[n - 1].end, N);
            asc_tokens_free(m->ctx, t);
        }
        unmake(m);
    }
    free(text);
}

static asc_status everything(asc_ctx *ctx, tiny_vocab *v) {
    asc_tokenizer *tk = NULL;
    asc_token *t = NULL;
    char *out = NULL;
    size_t n = 0, len = 0;
    asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = true, .add_bos_eos = true};
    asc_status st = asc_tokenizer_create(ctx, &v->spec, &tk);
    if (st == ASC_OK)
        st = asc_tokenize(ctx, tk, asc_view_of("the cat's \xFF<|a|>aaaa<tool> \xE4\xB8\xAD"), &o, &t, &n);
    if (st == ASC_OK) {
        int32_t ids[64];
        for (size_t i = 0; i < n; i++) ids[i] = t[i].id;
        st = asc_detokenize(ctx, tk, ids, n, true, &out, &len);
    }
    asc_tokens_free(ctx, out);
    asc_tokens_free(ctx, t);
    asc_tokenizer_destroy(tk);
    return st;
}

static void every_allocation_fails(void **state) {
    (void)state;
    for (int spm = 0; spm < 2; spm++) {
        static tiny_vocab v;
        if (spm == 1) {
            tiny_spm(&v, true, true);
        } else {
            tiny_bpe(&v, "smollm", true);
        }
        asc_status st = ASC_RESOURCE_EXHAUSTED;
        long failed = 0;
        for (long at = 2; st != ASC_OK; at++) { /* allocation 1 is the context */
            test_alloc a = {.fail_at = at};
            asc_ctx_options co = {.struct_size = sizeof co, .alloc = test_alloc_fn, .alloc_self = &a};
            asc_ctx *ctx = NULL;
            assert_int_equal(asc_ctx_create_base(&co, &ctx), ASC_OK);
            st = everything(ctx, &v);
            assert_true(st == ASC_OK || st == ASC_RESOURCE_EXHAUSTED);
            if (st != ASC_OK) failed++;
            assert_int_equal(asc_memory(ctx).live_allocs, 0);
            asc_ctx_destroy(ctx);
            assert_int_equal(a.live, 0);
            assert_true(at < 1000);
        }
        assert_true(failed > 10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(special_tokens),
        cmocka_unit_test(vanished_bytes),
        cmocka_unit_test(questions),
        cmocka_unit_test(class_counts),
        cmocka_unit_test(random_bytes_come_back),
        cmocka_unit_test(long_runs),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
