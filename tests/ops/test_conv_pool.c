/* test_conv_pool.c - convolutions, transposed convolutions and pools with their gradients against torch's
 * numbers (tests/data/ops/conv_pool.txt, made by scripts/refs/conv_pool_fixtures.py), in f64 and with the
 * fast kernels; and what torch does not show: empty windows, NaN, sums of whole programs through text. */
#include "harness.h"

#include <math.h>

#include "ops.h"
#include "program.h"
#include "view.h"

enum { MAX_KEYS = 24, MAX_VALUES = 1024 };

typedef struct fixture {
    char name[32], key[MAX_KEYS][16];
    int n_spatial, n_keys, n[MAX_KEYS];
    double value[MAX_KEYS][MAX_VALUES];
} fixture;

static bool fixture_read(FILE *f, fixture *c) {
    c->n_keys = 0;
    if (fscanf(f, "%31s %d", c->name, &c->n_spatial) != 2) return false;
    for (;; c->n_keys++) {
        assert_in_range(c->n_keys, 0, MAX_KEYS - 1);
        assert_int_equal(fscanf(f, "%15s", c->key[c->n_keys]), 1);
        if (strcmp(c->key[c->n_keys], "end") == 0) return true;
        assert_int_equal(fscanf(f, "%d", &c->n[c->n_keys]), 1);
        assert_in_range(c->n[c->n_keys], 0, MAX_VALUES);
        for (int i = 0; i < c->n[c->n_keys]; i++)
            assert_int_equal(fscanf(f, "%lf", &c->value[c->n_keys][i]), 1);
    }
}

static int find(const fixture *c, const char *key) {
    for (int k = 0; k < c->n_keys; k++)
        if (strcmp(c->key[k], key) == 0) return k;
    return -1;
}

static const double *values(const fixture *c, const char *key) {
    const int k = find(c, key);
    if (k < 0) fail_msg("%s: no %s", c->name, key);
    return c->value[k];
}

static asc_shape shape_of(const fixture *c, const char *key) {
    char name[32];
    snprintf(name, sizeof name, "%s_shape", key);
    asc_shape s = {.rank = c->n[find(c, name)]};
    for (int d = 0; d < s.rank; d++) s.dims[d] = (int64_t)values(c, name)[d];
    return s;
}

static asc_tensor *leaf(asc_ctx *ctx, const fixture *c, const char *key) {
    return asc_from_f64(ctx, shape_of(c, key), values(c, key));
}

static asc_window window_of(const fixture *c) {
    asc_window w = {.ceil = false};
    for (int d = 0; d < c->n_spatial; d++) {
        w.stride[d] = (int64_t)values(c, "stride")[d];
        w.dilation[d] = (int64_t)values(c, "dilation")[d];
        w.before[d] = w.after[d] = (int64_t)values(c, "pad")[d];
        if (find(c, "kernel") >= 0) w.kernel[d] = (int64_t)values(c, "kernel")[d];
    }
    if (find(c, "ceil") >= 0) w.ceil = values(c, "ceil")[0] != 0;
    return w;
}

static void expect(asc_ctx *ctx, const fixture *c, int line, const char *key, asc_tensor *t,
                   double tolerance) {
    double got[MAX_VALUES];
    const double *want = values(c, key);
    const asc_shape shape = shape_of(c, key), have = asc_tensor_shape(t);
    const int n = c->n[find(c, key)];
    if (!asc_shape_eq(&shape, &have)) fail_msg("line %d, %s: shape of %s", line, c->name, key);
    assert_ok(ctx, asc_read_f64(ctx, t, got, (size_t)n));
    for (int i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance * fmax(1, fabs(want[i]))))
            fail_msg("line %d, %s: %s[%d] is %.17g, not %.17g", line, c->name, key, i, got[i], want[i]);
}

static void check_conv(asc_ctx *ctx, const fixture *c, int line) {
    asc_tensor *in[3] = {leaf(ctx, c, "x"), leaf(ctx, c, "w"), NULL}, *d[3];
    asc_window win = window_of(c);
    const int64_t groups = (int64_t)values(c, "groups")[0];
    const size_t n = find(c, "b") >= 0 ? 3 : 2;
    if (n == 3) in[2] = leaf(ctx, c, "b");
    asc_tensor *y = asc_conv(ctx, in[0], in[1], in[2], &win, groups);
    asc_grad(ctx, y, leaf(ctx, c, "g"), in, n, d);
    expect(ctx, c, line, "y", y, 0);
    expect(ctx, c, line, "gx", d[0], 0);
    expect(ctx, c, line, "gw", d[1], 0);
    if (n == 3) expect(ctx, c, line, "gb", d[2], 0);
}

