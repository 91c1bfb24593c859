/* test_encoder_heads.c - masked words and answers in a text, against transformers in f64
 * (scripts/refs/encoder_head_fixtures.py): scores, log-probabilities, gradients, words replaced; and
 * questions that make no sense. */
#include "ascribe/attr.h"
#include "encoder_cases.h"
#include "model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 128 };
/* As in test_encoder.c; a sum over two places rounds twice. */
static const double TOLERANCE = 4e-5;

static const char *const names[] = {
    "bert-words",      "roberta-words",       "distilbert-words", "modernbert-words",
    "electra-words",   "mpnet-words",         "bert-span",        "roberta-span",
    "distilbert-span", "modernbert-span",     "albert-words",     "electra-small-words",
    "deberta-words",   "deberta-later-words", "deberta-v1-words", "deberta-v1-later-words",
    "albert-span",     "deberta-span"};

static asc_model *open_head(asc_ctx *ctx, const char *name) {
    char folder[TEST_TMP];
    snprintf(folder, sizeof folder, "heads/%s", name);
    return encoder_open(ctx, folder);
}

static asc_json *case_of(asc_ctx *ctx, const char *name) {
    char folder[TEST_TMP];
    snprintf(folder, sizeof folder, "heads/%s", name);
    return encoder_case(ctx, folder);
}

static void same(double got, double want, double tol, const char *name, const char *what, size_t i) {
    if (!(fabs(got - want) <= tol)) fail_msg("%s, %s %zu: %.9g, expected %.9g", name, what, i, got, want);
}

/* One case by one method; the frame's tokens are no features, so they are looked at where scores are by
 * token. */
static void explain_case(asc_ctx *ctx, asc_model *m, const asc_json *c, const char *name, const char *method,
                         const char *key) {
    int32_t ids[MAX], types[MAX], target[MAX];
    asc_result *r;
    asc_request q = {.struct_size = sizeof q, .method = method, .features = ASC_FEATURES_TOKEN};
    const asc_json *want = asc_json_get(c, key);
    const bool words = asc_json_get(c, "target_ids") != NULL,
               ablation = strcmp(method, "feature-ablation") == 0;
    if (words) {
        q.prompt_ids = ids;
        q.n_prompt_ids = encoder_ids(asc_json_get(c, "input_ids"), ids);
        q.target_ids = target;
        q.n_target_ids = encoder_ids(asc_json_get(c, "target_ids"), target);
        if (encoder_ids(asc_json_get(c, "token_type_ids"), types) > 0) q.prompt_types = types;
    } else { /* the case's ids: its tokens are words, [CLS] A [SEP] B [SEP] */
        q.prompt = asc_view_of("rain film");
        q.second = asc_view_of("a old w12 about");
        q.target = asc_view_of("old w12");
    }
    if (ablation) {
        q.baseline = strcmp(key, "lost_hidden") == 0 ? ASC_BASELINE_MASK : ASC_BASELINE_TOKEN;
        q.baseline_token = 0;
    }
    if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s, %s: %s", name, method, asc_error_message(ctx));
    assert_string_equal(r->answer_kind, words ? "word" : "span");
    same(r->value, asc_json_num(asc_json_get(c, "logprob"), NAN), TOLERANCE, name, "logprob", 0);
    assert_int_equal(r->n_prompt, asc_json_len(want));
    for (size_t i = 0; i < r->n_features; i++) {
        const size_t at = r->features[i].first_token;
        assert_true(r->prompt_ids[at] > 4); /* neither frame nor mask */
        same(r->features[i].score, asc_json_num(asc_json_at(want, at), NAN), 10 * TOLERANCE, name, key, at);
    }
    asc_result_destroy(ctx, r);
}

