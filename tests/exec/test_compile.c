/* test_compile.c - asc_compile: recorded once per signature, the bits of a plain call, scalars, and what is
 * refused. */
#include "ascribe/compile.h"
#include "exec.h"
#include "harness.h"
#include "ops.h"
#include "runtime.h"
#include <math.h>

static asc_ctx *ctx_of(const char *mode) {
    asc_ctx_options o = {.struct_size = sizeof o, .mode = mode, .n_threads = 1};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    return ctx;
}

static asc_tensor *filled(asc_ctx *ctx, asc_shape s, int first) {
    float v[256];
    for (int i = 0; i < asc_shape_elems(&s); i++) v[i] = sinf(0.37f * (float)(first + i));
    return asc_from_f32(ctx, s, v);
}

/* f = sum(tanh(s0 x W + s1)) and its gradient at x. */
static void network(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s, asc_tensor **out) {
    (void)self;
    int axes[] = {0, 1};
    asc_tensor *h = asc_scale(ctx, asc_matmul(ctx, in[0], in[1], false, false), s[0]);
    out[0] = asc_sum(ctx, asc_tanh(ctx, asc_shift(ctx, h, s[1])), 2, axes, false);
    asc_grad(ctx, out[0], NULL, &in[0], 1, &out[1]);
}

static void calls_give_the_bits_of_the_function(void **state) {
    static const char *const modes[] = {"compiled", "deferred", "eager"};
    (void)state;
    for (int m = 0; m < 3; m++) {
        asc_ctx *ctx = ctx_of(modes[m]);
        asc_compile_def d = {.struct_size = sizeof d, .fn = network, .n_in = 2, .n_scalars = 2, .n_out = 2};
        asc_compiled *c;
        assert_ok(ctx, asc_compile(ctx, &d, &c));
        for (int i = 0; i < 12; i++) {
            const double s[] = {0.5 + 0.25 * i, -0.1 * i};
            const int64_t rows = 2 + i % 3;
            float got[1 + 32], want[1 + 32];
            asc_scope_begin(ctx);
            asc_tensor *in[] = {filled(ctx, ASC_SHAPE(rows, 4), i), filled(ctx, ASC_SHAPE(4, 3), 100 * i)};
            if (i == 5) in[0] = asc_exp(ctx, in[0]); /* recorded before, not computed */
            asc_tensor *out[2], *plain[2];
            assert_ok(ctx, asc_compiled_call(c, in, s, out));
            network(ctx, NULL, in, s, plain);
            assert_ok(ctx, asc_read_f32(ctx, out[0], got, 1));
            assert_ok(ctx, asc_read_f32(ctx, out[1], got + 1, (size_t)rows * 4));
            assert_ok(ctx, asc_read_f32(ctx, plain[0], want, 1));
            assert_ok(ctx, asc_read_f32(ctx, plain[1], want + 1, (size_t)rows * 4));
            assert_memory_equal(got, want, (1 + (size_t)rows * 4) * sizeof *got);
            assert_true(want[0] > -13.0f && want[0] < 13.0f && fabsf(want[1]) > 0.0f);
            assert_ok(ctx, asc_scope_end(ctx));
        }
        uint64_t recorded, run;
        asc_compiled_counts(c, &recorded, &run);
        assert_int_equal(recorded, 6); /* three signatures, twice each for the scalars */
        assert_int_equal(run, 12);
        asc_compiled_destroy(c);
        test_ctx_end(ctx);
    }
}

/* Results of an earlier call stay what they were. */
static void results_are_the_callers(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("compiled");
    asc_compile_def d = {.struct_size = sizeof d, .fn = network, .n_in = 2, .n_scalars = 2, .n_out = 2};
    asc_compiled *c;
    asc_tensor *out[4][2];
    float f[4];
    assert_ok(ctx, asc_compile(ctx, &d, &c));
    asc_scope_begin(ctx);
    for (int i = 0; i < 4; i++) {
        const double s[] = {1.0, 0.1 * i};
        asc_tensor *in[] = {filled(ctx, ASC_SHAPE(2, 4), i), filled(ctx, ASC_SHAPE(4, 3), 7)};
        assert_ok(ctx, asc_compiled_call(c, in, s, out[i]));
        assert_ok(ctx, asc_read_f32(ctx, out[i][0], &f[i], 1));
    }
    for (int i = 0; i < 4; i++) {
        float again;
        assert_ok(ctx, asc_read_f32(ctx, out[i][0], &again, 1));
        assert_memory_equal(&again, &f[i], sizeof again);
        for (int k = 0; k < i; k++) assert_true(f[i] < f[k] || f[i] > f[k]);
    }
    assert_ok(ctx, asc_scope_end(ctx));
    asc_compiled_destroy(c);
    test_ctx_end(ctx);
}

