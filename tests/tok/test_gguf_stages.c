/* test_gguf_stages.c - vocabularies of model bert, t5 and gemma4 in GGUF files: ids of Hugging Face
 * tokenizers, what the file says about special tokens, files that lie, and every allocation failing in turn.
 */
#include "gguf_vocab.h"
#include "golden_line.h"

static asc_status open_stages(asc_ctx *ctx, const char *model, asc_tokenizer **out) {
    char rel[64];
    asc_gguf *g = NULL;
    *out = NULL;
    snprintf(rel, sizeof rel, "tok/stages_%s.gguf", model);
    asc_status st = asc_gguf_open(ctx, test_data(rel), &g);
    if (st == ASC_OK) st = asc_tokenizer_from_gguf(ctx, g, out);
    asc_gguf_close(ctx, g);
    return st;
}

static void against_tokenizers(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char *file = NULL, model[16] = "";
    size_t len = 0, count = 0, bad = 0;
    asc_tokenizer *tk = NULL;
    assert_ok(ctx, asc_file_read(ctx, test_data("tok/stages.jsonl"), 1 << 20, &file, &len));
    asc_view rest = {file, len};
    for (asc_json *c; (c = golden_next(ctx, &rest)) != NULL; count++) {
        asc_view name = asc_json_str(asc_json_get(c, "model")), text = asc_json_str(asc_json_get(c, "text"));
        const asc_json *want = asc_json_get(c, "ids");
        asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = true, .add_bos_eos = true};
        asc_token *t = NULL;
        size_t n = 0;
        if (!asc_view_eqs(name, model)) {
            snprintf(model, sizeof model, ASC_VIEW_FMT, ASC_VIEW_ARG(name));
            asc_tokenizer_destroy(tk);
            assert_ok(ctx, open_stages(ctx, model, &tk));
        }
        assert_ok(ctx, asc_tokenize(ctx, tk, text, &o, &t, &n));
        if (!golden_ids_equal(want, t, n)) golden_print(text.ptr, want, t, n), bad++;
        asc_tokens_free(ctx, t);
        asc_json_free(c);
    }
    assert_true(count > 40);
    assert_int_equal(bad, 0);
    asc_tokenizer_destroy(tk);
    asc_free(ctx, file);
    test_ctx_end(ctx);
}

static void special_tokens(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_tokenizer *tk = NULL;
    assert_ok(ctx, open_stages(ctx, "bert", &tk));
    asc_tokenizer_info f = asc_tokenizer_get_info(tk);
    assert_string_equal(f.model, "bert");
    assert_int_equal(f.cls, 2);
    assert_int_equal(f.sep, 3);
    assert_int_equal(f.mask, 4);
    assert_int_equal(f.pad, 0);
    assert_true(f.add_bos && f.add_eos);
    /* text does not become structure unless asked for */
    asc_token *t = NULL;
    size_t n = 0;
    assert_ok(ctx, asc_tokenize(ctx, tk, asc_view_of("[SEP]"), NULL, &t, &n));
    for (size_t i = 0; i < n; i++) assert_int_not_equal(t[i].id, 3);
    asc_tokens_free(ctx, t);
    asc_tokenizer_destroy(tk);
    assert_ok(ctx, open_stages(ctx, "gemma4", &tk));
    f = asc_tokenizer_get_info(tk);
    assert_true(f.add_bos && !f.add_eos && f.bos == 2 && f.eos == 1 && f.unk == 3);
    assert_ok(ctx, asc_tokenize(ctx, tk, asc_view_of("a \xF0\x9F\x99\x82"), NULL, &t, &n));
    int32_t ids[16];
    char *text = NULL;
    size_t len = 0;
    assert_true(n <= 16);
    for (size_t i = 0; i < n; i++) ids[i] = t[i].id;
    assert_ok(ctx, asc_detokenize(ctx, tk, ids, n, false, &text, &len));
    assert_true(asc_view_eqs((asc_view){text, len}, "a \xF0\x9F\x99\x82"));
    asc_tokens_free(ctx, text);
    asc_tokens_free(ctx, t);
    asc_tokenizer_destroy(tk);
    test_ctx_end(ctx);
}

/* Replaces the first occurrence of a key in the file by another of the same length. */
static void lies(void **state) {
    (void)state;
    static const struct {
        const char *model, *key, *other, *says;
    } rows[] = {{"bert", "tokenizer.ggml.tokens", "tokenizer.ggml.tokenz", "tokenizer.ggml.tokens"},
                {"t5", "tokenizer.ggml.scores", "tokenizer.ggml.scorez", "tokenizer.ggml.scores"},
                {"gemma4", "tokenizer.ggml.merges", "tokenizer.ggml.mergez", "tokenizer.ggml.merges"},
                {"bert", "\x81hello", "\x81hell\xFF", "tokens[5] is not valid UTF-8"},
                {"gemma4", "ab ab", "ab zz", "model"}};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char rel[64], *file = NULL;
        size_t len = 0;
        asc_gguf *g = NULL;
        asc_tokenizer *tk = NULL;
        snprintf(rel, sizeof rel, "tok/stages_%s.gguf", rows[i].model);
        assert_ok(ctx, asc_file_read(ctx, test_data(rel), 1 << 20, &file, &len));
        char *hit = memmem(file, len, rows[i].key, strlen(rows[i].key));
        assert_non_null(hit);
        memcpy(hit, rows[i].other, strlen(rows[i].other));
        assert_ok(ctx, asc_gguf_parse(ctx, file, len, &g));
        assert_int_equal(asc_tokenizer_from_gguf(ctx, g, &tk), ASC_INVALID_ARGUMENT);
        if (strstr(asc_error_message(ctx), rows[i].says) == NULL) fail_msg("%s", asc_error_message(ctx));
        asc_gguf_close(ctx, g);
        asc_free(ctx, file);
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_tokenizers), cmocka_unit_test(special_tokens),
                                       cmocka_unit_test(lies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
