/* test_families_oom.c - a model of every family, from its folder to scores by gradients, by ablation and by
 * relevance, and two generated tokens, while one allocation fails: the call says so, nothing leaks, and the
 * same context serves again. ASC_OOM_ALL=1 tries each allocation, otherwise a spread of them. */
#include "families.h"
#include "model.h"
#include "view.h"

static asc_status ask(asc_ctx *ctx, asc_model *m, const char *method) {
    const asc_request q = family_request(method);
    asc_result *r = NULL;
    const asc_status st = asc_explain(m, &q, &r);
    assert_true((r != NULL) == (st == ASC_OK));
    asc_result_destroy(ctx, r);
    return st;
}

static asc_status whole(asc_ctx *ctx, const char *folder) {
    static const char *const methods[] = {"saliency", "feature-ablation", "lrp"};
    const asc_generate_options o = {.struct_size = sizeof o, .max_tokens = 2};
    int32_t out[2];
    size_t n;
    asc_model *m = NULL;
    asc_status st = asc_model_open(ctx, folder, NULL, &m);
    assert_true((m != NULL) == (st == ASC_OK));
    for (size_t i = 0; st == ASC_OK && i < sizeof methods / sizeof *methods; i++) {
        st = ask(ctx, m, methods[i]);
        if (st == ASC_UNIMPLEMENTED && strcmp(methods[i], "lrp") == 0) st = ASC_OK;
    }
    if (st == ASC_OK) st = asc_generate(m, family_ids, FAMILY_TOKENS, &o, out, &n);
    asc_model_close(m);
    return st;
}

/* With allocation `fail_at` failing (0 = none); how many there were. */
static long attempt(const char *folder, long fail_at) {
    test_alloc a = {.fail_at = fail_at};
    const asc_ctx_options o = {.struct_size = sizeof o,
                               .alloc = test_alloc_fn,
                               .alloc_self = &a,
                               .n_threads = 1,
                               .mode = suite_mode(NULL)};
    asc_ctx *ctx = NULL;
    long n = 0;
    if (asc_ctx_create(&o, &ctx) == ASC_OK) {
        const asc_status st = whole(ctx, folder);
        n = a.count;
        if (fail_at == 0) {
            if (st != ASC_OK) fail_msg("%s: %s: %s", folder, asc_status_name(st), asc_error_message(ctx));
        } else if (st != ASC_OK) {
            if (st != ASC_RESOURCE_EXHAUSTED || strstr(asc_error_message(ctx), "out of memory") == NULL)
                fail_msg("allocation %ld of %s: %s, '%s'", fail_at, folder, asc_status_name(st),
                         asc_error_message(ctx));
            if (fail_at % 4 == 0) assert_ok(ctx, whole(ctx, folder));
        }
        if (ctx->rt_destroy != NULL) ctx->rt_destroy(ctx);
        ctx->rt_destroy = NULL;
        if (ctx->mem.live_allocs != 0)
            fail_msg("allocation %ld of %s: %zu blocks stay", fail_at, folder, ctx->mem.live_allocs);
    }
    asc_ctx_destroy(ctx);
    if (a.live != 0) fail_msg("allocation %ld of %s: %ld blocks leak", fail_at, folder, a.live);
    return n;
}

static void starve(const char *folder, const char *name, size_t k) {
    const bool all = getenv("ASC_OOM_ALL") != NULL;
    const long n = attempt(folder, 0), step = all ? 1 : n / 12 + 1;
    if (all) printf("%s: %ld allocations\n", name, n);
    for (long at = 1 + (long)(k % 7); at <= n; at += step) attempt(folder, at);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    each_family(getenv("ASC_OOM_ONLY"), starve);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests_name("families_oom", tests, NULL, NULL);
}
