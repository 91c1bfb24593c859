/* test_segment.c - words and sentences of hand-made texts (a bar marks each cut), tiling of random bytes, and
 * groups of tokens. */
#include "harness.h"
#include "hash.h"
#include "segment.h"
#include "view.h"

/* "ab| c" means the text "ab c" with the spans "ab" and " c". */
static void check_cuts(asc_ctx *ctx, const char *marked, asc_segment_unit unit) {
    char text[1024], got[2048];
    size_t n = 0, out = 0, n_spans = 0;
    for (const char *p = marked; *p != '\0'; p++) {
        if (*p != '|') text[n++] = *p;
    }
    asc_span *spans = NULL;
    assert_ok(ctx, asc_segment(ctx, (asc_view){text, n}, unit, &spans, &n_spans));
    for (size_t i = 0; i < n_spans; i++) {
        if (i > 0) got[out++] = '|';
        memcpy(got + out, text + spans[i].start, spans[i].end - spans[i].start);
        out += spans[i].end - spans[i].start;
    }
    got[out] = '\0';
    asc_free(ctx, spans);
    assert_string_equal(got, marked);
}

static void words(void **state) {
    (void)state;
    static const char *const cases[] = {
        "",
        " ",
        "\n\t ",
        "The| capital| of| France| is",
        "  The|  end  ",
        "don't| stop-gap,| (really)?",
        "a|\n\nb",
        "\xC2\xA0non|\xC2\xA0"
        "breaking",
        "cafe\xCC\x81| au| lait", /* combining accent */
        "hi| \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7| !", /* ZWJ family */
        "\xE6\x9D\xB1|\xE4\xBA\xAC|\xE3\x81\xAF|\xE3\x80\x8C\xE5\xA4\xA7|\xE3\x81\x8D|"
        "\xE3\x81\x84\xE3\x80\x8D\xE3\x80"
        "\x82",                                              /* 東京は「大きい」。 */
        "\xE3\x82\xB3\xE3\x83\xBC|\xE3\x83\x92\xE3\x83\xBC", /* コーヒー: the length mark belongs to its kana
                                                              */
        "\xE3\x81\xA1\xE3\x82\x83",                          /* ちゃ */
        "GPT|\xE6\x98\xAF|AI",                               /* GPT是AI */
        "\"\xE4\xB8\xAD\"|\xE6\x96\x87",
        "\xEC\x95\x88\xEB\x85\x95| \xED\x95\x98\xEC\x84\xB8\xEC\x9A\x94", /* Korean has spaces */
        "\xE0\xB9\x84\xE0\xB8\x97|\xE0\xB8\xA2", /* Thai: vowel sign before its consonant */
        "x\xFF\xFEy| \xFF",
    };
    asc_ctx *ctx = test_ctx("cpu", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_cuts(ctx, cases[i], ASC_SEGMENT_WORD);
    test_ctx_end(ctx);
}

static void sentences(void **state) {
    (void)state;
    static const char *const cases[] = {
        "",
        "  ",
        "No mark at the end",
        "One.| Two!| Three?| Four\xE2\x80\xA6| Five.  ",
        "Mr. Smith and Dr. J. Brown met Prof. White vs. Black.| Then they left.",
        "Pi is 3.14 and e is 2.72.| Version 1.2.3 works.",
        "Use tools, e.g. hammers, i.e. heavy ones.| Or, e.g. Paris.",
        "The U.S. Army came.| It left.",
        "Apples, pears etc. are fruit.| Also plums etc.| They are ripe.",
        "See p. 5 and Fig. 3.| He said no.| Then he went.",
        "He said \"Stop!\" and went.| \"Go!\"| She did (really.)| Yes.",
        "Wait... what?| Wait...| What?!",
        "What?!| Yes.",
        "First line\nstill the first|\n\nA new paragraph|\r\n\r\nThird",
        "1. First item.| 2. Second item.",
        "\xE4\xBD\xA0\xE5\xA5\xBD\xE3\x80\x82|\xE5\x86\x8D\xE8\xA7\x81\xEF\xBC\x81\xE3\x80\x8D|\xE5\xA5\xBD",
        "www.example.com is a site.| So is a.b.",
        "I.| Am.",
    };
    asc_ctx *ctx = test_ctx("cpu", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_cuts(ctx, cases[i], ASC_SEGMENT_SENTENCE);
    test_ctx_end(ctx);
}

static void random_bytes_are_tiled(void **state) {
    (void)state;
    static const char *const bits[] = {" ",
                                       "\n",
                                       ".",
                                       "a",
                                       "\xE4\xB8\xAD",
                                       "\xFF",
                                       "\xE2\x80",
                                       "\"",
                                       "\xCC\x81",
                                       "B",
                                       "\xE2\x80\x8D",
                                       "\xF0\x9F\x91\xA9",
                                       "\xE3\x80\x82",
                                       "1",
                                       "\xE0\xB9\x84",
                                       "("};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    for (uint64_t round = 0; round < 3000; round++) {
        char text[128];
        size_t n = 0;
        for (uint64_t k = 0; (double)k < 24 * asc_uniform(5, round, 99); k++) {
            const char *b = bits[(size_t)(16 * asc_uniform(5, round, k))];
            memcpy(text + n, b, strlen(b));
            n += strlen(b);
        }
        for (int unit = 0; unit < 2; unit++) {
            asc_span *s = NULL;
            size_t ns = 0, at = 0;
            assert_ok(ctx, asc_segment(ctx, (asc_view){text, n}, (asc_segment_unit)unit, &s, &ns));
            for (size_t i = 0; i < ns; i++) {
                assert_int_equal(s[i].start, at);
                assert_true(s[i].end > at);
                at = s[i].end;
            }
            assert_int_equal(at, n);
            asc_free(ctx, s);
        }
    }
    test_ctx_end(ctx);
}

/* Tokens are given as text with a bar between them; the groups come back with '|' between groups, '+' inside.
 */
static void check_groups(asc_ctx *ctx, const char *marked, asc_segment_unit unit, const char *want) {
    char text[256], got[512];
    asc_token t[64];
    size_t n = 0, nt = 0, out = 0, ns = 0, ng = 0;
    t[0] = (asc_token){0, 0, 0};
    for (const char *p = marked;; p++) {
        if (*p == '|' || *p == '\0') {
            t[nt++].end = n;
            t[nt] = (asc_token){0, n, n};
            if (*p == '\0') break;
        } else {
            text[n++] = *p;
        }
    }
    asc_span *s = NULL;
    asc_token_group *g = NULL;
    assert_ok(ctx, asc_segment(ctx, (asc_view){text, n}, unit, &s, &ns));
    assert_ok(ctx, asc_group_tokens(ctx, NULL, (asc_view){text, n}, t, nt, s, ns, &g, &ng));
    size_t token = 0;
    for (size_t i = 0; i < ng; i++) {
        if (i > 0) got[out++] = '|';
        assert_int_equal(g[i].first, token);
        assert_int_equal(g[i].start, t[token].start);
        for (; token < g[i].last; token++) {
            if (token > g[i].first) got[out++] = '+';
            memcpy(got + out, text + t[token].start, t[token].end - t[token].start);
            out += t[token].end - t[token].start;
        }
        assert_int_equal(g[i].end, t[token - 1].end);
    }
    assert_int_equal(token, nt);
    got[out] = '\0';
    asc_free(ctx, s);
    asc_free(ctx, g);
    assert_string_equal(got, want);
}

static void groups(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    check_groups(ctx, "The| cap|ital| of", ASC_SEGMENT_WORD, "The| cap+ital| of");
    check_groups(ctx, "a| | b| ", ASC_SEGMENT_WORD, "a| + b+ ");
    check_groups(ctx, "in the| end", ASC_SEGMENT_WORD, "in the| end");
    check_groups(ctx, "x in| the en|d y", ASC_SEGMENT_WORD,
                 "x in| the en+d y"); /* " en" + "d y": one feature */
    check_groups(ctx, "One|.\n\n|Two| three|.", ASC_SEGMENT_SENTENCE, "One+.\n\n|Two+ three+.");
    check_groups(ctx, "One|. T|wo| x.", ASC_SEGMENT_SENTENCE, "One+. T+wo+ x.");
    check_groups(ctx, "\xF0\x9F|\x91\xA9| \xE3|\x80|\x80z", ASC_SEGMENT_WORD,
                 "\xF0\x9F+\x91\xA9| \xE3+\x80+\x80z"); /* bytes of characters, one of them white space */
    check_groups(ctx, "a||b| c", ASC_SEGMENT_WORD, "a++b| c"); /* an empty token behind a character */
    check_groups(ctx, "|a| c", ASC_SEGMENT_WORD, "+a| c");
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words), cmocka_unit_test(sentences),
                                       cmocka_unit_test(random_bytes_are_tiled), cmocka_unit_test(groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
