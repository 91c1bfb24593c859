/* test_shell_choose.c - words on lines, choosing one with keys, the picture of it: over a result made by
 * hand, whose sums are known. */
#include "../harness.h"
#include "choose.h"

/* "The 首都 of\nFrance is": five words, the second of two wide characters. Answer: three rows. */
static const char prompt[] = "The \xe9\xa6\x96\xe9\x83\xbd of\nFrance is";
static double matrix[] = {1, 2, 3, 4, -5, 10, 20, 30, 40, -50, 0, 0.5, 0, 0, 0.25};
static double errors[] = {.1, .1, .1, .1, .1, .2, .2, .2, .2, .2, .3, .3, .3, .3, .3};
static int32_t target_ids[] = {0, 1, 2};

static asc_feature feature(size_t start, size_t end, double score) {
    return (asc_feature){.start = start, .end = end, .score = score, .error = 0.5, .message = -1};
}

static asc_result result(asc_feature f[5], bool with_matrix) {
    f[0] = feature(0, 4, 11);
    f[1] = feature(4, 11, 22.5);
    f[2] = feature(11, 14, 33);
    f[3] = feature(14, 21, 44);
    f[4] = feature(21, 23, -54.75);
    return (asc_result){.prompt = (char *)(uintptr_t)prompt,
                        .prompt_len = sizeof prompt - 1,
                        .features = f,
                        .n_features = 5,
                        .target = (char *)(uintptr_t) " Paris",
                        .target_len = 6,
                        .target_ids = target_ids,
                        .n_target = 3,
                        .n_matrix = with_matrix ? 3 : 0,
                        .matrix = with_matrix ? matrix : NULL,
                        .matrix_errors = with_matrix ? errors : NULL};
}

static void test_lines(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    asc_feature f[5];
    asc_result r = result(f, true);
    word_sheet s;
    (void)state;
    assert_ok(ctx, words_make(ctx, &r, NULL, &s));
    assert_int_equal(s.side[SIDE_PROMPT].n, 5);
    assert_int_equal(s.side[SIDE_ANSWER].n, 3); /* without a tokenizer each row is a word */
    words_lay(ctx, &s, 80, 8);
    const word *w = s.side[SIDE_PROMPT].v;
    assert_int_equal(s.side[SIDE_PROMPT].n_lines, 2);
    assert_int_equal(w[0].at, 8);
    assert_int_equal(w[1].at, 12);
    assert_int_equal(w[1].columns, 4); /* two characters of two columns */
    assert_int_equal(w[2].at, 17);
    assert_int_equal(w[3].line, 1); /* the line break before France */
    assert_int_equal(w[3].at, 8);
    for (size_t columns = 0; columns < 40; columns++) { /* narrow windows: everything stays inside */
        words_lay(ctx, &s, columns, 8);
        for (size_t i = 0; i < 5; i++) assert_true(w[i].at + w[i].columns <= (columns < 16 ? 16 : columns));
    }
    words_free(&s);
    test_ctx_end(ctx);
}

static void test_scores(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    asc_feature f[5];
    asc_result r = result(f, true);
    word_sheet s;
    size_t order[5];
    double e;
    (void)state;
    assert_ok(ctx, words_make(ctx, &r, NULL, &s));
    assert_float_equal(words_score(&s, SIDE_ANSWER, 1, 4, &e), -50, 0);
    assert_float_equal(e, 0.2, 0);
    assert_float_equal(words_score(&s, SIDE_PROMPT, 4, 1, &e), -50, 0); /* the other way round: the same */
    s.side[SIDE_ANSWER].v[0].n = 3; /* a word of three tokens: the sum of its rows */
    assert_float_equal(words_score(&s, SIDE_ANSWER, 0, 1, &e), 22.5, 1e-12);
    assert_float_equal(e, 0.6, 1e-12);
    assert_int_equal(words_ranked(&s, SIDE_ANSWER, 1, order), 5);
    assert_int_equal(order[0], 4); /* by size, not by sign */
    assert_int_equal(order[1], 3);
    assert_int_equal(order[4], 0);
    assert_int_equal(words_find(&s, SIDE_PROMPT, (asc_view){"France", 6}), 3);
    assert_int_equal(words_find(&s, SIDE_PROMPT, (asc_view){"5", 1}), 4);
    assert_true(words_find(&s, SIDE_PROMPT, (asc_view){"6", 1}) == SIZE_MAX);
    assert_true(words_find(&s, SIDE_PROMPT, (asc_view){"0", 1}) == SIZE_MAX);
    assert_true(words_find(&s, SIDE_PROMPT, (asc_view){"", 0}) == SIZE_MAX);
    words_free(&s);
    r = result(f, false); /* no matrix: the answer is one word with the scores of all */
    assert_ok(ctx, words_make(ctx, &r, NULL, &s));
    assert_int_equal(s.side[SIDE_ANSWER].n, 1);
    assert_float_equal(words_score(&s, SIDE_ANSWER, 0, 3, &e), 44, 0);
    assert_float_equal(e, 0.5, 0);
    words_free(&s);
    test_ctx_end(ctx);
}

