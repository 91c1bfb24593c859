/* test_cpu_stored.c - products with stored weights by tiles over their whole numbers (matmul_stored_amx)
 * against f64, with an error model in terms of both parts of a weight, w = d q + m: every format and odd
 * shape, parts that cancel, numbers that are not finite or tiny; rows that do not see each other; threads;
 * epilogues. */
#include "harness.h"
#include "matmul_check.h"

static const asc_kernel *const kernel = &asc_kernel_matmul_stored_amx;
static const asc_dtype types[] = {ASC_DTYPE_Q4_0, ASC_DTYPE_Q4_1,   ASC_DTYPE_Q5_0, ASC_DTYPE_Q5_1,
                                  ASC_DTYPE_Q8_0, ASC_DTYPE_IQ4_NL, ASC_DTYPE_Q4_K, ASC_DTYPE_Q5_K};
enum { N_TYPES = sizeof types / sizeof types[0] };

static bool present(void) { return asc_cpu_best_isa() >= ASC_ISA_AMX; }

/* The part m of every weight: what its block would hold with all quants in the middle. */
static float *middles(asc_dtype t, const uint8_t *w, int64_t n) {
    const asc_dtype_info *info = asc_dtype_of(t);
    float *m = buffer((size_t)n * sizeof(float));
    for (int64_t b = 0; b < n / info->block_elems; b++) {
        uint8_t p[256];
        memcpy(p, w + b * info->block_bytes, (size_t)info->block_bytes);
        if (t == ASC_DTYPE_Q4_1) memset(p + 4, 0x88, 16);
        if (t == ASC_DTYPE_Q5_1) {
            memset(p + 4, 0xFF, 4);
            memset(p + 8, 0, 16);
        }
        if (t == ASC_DTYPE_Q4_K) memset(p + 16, 0x88, 128);
        if (t == ASC_DTYPE_Q5_K) {
            memset(p + 16, 0xFF, 32);
            memset(p + 48, 0, 128);
        }
        float *to = m + b * info->block_elems;
        const bool has =
            t == ASC_DTYPE_Q4_1 || t == ASC_DTYPE_Q5_1 || t == ASC_DTYPE_Q4_K || t == ASC_DTYPE_Q5_K;
        if (has)
            asc_dtype_expand(t)(p, to, info->block_elems);
        else
            memset(to, 0, (size_t)info->block_elems * sizeof(float));
    }
    return m;
}

/* Roundings of relative size 2^-24. Sums of 32: 15 in a tile, 1 of its halves, 3 of the pieces; K/32 blocks
 * and 1 for the product with m; 1 of d (q4_k: of m) and 2 of the weight as the reference has it. With m: the
 * sums of a, then the six products of pieces of 32 of them. */
static void near(const problem *p, const float *y, const float *m, const char *what) {
    double *want = reference(p, false);
    const int64_t k = inner(p), n = p->call.shape.dims[1];
    for (int64_t i = 0; i < p->n_out; i++) {
        double first = 0, second = 0;
        for (int64_t j = 0; j < k; j++) {
            const double x = fabs((double)p->in32[0][i / n * k + j]), mid = (double)m[i % n * k + j];
            first += x * fabs((double)p->in32[1][i % n * k + j] - mid);
            second += x * fabs(mid);
        }
        const double blocks = (double)k / 32 + 1;
        const double tol = ((22 + blocks) * first + (44 + blocks + blocks / 32) * second) * 0x1p-24 + 1e-37;
        near_element(p, what, i, y[i], want[i], tol);
    }
    free(want);
}

/* Right, and the same bits with other threads. */
static void check(problem *p, const uint8_t *w, const char *what) {
    const asc_dtype t = p->call.in_dtype[1];
    p->call.level = ASC_PRECISION_HIGHEST;
    assert_true(kernel->fits(&p->call));
    assert_ptr_equal(asc_kernel_pick(&p->call, ASC_ISA_AMX), kernel);
    float *m = middles(t, w, asc_shape_elems(&p->call.in_shape[1]));
    float *first = run(kernel, &p->call, p->in, p->n_out, 1);
    near(p, first, m, what);
    same_by_threads(kernel, p, first, what);
    free(first);
    free(m);
}

