/* test_ask_methods.c - every method through asc_ask and through asc_explain: the same bits, or the same
 * error, on a language model and on a text encoder. */
#include "ascribe/ask.h"
#include "../harness.h"
#include "view.h"

static const int32_t ids[] = {5, 9, 30, 3};

typedef struct scene {
    const char *model, *json; /* more keys, behind "ids" and "method" */
    asc_request req;
} scene;

static int both(asc_ctx *ctx, asc_subject *s, const char *method, const scene *c) {
    char json[600], said[600];
    asc_question *q = NULL;
    asc_answer *a = NULL;
    asc_result *r = NULL;
    asc_request req = c->req;
    req.struct_size = sizeof req;
    req.prompt_ids = ids;
    req.n_prompt_ids = 4;
    req.method = method;
    const bool compares = strstr(method, "patching") != NULL && c->req.corrupted_ids != NULL;
    if (!compares) req.corrupted_ids = NULL, req.n_corrupted_ids = 0;
    snprintf(json, sizeof json, "{\"ids\": [5, 9, 30, 3], \"method\": \"%s\", \"features\": \"token\"%s%s}",
             method, c->json, compares ? ", \"corrupted_ids\": [5, 9, 31, 3]" : "");
    req.features = ASC_FEATURES_TOKEN;
    asc_status want = asc_explain(asc_subject_model(s), &req, &r);
    snprintf(said, sizeof said, "%s", want != ASC_OK ? asc_error_message(ctx) : "");
    asc_status st = asc_question_parse(s, asc_view_of(json), NULL, 0, &q);
    if (st == ASC_OK) st = asc_ask(s, q, &a);
    /* messages that name options name keys here */
    if (st != want ||
        (st != ASC_OK && strstr(said, "--") == NULL && strcmp(said, asc_error_message(ctx)) != 0))
        fail_msg("%s: %s '%s', asc_explain %s '%s'", json, asc_status_name(st),
                 st != ASC_OK ? asc_error_message(ctx) : "", asc_status_name(want), said);
    if (st == ASC_OK) {
        const asc_result *b = asc_answer_result(a);
        assert_string_equal(b->options, r->options);
        assert_memory_equal(b->scores, r->scores, r->n_prompt * sizeof *r->scores);
        assert_int_equal(b->n_inner, r->n_inner);
        if (r->n_inner > 0)
            assert_memory_equal(b->inner_scores, r->inner_scores,
                                r->n_inner * r->n_features * sizeof(double));
        if (!(b->value == r->value)) fail_msg("%s: %.17g, asc_explain %.17g", json, b->value, r->value);
    }
    asc_result_destroy(ctx, r);
    asc_answer_destroy(a);
    asc_question_destroy(q);
    return st == ASC_OK;
}

static void every_method(void **state) {
    (void)state;
    static const int32_t other[] = {5, 9, 31, 3};
    const scene scenes[] = {
        {"goldens/zoo_gguf/llama-q4_1/model.gguf",
         ", \"samples\": 20, \"stdev\": 0.1, \"rule\": \"gauss-legendre\", "
         "\"steps\": 3",
         {.samples = 20,
          .corrupted_ids = other,
          .n_corrupted_ids = 4,
          .stdev = 0.1,
          .rule = "gauss-legendre",
          .steps = 3}},
        {"encoders/electra",
         ", \"samples\": 20, \"label\": \"1\", \"stdev\": 0.1, \"rule\": \"gauss-legendre\", \"steps\": 3",
         {.samples = 20, .label = {"1", 1}, .stdev = 0.1, .rule = "gauss-legendre", .steps = 3}},
        {"encoders/bert-tokens", ", \"samples\": 20", {.samples = 20}},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_subject *s = NULL;
        int ran = 0;
        assert_ok(ctx, asc_subject_open(ctx, test_data(scenes[i].model), NULL, &s));
        assert_int_equal(asc_subject_get_kind(s), i == 0 ? ASC_SUBJECT_DECODER : ASC_SUBJECT_ENCODER);
        for (size_t m = 0; asc_method_at(m) != NULL; m++)
            ran += both(ctx, s, asc_method_at(m)->name, &scenes[i]);
        if (ran < (i == 0 ? 15 : 12)) fail_msg("%s: only %d methods ran", scenes[i].model, ran);
        asc_subject_close(s);
        test_ctx_end(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_method)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
