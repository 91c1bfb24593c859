/* test_gemv_amx.c - products of few rows with 4- and 8-bit weights by sums of bytes (gemv_amx.c), against the
 * f64 reference of the op: shapes whose rows end in the middle of a group, rows of a whose elements differ by
 * many powers of two, and what is left to the f32 kernel. */
#include "matmul_check.h"

static const asc_dtype types[] = {ASC_DTYPE_Q4_0, ASC_DTYPE_Q4_1, ASC_DTYPE_Q8_0};
enum { N_TYPES = sizeof types / sizeof types[0] };

static bool here(void) {
    if (asc_cpu_best_isa() >= ASC_ISA_AMX) return true;
    skip();
    return false;
}

/* A 24-bit number of a block is off by at most 2^-23 of the block's largest (its last bit is 2^-22 of the
 * power of two below the largest, or half of that, and rounding takes half of it); then it meets a weight.
 * Besides that at most K / 4 + 8 roundings of 2^-24 of the products' size, counted from the middle level: |w|
 * + |middle|. */
static void compare_fixed(const problem *p, const float *x, const float *w, int64_t m, int64_t n, int64_t k,
                          const float *y) {
    double *want = reference(p, false), *size = reference(p, true);
    for (int64_t i = 0; i < m * n; i++) {
        const float *row = x + i / n * k, *v = w + i % n * k;
        double slack = 0;
        for (int64_t b = 0; b < k; b += 32) {
            double most = 0, sum = 0;
            for (int64_t e = b; e < b + 32; e++) {
                most = fmax(most, fabs((double)row[e]));
                sum += fabs((double)v[e]);
            }
            slack += most * sum * 0x1p-23;
        }
        const double limit = slack + (double)(k / 4 + 8) * 3 * 0x1p-24 * size[i] + 1e-30;
        if (!(fabs((double)y[i] - want[i]) <= limit))
            fail_msg("row %d, column %d: %.9g, not %.9g (limit %.3g)", (int)(i / n), (int)(i % n),
                     (double)y[i], want[i], limit);
    }
    free(want);
    free(size);
}

static void one(asc_ctx *ctx, rng *r, asc_dtype t, int64_t m, int64_t n, int64_t k, int range) {
    problem p;
    matmul_init(&p, ctx, t, ASC_SHAPE(m, k), ASC_SHAPE(n, k), false, true);
    assert_true(asc_kernel_gemv_amx.fits(&p.call));
    float *values, *x = buffer((size_t)(m * k) * sizeof *x);
    uint8_t *w = stored(r, t, n * k, &values);
    for (int64_t i = 0; i < m * k; i++)
        x[i] = ldexpf(uniform(r), range > 0 ? (int)(next(r) % (uint32_t)range) - range / 2 : 0);
    p.in[0] = p.in32[0] = x;
    p.in[1] = w;
    p.in32[1] = values;
    float *y = run(&asc_kernel_gemv_amx, &p.call, p.in, p.n_out, 1);
    compare_fixed(&p, x, values, m, n, k, y);
    for (int threads = 2; threads <= 3; threads++) {
        float *z = run(&asc_kernel_gemv_amx, &p.call, p.in, p.n_out, threads);
        assert_memory_equal(y, z, (size_t)p.n_out * sizeof *z);
        free(z);
    }
    free(y);
    free(x);
    free(w);
    free(values);
}

static void test_shapes(void **state) {
    (void)state;
    if (!here()) return;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {11};
    static const int64_t widths[] = {32, 64, 96, 128, 224, 512, 544, 576, 608, 960, 1536};
    for (int t = 0; t < N_TYPES; t++) {
        for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
            one(ctx, &r, types[t], 1, 34, widths[i], 0);
            one(ctx, &r, types[t], 3, 7, widths[i], 0);
            one(ctx, &r, types[t], 8, 2, widths[i], 0);
        }
    }
    test_ctx_end(ctx);
}