static void expect(chooser *c, shell_key k, chosen what, int side, size_t i) {
    assert_int_equal(chooser_key(c, k), what);
    assert_int_equal(c->side, side);
    assert_int_equal(c->i, i);
}

static void test_keys_move(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    asc_feature f[5];
    asc_result r = result(f, true);
    word_sheet s;
    chooser c;
    (void)state;
    assert_ok(ctx, words_make(ctx, &r, NULL, &s));
    words_lay(ctx, &s, 79, 8);
    assert_true(chooser_begin(&c, &s, 24));
    assert_int_equal(c.side, SIDE_ANSWER);
    expect(&c, KEY_RIGHT, CHOOSE_MOVED, SIDE_ANSWER, 1);
    expect(&c, KEY_LEFT, CHOOSE_MOVED, SIDE_ANSWER, 0);
    expect(&c, KEY_LEFT, CHOOSE_MOVED, SIDE_PROMPT, 4); /* over the border */
    expect(&c, KEY_HOME, CHOOSE_MOVED, SIDE_PROMPT, 3);
    expect(&c, KEY_HOME, CHOOSE_STAY, SIDE_PROMPT, 3);
    expect(&c, KEY_UP, CHOOSE_MOVED, SIDE_PROMPT, 0);
    expect(&c, KEY_UP, CHOOSE_STAY, SIDE_PROMPT, 0);
    expect(&c, KEY_END, CHOOSE_MOVED, SIDE_PROMPT, 2);
    expect(&c, KEY_DOWN, CHOOSE_MOVED, SIDE_PROMPT, 4); /* column 17 is nearest to "is" */
    expect(&c, KEY_DOWN, CHOOSE_MOVED, SIDE_ANSWER, 2); /* and keeps to it */
    expect(&c, KEY_DOWN, CHOOSE_STAY, SIDE_ANSWER, 2);
    expect(&c, KEY_RIGHT, CHOOSE_STAY, SIDE_ANSWER, 2);
    expect(&c, KEY_TAB, CHOOSE_MOVED, SIDE_PROMPT, 0);
    expect(&c, KEY_PAGE_DOWN, CHOOSE_MOVED, SIDE_ANSWER, 0);
    expect(&c, KEY_PAGE_UP, CHOOSE_MOVED, SIDE_PROMPT, 0);
    expect(&c, KEY_NONE, CHOOSE_STAY, SIDE_PROMPT, 0);
    expect(&c, KEY_ENTER, CHOOSE_TAKE, SIDE_PROMPT, 0);
    expect(&c, KEY_ESCAPE, CHOOSE_LEAVE, SIDE_PROMPT, 0);
    expect(&c, KEY_INTERRUPT, CHOOSE_LEAVE, SIDE_PROMPT, 0);
    words_free(&s);
    test_ctx_end(ctx);
}

/* Columns of the widest line without what moves nothing. */
static size_t widest(asc_view v, size_t *lines) {
    size_t most = 0, at = 0;
    *lines = 1;
    for (size_t i = 0; i < v.len; i++) {
        if (v.ptr[i] == '\x1b') {
            while (i < v.len && v.ptr[i] != 'm') i++;
            continue;
        }
        if (v.ptr[i] == '\r') continue;
        if (v.ptr[i] == '\n') {
            ++*lines;
            at = 0;
            continue;
        }
        unsigned char b = (unsigned char)v.ptr[i];
        at += b < 0x80 ? 1 : b >= 0xE0 ? 2 : b >= 0xC0 ? 1 : 0; /* of this text: three bytes are a wide one */
        if (at > most) most = at;
    }
    return most;
}

