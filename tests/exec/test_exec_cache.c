/* test_exec_cache.c - the cache of executables: what is a hit, what is not and why, bounds, freezing. */
#include "exec.h"
#include "harness.h"
#include "ops.h"
#include "passes.h"
#include <math.h>

static asc_ctx *ctx_of(const char *mode) {
    asc_ctx_options o = {.struct_size = sizeof o, .mode = mode, .n_threads = 1};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    return ctx;
}

/* tanh(x W) s over n rows of 4, with row r of x = r + 1; returns the last element. */
static float product(asc_ctx *ctx, int64_t n, double s, const char *label, asc_status *st) {
    float x[64], w[16], y[64] = {0};
    for (int64_t i = 0; i < n * 4; i++) x[i] = (float)(i / 4 + 1);
    for (int i = 0; i < 16; i++) w[i] = 0.01f * (float)(i + 1);
    asc_scope_begin(ctx);
    asc_tensor *a = asc_from_f32(ctx, ASC_SHAPE(n, 4), x), *b = asc_from_f32(ctx, ASC_SHAPE(4, 4), w);
    const char *old = asc_set_label(ctx, label);
    asc_tensor *p = asc_matmul(ctx, a, b, false, false);
    asc_set_label(ctx, old);
    *st = asc_read_f32(ctx, asc_scale(ctx, asc_tanh(ctx, p), s), y, (size_t)(n * 4));
    *st = asc_scope_close(ctx, *st);
    return y[n * 4 - 1];
}

static float expected(int64_t n, double s) {
    double sum = 0.0;
    for (int i = 0; i < 4; i++) sum += 0.01 * (4 * i + 4) * (double)n;
    return (float)(s * tanh(sum));
}

static void check_product(asc_ctx *ctx, int64_t n, double s) {
    asc_status st;
    float y = product(ctx, n, s, "mul.here", &st);
    assert_ok(ctx, st);
    assert_true(fabsf(y - expected(n, s)) < 1e-5f * (1.0f + fabsf(y)));
}

static void the_same_structure_is_a_hit(void **state) {
    static const char *const modes[] = {"deferred", "eager"};
    (void)state;
    for (int m = 0; m < 2; m++) {
        asc_ctx *ctx = ctx_of(modes[m]);
        check_product(ctx, 3, 0.5);
        asc_exec_stats first = asc_exec_stats_of(ctx);
        assert_int_equal(first.cache_misses, m == 0 ? 1 : 3);
        assert_int_equal(first.cache_entries, first.cache_misses);
        assert_true(first.compile_ns > 0 && first.cache_bytes > 500);
        for (int i = 0; i < 5000; i++) check_product(ctx, 3, 0.5 + 1e-3 * i);
        asc_exec_stats s = asc_exec_stats_of(ctx);
        assert_int_equal(s.cache_misses, first.cache_misses);
        assert_int_equal(s.cache_hits, 5000 * first.cache_misses);
        assert_int_equal(s.compile_ns, first.compile_ns);
        assert_int_equal(s.cache_bytes, first.cache_bytes);
        test_ctx_end(ctx);
    }
}

