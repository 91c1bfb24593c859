/* test_model_hold.c - values that stand in the place of a model's or net's own in every run. Against hooks of
 * torch: bindings/python/tests/test_held_values.py. Here: against single runs, what is refused, memory
 * running out. */
#include "ascribe/ops.h"
#include "harness.h"
#include "model.h"
#include <math.h>

enum { N = 6 };
static const int32_t ids[N] = {5, 14, 11, 9, 18, 3};
#define LLAMA "hf/llama-llama3"
#define SITE "blocks.0.out"

static asc_tensor *square(void *self, asc_ctx *ctx, asc_tensor *rows) {
    (void)self;
    return asc_mul(ctx, rows, rows);
}
static asc_tensor *less_mean(void *self, asc_ctx *ctx, asc_tensor *rows) {
    (void)self;
    int axes[] = {0};
    return asc_sub(ctx, rows, asc_mean(ctx, rows, 1, axes, true));
}
static asc_tensor *narrow(void *self, asc_ctx *ctx, asc_tensor *rows) {
    (void)self;
    return asc_slice(ctx, rows, 1, 0, 1);
}
static asc_tensor *nothing(void *self, asc_ctx *ctx, asc_tensor *rows) {
    (void)self, (void)ctx, (void)rows;
    return NULL;
}

static void logits(asc_ctx *ctx, asc_model *m, float *out) {
    assert_ok(ctx, asc_model_logits(m, ids, N, 1, out));
}

/* The last logits with a patch in one run. */
static asc_array once(asc_ctx *ctx, asc_model *m, const asc_site_patch *p) {
    asc_array head;
    asc_model_run_options o = {.struct_size = sizeof o, .ids = ids, .n = N, .patches = p, .n_patches = 1};
    o.head = ASC_RUN_LOGITS;
    assert_ok(ctx, asc_model_run(m, &o, NULL, &head));
    return head;
}

static void as_in_one_run(void **state) {
    (void)state;
    static const char *const modes[] = {"eager", "deferred", "compiled"};
    const size_t at[] = {1, 4};
    for (size_t k = 0; k < 3; k++) {
        asc_ctx *ctx = test_ctx("cpu", modes[k]);
        asc_model *m;
        assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
        const size_t v = (size_t)asc_model_get_info(m).n_vocab, w = (size_t)asc_model_get_info(m).d_model;
        float *plain = calloc(v, sizeof *plain), *held = calloc(v, sizeof *held),
              *rows = calloc(2 * w, sizeof *rows);
        for (size_t i = 0; i < 2 * w; i++) rows[i] = (float)sin(0.4 * (double)i);
        const asc_array one = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(1, (int64_t)w), .data = rows};
        const asc_array two = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(2, (int64_t)w), .data = rows};
        const asc_site_patch patches[] = {{.site = SITE, .change = square},
                                          {.site = SITE, .values = one},
                                          {.site = SITE, .values = two, .tokens = at, .n_tokens = 2},
                                          {.site = SITE, .tokens = at, .n_tokens = 2, .change = square}};
        logits(ctx, m, plain);
        for (size_t i = 0; i < sizeof patches / sizeof *patches; i++) {
            asc_array want = once(ctx, m, &patches[i]);
            assert_ok(ctx, asc_model_hold(m, &patches[i], 1));
            logits(ctx, m, held);
            double most = 0.0, off = 0.0;
            for (size_t j = 0; j < v; j++) {
                most = fmax(most, fabs((double)((float *)want.data)[j] - (double)plain[j]));
                off = fmax(off, fabs((double)((float *)want.data)[j] - (double)held[j]));
            }
            assert_true(most > 1e-5);
            assert_true(off <= 0.1 * most &&
                        off <= 1e-5); /* one row of the head instead of N: another order */
            assert_ok(ctx, asc_model_hold(m, NULL, 0));
            logits(ctx, m, held);
            assert_memory_equal(held, plain, v * sizeof *plain);
            asc_array_free(ctx, &want);
        }
        free(plain);
        free(held);
        free(rows);
        asc_model_close(m);
        asc_ctx_destroy(ctx);
    }
}

static void refusals(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m;
    assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
    const int64_t w = asc_model_get_info(m).d_model;
    float *rows = calloc((size_t)(2 * w + 1), sizeof *rows), before[8], after[8];
    const size_t first = 0, far = 1 << 30;
    const asc_array one = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(1, w), .data = rows};
    const asc_array two = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(2, w), .data = rows};
    const asc_array wide = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(1, w + 1), .data = rows};
    const asc_site_patch bad[] = {{.site = "nowhere", .values = one},
                                  {.site = SITE, .values = two},
                                  {.site = SITE, .values = wide},
                                  {.site = SITE, .values = one, .tokens = &far, .n_tokens = 1},
                                  {.site = SITE, .values = one, .tokens = &first, .n_tokens = 0},
                                  {.site = "final_norm", .values = one, .tokens = &first, .n_tokens = 1},
                                  {.site = SITE, .change = less_mean},
                                  {.site = SITE, .change = narrow},
                                  {.site = SITE, .change = nothing},
                                  {.site = NULL, .values = one}};
    const size_t n_vocab = (size_t)asc_model_get_info(m).n_vocab;
    float *all = calloc(n_vocab, sizeof *all);
    const asc_site_patch good = {.site = SITE, .change = square};
    assert_ok(ctx, asc_model_hold(m, &good, 1));
    logits(ctx, m, all);
    memcpy(before, all, sizeof before);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(asc_model_hold(m, &bad[i], 1) != ASC_OK);
        assert_true(asc_error_message(ctx)[0] != '\0');
    }
    logits(ctx, m, all); /* what was held is still held */
    memcpy(after, all, sizeof after);
    assert_memory_equal(before, after, sizeof before);
    free(all);
    free(rows);
    asc_model_close(m); /* with it */
    asc_ctx_destroy(ctx);
}

static void memory_runs_out(void **state) {
    (void)state;
    test_alloc a = {0};
    for (long k = 0, failed = 1; failed != 0; k++) {
        asc_ctx_options o = {
            .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
        asc_ctx *ctx = NULL;
        asc_model *m;
        a = (test_alloc){0};
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
        static float row[4096];
        const size_t token = 2;
        const asc_array one = {ASC_ELEM_F32, ASC_SHAPE(1, asc_model_get_info(m).d_model), row};
        const asc_site_patch two[] = {{.site = SITE, .values = one, .tokens = &token, .n_tokens = 1},
                                      {.site = SITE, .change = square}};
        a.fail_at = a.count + 1 + k;
        const asc_status st = asc_model_hold(m, two, 2);
        failed = a.fail_at <= a.count;
        a.fail_at = 0;
        if (st != ASC_OK) assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
        asc_model_close(m);
        asc_ctx_destroy(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_in_one_run),
        cmocka_unit_test(refusals),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
