/* test_hierarchical.c - parts of a text that are as small as they need to be: on the first cut the exact
 * Shapley values of its paragraphs, on the last one those of the words, sums that are the whole change
 * everywhere, parts that tile the features, what a long text costs, and what is refused. */
#include "ascribe/report.h"
#include "harness.h"
#include "method.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

#define MODEL "goldens/zoo_gguf/llama-q4_1/model.gguf"
static const char text[] =
    "Nets dry by the wall.\n\nAnna moved to Oslo. She has two dogs! Why?\n\nRain fell.";

static const char one_paragraph[] = "Nets dry by the wall. Anna moved to Oslo. Rain fell.";

static asc_result *explain(asc_ctx *ctx, asc_model *m, const char *what, const char *method,
                           asc_features features, double refine, double tolerance) {
    static const int32_t target[] = {193, 31};
    asc_result *r = NULL;
    asc_request q = {.struct_size = sizeof q,
                     .method = method,
                     .prompt = asc_view_of(what),
                     .target_ids = target,
                     .n_target_ids = 2,
                     .features = features,
                     .refine = refine,
                     .tolerance = tolerance};
    assert_ok(ctx, asc_explain(m, &q, &r));
    return r;
}

/* Features tile the bytes and tokens of `whole`, kinds are what they say, the sum is the whole change. */
static void check(const asc_result *r, const asc_result *whole) {
    double sum = 0.0;
    for (size_t i = 0; i < r->n_features; i++) {
        const asc_feature *f = &r->features[i], *before = i > 0 ? f - 1 : NULL;
        assert_int_equal(f->start, before != NULL ? before->end : whole->features[0].start);
        assert_int_equal(f->first_token, before != NULL ? before->first_token + before->n_tokens
                                                        : whole->features[0].first_token);
        assert_int_equal(f->text_len, f->end - f->start);
        assert_memory_equal(f->text, r->prompt + f->start, f->text_len);
        assert_true(f->kind == ASC_FEATURES_WORD || f->kind == ASC_FEATURES_SENTENCE ||
                    f->kind == ASC_FEATURES_PARAGRAPH);
        sum += f->score;
    }
    assert_int_equal(r->features[r->n_features - 1].end, whole->features[whole->n_features - 1].end);
    assert_int_equal(r->n_parts, r->n_features);
    assert_true(r->complete && r->converged);
    assert_true(fabs(sum - (r->value - r->baseline_value)) < 1e-9);
}

static void the_first_cut_is_exact(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(MODEL), NULL, &m));
    asc_result *words = explain(ctx, m, one_paragraph, "feature-ablation", ASC_FEATURES_WORD, 0.0, 0.0);
    asc_result *exact = explain(ctx, m, one_paragraph, "shapley-values", ASC_FEATURES_SENTENCE, 0.0, 0.0);
    asc_result *r = explain(ctx, m, one_paragraph, "hierarchical", ASC_FEATURES_WORD, 2.0,
                            0.0); /* nothing is twice the largest */
    assert_int_equal(exact->n_features, 3);
    assert_int_equal(r->n_features, 3);
    check(r, words);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(r->features[i].kind, ASC_FEATURES_SENTENCE);
        assert_true(fabs(r->features[i].score - exact->features[i].score) < 1e-7);
    }
    asc_result_destroy(ctx, words);
    asc_result_destroy(ctx, exact);
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    test_ctx_end(ctx);
}

