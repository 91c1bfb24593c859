/* test_tokenizer_json.c - tokenizer.json files with every component against the program that defines them
 * (tests/data/tok/tokenizer_json.jsonl, scripts/refs/tokenizer_cases.py): all exact. */
#include "golden_line.h"
#include "tokenizer_json.h"

static long checked, bad;

static void expect(bool ok, const char *file, asc_view text, const char *what) {
    checked++;
    if (ok) return;
    if (bad++ < 10) fprintf(stderr, "%s: '%.*s': %s\n", file, (int)text.len, text.ptr, what);
}

static bool ints(const asc_json *want, const int32_t *v, const uint8_t *bytes, size_t n) {
    bool ok = asc_json_len(want) == n;
    for (size_t i = 0; ok && i < n; i++)
        ok = asc_json_int(asc_json_at(want, i), -1) == (v != NULL ? v[i] : (int32_t)bytes[i]);
    return ok;
}

static void compare(asc_ctx *ctx, const asc_tokenizer *tk, const char *file, const asc_json *c) {
    asc_view a = asc_json_str(asc_json_get(c, "text")), b = asc_json_str(asc_json_get(c, "pair"));
    asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = true, .add_bos_eos = true};
    asc_encoding e;
    assert_ok(ctx, asc_encode(ctx, tk, a, b.ptr != NULL ? &b : NULL, &o, &e));
    const asc_json *tokens = asc_json_get(c, "tokens"), *spans = asc_json_get(c, "offsets_bytes");
    expect(ints(asc_json_get(c, "ids"), e.ids, NULL, e.n), file, a, "ids");
    expect(ints(asc_json_get(c, "type_ids"), e.type_ids, NULL, e.n), file, a, "type_ids");
    expect(ints(asc_json_get(c, "special_mask"), NULL, e.special, e.n), file, a, "special_mask");
    bool same = asc_json_len(tokens) == e.n, where = same;
    for (size_t i = 0; i < e.n && same; i++) {
        same = asc_view_eq(asc_json_str(asc_json_at(tokens, i)), e.names[i]);
        const asc_json *w = asc_json_at(spans, i);
        where &= asc_json_int(asc_json_at(w, 0), -1) == (int64_t)e.spans[i].start &&
                 asc_json_int(asc_json_at(w, 1), -1) == (int64_t)e.spans[i].end;
    }
    expect(same, file, a, "tokens");
    expect(where, file, a, "offsets");
    for (int special = 0; special < 2; special++) {
        char *got = NULL;
        size_t len = 0;
        assert_ok(ctx, asc_detokenize(ctx, tk, e.ids, e.n, special == 1, &got, &len));
        asc_view want = asc_json_str(asc_json_get(c, special == 1 ? "decoded_with_special" : "decoded"));
        expect(asc_view_eq(want, (asc_view){got, len}), file, a,
               special == 1 ? "decoded_with_special" : "decoded");
        asc_tokens_free(ctx, got);
    }
    if (b.ptr == NULL) { /* the same ids, with ranges that tile */
        asc_token *t = NULL;
        size_t n = 0;
        assert_ok(ctx, asc_tokenize(ctx, tk, a, &o, &t, &n));
        expect(golden_ids_equal(asc_json_get(c, "ids"), t, n), file, a, "ids of asc_tokenize");
        assert_tiles(t, n, a.len);
        asc_tokens_free(ctx, t);
    }
    asc_encoding_free(ctx, &e);
    o.add_bos_eos = false;
    assert_ok(ctx, asc_encode(ctx, tk, a, b.ptr != NULL ? &b : NULL, &o, &e));
    expect(ints(asc_json_get(c, "ids_without_special"), e.ids, NULL, e.n), file, a, "ids_without_special");
    asc_encoding_free(ctx, &e);
}

