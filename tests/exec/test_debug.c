/* test_debug.c - ASC_DEBUG: the trap names the op, its label and the input that was bad first, in every mode
 * and inside fused regions; indices outside; op by op has the same bits; the first error is the one that is
 * told. */
#include "harness.h"
#include "ascribe/compile.h"
#include "ascribe/ops.h"
#include "ascribe/replay.h"
#include "debug.h"
#include <math.h>
#include <unistd.h>

static const char *const modes[] = {"eager", "deferred", "compiled"};
static const char *const devices[] = {"cpu", "reference"};

static char logged[1 << 16];
static void keep_log(void *self, asc_log_level level, const char *message) {
    (void)self;
    (void)level;
    const size_t n = strlen(logged);
    snprintf(logged + n, sizeof logged - n, "%s\n", message);
}

/* Of this process: another checkout may run the same test. There is none yet. */
static const char *replay_file(void) {
    static char path[TEST_TMP];
    if (path[0] == '\0') {
        const int fd = mkstemp(test_tmp_name(path, "ascribe-debug-XXXXXX"));
        assert_true(fd >= 0);
        close(fd);
        unlink(path);
    }
    return path;
}

static asc_ctx *context(const char *device, const char *mode, const char *level) {
    logged[0] = '\0';
    setenv("ASC_DEBUG", level, 1);
    setenv("ASC_REPLAY", replay_file(), 1);
    asc_ctx_options o = {.struct_size = sizeof o, .device = device, .mode = mode, .log = keep_log};
    asc_ctx *ctx = NULL;
    if (asc_ctx_create(&o, &ctx) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    unsetenv("ASC_DEBUG");
    unsetenv("ASC_REPLAY");
    return ctx;
}

static void finish(asc_ctx *ctx) {
    test_ctx_end(ctx);
    unlink(replay_file());
}

/* Whatever it says: the error at hand was looked at before. */
static void leave(asc_ctx *ctx) {
    const asc_status st = asc_scope_end(ctx);
    (void)st;
}

static void says(asc_ctx *ctx, const char *words) {
    if (strstr(asc_error_message(ctx), words) == NULL)
        fail_msg("no '%s' in: %s (%s, %s)", words, asc_error_message(ctx), ctx->device_name, ctx->mode_name);
}

/* log of a negative number: made from good inputs by the op in 'head'. */
static void nan_from_good_inputs(void **state) {
    (void)state;
    for (size_t d = 0; d < 2; d++) {
        for (size_t m = 0; m < 3; m++) {
            for (int level = 2; level <= 5; level++) {
                char text[2] = {(char)('0' + level), '\0'};
                asc_ctx *ctx = context(devices[d], modes[m], text);
                const float x[4] = {1, 2, 3, -4};
                float y[4];
                asc_scope_begin(ctx);
                asc_tensor *a = asc_scale(ctx, asc_from_f32(ctx, ASC_SHAPE(4), x), 0.5);
                asc_set_label(ctx, "head");
                asc_tensor *b = asc_log(ctx, a);
                asc_set_label(ctx, NULL);
                b = asc_exp(ctx, asc_scale(ctx, b, 2.0));
                assert_int_equal(asc_read_f32(ctx, b, y, 4), ASC_OUT_OF_RANGE);
                says(ctx, "op 'log'");
                says(ctx, "in 'head'");
                says(ctx, "first at element 3");
                says(ctx, "from good inputs");
                says(ctx, "4 finite in [-2, 1.5]");
                leave(ctx);
                finish(ctx);
            }
        }
    }
}

/* inf - inf: the op is innocent, its input was bad first. */
static void nan_from_a_bad_input(void **state) {
    (void)state;
    for (size_t m = 0; m < 3; m++) {
        asc_ctx *ctx = context("cpu", modes[m], "2");
        const float x[3] = {1, 200, 2};
        float y[3];
        asc_scope_begin(ctx);
        asc_set_label(ctx, "first");
        asc_tensor *a = asc_exp(ctx, asc_from_f32(ctx, ASC_SHAPE(3), x));
        asc_set_label(ctx, "second");
        asc_tensor *b = asc_sub(ctx, a, asc_scale(ctx, a, 2.0));
        assert_int_equal(asc_read_f32(ctx, b, y, 3), ASC_OUT_OF_RANGE);
        says(ctx, "op 'sub'");
        says(ctx, "in 'second'");
        says(ctx, "bad first was its input 0");
        says(ctx, m == 0 ? "in 'first: exp'" : "op 'exp'"); /* eager: computed by an earlier program */
        says(ctx, "in 'first");
        says(ctx, "1 infinite (first at 1)");
        leave(ctx);
        finish(ctx);
    }
}

/* A NaN that is an input of the program is told as such; without the trap it passes. */
static void nan_that_was_given(void **state) {
    (void)state;
    const float x[2] = {1, NAN};
    float y[2];
    asc_ctx *ctx = context("cpu", "deferred", "2");
    asc_scope_begin(ctx);
    assert_int_equal(asc_read_f32(ctx, asc_exp(ctx, asc_from_f32(ctx, ASC_SHAPE(2), x)), y, 2),
                     ASC_OUT_OF_RANGE);
    says(ctx, "bad first was its input 0, input (%0");
    leave(ctx);
    finish(ctx);
    ctx = context("cpu", "deferred", "0");
    asc_scope_begin(ctx);
    assert_int_equal(asc_read_f32(ctx, asc_exp(ctx, asc_from_f32(ctx, ASC_SHAPE(2), x)), y, 2), ASC_OK);
    assert_true(isnan(y[1]));
    assert_int_equal(asc_scope_end(ctx), ASC_OK);
    finish(ctx);
}

static asc_tensor *indexing(asc_ctx *ctx, int which, asc_tensor *t, asc_tensor *i) {
    switch (which) {
    case 0:
        return asc_gather(ctx, t, i);
    case 1:
        return asc_take_last(ctx, asc_slice(ctx, t, 0, 0, 2), i);
    case 2:
        return asc_put_last(ctx, asc_slice(ctx, asc_reshape(ctx, t, ASC_SHAPE(12)), 0, 0, 2), i, 3);
    case 3:
        return asc_scatter_add(ctx, asc_slice(ctx, t, 0, 0, 2), i, 3);
    case 4:
        return asc_take_along(ctx, asc_slice(ctx, asc_reshape(ctx, t, ASC_SHAPE(12)), 0, 0, 3), i, 0);
    default:
        return asc_put_along(ctx, asc_slice(ctx, asc_reshape(ctx, t, ASC_SHAPE(12)), 0, 0, 2), i, 0,
                             ASC_SHAPE(3));
    }
}

/* Each op with indices, given and computed: the nearest element without the check, an error with it. */
static void indices(void **state) {
    (void)state;
    float x[12], y[24];
    for (int i = 0; i < 12; i++) x[i] = (float)i;
    for (int which = 0; which < 6; which++) {
        for (int computed = 0; computed < 2; computed++) {
            for (int level = 0; level <= 2; level += 2) {
                char text[2] = {(char)('0' + level), '\0'};
                asc_ctx *ctx = context("cpu", "deferred", text);
                const int32_t rows[2] = {1, which == 0 ? 7 : -1};
                const float as_floats[2] = {(float)rows[0], (float)rows[1]};
                asc_scope_begin(ctx);
                asc_tensor *i = computed
                                    ? asc_cast(ctx, asc_from_f32(ctx, ASC_SHAPE(2), as_floats), ASC_DTYPE_I32)
                                    : asc_from_i32(ctx, ASC_SHAPE(2), rows);
                asc_tensor *r = indexing(ctx, which, asc_from_f32(ctx, ASC_SHAPE(4, 3), x), i);
                assert_false(asc_tensor_poisoned(r));
                const asc_status st = asc_read_f32(ctx, r, y, (size_t)asc_tensor_elems(r));
                assert_int_equal(st, level == 0 ? ASC_OK : ASC_OUT_OF_RANGE);
                if (level > 0) says(ctx, which == 0 ? "index 7 at element 1" : "index -1 at element 1");
                if (level > 0) says(ctx, which == 0 ? "outside [0, 4)" : "outside [0, 3)");
                leave(ctx);
                finish(ctx);
            }
        }
    }
}

/* Op by op, as at level 4, every bit is that of the whole run. */
static void same_bits(void **state) {
    (void)state;
    float x[64 * 48], w[48 * 33], out[2][64 * 33];
    for (int i = 0; i < 64 * 48; i++) x[i] = sinf((float)i * 0.1f);
    for (int i = 0; i < 48 * 33; i++) w[i] = cosf((float)i * 0.3f);
    for (int k = 0; k < 2; k++) {
        asc_ctx *ctx = context("cpu", "deferred", k == 0 ? "0" : "4");
        asc_tensor *g;
        asc_scope_begin(ctx);
        asc_tensor *X = asc_from_f32(ctx, ASC_SHAPE(64, 48), x), *W = asc_from_f32(ctx, ASC_SHAPE(48, 33), w);
        asc_tensor *y = asc_gelu(ctx, asc_matmul(ctx, X, W, false, false));
        int axes[] = {0, 1};
        asc_grad(ctx, asc_sum(ctx, asc_mul(ctx, y, y), 2, axes, false), NULL, &W, 1, &g);
        y = asc_softmax(ctx, y);
        assert_int_equal(asc_read_f32(ctx, y, out[k], 64 * 33), ASC_OK);
        assert_int_equal(asc_read_f32(ctx, g, out[k], 48 * 33), ASC_OK);
        assert_int_equal(asc_scope_end(ctx), ASC_OK);
        finish(ctx);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
}

/* The first error is the one that every later boundary tells, in every mode. */
static void first_error_stays(void **state) {
    (void)state;
    for (size_t m = 0; m < 3; m++) {
        asc_ctx *ctx = test_ctx("cpu", modes[m]);
        const float x[6] = {0};
        float y[6];
        asc_scope_begin(ctx);
        asc_tensor *a = asc_from_f32(ctx, ASC_SHAPE(2, 3), x), *b = asc_from_f32(ctx, ASC_SHAPE(4), x);
        asc_tensor *bad = asc_add(ctx, a, b);                    /* the first error */
        asc_tensor *worse = asc_matmul(ctx, a, a, false, false); /* another one */
        asc_tensor *later = asc_exp(ctx, asc_mul(ctx, bad, a));
        assert_true(asc_tensor_poisoned(bad) && asc_tensor_poisoned(worse) && asc_tensor_poisoned(later));
        assert_int_equal(asc_read_f32(ctx, later, y, 6), ASC_INVALID_ARGUMENT);
        says(ctx, "add: shapes do not broadcast");
        leave(ctx);
        test_ctx_end(ctx);
    }
}

/* The failing run is saved, and runs again elsewhere: it fails for the same reason. */
static void failing_run_is_saved(void **state) {
    (void)state;
    for (size_t m = 0; m < 3; m++) {
        asc_ctx *ctx = context("cpu", modes[m], "2");
        const float x[2] = {1, -1};
        float y[2];
        asc_replay *r = NULL;
        asc_replay_output out;
        asc_scope_begin(ctx);
        assert_int_equal(asc_read_f32(ctx, asc_log(ctx, asc_from_f32(ctx, ASC_SHAPE(2), x)), y, 2),
                         ASC_OUT_OF_RANGE);
        leave(ctx);
        assert_non_null(strstr(logged, replay_file()));
        asc_error_clear(ctx);
        assert_int_equal(asc_replay_open(ctx, replay_file(), &r), ASC_OK);
        assert_int_equal(asc_replay_info_of(r).n_inputs, 1);
        assert_true(asc_replay_info_of(r).error.len > 10);
        assert_int_equal(asc_replay_run(r, NULL, &out), ASC_OUT_OF_RANGE);
        says(ctx, "op 'log'");
        asc_replay_close(r);
        finish(ctx);
    }
}

static void half_log(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *scalars,
                     asc_tensor **out) {
    (void)self;
    asc_set_label(ctx, "captured");
    out[0] = asc_scale(ctx, asc_log(ctx, in[0]), scalars[0]);
    asc_set_label(ctx, NULL);
}

/* A recorded function that is run again without recording: good numbers first, then bad ones. */
static void nan_in_a_compiled_function(void **state) {
    (void)state;
    for (size_t m = 0; m < 3; m++) {
        asc_ctx *ctx = context("cpu", modes[m], "2");
        const asc_compile_def def = {
            .struct_size = sizeof def, .fn = half_log, .n_in = 1, .n_scalars = 1, .n_out = 1};
        asc_compiled *f = NULL;
        asc_replay *r = NULL;
        const float good[3] = {1, 2, 3}, bad[3] = {1, 2, -3};
        const double half = 0.5;
        float y[3];
        assert_int_equal(asc_compile(ctx, &def, &f), ASC_OK);
        for (int k = 0; k < 2; k++) {
            asc_scope_begin(ctx);
            asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(3), k == 0 ? good : bad), *out;
            const asc_status st = asc_compiled_call(f, &x, &half, &out);
            assert_int_equal(st, k == 0 ? ASC_OK : ASC_OUT_OF_RANGE);
            if (k == 0) assert_int_equal(asc_read_f32(ctx, out, y, 3), ASC_OK);
            if (k == 1) says(ctx, "op 'log'");
            if (k == 1) says(ctx, "in 'captured'");
            if (k == 1) says(ctx, "first at element 2");
            leave(ctx);
        }
        assert_int_equal(asc_replay_open(ctx, replay_file(), &r), ASC_OK);
        asc_replay_close(r);
        asc_compiled_destroy(f);
        finish(ctx);
    }
}

static void logs(void **state) {
    (void)state;
    const float x[2] = {1, 4};
    float y[2];
    for (int level = 0; level <= 5; level++) {
        char text[2] = {(char)('0' + level), '\0'};
        asc_ctx *ctx = context("cpu", "deferred", text);
        asc_scope_begin(ctx);
        assert_int_equal(asc_read_f32(ctx, asc_log(ctx, asc_from_f32(ctx, ASC_SHAPE(2), x)), y, 2), ASC_OK);
        assert_int_equal(asc_scope_end(ctx), ASC_OK);
        assert_int_equal(level == 0, logged[0] == '\0');
        assert_int_equal(level >= 1, strstr(logged, "cut (read)") != NULL);
        assert_int_equal(level >= 1, strstr(logged, "cache miss") != NULL);
        assert_int_equal(level >= 3, strstr(logged, "program as recorded") != NULL);
        assert_int_equal(level >= 3, strstr(logged, "%1 = log f32 [2] %0") != NULL);
        assert_int_equal(level >= 5, strstr(logged, "2 finite in [0, 1.38629]") != NULL);
        finish(ctx);
    }
    asc_ctx *ctx = NULL;
    setenv("ASC_DEBUG", "much", 1);
    assert_int_equal(asc_ctx_create(NULL, &ctx), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "ASC_DEBUG"));
    unsetenv("ASC_DEBUG");
    asc_ctx_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nan_from_good_inputs),
        cmocka_unit_test(nan_from_a_bad_input),
        cmocka_unit_test(nan_that_was_given),
        cmocka_unit_test(indices),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(first_error_stays),
        cmocka_unit_test(failing_run_is_saved),
        cmocka_unit_test(nan_in_a_compiled_function),
        cmocka_unit_test(logs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