static void refinement_goes_where_scores_are(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", NULL);
    asc_model *m = NULL;
    size_t before = 0;
    assert_ok(ctx, asc_model_open(ctx, test_data(MODEL), NULL, &m));
    asc_result *words = explain(ctx, m, text, "feature-ablation", ASC_FEATURES_WORD, 0.0, 0.0);
    asc_result *top = explain(ctx, m, text, "hierarchical", ASC_FEATURES_WORD, 2.0, 0.0);
    double largest = 0.0;
    for (size_t i = 0; i < 3; i++) largest = fmax(largest, fabs(top->features[i].score));
    static const double shares[] = {0.9, 0.3, 1e-9};
    for (size_t k = 0; k < 3; k++) {
        asc_result *r = explain(ctx, m, text, "hierarchical", ASC_FEATURES_WORD, shares[k], 0.3);
        check(r, words);
        assert_true(r->n_features >= before && r->n_features > 3);
        before = r->n_features;
        for (size_t i = 0; i < 3; i++) { /* the first cut is exact, so what it decided is known */
            bool kept = false;
            for (size_t g = 0; g < r->n_features; g++)
                kept = kept || (r->features[g].kind == ASC_FEATURES_PARAGRAPH &&
                                r->features[g].start == top->features[i].start);
            assert_true(!kept || fabs(top->features[i].score) <= shares[k] * largest);
        }
        assert_true(r->n_forward_flat > 0);
        if (k == 2) assert_int_equal(r->n_features, words->n_features);
        asc_result_destroy(ctx, r);
    }
    asc_result_destroy(ctx, words);
    asc_result_destroy(ctx, top);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* Wherever the last cut ends, by whichever way its scores come: all sets (few parts), pairs of sets, a
 * tolerance. Few parts: exact Shapley values, by the method that runs all sets of the features at once. */
static void complete_at_every_kind(void **state) {
    (void)state;
    static const int32_t target[] = {193, 31};
    static const char *const texts[] = {"Anna is", "Anna moved.\n\nRain fell.", one_paragraph};
    static const asc_features kinds[] = {ASC_FEATURES_SENTENCE, ASC_FEATURES_WORD, ASC_FEATURES_TOKEN};
    static const struct {
        size_t samples;
        double refine, tolerance;
    } ways[] = {{64, 1e-9, 0.0}, {0, 0.0, 0.0}, {0, 1e-9, 0.4}, {3, 0.0, 0.0}};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    size_t n_exact = 0;
    assert_ok(ctx, asc_model_open(ctx, test_data(MODEL), NULL, &m));
    for (size_t i = 0; i < 3 * 3 * 4; i++) {
        asc_result *r = NULL, *exact = NULL;
        size_t w = i / 9;
        if (i % 3 == 2 && w != 3) continue; /* the longest: a few sets will do */
        asc_request q = {.struct_size = sizeof q,
                         .method = "hierarchical",
                         .prompt = asc_view_of(texts[i % 3]),
                         .target_ids = target,
                         .n_target_ids = 2,
                         .features = kinds[i / 3 % 3],
                         .refine = ways[w].refine,
                         .samples = ways[w].samples,
                         .tolerance = ways[w].tolerance};
        assert_ok(ctx, asc_explain(m, &q, &r));
        double sum = 0.0;
        for (size_t k = 0; k < r->n_features; k++) sum += r->features[k].score;
        /* log-probabilities of a few units: 2^-24 of them in each of a few layers, over some passes */
        assert_true(fabs(sum - (r->value - r->baseline_value)) < 1e-9 + suite_rows_differ(1e-4));
        bool all_apart = r->n_features <= 9;
        for (size_t k = 0; k < r->n_features; k++) all_apart = all_apart && r->features[k].kind == q.features;
        if (all_apart && !r->stochastic) {
            q.method = "shapley-values";
            q.samples = 0;
            q.refine = q.tolerance = 0.0;
            assert_ok(ctx, asc_explain(m, &q, &exact));
            assert_int_equal(exact->n_features, r->n_features);
            for (size_t k = 0; k < r->n_features; k++)
                assert_true(fabs(r->features[k].score - exact->features[k].score) <=
                            r->features[k].error + exact->features[k].error);
            n_exact++;
            asc_result_destroy(ctx, exact);
        }
        asc_result_destroy(ctx, r);
    }
    assert_true(n_exact >= 6);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* A document of 60 sentences in 12 paragraphs: at most 12 + 60 looks at two prompts each, four sets for each
 * of 80 parts, the ends. The dry run, which knows no scores, says no less. */
static void long_texts_cost_a_few_hundred_prompts(void **state) {
    (void)state;
    static const int32_t target[] = {193, 31};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    asc_result *r = NULL, *dry = NULL;
    char document[60 * 16 + 1];
    size_t n = 0;
    for (int i = 0; i < 60; i++)
        n += (size_t)snprintf(document + n, sizeof document - n, "%c%c is %c.%s", 'A' + i % 26, 'a' + i / 3,
                              'k' + i % 7, i % 5 == 4 ? "\n\n" : " ");
    assert_ok(ctx, asc_model_open(ctx, test_data(MODEL), NULL, &m));
    asc_request q = {.struct_size = sizeof q,
                     .method = "hierarchical",
                     .prompt = asc_view_make(document, n),
                     .target_ids = target,
                     .n_target_ids = 2};
    assert_ok(ctx, asc_explain(m, &q, &r));
    q.dry_run = true;
    assert_ok(ctx, asc_explain(m, &q, &dry));
    assert_true(r->n_features > 12 && r->n_features <= 80);
    assert_true(fabs(r->residual) < 1e-9 && r->error_bound > 0.0);
    assert_true(r->n_forward <= dry->n_forward);
    assert_true(dry->n_forward <= 2 * (12 + 60) + 4 * 80 + 3);
    asc_result_destroy(ctx, r);
    asc_result_destroy(ctx, dry);
    asc_model_close(m);
    test_ctx_end(ctx);
}

static void what_it_says_and_refuses(void **state) {
    (void)state;
    static const int32_t target[] = {193, 31};
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    asc_result *r = NULL;
    asc_text *t = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(MODEL), NULL, &m));
    asc_request q = {.struct_size = sizeof q,
                     .method = "hierarchical",
                     .prompt = asc_view_of(text),
                     .target_ids = target,
                     .n_target_ids = 2,
                     .refine = 0.9,
                     .tolerance = 0.3,
                     .per_token = true};
    assert_ok(ctx, asc_explain(m, &q, &r));
    for (size_t g = 0; g < r->n_features; g++)
        assert_true(fabs(r->matrix[g] + r->matrix[r->n_features + g] - r->features[g].score) < 1e-6);
    asc_report rep = {.request = &q, .result = r, .tokenizer = asc_model_tokenizer(m)};
    asc_report_style style = {.columns = 100};
    static const char *const wanted[] = {"\"level\":\"paragraph\"", "<td>paragraph</td>", "paragraph  "};
    for (int i = 0; i < 3; i++) {
        assert_ok(ctx, asc_text_create(ctx, &t));
        if (i == 0) asc_report_json(t, &rep);
        if (i == 1) asc_report_html(ctx, t, &rep);
        if (i == 2) asc_report_text(t, &rep, &style);
        asc_view v = asc_text_view(t);
        char *flat = calloc(1, v.len + 1);
        size_t n = 0;
        for (size_t k = 0; k < v.len; k++)
            if (i > 0 || (v.ptr[k] != ' ' && v.ptr[k] != '\n')) flat[n++] = v.ptr[k];
        if (strstr(flat, wanted[i]) == NULL) fail_msg("no %s in %s", wanted[i], flat);
        free(flat);
        asc_text_destroy(t);
    }
    asc_result_destroy(ctx, r);
    q.per_token = false;
    q.dry_run = true;
    assert_ok(ctx, asc_explain(m, &q, &r));
    assert_true(r->n_forward > 0 && r->flops > 0.0);
    asc_result_destroy(ctx, r);
    q.features = ASC_FEATURES_PARAGRAPH;
    assert_int_equal(asc_explain(m, &q, &r), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "nothing to take apart"));
    asc_model_close(m);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_cut_is_exact),   cmocka_unit_test(refinement_goes_where_scores_are),
        cmocka_unit_test(complete_at_every_kind),   cmocka_unit_test(long_texts_cost_a_few_hundred_prompts),
        cmocka_unit_test(what_it_says_and_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