static void same(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s, asc_tensor **out) {
    (void)self;
    (void)s;
    out[0] = in[0];
    out[1] = asc_neg(ctx, in[0]);
    out[2] = out[1];
    out[3] = asc_full(ctx, ASC_SHAPE(2), 3.0);
}

/* Outputs that are inputs, each other, or depend on nothing. */
static void outputs_may_be_anything(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("compiled");
    asc_compile_def d = {.struct_size = sizeof d, .fn = same, .n_in = 2, .n_out = 4};
    asc_compiled *c;
    assert_ok(ctx, asc_compile(ctx, &d, &c));
    for (int i = 0; i < 3; i++) {
        float v[2] = {1.0f + (float)i, 2.0f}, got[4][2];
        asc_scope_begin(ctx);
        asc_tensor *in[] = {asc_from_f32(ctx, ASC_SHAPE(2), v), asc_from_f32(ctx, ASC_SHAPE(2), v)}, *out[4];
        assert_ok(ctx, asc_compiled_call(c, in, NULL, out));
        for (int k = 0; k < 4; k++) assert_ok(ctx, asc_read_f32(ctx, out[k], got[k], 2));
        assert_memory_equal(got[0], v, sizeof v);
        assert_true(got[1][0] < -0.5f - (float)i && got[1][0] > -1.5f - (float)i);
        assert_memory_equal(got[1], got[2], sizeof v);
        assert_true(got[3][1] > 2.5f && got[3][1] < 3.5f);
        assert_ok(ctx, asc_scope_end(ctx));
    }
    asc_compiled_destroy(c);
    test_ctx_end(ctx);
}

static void reads(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s, asc_tensor **out) {
    float v[2];
    (void)self;
    (void)s;
    asc_set_label(ctx, "here");
    asc_tensor *t = asc_exp(ctx, in[0]);
    asc_set_label(ctx, NULL);
    out[0] = asc_read_f32(ctx, t, v, 2) == ASC_OK && v[0] > 0.0f ? t : in[0];
}
static void computes(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s, asc_tensor **out) {
    (void)self;
    out[0] = asc_scale(ctx, in[0], s[0] * 2.0);
}
static void branches(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s, asc_tensor **out) {
    (void)self;
    out[0] = s[0] > 1.5 ? asc_exp(ctx, in[0]) : asc_scale(ctx, in[0], s[0]);
}
static void forgets(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s, asc_tensor **out) {
    (void)ctx, (void)self, (void)in, (void)s, (void)out;
}
static void fails(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s, asc_tensor **out) {
    (void)self, (void)s;
    out[0] = asc_add(ctx, in[0], asc_full(ctx, ASC_SHAPE(5), 1.0));
}
/* Reading what the inputs do not decide is allowed: it is a constant. */
static void looks_at_weights(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s,
                             asc_tensor **out) {
    float w[2];
    (void)self, (void)s;
    asc_tensor *k = asc_exp(ctx, asc_full(ctx, ASC_SHAPE(2), 0.0));
    out[0] = asc_read_f32(ctx, k, w, 2) == ASC_OK ? asc_scale(ctx, in[0], (double)w[0]) : NULL;
}

