/* test_report.c - a result as JSON against docs/formats/result.md, read back, damaged; every allocation of
 * every report failing. */
#include "sample.h"
#include "json.h"
#include "view.h"

/* docs/formats/result.md as a table: key and what may stand there (s text, i integer, n number, b truth, o
 * object, a list; 0 = or null). */
static const struct {
    const char *key, *types;
} schema[] = {{"schema", "i"},
              {"model", "o"},
              {"method", "o"},
              {"prompt", "o"},
              {"target", "o"},
              {"versus", "o0"},
              {"top", "a"},
              {"baseline", "s"},
              {"value", "n"},
              {"baseline_value", "n0"},
              {"features", "a"},
              {"scores", "a"},
              {"sum", "n"},
              {"residual", "n0"},
              {"error_bound", "n0"},
              {"converged", "b"},
              {"evaluations", "o"},
              {"panels", "i"},
              {"noise_floor", "n"},
              {"samples", "i"},
              {"stochastic", "b"},
              {"tokens_run", "i"},
              {"tokens_plain", "i"},
              {"seconds", "n"},
              {"peak_bytes", "i"},
              {"predicted_peak_bytes", "i"},
              {"predicted_seconds", "n"},
              {"predicted_least_seconds", "n"},
              {"flops", "n"},
              {"device", "s"},
              {"mode", "s"},
              {"precision", "s"},
              {"precision_at", "a"},
              {"isa", "s"},
              {"threads", "i"},
              {"seed", "i"},
              {"version", "s"},
              {"warnings", "a"},
              {"request", "o"}},
  feature_schema[] = {{"text", "s"},  {"start", "i"},  {"end", "i"},     {"token_ids", "a"},
                      {"score", "n"}, {"error", "n0"}, {"message", "i0"}};

static bool fits(const asc_json *j, const char *types) {
    static const char of_type[] = {
        [ASC_JSON_NULL] = '0',   [ASC_JSON_BOOL] = 'b',  [ASC_JSON_INT] = 'i',   [ASC_JSON_REAL] = 'n',
        [ASC_JSON_STRING] = 's', [ASC_JSON_ARRAY] = 'a', [ASC_JSON_OBJECT] = 'o'};
    char c = of_type[asc_json_typeof(j)];
    return strchr(types, c) != NULL || (c == 'i' && strchr(types, 'n') != NULL);
}

static asc_json *parsed(asc_ctx *ctx, asc_text *t) {
    asc_json *j = NULL;
    asc_view v = asc_text_view(t);
    assert_ok(ctx, asc_text_status(t));
    assert_ok(ctx, asc_json_parse(ctx, v.ptr, v.len, &j));
    return j;
}

