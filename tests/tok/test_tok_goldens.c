/* test_tok_goldens.c - small vocabularies against other programs: ids from sentencepiece and Hugging Face
 * tokenizers, ranges from the latter. */
#include "gguf_vocab.h"
#include "hf_vocab.h"
#include "pretok.h"

static void zoo(const char *name, bool gives_text_back) {
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char rel[256], *file = NULL;
    size_t len = 0, bad = 0;
    asc_gguf *g = NULL;
    asc_tokenizer *tk = NULL;
    asc_json *j = NULL;
    snprintf(rel, sizeof rel, "goldens/zoo_gguf/%s/model.gguf", name);
    assert_ok(ctx, asc_gguf_open(ctx, test_data(rel), &g));
    assert_ok(ctx, asc_tokenizer_from_gguf(ctx, g, &tk));
    asc_gguf_close(ctx, g); /* the tokenizer keeps nothing of the file */
    snprintf(rel, sizeof rel, "goldens/zoo_gguf/%s/case.json", name);
    assert_ok(ctx, asc_file_read(ctx, test_data(rel), 1 << 24, &file, &len));
    assert_ok(ctx, asc_json_parse(ctx, file, len, &j));
    const asc_json *cases = asc_json_get(asc_json_get(j, "tokenize"), "cases");
    assert_true(asc_json_len(cases) > 5);
    for (size_t i = 0; i < asc_json_len(cases); i++) {
        const asc_json *c = asc_json_at(cases, i), *want = asc_json_get(c, "ids");
        asc_view text = asc_json_str(asc_json_get(c, "text"));
        asc_token *t = NULL;
        size_t n = 0, got_len = 0;
        assert_ok(ctx, asc_tokenize(ctx, tk, text, NULL, &t, &n));
        if (!golden_ids_equal(want, t, n)) golden_print(text.ptr, want, t, n), bad++;
        assert_tiles(t, n, text.len);
        int32_t ids[256];
        for (size_t k = 0; k < n; k++) ids[k] = t[k].id;
        char *got = NULL;
        assert_ok(ctx, asc_detokenize(ctx, tk, ids, n, true, &got, &got_len));
        if (gives_text_back) assert_true(asc_view_eq((asc_view){got, got_len}, text));
        asc_tokens_free(ctx, got);
        asc_tokens_free(ctx, t);
    }
    assert_int_equal(bad, 0);
    asc_json_free(j);
    asc_free(ctx, file);
    asc_tokenizer_destroy(tk);
    test_ctx_end(ctx);
}

static void zoo_llama_spm(void **state) {
    (void)state;
    zoo("llama-q8_0", true);
}
static void zoo_gemma2_spm(void **state) {
    (void)state;
    zoo("gemma2-f16", true);
}
static void zoo_qwen3_bpe(void **state) {
    (void)state;
    zoo("qwen3-q5_0", true);
}

static bool inside(unsigned char c) { return (c & 0xC0) == 0x80; }

/* Hugging Face gives every token of a character the whole character; ours has its bytes. */
static bool same_range(asc_view text, asc_token t, const asc_json *want) {
    while (t.start > 0 && t.start < text.len && inside((unsigned char)text.ptr[t.start])) t.start--;
    while (t.end < text.len && inside((unsigned char)text.ptr[t.end])) t.end++;
    return asc_json_int(asc_json_at(want, 0), -1) == (int64_t)t.start &&
           asc_json_int(asc_json_at(want, 1), -1) == (int64_t)t.end;
}

static void check_decoded(asc_ctx *ctx, const asc_tokenizer *tk, const asc_json *c, bool special,
                          const char *key) {
    const asc_json *ids = asc_json_get(c, "ids");
    int32_t v[512];
    size_t n = asc_json_len(ids), len = 0;
    for (size_t i = 0; i < n; i++) v[i] = (int32_t)asc_json_int(asc_json_at(ids, i), 0);
    char *out = NULL;
    assert_ok(ctx, asc_detokenize(ctx, tk, v, n, special, &out, &len));
    assert_true(asc_view_eq((asc_view){out, len}, asc_json_str(asc_json_get(c, key))));
    asc_tokens_free(ctx, out);
}