static void test_numbers(void **state) {
    asc_ctx *ctx = *state;
    static const char *const methods[][2] = {{"saliency", "saliency_l2"},
                                             {"input-x-gradient", "input_x_gradient"},
                                             {"feature-ablation", "lost_with_token_0"},
                                             {"feature-ablation", "lost_hidden"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        asc_json *root = case_of(ctx, names[i]);
        asc_model *m = open_head(ctx, names[i]);
        const asc_json *cases = asc_json_get(root, "cases");
        for (size_t k = 0; k < asc_json_len(cases); k++) {
            const asc_json *c = asc_json_at(cases, k), *logits = asc_json_get(c, "logits");
            int32_t ids[MAX], at[MAX], types[MAX];
            static float z[MAX * 40];
            size_t n = encoder_ids(asc_json_get(c, "input_ids"), ids), n_at = 0,
                   n_types = encoder_ids(asc_json_get(c, "token_type_ids"), types);
            for (size_t t = 0; t < n; t++) {
                if (logits == NULL || ids[t] == 4) at[n_at++] = (int32_t)t;
            }
            assert_int_equal(asc_model_score_tokens(m, ids, n_types > 0 ? types : NULL, n, at, n_at, z),
                             ASC_OK);
            for (size_t t = 0; t < n_at; t++) {
                for (size_t v = 0; logits != NULL && v < 40; v++)
                    same((double)z[t * 40 + v], asc_json_num(asc_json_at(asc_json_at(logits, t), v), NAN),
                         TOLERANCE, names[i], "logit", v);
                for (size_t v = 0; logits == NULL && v < 2; v++)
                    same((double)z[t * 2 + v],
                         asc_json_num(asc_json_at(asc_json_get(c, v == 0 ? "start_logits" : "end_logits"), t),
                                      NAN),
                         TOLERANCE, names[i], "logit", t);
            }
            for (size_t w = 0; w < 4; w++)
                if (asc_json_get(c, methods[w][1]) != NULL)
                    explain_case(ctx, m, c, names[i], methods[w][0], methods[w][1]);
        }
        asc_json_free(root);
        asc_model_close(m);
    }
}

/* Without a target the likeliest word, or answer, is explained, and the likeliest are listed. */
static void test_likeliest(void **state) {
    asc_ctx *ctx = *state;
    asc_result *r, *again;
    asc_model *m = open_head(ctx, "bert-words");
    asc_request q = {.struct_size = sizeof q, .prompt = asc_view_of("a [MASK] film about rain")};
    if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    assert_int_equal(r->n_target, 1);
    assert_int_equal(r->n_features, 4); /* all words but the mask */
    assert_int_equal(r->target_ids[0], r->top[0].id);
    assert_true(fabs(r->target_prob - r->top[0].prob) < 1e-6);
    for (size_t i = 1; i < r->n_top; i++) assert_true(r->top[i].prob <= r->top[i - 1].prob);
    q.target = asc_view_of(r->top_labels[1]);
    q.versus = asc_view_of(r->top_labels[0]);
    if (asc_explain(m, &q, &again) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    assert_true(fabs(again->value - log(r->top[1].prob / r->top[0].prob)) < 1e-5);
    asc_result_destroy(ctx, r);
    asc_result_destroy(ctx, again);
    /* words left out move the mask; the value is that of the shorter text */
    q = (asc_request){.struct_size = sizeof q,
                      .prompt = asc_view_of("a [MASK] film about rain"),
                      .target = asc_view_of("great"),
                      .baseline = ASC_BASELINE_REMOVE};
    if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    q.prompt = asc_view_of("[MASK] film about rain");
    if (asc_explain(m, &q, &again) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    assert_true(fabs(r->features[0].score - (r->value - again->value)) < 2e-5);
    asc_result_destroy(ctx, r);
    asc_result_destroy(ctx, again);
    asc_model_close(m);

    m = open_head(ctx, "bert-span");
    q = (asc_request){.struct_size = sizeof q,
                      .prompt = asc_view_of("rain film"),
                      .second = asc_view_of("a old w12 about")};
    if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    assert_int_equal(r->n_top, 5);
    assert_string_equal(r->target, r->top_labels[0]);
    assert_true(fabs(r->target_prob - r->top[0].prob) < 1e-6);
    q.target = asc_view_of(r->top_labels[1]);
    q.versus = asc_view_of(r->top_labels[0]);
    if (asc_explain(m, &q, &again) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    assert_true(fabs(again->value - log(r->top[1].prob / r->top[0].prob)) < 2e-5);
    asc_result_destroy(ctx, r);
    asc_result_destroy(ctx, again);
    asc_model_close(m);
}

/* Methods that run many texts, in both modes, priced and not. */
static void test_methods(void **state) {
    static const char *const methods[] = {"feature-ablation", "integrated-gradients",
                                          "kernel-shap",      "shapley-value-sampling",
                                          "deep-lift",        "lrp",
                                          "hierarchical"};
    (void)state;
    for (size_t k = 0; k < 2 * sizeof methods / sizeof *methods; k++) {
        double seen[2][8] = {{0}};
        for (int mode = 0; mode < 2; mode++) {
            asc_ctx_options o = {.struct_size = sizeof o, .mode = mode == 0 ? "deferred" : "compiled"};
            asc_ctx *ctx;
            asc_result *r;
            assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
            asc_model *m = open_head(ctx, k % 2 == 0 ? "modernbert-words" : "bert-span");
            asc_request q = {.struct_size = sizeof q, .method = methods[k / 2], .seed = 3};
            if (k % 2 == 0) {
                q.prompt = asc_view_of("a [MASK] film about [MASK], not old");
                q.target = asc_view_of("great rain");
                q.versus = asc_view_of("old houses");
            } else {
                q.prompt = asc_view_of("rain film");
                q.second = asc_view_of("a old w12 about");
                q.target = asc_view_of("old w12");
                q.versus = asc_view_of("a");
            }
            if (strcmp(methods[k / 2], "integrated-gradients") == 0) q.rule = "gauss-legendre", q.steps = 8;
            if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s: %s", methods[k / 2], asc_error_message(ctx));
            assert_true(r->n_features <= 8);
            for (size_t i = 0; i < r->n_features; i++) seen[mode][i] = r->features[i].score;
            asc_result_destroy(ctx, r);
            q.dry_run = true;
            if (asc_explain(m, &q, &r) != ASC_OK)
                fail_msg("%s, priced: %s", methods[k / 2], asc_error_message(ctx));
            asc_result_destroy(ctx, r);
            asc_model_close(m);
            asc_ctx_destroy(ctx);
        }
        assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
    }
}

static void test_wrong_questions(void **state) {
    asc_ctx *ctx = *state;
    static const struct {
        const char *model, *text, *second, *target, *versus, *label;
        asc_baseline baseline;
        const char *says;
    } bad[] = {
        {"bert-words", "a great film", NULL, NULL, NULL, NULL, ASC_BASELINE_AUTO, "hides no word"},
        {"bert-words", "a [MASK] film", NULL, "great old", NULL, NULL, ASC_BASELINE_AUTO,
         "2 tokens for 1 mask"},
        {"bert-words", "a [MASK] [MASK]", NULL, "great", NULL, NULL, ASC_BASELINE_AUTO,
         "1 tokens for 2 mask"},
        {"bert-words", "a [MASK] film", NULL, "great", "great", NULL, ASC_BASELINE_AUTO, "itself"},
        {"bert-words", "a [MASK] film", NULL, NULL, NULL, "great", ASC_BASELINE_AUTO, "no classes"},
        {"bert-words", "[MASK]", NULL, NULL, NULL, NULL, ASC_BASELINE_AUTO, "nothing but [MASK]"},
        {"bert-words", "[MASK] [MASK]", NULL, "great old", NULL, NULL, ASC_BASELINE_AUTO, "nothing but"},
        {"bert-span", "rain", "a old film", "", "", NULL, ASC_BASELINE_AUTO, "itself"},
        {"bert-span", "rain", "a old film", "houses", NULL, NULL, ASC_BASELINE_AUTO, "no answer"},
        {"bert-span", "rain", "a old film", "rain", NULL, NULL, ASC_BASELINE_AUTO, "no answer"},
        {"bert-span", "rain", "a old film", "old", "old", NULL, ASC_BASELINE_AUTO, "itself"},
        {"bert-span", "rain", "a old film", "old", NULL, "old", ASC_BASELINE_AUTO, "no classes"},
        {"bert-span", "rain", "a old film", "old", NULL, NULL, ASC_BASELINE_REMOVE, "shorter"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        asc_result *r;
        asc_model *m = open_head(ctx, bad[i].model);
        asc_request q = {.struct_size = sizeof q,
                         .prompt = asc_view_of(bad[i].text),
                         .second = {bad[i].second, bad[i].second != NULL ? strlen(bad[i].second) : 0},
                         .target = {bad[i].target, bad[i].target != NULL ? strlen(bad[i].target) : 0},
                         .versus = {bad[i].versus, bad[i].versus != NULL ? strlen(bad[i].versus) : 0},
                         .label = {bad[i].label, bad[i].label != NULL ? strlen(bad[i].label) : 0},
                         .baseline = bad[i].baseline};
        assert_true(asc_explain(m, &q, &r) != ASC_OK);
        if (strstr(asc_error_message(ctx), bad[i].says) == NULL)
            fail_msg("case %zu: no '%s' in: %s", i, bad[i].says, asc_error_message(ctx));
        assert_true(asc_error_hint(ctx)[0] != '\0');
        asc_model_close(m);
    }
}

static double log_share(const asc_json *logits, size_t which) {
    double sum = 0.0;
    for (size_t i = 0; i < asc_json_len(logits); i++) sum += exp(asc_json_num(asc_json_at(logits, i), NAN));
    return asc_json_num(asc_json_at(logits, which), NAN) - log(sum);
}

/* An empty answer is that there is none: both ends on the first token (transformers multiplies the same two
 * shares where it handles impossible answers). */
static void test_no_answer(void **state) {
    static const char *const spans[] = {"bert-span", "roberta-span", "distilbert-span", "modernbert-span"};
    asc_ctx *ctx = *state;
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        asc_json *root = case_of(ctx, spans[i]);
        asc_model *m = open_head(ctx, spans[i]);
        const asc_json *c = asc_json_at(asc_json_get(root, "cases"), 0);
        const double want = log_share(asc_json_get(c, "start_logits"), 0) +
                            log_share(asc_json_get(c, "end_logits"), 0),
                     named = asc_json_num(asc_json_get(c, "logprob"), NAN);
        asc_request q = {.struct_size = sizeof q,
                         .prompt = asc_view_of("rain film"),
                         .second = asc_view_of("a old w12 about"),
                         .target = asc_view_of("")};
        for (int against = 0; against < 2; against++) {
            asc_result *r;
            q.versus = against == 1 ? asc_view_of("old w12") : (asc_view){NULL, 0};
            if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s: %s", spans[i], asc_error_message(ctx));
            same(r->value, want - (against == 1 ? named : 0.0), TOLERANCE, spans[i], "no answer", 0);
            assert_string_equal(r->target, "(no answer)");
            assert_int_equal(r->n_features, 6);
            asc_result_destroy(ctx, r);
        }
        asc_json_free(root);
        asc_model_close(m);
    }
}

/* Which tokens are the answer that a target names: whole words before parts of one, blanks around them
 * nothing. */
static void test_named_answers(void **state) {
    asc_ctx *ctx = *state;
    static const struct {
        const char *passage, *target, *answer;
    } cases[] = {{"great rain sat at", "at", "at"}, /* not within great or sat */
                 {"great rain", "at", "great"},     /* nothing else has it */
                 {"old rain film", "rain ", "rain"},
                 {"old rain film", "  old rain", "old rain"}};
    asc_model *m = open_head(ctx, "bert-span");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_result *r;
        asc_request q = {.struct_size = sizeof q,
                         .prompt = asc_view_of("who"),
                         .second = asc_view_of(cases[i].passage),
                         .target = asc_view_of(cases[i].target)};
        if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
        assert_string_equal(r->target, cases[i].answer);
        asc_result_destroy(ctx, r);
    }
    asc_model_close(m);
}

/* Word classes: the word of that name, not one that begins with it; parts of words where there is none. */
static void test_words_by_name(void **state) {
    static const char *const cases[][2] = {{"a", "a"}, {" film ", "film"}, {"abo", "about"}, {"ou", "about"}};
    asc_ctx *ctx = *state;
    char folder[TEST_TMP], path[600], to[TEST_PATH], *config, *tokens;
    size_t n;
    asc_model *m;
    asc_result *r;
    assert_ok(ctx, asc_file_read(ctx, encoder_path("bert-tokens/config.json", path), 1 << 20, &config, &n));
    config[n - 1] = '\0';
    encoder_folder(ctx, "bert-tokens", config, folder);
    assert_ok(ctx,
              asc_file_read(ctx, encoder_path("heads/bert-span/tokenizer.json", path), 1 << 20, &tokens, &n));
    snprintf(to, sizeof to, "%s/tokenizer.json", folder);
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(tokens, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    assert_ok(ctx, asc_model_open(ctx, folder, NULL, &m));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[32];
        asc_request q = {.struct_size = sizeof q,
                         .method = "saliency",
                         .prompt = asc_view_of("great about a film a"),
                         .target = asc_view_of(cases[i][0]),
                         .label = asc_view_of("2")};
        if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s: %s", cases[i][0], asc_error_message(ctx));
        snprintf(want, sizeof want, "LABEL_2 of %s", cases[i][1]);
        assert_string_equal(r->target, want);
        asc_result_destroy(ctx, r);
    }
    asc_model_close(m);
    assert_int_equal(remove(to), 0);
    encoder_remove(folder);
    asc_free(ctx, config);
    asc_free(ctx, tokens);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_by_name),   cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_likeliest),       cmocka_unit_test(test_methods),
        cmocka_unit_test(test_wrong_questions), cmocka_unit_test(test_named_answers),
        cmocka_unit_test(test_no_answer)};
    return cmocka_run_group_tests(tests, encoder_setup, encoder_teardown);
}