static void misses_say_why(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("deferred");
    assert_null(asc_exec_cache_why(ctx, 0));
    check_product(ctx, 3, 0.5);
    assert_non_null(strstr(asc_exec_cache_why(ctx, 0), "first program"));
    check_product(ctx, 5, 0.5);
    assert_string_equal(asc_exec_cache_why(ctx, 0),
                        "node 0 input: shape [5,4] here, [3,4] in the nearest entry");
    asc_scope_begin(ctx);
    float x[12] = {1.0f}, y[16];
    asc_tensor *a = asc_from_f32(ctx, ASC_SHAPE(3, 4), x), *b = asc_from_f32(ctx, ASC_SHAPE(3, 4), x);
    asc_set_label(ctx, "mul.there");
    asc_tensor *p = asc_matmul(ctx, a, b, false, true);
    asc_set_label(ctx, NULL);
    assert_ok(ctx, asc_read_f32(ctx, asc_exp(ctx, p), y, 9));
    assert_non_null(strstr(asc_exec_cache_why(ctx, 0), "node 1 input: shape [3,4] here, [4,4]"));
    assert_ok(ctx, asc_read_f32(ctx, asc_tanh(ctx, asc_exp(ctx, asc_matmul(ctx, a, b, false, true))), y, 9));
    assert_non_null(strstr(asc_exec_cache_why(ctx, 0), "5 nodes"));
    assert_ok(ctx, asc_read_f32(ctx, asc_exp(ctx, asc_matmul(ctx, a, b, true, false)), y, 16));
    assert_non_null(strstr(asc_exec_cache_why(ctx, 0), "node 2 matmul: shape [4,4] here, [3,3] in"));
    assert_non_null(strstr(asc_exec_cache_why(ctx, 4), "first program"));
    assert_null(asc_exec_cache_why(ctx, 5));
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

/* Hashed float attributes are compared by their bits. */
static void zeros_of_either_sign_differ(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("deferred");
    float x[6] = {1, 2, 3, 4, 5, 6}, w[6] = {1, 1, 1, 1, 1, 1}, y[6];
    static const double eps[] = {0.0, -0.0, 1e-5, 0.0};
    for (int i = 0; i < 4; i++) {
        asc_scope_begin(ctx);
        asc_tensor *a = asc_from_f32(ctx, ASC_SHAPE(1, 6), x), *b = asc_from_f32(ctx, ASC_SHAPE(6), w);
        assert_ok(ctx, asc_read_f32(ctx, asc_rms_norm(ctx, a, b, eps[i]), y, 6));
        assert_ok(ctx, asc_scope_end(ctx));
    }
    assert_int_equal(asc_exec_stats_of(ctx).cache_misses, 3);
    assert_int_equal(asc_exec_stats_of(ctx).cache_hits, 1);
    assert_non_null(strstr(asc_exec_cache_why(ctx, 0), "eps 1.0000000000000001e-05 here, -0 in the nearest"));
    test_ctx_end(ctx);
}

static void bounds_hold(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("deferred");
    asc_exec_cache_bound(ctx, 2, (size_t)1 << 30);
    for (int round = 0; round < 3; round++) {
        for (int64_t n = 1; n <= 3; n++) check_product(ctx, n, 2.0);
    }
    asc_exec_stats s = asc_exec_stats_of(ctx);
    assert_int_equal(s.cache_entries, 2);
    assert_int_equal(s.cache_misses, 9); /* three shapes in a row never fit two places */
    assert_int_equal(s.cache_evictions, 7);
    check_product(ctx, 2, 2.0);
    check_product(ctx, 3, 2.0);
    assert_int_equal(asc_exec_stats_of(ctx).cache_misses, 9);
    asc_exec_cache_bound(ctx, 256, s.cache_bytes / 2); /* one of the two */
    assert_int_equal(asc_exec_stats_of(ctx).cache_entries, 1);
    asc_exec_cache_bound(ctx, 256, 0); /* nothing stays, everything runs */
    check_product(ctx, 3, 2.0);
    assert_int_equal(asc_exec_stats_of(ctx).cache_entries, 0);
    assert_int_equal(asc_exec_stats_of(ctx).cache_bytes, 0);
    test_ctx_end(ctx);
}

static void clearing_frees(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("deferred");
    asc_status st;
    (void)product(ctx, 4, 1.0, NULL, &st);
    assert_ok(ctx, st);
    asc_exec_cache_clear(ctx);
    size_t live = asc_memory(ctx).live_allocs, bytes = asc_memory(ctx).live_total;
    for (int i = 0; i < 10; i++) {
        (void)product(ctx, 4, 1.0, NULL, &st);
        assert_ok(ctx, st);
        assert_true(asc_memory(ctx).live_allocs > live);
        asc_exec_program e;
        assert_true(asc_exec_cache_at(ctx, 0, &e));
        assert_int_equal(e.bytes, asc_exec_stats_of(ctx).cache_bytes);
        size_t held = asc_memory(ctx).live_total - bytes; /* headers of a few blocks may differ */
        assert_true(e.bytes <= held && e.bytes + 256 >= held);
        assert_false(asc_exec_cache_at(ctx, 1, &e));
        asc_exec_cache_clear(ctx);
        assert_int_equal(asc_memory(ctx).live_allocs, live);
        assert_int_equal(asc_memory(ctx).live_total, bytes);
    }
    test_ctx_end(ctx);
}

static void frozen_contexts_compile_nothing(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("deferred");
    asc_status st;
    check_product(ctx, 3, 0.5);
    asc_exec_freeze(ctx, true);
    check_product(ctx, 3, 0.25);
    (void)product(ctx, 6, 0.5, NULL, &st);
    assert_int_equal(st, ASC_FAILED_PRECONDITION);
    assert_non_null(strstr(asc_error_message(ctx), "shape [6,4] here, [3,4] in the nearest entry"));
    check_product(ctx, 3, 0.75); /* usable, still frozen */
    asc_exec_freeze(ctx, false);
    check_product(ctx, 6, 0.5);
    test_ctx_end(ctx);
    setenv("ASC_FREEZE", "1", 1);
    ctx = ctx_of("eager");
    unsetenv("ASC_FREEZE");
    (void)product(ctx, 3, 0.5, NULL, &st);
    assert_int_equal(st, ASC_FAILED_PRECONDITION);
    assert_non_null(strstr(asc_error_message(ctx), "frozen"));
    test_ctx_end(ctx);
}

static void passes_are_part_of_the_key(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("deferred");
    check_product(ctx, 3, 0.5);
    assert_ok(ctx, asc_exec_passes(ctx, "none"));
    check_product(ctx, 3, 0.5);
    assert_int_equal(asc_exec_stats_of(ctx).cache_misses, 2);
    assert_non_null(strstr(asc_exec_cache_why(ctx, 0), "other passes"));
    assert_ok(ctx, asc_exec_passes(ctx, ""));
    check_product(ctx, 3, 0.5);
    assert_int_equal(asc_exec_stats_of(ctx).cache_misses, 2);
    assert_int_equal(asc_exec_passes(ctx, "-nonsense"), ASC_INVALID_ARGUMENT);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_structure_is_a_hit),
        cmocka_unit_test(misses_say_why),
        cmocka_unit_test(zeros_of_either_sign_differ),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(clearing_frees),
        cmocka_unit_test(frozen_contexts_compile_nothing),
        cmocka_unit_test(passes_are_part_of_the_key),
    };
    return cmocka_run_group_tests_name("exec_cache", tests, NULL, NULL);
}
