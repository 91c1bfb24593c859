/* test_page.c - hostile text on the page and in the terminal, the page's content policy, many tokens, results
 * that did not converge. */
#include "sample.h"
#include "hash.h"
#include "json.h"
#include "view.h"

static size_t count(const char *text, const char *what) {
    size_t n = 0;
    for (const char *p = strstr(text, what); p != NULL; p = strstr(p + 1, what)) n++;
    return n;
}

static void test_page_is_safe(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    sample s;
    (void)state;
    fill(&s);
    asc_text *t = text_of(ctx);
    asc_report_html(ctx, t, &s.rep);
    assert_ok(ctx, asc_text_status(t));
    const char *h = asc_text_view(t).ptr;
    assert_int_equal(count(h, "<script"), 2); /* ours and the data; none of the prompt's */
    assert_int_equal(count(h, "</script"), 2);
    assert_int_equal(count(h, "<b>"), 0);
    assert_int_equal(count(h, "<!--"), 0);
    assert_int_equal(count(h, "<warning>") + count(h, "<m>"), 0);
    assert_null(strchr(h, 0x1b));
    assert_null(strstr(h, "\xe2\x80\xae")); /* no change of direction outside of an escape */
    assert_null(strchr(h, '\xff'));
    assert_int_equal(asc_utf8_check(asc_text_view(t)), asc_text_view(t).len);
    assert_int_equal(count(h, "http://") + count(h, "https://") + count(h, " src=") + count(h, "url(") +
                         count(h, "@import"),
                     0);
    assert_non_null(strstr(h, "default-src 'none'"));
    assert_null(strstr(h, "unsafe"));
    assert_int_equal(count(h, "tabindex=\"0\""), 3);
    assert_int_equal(count(h, "aria-label=\""), 3 + 2);
    assert_non_null(strstr(h, "prefers-color-scheme:dark"));
    /* the data element is the JSON, unchanged */
    const char *data = strstr(h, "id=\"result\">") + strlen("id=\"result\">");
    asc_json *a = NULL;
    asc_saved *b = NULL;
    asc_view v = asc_view_make(data, (size_t)(strstr(data, "</script>") - data));
    assert_ok(ctx, asc_json_parse(ctx, v.ptr, v.len, &a));
    assert_ok(ctx, asc_saved_parse(ctx, v, &b));
    assert_true(asc_view_eq(b->request.prompt, s.req.prompt));
    asc_json_free(a);
    asc_saved_destroy(ctx, b);
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

/* The hashes in the content policy are those of what stands in the page; a wrong one would switch off style
 * or script. */
static void test_page_policy(void **state) {
    static const char *const tags[] = {"style", "script"};
    asc_ctx *ctx = test_ctx(NULL, NULL);
    sample s;
    (void)state;
    fill(&s);
    asc_text *t = text_of(ctx);
    asc_report_html(ctx, t, &s.rep);
    const char *h = asc_text_view(t).ptr;
    for (size_t i = 0; i < 2; i++) {
        char open[16], close[16], policy[40], hex[65], b64[64] = "";
        snprintf(open, sizeof open, "<%s>", tags[i]);
        snprintf(close, sizeof close, "</%s>", tags[i]);
        snprintf(policy, sizeof policy, "%s-src 'sha256-", tags[i]);
        const char *from = strstr(h, open) + strlen(open), *to = strstr(from, close);
        asc_sha256_hex(from, (size_t)(to - from), hex);
        const char *have = strstr(h, policy) + strlen(policy);
        assert_int_equal(strcspn(have, "'"), 44);
        memcpy(b64, have, 44);
        for (size_t k = 0; k < 32; k++) { /* decode and compare byte by byte */
            static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            unsigned bits = 0, byte = 0;
            for (size_t d = k / 3 * 4; d < k / 3 * 4 + 4; d++)
                bits = bits << 6 | (b64[d] == '=' ? 0 : (unsigned)(strchr(digits, b64[d]) - digits));
            sscanf(hex + 2 * k, "%2x", &byte);
            assert_int_equal(bits >> (16 - 8 * (k % 3)) & 255, byte);
        }
    }
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

static void test_large_page(void **state) {
    enum { N = 5000 };
    asc_ctx *ctx = test_ctx(NULL, NULL);
    sample s;
    (void)state;
    fill(&s);
    asc_feature *f = calloc(N, sizeof *f);
    int32_t *ids = calloc(N, sizeof *ids);
    double *scores = calloc(N, sizeof *scores);
    char *prompt = calloc(N * 3 + 1, 1);
    for (size_t i = 0; i < N; i++) {
        memcpy(prompt + 3 * i, " ab", 3);
        scores[i] = (double)i;
        f[i] = (asc_feature){.text = prompt + 3 * i,
                             .text_len = 3,
                             .start = 3 * i,
                             .end = 3 * i + 3,
                             .first_token = i,
                             .n_tokens = 1,
                             .message = -1,
                             .score = scores[i],
                             .error = NAN};
    }
    s.r.features = f;
    s.r.n_features = s.r.n_prompt = N;
    s.r.prompt_ids = ids;
    s.r.scores = scores;
    s.r.prompt = prompt;
    s.r.prompt_len = N * 3;
    asc_text *t = text_of(ctx);
    asc_report_html(ctx, t, &s.rep);
    assert_ok(ctx, asc_text_status(t));
    assert_int_equal(count(asc_text_view(t).ptr, "tabindex=\"0\""), N);
    assert_true(asc_text_view(t).len < 6u << 20);
    asc_text_destroy(t);
    free(f);
    free(ids);
    free(scores);
    free(prompt);
    test_ctx_end(ctx);
}

static size_t widest_line(const char *p) {
    size_t most = 0;
    while (*p != '\0') {
        size_t n = strcspn(p, "\n"), w = 0;
        for (size_t i = 0; i < n; i++) {
            if (p[i] == 0x1b) {
                while (i < n && p[i] != 'm') i++;
            } else if (((unsigned char)p[i] & 0xC0) != 0x80) {
                w++;
            }
        }
        if (w > most) most = w;
        p += n + (p[n] == '\n');
    }
    return most;
}

static void test_terminal(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    sample s;
    (void)state;
    fill(&s);
    static char long_warning[] = "a long warning that must be wrapped because it is longer than a "
                                 "line of the terminal has columns "
                                 "and goes on and on until it really is";
    s.r.warnings[0] = long_warning;
    for (int colours = ASC_COLOURS_NONE; colours <= ASC_COLOURS_RGB; colours++) {
        for (size_t columns = 60; columns <= 120; columns += 20) {
            asc_report_style style = {
                .struct_size = sizeof style, .colours = (asc_colours)colours, .columns = columns};
            asc_text *t = text_of(ctx);
            asc_report_text(t, &s.rep, &style);
            assert_ok(ctx, asc_text_status(t));
            const char *p = asc_text_view(t).ptr;
            assert_true(widest_line(p) <= (columns < 100 ? columns : 100));
            assert_null(strstr(p, "\x1b[31m")); /* the prompt's own escape is shown, not obeyed */
            assert_null(strstr(p, "\xe2\x80\xae"));
            assert_null(strchr(p, 1));
            if (columns >= 100) assert_non_null(strstr(p, "\\u{202E}")); /* narrower: cut off */
            if (columns >= 100) assert_non_null(strstr(p, "\\xff"));
            if (colours == ASC_COLOURS_NONE) assert_null(strchr(p, 0x1b));
            if (colours == ASC_COLOURS_RGB) assert_non_null(strstr(p, "\x1b[48;2;"));
            if (colours == ASC_COLOURS_256) assert_non_null(strstr(p, "\x1b[48;5;"));
            assert_null(strstr(p, "NOT CONVERGED"));
            asc_text_destroy(t);
        }
    }
    test_ctx_end(ctx);
}

static void test_not_converged_is_loud(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    sample s;
    (void)state;
    fill(&s);
    s.r.converged = false;
    s.r.refinable = true;
    s.r.method = "integrated-gradients";
    s.r.n_backward = 100;
    s.r.seconds = 10;
    asc_report_style style = {.struct_size = sizeof style};
    asc_text *t = text_of(ctx);
    asc_report_text(t, &s.rep, &style);
    assert_int_equal(count(asc_text_view(t).ptr, "NOT CONVERGED"), 2);
    assert_non_null(strstr(asc_text_view(t).ptr, "feature-ablation"));
    assert_non_null(strstr(asc_text_view(t).ptr, "--max-evaluations 400"));
    asc_text_clear(t);
    s.r.refinable = false; /* where no number of evaluations helps, none is suggested */
    asc_report_text(t, &s.rep, &style);
    assert_null(strstr(asc_text_view(t).ptr, "--max-evaluations"));
    asc_text_clear(t);
    asc_report_html(ctx, t, &s.rep);
    assert_int_equal(count(asc_text_view(t).ptr, "NOT CONVERGED"), 1);
    asc_text_clear(t);
    asc_report_json(t, &s.rep);
    assert_non_null(strstr(asc_text_view(t).ptr, "\"converged\": false"));
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

static void test_shown(void **state) {
    static const char *const cases[][2] = {
        {"plain \xc3\xb6", "plain \xc3\xb6"},
        {"a\nb\tc\r", "a\\nb\\tc\\r"},
        {"\x1b[2J", "\\x1b[2J"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b", "\\u{009B}"},          /* C1: one-byte CSI */
        {"\xe2\x80\xae", "\\u{202E}"},      /* right-to-left override */
        {"\xe2\x81\xa6", "\\u{2066}"},      /* isolate */
        {"\xe2\x80\x8b", "\\u{200B}"},      /* zero width space */
        {"\xef\xbb\xbf", "\\u{FEFF}"},      /* byte order mark */
        {"\xf3\xa0\x81\x81", "\\u{E0041}"}, /* tag character */
        {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7"},
        {"\xf0\x9f", "\\xf0\\x9f"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"}}; /* a surrogate is no character */
    asc_ctx *ctx = test_ctx(NULL, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_text *t = text_of(ctx);
        asc_text_shown(t, asc_view_of(cases[i][0]), 0);
        assert_string_equal(asc_text_view(t).ptr, cases[i][1]);
        asc_text_destroy(t);
    }
    asc_text *t = text_of(ctx);
    assert_int_equal(asc_text_shown(t, asc_view_of("\xe4\xb8\xad\xe6\x96\x87 abcdef"), 8), 8);
    assert_string_equal(asc_text_view(t).ptr, "\xe4\xb8\xad\xe6\x96\x87 ...");
    asc_text_destroy(t);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_is_safe), cmocka_unit_test(test_page_policy),
        cmocka_unit_test(test_large_page),   cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_shown),        cmocka_unit_test(test_not_converged_is_loud),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