static void every_component(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char *text = NULL;
    size_t len = 0, files = 0;
    assert_ok(ctx, asc_file_read(ctx, test_data("tok/tokenizer_json.jsonl"), 1 << 24, &text, &len));
    asc_view rest = {text, len};
    for (asc_json *j; (j = golden_next(ctx, &rest)) != NULL; files++) {
        const char *name = asc_json_str(asc_json_get(j, "name")).ptr;
        const asc_json *cases = asc_json_get(j, "cases");
        asc_tokenizer *tk = NULL;
        assert_ok(ctx, asc_tokenizer_from_json(ctx, asc_json_str(asc_json_get(j, "tokenizer")), name, &tk));
        assert_true(asc_json_len(cases) > 20);
        for (size_t i = 0; i < asc_json_len(cases); i++) compare(ctx, tk, name, asc_json_at(cases, i));
        asc_tokenizer_destroy(tk);
        asc_json_free(j);
    }
    assert_true(files >= 30 && checked > 4000);
    assert_int_equal(bad, 0);
    asc_free(ctx, text);
    test_ctx_end(ctx);
}

/* Two steps that both add special tokens (scripts/refs/post_step_cases.py). Which of the inner ones count as
 * special, and to which text they belong, that program forgets: here all are special and belong to none. */
static void steps_behind_steps(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char *text = NULL;
    size_t len = 0, files = 0;
    const long before = bad;
    assert_ok(ctx, asc_file_read(ctx, test_data("tok/post_steps.jsonl"), 1 << 20, &text, &len));
    asc_view rest = {text, len};
    for (asc_json *j; (j = golden_next(ctx, &rest)) != NULL; files++) {
        const char *name = asc_json_str(asc_json_get(j, "name")).ptr;
        asc_tokenizer *tk = NULL;
        assert_ok(ctx, asc_tokenizer_from_json(ctx, asc_json_str(asc_json_get(j, "tokenizer")), name, &tk));
        for (size_t i = 0; i < 2; i++) {
            const asc_json *c = asc_json_at(asc_json_get(j, "cases"), i);
            asc_view a = asc_json_str(asc_json_get(c, "text")), b = asc_json_str(asc_json_get(c, "pair"));
            asc_tokenize_options o = {.struct_size = sizeof o, .parse_special = true};
            for (int special = 0; special < 2; special++) {
                asc_encoding e;
                o.add_bos_eos = special == 1;
                assert_ok(ctx, asc_encode(ctx, tk, a, b.ptr != NULL ? &b : NULL, &o, &e));
                if (special == 1) expect(ints(asc_json_get(c, "ids"), e.ids, NULL, e.n), name, a, "ids");
                expect(ints(asc_json_get(c, special == 1 ? "type_ids" : "plain_type_ids"), e.type_ids, NULL,
                            e.n),
                       name, a, special == 1 ? "type_ids" : "plain_type_ids");
                for (size_t k = 0; k < e.n; k++)
                    expect((e.special[k] != 0) == (e.ids[k] > 2), name, a, "special");
                asc_encoding_free(ctx, &e);
            }
        }
        asc_tokenizer_destroy(tk);
        asc_json_free(j);
    }
    assert_int_equal(files, 9);
    assert_int_equal(bad, before);
    asc_free(ctx, text);
    test_ctx_end(ctx);
}

/* A word-level tokenizer: ids are easy to read. */
static asc_tokenizer *words(asc_ctx *ctx, const char *pre, const char *more) {
    char json[4096];
    asc_tokenizer *tk = NULL;
    snprintf(json, sizeof json,
             "{\"added_tokens\":[{\"id\":0,\"content\":\"<unk>\",\"special\":true},"
             "{\"id\":3,\"content\":\"<s>\",\"special\":true},{\"id\":9,\"content\":\"<tool>\"}],"
             "\"pre_tokenizer\":%s,\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"<unk>\",\"vocab\":"
             "{\"<unk>\":0,\"a\":1,\"b\":2,\"<s>\":3,\"\xE2\x96\x81"
             "a\":4}}%s}",
             pre, more);
    assert_ok(ctx, asc_tokenizer_from_json(ctx, asc_view_of(json), "words", &tk));
    return tk;
}

static void expect_ids(asc_ctx *ctx, const asc_tokenizer *tk, const char *text, const asc_tokenize_options *o,
                       const char *want) {
    asc_token *t = NULL;
    size_t n = 0, at = 0;
    char got[256] = "";
    assert_ok(ctx, asc_tokenize(ctx, tk, asc_view_of(text), o, &t, &n));
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(got + at, sizeof got - at, i > 0 ? " %d" : "%d", t[i].id);
    assert_string_equal(got, want);
    assert_tiles(t, n, strlen(text));
    asc_tokens_free(ctx, t);
}

