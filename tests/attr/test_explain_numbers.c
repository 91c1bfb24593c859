/* test_explain_numbers.c - scores against numbers made by hand from logits, and gradients against differences
 * of values, on the f64 device. */
#include "harness.h"
#include "method.h"
#include "view.h"
#include <math.h>

#define ZOO "goldens/zoo_gguf/"
static const char *const zoo[] = {ZOO "llama-q4_1/model.gguf", ZOO "qwen3-q5_0/model.gguf",
                                  ZOO "gemma2-f16/model.gguf"};
enum { N_VOCAB = 320, MOST = 16 };

/* log p(target | prompt), or its sum of logits, from the logits of one pass over prompt and target. */
static double by_hand(asc_ctx *ctx, asc_model *m, const int32_t *prompt, size_t n, const int32_t *target,
                      size_t k, bool logit) {
    static float z[MOST * N_VOCAB];
    int32_t all[2 * MOST];
    double total = 0.0;
    memcpy(all, prompt, n * sizeof *all);
    memcpy(all + n, target, k * sizeof *all);
    assert_ok(ctx, asc_model_logits(m, all, n + k - 1, k, z));
    for (size_t i = 0; i < k; i++) {
        const float *row = z + i * N_VOCAB;
        double sum = 0.0;
        for (int v = 0; v < N_VOCAB; v++) sum += exp((double)row[v]);
        total += (double)row[target[i]] - (logit ? 0.0 : log(sum));
    }
    return total;
}