static void hf_cases(const char *kind, const char *pre) {
    asc_ctx *ctx = test_ctx("cpu", NULL);
    static hf_vocab h;
    char rel[256], *file = NULL;
    size_t len = 0, bad = 0, count = 0;
    asc_tokenizer *tk = NULL;
    snprintf(rel, sizeof rel, "goldens/tokenizers/%s/tokenizer.json", kind);
    hf_vocab_open(ctx, test_data(rel), pre, &h);
    assert_ok(ctx, asc_tokenizer_create(ctx, &h.spec, &tk));
    snprintf(rel, sizeof rel, "goldens/tokenizers/%s/cases.jsonl", kind);
    assert_ok(ctx, asc_file_read(ctx, test_data(rel), 1 << 24, &file, &len));
    asc_view rest = {file, len};
    for (asc_json *c; (c = golden_next(ctx, &rest)) != NULL; count++) {
        const asc_json *want = asc_json_get(c, "ids_without_special"),
                       *ranges = asc_json_get(c, "offsets_bytes");
        asc_view text = asc_json_str(asc_json_get(c, "text"));
        asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = true};
        asc_token *t = NULL;
        size_t n = 0, added = asc_json_len(ranges) - asc_json_len(want);
        assert_ok(ctx, asc_tokenize(ctx, tk, text, &o, &t, &n));
        bool ok = golden_ids_equal(want, t, n);
        for (size_t i = 0; ok && i < n; i++) ok = same_range(text, t[i], asc_json_at(ranges, i + added));
        if (!ok) golden_print(text.ptr, want, t, n), bad++;
        assert_tiles(t, n, text.len);
        check_decoded(ctx, tk, c, false, "decoded");
        check_decoded(ctx, tk, c, true, "decoded_with_special");
        asc_tokens_free(ctx, t);
        asc_json_free(c);
    }
    assert_int_equal(count, 40);
    assert_int_equal(bad, 0);
    asc_free(ctx, file);
    asc_tokenizer_destroy(tk);
    hf_vocab_close(&h);
    test_ctx_end(ctx);
}

static void hf_gpt2(void **state) {
    (void)state;
    hf_cases("bpe-gpt2", "gpt-2");
}
static void hf_llama3(void **state) {
    (void)state;
    hf_cases("bpe-llama3", "llama-bpe");
}

/* Random texts: ids from the other program, and decoding gives the text back. */
static void random_cases(asc_ctx *ctx, const asc_tokenizer *tk, const char *name, bool parse_special) {
    char rel[256], *file = NULL;
    size_t len = 0, bad = 0, count = 0;
    snprintf(rel, sizeof rel, "tok/%s.jsonl", name);
    assert_ok(ctx, asc_file_read(ctx, test_data(rel), 1 << 24, &file, &len));
    asc_view rest = {file, len};
    for (asc_json *c; (c = golden_next(ctx, &rest)) != NULL; count++) {
        asc_view text = asc_json_str(asc_json_get(c, "text"));
        const asc_json *want = asc_json_get(c, "ids");
        asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = parse_special};
        asc_token *t = NULL;
        size_t n = 0, got_len = 0;
        assert_ok(ctx, asc_tokenize(ctx, tk, text, &o, &t, &n));
        if (!golden_ids_equal(want, t, n)) golden_print(text.ptr, want, t, n), bad++;
        assert_tiles(t, n, text.len);
        int32_t ids[1024];
        for (size_t i = 0; i < n; i++) ids[i] = t[i].id;
        char *got = NULL;
        assert_ok(ctx, asc_detokenize(ctx, tk, ids, n, true, &got, &got_len));
        bool lossy =
            memmem(text.ptr, text.len, "\xE2\x96\x81", 3) != NULL; /* SentencePiece's own space mark */
        if (!lossy) assert_true(asc_view_eq((asc_view){got, got_len}, text));
        asc_tokens_free(ctx, got);
        asc_tokens_free(ctx, t);
        asc_json_free(c);
    }
    assert_true(count >= 250);
    assert_int_equal(bad, 0);
    asc_free(ctx, file);
}

