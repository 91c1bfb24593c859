/* test_encoder_oom.c - allocations of opening and explaining an encoder, and of opening an image classifier,
 * are made to fail: the call says so and nothing leaks. ASC_OOM_ALL=1 tries each of them, otherwise a spread.
 */
#include "ascribe/attr.h"
#include "ascribe/net.h"
#include "harness.h"
#include "view.h"

typedef struct scene {
    const char *folder, *method, *mode;
    bool image;
    const char *text, *second, *target, *similar; /* NULL = none; without text the ids below */
    bool hides, patches;
} scene;

static const scene scenes[] = {
    {.folder = "encoders/electra", .method = "feature-ablation"},
    {.folder = "encoders/modernbert", .method = "integrated-gradients", .mode = "compiled"},
    {.folder = "encoders/bert-tokens", .method = "input-x-gradient"},
    {.folder = "encoders/heads/bert-words",
     .method = "feature-ablation",
     .mode = "compiled",
     .text = "a [MASK] film",
     .target = "great",
     .hides = true},
    {.folder = "encoders/heads/bert-span",
     .method = "attention-rollout",
     .text = "rain",
     .second = "a old film",
     .target = "old"},
    {.folder = "encoders/gguf/bert.gguf",
     .method = "activation-patching",
     .text = "a film",
     .similar = "rain",
     .patches = true},
    {.folder = "encoders/sentences/joined-dense", .method = "saliency", .text = "a film", .similar = "rain"},
    {.folder = "encoders/deit-teacher", .method = "image", .image = true},
};

static asc_status work(asc_ctx *ctx, const scene *s) {
    static const int32_t ids[] = {5, 9, 30, 3}, types[] = {0, 0, 1, 1};
    asc_model *m = NULL;
    asc_result *r = NULL;
    asc_net *net = NULL;
    if (s->image) {
        asc_status st = asc_vision_open(ctx, test_data(s->folder), &net);
        asc_net_close(net);
        return st;
    }
    asc_request q = {.struct_size = sizeof q,
                     .method = s->method,
                     .rule = strcmp(s->method, "integrated-gradients") == 0 ? "gauss-legendre" : NULL,
                     .steps = strcmp(s->method, "integrated-gradients") == 0 ? 3 : 0,
                     .features = ASC_FEATURES_TOKEN,
                     .prompt_ids = ids,
                     .n_prompt_ids = 4,
                     .prompt_types = types,
                     .label = {"1", 1},
                     .versus = {"0", 1}};
    if (strcmp(s->folder, "encoders/modernbert") == 0) q.prompt_types = NULL;
    if (s->text != NULL) {
        q = (asc_request){.struct_size = sizeof q, .method = s->method, .prompt = asc_view_of(s->text)};
        if (s->second != NULL) q.second = asc_view_of(s->second);
        if (s->target != NULL) q.target = asc_view_of(s->target);
        if (s->similar != NULL) q.similar_to = asc_view_of(s->similar);
        if (s->hides) q.baseline = ASC_BASELINE_MASK;
        if (s->patches) q.corrupted = asc_view_of("a rain"), q.layers = "all";
    }
    asc_status st = asc_model_open(ctx, test_data(s->folder), NULL, &m);
    if (st == ASC_OK) st = asc_explain(m, &q, &r);
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    return st;
}

static long attempt(const scene *s, long fail_at) {
    test_alloc a = {.fail_at = fail_at};
    asc_ctx_options o = {
        .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1, .mode = s->mode};
    asc_ctx *ctx = NULL;
    asc_status st = asc_ctx_create(&o, &ctx);
    if (st == ASC_OK) {
        st = work(ctx, s);
        if (st != ASC_OK && st != ASC_RESOURCE_EXHAUSTED)
            fail_msg("allocation %ld of %s, %s: %s, '%s'", fail_at, s->folder, s->method, asc_status_name(st),
                     asc_error_message(ctx));
        if (st != ASC_OK) {
            long here = a.count;
            assert_ok(ctx, work(ctx, s));
            a.count = here;
        }
        if (ctx->rt_destroy != NULL) ctx->rt_destroy(ctx);
        ctx->rt_destroy = NULL;
        if (ctx->mem.live_allocs != 0)
            fail_msg("allocation %ld of %s: %zu blocks leak", fail_at, s->folder, ctx->mem.live_allocs);
    }
    asc_ctx_destroy(ctx);
    if (a.live != 0) fail_msg("allocation %ld of %s: %ld blocks leak", fail_at, s->folder, a.live);
    return a.count;
}

static void allocations_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        long n = attempt(&scenes[i], 0), step = getenv("ASC_OOM_ALL") != NULL || n < 80 ? 1 : n / 80 + 1;
        assert_true(n > 20);
        for (long k = 1; k <= n; k += step) attempt(&scenes[i], k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(allocations_may_fail)};
    return cmocka_run_group_tests_name("encoder_oom", tests, NULL, NULL);
}
