/* test_ig_real.c - the adaptive rule on models: on a small one against 400 Gauss-Legendre nodes, which are
 * exact there; on the real one against the integral that another program found in f64 (smollm2_attr.jsonl,
 * `ig_limit`). The latter needs the model file: $ASC_MODEL; it skips without. */
#include "ascribe/attr.h"
#include "file.h"
#include "harness.h"
#include "json.h"
#include "view.h"
#include <math.h>
#include <unistd.h>

static asc_result *explain(asc_ctx *ctx, asc_model *m, asc_request q) {
    asc_result *r = NULL;
    q.struct_size = sizeof q;
    q.method = "integrated-gradients";
    q.features = ASC_FEATURES_TOKEN;
    assert_ok(ctx, asc_explain(m, &q, &r));
    return r;
}

/* Largest |score - want| over the largest |want|; counts the scores whose error is under its bound. */
static double compare(const asc_result *r, const double *want, size_t *covered) {
    double worst = 0.0, largest = 0.0;
    for (size_t i = 0; i < r->n_prompt; i++) {
        double e = fabs(r->scores[i] - want[i]);
        worst = fmax(worst, e);
        largest = fmax(largest, fabs(want[i]));
        *covered += e <= r->score_errors[i];
    }
    return worst / largest;
}

static void small_models(void **state) {
    (void)state;
    static const char *const files[] = {"llama-q8_0", "qwen3-q5_0", "gemma2-f16"};
    static const int32_t ids[] = {54, 70, 21, 59, 28, 34}, target[] = {193};
    size_t covered = 0, all = 0;
    for (int f = 0; f < 3; f++) {
        char name[128];
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_model *m;
        snprintf(name, sizeof name, "goldens/zoo_gguf/%s/model.gguf", files[f]);
        assert_ok(ctx, asc_model_open(ctx, test_data(name), NULL, &m));
        asc_request q = {.prompt_ids = ids,
                         .n_prompt_ids = 6,
                         .target_ids = target,
                         .n_target_ids = 1,
                         .baseline = ASC_BASELINE_TOKEN,
                         .baseline_token = 2,
                         .rule = "gauss-legendre",
                         .steps = 400};
        asc_result *fixed = explain(ctx, m, q);
        q.rule = NULL;
        q.tolerance = 1e-3;
        asc_result *r = explain(ctx, m, q);
        double worst = compare(r, fixed->scores, &covered);
        all += r->n_prompt;
        printf("%s: %llu evaluations, true error %.1e of the largest score, bound %.1e\n", files[f],
               (unsigned long long)r->n_backward, worst, r->error_bound);
        assert_true(r->converged && worst <= 1e-3);
        assert_true(r->n_backward <= 400);
        asc_result_destroy(ctx, fixed);
        asc_result_destroy(ctx, r);
        asc_model_close(m);
        test_ctx_end(ctx);
    }
    assert_true((double)covered >= 0.95 * (double)all - 1.0);
}

/* The line of tests/data/goldens/smollm2_attr.jsonl whose name is `name`. */
static asc_json *golden(asc_ctx *ctx, const char *name) {
    char *text = NULL;
    size_t len = 0;
    asc_json *found = NULL;
    assert_ok(ctx, asc_file_read(ctx, test_data("goldens/smollm2_attr.jsonl"), 1 << 24, &text, &len));
    for (const char *at = text, *end = text + len; found == NULL && at < end;) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        asc_json *j = NULL;
        assert_non_null(nl);
        assert_ok(ctx, asc_json_parse(ctx, at, (size_t)(nl - at), &j));
        asc_view is = asc_json_str(asc_json_get(j, "name"));
        if (is.len == strlen(name) && memcmp(is.ptr, name, is.len) == 0) found = j;
        if (found == NULL) asc_json_free(j);
        at = nl + 1;
    }
    asc_free(ctx, text);
    assert_non_null(found);
    return found;
}

static size_t ids_of(const asc_json *list, int32_t *out) {
    size_t n = asc_json_len(list);
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++) out[i] = (int32_t)asc_json_int(asc_json_at(list, i), -1);
    return n;
}

static void real_model(void **state) {
    (void)state;
    const char *path = getenv("ASC_MODEL");
    if (path == NULL || access(path, R_OK) != 0) {
        printf("skipped, no model file: set ASC_MODEL\n");
        skip();
    }
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m;
    int32_t ids[64], target[64];
    assert_ok(ctx, asc_model_open(ctx, path, NULL, &m));
    asc_json *j = golden(ctx, "capital");
    asc_request q = {.prompt_ids = ids, .target_ids = target, .baseline = ASC_BASELINE_EOS};
    q.n_prompt_ids = ids_of(asc_json_get(j, "ids"), ids);
    q.n_target_ids = ids_of(asc_json_get(j, "target_ids"), target);
    const asc_json *limit = asc_json_at(asc_json_get(asc_json_get(j, "methods"), "ig_limit"), 0);
    double want[64];
    for (size_t i = 0; i < q.n_prompt_ids; i++)
        want[i] = asc_json_num(asc_json_at(asc_json_get(limit, "scores"), i), NAN);
    asc_result *r = explain(ctx, m, q);
    size_t covered = 0;
    double worst = compare(r, want, &covered);
    printf("capital: %llu evaluations, true error %.2e of the largest score, %zu of %zu under their bound\n",
           (unsigned long long)r->n_backward, worst, covered, r->n_prompt);
    assert_true(r->converged && worst <= 0.01);
    assert_true(r->n_backward <= 700);
    assert_int_equal(covered, r->n_prompt);
    assert_true(r->error_bound <= 30.0 * worst * 7.40853371);
    asc_result_destroy(ctx, r);
    asc_json_free(j);
    asc_model_close(m);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_models), cmocka_unit_test(real_model)};
    return cmocka_run_group_tests_name("ig_real", tests, NULL, NULL);
}
