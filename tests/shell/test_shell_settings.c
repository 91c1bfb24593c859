/* test_shell_settings.c - words as values of keys, undo and redo, completion, the file of typed lines. */
#include "../harness.h"
#include "complete.h"
#include "history_file.h"
#include "past.h"
#include "settings.h"
#include <sys/stat.h>
#include <unistd.h>

static asc_view view(const char *s) { return (asc_view){s, strlen(s)}; }

/* The value of a key as JSON text; NULL: refused. */
static char *value(asc_ctx *ctx, const char *key, unsigned subjects, const char *text) {
    char why[1200];
    const asc_question_key *k = settings_key(view(key), subjects);
    assert_non_null(k);
    json_t *j = settings_value(ctx, k, view(text), why, sizeof why);
    if (j == NULL && why[0] == '\0') fail_msg("%s: refused without a reason", key);
    char *s = j != NULL ? json_dumps(j, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    json_decref(j);
    return s;
}

static void test_values(void **state) {
    static const struct {
        const char *key;
        unsigned subjects;
        const char *text, *json;
    } cases[] = {
        {"target", ASC_KEY_PROMPTS, "Paris", "\"Paris\""},
        {"target", ASC_KEY_PROMPTS, "\" Paris\"", "\" Paris\""},
        {"target", ASC_KEY_PROMPTS, "12", "\"12\""},
        {"target", ASC_KEY_NETS, "12", "12"},
        {"target", ASC_KEY_NETS, "cat", "\"cat\""},
        {"target-ids", ASC_KEY_PROMPTS, "3, 4 5", "[3,4,5]"},
        {"steps", ASC_KEY_PROMPTS, "7", "7"},
        {"steps", ASC_KEY_PROMPTS, "many", "\"many\""},
        {"tolerance", ASC_KEY_PROMPTS, "1%", "\"1%\""},
        {"tolerance", ASC_KEY_PROMPTS, "0.25", "0.25"},
        {"memory", ASC_KEY_PROMPTS, "512M", "\"512M\""},
        {"per_token", ASC_KEY_PROMPTS, "on", "true"},
        {"per_token", ASC_KEY_PROMPTS, "off", "false"},
        {"per_token", ASC_KEY_PROMPTS, "maybe", NULL},
        {"baseline", ASC_KEY_PROMPTS, "token:5", "\"token:5\""},
        {"freeze", ASC_KEY_PROMPTS, "[\"a\", \"b\"]", "[\"a\",\"b\"]"},
        {"freeze", ASC_KEY_PROMPTS, "[\"a\"", NULL},
        {"input", ASC_KEY_NETS, "0.5", "0.5"},
        {"input", ASC_KEY_NETS, "[[1, 2]]", "[[1,2]]"},
        {"input", ASC_KEY_NETS, "none.npy", NULL},
        {"input", ASC_KEY_NETS, "none.txt", NULL},
        {"window", ASC_KEY_NETS, "3x16x16", "\"3x16x16\""},
        {"image", ASC_KEY_NETS, "none.png", NULL},
        {"target", ASC_KEY_PROMPTS, "\"not ended", NULL},
        {"target", ASC_KEY_PROMPTS, "\xff", NULL},
    };
    asc_ctx *ctx = test_ctx(NULL, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = value(ctx, cases[i].key, cases[i].subjects, cases[i].text);
        if (cases[i].json == NULL)
            assert_null(got);
        else if (got == NULL || strcmp(got, cases[i].json) != 0)
            fail_msg("%s %s: %s, not %s", cases[i].key, cases[i].text, got != NULL ? got : "refused",
                     cases[i].json);
        free(got);
    }
    test_ctx_end(ctx);
}

static void test_names(void **state) {
    char why[200];
    (void)state;
    assert_string_equal(settings_key(view("max-evaluations"), ASC_KEY_PROMPTS)->name, "max_evaluations");
    assert_null(settings_key(view("image"), ASC_KEY_PROMPTS));
    settings_explain_unknown(view("image"), ASC_KEY_PROMPTS, why, sizeof why);
    assert_non_null(strstr(why, "this kind of model"));
    settings_explain_unknown(view("stepz"), ASC_KEY_PROMPTS, why, sizeof why);
    assert_non_null(strstr(why, "'steps'"));
    assert_true(settings_is_choice("a|token:ID|b", "token:7"));
    assert_true(settings_is_choice("a|token:ID|b", "b"));
    assert_false(settings_is_choice("a|token:ID|b", "ab"));
    assert_false(settings_is_choice("a|b", ""));
}

/* ---- moments ---- */

static void push(shell_past *p, const char *key, int v, turn *last) {
    json_t *s = json_copy(past_now(p)->settings);
    json_object_set_new(s, key, json_integer(v));
    past_push(p, s, last);
}

static json_int_t at(const shell_past *p, const char *key) {
    return json_integer_value(json_object_get(past_now(p)->settings, key));
}

static void test_undo(void **state) {
    asc_ctx *ctx = test_ctx(NULL, NULL);
    shell_past p;
    asc_text *said = NULL;
    (void)state;
    assert_ok(ctx, asc_text_create(ctx, &said));
    assert_true(past_init(&p));
    assert_false(past_undo(&p));
    push(&p, "steps", 1, NULL);
    turn *t = turn_create();
    t->prompt = strdup("hello");
    t->prompt_len = 5;
    push(&p, "steps", 2, t);
    turn_release(t);
    assert_int_equal(at(&p, "steps"), 2);
    assert_non_null(past_now(&p)->last);
    past_difference(&p.v[1], &p.v[2], said);
    assert_string_equal(asc_text_view(said).ptr, "the prompt \"hello\", steps");
    assert_true(past_undo(&p));
    assert_int_equal(at(&p, "steps"), 1);
    assert_null(past_now(&p)->last);
    assert_true(past_redo(&p));
    assert_string_equal(past_now(&p)->last->prompt, "hello");
    assert_false(past_redo(&p));
    assert_true(past_undo(&p));
    push(&p, "alpha", 7, NULL); /* what could have been had back is gone */
    assert_false(past_redo(&p));
    assert_int_equal(p.n, 3);
    for (int i = 0; i < 3 * PAST_MOST; i++) push(&p, "i", i, NULL);
    assert_int_equal(p.n, PAST_MOST);
    assert_int_equal(at(&p, "i"), 3 * PAST_MOST - 1);
    int undone = 0;
    while (past_undo(&p)) undone++;
    assert_int_equal(undone, PAST_MOST - 1);
    past_deinit(&p);
    asc_text_destroy(said);
    test_ctx_end(ctx);
}

/* A conversation is a chain of references; a long one is let go without a call for each. */
static void test_long_chain(void **state) {
    turn *last = NULL;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        turn *t = turn_create();
        t->before = last;
        last = t;
    }
    turn *kept = turn_retain(last->before);
    turn_release(last);
    assert_int_equal(kept->references, 1);
    turn_release(kept);
}

