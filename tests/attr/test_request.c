/* test_request.c - requests that make no sense are refused before anything is made for them; options without
 * effect are said; what was asked for stands in the result. */
#include "harness.h"
#include "method.h"
#include "view.h"
#include <math.h>

#define MODEL "goldens/zoo_gguf/llama-q4_1/model.gguf"
static const int32_t ids[] = {54, 70, 21};

static asc_request request(const char *method) {
    return (asc_request){.struct_size = sizeof(asc_request),
                         .method = method,
                         .prompt_ids = ids,
                         .n_prompt_ids = 3,
                         .features = ASC_FEATURES_TOKEN};
}

static asc_status run(asc_model *m, const asc_request *q, asc_result **r) {
    asc_status st = asc_explain(m, q, r);
    assert_true((st == ASC_OK) == (*r != NULL));
    return st;
}

static void refused(asc_ctx *ctx, asc_model *m, asc_request q, const char *says) {
    asc_result *r = NULL;
    asc_error_clear(ctx);
    size_t peak = ctx->mem.peak_total;
    assert_int_equal(run(m, &q, &r), ASC_INVALID_ARGUMENT);
    if (strstr(asc_error_message(ctx), says) == NULL || asc_error_hint(ctx)[0] == '\0')
        fail_msg("'%s' expected in '%s' (%s)", says, asc_error_message(ctx), asc_error_hint(ctx));
    assert_true(ctx->mem.peak_total - peak < 1 << 24);
}

static void senseless_values(void **state) {
    (void)state;
    const char *const methods[] = {"feature-ablation", "saliency", "integrated-gradients"};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(MODEL), NULL, &m));
    for (size_t i = 0; i < 3; i++) {
        asc_request q = request(methods[i]);
        q.rule = "simpson";
        refused(ctx, m, q, "rule 'simpson'");
        q = request(methods[i]);
        q.norm = "l3";
        refused(ctx, m, q, "norm 'l3'");
        q = request(methods[i]);
        q.tolerance = (double)NAN;
        refused(ctx, m, q, "tolerance");
        q = request(methods[i]);
        q.max_seconds = -1.0;
        refused(ctx, m, q, "max_seconds");
        q = request(methods[i]);
        q.output = (asc_output)17;
        refused(ctx, m, q, "output");
        q = request(methods[i]);
        q.rule = "gauss-legendre";
        const size_t steps[] = {100001, (size_t)1 << 24, (size_t)1 << 40, SIZE_MAX / 8, SIZE_MAX};
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            q.steps = steps[k];
            q.dry_run = k % 2 == 1;
            refused(ctx, m, q, "steps");
        }
    }
    asc_model_close(m);
    test_ctx_end(ctx);
}

static bool warned(const asc_result *r, const char *what) {
    for (size_t i = 0; i < r->n_warnings; i++) {
        if (strstr(r->warnings[i], what) != NULL) return true;
    }
    return false;
}

