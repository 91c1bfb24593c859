/* test_net_patch.c - running a net with inner values replaced: put back, the same; replaced, what follows is
 * computed from them; values that are held are those of a patch; refusals; memory running out. The numbers
 * themselves: bindings/python/tests/test_nets.py and test_held_values.py, against numpy. */
#include "ascribe/builtin.h"
#include "ascribe/ops.h"
#include "harness.h"
#include <math.h>

enum { MAX_SITES = 64 };

typedef struct sample {
    asc_builtin *b;
    asc_net *net;
    asc_attr_request q;
    const char *sites[MAX_SITES];
    size_t n;
} sample;

static sample open_sample(asc_ctx *ctx, const char *name) {
    sample s = {0};
    assert_ok(ctx, asc_builtin_open(ctx, name, &s.b));
    assert_ok(ctx, asc_builtin_request(s.b, "saliency", false, &s.q));
    s.net = asc_builtin_net(s.b);
    while (s.n < MAX_SITES && asc_net_site(s.net, s.n) != NULL) {
        s.sites[s.n] = asc_net_site(s.net, s.n);
        s.n++;
    }
    assert_true(s.n > 2);
    return s;
}

static double difference(const asc_array *a, const asc_array *b) {
    int64_t n = asc_array_count(a);
    double most = 0.0, x, y;
    assert_int_equal(n, asc_array_count(b));
    for (int64_t i = 0; i < n; i++) {
        asc_array_get(a, i, 1, &x);
        asc_array_get(b, i, 1, &y);
        most = fmax(most, fabs(x - y));
    }
    return most;
}

static void put_back_and_scaled(void **state) {
    (void)state;
    static const char *const places[][2] = {
        {"reference", NULL}, {"cpu", "deferred"}, {"cpu", "eager"}, {"cpu", "compiled"}};
    for (size_t k = 0; k < 4 * 3; k++) {
        asc_ctx *ctx = test_ctx(places[k / 3][0], places[k / 3][1]);
        sample s = open_sample(ctx, asc_builtin_name(k % 3));
        asc_array plain, got[MAX_SITES], again, both[2];
        assert_ok(ctx, asc_net_run(s.net, s.q.inputs, s.q.n_inputs, NULL, 0, &plain));
        assert_ok(ctx, asc_net_run(s.net, s.q.inputs, s.q.n_inputs, s.sites, s.n, got));
        size_t moved = 0;
        for (size_t i = 0; i < s.n; i++) {
            asc_value_patch p = {.site = s.sites[i], .values = got[i]};
            if (got[i].elem == ASC_ELEM_I64) continue;
            assert_ok(ctx, asc_net_run_patched(s.net, s.q.inputs, s.q.n_inputs, &p, 1, NULL, 0, &again));
            if (difference(&plain, &again) > 1e-5)
                fail_msg("%s put back: %g", s.sites[i], difference(&plain, &again));
            asc_array_free(ctx, &again);
            int64_t n = asc_array_count(&got[i]);
            double *v = calloc((size_t)n, sizeof *v);
            asc_array_get(&got[i], 0, n, v);
            for (int64_t e = 0; e < n; e++) v[e] = 0.5 * v[e] + 1.0;
            p.values.elem = ASC_ELEM_F64;
            p.values.data = v;
            const char *read[2] = {s.sites[i], s.sites[s.n - 1]};
            assert_ok(ctx, asc_net_run_patched(s.net, s.q.inputs, s.q.n_inputs, &p, 1, read, 2, both));
            assert_true(difference(&both[0], &p.values) < 1e-5); /* what was put there is read there */
            if (difference(&both[1], &got[s.n - 1]) > 1e-3) moved++;
            free(v);
            asc_array_free(ctx, &both[0]);
            asc_array_free(ctx, &both[1]);
        }
        assert_true(moved > s.n / 2);
        for (size_t i = 0; i < s.n; i++) asc_array_free(ctx, &got[i]);
        asc_array_free(ctx, &plain);
        asc_builtin_close(s.b);
        test_ctx_end(ctx);
    }
}

static asc_tensor *scaled(void *self, asc_ctx *ctx, asc_tensor *value) {
    (void)self;
    return asc_scale(ctx, value, 0.5);
}

/* Held as numbers, or as a function that makes these: what a run with the same patch gives, until it ends; a
 * refused call changes nothing. */
