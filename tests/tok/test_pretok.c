/* test_pretok.c - pre-tokenizers by pattern against the cuts of Hugging Face tokenizers; every name of the
 * table compiles; pieces of any bytes tile. */
#include "golden_line.h"
#include "digit_groups.h"
#include "pretok.h"
#include "unicode.h"

/* Ends of the pieces of a text; returns how many. */
static size_t cut(asc_ctx *ctx, const asc_pretok *pre, const asc_pretok_patterns *p, asc_view text,
                  size_t *ends, size_t most) {
    size_t n = 0;
    if (pre->next != NULL) {
        asc_scan scan = {.text = text.ptr, .end = text.len};
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

/* A scanner against the pattern that it stands for, run by Oniguruma. */
static void jais2_as_its_pattern(void **state) {
    static const char pattern[] =
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
        "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
        "\\s*[\\r\\n]+|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|"
        "\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s";
    static const char *const parts[] = {" ", " ", " ", "  ", "\n", "\t", "\r\n", "\xE3\x80\x80",
                                        "a", "B", "1", ".",  "'s"};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    const asc_pretok *pre = asc_pretok_find(asc_view_of("jais-2"));
    asc_pretok_patterns none = {0}, p = {.n = 1};
    static size_t ends[4096], want[4096];
    static char text[8192];
    asc_cuts cuts = {.ctx = ctx};
    uint32_t seed = 1;
    (void)state;
    assert_ok(ctx, asc_pattern_create(ctx, asc_view_of(pattern), true, &p.v[0]));
    for (int round = 0; round < 3000; round++) {
        size_t len = 0, n_parts = 1 + (size_t)round % 60, n_want = 0;
        for (size_t i = 0; i < n_parts; i++) {
            seed = seed * 1664525u + 1013904223u;
            const char *part = parts[(seed >> 8) % (sizeof parts / sizeof *parts)];
            const size_t times =
                round % 7 == 0 && part[0] == ' ' ? (seed >> 20) % 700 : 1; /* long white space */
            for (size_t k = 0; k < times && len + 8 < sizeof text; k++) {
                memcpy(text + len, part, strlen(part));
                len += strlen(part);
            }
        }
        if (len == 0) continue;
        size_t n = cut(ctx, pre, &none, (asc_view){text, len}, ends, 4096);
        assert_ok(ctx, asc_pattern_cut(ctx, p.v[0], (asc_view){text, len}, &cuts));
        for (size_t i = 0; i < cuts.n; i++)
            if (cuts.v[i].end > cuts.v[i].start) want[n_want++] = cuts.v[i].end;
        if (n != n_want || memcmp(ends, want, n * sizeof *ends) != 0)
            fail_msg("round %d: other cuts of '%.*s'", round, (int)len, text);
    }
    asc_free(ctx, cuts.v);
    asc_pretok_patterns_deinit(ctx, &p);
    test_ctx_end(ctx);
}

/* Long white space is looked at a few times at most, however long: counted, not timed. */
static void steps(void **state) {
    static const char *const names[] = {"smollm", "gpt-2", "llama-bpe", "qwen2", "jais-2"};
    static const char *const units[] = {" ", "\n", "\t ", " \n", "a", "1", ".", " a"};
    enum { LEN = 200000, MOST = 8 };
    char *text = malloc(LEN);
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            const size_t unit = strlen(units[u]);
            for (size_t b = 0; b + 1 < LEN; b++) text[b] = units[u][b % unit];
            text[LEN - 1] = 'x';
            asc_scan scan = {.text = text, .end = LEN};
            for (size_t pos = 0; pos < LEN;) pos = asc_pretok_find(asc_view_of(names[i]))->next(&scan, pos);
            if (scan.n_looks > (size_t)MOST * LEN)
                fail_msg("%s, '%s': %zu characters looked at of %d", names[i], units[u], scan.n_looks, LEN);
        }
    }
    free(text);
}

static const char *const digit_patterns[] = {"\\d{1,3}(?=(?:\\d{3})*\\b)",
                                             "\\d{1,3}(?=(\\d{3})*\\b)",
                                             "[0-9]{1,3}(?=(?:[0-9]{3})*\\b)",
                                             "\\p{Nd}{1,3}(?=(?:\\p{Nd}{3})*\\b)",
                                             "\\p{N}{1,3}(?=(?:\\p{N}{3})*(?!\\p{N}))",
                                             "\\d{1,3}(?=(\\d{3})*(?!\\d))",
                                             "(?=(\\d{3})+(?!\\d))",
                                             "(?=(?:\\p{N}{3})+(?!\\p{N}))",
                                             "(?=([0-9]{3})+(?![0-9]))"};