static void test_picture(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    asc_feature f[5];
    asc_result r = result(f, true);
    word_sheet s;
    chooser c;
    asc_text *out = NULL;
    (void)state;
    assert_ok(ctx, asc_text_create(ctx, &out));
    assert_ok(ctx, words_make(ctx, &r, NULL, &s));
    for (size_t columns = 40; columns < 90; columns += 7) {
        for (size_t rows = 3; rows < 26; rows++) {
            for (int colours = 0; colours < 3; colours++) {
                size_t lines;
                words_lay(ctx, &s, columns, 8);
                assert_true(chooser_begin(&c, &s, rows));
                asc_text_clear(out);
                size_t n = chooser_draw(ctx, &c, (asc_colours)colours, out);
                assert_true(widest(asc_text_view(out), &lines) <= columns);
                assert_int_equal(lines, n);
                assert_true(n <= (rows < 4 ? 4 : rows));
                assert_non_null(strstr(asc_text_view(out).ptr, "\x1b[7m")); /* the chosen word */
                bool paints = strstr(asc_text_view(out).ptr, "\x1b[48;") != NULL;
                assert_int_equal(paints && rows > 8, colours != ASC_COLOURS_NONE && rows > 8);
            }
        }
    }
    words_lay(ctx, &s, 79, 8);
    assert_true(chooser_begin(&c, &s, 24));
    chooser_key(&c, KEY_RIGHT);
    asc_text_clear(out);
    chooser_draw(ctx, &c, ASC_COLOURS_NONE, out);
    const char *first = strstr(asc_text_view(out).ptr, "-50.0000"),
               *second = strstr(asc_text_view(out).ptr, "+40.0000");
    assert_non_null(first);
    assert_true(first < second); /* figures instead of colours, the largest first */
    assert_ok(ctx, asc_text_status(out));
    words_free(&s);
    asc_text_destroy(out);
    test_ctx_end(ctx);
}

/* A hundred lines in a window of twelve: what is chosen stays in sight. */
static void test_scrolling(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    static char text[1000];
    asc_feature *f = calloc(100, sizeof *f);
    double *m = calloc(100, sizeof *m);
    word_sheet s;
    chooser c;
    asc_text *out = NULL;
    (void)state;
    for (size_t i = 0; i < 100; i++) {
        char one[8];
        snprintf(one, sizeof one, "w%03zu\n", i);
        memcpy(text + 5 * i, one, 5);
        f[i] = feature(5 * i, 5 * i + 5, 1);
    }
    asc_result r = {.prompt = text,
                    .prompt_len = 500,
                    .features = f,
                    .n_features = 100,
                    .target_ids = target_ids,
                    .n_target = 1,
                    .n_matrix = 1,
                    .matrix = m,
                    .matrix_errors = m};
    assert_ok(ctx, asc_text_create(ctx, &out));
    assert_ok(ctx, words_make(ctx, &r, NULL, &s));
    words_lay(ctx, &s, 79, 8);
    assert_int_equal(s.side[SIDE_PROMPT].n_lines, 100);
    assert_true(chooser_begin(&c, &s, 12));
    for (int i = 0; i < 100; i++) {
        char name[16];
        chooser_key(&c, KEY_UP);
        asc_text_clear(out);
        assert_true(chooser_draw(ctx, &c, ASC_COLOURS_256, out) <= 12);
        snprintf(name, sizeof name, "\x1b[7mw%03d", 99 - i);
        if (strstr(asc_text_view(out).ptr, name) == NULL) fail_msg("line %d is out of sight", 99 - i);
    }
    words_free(&s);
    asc_text_destroy(out);
    free(f);
    free(m);
    test_ctx_end(ctx);
}

/* Nothing can be chosen; a prompt without features; blanks that have scores. */
static void test_odd_results(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    word_sheet s;
    chooser c;
    char blanks[] = "  \n", bad[] = "\xff\x1b[2J x";
    asc_feature f[2] = {feature(0, 3, 1), feature(0, 6, 1)};
    asc_result r = {.prompt = blanks, .prompt_len = 0};
    asc_text *out = NULL;
    (void)state;
    assert_ok(ctx, words_make(ctx, &r, NULL, &s));
    words_lay(ctx, &s, 80, 8);
    assert_false(chooser_begin(&c, &s, 24));
    words_free(&s);
    r = (asc_result){.prompt = blanks, .prompt_len = 3, .features = f, .n_features = 1};
    assert_ok(ctx, words_make(ctx, &r, NULL, &s));
    assert_int_equal(s.side[SIDE_PROMPT].n, 1);
    assert_true(s.side[SIDE_PROMPT].v[0].text.len > 0);
    words_free(&s);
    r = (asc_result){.prompt = bad, .prompt_len = 7, .features = f + 1, .n_features = 1};
    assert_ok(ctx, words_make(ctx, &r, NULL, &s));
    words_lay(ctx, &s, 80, 8);
    assert_true(chooser_begin(&c, &s, 24));
    assert_ok(ctx, asc_text_create(ctx, &out));
    chooser_draw(ctx, &c, ASC_COLOURS_NONE, out);
    assert_null(strstr(asc_text_view(out).ptr, "\x1b[2J")); /* shown, not obeyed */
    asc_text_destroy(out);
    words_free(&s);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines),     cmocka_unit_test(test_scores),
                                       cmocka_unit_test(test_keys_move), cmocka_unit_test(test_picture),
                                       cmocka_unit_test(test_scrolling), cmocka_unit_test(test_odd_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