static void ablation_of_spans_and_contrasts(void **state) {
    (void)state;
    static const int32_t ids[] = {54, 70, 21, 59, 28, 34, 77}, target[] = {193, 31, 8}, versus[] = {7, 12};
    enum { N = sizeof ids / sizeof *ids };
    for (size_t k = 0; k < 3; k++) {
        asc_ctx *ctx = test_ctx("reference", NULL);
        asc_model *m = NULL;
        assert_ok(ctx, asc_model_open(ctx, test_data(zoo[k]), NULL, &m));
        for (int variant = 0; variant < 8; variant++) {
            bool contrast = variant & 1, replace = variant & 2, logit = variant & 4;
            asc_request q = {.struct_size = sizeof q,
                             .prompt_ids = ids,
                             .n_prompt_ids = N,
                             .target_ids = target,
                             .n_target_ids = 3,
                             .features = ASC_FEATURES_TOKEN,
                             .output = logit ? ASC_OUTPUT_LOGIT : ASC_OUTPUT_LOGPROB};
            if (contrast) {
                q.versus_ids = versus;
                q.n_versus_ids = 2;
            }
            if (replace) {
                q.baseline = ASC_BASELINE_TOKEN;
                q.baseline_token = 17;
            }
            asc_result *r = NULL;
            double value[N + 1];
            for (size_t without = 0; without <= N; without++) { /* N: nothing left out */
                int32_t rest[N];
                size_t n = 0;
                for (size_t i = 0; i < N; i++) {
                    if (i != without) rest[n++] = ids[i];
                    if (i == without && replace) rest[n++] = 17;
                }
                value[without] = by_hand(ctx, m, rest, n, target, 3, logit);
                if (contrast) value[without] -= by_hand(ctx, m, rest, n, versus, 2, logit);
            }
            assert_ok(ctx, asc_explain(m, &q, &r));
            assert_int_equal(r->n_features, N);
            assert_true(fabs(r->value - value[N]) < 2e-5); /* logits are handed out in f32 */
            for (size_t i = 0; i < N; i++) {
                double want = value[N] - value[i];
                if (!(fabs(r->features[i].score - want) < 4e-5))
                    fail_msg("model %zu variant %d token %zu: %.9g, by hand %.9g", k, variant, i,
                             r->features[i].score, want);
            }
            asc_result_destroy(ctx, r);
        }
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

/* Along the path from a zero baseline: the gradient's sum is the slope of the value (central differences),
 * and at its end it is input x gradient, token for token. */
static void gradients_are_slopes(void **state) {
    (void)state;
    static const int32_t ids[] = {54, 70, 21, 59, 28, 34}, target[] = {193, 31};
    enum { N = sizeof ids / sizeof *ids };
    const double h = 1e-5, at[] = {0.7 - h, 0.7, 0.7 + h, 1.0};
    for (size_t k = 0; k < 3; k++) {
        asc_ctx *ctx = test_ctx("reference", NULL);
        asc_model *m = NULL;
        asc_job j;
        asc_result *r = NULL;
        double f[4], g[4 * N], sum = 0.0;
        assert_ok(ctx, asc_model_open(ctx, test_data(zoo[k]), NULL, &m));
        asc_request q = {.struct_size = sizeof q,
                         .method = "integrated-gradients",
                         .rule = "riemann-left",
                         .prompt_ids = ids,
                         .n_prompt_ids = N,
                         .target_ids = target,
                         .n_target_ids = 2,
                         .features = ASC_FEATURES_TOKEN,
                         .baseline = ASC_BASELINE_ZERO};
        assert_ok(ctx, asc_job_init(&j, m, &q));
        assert_ok(ctx, asc_job_path(&j, at, 4, f, g));
        asc_job_deinit(&j);
        for (int t = 0; t < N; t++) sum += g[N + t];
        double slope = (f[2] - f[0]) / (2.0 * h);
        if (!(fabs(sum - slope) < 1e-6 * (1.0 + fabs(slope))))
            fail_msg("model %zu: %.12g, slope %.12g", k, sum, slope);
        q.method = "input-x-gradient";
        q.baseline = ASC_BASELINE_AUTO;
        q.rule = NULL;
        assert_ok(ctx, asc_explain(m, &q, &r));
        for (int t = 0; t < N; t++)
            assert_true(fabs(r->scores[t] - g[3 * N + t]) < 1e-9 * (1.0 + fabs(r->scores[t])));
        asc_result_destroy(ctx, r);
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

/* A word's score is the sum of its tokens' scores, or the 2-norm over all their columns. */
static void words_are_their_tokens(void **state) {
    (void)state;
    const char *const methods[] = {"saliency", "input-x-gradient", "integrated-gradients"};
    for (size_t k = 0; k < 3; k++) {
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_model *m = NULL;
        assert_ok(ctx, asc_model_open(ctx, test_data(zoo[k]), NULL, &m));
        for (size_t i = 0; i < 3; i++) {
            asc_result *r = NULL;
            asc_request q = {.struct_size = sizeof q,
                             .method = methods[i],
                             .prompt = asc_view_of("Unbelievable tales, they said."),
                             .rule = i == 2 ? "gauss-legendre" : NULL,
                             .steps = i == 2 ? 4 : 0};
            assert_ok(ctx, asc_explain(m, &q, &r));
            bool longer = false;
            for (size_t w = 0; w < r->n_features; w++) {
                const asc_feature *f = &r->features[w];
                double s = 0.0;
                for (size_t t = f->first_token; t < f->first_token + f->n_tokens; t++)
                    s += i == 0 ? r->scores[t] * r->scores[t] : r->scores[t];
                if (i == 0) s = sqrt(s);
                assert_true(fabs(s - f->score) <= 1e-12 * (1.0 + fabs(s)));
                longer = longer || f->n_tokens > 1;
            }
            assert_true(longer);
            if (i == 2) { /* the prompt's own tokens alone move along the path */
                double all = 0.0, words = 0.0;
                for (size_t t = 0; t < r->n_prompt; t++) all += r->scores[t];
                for (size_t w = 0; w < r->n_features; w++) words += r->features[w].score;
                assert_true(fabs(all - words) <= 1e-9 * (1.0 + fabs(all)));
                assert_true(fabs(r->sum - words) <= 1e-9 * (1.0 + fabs(all)));
            }
            asc_result_destroy(ctx, r);
        }
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ablation_of_spans_and_contrasts),
                                       cmocka_unit_test(gradients_are_slopes),
                                       cmocka_unit_test(words_are_their_tokens)};
    return cmocka_run_group_tests_name("explain_numbers", tests, NULL, NULL);
}