static void test_json_schema(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    sample s;
    (void)state;
    fill(&s);
    asc_text *t = text_of(ctx);
    asc_report_json(t, &s.rep);
    asc_json *j = parsed(ctx, t);
    void *iter = NULL;
    asc_view key;
    const asc_json *v;
    size_t i = 0;
    while (asc_json_next(j, &iter, &key, &v)) { /* the order is part of the format */
        assert_true(i < sizeof schema / sizeof *schema);
        assert_string_equal(key.ptr, schema[i].key);
        if (!fits(v, schema[i].types)) fail_msg("%s has another type than documented", key.ptr);
        i++;
    }
    assert_int_equal(i, sizeof schema / sizeof *schema);
    /* The page has the same keys in the same order, each in a row of its first table. */
    if (getenv("ASC_SOURCE_ROOT") != NULL) {
        char path[4096], row[64];
        snprintf(path, sizeof path, "%s/docs/formats/result.md", getenv("ASC_SOURCE_ROOT"));
        asc_text *doc = text_of(ctx);
        assert_ok(ctx, asc_text_read(doc, path, 1 << 20));
        const char *at = asc_text_view(doc).ptr;
        for (size_t k = 0; k < sizeof schema / sizeof *schema; k++) {
            snprintf(row, sizeof row, "\n| `%s` |", schema[k].key);
            at = strstr(at, row);
            if (at == NULL) fail_msg("%s is not in its place in %s", schema[k].key, path);
        }
        asc_text_destroy(doc);
    }
    const asc_json *features = asc_json_get(j, "features");
    assert_int_equal(asc_json_len(features), 3);
    for (size_t k = 0; k < sizeof feature_schema / sizeof *feature_schema; k++)
        assert_true(
            fits(asc_json_get(asc_json_at(features, 0), feature_schema[k].key), feature_schema[k].types));
    assert_int_equal(asc_json_typeof(asc_json_get(asc_json_at(features, 1), "error")), ASC_JSON_NULL);
    assert_int_equal(asc_json_typeof(asc_json_get(j, "error_bound")), ASC_JSON_NULL);
    assert_int_equal(asc_json_typeof(asc_json_get(j, "residual")),
                     ASC_JSON_NULL); /* ablation promises no sum */
    assert_true(asc_json_num(asc_json_get(asc_json_at(features, 2), "score"), 0) == 3e-7);
    asc_json_free(j);
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

/* "foob" and its prefixes in base64 are from RFC 4648, section 10. */
static void test_base64_of_bad_bytes(void **state) {
    static const char *const cases[][2] = {{"f\xff", "Zv8="}, {"\xff", "/w=="}, {"fo\xff", "Zm//"}};
    asc_ctx *ctx = test_ctx(NULL, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_text *t = text_of(ctx);
        asc_text_object(t, NULL);
        asc_text_bytes(t, "text", asc_view_of(cases[i][0]));
        asc_text_end(t);
        asc_json *j = parsed(ctx, t);
        assert_string_equal(asc_json_str(asc_json_get(j, "bytes_b64")).ptr, cases[i][1]);
        asc_json_free(j);
        asc_text_destroy(t);
    }
    asc_text *t = text_of(ctx);
    asc_text_object(t, NULL);
    asc_text_bytes(t, "text", asc_view_of("fine \xc3\xb6"));
    asc_text_end(t);
    assert_null(strstr(asc_text_view(t).ptr, "bytes_b64"));
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

static void test_read_back(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    sample s;
    asc_saved *b = NULL;
    (void)state;
    fill(&s);
    asc_text *t = text_of(ctx);
    asc_report_json(t, &s.rep);
    assert_ok(ctx, asc_saved_parse(ctx, asc_text_view(t), &b));
    assert_true(asc_view_eq(b->request.prompt, s.req.prompt)); /* the bad bytes too */
    assert_true(asc_view_eq(b->request.target, s.req.target));
    assert_null(b->request.prompt_ids);
    assert_null(b->request.method);
    assert_int_equal(b->request.features, ASC_FEATURES_TOKEN);
    assert_int_equal(b->request.baseline, ASC_BASELINE_TOKEN);
    assert_int_equal(b->request.baseline_token, 4);
    assert_true(b->request.tolerance == 0.02 && b->request.seed == 7);
    assert_int_equal(b->weights, ASC_WEIGHTS_STORED);
    assert_int_equal(b->n_features, 3);
    for (size_t i = 0; i < 3; i++) assert_true(b->scores[i] == s.scores[i]);
    assert_true(isnan(b->errors[1]) && b->errors[0] == 0.01);
    assert_memory_equal(b->prompt_ids, s.ids, sizeof s.ids);
    assert_string_equal(b->model_file, "dir/<m>.gguf");
    assert_int_equal(strlen(b->model_sha256), 64);
    asc_saved_destroy(ctx, b);
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

static void test_read_back_messages(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    sample s;
    asc_saved *b = NULL;
    asc_message m[2] = {{asc_view_of("system"), asc_view_of("be \xff kind")},
                        {asc_view_of("user"), asc_view_of("hi")}};
    (void)state;
    fill(&s);
    s.req.prompt = (asc_view){0};
    s.req.messages = m;
    s.req.n_messages = 2;
    asc_text *t = text_of(ctx);
    asc_report_json(t, &s.rep);
    assert_ok(ctx, asc_saved_parse(ctx, asc_text_view(t), &b));
    assert_int_equal(b->request.n_messages, 2);
    assert_true(asc_view_eq(b->request.messages[0].content, m[0].content));
    assert_true(asc_view_eqs(b->request.messages[1].role, "user"));
    assert_null(b->request.prompt.ptr);
    asc_saved_destroy(ctx, b);
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

/* Replaces the first `from` in a good file by `to`; the complaint must name `word`. */
static void test_damaged_files(void **state) {
    static const struct {
        const char *from, *to, *word;
        asc_status code;
    } cases[] = {{"{", "", "1", ASC_INVALID_ARGUMENT},
                 {"\"schema\": 1", "\"schema\": 2", "schema", ASC_UNIMPLEMENTED},
                 {"\"schema\"", "\"scheme\"", "schema", ASC_INVALID_ARGUMENT},
                 {"\"file\": \"dir/<m>.gguf\"", "\"file\": 3", "file", ASC_INVALID_ARGUMENT},
                 {"\"file\": \"dir/<m>.gguf\"", "\"file\": \"\"", "file", ASC_INVALID_ARGUMENT},
                 {"\"ids\": [5", "\"ids\": [-5", "ids", ASC_INVALID_ARGUMENT},
                 {"\"ids\": [5", "\"ids\": [5000000000", "ids", ASC_INVALID_ARGUMENT},
                 {"\"ids\": [5", "\"idz\": [5", "ids", ASC_INVALID_ARGUMENT},
                 {"\"features\": [{", "\"feature\": [{", "features", ASC_INVALID_ARGUMENT},
                 {"\"features\": \"token\",\n    \"output\"", "\"features\": \"letter\",\n    \"output\"",
                  "features", ASC_INVALID_ARGUMENT},
                 {"\"output\": \"logprob\",\n    \"baseline\"", "\"output\": 1,\n    \"baseline\"", "output",
                  ASC_INVALID_ARGUMENT},
                 {"\"baseline\": \"token\"", "\"baseline\": \"none\"", "baseline", ASC_INVALID_ARGUMENT},
                 {"\"baseline_token\": 4", "\"baseline_token\": -4", "baseline_token", ASC_INVALID_ARGUMENT},
                 {"\"steps\": 0", "\"steps\": -1", "steps", ASC_INVALID_ARGUMENT},
                 {"\"tolerance\": 0.02", "\"tolerance\": -1", "tolerance", ASC_INVALID_ARGUMENT},
                 {"\"method\": null", "\"method\": []", "method", ASC_INVALID_ARGUMENT},
                 {"\"request\"", "\"requests\"", "request", ASC_INVALID_ARGUMENT}};
    asc_ctx *ctx = test_ctx(NULL, NULL);
    sample s;
    (void)state;
    fill(&s);
    asc_text *good = text_of(ctx);
    asc_report_json(good, &s.rep);
    const char *text = asc_text_view(good).ptr;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_saved *b = NULL;
        const char *at = strstr(text, cases[i].from);
        if (at == NULL) fail_msg("case %zu: nothing to damage", i);
        asc_text *bad = text_of(ctx);
        asc_text_add(bad, asc_view_make(text, (size_t)(at - text)));
        asc_text_adds(bad, cases[i].to);
        asc_text_adds(bad, at + strlen(cases[i].from));
        asc_status st = asc_saved_parse(ctx, asc_text_view(bad), &b);
        if (st != cases[i].code) fail_msg("case %zu (%s): %s", i, cases[i].to, asc_status_name(st));
        if (strstr(asc_error_message(ctx), cases[i].word) == NULL)
            fail_msg("case %zu: %s", i, asc_error_message(ctx));
        assert_null(b);
        asc_text_destroy(bad);
    }
    for (size_t n = 0; n + 1 < strlen(text); n += 7) { /* cut short anywhere: more than the last line's end */
        asc_saved *b = NULL;
        assert_int_not_equal(asc_saved_parse(ctx, asc_view_make(text, n), &b), ASC_OK);
        assert_null(b);
    }
    asc_text_destroy(good);
    test_ctx_end(ctx);
}

/* Every allocation of every report and of reading back fails once; nothing leaks and the error is told. */
static void test_no_memory(void **state) {
    sample s;
    (void)state;
    fill(&s);
    for (int what = 0; what < 4; what++) {
        bool done = false;
        for (long fail = 1; !done; fail++) {
            test_alloc a = {.fail_at = fail};
            asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a};
            asc_ctx *ctx = NULL;
            asc_text *t = NULL;
            asc_saved *b = NULL;
            if (asc_ctx_create_base(&o, &ctx) != ASC_OK) continue;
            asc_status st = asc_text_create(ctx, &t);
            if (st == ASC_OK) {
                asc_report_style style = {.struct_size = sizeof style, .colours = ASC_COLOURS_RGB};
                if (what == 0 || what == 3) asc_report_json(t, &s.rep);
                if (what == 1) asc_report_text(t, &s.rep, &style);
                if (what == 2) asc_report_html(ctx, t, &s.rep);
                st = asc_text_status(t);
                if (st == ASC_OK && what == 3) st = asc_saved_parse(ctx, asc_text_view(t), &b);
            }
            done = st == ASC_OK && a.count < fail;
            if (!done && a.count >= fail && st != ASC_RESOURCE_EXHAUSTED)
                fail_msg("report %d, allocation %ld: %s", what, fail, asc_status_name(st));
            asc_saved_destroy(ctx, b);
            asc_text_destroy(t);
            assert_int_equal(ctx->mem.live_allocs, 0);
            asc_ctx_destroy(ctx);
            assert_int_equal(a.live, 0);
            assert_true(fail < 20000);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_schema),   cmocka_unit_test(test_base64_of_bad_bytes),
        cmocka_unit_test(test_read_back),     cmocka_unit_test(test_read_back_messages),
        cmocka_unit_test(test_damaged_files), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