/* ---- completion ---- */

static void completes(const char *line, unsigned subjects, const char *want, size_t start) {
    completion c;
    char got[4096] = "";
    complete_line(view(line), subjects, &c);
    for (size_t i = 0; i < c.n && i < 20; i++) {
        strcat(got, i > 0 ? " " : "");
        strncat(got, c.v[i], 100);
    }
    if (strcmp(got, want) != 0) fail_msg("'%s': '%s', not '%s'", line, got, want);
    if (want[0] != '\0') assert_int_equal(c.start, start);
    completion_free(&c);
}

static void test_completion(void **state) {
    completion c;
    (void)state;
    completes("hello wor", ASC_KEY_PROMPTS, "", 0);
    completes(":ma", ASC_KEY_PROMPTS, ":matrix", 0);
    completes(":ma", ASC_KEY_NETS, "", 0);
    completes(":chat o", ASC_KEY_PROMPTS, "off on", 6);
    completes(":chat on o", ASC_KEY_PROMPTS, "", 0);
    completes(":method li", ASC_KEY_PROMPTS, "lime", 8);
    completes(":method occ", ASC_KEY_PROMPTS, "", 0);
    completes(":method occ", ASC_KEY_NETS, "occlusion", 8);
    completes(":set max_e", ASC_KEY_PROMPTS, "max_evaluations", 5);
    completes(":set features s", ASC_KEY_PROMPTS, "sentence slot", 14);
    completes(":set baseline t", ASC_KEY_PROMPTS, "token:", 14);
    completes(":help qu", ASC_KEY_PROMPTS, "quit", 6);
    complete_line(view(":method "), ASC_KEY_PROMPTS, &c);
    assert_true(c.n > 5);
    assert_int_equal(completion_common(&c), 0);
    completion_free(&c);
    complete_line(view(":method g"), ASC_KEY_PROMPTS, &c);
    assert_int_equal(completion_common(&c), strlen("gradient-"));
    completion_free(&c);
}