/* Patterns that count digits in threes against themselves, run by Oniguruma: "(?:)" in front changes nothing
 * but that they are not known. */
static void digits_as_their_patterns(void **state) {
    (void)state;
    static const char *const parts[] = {
        "1",        "23",      "456", "7890", " ", "a", "_", ".", "\xD9\xA3" /* Nd */, "\xC2\xB2" /* No */,
        "\xC3\xA9", "\xCC\x81" /* Mn */};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_cuts a = {.ctx = ctx}, b = {.ctx = ctx};
    uint32_t seed = 7;
    for (size_t i = 0; i < sizeof digit_patterns / sizeof *digit_patterns; i++) {
        char longer[96], run[64];
        asc_pattern *fast = NULL, *plain = NULL;
        snprintf(longer, sizeof longer, "(?:)%s", digit_patterns[i]);
        assert_true(asc_digit_groups_of(asc_view_of(digit_patterns[i]), run) != ASC_DIGITS_NONE);
        assert_true(asc_digit_groups_of(asc_view_of(longer), run) == ASC_DIGITS_NONE);
        assert_ok(ctx, asc_pattern_create(ctx, asc_view_of(digit_patterns[i]), true, &fast));
        assert_ok(ctx, asc_pattern_create(ctx, asc_view_of(longer), true, &plain));
        for (int k = 0; k < 400; k++) {
            char text[128];
            size_t len = 0;
            for (int w = 0; w < 1 + k % 20; w++) {
                seed = seed * 1664525u + 1013904223u;
                const char *part = parts[(seed >> 16) % (sizeof parts / sizeof *parts)];
                memcpy(text + len, part, strlen(part));
                len += strlen(part);
            }
            assert_ok(ctx, asc_pattern_cut(ctx, fast, (asc_view){text, len}, &a));
            assert_ok(ctx, asc_pattern_cut(ctx, plain, (asc_view){text, len}, &b));
            bool same = a.n == b.n;
            for (size_t c = 0; same && c < a.n; c++)
                same =
                    a.v[c].start == b.v[c].start && a.v[c].end == b.v[c].end && a.v[c].match == b.v[c].match;
            if (!same) fail_msg("%s on '%.*s'", digit_patterns[i], (int)len, text);
        }
        asc_pattern_destroy(ctx, fast);
        asc_pattern_destroy(ctx, plain);
    }
    asc_free(ctx, a.v);
    asc_free(ctx, b.v);
    test_ctx_end(ctx);
}

/* A megabyte of digits: as regular expressions these patterns would take 10^11 steps, and give up. */
static void long_runs_of_digits(void **state) {
    (void)state;
    static const char *const names[] = {"tiny_aya", "cohere2moe", "superbpe"};
    enum { LEN = 1 << 20 };
    asc_ctx *ctx = test_ctx("cpu", NULL);
    char *text = asc_alloc(ctx, ASC_MEM_SCRATCH, LEN + 1);
    assert_non_null(text);
    memset(text, '7', LEN);
    text[LEN] = 'a';
    for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
        const asc_pretok *pre = asc_pretok_find(asc_view_of(names[i / 2]));
        asc_pretok_patterns p;
        asc_cuts cuts = {.ctx = ctx};
        const size_t len = LEN + i % 2;
        assert_ok(ctx, asc_pretok_compile(ctx, pre, &p));
        assert_ok(ctx, asc_pretok_cut(ctx, &p, (asc_view){text, len}, (asc_span){0, len}, &cuts));
        assert_int_equal(cuts.n, LEN / 3 + 1 + i % 2); /* and the letter */
        asc_free(ctx, cuts.v);
        asc_pretok_patterns_deinit(ctx, &p);
    }
    asc_free(ctx, text);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_tokenizers),       cmocka_unit_test(all_names_on_any_bytes),
        cmocka_unit_test(jais2_as_its_pattern),     cmocka_unit_test(steps),
        cmocka_unit_test(digits_as_their_patterns), cmocka_unit_test(long_runs_of_digits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