static void test_ranges(void **state) {
    (void)state;
    if (!here()) return;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {12};
    for (int t = 0; t < N_TYPES; t++) {
        for (int range = 4; range <= 60; range += 8) one(ctx, &r, types[t], 5, 12, 576, range);
    }
    test_ctx_end(ctx);
}

/* Numbers next to the three bytes' end, where the third carries into the first. */
static void test_ends(void **state) {
    (void)state;
    if (!here()) return;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {13};
    for (int t = 0; t < N_TYPES; t++) {
        problem p;
        const int64_t n = 6, k = 128;
        matmul_init(&p, ctx, types[t], ASC_SHAPE(8, k), ASC_SHAPE(n, k), false, true);
        float *values, *x = buffer((size_t)(8 * k) * sizeof *x);
        uint8_t *w = stored(&r, types[t], n * k, &values);
        for (int64_t i = 0; i < 8 * k; i++) {
            const float near[] = {1.0f, 0.99999994f, 0.998f, 0.996f, 0.9961f, 0.992f, 0.9844f, 0.9922f};
            x[i] = (i % 2 == 0 ? near[i / k] : -near[i / k]) * (i % 32 == 3 ? 1.0f : near[i % 8]);
        }
        p.in[0] = p.in32[0] = x;
        p.in[1] = w;
        p.in32[1] = values;
        float *y = run(&asc_kernel_gemv_amx, &p.call, p.in, p.n_out, 2);
        compare_fixed(&p, x, values, 8, n, k, y);
        free(y);
        free(x);
        free(w);
        free(values);
    }
    test_ctx_end(ctx);
}

static uint32_t bits_of(float v) {
    uint32_t b;
    memcpy(&b, &v, sizeof b);
    return isnan(v) ? 0x7FC00000u : b;
}

/* Rows beyond fixed-point, and results of infinite scales, have the f32 kernel's bits; their neighbours those
 * that they have alone. */
static void test_left_to_f32(void **state) {
    (void)state;
    if (!here()) return;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {14};
    for (int t = 0; t < N_TYPES; t++) {
        const int64_t m = 6, n = 10, k = 576;
        problem p, q;
        float *values, *x = random_floats(&r, m * k), tame[576];
        uint8_t *w = stored(&r, types[t], n * k, &values);
        const int64_t row_bytes = k / 32 * asc_dtype_of(types[t])->block_bytes;
        memcpy(tame, x, sizeof tame);
        x[1 * k + 5] = NAN;
        x[2 * k + 40] = -INFINITY;
        for (int64_t i = 64; i < 96; i++) x[3 * k + i] *= 1e-25f;
        x[4 * k + 575] = 1e30f;
        w[7 * row_bytes] = 0; /* row 7: the first scale is infinite (binary16) */
        w[7 * row_bytes + 1] = 0x7C;
        matmul_init(&p, ctx, types[t], ASC_SHAPE(m, k), ASC_SHAPE(n, k), false, true);
        matmul_init(&q, ctx, types[t], ASC_SHAPE(1, k), ASC_SHAPE(n, k), false, true);
        const void *in[2] = {x, w}, *alone[2] = {tame, w};
        float *y = run(&asc_kernel_gemv_amx, &p.call, in, p.n_out, 2);
        float *f32 = run(&asc_kernel_gemv_avx512, &p.call, in, p.n_out, 1);
        float *first = run(&asc_kernel_gemv_amx, &q.call, alone, q.n_out, 1);
        for (int64_t i = 0; i < m * n; i++) {
            const bool plain = (i / n >= 1 && i / n <= 4) || i % n == 7;
            if (plain && bits_of(y[i]) != bits_of(f32[i]))
                fail_msg("%s: row %d, column %d is not f32's", asc_dtype_of(types[t])->name, (int)(i / n),
                         (int)(i % n));
            if (i < n) assert_int_equal(bits_of(first[i]), bits_of(y[i]));
        }
        free(y);
        free(f32);
        free(first);
        free(x);
        free(w);
        free(values);
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_left_to_f32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