static void test_file_names(void **state) {
    char folder[TEST_TMP], line[TEST_PATH], path[TEST_PATH];
    completion c;
    (void)state;
    assert_non_null(mkdtemp(test_tmp_name(folder, "ascribe_completeXXXXXX")));
    snprintf(path, sizeof path, "%s/inner", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(line, sizeof line, ":save %s/i", folder);
    complete_line(view(line), ASC_KEY_PROMPTS, &c);
    assert_int_equal(c.n, 1);
    assert_string_equal(c.v[0], "inner/");
    assert_true(c.file);
    assert_int_equal(c.start, strlen(line) - 1);
    completion_free(&c);
    rmdir(path);
    rmdir(folder);
}

/* ---- history ---- */

typedef struct taken {
    size_t n;
    char last[100];
} taken;

static void take(void *self, asc_view line) {
    taken *t = self;
    t->n++;
    snprintf(t->last, sizeof t->last, "%.*s", (int)line.len, line.ptr);
}

static void test_history(void **state) {
    char folder[TEST_TMP], path[2 * TEST_PATH], inner[TEST_PATH], command[2 * TEST_PATH];
    asc_ctx *ctx = test_ctx(NULL, NULL);
    struct stat st;
    taken t = {0};
    (void)state;
    assert_non_null(mkdtemp(test_tmp_name(folder, "ascribe_historyXXXXXX")));
    snprintf(inner, sizeof inner, "%s/a", folder);
    snprintf(path, sizeof path, "%s/b/history", inner);
    assert_ok(ctx, history_read(ctx, path, take, &t)); /* not there: empty */
    assert_int_equal(t.n, 0);
    assert_ok(ctx, history_add(ctx, path, view("two\nlines \\n")));
    assert_ok(ctx, history_add(ctx, path, view("two\nlines \\n"))); /* again: once is enough */
    assert_ok(ctx, history_add(ctx, path, view(" secret")));
    assert_ok(ctx, history_read(ctx, path, take, &t));
    assert_int_equal(t.n, 1);
    assert_string_equal(t.last, "two\nlines \\n");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(inner, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    for (int i = 0; i < HISTORY_LINES + 50; i++) {
        char line[40];
        snprintf(line, sizeof line, "line %d", i);
        assert_ok(ctx, history_add(ctx, path, view(line)));
    }
    t = (taken){0};
    assert_ok(ctx, history_read(ctx, path, take, &t));
    assert_int_equal(t.n, HISTORY_LINES);
    snprintf(command, sizeof command, "line %d", HISTORY_LINES + 49);
    assert_string_equal(t.last, command);
    snprintf(command, sizeof command, "ls -A %s/b | wc -l | grep -qx 1", inner);
    assert_int_equal(system(command), 0); /* no temporary file is left */
    char *longest = malloc(HISTORY_LONGEST + 2);
    memset(longest, 'x', HISTORY_LONGEST + 1);
    assert_ok(ctx, history_add(ctx, path, (asc_view){longest, HISTORY_LONGEST + 1}));
    free(longest);
    assert_ok(ctx, history_read(ctx, path, take, &t));
    assert_int_equal(t.n, 2 * HISTORY_LINES);
    assert_int_not_equal(history_add(ctx, "/proc/none/history", view("x")), ASC_OK);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),     cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_undo),       cmocka_unit_test(test_long_chain),
                                       cmocka_unit_test(test_completion), cmocka_unit_test(test_file_names),
                                       cmocka_unit_test(test_history)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