static void what_cannot_be_compiled_is_said(void **state) {
    static const struct {
        asc_compiled_fn fn;
        asc_status st;
        const char *says;
    } cases[] = {{reads, ASC_FAILED_PRECONDITION, "reads the value of 'exp' at here"},
                 {computes, ASC_INVALID_ARGUMENT, "computes with its scalars before op 'scale'"},
                 {branches, ASC_INVALID_ARGUMENT, "other scalars make it record other ops"},
                 {forgets, ASC_INVALID_ARGUMENT, "output 0 was not set"},
                 {fails, ASC_INVALID_ARGUMENT, "[5]"},
                 {looks_at_weights, ASC_OK, ""}};
    (void)state;
    asc_ctx *ctx = ctx_of("compiled");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_compile_def d = {.struct_size = sizeof d,
                             .fn = cases[i].fn,
                             .n_in = 1,
                             .n_scalars = 1,
                             .n_out = 1,
                             .name = "mine"};
        asc_compiled *c;
        assert_ok(ctx, asc_compile(ctx, &d, &c));
        for (int again = 0; again < 2; again++) {
            const float v[2] = {1.0f, 2.0f};
            const double s = 1.25;
            asc_scope_begin(ctx);
            asc_tensor *in = asc_from_f32(ctx, ASC_SHAPE(2), v), *out;
            assert_int_equal(asc_compiled_call(c, &in, &s, &out), cases[i].st);
            if (cases[i].st != ASC_OK && strstr(asc_error_message(ctx), cases[i].says) == NULL)
                fail_msg("case %zu: %s", i, asc_error_message(ctx));
            if (cases[i].st != ASC_OK) assert_non_null(strstr(asc_error_message(ctx), "mine"));
            assert_int_equal(asc_tensor_poisoned(out), cases[i].st != ASC_OK);
            assert_ok(ctx, asc_scope_end(ctx));
        }
        asc_compiled_destroy(c);
    }
    asc_compiled *c;
    asc_compile_def none = {.struct_size = sizeof none, .n_out = 1};
    assert_int_equal(asc_compile(ctx, &none, &c), ASC_INVALID_ARGUMENT);
    none.struct_size = 1;
    assert_int_equal(asc_compile(ctx, &none, &c), ASC_INVALID_ARGUMENT);
    assert_int_equal(asc_compile(ctx, NULL, &c), ASC_INVALID_ARGUMENT);
    test_ctx_end(ctx);
}

static void frozen_contexts_record_nothing_new(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("compiled");
    asc_compile_def d = {.struct_size = sizeof d, .fn = same, .n_in = 1, .n_out = 4};
    asc_compiled *c;
    assert_ok(ctx, asc_compile(ctx, &d, &c));
    for (int i = 0; i < 3; i++) {
        const float v[3] = {1.0f, 2.0f, 3.0f};
        asc_tensor *in, *out[4];
        asc_scope_begin(ctx);
        in = asc_from_f32(ctx, ASC_SHAPE(i == 1 ? 3 : 2), v);
        assert_int_equal(asc_compiled_call(c, &in, NULL, out), i == 1 ? ASC_FAILED_PRECONDITION : ASC_OK);
        assert_ok(ctx, asc_scope_end(ctx));
        asc_exec_freeze(ctx, true);
    }
    asc_compiled_destroy(c);
    test_ctx_end(ctx);
}

static void product(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s, asc_tensor **out) {
    (void)self, (void)s;
    const char *old = asc_set_label(ctx, "here.mul");
    out[0] = asc_matmul(ctx, in[0], in[1], false, false);
    asc_set_label(ctx, old);
}

/* Another level for a place: what was captured before is not run any more. */
static void levels_of_places_count(void **state) {
    (void)state;
    asc_ctx *ctx = ctx_of("compiled");
    asc_compile_def d = {.struct_size = sizeof d, .fn = product, .n_in = 2, .n_out = 1};
    asc_compiled *c;
    float got[2][9 * 64], want[9 * 64];
    assert_ok(ctx, asc_compile(ctx, &d, &c));
    for (int i = 0; i < 2; i++) {
        asc_scope_begin(ctx);
        asc_tensor *in[] = {filled(ctx, ASC_SHAPE(9, 4), 1), filled(ctx, ASC_SHAPE(4, 64), 2)}, *out, *plain;
        assert_ok(ctx, asc_compiled_call(c, in, NULL, &out));
        product(ctx, NULL, in, NULL, &plain);
        assert_ok(ctx, asc_read_f32(ctx, out, got[i], 9 * 64));
        assert_ok(ctx, asc_read_f32(ctx, plain, want, 9 * 64));
        assert_memory_equal(got[i], want, sizeof want);
        assert_ok(ctx, asc_scope_end(ctx));
        assert_ok(ctx,
                  asc_level_set_at(ctx, "here", ASC_PRECISION_INT8)); /* its numbers are its own everywhere */
    }
    assert_memory_not_equal(got[0], got[1], sizeof want);
    asc_compiled_destroy(c);
    test_ctx_end(ctx);
}