static void special_only_when_asked(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_tokenizer *tk = words(ctx, "{\"type\":\"WhitespaceSplit\"}", "");
    asc_tokenize_options o = {.struct_size = sizeof o};
    assert_int_equal(asc_token_get_type(tk, 3), ASC_TOKEN_CONTROL);
    assert_int_equal(asc_token_get_type(tk, 5), ASC_TOKEN_USER_DEFINED); /* the file says 9, but 5 is next */
    /* The vocabulary has "<s>" as a word; ordinary text is not that token all the same. */
    expect_ids(ctx, tk, "a <s> b<tool>", &o, "1 0 2 5");
    o.parse_special = true;
    expect_ids(ctx, tk, "a <s> b<tool>", &o, "1 3 2 5");
    const asc_span plain = {0, 8};
    o.plain = &plain;
    o.n_plain = 1;
    expect_ids(ctx, tk, "a <s> b <s>", &o, "1 0 2 3");
    assert_int_equal(asc_tokenizer_get_info(tk).n_vocab, 6);
    assert_ok(ctx, asc_tokenizer_json_rows(ctx, tk, 12));
    assert_int_equal(asc_tokenizer_get_info(tk).n_vocab, 12);
    assert_int_equal(asc_token_get_type(tk, 11), ASC_TOKEN_UNUSED);
    const int32_t ids[] = {1, 11, 3};
    char *text = NULL;
    size_t len = 0;
    assert_ok(ctx, asc_detokenize(ctx, tk, ids, 3, false, &text, &len));
    assert_string_equal(text, "a");
    asc_tokens_free(ctx, text);
    asc_tokenizer_destroy(tk);
    test_ctx_end(ctx);
}

static void prefixes_and_roles(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_tokenizer *tk =
        words(ctx, "{\"type\":\"Metaspace\",\"replacement\":\"\xE2\x96\x81\",\"prepend_scheme\":\"always\"}",
              ",\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"<s>\",3],\"sep\":[\"b\",2]},"
              "\"padding\":{\"pad_token\":\"b\"}");
    asc_tokenize_options o = {.struct_size = sizeof o};
    expect_ids(ctx, tk, "a", &o, "4");
    o.continues = true; /* no mark before it */
    expect_ids(ctx, tk, "a", &o, "1");
    expect_ids(ctx, tk, "a a", &o, "1 4");
    o.add_bos_eos = true;
    expect_ids(ctx, tk, "a", &o, "3 1 2");
    expect_ids(ctx, tk, "", &o, "3 2");
    asc_tokenizer_info f = asc_tokenizer_get_info(tk);
    assert_true(f.add_bos && f.add_eos && f.add_space_prefix);
    assert_true(f.bos == 3 && f.cls == 3 && f.eos == 2 && f.sep == 2 && f.pad == 2 && f.unk == 0 &&
                f.mask == -1);
    assert_string_equal(f.model, "wordlevel");
    assert_ok(ctx,
              asc_tokenizer_json_config(ctx, tk,
                                        asc_view_of("{\"bos_token\":\"a\",\"mask_token\":{\"content\":\"b\"},"
                                                    "\"eos_token\":\"nowhere\",\"pad_token\":null}"),
                                        "config"));
    f = asc_tokenizer_get_info(tk);
    assert_true(f.bos == 1 && f.mask == 2 && f.eos == 2 && f.pad == 2);
    assert_true(asc_view_eqs(asc_token_piece(tk, 4), " a"));
    assert_true(asc_view_eqs(asc_token_name(tk, 4), "\xE2\x96\x81"
                                                    "a"));
    assert_int_equal(asc_token_find(tk, asc_view_of(" a")), 4);
    asc_tokenizer_destroy(tk);
    test_ctx_end(ctx);
}

/* What is not UTF-8 counts as U+FFFD; ranges still tile the bytes, and pairs of texts are refused with plain
 * spans. */
