/* test_exec.c - cuts, modes, scopes, errors and memory of the executor; gradients through every mode. */
#include "exec.h"
#include "grad.h"
#include "harness.h"
#include "ops.h"
#include <math.h>

static asc_ctx *ctx_of(const char *device, const char *mode, int threads) {
    asc_ctx_options o = {.struct_size = sizeof o, .device = device, .mode = mode, .n_threads = threads};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    return ctx;
}

/* A little of everything: matmul, softmax, norm, reductions, broadcasting. */
static asc_tensor *network(asc_ctx *ctx, asc_tensor *x) {
    float w[48], n[6];
    for (int i = 0; i < 48; i++) w[i] = sinf((float)i) * 0.3f;
    for (int i = 0; i < 6; i++) n[i] = 1.0f + 0.1f * (float)i;
    int axis[] = {-1};
    asc_tensor *h = asc_matmul(ctx, x, asc_from_f32(ctx, ASC_SHAPE(8, 6), w), false, false);
    h = asc_rms_norm(ctx, asc_silu(ctx, h), asc_from_f32(ctx, ASC_SHAPE(6), n), 1e-5);
    h = asc_mul(ctx, asc_softmax(ctx, h), asc_shift(ctx, h, 0.5));
    return asc_sum(ctx, asc_reshape(ctx, h, ASC_SHAPE(-1)), 1, axis, false);
}

static asc_tensor *input(asc_ctx *ctx) {
    float v[24];
    for (int i = 0; i < 24; i++) v[i] = cosf((float)i * 0.7f);
    return asc_from_f32(ctx, ASC_SHAPE(3, 8), v);
}

static void modes_and_threads_give_the_same_bits(void **state) {
    (void)state;
    float first[25], got[25];
    for (int k = 0; k < 4; k++) {
        asc_ctx *ctx = ctx_of("cpu", k % 2 != 0 ? "eager" : "deferred", 1 + k / 2);
        for (int again = 0; again < 2; again++) {
            asc_scope_begin(ctx);
            asc_tensor *x = input(ctx), *y = network(ctx, x), *g;
            asc_grad(ctx, y, NULL, &x, 1, &g);
            assert_ok(ctx, asc_read_f32(ctx, y, got, 1));
            assert_ok(ctx, asc_read_f32(ctx, g, got + 1, 24));
            if (k == 0 && again == 0) memcpy(first, got, sizeof first);
            assert_memory_equal(first, got, sizeof first);
            assert_ok(ctx, asc_scope_end(ctx));
        }
        test_ctx_end(ctx);
    }
}

