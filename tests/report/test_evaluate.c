/* test_evaluate.c - the metrics of faithfulness on functions whose answers are known: additive ones by
 * formula, and one by hand. */
#include "../harness.h"
#include "ascribe/metrics.h"
#include "faith_curves.h"
#include "method.h"
#include <math.h>

enum { N = 6 };

/* f(S) = c + sum of w over S */
static double additive(const double *w, const uint8_t *s) {
    double f = -3.0;
    for (size_t i = 0; i < N; i++) f += s[i] != 0 ? w[i] : 0.0;
    return f;
}

static void measure_additive(const double *scores, const double *w, double metric[ASC_N_FAITH]) {
    size_t order[N], rows = asc_faith_n_rows(N);
    uint8_t present[(3 * (N + 1) + 2 * ASC_FAITH_SHARES) * N];
    double values[3 * (N + 1) + 2 * ASC_FAITH_SHARES];
    assert_int_equal(rows * N, sizeof present);
    asc_faith_fill(scores, N, order, present);
    for (size_t r = 0; r < rows; r++) values[r] = additive(w, present + r * N);
    asc_faith_measure(values, scores, N, true, metric);
}

static void test_true_scores_of_an_additive_function(void **state) {
    (void)state;
    static const double w[N] = {0.5, -0.25, 2.0, 0.0, 1.0, -0.5}, down[N] = {2.0, 1.0, 0.5, 0.0, -0.25, -0.5};
    double m[ASC_N_FAITH], fall = 0.0, del = 0.0, ins = 0.0, least = 0.0, total = 2.75;
    measure_additive(w, w, m);
    for (size_t k = 0; k <= N; k++) { /* fall: sum of the k largest */
        double rise = 0.0;
        for (size_t i = 0; i < k; i++) rise += down[N - 1 - i];
        del -= fall / (N + 1);
        ins += (fall - total) / (N + 1);
        least -= rise / (N + 1);
        if (k < N) fall += down[k];
    }
    assert_true(fabs(m[ASC_FAITH_DELETION] - (del)) <= 1e-12);
    assert_true(fabs(m[ASC_FAITH_INSERTION] - (ins)) <= 1e-12);
    assert_true(fabs(m[ASC_FAITH_GAP] - (least - del)) <= 1e-12);
    assert_true(fabs(m[ASC_FAITH_MONOTONICITY] - 1.0) <= 1e-12);
    /* 1, 5, 10 % of 6 features are one, 20 % are two, 50 % are three */
    static const double top[ASC_FAITH_SHARES] = {2.0, 2.0, 2.0, 3.0, 3.5};
    double f = -3.0 + total, comp = 0.0, suff = 0.0, odds = 0.0;
    for (size_t q = 0; q < ASC_FAITH_SHARES; q++) {
        comp += (exp(f) - exp(f - top[q])) / ASC_FAITH_SHARES;
        suff += (exp(f) - exp(-3.0 + top[q])) / ASC_FAITH_SHARES;
        odds -= top[q] / ASC_FAITH_SHARES;
    }
    assert_true(fabs(m[ASC_FAITH_COMPREHENSIVENESS] - (comp)) <= 1e-12);
    assert_true(fabs(m[ASC_FAITH_SUFFICIENCY] - (suff)) <= 1e-12);
    assert_true(fabs(m[ASC_FAITH_LOG_ODDS] - (odds)) <= 1e-12);
}

/* No order of features does better than the true one on an additive function; the reverse does worst. */
static void test_nothing_beats_the_truth(void **state) {
    (void)state;
    static const double w[N] = {0.5, -0.25, 2.0, 0.1, 1.0, -0.5};
    double best[ASC_N_FAITH], other[ASC_N_FAITH], worst[ASC_N_FAITH], scores[N];
    measure_additive(w, w, best);
    for (size_t i = 0; i < N; i++) scores[i] = -w[i];
    measure_additive(scores, w, worst);
    for (uint32_t seed = 1; seed < 200; seed++) {
        for (size_t i = 0; i < N; i++) scores[i] = (double)((seed * 2654435761u >> (4 * i)) & 15u);
        measure_additive(scores, w, other);
        for (size_t q = 0; q < ASC_N_FAITH; q++) {
            const asc_faith_info *info = asc_faith_at(q);
            if (!info->decides || q == ASC_FAITH_LINEAR_FIT) continue;
            assert_true(info->better * other[q] <= info->better * best[q] + 1e-12);
            assert_true(info->better * other[q] >= info->better * worst[q] - 1e-12);
        }
    }
}

static void test_subsets_are_halves(void **state) {
    (void)state;
    uint8_t a[64 * N], b[64 * N];
    size_t ones = 0;
    asc_faith_subsets(7, 64, N, a);
    asc_faith_subsets(7, 64, N, b);
    assert_memory_equal(a, b, sizeof a);
    for (size_t i = 0; i < sizeof a; i++) ones += a[i];
    assert_in_range(ones, 64 * N / 2 - 40, 64 * N / 2 + 40); /* four standard deviations: sqrt(384)/2 = 10 */
}

/* Next tokens that a job of the same prompt has found are not found again: the same numbers, one pass less.
 * Of another prompt, or for divergences, they are. */
static void test_next_tokens_are_found_once(void **state) {
    (void)state;
    static const char *const methods[] = {"saliency", "feature-ablation", "integrated-gradients",
                                          "deep-lift"};
    const int32_t ids[] = {5, 14, 11, 9, 18, 3}, target = 13;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    asc_job job;
    assert_ok(ctx, asc_model_open(ctx, test_data("goldens/zoo_gguf/llama-q4_1/model.gguf"), NULL, &m));
    asc_request q = {.struct_size = sizeof q,
                     .prompt_ids = ids,
                     .n_prompt_ids = 6,
                     .target_ids = &target,
                     .n_target_ids = 1,
                     .features = ASC_FEATURES_TOKEN};
    assert_ok(ctx, asc_job_init(&job, m, &q));
    for (size_t k = 0; k < 4 * 3; k++) {
        asc_result *a = NULL, *b = NULL;
        asc_request other = q;
        other.method = methods[k % 4];
        if (k / 4 == 1) other.n_prompt_ids = 5;
        if (k / 4 == 2) other.output = ASC_OUTPUT_KL, other.target_ids = NULL, other.n_target_ids = 0;
        if (k / 4 == 2 && k % 4 != 1) continue; /* gradients say nothing of divergences */
        assert_ok(ctx, asc_explain(m, &other, &a));
        assert_ok(ctx, asc_explain_beside(m, &other, &job, &b));
        assert_int_equal(a->n_forward, b->n_forward + (k / 4 == 0 ? 1 : 0));
        assert_true(a->n_top == b->n_top && memcmp(a->top, b->top, a->n_top * sizeof *a->top) == 0);
        for (size_t i = 0; i < a->n_features; i++) {
            assert_memory_equal(&a->features[i].score, &b->features[i].score, sizeof(double));
            assert_memory_equal(&a->features[i].error, &b->features[i].error, sizeof(double));
        }
        asc_result_destroy(ctx, a);
        asc_result_destroy(ctx, b);
    }
    asc_job_deinit(&job);
    asc_model_close(m);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_true_scores_of_an_additive_function),
                                       cmocka_unit_test(test_nothing_beats_the_truth),
                                       cmocka_unit_test(test_subsets_are_halves),
                                       cmocka_unit_test(test_next_tokens_are_found_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