static void check_transposed(asc_ctx *ctx, const fixture *c, int line) {
    asc_tensor *in[2] = {leaf(ctx, c, "x"), leaf(ctx, c, "w")}, *d[2];
    asc_window win = window_of(c);
    const asc_shape x = shape_of(c, "x"), w = shape_of(c, "w"), size = shape_of(c, "y");
    for (int k = 0; k < c->n_spatial; k++) /* as op_conv_grad_input.c says */
        win.after[k] = (x.dims[2 + k] - 1) * win.stride[k] + (w.dims[2 + k] - 1) * win.dilation[k] + 1 -
                       size.dims[2 + k] - win.before[k];
    asc_tensor *y =
        asc_conv_grad_input(ctx, in[0], in[1], &win, (int64_t)values(c, "groups")[0], size.dims + 2);
    asc_grad(ctx, y, leaf(ctx, c, "g"), in, 2, d);
    expect(ctx, c, line, "y", y, 0);
    expect(ctx, c, line, "gx", d[0], 0);
    expect(ctx, c, line, "gw", d[1], 0);
}

static void check_pool(asc_ctx *ctx, const fixture *c, int line, double tolerance) {
    asc_tensor *x = leaf(ctx, c, "x"), *y, *d;
    asc_window win = window_of(c);
    if (strcmp(c->name, "max_pool") == 0) {
        y = asc_max_pool(ctx, x, &win);
        expect(ctx, c, line, "index", asc_cast(ctx, asc_max_pool_index(ctx, x, &win), ASC_DTYPE_F32), 0);
        tolerance = 0;
    } else {
        y = asc_avg_pool(ctx, x, &win, values(c, "include_pad")[0] != 0);
    }
    asc_grad(ctx, y, leaf(ctx, c, "g"), &x, 1, &d);
    expect(ctx, c, line, "y", y, tolerance);
    expect(ctx, c, line, "gx", d, tolerance);
}

static void run_fixtures(const char *device, double tolerance) {
    FILE *f = fopen(test_data("ops/conv_pool.txt"), "r");
    assert_non_null(f);
    fixture *c = calloc(1, sizeof *c);
    int n = 0;
    while (fixture_read(f, c)) {
        asc_ctx *ctx = test_ctx(device, "eager");
        n++;
        if (strcmp(c->name, "conv") == 0)
            check_conv(ctx, c, n);
        else if (strcmp(c->name, "conv_transpose") == 0)
            check_transposed(ctx, c, n);
        else
            check_pool(ctx, c, n, tolerance);
        test_ctx_end(ctx);
    }
    assert_int_equal(n, 43);
    free(c);
    fclose(f);
}

static void torch_in_f64(void **state) {
    (void)state;
    run_fixtures("reference", 1e-15);
}

static void torch_on_cpu(void **state) {
    (void)state;
    run_fixtures("cpu", 3e-7); /* a mean is a sum of a few numbers, one division, one rounding */
}

/* Windows without an element, NaN, infinities, ties. */
static void corners(void **state) {
    (void)state;
    static const char *const devices[] = {"reference", "cpu"};
    for (int k = 0; k < 2; k++) {
        asc_ctx *ctx = test_ctx(devices[k], "eager");
        double y[4], g[6];
        int32_t at[4];
        asc_window win = {.kernel = {2}, .stride = {4}, .before = {3}, .after = {3}};
        asc_tensor *x = asc_from_f64(ctx, ASC_SHAPE(1, 1, 3), (double[]){-5, -6, -7}), *d;
        asc_tensor *p = asc_max_pool(ctx, x, &win); /* windows at -3, 1 */
        assert_ok(ctx, asc_read_f64(ctx, p, y, 2));
        assert_true(y[0] == -INFINITY && y[1] == -6);
        assert_ok(ctx, asc_read_i32(ctx, asc_max_pool_index(ctx, x, &win), at, 2));
        assert_true(at[0] == -1 && at[1] == 1);
        asc_grad(ctx, p, asc_full(ctx, ASC_SHAPE(1, 1, 2), 2), &x, 1, &d);
        assert_ok(ctx, asc_read_f64(ctx, d, g, 3));
        assert_true(g[0] == 0 && g[1] == 2 && g[2] == 0);
        p = asc_avg_pool(ctx, x, &win, false);
        assert_ok(ctx, asc_read_f64(ctx, p, y, 2));
        assert_true(y[0] == 0 && y[1] == -6.5);
        win = (asc_window){.kernel = {3}, .stride = {3}};
        x = asc_from_f64(ctx, ASC_SHAPE(1, 1, 6), (double[]){1, NAN, NAN, -INFINITY, -INFINITY, -INFINITY});
        assert_ok(ctx, asc_read_i32(ctx, asc_max_pool_index(ctx, x, &win), at, 2));
        assert_true(at[0] == 1 && at[1] == 3);
        assert_ok(ctx, asc_read_f64(ctx, asc_max_pool(ctx, x, &win), y, 2));
        assert_true(isnan(y[0]) && y[1] == -INFINITY);
        test_ctx_end(ctx);
    }
}

