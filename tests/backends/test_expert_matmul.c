/* test_expert_matmul.c - the fast kernels of expert_matmul against matmul, row by row: the same bits where
 * both have few rows or many, whatever rows share a matrix, for stored and plain stacks, both flags, one
 * thread or two, and processors without wide vectors. Gradients by a stack: op tests. */
#include "harness.h"

#include "exec.h"
#include "ops.h"
#include <math.h>

enum { E = 5, A = 32, B = 96, MOST = 24 };

/* Blocks of q8_0: a half-precision scale (2^-7) and 32 signed bytes. */
static void fill_q8_0(unsigned char *out, int blocks) {
    for (int i = 0; i < blocks; i++, out += 34) {
        out[0] = 0;
        out[1] = 0x20;
        for (int j = 0; j < 32; j++) out[2 + j] = (unsigned char)(i * 37 + j * 11);
    }
}

/* y of `rows` rows in the order `order`, on a context of its own. */
static void run(const asc_ctx_options *o, const void *stack, asc_dtype type, bool tw, const int32_t *index,
                const float *x, int64_t rows, float *y) {
    asc_ctx *ctx = NULL;
    const int64_t k = tw ? B : A, n = tw ? A : B;
    assert_int_equal(asc_ctx_create(o, &ctx), ASC_OK);
    asc_tensor *w = asc_from_stored(ctx, type, ASC_SHAPE(E, A, B), stack);
    asc_tensor *t = asc_expert_matmul(ctx, asc_from_f32(ctx, ASC_SHAPE(rows, k), x), w,
                                      asc_from_i32(ctx, ASC_SHAPE(rows), index), tw);
    assert_ok(ctx, asc_read_f32(ctx, t, y, (size_t)(rows * n)));
    test_ctx_end(ctx);
}

/* The row by matmul, as one of `as_many` equal rows. */
static void by_matmul(const asc_ctx_options *o, const unsigned char *matrix, asc_dtype type, bool tw,
                      const float *x, int64_t as_many, float *y) {
    asc_ctx *ctx = NULL;
    const int64_t k = tw ? B : A, n = tw ? A : B;
    assert_int_equal(asc_ctx_create(o, &ctx), ASC_OK);
    asc_tensor *w = asc_from_stored(ctx, type, ASC_SHAPE(A, B), matrix);
    asc_tensor *a = asc_broadcast(ctx, asc_from_f32(ctx, ASC_SHAPE(1, k), x), ASC_SHAPE(as_many, k));
    float all[MOST * B];
    assert_ok(ctx, asc_read_f32(ctx, asc_matmul(ctx, a, w, false, tw), all, (size_t)(as_many * n)));
    memcpy(y, all, (size_t)n * sizeof *y);
    test_ctx_end(ctx);
}

static void check(const char *isa, int threads, asc_dtype type, bool tw, int64_t rows) {
    static unsigned char q8[E * A * B / 32 * 34];
    static float f32[E * A * B], x[MOST * B], y[MOST * B], want[B];
    int32_t index[MOST];
    const asc_ctx_options o = {.struct_size = sizeof o, .device = "cpu", .isa = isa, .n_threads = threads};
    const int64_t k = tw ? B : A, n = tw ? A : B;
    fill_q8_0(q8, E * A * B / 32);
    asc_dtype_expand(ASC_DTYPE_Q8_0)(q8, f32, E * A * B);
    for (int64_t r = 0; r < rows; r++) index[r] = (int32_t)(r * 7 % 11 % E) - (r == 5) * 40 + (r == 3) * 40;
    for (int64_t i = 0; i < rows * k; i++) x[i] = (float)(i * 29 % 101) / 64.0f - 0.75f;
    run(&o, type == ASC_DTYPE_F32 ? (const void *)f32 : q8, type, tw, index, x, rows, y);
    for (int64_t r = 0; r < rows; r++) {
        const int32_t e = index[r] < 0 ? 0 : index[r] >= E ? E - 1 : index[r];
        const unsigned char *m = type == ASC_DTYPE_F32 ? (const unsigned char *)(f32 + (size_t)e * A * B)
                                                       : q8 + (size_t)e * A * B / 32 * 34;
        by_matmul(&o, m, type, tw, x + r * k, rows > 8 ? rows : 1, want);
        for (int64_t i = 0; i < n; i++) {
            /* only oneDNN, where it is used, may add up in another order for another number of rows */
            const double most = strcmp(isa, "avx512") == 0 ? 0.0 : 1e-5 * fabs((double)want[i]) + 1e-5;
            if (fabs((double)y[r * n + i] - (double)want[i]) > most)
                fail_msg("%s, %d threads, %s, tw %d, %d rows: row %d column %d: %.9g, want %.9g", isa,
                         threads, asc_dtype_of(type)->name, tw, (int)rows, (int)r, (int)i,
                         (double)y[r * n + i], (double)want[i]);
        }
    }
}

static void rows_are_those_of_matmul(void **state) {
    (void)state;
    static const char *const isas[] = {"avx512", "avx2", "baseline"};
    static const int64_t rows[] = {1, 2, 7, 8, 9, 24};
    for (size_t i = 0; i < 3; i++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            for (int v = 0; v < 8; v++)
                check(isas[i], 1 + v % 2, v / 2 % 2 != 0 ? ASC_DTYPE_Q8_0 : ASC_DTYPE_F32, v / 4 != 0,
                      rows[r]);
}

/* Values are a function of the row and its matrix alone. */
static void company_does_not_matter(void **state) {
    (void)state;
    static float f32[E * A * B], x[MOST * B], y[2][MOST * A];
    int32_t index[2][MOST];
    const asc_ctx_options o = {.struct_size = sizeof o, .device = "cpu", .n_threads = 2};
    for (int i = 0; i < E * A * B; i++) f32[i] = (float)(i * 31 % 97) / 97.0f - 0.5f;
    for (int i = 0; i < MOST * B; i++) x[i] = (float)(i * 29 % 101) / 64.0f - 0.75f;
    for (int r = 0; r < MOST; r++) {
        index[0][r] = r % E;
        index[1][r] = r % 2 == 0 ? r % E : 1;
    }
    for (int i = 0; i < 2; i++) run(&o, f32, ASC_DTYPE_F32, true, index[i], x, MOST, y[i]);
    for (int r = 0; r < MOST; r += 2) assert_memory_equal(y[0] + r * A, y[1] + r * A, A * sizeof(float));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_those_of_matmul),
                                       cmocka_unit_test(company_does_not_matter)};
    return cmocka_run_group_tests_name("expert_matmul", tests, NULL, NULL);
}