static void invalid_bytes(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_tokenizer *tk = words(ctx, "{\"type\":\"FixedLength\",\"length\":1}", "");
    asc_tokenize_options o = {.struct_size = sizeof o};
    expect_ids(ctx, tk,
               "a\xFF\xE2\x82"
               "b",
               &o, "1 0 0 2");
    asc_encoding e;
    assert_ok(ctx, asc_encode(ctx, tk,
                              asc_view_of("\xE2\x82"
                                          "b"),
                              NULL, &o, &e));
    assert_true(e.n == 2 && e.spans[0].start == 0 && e.spans[0].end == 2 && e.spans[1].start == 2 &&
                e.spans[1].end == 3);
    asc_encoding_free(ctx, &e);
    const asc_span plain = {0, 1};
    asc_view b = asc_view_of("b");
    o.plain = &plain;
    o.n_plain = 1;
    assert_int_equal(asc_encode(ctx, tk, b, &b, &o, &e), ASC_INVALID_ARGUMENT);
    assert_null(e.ids);
    asc_tokenizer_destroy(tk);
    test_ctx_end(ctx);
}

static void hostile_pattern(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_tokenizer *tk = words(
        ctx, "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a|aa)+[x-z]\"},\"behavior\":\"Isolated\"}", "");
    asc_token *t = NULL;
    size_t n = 0;
    char text[65];
    memset(text, 'a', 64);
    text[64] = '\0';
    assert_int_equal(asc_tokenize(ctx, tk, asc_view_of(text), NULL, &t, &n), ASC_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(asc_error_message(ctx), "regular expression"));
    assert_null(t);
    asc_tokenizer_destroy(tk);
    test_ctx_end(ctx);
}

/* The n-th allocation fails, for every n: an error, and nothing is left behind. */
static void out_of_memory(void **state) {
    (void)state;
    static const char json[] = "{\"added_tokens\":[{\"id\":4,\"content\":\"<s>\",\"special\":true},{\"id\":5,"
                               "\"content\":\"X\",\"normalized\":true}],"
                               "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{"
                               "\"type\":\"Replace\",\"pattern\":{\"String\":"
                               "\"z\"},\"content\":\"a\"},{\"type\":\"Prepend\",\"prepend\":\"a\"}]},\"pre_"
                               "tokenizer\":{\"type\":\"ByteLevel\"},\"post_processor\":{\"type\":"
                               "\"RobertaProcessing\",\"cls\":[\"a\",1],\"sep\":[\"b\",2]},\"decoder\":{"
                               "\"type\":\"Sequence\",\"decoders\":[{\"type\":"
                               "\"WordPiece\"},{\"type\":\"ByteLevel\"}]},\"model\":{\"type\":\"BPE\",\"unk_"
                               "token\":\"u\",\"vocab\":{\"u\":0,\"a\":1,\"b\":2,"
                               "\"ab\":3},\"merges\":[\"a b\"]}}";
    for (long at = 1;; at++) {
        test_alloc a = {.fail_at = at};
        asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a};
        asc_ctx *ctx = NULL;
        asc_tokenizer *tk = NULL;
        asc_encoding e = {0};
        char *text = NULL;
        size_t len = 0;
        asc_view b = asc_view_of("ba");
        if (asc_ctx_create_base(&o, &ctx) != ASC_OK) continue;
        asc_status st = asc_tokenizer_from_json(ctx, asc_view_of(json), "t", &tk);
        if (st == ASC_OK) st = asc_encode(ctx, tk, asc_view_of("ab z\xC3\xA9X<s>"), &b, NULL, &e);
        if (st == ASC_OK) st = asc_detokenize(ctx, tk, e.ids, e.n, true, &text, &len);
        assert_true(st == ASC_OK || st == ASC_RESOURCE_EXHAUSTED);
        asc_tokens_free(ctx, text);
        asc_encoding_free(ctx, &e);
        asc_tokenizer_destroy(tk);
        assert_int_equal(asc_memory(ctx).live_allocs, 0);
        asc_ctx_destroy(ctx);
        assert_int_equal(a.live, 0);
        if (a.count < at) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_component),
                                       cmocka_unit_test(steps_behind_steps),
                                       cmocka_unit_test(special_only_when_asked),
                                       cmocka_unit_test(prefixes_and_roles),
                                       cmocka_unit_test(invalid_bytes),
                                       cmocka_unit_test(hostile_pattern),
                                       cmocka_unit_test(out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
