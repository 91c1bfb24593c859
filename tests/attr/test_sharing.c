/* test_sharing.c - a prefix that is run once changes nothing: values and gradients with and without it. */
#include "harness.h"
#include "method.h"
#include "view.h"
#include <float.h>
#include <math.h>

/* Rows of a matrix product do not depend on how many rows there are, but a kernel for few rows adds in
 * another order than one for many: values may differ by the rounding of f32, which the error model bounds. In
 * f64 they are equal to 1e-12. */
static void check(const char *file, const char *device, const char *method, size_t n_target, size_t n_versus,
                  double tolerance_factor) {
    asc_ctx *ctx = test_ctx(device, NULL);
    asc_model *m;
    assert_ok(ctx, asc_model_open(ctx, test_data(file), NULL, &m));
    int32_t ids[] = {54, 70, 21, 59, 28, 34, 9, 77, 120, 3, 41, 66, 12, 90, 45}, target[] = {193, 31, 50};
    enum { N = sizeof ids / sizeof *ids, POINTS = 5 };
    for (int i = 0; i < N; i++) ids[i] %= (int32_t)asc_model_get_info(m).n_vocab;
    for (int i = 0; i < 3; i++) target[i] %= (int32_t)asc_model_get_info(m).n_vocab;
    asc_request q = {.struct_size = sizeof q,
                     .method = method,
                     .prompt_ids = ids,
                     .n_prompt_ids = N,
                     .target_ids = target,
                     .n_target_ids = n_target,
                     .versus_ids = n_versus > 0 ? target + 2 : NULL,
                     .n_versus_ids = n_versus,
                     .features = ASC_FEATURES_TOKEN,
                     .baseline = ASC_BASELINE_TOKEN,
                     .baseline_token = 2};
    double f[2][POINTS], g[2][POINTS * N], v[2][4];
    const double alphas[POINTS] = {0.0, 0.2, 0.5, 0.9, 1.0};
    int32_t rows[4 * N];
    for (int r = 0; r < 4; r++) {
        memcpy(rows + r * N, ids, sizeof ids);
        rows[r * N + 10 + r] = 2;
    }
    for (int k = 0; k < 2; k++) {
        asc_job j;
        assert_ok(ctx, asc_job_init(&j, m, &q));
        j.no_sharing = k == 1;
        for (int i = 0; i < 10; i++) j.active[i] = false; /* as a chat template's own tokens are */
        assert_ok(ctx, asc_job_path(&j, alphas, POINTS, f[k], g[k]));
        assert_ok(ctx, asc_job_values(&j, rows, 4, N, v[k]));
        double noise = tolerance_factor * asc_job_value_noise(&j), largest = 0.0;
        for (int i = 0; i < POINTS * N; i++) largest = fmax(largest, fabs(g[0][i]));
        double gnoise = tolerance_factor * asc_job_gradient_noise(&j, largest);
        if (k == 1) {
            for (int i = 0; i < POINTS; i++) assert_true(fabs(f[0][i] - f[1][i]) <= noise);
            for (int i = 0; i < 4; i++) assert_true(fabs(v[0][i] - v[1][i]) <= noise);
            for (int i = 0; i < POINTS * N; i++) assert_true(fabs(g[0][i] - g[1][i]) <= gnoise);
            for (int i = 0; i < 10; i++) assert_true(fabs(g[0][i]) < DBL_MIN && fabs(g[1][i]) < DBL_MIN);
            assert_true(fabs(v[0][0] - v[0][1]) > 1e-4); /* the rows do differ */
        }
        asc_job_deinit(&j);
    }
    asc_model_close(m);
    test_ctx_end(ctx);
}

static void sharing_changes_nothing(void **state) {
    (void)state;
    const char *qwen = "goldens/zoo_gguf/qwen3-q5_0/model.gguf";
    check(qwen, "cpu", "integrated-gradients", 2, 0, 1.0);
    check(qwen, "cpu", "feature-ablation", 2, 0, 1.0);
    check(qwen, "reference", "integrated-gradients", 2, 0, 16.0);
    check(qwen, "reference", "feature-ablation", 2, 0, 16.0);
}

/* longrope turns keys by the length of the whole sequence, here 16 tokens at most or more: the prefix of 10
 * has to be run as part of it. With a contrast, one answer is on either side. */
static void lengths_that_change_keys(void **state) {
    (void)state;
    static const char *const methods[] = {"integrated-gradients", "feature-ablation"};
    for (int i = 0; i < 2; i++) {
        check("decoders/phi3.gguf", "reference", methods[i], 2, 0, 16.0);
        check("decoders/phi3.gguf", "reference", methods[i], 3, 0, 16.0);
        check("decoders/phi3.gguf", "reference", methods[i], 3, 1, 16.0);
        check("decoders/phi3.gguf", "cpu", methods[i], 3, 1, 1.0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sharing_changes_nothing),
                                       cmocka_unit_test(lengths_that_change_keys)};
    return cmocka_run_group_tests_name("sharing", tests, NULL, NULL);
}