static void first_row(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *s, asc_tensor **out) {
    (void)s;
    out[0] = asc_mul(ctx, in[0], asc_slice(ctx, self, 0, 0, 1));
}

/* Weights belong to their owner: captures that share large ones do not drive each other out. */
static void weights_do_not_count(void **state) {
    (void)state;
    enum { ROWS = 20 << 10, WIDTH = 1 << 10 }; /* 80 MB, more than captures may hold */
    asc_ctx *ctx = ctx_of("compiled");
    asc_scope_begin(ctx);
    asc_tensor *w = asc_full(ctx, ASC_SHAPE(ROWS, WIDTH), 2.0);
    assert_ok(ctx, asc_run(ctx, &w, 1));
    asc_compile_def d = {.struct_size = sizeof d, .fn = first_row, .self = w, .n_in = 1, .n_out = 1};
    asc_compiled *c;
    uint64_t recorded, run;
    assert_ok(ctx, asc_compile(ctx, &d, &c));
    for (int i = 0; i < 6; i++) {
        float x[2 * WIDTH] = {3.0f}, y[2 * WIDTH];
        const int64_t rows = 1 + i % 2;
        asc_scope_begin(ctx);
        asc_tensor *in = asc_from_f32(ctx, ASC_SHAPE(rows, WIDTH), x), *out;
        assert_ok(ctx, asc_compiled_call(c, &in, NULL, &out));
        assert_ok(ctx, asc_read_f32(ctx, out, y, (size_t)rows * WIDTH));
        assert_true(y[0] > 5.9f && y[0] < 6.1f);
        assert_ok(ctx, asc_scope_end(ctx));
    }
    asc_compiled_counts(c, &recorded, &run);
    assert_int_equal(recorded, 2);
    assert_int_equal(run, 6);
    asc_compiled_destroy(c);
    assert_ok(ctx, asc_scope_end(ctx));
    test_ctx_end(ctx);
}

/* Every allocation fails once: an error, and nothing left behind. */
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
            asc_compile_def d = {
                .struct_size = sizeof d, .fn = network, .n_in = 2, .n_scalars = 2, .n_out = 2};
            asc_compiled *c;
            st = asc_compile(ctx, &d, &c);
            for (int i = 0; i < 2 && st == ASC_OK; i++) {
                const double s[] = {0.5, 0.25};
                asc_scope_begin(ctx);
                asc_tensor *in[] = {filled(ctx, ASC_SHAPE(2, 4), i), filled(ctx, ASC_SHAPE(4, 3), 3)},
                           *out[2];
                st = asc_compiled_call(c, in, s, out);
                asc_status st2 = asc_scope_end(ctx);
                if (st == ASC_OK) st = st2;
            }
            finished = st == ASC_OK && a.count < k;
            assert_true(st == ASC_OK || st == ASC_RESOURCE_EXHAUSTED || st == ASC_FAILED_PRECONDITION);
            asc_compiled_destroy(c);
        }
        asc_ctx_destroy(ctx);
        assert_int_equal(a.live, 0);
    }
    assert_true(finished);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_give_the_bits_of_the_function),
        cmocka_unit_test(results_are_the_callers),
        cmocka_unit_test(outputs_may_be_anything),
        cmocka_unit_test(what_cannot_be_compiled_is_said),
        cmocka_unit_test(frozen_contexts_record_nothing_new),
        cmocka_unit_test(levels_of_places_count),
        cmocka_unit_test(weights_do_not_count),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name("compile", tests, NULL, NULL);
}
