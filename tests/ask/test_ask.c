/* test_ask.c - questions as JSON about language models: the same bits as asc_explain, and errors that name
 * the key. */
#include "ascribe/ask.h"
#include "../harness.h"
#include "view.h"

#define MODEL "goldens/zoo_gguf/llama-q4_1/model.gguf"

static asc_status parse(asc_subject *s, const char *json, asc_question **out) {
    return asc_question_parse(s, asc_view_of(json), NULL, 0, out);
}

static void same_bits_as_explain(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_subject *s = NULL;
    asc_question *q = NULL;
    asc_answer *a = NULL;
    asc_result *r = NULL;
    const int32_t ids[] = {54, 70, 21, 59}, target[] = {193};
    asc_request req = {.struct_size = sizeof req,
                       .prompt_ids = ids,
                       .n_prompt_ids = 4,
                       .target_ids = target,
                       .n_target_ids = 1};
    assert_ok(ctx, asc_subject_open(ctx, test_data(MODEL), NULL, &s));
    assert_int_equal(asc_subject_get_kind(s), ASC_SUBJECT_DECODER);
    assert_ok(ctx, asc_subject_check_file(s));
    assert_ok(ctx, parse(s, "{\"ids\": [54, 70, 21, 59], \"target_ids\": [193]}", &q));
    assert_ok(ctx, asc_ask(s, q, &a));
    assert_ok(ctx, asc_explain(asc_subject_model(s), &req, &r));
    const asc_result *b = asc_answer_result(a);
    assert_int_equal(b->n_prompt, r->n_prompt);
    assert_memory_equal(b->scores, r->scores, r->n_prompt * sizeof *r->scores);
    assert_memory_equal(&b->value, &r->value, sizeof r->value);
    asc_result_destroy(ctx, r);
    asc_answer_destroy(a);
    asc_question_destroy(q);
    asc_subject_close(s);
    test_ctx_end(ctx);
}

static void errors_name_the_key(void **state) {
    (void)state;
    static const struct {
        const char *json, *message;
    } bad[] = {
        {"", "JSON"},
        {"[]", "no JSON object"},
        {"{\"promt\": \"a\"}", "no key \"promt\""},
        {"{\"prompt\": 1}", "\"prompt\": a string is wanted, 1 was given"},
        {"{\"prompt\": \"a\", \"label\": \"b\"}", "\"label\" is for text encoders"},
        {"{\"prompt\": \"a\", \"steps\": 0}", "\"steps\": a whole number from 1 on is wanted, 0 was given"},
        {"{\"prompt\": \"a\", \"prompt\": \"a\"}", "duplicate"},
        {"{\"prompt\": \"a\", \"target\": \"b\", \"generate\": 1}", "give one of"},
    };
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_subject *s = NULL;
    assert_ok(ctx, asc_subject_open(ctx, test_data(MODEL), NULL, &s));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        asc_question *q = NULL;
        assert_int_equal(parse(s, bad[i].json, &q), ASC_INVALID_ARGUMENT);
        assert_null(q);
        if (strstr(asc_error_message(ctx), bad[i].message) == NULL)
            fail_msg("%s: %s", bad[i].json, asc_error_message(ctx));
        assert_true(asc_error_hint(ctx)[0] != '\0');
    }
    asc_subject_close(s);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_as_explain),
        cmocka_unit_test(errors_name_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
