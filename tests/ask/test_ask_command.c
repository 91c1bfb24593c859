/* test_ask_command.c - the command line of a question: quoted, complete, or not at all. That it asks the same
 * is in test_ask_documents.c. */
#include "ascribe/ask.h"
#include "../harness.h"
#include "view.h"
#include <unistd.h>

#define MODEL "goldens/zoo_gguf/qwen3-q5_0/model.gguf"

static asc_status parse(asc_subject *s, const char *json, asc_question **out) {
    return asc_question_parse(s, asc_view_of(json), NULL, 0, out);
}

static void commands_ask_the_same(void **state) {
    (void)state;
    static const struct {
        const char *json, *command; /* behind the path; NULL = no options say it */
    } cases[] = {
        {"{\"prompt\": \"a b\", \"target\": \" it's\", \"steps\": 3, \"per_token\": true, \"seed\": 0}",
         " --prompt 'a b' --target ' it'\\''s' --per-token --steps 3 --seed 0"},
        {"{\"ids\": [1, 2], \"dry_run\": false, \"target\": \"--x\"}", " --ids 1,2 --target=--x"},
        {"{\"prompt\": \"a b c\", \"freeze\": [\"a\", \"c\"], \"tolerance\": 0.5, \"skip_tokens\": [3, 4]}",
         " --prompt 'a b c' --freeze a --freeze c --skip-tokens 3,4 --tolerance 0.5"},
        {"{\"template\": \"{x} b\", \"values\": {\"x\": \"a\"}}", " --template '{x} b' --values x=a"},
        {"{\"template\": \"{x} b\", \"values\": {\"x\": {\"value\": \"a\", \"baseline\": \"c\"}}}", NULL},
        {"{\"prompt\": \"a\", \"skip_tokens\": [\"<|im_start|>\", 4]}",
         " --prompt a --skip-tokens '<|im_start|>,4'"},
        {"{\"documents\": [\"a\"]}", NULL},
        {"{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}", NULL},
        {"{\"prompt\": \"a\\u0000b\"}", NULL},
        {"{\"prompt\": \"\"}", " --prompt ''"},
        {"{\"user\": \"a\", \"template_vars\": {\"x\": false, \"y\": \"3\"}}",
         " --user a --template-var x=false --template-var 'y=\"3\"'"},
        {"{\"user\": \"a\", \"tools\": []}", NULL},
    };
    asc_ctx *ctx = test_ctx("cpu", "deferred"); /* another one would be said */
    asc_subject *s = NULL;
    asc_text *t = NULL;
    assert_ok(ctx, asc_text_create(ctx, &t));
    assert_ok(ctx, asc_subject_open(ctx, MODEL, NULL, &s));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_question *q = NULL;
        assert_ok(ctx, parse(s, cases[i].json, &q));
        asc_text_clear(t);
        bool said = asc_question_command(q, t);
        assert_int_equal(said, cases[i].command != NULL);
        if (said) {
            char want[4600];
            snprintf(want, sizeof want, "ascribe explain %s%s", asc_subject_path(s), cases[i].command);
            assert_string_equal(asc_text_view(t).ptr, want);
        } else {
            assert_int_equal(asc_text_view(t).len, 0);
        }
        asc_question_destroy(q);
    }
    asc_text_destroy(t);
    asc_subject_close(s);
    test_ctx_end(ctx);
}

/* Where and how it runs belongs to the command. */
static void commands_say_where(void **state) {
    (void)state;
    asc_ctx_options o = {
        .struct_size = sizeof o, .device = "reference", .mode = "eager", .precision = "high"};
    asc_model_options mo = {.struct_size = sizeof mo, .weights = ASC_WEIGHTS_EXPANDED};
    asc_ctx *ctx = NULL;
    asc_subject *s = NULL;
    asc_question *q = NULL;
    asc_text *t = NULL;
    char want[4600];
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    assert_ok(ctx, asc_text_create(ctx, &t));
    assert_ok(ctx, asc_subject_open(ctx, MODEL, &mo, &s));
    assert_ok(ctx, parse(s, "{\"prompt\": \"a\"}", &q));
    assert_true(asc_question_command(q, t));
    snprintf(
        want, sizeof want,
        "ascribe explain %s --prompt a --device reference --mode eager --precision high --weights expanded",
        asc_subject_path(s));
    assert_string_equal(asc_text_view(t).ptr, want);
    asc_question_destroy(q);
    asc_text_destroy(t);
    asc_subject_close(s);
    test_ctx_end(ctx);
}

/* The model's path as no shell needs to have quoted, wherever this tree lies. */
static int go_to_data(void **state) {
    (void)state;
    return chdir(test_data("."));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(commands_ask_the_same),
                                       cmocka_unit_test(commands_say_where)};
    return cmocka_run_group_tests(tests, go_to_data, NULL);
}
