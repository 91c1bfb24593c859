/* test_explain_oom.c - every allocation of a whole explanation is made to fail, for each method and for chat:
 * the call says so, nothing leaks, and the context is good for the next call. ASC_OOM_ALL=1 tries each
 * allocation, otherwise a spread of them. */
#include "harness.h"
#include "method.h"
#include "view.h"

#define MODEL "goldens/zoo_gguf/qwen3-q5_0/model.gguf"

typedef struct scene {
    const char *method, *rule;
    asc_baseline baseline;
    asc_features features;
    asc_output output;
    size_t generate;
    bool text, versus, dry_run, sha256;
    const char *mode; /* NULL = deferred */
    size_t samples;
    double tolerance;
    bool captum;
} scene;

static const scene scenes[] = {
    {.method = "feature-ablation", .text = true, .sha256 = true},
    {.method = "feature-ablation", .features = ASC_FEATURES_SENTENCE, .generate = 3, .text = true},
    {.method = "feature-ablation",
     .features = ASC_FEATURES_TOKEN,
     .baseline = ASC_BASELINE_EOS,
     .versus = true},
    {.method = "feature-ablation", .mode = "eager"},
    {.method = "saliency", .text = true},
    {.method = "input-x-gradient", .output = ASC_OUTPUT_LOGIT, .versus = true},
    {.method = "integrated-gradients", .rule = "gauss-legendre", .baseline = ASC_BASELINE_MEAN},
    {.method = "integrated-gradients", .rule = "riemann-left", .mode = "eager"},
    {.method = "integrated-gradients", .rule = "gauss-legendre", .dry_run = true},
    {.method = "integrated-gradients", .rule = "gauss-legendre", .versus = true, .mode = "compiled"},
    {.method = "feature-ablation", .mode = "compiled"},
    {.method = "shapley-values"},
    {.method = "shapley-value-sampling", .tolerance = 0.2},
    {.method = "shapley-value-sampling", .samples = 2, .captum = true},
    {.method = "kernel-shap", .samples = 40},
    {.method = "lime", .samples = 40},
    {.method = "hierarchical", .text = true, .tolerance = 0.5},
};

static asc_status explain(asc_ctx *ctx, const scene *s) {
    static const int32_t ids[] = {54, 70, 21, 59, 28, 34}, target[] = {193, 31}, versus[] = {7};
    asc_model *m = NULL;
    asc_result *r = NULL;
    asc_request q = {.struct_size = sizeof q,
                     .method = s->method,
                     .rule = s->rule,
                     .steps = s->rule != NULL ? 3 : 0,
                     .baseline = s->baseline,
                     .features = s->features,
                     .output = s->output,
                     .generate = s->generate,
                     .samples = s->samples,
                     .tolerance = s->tolerance,
                     .compat_captum = s->captum,
                     .dry_run = s->dry_run,
                     .want_sha256 = s->sha256};
    if (s->text) {
        q.prompt = asc_view_of("The cat. A dog sat");
    } else {
        q.prompt_ids = ids;
        q.n_prompt_ids = sizeof ids / sizeof *ids;
    }
    if (s->generate == 0) {
        q.target_ids = target;
        q.n_target_ids = 2;
    }
    if (s->versus) {
        q.versus_ids = versus;
        q.n_versus_ids = 1;
    }
    asc_status st = asc_model_open(ctx, test_data(MODEL), NULL, &m);
    if (st == ASC_OK) st = asc_explain(m, &q, &r);
    assert_true((r != NULL) == (st == ASC_OK));
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    return st;
}

/* One run with allocation `fail_at` failing; returns how many there were. */
static long attempt(const scene *s, long fail_at) {
    test_alloc a = {.fail_at = fail_at};
    asc_ctx_options o = {
        .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1, .mode = s->mode};
    asc_ctx *ctx = NULL;
    asc_status st = asc_ctx_create(&o, &ctx);
    if (st == ASC_OK) {
        st = explain(ctx, s);
        if (st != ASC_OK) {
            if (st != ASC_RESOURCE_EXHAUSTED || asc_error_code(ctx) != st)
                fail_msg("allocation %ld of %s: %s, '%s'", fail_at, s->method, asc_status_name(st),
                         asc_error_message(ctx));
            assert_non_null(strstr(asc_error_message(ctx), "out of memory"));
            long here = a.count; /* that one failure over, the same context serves again */
            assert_ok(ctx, explain(ctx, s));
            a.count = here;
        }
        if (ctx->rt_destroy != NULL) ctx->rt_destroy(ctx);
        ctx->rt_destroy = NULL;
        if (ctx->mem.live_allocs != 0)
            fail_msg("allocation %ld of %s: %zu blocks leak", fail_at, s->method, ctx->mem.live_allocs);
    } else {
        assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
    }
    asc_ctx_destroy(ctx);
    if (a.live != 0) fail_msg("allocation %ld of %s: %ld blocks leak", fail_at, s->method, a.live);
    return a.count;
}

static void sweep(const scene *s) {
    bool all = getenv("ASC_OOM_ALL") != NULL;
    long n = attempt(s, 0), step = all || n < 60 ? 1 : n / 60 + 1;
    assert_true(n > 20);
    for (long k = 1; k <= n; k += k < 12 ? 1 : step) attempt(s, k);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) sweep(&scenes[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests_name("explain_oom", tests, NULL, NULL);
}
