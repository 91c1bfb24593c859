/* test_cpu_narrow.c - products at `highest` with weights of few bits (matmul_bf16_amx): where one or two
 * pieces hold a weight, the products that are left out were 0, so the bits are those of all six; q4_1 as
 * [k,n], whose parts d q and m are products of their own, against f64 with an error model in terms of both:
 * odd shapes, parts that cancel, numbers that are not finite or tiny, rows, threads, epilogues. */
#include "harness.h"
#include "matmul_check.h"

static const asc_kernel *const kernel = &asc_kernel_matmul_bf16_amx;

static bool present(void) { return asc_cpu_best_isa() >= ASC_ISA_AMX; }

static void same_as_six(asc_ctx *ctx, rng *r, asc_dtype t, bool tb, int64_t m, int64_t n, int64_t k) {
    problem p;
    matmul_init(&p, ctx, t, ASC_SHAPE(m, k), tb ? ASC_SHAPE(n, k) : ASC_SHAPE(k, n), false, tb);
    float *values, *x = random_floats(r, m * k);
    uint8_t *w = stored(r, t, n * k, &values);
    for (int64_t i = 0; i < k; i++) x[3 * k + i] *= 0x1p-118f; /* small pieces that would be denormal */
    x[4 * k + k / 2] = INFINITY;
    operands(&p, x, w, values);
    p.call.level = ASC_PRECISION_BF16X6;
    float *six = run(kernel, &p.call, p.in, p.n_out, 1);
    p.call.level = ASC_PRECISION_HIGHEST;
    for (int threads = 1; threads <= 3; threads++) {
        float *y = run(kernel, &p.call, p.in, p.n_out, threads);
        if (!same_bits(six, y, p.n_out))
            fail_msg("%s, tb %d, %lld x %lld x %lld, %d threads: other bits than six products",
                     asc_dtype_of(t)->name, (int)tb, (long long)m, (long long)n, (long long)k, threads);
        free(y);
    }
    free(six);
    free(x);
    free(w);
    free(values);
}

static void test_exact_weights(void **state) {
    (void)state;
    if (!present()) skip();
    static const asc_dtype types[] = {ASC_DTYPE_BF16, ASC_DTYPE_F16, ASC_DTYPE_Q4_0, ASC_DTYPE_Q5_0};
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {41};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (int tb = 0; tb < 2; tb++) {
            const bool plain = asc_dtype_of(types[t])->block_elems == 1;
            same_as_six(ctx, &r, types[t], tb != 0, 13, plain ? 53 : 96, plain ? 157 : 160);
            same_as_six(ctx, &r, types[t], tb != 0, 40, 224, 96);
            same_as_six(ctx, &r, types[t], tb != 0, 33, 32, 1600); /* more than one panel deep */
            same_as_six(ctx, &r, types[t], tb != 0, 9, 1632, 64);
        }
    }
    test_ctx_end(ctx);
}

/* The part m of every weight: what its block holds with all quants in the middle. */
static float *middles(const uint8_t *w, int64_t n) {
    float *m = buffer((size_t)n * sizeof(float));
    for (int64_t b = 0; b < n / 32; b++) {
        uint8_t p[20];
        memcpy(p, w + 20 * b, 4);
        memset(p + 4, 0x88, 16);
        asc_dtype_expand(ASC_DTYPE_Q4_1)(p, m + 32 * b, 32);
    }
    return m;
}

/* Roundings of relative size 2^-24 of each part: at most 15 in a tile, 1 of its halves, K/32 blocks, K/768
 * links, 1 of both parts together, 1 of m, 2 of the weight as the reference has it; 2.02 of what six
 * products leave out (docs/decisions/highest-by-tiles.md). */
static void near(const problem *p, const float *y, const float *m, const char *what) {
    double *want = reference(p, false);
    const int64_t k = inner(p), n = p->call.shape.dims[1];
    for (int64_t i = 0; i < p->n_out; i++) {
        double size = 0;
        for (int64_t j = 0; j < k; j++) {
            const double mid = (double)m[j * n + i % n];
            size += fabs((double)p->in32[0][i / n * k + j]) *
                    (fabs((double)p->in32[1][j * n + i % n] - mid) + fabs(mid));
        }
        const double tol = (23 + (double)k / 32 + (double)k / 768) * size * 0x1p-24 + 1e-37;
        near_element(p, what, i, y[i], want[i], tol);
    }
    free(want);
}

