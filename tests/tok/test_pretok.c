/* test_pretok.c - pre-tokenizers by pattern against the cuts of Hugging Face tokenizers; every name of the
 * table compiles; pieces of any bytes tile. */
#include "golden_line.h"
#include "pretok.h"
#include "unicode.h"

/* Ends of the pieces of a text; returns how many. */
static size_t cut(asc_ctx *ctx, const asc_pretok *pre, const asc_pretok_patterns *p, asc_view text,
                  size_t *ends, size_t most) {
    size_t n = 0;
    if (pre->next != NULL) {
        asc_scan scan = {text.ptr, text.len, 0};
        for (size_t pos = 0; pos < text.len && n < most;) ends[n++] = pos = pre->next(&scan, pos);
        return n;
    }
    asc_cuts cuts = {.ctx = ctx};
    assert_ok(ctx, asc_pretok_cut(ctx, p, text, (asc_span){0, text.len}, &cuts));
    for (size_t i = 0; i < cuts.n && n < most; i++) {
        assert_int_equal(cuts.v[i].start, n > 0 ? ends[n - 1] : 0);
        assert_true(cuts.v[i].end > cuts.v[i].start);
        ends[n++] = cuts.v[i].end;
    }
    asc_free(ctx, cuts.v);
    return n;
}

static void against_tokenizers(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char *file = NULL;
    size_t len = 0, count = 0, bad = 0, ends[512];
    assert_ok(ctx, asc_file_read(ctx, test_data("tok/pretok_cuts.jsonl"), 1 << 24, &file, &len));
    asc_view rest = {file, len};
    for (asc_json *c; (c = golden_next(ctx, &rest)) != NULL; count++) {
        asc_view name = asc_json_str(asc_json_get(c, "pre")), text = asc_json_str(asc_json_get(c, "text"));
        const asc_json *want = asc_json_get(c, "ends");
        const asc_pretok *pre = asc_pretok_find(name);
        asc_pretok_patterns p;
        assert_non_null(pre);
        assert_ok(ctx, asc_pretok_compile(ctx, pre, &p));
        size_t n = cut(ctx, pre, &p, text, ends, 512);
        bool same = n == asc_json_len(want);
        for (size_t i = 0; same && i < n; i++)
            same = asc_json_int(asc_json_at(want, i), -1) == (int64_t)ends[i];
        if (!same) {
            bad++;
            fprintf(stderr, ASC_VIEW_FMT ": cuts differ: '" ASC_VIEW_FMT "'\n", ASC_VIEW_ARG(name),
                    ASC_VIEW_ARG(text));
        }
        asc_pretok_patterns_deinit(ctx, &p);
        asc_json_free(c);
    }
    assert_true(count > 800);
    assert_int_equal(bad, 0);
    asc_free(ctx, file);
    test_ctx_end(ctx);
}

static void all_names_on_any_bytes(void **state) {
    (void)state;
    static const char *const names[] = {
        "smollm",      "gpt-2",         "llama-bpe",   "qwen2",        "starcoder", "refact",
        "command-r",   "falcon",        "mpt",         "olmo",         "stablelm2", "dbrx",
        "glm4",        "minicpm5",      "jais-2",      "ufakzeka",     "laguna",    "qwen35",
        "seed-coder",  "bailingmoe",    "exaone-moe",  "gpt-4o",       "llama4",    "tiny_aya",
        "tekken",      "kimi-k2",       "youtu",       "deepseek-llm", "spark2_5",  "deepseek-coder",
        "deepseek-v3", "bloom",         "viking",      "superbpe",     "chameleon", "cohere2moe",
        "minimax-m2",  "hunyuan-dense", "roberta-bpe", "modern-bert"};
    static const char text[] = "ab\xFF \xE4\xB8 \xE4\xB8\xAD"
                               "12345\xF0\x9F\x98\x80 <sentinel:3> x\xC3\n\n\xED\xA0\x80 don't";
    asc_ctx *ctx = test_ctx("cpu", NULL);
    size_t ends[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const asc_pretok *pre = asc_pretok_find(asc_view_of(names[i]));
        asc_pretok_patterns p;
        if (pre == NULL) fail_msg("%s", names[i]);
        assert_ok(ctx, asc_pretok_compile(ctx, pre, &p));
        size_t n = cut(ctx, pre, &p, (asc_view){text, sizeof text - 1}, ends, 128);
        assert_true(n > 0);
        assert_int_equal(ends[n - 1], sizeof text - 1);
        asc_pretok_patterns_deinit(ctx, &p);
    }
    assert_null(asc_pretok_find(asc_view_of("afmoe")));
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_tokenizers),
                                       cmocka_unit_test(all_names_on_any_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