static void one(asc_ctx *ctx, rng *r, asc_dtype t, int64_t m, int64_t n, int64_t k) {
    problem p;
    matmul_init(&p, ctx, t, ASC_SHAPE(m, k), ASC_SHAPE(n, k), false, true);
    float *values, *x = random_floats(r, m * k);
    uint8_t *w = stored(r, t, n * k, &values);
    operands(&p, x, w, values);
    check(&p, w, "random");
    free(x);
    free(w);
    free(values);
}

static void test_formats(void **state) {
    (void)state;
    if (!present()) skip();
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {31};
    for (int t = 0; t < N_TYPES; t++) {
        const int64_t one_block = asc_dtype_of(types[t])->block_elems;
        const bool super = one_block == 256;
        one(ctx, &r, types[t], 13, 53, super ? 256 : 64);
        one(ctx, &r, types[t], 9, 16, super ? 512 : 96);
        one(ctx, &r, types[t], 16, 17, super ? 256 : 128);
        one(ctx, &r, types[t], 17, 1, super ? 256 : 160);
        one(ctx, &r, types[t], 40, 112, super ? 1280 : 1056); /* two tiles of sums */
        one(ctx, &r, types[t], 33, 70, 256);
        one(ctx, &r, types[t], 32, 33, 256);
    }
    one(ctx, &r, ASC_DTYPE_Q4_1, 20, 300, 4096); /* more than one panel */
    one(ctx, &r, ASC_DTYPE_Q8_0, 1030, 40, 96);  /* rows in two parts */
    test_ctx_end(ctx);
}

static void test_calls_that_it_leaves(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    problem p;
    matmul_init(&p, ctx, ASC_DTYPE_Q4_1, ASC_SHAPE(9, 64), ASC_SHAPE(64, 64), false, true);
    p.call.level = ASC_PRECISION_HIGHEST;
    assert_true(kernel->fits(&p.call));
    p.call.level = ASC_PRECISION_BF16X6; /* a definition of its own */
    assert_false(kernel->fits(&p.call));
    p.call.level = ASC_PRECISION_HIGHEST;
    p.call.in_dtype[1] = ASC_DTYPE_F32;
    assert_false(kernel->fits(&p.call));
    matmul_init(&p, ctx, ASC_DTYPE_Q4_1, ASC_SHAPE(8, 64), ASC_SHAPE(64, 64), false, true);
    p.call.level = ASC_PRECISION_HIGHEST;
    assert_false(kernel->fits(&p.call));
    p.call.many_rows = true;
    assert_true(kernel->fits(&p.call));
    matmul_init(&p, ctx, ASC_DTYPE_Q4_1, ASC_SHAPE(9, 64), ASC_SHAPE(64, 64), false, false);
    p.call.level = ASC_PRECISION_HIGHEST;
    assert_false(kernel->fits(&p.call));
    matmul_init(&p, ctx, ASC_DTYPE_Q4_1, ASC_SHAPE(9, 32), ASC_SHAPE(64, 32), false, true);
    p.call.level = ASC_PRECISION_HIGHEST;
    assert_false(kernel->fits(&p.call));
    test_ctx_end(ctx);
}

/* q4_1 blocks with a given step and least value; f16 bits. */
static void plain_block(uint8_t *p, uint16_t d, uint16_t m) {
    memcpy(p, &d, 2);
    memcpy(p + 2, &m, 2);
}

/* Weights all near 1, apart by 2^-11; weights about 0 in blocks of a large range, so that the parts of a
 * weight cancel; scales at the ends of what f16 holds. */
