/* test_emulate.c - products out of bf16 pieces: every piece and every sum against numbers that are rounded
 * here, bit by bit of the binary form, not by the splitting that the program uses. */
#include "../harness.h"
#include "ascribe/precision.h"
#include "half.h"
#include "hash.h"
#include "ops.h"
#include <math.h>

enum { M = 3, K = 17, N = 5 };

static float bf16(float x) { return asc_bf16_to_f32(asc_f32_to_bf16(x)); }

static asc_ctx *context(const char *level, const char *mode) {
    const asc_ctx_options o = {.struct_size = sizeof o, .precision = level, .mode = mode};
    asc_ctx *ctx = NULL;
    assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
    asc_emulate_levels(ctx, true);
    return ctx;
}

static void draw(float *v, size_t n, uint64_t stream) {
    for (size_t i = 0; i < n; i++)
        v[i] = (float)((asc_uniform(3, stream, i) - 0.5) * exp2(8 * asc_uniform(4, stream, i)));
}

/* The products of the scheme in f64: what f32 sums of them differ from by at most a few roundings of K terms.
 */
static double wanted(const float *a, const float *b, int level, size_t r, size_t c, double *size) {
    double sum = 0;
    *size = 0;
    for (size_t k = 0; k < K; k++) {
        float x = a[r * K + k], y = b[k * N + c], xh = bf16(x), yh = bf16(y), xm = bf16(x - xh),
              ym = bf16(y - yh);
        float xl = x - xh - xm, yl = y - yh - ym;
        double t = (double)xh * yh;
        if (level >= 2) t += (double)xh * ym + (double)xm * yh;
        if (level >= 3) t += (double)xm * ym + (double)xh * yl + (double)xl * yh;
        sum += t;
        *size += fabs((double)x * y);
    }
    return sum;
}

static void test_matmul(void **state) {
    static const struct {
        const char *name;
        int level;
    } levels[] = {{"medium", 1}, {"high", 2}, {"bf16x6", 3}};
    static const char *const modes[] = {"eager", "deferred"};
    float a[M * K], b[K * N], got[M * N];
    (void)state;
    draw(a, M * K, 1);
    draw(b, K * N, 2);
    for (size_t i = 0; i < 6; i++) {
        asc_ctx *ctx = context(levels[i % 3].name, modes[i / 3]);
        asc_scope_begin(ctx);
        asc_tensor *y = asc_matmul(ctx, asc_from_f32(ctx, ASC_SHAPE(M, K), a),
                                   asc_from_f32(ctx, ASC_SHAPE(K, N), b), false, false);
        assert_ok(ctx, asc_read_f32(ctx, y, got, M * N));
        double apart = 0;
        for (size_t e = 0; e < M * N; e++) {
            double size, want = wanted(a, b, levels[i % 3].level, e / N, e % N, &size);
            if (!(fabs((double)got[e] - want) <= 8 * 0x1p-24 * size)) /* 17 terms, a few sums of sums */
                fail_msg("%s, element %zu: %.9g, not %.9g", levels[i % 3].name, e, (double)got[e], want);
            double exact = wanted(a, b, 3, e / N, e % N, &size);
            apart = fmax(apart, fabs((double)got[e] - exact) / size);
        }
        /* the scheme shows: a coarser one would not pass as a finer one */
        assert_true(levels[i % 3].level != 1 || apart > 0x1p-13);
        assert_true(levels[i % 3].level != 2 || (apart > 0x1p-23 && apart < 0x1p-15));
        assert_true(levels[i % 3].level != 3 || apart < 0x1p-21);
        assert_ok(ctx, asc_scope_end(ctx));
        test_ctx_end(ctx);
    }
}

/* Convolutions and their gradients, a bias, a gradient's products: as near to the exact ones as the level is.
 */
static void test_others(void **state) {
    static const struct {
        const char *name;
        double least, most;
    } levels[] = {{"highest", 0, 1e-6}, {"bf16x6", 0, 1e-6}, {"high", 0, 4e-5}, {"medium", 1e-5, 1e-2}};
    float x[2 * 3 * 6 * 6], w[4 * 3 * 3 * 3], bias[4];
    double want[2 * 3 * 6 * 6], got[2 * 3 * 6 * 6];
    (void)state;
    draw(x, 216, 5);
    draw(w, 108, 6);
    draw(bias, 4, 7);
    for (int i = -1; i < 4; i++) {
        const asc_window win = {.before = {1, 1}, .after = {1, 1}};
        asc_ctx *ctx = i < 0 ? test_ctx("reference", "deferred") : context(levels[i].name, "deferred");
        asc_scope_begin(ctx);
        asc_tensor *in = asc_from_f32(ctx, ASC_SHAPE(2, 3, 6, 6), x), *g = NULL;
        asc_tensor *y = asc_conv(ctx, in, asc_from_f32(ctx, ASC_SHAPE(4, 3, 3, 3), w),
                                 asc_from_f32(ctx, ASC_SHAPE(4), bias), &win, 1);
        asc_grad(ctx, y, y, &in, 1, &g);
        assert_ok(ctx, asc_read_f64(ctx, g, i < 0 ? want : got, 216));
        double most = 0, off = 0;
        for (size_t e = 0; e < 216 && i >= 0; e++) {
            most = fmax(most, fabs(want[e]));
            off = fmax(off, fabs(want[e] - got[e]));
        }
        if (i >= 0 && !(off / most >= levels[i].least && off / most <= levels[i].most))
            fail_msg("%s: %.3g of the largest", levels[i].name, off / most);
        assert_ok(ctx, asc_scope_end(ctx));
        test_ctx_end(ctx);
    }
}

