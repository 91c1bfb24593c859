/* test_other_locale.c - a process whose language writes "0,5" (a Python script that calls locale.setlocale, a
 * desktop program) gets the same documents, programs, tables and templates as any other. */
#include "ascribe/ask.h"
#include "../harness.h"
#include "ascribe/inputs.h"
#include "jinja.h"
#include "plain.h"
#include "program.h"
#include "view.h"
#include <locale.h>
#include <math.h>

/* A locale of our own, of numbers with a comma and months without names: Debian has few installed. localedef
 * comes with the C library; without it the tests are skipped. */
static bool found;

static int make_locale(void **state) {
    char folder[512], line[2000];
    (void)state;
    snprintf(folder, sizeof folder, "%s/ascribe-locale-XXXXXX", test_tmp());
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(line, sizeof line,
             "cd '%s' && printf 'comment_char %%%%\\nescape_char /\\nLC_NUMERIC\\ndecimal_point \",\"\\n"
             "thousands_sep \"\"\\ngrouping -1\\nEND LC_NUMERIC\\n' >comma.src && "
             "localedef -c -f ANSI_X3.4-1968 -i comma.src ./comma >log 2>&1; true",
             folder);
    if (system(line) != 0) return -1;
    setenv("LOCPATH", folder, 1);
    found = setlocale(LC_ALL, "comma") != NULL; /* what is loaded stays loaded */
    setlocale(LC_ALL, "C");
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    return system(line);
}

/* What a test printed before the process chose its language, and after. */
static void twice(void (*print)(asc_ctx *, asc_strbuf *)) {
    if (!found) skip();
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_strbuf before, after;
    char half[8];
    setlocale(LC_ALL, "C"); /* after one that failed */
    asc_strbuf_init(&before, ctx);
    asc_strbuf_init(&after, ctx);
    print(ctx, &before);
    assert_non_null(setlocale(LC_ALL, "comma"));
    snprintf(half, sizeof half, "%.1f", 0.5);
    assert_string_equal(half, "0,5");
    print(ctx, &after);
    snprintf(half, sizeof half, "%.1f", 0.5);
    assert_string_equal(half, "0,5"); /* the process' own choice is left as it was */
    setlocale(LC_ALL, "C");
    assert_ok(ctx, asc_strbuf_status(&before));
    assert_ok(ctx, asc_strbuf_status(&after));
    assert_true(before.len > 0);
    assert_string_equal(after.ptr, before.ptr);
    asc_strbuf_deinit(&before);
    asc_strbuf_deinit(&after);
    test_ctx_end(ctx);
}

static void plain(asc_ctx *ctx, asc_strbuf *out) {
    char text[64], *end;
    const struct tm date = {.tm_year = 124, .tm_mon = 6, .tm_mday = 26, .tm_wday = 5, .tm_yday = 207};
    (void)ctx;
    assert_int_equal(asc_snprintf(text, sizeof text, "%g %.2e", 0.5, 1.25), 12);
    asc_strbuf_adds(out, text);
    assert_true(fabs(asc_strtod("1.5x", &end) - 1.5) < 1e-15 && *end == 'x');
    assert_true(fabsf(asc_strtof("1.5x", &end) - 1.5f) < 1e-6f && *end == 'x');
    assert_true(asc_strftime(text, sizeof text, " %d %B %a", &date) > 0);
    asc_strbuf_adds(out, text);
    assert_string_equal(out->ptr, "0.5 1.25e+00 26 July Fri");
    assert_int_equal(asc_strncasecmp("PosItive", "positIve", 8), 0);
}

/* The time and memory that an answer took, and what the file says of it, differ from run to run. */
static void without_measures(const char *json, asc_strbuf *out) {
    static const char *const keys[] = {"_seconds\":", "\"seconds\":", "_bytes\":"};
    while (*json != '\0') {
        size_t n = strcspn(json, "\n");
        bool keep = true;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            keep = keep && memmem(json, n, keys[i], strlen(keys[i])) == NULL;
        if (keep) asc_strbuf_addv(out, asc_view_make(json, n + (json[n] == '\n')));
        json += n + (json[n] == '\n');
    }
}

static void answer(asc_ctx *ctx, asc_strbuf *out) {
    asc_subject *s = NULL;
    asc_question *q = NULL;
    asc_answer *a = NULL;
    asc_text *json = NULL, *command = NULL;
    assert_ok(ctx, asc_text_create(ctx, &json));
    assert_ok(ctx, asc_text_create(ctx, &command));
    assert_ok(ctx, asc_subject_open(ctx, test_data("goldens/zoo_gguf/llama-q8_0/model.gguf"), NULL, &s));
    assert_ok(ctx, asc_question_parse(s,
                                      asc_view_of("{\"prompt\": \"one two\", \"method\": "
                                                  "\"kernel-shap\", \"samples\": 9, \"seed\": 5, "
                                                  "\"tolerance\": 0.125, \"features\": \"token\"}"),
                                      NULL, 0, &q));
    assert_ok(ctx, asc_ask(s, q, &a));
    asc_answer_json(a, json);
    assert_ok(ctx, asc_text_status(json));
    without_measures(asc_text_view(json).ptr, out);
    asc_question_command(q, command);
    asc_strbuf_addv(out, asc_text_view(command));
    assert_non_null(strstr(out->ptr, "0.125"));
    asc_text_destroy(json);
    asc_text_destroy(command);
    asc_answer_destroy(a);
    asc_question_destroy(q);
    asc_subject_close(s);
}

static void program_text(asc_ctx *ctx, asc_strbuf *out) {
    asc_program p;
    assert_ok(ctx, asc_program_parse(ctx,
                                     asc_view_of("%0 = input f32 [2,3]\n"
                                                 "%1 = scale f32 [2,3] %0 {factor=0.3}\n"
                                                 "return %1\n"),
                                     &p));
    asc_program_print(&p, out);
    asc_program_deinit(&p);
}

static void table(asc_ctx *ctx, asc_strbuf *out) {
    asc_table t;
    assert_ok(ctx, asc_csv_parse(ctx, asc_view_of("a,b\n0.25,1e-3\n"), NULL, 0, &t));
    asc_strbuf_addf(out, "%.17g %.17g", ((const double *)t.values.data)[0],
                    ((const double *)t.values.data)[1]);
    asc_table_free(ctx, &t);
}

static void template(asc_ctx *ctx, asc_strbuf *out) {
    asc_jinja j;
    asc_jinja_init(&j, ctx);
    assert_ok(ctx, asc_jinja_render(&j, asc_view_of("{{ 1.5 + 0.25 }} {{ '2.5' | float }} "
                                                    "{{ 2.345 | round(2) }} {{ strftime_now('%B') }}")));
    asc_strbuf_addv(out, asc_strbuf_view(&j.out));
    asc_jinja_deinit(&j);
}

static void plain_functions(void **state) { (void)state, twice(plain); }
static void answers(void **state) { (void)state, twice(answer); }
static void programs(void **state) { (void)state, twice(program_text); }
static void tables(void **state) { (void)state, twice(table); }
static void templates(void **state) { (void)state, twice(template); }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain_functions), cmocka_unit_test(answers),
                                       cmocka_unit_test(programs), cmocka_unit_test(tables),
                                       cmocka_unit_test(templates)};
    return cmocka_run_group_tests(tests, make_locale, NULL);
}