static void options_without_effect_are_said(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(MODEL), NULL, &m));
    asc_request q = request("feature-ablation");
    asc_result *r = NULL;
    assert_ok(ctx, run(m, &q, &r));
    assert_int_equal(r->n_warnings, 0);
    asc_result_destroy(ctx, r);
    q.steps = 20;
    q.rule = "riemann-left";
    q.norm = "abs";
    q.trials = 4;
    assert_ok(ctx, run(m, &q, &r));
    assert_true(warned(r, "steps has no effect") && warned(r, "rule has no effect") &&
                warned(r, "norm has no effect") && warned(r, "trials has no effect"));
    assert_string_equal(r->rule, "");
    asc_result_destroy(ctx, r);
    q = request("integrated-gradients");
    q.steps = 20;
    q.max_evaluations = 40;
    assert_ok(ctx, run(m, &q, &r));
    assert_true(warned(r, "steps has no effect") && !warned(r, "max-evaluations has"));
    assert_string_equal(r->rule, "adaptive");
    asc_result_destroy(ctx, r);
    q.rule = "gauss-legendre";
    assert_ok(ctx, run(m, &q, &r));
    assert_true(!warned(r, "steps has") && warned(r, "max-evaluations has no effect"));
    assert_non_null(strstr(r->options, "gauss-legendre"));
    assert_non_null(strstr(r->options, "20"));
    asc_result_destroy(ctx, r);
    q = request("attention-rollout");
    q.output = ASC_OUTPUT_PROB;
    assert_ok(ctx, run(m, &q, &r));
    assert_true(warned(r, "output has no effect"));
    asc_result_destroy(ctx, r);
    q.method = "lime";
    assert_ok(ctx, run(m, &q, &r));
    assert_int_equal(r->n_warnings, 0);
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* A second prompt that nothing looks at, and an answer against itself: questions without an answer. */
static void questions_without_an_answer(void **state) {
    (void)state;
    static const int32_t other[] = {5, 6, 7}, answer[] = {8, 3}, longer[] = {8, 3, 4};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    asc_result *r = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(MODEL), NULL, &m));
    for (size_t i = 0; asc_method_at(i) != NULL; i++) {
        asc_request q = request(asc_method_at(i)->name);
        q.corrupted_ids = other;
        q.n_corrupted_ids = 3;
        if (!asc_method_traits_at(i).prompts || strstr(q.method, "patching") != NULL) continue;
        refused(ctx, m, q, "no other prompt");
        assert_non_null(strstr(asc_error_hint(ctx), "attribution-patching, activation-patching"));
        q.corrupted_ids = NULL;
        q.corrupted = asc_view_of("x");
        refused(ctx, m, q, "no other prompt");
    }
    asc_request q = request("feature-ablation");
    q.target_ids = q.versus_ids = answer;
    q.n_target_ids = q.n_versus_ids = 2;
    for (int dry = 0; dry < 2; dry++) {
        q.dry_run = dry == 1;
        refused(ctx, m, q, "itself");
    }
    q.versus_ids = longer;
    q.n_versus_ids = 3;
    q.dry_run = false;
    assert_ok(ctx, run(m, &q, &r));
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* However long an answer is asked for, the model stops at its context: so must its price. */
static void price_of_a_long_answer(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    asc_result *r = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(MODEL), NULL, &m));
    size_t context = (size_t)asc_model_get_info(m).context_length;
    asc_request q = request("saliency");
    q.dry_run = true;
    q.generate = SIZE_MAX;
    assert_ok(ctx, run(m, &q, &r));
    assert_int_equal(r->n_target, context + 1 - 3);
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* A target is what follows the prompt in one text. This tokenizer puts a space before every text it is given,
 * which must not come between the two; a prompt of ids goes on in the same way. */
static void targets_continue_the_prompt(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    asc_token *t = NULL;
    size_t n = 0, n_prompt = 0;
    assert_ok(ctx, asc_model_open(ctx, test_data(MODEL), NULL, &m));
    const asc_tokenizer *tk = asc_model_tokenizer(m);
    assert_true(asc_tokenizer_get_info(tk).add_space_prefix);
    asc_tokenize_options o = {.struct_size = sizeof o, .add_bos_eos = true};
    assert_ok(ctx, asc_tokenize(ctx, tk, asc_view_of("The end"), &o, &t, &n_prompt));
    asc_tokens_free(ctx, t);
    assert_ok(ctx, asc_tokenize(ctx, tk, asc_view_of("The end the"), &o, &t, &n));
    assert_true(n > n_prompt);
    int32_t all[64];
    for (size_t i = 0; i < n; i++) all[i] = t[i].id;
    asc_tokens_free(ctx, t);
    for (int by_ids = 0; by_ids < 2; by_ids++) {
        asc_result *r = NULL;
        asc_request q = {
            .struct_size = sizeof q, .target = asc_view_of(" the"), .versus = asc_view_of(" the the")};
        if (by_ids) {
            q.prompt_ids = all;
            q.n_prompt_ids = n_prompt;
        } else {
            q.prompt = asc_view_of("The end");
        }
        assert_ok(ctx, run(m, &q, &r));
        assert_int_equal(r->n_target, n - n_prompt);
        assert_memory_equal(r->target_ids, all + n_prompt, (n - n_prompt) * sizeof *all);
        assert_string_equal(r->target, " the");
        assert_string_equal(r->versus, " the the");
        asc_result_destroy(ctx, r);
    }
    asc_request q = {
        .struct_size = sizeof q, .prompt = asc_view_of("The end t"), .target = asc_view_of("he")};
    refused(ctx, m, q, "merge");
    q.target = asc_view_make("", 0);
    refused(ctx, m, q, "empty");
    asc_model_close(m);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_continue_the_prompt), cmocka_unit_test(senseless_values),
        cmocka_unit_test(options_without_effect_are_said), cmocka_unit_test(questions_without_an_answer),
        cmocka_unit_test(price_of_a_long_answer)};
    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