static void test_attention(void **state) {
    float q[2 * 5 * 2 * 4];
    double want[80], got[80];
    (void)state;
    draw(q, 80, 9);
    for (int i = 0; i < 3; i++) {
        asc_ctx *ctx =
            i == 0 ? test_ctx("reference", "deferred") : context(i == 1 ? "high" : "medium", "deferred");
        asc_scope_begin(ctx);
        asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(2, 5, 2, 4), q), *g = NULL;
        asc_tensor *y = asc_sdpa(ctx, x, asc_scale(ctx, x, 0.1), x, 0.5, true, 0, 0.0);
        asc_grad(ctx, y, y, &x, 1, &g);
        assert_ok(ctx, asc_read_f64(ctx, g, i == 0 ? want : got, 80));
        double most = 0, off = 0;
        for (size_t e = 0; e < 80 && i > 0; e++) {
            most = fmax(most, fabs(want[e]));
            off = fmax(off, fabs(want[e] - got[e]));
        }
        if (i == 1) assert_true(off / most > 1e-7 && off / most < 1e-4);
        if (i == 2) assert_true(off / most > 1e-4 && off / most < 5e-2);
        assert_ok(ctx, asc_scope_end(ctx));
        test_ctx_end(ctx);
    }
}

/* Rows on a grid of 127 steps to their largest number: with emulation, and without it by the device's kernel.
 */
static void test_int8(void **state) {
    static const char *const modes[] = {"eager", "deferred"};
    float a[M * K], b[N * K], got[M * N];
    (void)state;
    draw(a, M * K, 1);
    draw(b, N * K, 2);
    memset(a + K, 0, K * sizeof *a); /* a row of zeros */
    for (int way = 0; way < 4; way++) {
        asc_ctx *ctx = context("int8", modes[way % 2]);
        asc_emulate_levels(ctx, way < 2);
        asc_scope_begin(ctx);
        asc_tensor *y = asc_matmul(ctx, asc_from_f32(ctx, ASC_SHAPE(M, K), a),
                                   asc_from_f32(ctx, ASC_SHAPE(N, K), b), false, true);
        assert_ok(ctx, asc_read_f32(ctx, y, got, M * N));
        for (size_t e = 0; e < M * N; e++) {
            const float *x = a + e / N * K, *w = b + e % N * K;
            double sx = 0, sw = 0, want = 0;
            for (size_t k = 0; k < K; k++) {
                sx = fmax(sx, fabs((double)x[k]) / 127);
                sw = fmax(sw, fabs((double)w[k]) / 127);
            }
            for (size_t k = 0; k < K && sx > 0; k++) want += rint(x[k] / sx) * rint(w[k] / sw) * sx * sw;
            if (!(fabs((double)got[e] - want) <= 1e-5 * 127 * 127 * sx * sw))
                fail_msg("way %d, element %zu: %.9g, not %.9g", way, e, (double)got[e], want);
        }
        assert_ok(ctx, asc_scope_end(ctx));
        test_ctx_end(ctx);
    }
}

/* Products that no device has an int8 kernel for are rewritten without being asked to: a convolution, a batch
 * of matrices, a turned left factor have the bits of emulation in every mode; other levels keep f32. */
static void test_int8_without_kernel(void **state) {
    static const struct {
        const char *level, *mode;
        bool emulate;
    } ways[] = {{"int8", "deferred", true},
                {"int8", "deferred", false},
                {"int8", "eager", false},
                {"highest", "deferred", false},
                {"medium", "deferred", false}};
    enum { LEFT = 2 * 3 * 6 * 6, RIGHT = 4 * 3 * 3 * 3, OUT = 2 * 4 * 4 * 4 };
    float x[LEFT], w[RIGHT], got[5][2 * OUT + 36];
    (void)state;
    draw(x, LEFT, 5);
    draw(w, RIGHT, 6);
    for (size_t i = 0; i < 5; i++) {
        const asc_window win = {0};
        asc_ctx *ctx = context(ways[i].level, ways[i].mode);
        asc_emulate_levels(ctx, ways[i].emulate);
        asc_scope_begin(ctx);
        asc_tensor *image = asc_from_f32(ctx, ASC_SHAPE(2, 3, 6, 6), x);
        asc_tensor *kernel = asc_from_f32(ctx, ASC_SHAPE(4, 3, 3, 3), w);
        asc_tensor *y = asc_conv(ctx, image, kernel, NULL, &win, 1);
        asc_tensor *pairs = asc_matmul(ctx, asc_from_f32(ctx, ASC_SHAPE(2, 16, 6), x),
                                       asc_from_f32(ctx, ASC_SHAPE(2, 6, 4), x), false, false);
        asc_tensor *turned = asc_matmul(ctx, asc_from_f32(ctx, ASC_SHAPE(18, 6), x),
                                        asc_from_f32(ctx, ASC_SHAPE(18, 6), w), true, false);
        assert_ok(ctx, asc_read_f32(ctx, y, got[i], OUT));
        assert_ok(ctx, asc_read_f32(ctx, pairs, got[i] + OUT, OUT));
        assert_ok(ctx, asc_read_f32(ctx, turned, got[i] + 2 * OUT, 36));
        assert_ok(ctx, asc_scope_end(ctx));
        test_ctx_end(ctx);
    }
    for (size_t i = 1; i < 3; i++) assert_memory_equal(got[0], got[i], sizeof got[0]);
    assert_memory_equal(got[3], got[4], (size_t)OUT * sizeof(float));
    for (size_t from = 0; from <= 2 * OUT; from += OUT) { /* and int8 is not f32 */
        const size_t n = from < 2 * OUT ? OUT : 36;
        assert_true(memcmp(got[0] + from, got[3] + from, n * sizeof(float)) != 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_int8),
        cmocka_unit_test(test_int8_without_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