static void held_as_patched(void **state) {
    (void)state;
    static const char *const modes[] = {"deferred", "eager", "compiled"};
    for (size_t k = 0; k < 3; k++) {
        asc_ctx *ctx = test_ctx("cpu", modes[k]);
        sample s = open_sample(ctx, "mlp");
        asc_array plain, at, patched, held;
        assert_ok(ctx, asc_net_run(s.net, s.q.inputs, s.q.n_inputs, NULL, 0, &plain));
        assert_ok(ctx, asc_net_run(s.net, s.q.inputs, s.q.n_inputs, &s.sites[1], 1, &at));
        const int64_t n = asc_array_count(&at);
        double *v = calloc((size_t)n, sizeof *v);
        asc_array_get(&at, 0, n, v);
        for (int64_t e = 0; e < n; e++) v[e] *= 0.5;
        const asc_array half = {.elem = ASC_ELEM_F64, .shape = at.shape, .data = v};
        const asc_value_patch p = {.site = s.sites[1], .values = half};
        assert_ok(ctx, asc_net_run_patched(s.net, s.q.inputs, s.q.n_inputs, &p, 1, NULL, 0, &patched));
        assert_true(difference(&plain, &patched) > 1e-3);
        const asc_held_value ways[] = {{.site = s.sites[1], .values = half},
                                       {.site = s.sites[1], .change = scaled}},
                             bad = {.site = "nowhere", .change = scaled};
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            assert_ok(ctx, asc_net_hold(s.net, &ways[i], 1));
            assert_int_equal(asc_net_hold(s.net, &bad, 1), ASC_NOT_FOUND);
            assert_ok(ctx, asc_net_run(s.net, s.q.inputs, s.q.n_inputs, NULL, 0, &held));
            assert_true(difference(&patched, &held) < 1e-6); /* f32 of values near 1 */
            asc_array_free(ctx, &held);
        }
        assert_ok(ctx, asc_net_hold(s.net, NULL, 0));
        assert_ok(ctx, asc_net_run(s.net, s.q.inputs, s.q.n_inputs, NULL, 0, &held));
        assert_true(difference(&plain, &held) == 0.0);
        free(v);
        asc_array_free(ctx, &held);
        asc_array_free(ctx, &patched);
        asc_array_free(ctx, &at);
        asc_array_free(ctx, &plain);
        asc_builtin_close(s.b);
        test_ctx_end(ctx);
    }
}

static void refusals(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    sample s = open_sample(ctx, "mlp");
    static const float zeros[64];
    asc_array out;
    const struct {
        asc_value_patch p;
        asc_status code;
        const char *part;
    } cases[] = {
        {{"nowhere", {ASC_ELEM_F32, ASC_SHAPE(1, 2), zeros}}, ASC_NOT_FOUND, "nowhere"},
        {{s.sites[1], {ASC_ELEM_F32, ASC_SHAPE(1, 2, 3), zeros}}, ASC_INVALID_ARGUMENT, "its own are"},
        {{s.sites[1], {ASC_ELEM_F32, ASC_SHAPE(1, 63), zeros}}, ASC_INVALID_ARGUMENT, "63"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_status st = asc_net_run_patched(s.net, s.q.inputs, s.q.n_inputs, &cases[i].p, 1, NULL, 0, &out);
        assert_int_equal(st, cases[i].code);
        if (strstr(asc_error_message(ctx), cases[i].part) == NULL)
            fail_msg("'%s' lacks '%s'", asc_error_message(ctx), cases[i].part);
        assert_null(out.data);
    }
    asc_builtin_close(s.b);
    test_ctx_end(ctx);
}

static void memory_runs_out(void **state) {
    (void)state;
    test_alloc a = {0};
    for (long k = 0, failed = 1; failed != 0; k++) {
        asc_ctx_options o = {
            .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1};
        asc_ctx *ctx = NULL;
        asc_array v, out;
        a = (test_alloc){0};
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        sample s = open_sample(ctx, "mlp");
        assert_ok(ctx, asc_net_run(s.net, s.q.inputs, s.q.n_inputs, &s.sites[1], 1, &v));
        asc_value_patch p = {.site = s.sites[1], .values = v};
        a.fail_at = a.count + 1 + k;
        asc_status st = asc_net_run_patched(s.net, s.q.inputs, s.q.n_inputs, &p, 1, NULL, 0, &out);
        failed = a.fail_at <= a.count;
        a.fail_at = 0;
        if (st != ASC_OK || !failed) assert_int_equal(st, failed ? ASC_RESOURCE_EXHAUSTED : ASC_OK);
        asc_array_free(ctx, &out);
        asc_array_free(ctx, &v);
        asc_builtin_close(s.b);
        asc_ctx_destroy(ctx);
        assert_int_equal(a.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(put_back_and_scaled),
        cmocka_unit_test(held_as_patched),
        cmocka_unit_test(refusals),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
