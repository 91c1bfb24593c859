/* test_shell_line.c - what somebody typed: prompts, commands, words, values, lines that go on. */
#include "../harness.h"
#include "commands.h"
#include "keys.h"
#include "line.h"

static asc_view view(const char *s) { return (asc_view){s, strlen(s)}; }

static void same(asc_view v, const char *want) {
    if (v.len != strlen(want) || memcmp(v.ptr, want, v.len) != 0)
        fail_msg("got '%.*s', want '%s'", (int)v.len, v.ptr, want);
}

static void test_kinds(void **state) {
    static const struct {
        const char *line;
        line_kind kind;
        const char *text, *name, *rest;
    } cases[] = {
        {"", LINE_EMPTY, "", "", ""},
        {" \t", LINE_EMPTY, " \t", "", ""},
        {"The capital", LINE_PROMPT, "The capital", "", ""},
        {"  two blanks ", LINE_PROMPT, "  two blanks ", "", ""},
        {":help", LINE_COMMAND, "", "help", ""},
        {"  :set  steps   5 ", LINE_COMMAND, "", "set", "steps   5"},
        {":target \" Paris\"", LINE_COMMAND, "", "target", "\" Paris\""},
        {":", LINE_COMMAND, "", "", ""},
        {": help", LINE_COMMAND, "", "", "help"},
        {"::-) hello", LINE_PROMPT, ":-) hello", "", ""},
        {"a :b", LINE_PROMPT, "a :b", "", ""},
        {":system\nline two", LINE_COMMAND, "", "system", "line two"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        line_parts p = line_parse(view(cases[i].line), false);
        assert_int_equal(p.kind, cases[i].kind);
        if (p.kind == LINE_PROMPT) same(p.text, cases[i].text);
        if (p.kind == LINE_COMMAND) {
            same(p.name, cases[i].name);
            same(p.rest, cases[i].rest);
        }
        if (p.kind != LINE_EMPTY) assert_int_equal(line_parse(view(cases[i].line), true).kind, LINE_PROMPT);
    }
}

static void test_words_and_values(void **state) {
    asc_view rest = view("  a \"b c\" \"d\\\" e\"f  g"), w;
    const char *why;
    size_t n;
    (void)state;
    static const char *const words[] = {"a", "\"b c\"", "\"d\\\" e\"f", "g"};
    for (size_t i = 0; i < 4; i++) {
        assert_true(line_word(&rest, &w));
        same(w, words[i]);
    }
    assert_false(line_word(&rest, &w));
    char *v = line_value(view("\" Paris\\n\""), &n, &why);
    assert_non_null(v);
    same((asc_view){v, n}, " Paris\n");
    free(v);
    v = line_value(view("plain 'text'"), &n, &why);
    same((asc_view){v, n}, "plain 'text'");
    free(v);
    assert_null(line_value(view("\"not ended"), &n, &why));
    assert_null(line_value(view("\"a\" b"), &n, &why));
    assert_non_null(strstr(why, "JSON"));
}

/* Lines as they come, and what they make. */
static void feed(asc_ctx *ctx, const char *const *lines, const char *want, bool block) {
    line_joiner j = {0};
    assert_ok(ctx, asc_text_create(ctx, &j.text));
    size_t i = 0;
    for (; lines[i + 1] != NULL; i++) assert_int_equal(line_feed(&j, view(lines[i])), LINE_MORE);
    assert_int_equal(line_feed(&j, view(lines[i])), LINE_DONE);
    same(asc_text_view(j.text), want);
    assert_int_equal(j.block, block);
    asc_text_destroy(j.text);
}

static void test_lines_that_go_on(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    (void)state;
    feed(ctx, (const char *const[]){"one", NULL}, "one", false);
    feed(ctx, (const char *const[]){"one\\", "two", NULL}, "one\ntwo", false);
    feed(ctx, (const char *const[]){"path\\\\", NULL}, "path\\", false);
    feed(ctx, (const char *const[]){"a\\\\\\", "b", NULL}, "a\\\\\nb", false);
    feed(ctx, (const char *const[]){"\"\"\"", "x\\", "", ":y", "\"\"\"", NULL}, "x\\\n\n:y", true);
    feed(ctx, (const char *const[]){"\"\"\"first", "last\"\"\"", NULL}, "first\nlast", true);
    feed(ctx, (const char *const[]){"\"\"\"one line\"\"\"", NULL}, "one line", true);
    feed(ctx, (const char *const[]){"\"\"\"\"\"\"", NULL}, "", true);
    feed(ctx, (const char *const[]){"say \"\"\"hi\"\"\"", NULL}, "say \"\"\"hi\"\"\"", false);
    test_ctx_end(ctx);
}

static void test_commands(void **state) {
    char why[200];
    (void)state;
    assert_string_equal(shell_command_find(view("quit"), why, sizeof why)->name, "quit");
    assert_string_equal(shell_command_find(view("q"), why, sizeof why)->name, "quit");
    assert_string_equal(shell_command_find(view("mat"), why, sizeof why)->name, "matrix");
    assert_null(shell_command_find(view("s"), why, sizeof why));
    assert_non_null(strstr(why, "several"));
    assert_null(shell_command_find(view("hepl"), why, sizeof why));
    assert_non_null(strstr(why, "':help'"));
    assert_null(shell_command_find(view("xyzzy"), why, sizeof why));
    assert_null(shell_command_find((asc_view){"se\0t", 4}, why, sizeof why));
    assert_null(shell_command_find(view(""), why, sizeof why));
}

static void test_keys(void **state) {
    static const struct {
        const char *bytes;
        shell_key key;
        size_t used;
    } cases[] = {
        {"\x1b[A", KEY_UP, 3},       {"\x1b[B", KEY_DOWN, 3},     {"\x1b[C", KEY_RIGHT, 3},
        {"\x1b[D", KEY_LEFT, 3},     {"\x1bOA", KEY_UP, 3},       {"\x1bOD", KEY_LEFT, 3},
        {"\x1b[H", KEY_HOME, 3},     {"\x1b[F", KEY_END, 3},      {"\x1b[1~", KEY_HOME, 4},
        {"\x1b[4~", KEY_END, 4},     {"\x1b[5~", KEY_PAGE_UP, 4}, {"\x1b[6~", KEY_PAGE_DOWN, 4},
        {"\x1b[1;5C", KEY_RIGHT, 6}, {"\x1b[15~", KEY_NONE, 5},   {"\x1b[3~", KEY_NONE, 4},
        {"\x1b[~", KEY_NONE, 3},     {"\t", KEY_TAB, 1},          {"\r", KEY_ENTER, 1},
        {"\n", KEY_ENTER, 1},        {"\x03", KEY_INTERRUPT, 1},  {"q", KEY_INTERRUPT, 1},
        {"x", KEY_NONE, 1},          {"\x1bx", KEY_ESCAPE, 1},    {"\xc3", KEY_NONE, 1},
    };
    size_t used;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = strlen(cases[i].bytes);
        assert_int_equal(key_read(cases[i].bytes, n, false, &used), cases[i].key);
        assert_int_equal(used, cases[i].used);
        /* Torn apart by a network: every beginning waits for more. */
        for (size_t k = 1; k < n && cases[i].used == n; k++) {
            assert_int_equal(key_read(cases[i].bytes, k, false, &used), KEY_MORE);
            assert_int_equal(used, 0);
        }
    }
    assert_int_equal(key_read("\x1b", 1, true, &used), KEY_ESCAPE);
    assert_int_equal(used, 1);
    assert_int_equal(key_read("\x1b[0123456789012", KEY_MOST, false, &used), KEY_NONE);
    assert_true(used > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_words_and_values),
                                       cmocka_unit_test(test_lines_that_go_on),
                                       cmocka_unit_test(test_commands), cmocka_unit_test(test_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