static void second_derivative(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("reference", "deferred", 1);
    asc_scope_begin(ctx);
    const double at = 0.4;
    double d1, d2;
    asc_tensor *x = asc_from_f64(ctx, ASC_SHAPE(1), &at), *g, *gg;
    asc_tensor *y = asc_mul(ctx, asc_exp(ctx, x), asc_sin(ctx, x)); /* (e^x sin x)'' = 2 e^x cos x */
    asc_grad(ctx, y, NULL, &x, 1, &g);
    asc_grad(ctx, g, NULL, &x, 1, &gg);
    assert_ok(ctx, asc_read_f64(ctx, g, &d1, 1));
    assert_ok(ctx, asc_read_f64(ctx, gg, &d2, 1));
    assert_true(fabs(d1 - exp(at) * (sin(at) + cos(at))) < 1e-14);
    assert_true(fabs(d2 - 2.0 * exp(at) * cos(at)) < 1e-14);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

static asc_tensor *doubled(asc_vjp_args *a) { return asc_scale(a->ctx, a->g, 2.0); }
static void rule(asc_vjp_args *a) { a->gin[0] = doubled(a); }

/* A rule table replaces a VJP for one pass and leaves nothing behind. */
static void rules_are_data(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("cpu", "deferred", 1);
    static asc_grad_rules rules = {.name = "twice"};
    rules.vjp[ASC_OPCODE_RELU] = rule;
    float v = 3.0f, a, b;
    asc_scope_begin(ctx);
    asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(1), &v), *y = asc_relu(ctx, x), *g;
    asc_grad_with_rules(ctx, &rules, y, NULL, &x, 1, &g);
    assert_ok(ctx, asc_read_f32(ctx, g, &a, 1));
    asc_grad(ctx, y, NULL, &x, 1, &g);
    assert_ok(ctx, asc_read_f32(ctx, g, &b, 1));
    assert_true(a > 1.9f && a < 2.1f && b > 0.9f && b < 1.1f);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

static void errors_poison_and_surface(void **state) {
    (void)state;
    for (int eager = 0; eager < 2; eager++) {
        asc_ctx *ctx = ctx_of("cpu", eager != 0 ? "eager" : "deferred", 1);
        float v[6] = {0}, out[6];
        asc_scope_begin(ctx);
        asc_tensor *a = asc_from_f32(ctx, ASC_SHAPE(2, 3), v), *b = asc_from_f32(ctx, ASC_SHAPE(5), v);
        asc_tensor *bad = asc_add(ctx, a, b), *later = asc_exp(ctx, bad), *g;
        assert_true(asc_tensor_poisoned(later));
        asc_grad(ctx, later, NULL, &a, 1, &g);
        assert_true(asc_tensor_poisoned(g));
        assert_int_equal(asc_read_f32(ctx, later, out, 6), ASC_INVALID_ARGUMENT);
        assert_non_null(strstr(asc_error_message(ctx), "add"));
        assert_non_null(strstr(asc_error_message(ctx), "[2,3]"));
        assert_int_equal(asc_read_f32(ctx, later, out, 6), ASC_FAILED_PRECONDITION);
        assert_ok(ctx, asc_read_f32(ctx, asc_neg(ctx, a), out, 6)); /* the context still works */
        assert_ok(ctx, asc_scope_end(ctx));
        assert_int_equal(asc_scope_end(ctx), ASC_FAILED_PRECONDITION);
        test_ctx_end(ctx);
    }
}

static void cuts_are_counted_and_lazy(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("cpu", "deferred", 1);
    float out;
    asc_scope_begin(ctx);
    asc_tensor *x = input(ctx), *y = network(ctx, x);
    network(ctx, x); /* never read: never run */
    assert_int_equal(asc_exec_stats_of(ctx).nodes_run, 0);
    assert_ok(ctx, asc_read_f32(ctx, y, &out, 1));
    asc_exec_stats s = asc_exec_stats_of(ctx);
    assert_int_equal(s.cuts[ASC_CUT_READ], 1);
    assert_true(s.nodes_run > 5 && s.nodes_run < 20);
    assert_ok(ctx, asc_read_f32(ctx, y, &out, 1)); /* has its value already */
    assert_int_equal(asc_exec_stats_of(ctx).nodes_run, s.nodes_run);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

/* Unread work cannot pile up: the queue is cut by itself, and the value is still right. */
static void queue_is_bounded(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("cpu", "deferred", 1);
    float v = 0.0f, out;
    asc_scope_begin(ctx);
    asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(1), &v);
    for (int i = 0; i < 30000; i++) x = asc_shift(ctx, x, 1.0);
    assert_true(asc_exec_stats_of(ctx).cuts[ASC_CUT_NODES] >= 2);
    assert_ok(ctx, asc_read_f32(ctx, x, &out, 1));
    assert_true(out > 29999.5f && out < 30000.5f);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

/* 5,000 different scalars: not one allocation more is alive afterwards. */
static void scalars_leave_nothing_behind(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("cpu", "deferred", 1);
    asc_scope_begin(ctx);
    asc_tensor *x = input(ctx);
    float out[24];
    size_t live = 0;
    for (int i = 0; i < 5010; i++) {
        asc_scope_begin(ctx);
        assert_ok(ctx, asc_read_f32(ctx, asc_scale(ctx, x, 1.0 + 1e-4 * i), out, 24));
        assert_ok(ctx, asc_scope_end(ctx));
        if (i == 9) live = asc_memory(ctx).live_allocs;
    }
    assert_int_equal(asc_memory(ctx).live_allocs, live);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

static void kept_values_outlive_their_scope(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("cpu", "deferred", 1);
    float out[24];
    asc_scope_begin(ctx);
    asc_scope_begin(ctx);
    asc_tensor *y = asc_keep(ctx, asc_exp(ctx, input(ctx)));
    assert_ok(ctx, asc_scope_end(ctx));
    assert_ok(ctx, asc_read_f32(ctx, y, out, 24));
    assert_true(fabsf(out[0] - expf(1.0f)) < 1e-6f);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

static void null_device_prices(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("null", "deferred", 1), *cpu = ctx_of("cpu", "deferred", 1);
    asc_plan a, b;
    float out;
    asc_scope_begin(ctx);
    asc_scope_begin(cpu);
    asc_tensor *y = network(ctx, input(ctx)), *z = network(cpu, input(cpu));
    assert_ok(ctx, asc_exec_price(ctx, &y, 1, &a));
    assert_ok(cpu, asc_exec_price(cpu, &z, 1, &b));
    assert_int_equal(a.arena_bytes, b.arena_bytes);
    assert_true(a.cost.flops > 3 * 8 * 6 * 2);
    assert_int_equal(asc_read_f32(ctx, y, &out, 1), ASC_FAILED_PRECONDITION);
    assert_non_null(strstr(asc_error_hint(ctx), "reference"));
    assert_ok(ctx, asc_scope_end(ctx));
    assert_ok(cpu, asc_scope_end(cpu));
    test_ctx_end(ctx);
    test_ctx_end(cpu);
}

static void memory_runs_out(void **state) {
    (void)state;
    bool finished = false;
    for (long k = 1; !finished && k < 2000; k++) {
        test_alloc a = {.fail_at = k};
        asc_ctx_options o = {
            .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
        asc_ctx *ctx;
        asc_status st = asc_ctx_create(&o, &ctx);
        if (st == ASC_OK) {
            float out[24];
            asc_scope_begin(ctx);
            asc_tensor *x = input(ctx), *y = network(ctx, x), *g;
            asc_grad(ctx, y, NULL, &x, 1, &g);
            st = asc_read_f32(ctx, g, out, 24);
            asc_status st2 = asc_scope_end(ctx);
            if (st == ASC_OK) st = st2;
            finished = st == ASC_OK && a.count < k;
            assert_true(st == ASC_OK || st == ASC_RESOURCE_EXHAUSTED || st == ASC_FAILED_PRECONDITION);
        }
        asc_ctx_destroy(ctx);
        assert_int_equal(a.live, 0);
    }
    assert_true(finished);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_and_threads_give_the_same_bits),
        cmocka_unit_test(second_derivative),
        cmocka_unit_test(rules_are_data),
        cmocka_unit_test(errors_poison_and_surface),
        cmocka_unit_test(cuts_are_counted_and_lazy),
        cmocka_unit_test(queue_is_bounded),
        cmocka_unit_test(scalars_leave_nothing_behind),
        cmocka_unit_test(kept_values_outlive_their_scope),
        cmocka_unit_test(null_device_prices),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name("exec", tests, NULL, NULL);
}