/* pool_put adds where indices meet, and both ways ignore indices outside. */
static void take_and_put(void **state) {
    (void)state;
    static const char *const devices[] = {"reference", "cpu"};
    for (int k = 0; k < 2; k++) {
        asc_ctx *ctx = test_ctx(devices[k], "eager");
        double y[4];
        asc_tensor *g = asc_from_f64(ctx, ASC_SHAPE(1, 1, 4), (double[]){1, 2, 4, 8}),
                   *index = asc_from_i32(ctx, ASC_SHAPE(1, 1, 4), (int32_t[]){2, -1, 2, 3});
        assert_ok(ctx, asc_read_f64(ctx, asc_pool_put(ctx, g, index, (const int64_t[]){3}), y, 3));
        assert_true(y[0] == 0 && y[1] == 0 && y[2] == 5);
        asc_tensor *x = asc_from_f64(ctx, ASC_SHAPE(1, 1, 3), (double[]){1, 2, 3});
        assert_ok(ctx, asc_read_f64(ctx, asc_pool_take(ctx, x, index), y, 4));
        assert_true(y[0] == 3 && y[1] == 0 && y[2] == 3 && y[3] == 0);
        test_ctx_end(ctx);
    }
}

/* What the shape rules refuse, with what they say. */
static void refusals(void **state) {
    (void)state;
    static const struct {
        asc_shape x, w;
        asc_window win;
        int64_t groups;
        const char *says;
    } bad[] = {
        {{2, {3, 4}}, {4, {2, 2, 1, 1}}, {.ceil = false}, 1, "1 to 3 spatial axes"},
        {{6, {1, 1, 1, 1, 1, 1}}, {4, {2, 2, 1, 1}}, {.ceil = false}, 1, "1 to 3 spatial axes"},
        {{4, {1, 2, 4, 4}}, {3, {2, 2, 1}}, {.ceil = false}, 1, "differ in rank"},
        {{4, {1, 3, 4, 4}}, {4, {2, 2, 1, 1}}, {.ceil = false}, 1, "groups"},
        {{4, {1, 4, 4, 4}}, {4, {3, 2, 1, 1}}, {.ceil = false}, 2, "groups"},
        {{4, {1, 4, 4, 4}}, {4, {4, 4, 1, 1}}, {.ceil = false}, 0, "groups"},
        {{4, {1, 2, 4, 4}}, {4, {2, 2, 5, 1}}, {.ceil = false}, 1, "does not fit"},
        {{4, {1, 2, 4, 4}}, {4, {2, 2, 1, 3}}, {.dilation = {1, 2}}, 1, "does not fit"},
        {{4, {1, 2, 4, 4}}, {4, {2, 2, 1, 1}}, {.stride = {-1, 1}}, 1, "stride of -1"},
        {{4, {1, 2, 4, 4}}, {4, {2, 2, 1, 1}}, {.after = {0, INT64_MAX}}, 1, "cannot pad"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        asc_ctx *ctx = test_ctx("null", "deferred");
        asc_tensor *y = asc_conv(ctx, asc_full(ctx, bad[i].x, 1), asc_full(ctx, bad[i].w, 1), NULL,
                                 &bad[i].win, bad[i].groups);
        assert_true(asc_tensor_poisoned(y));
        assert_int_equal(asc_run(ctx, &y, 1), ASC_INVALID_ARGUMENT);
        if (strstr(asc_error_message(ctx), bad[i].says) == NULL)
            fail_msg("no '%s' in: %s", bad[i].says, asc_error_message(ctx));
        test_ctx_end(ctx);
    }
}

/* Numbers per spatial axis survive the text form of a program. */
static void text_form(void **state) {
    (void)state;
    static const char *text =
        "%0 = input f32 [1,2,6,5]\n"
        "%1 = max_pool f32 [1,2,3,2] %0 {kernel=[2,3,0] stride=[2,2,0] dilation=[1,1,0] "
        "before=[0,0,0] after=[0,0,0] ceil=0}\n"
        "return %1\n";
    asc_ctx *ctx = test_ctx("null", "deferred");
    asc_program p;
    asc_strbuf out;
    asc_strbuf_init(&out, ctx);
    assert_ok(ctx, asc_program_parse(ctx, asc_view_of(text), &p));
    asc_program_print(&p, &out);
    assert_string_equal(out.ptr, text);
    asc_strbuf_deinit(&out);
    asc_program_deinit(&p);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torch_in_f64), cmocka_unit_test(torch_on_cpu), cmocka_unit_test(corners),
        cmocka_unit_test(take_and_put), cmocka_unit_test(refusals),     cmocka_unit_test(text_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