/* Every pre-tokenizer cuts where the other program does. */
static void cuts(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char *file = NULL;
    size_t len = 0, count = 0, bad = 0;
    assert_ok(ctx, asc_file_read(ctx, test_data("tok/cuts.jsonl"), 1 << 24, &file, &len));
    asc_view rest = {file, len};
    for (asc_json *c; (c = golden_next(ctx, &rest)) != NULL; count++) {
        asc_view name = asc_json_str(asc_json_get(c, "pre")), text = asc_json_str(asc_json_get(c, "text"));
        const asc_json *ends = asc_json_get(c, "ends");
        const asc_pretok *pre = asc_pretok_find(asc_view_eqs(name, "gpt2") ? asc_view_of("gpt-2") : name);
        assert_non_null(pre);
        asc_scan scan = {.text = text.ptr, .end = text.len};
        size_t n = 0, ok = 1;
        for (size_t pos = 0; pos < text.len; n++) {
            pos = pre->next(&scan, pos);
            if (asc_json_int(asc_json_at(ends, n), -1) != (int64_t)pos) ok = 0;
        }
        if (!ok || n != asc_json_len(ends)) {
            bad++;
            fprintf(stderr, "%s: cuts differ: %s\n", name.ptr, text.ptr);
        }
        asc_json_free(c);
    }
    assert_true(count > 450);
    assert_int_equal(bad, 0);
    asc_free(ctx, file);
    test_ctx_end(ctx);
}

static void random_hf(void **state) {
    (void)state;
    static const char *const sets[][3] = {{"bpe-gpt2", "gpt-2", "gpt2"},
                                          {"bpe-gpt2", "smollm", "smollm"},
                                          {"bpe-llama3", "llama-bpe", "llama3"},
                                          {"bpe-llama3", "qwen2", "qwen2"}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        asc_ctx *ctx = test_ctx("cpu", NULL);
        static hf_vocab h;
        char rel[256];
        asc_tokenizer *tk = NULL;
        snprintf(rel, sizeof rel, "goldens/tokenizers/%s/tokenizer.json", sets[i][0]);
        hf_vocab_open(ctx, test_data(rel), sets[i][1], &h);
        assert_ok(ctx, asc_tokenizer_create(ctx, &h.spec, &tk));
        random_cases(ctx, tk, sets[i][2], true);
        asc_tokenizer_destroy(tk);
        hf_vocab_close(&h);
        test_ctx_end(ctx);
    }
}

static void random_spm(void **state) {
    (void)state;
    static const char *const sets[] = {"spm_prefix", "spm_bare"};
    for (size_t i = 0; i < 2; i++) {
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_gguf *g = NULL;
        char rel[256];
        asc_tokenizer *tk = NULL;
        snprintf(rel, sizeof rel, "tok/%s.gguf", sets[i]);
        assert_ok(ctx, asc_gguf_open(ctx, test_data(rel), &g));
        assert_ok(ctx, asc_tokenizer_from_gguf(ctx, g, &tk));
        asc_gguf_close(ctx, g); /* the tokenizer keeps nothing of the file */
        random_cases(ctx, tk, sets[i], false);
        asc_tokenizer_destroy(tk);
        test_ctx_end(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cuts),           cmocka_unit_test(random_hf),
                                       cmocka_unit_test(random_spm),     cmocka_unit_test(zoo_llama_spm),
                                       cmocka_unit_test(zoo_gemma2_spm), cmocka_unit_test(zoo_qwen3_bpe),
                                       cmocka_unit_test(hf_gpt2),        cmocka_unit_test(hf_llama3)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