static void test_parts_that_cancel(void **state) {
    (void)state;
    if (!present()) skip();
    static const uint16_t cases[][2] = {{0x1000, 0x3C00},  /* d 2^-11, m 1 */
                                        {0x4C00, 0xD800},  /* d 16, m -128: the part is 0 */
                                        {0x4C00, 0x0000},  /* d 16, m 0: the part is as large as q's */
                                        {0x0001, 0xFBFF},  /* d 2^-24, m -65504: the part is rounded */
                                        {0x7BFF, 0x0001}}; /* d 65504 */
    const int64_t m = 19, n = 40, k = 192;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {32};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        problem p;
        matmul_init(&p, ctx, ASC_DTYPE_Q4_1, ASC_SHAPE(m, k), ASC_SHAPE(n, k), false, true);
        float *values, *x = random_floats(&r, m * k);
        uint8_t *w = stored(&r, ASC_DTYPE_Q4_1, n * k, &values);
        for (int64_t b = 0; b < n * k / 32; b++) {
            plain_block(w + 20 * b, cases[c][0], cases[c][1]);
            if (b % 3 == 0) memset(w + 20 * b + 4, 0, 16); /* all the least value */
        }
        asc_dtype_expand(ASC_DTYPE_Q4_1)(w, values, n * k);
        operands(&p, x, w, values);
        check(&p, w, "parts");
        free(x);
        free(w);
        free(values);
    }
    test_ctx_end(ctx);
}

/* Infinities, NaN, numbers that would become infinite pieces, tiny rows, on both sides. */
static void test_odd_numbers(void **state) {
    (void)state;
    if (!present()) skip();
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {33};
    for (int t = 0; t < N_TYPES; t++) {
        const int64_t m = 40, n = 70, k = 256;
        problem p;
        matmul_init(&p, ctx, types[t], ASC_SHAPE(m, k), ASC_SHAPE(n, k), false, true);
        float *values, *x = random_floats(&r, m * k);
        uint8_t *w = stored(&r, types[t], n * k, &values);
        const int64_t row = k / asc_dtype_of(types[t])->block_elems * asc_dtype_of(types[t])->block_bytes;
        const uint16_t infinity = 0x7C00, nan = 0x7E01;
        x[5] = NAN;
        x[k + 190] = INFINITY;
        x[2 * k + 31] = -INFINITY;
        for (int64_t i = 0; i < k; i++) x[35 * k + i] = i == 0 ? 0x1.fffffep+127f : 0;
        for (int64_t i = 0; i < k; i++) x[20 * k + i] *= 0x1p-112f; /* its small pieces would be denormal */
        for (int64_t i = 0; i < k; i++) x[21 * k + i] = 0;
        memcpy(w + 3 * row, &infinity, 2);
        memcpy(w + 69 * row, &nan, 2);
        asc_dtype_expand(types[t])(w, values, n * k);
        operands(&p, x, w, values);
        check(&p, w, "odd");
        free(x);
        free(w);
        free(values);
    }
    test_ctx_end(ctx);
}

static void test_rows_do_not_see_each_other(void **state) {
    (void)state;
    if (!present()) skip();
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {34};
    for (int t = 0; t < N_TYPES; t++)
        rows_check(kernel, ctx, &r, types[t], true, 144,
                   asc_dtype_of(types[t])->block_elems == 256 ? 512 : 576);
    test_ctx_end(ctx);
}

static void test_epilogue(void **state) {
    (void)state;
    if (!present()) skip();
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {35};
    stored_epilogue_check(kernel, ctx, &r, ASC_DTYPE_Q5_1, true, 75, 300, 2048);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_calls_that_it_leaves),
        cmocka_unit_test(test_parts_that_cancel),
        cmocka_unit_test(test_odd_numbers),
        cmocka_unit_test(test_rows_do_not_see_each_other),
        cmocka_unit_test(test_epilogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