/* Right, and the same bits with other threads. */
static void check(problem *p, const uint8_t *w, const char *what) {
    p->call.level = ASC_PRECISION_HIGHEST;
    assert_true(kernel->fits(&p->call));
    assert_ptr_equal(asc_kernel_pick(&p->call, ASC_ISA_AMX), kernel);
    float *m = middles(w, asc_shape_elems(&p->call.in_shape[1]));
    float *first = run(kernel, &p->call, p->in, p->n_out, 1);
    near(p, first, m, what);
    same_by_threads(kernel, p, first, what);
    free(first);
    free(m);
}

/* f16 bits of d and m for every block, or random ones. */
static void parts(asc_ctx *ctx, rng *r, int64_t m, int64_t n, int64_t k, const uint16_t *dm, bool odd) {
    problem p;
    matmul_init(&p, ctx, ASC_DTYPE_Q4_1, ASC_SHAPE(m, k), ASC_SHAPE(k, n), false, false);
    float *values, *x = random_floats(r, m * k);
    uint8_t *w = stored(r, ASC_DTYPE_Q4_1, n * k, &values);
    for (int64_t b = 0; dm != NULL && b < n * k / 32; b++) {
        memcpy(w + 20 * b, dm, 4);
        if (b % 3 == 0) memset(w + 20 * b + 4, 0, 16); /* all the least value */
    }
    if (odd) {
        const uint16_t infinity = 0x7C00, nan = 0x7E01;
        x[5] = NAN;
        x[k + 9] = INFINITY;
        x[2 * k + 31] = -INFINITY;
        for (int64_t i = 0; i < k; i++) x[3 * k + i] = i == 0 ? 0x1.fffffep+127f : 0;
        for (int64_t i = 0; i < k; i++) x[4 * k + i] *= 0x1p-112f; /* its small pieces would be denormal */
        for (int64_t i = 0; i < k; i++) x[6 * k + i] = 0;
        memcpy(w + 20, &infinity, 2);
        memcpy(w + 20 * (n / 32 * 7 + 2) + 2, &nan, 2);
    }
    asc_dtype_expand(ASC_DTYPE_Q4_1)(w, values, n * k);
    operands(&p, x, w, values);
    check(&p, w, odd ? "odd" : dm != NULL ? "parts" : "random");
    free(x);
    free(w);
    free(values);
}

static void test_parts_apart(void **state) {
    (void)state;
    if (!present()) skip();
    static const uint16_t cases[][2] = {{0x1000, 0x3C00},  /* d 2^-11, m 1: weights near 1 */
                                        {0x4C00, 0xD800},  /* d 16, m -128: the part is 0 */
                                        {0x4C00, 0x0000},  /* d 16, m 0: the parts cancel where q is 0 */
                                        {0x0001, 0xFBFF},  /* d 2^-24, m -65504: the part is rounded */
                                        {0x7BFF, 0x0001}}; /* d 65504 */
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {42};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) parts(ctx, &r, 19, 96, 192, cases[c], false);
    parts(ctx, &r, 9, 32, 64, NULL, false);
    parts(ctx, &r, 17, 160, 96, NULL, false);
    parts(ctx, &r, 40, 1312, 128, NULL, false); /* three groups of m, more than one panel */
    parts(ctx, &r, 33, 64, 1600, NULL, false);  /* more than one panel deep */
    parts(ctx, &r, 1030, 64, 64, NULL, false);  /* rows in two parts */
    parts(ctx, &r, 40, 96, 256, NULL, true);
    test_ctx_end(ctx);
}

/* Sums that do not come in whole tiles are six products as before. */
static void test_rest_of_a_tile(void **state) {
    (void)state;
    if (!present()) skip();
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {43};
    same_as_six(ctx, &r, ASC_DTYPE_Q4_1, false, 20, 64, 70);
    same_as_six(ctx, &r, ASC_DTYPE_Q8_0, false, 20, 64, 96);
    test_ctx_end(ctx);
}

static void test_rows_do_not_see_each_other(void **state) {
    (void)state;
    if (!present()) skip();
    static const asc_dtype types[] = {ASC_DTYPE_Q4_1, ASC_DTYPE_Q4_0, ASC_DTYPE_F16, ASC_DTYPE_BF16};
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {44};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        rows_check(kernel, ctx, &r, types[t], false, 160, 576);
    test_ctx_end(ctx);
}

static void test_epilogue(void **state) {
    (void)state;
    if (!present()) skip();
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {45};
    stored_epilogue_check(kernel, ctx, &r, ASC_DTYPE_Q4_1, false, 75, 320, 1600);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_weights),  cmocka_unit_test(test_parts_apart),
        cmocka_unit_test(test_rest_of_a_tile), cmocka_unit_test(test_rows_do_not_see_each_other),
        cmocka_unit_test(test_epilogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
