/* test_flush.c - products take denormal numbers for 0 (flush.h): what is lost stays below the bound, the
 * threads' state is what it was, and epilogues compute with all digits. */
#include "harness.h"
#include "matmul_check.h"
#include "ops.h"
#include <omp.h>
#include <xmmintrin.h>

enum { THREADS = 2, K = 200, N = 49 };

static unsigned int states[THREADS];

static void note_states(void) {
#pragma omp parallel num_threads(THREADS)
    states[omp_get_thread_num()] = _mm_getcsr() & ~0x3Fu; /* without the flags of what happened */
}

static void states_are(const unsigned int *want) {
    note_states();
    for (int i = 0; i < THREADS; i++) assert_int_equal(states[i], want[i]);
}

/* Row by row: denormal, so small that products are denormal, ordinary. */
static float *small_rows(rng *r, int64_t m) {
    float *x = random_floats(r, m * K);
    for (int64_t i = 0; i < m * K; i++)
        x[i] *= i / K % 3 == 0 ? 0x1p-130f : i / K % 3 == 1 ? 0x1p-125f : 1.0f;
    return x;
}

/* An epilogue that halves the smallest normal number: denormal, and not 0. */
static float halves[THREADS];

static void halve(const asc_epilogue *post, int64_t m0, int64_t m1, int64_t n0, int64_t n1, int thread) {
    static volatile float least = 0x1p-126f;
    (void)post, (void)m0, (void)m1, (void)n0, (void)n1;
    halves[thread] = least * 0.5f;
}

static void check(asc_ctx *ctx, rng *r, asc_dtype t, int64_t m, bool tb, asc_isa isa) {
    problem p;
    float *values, *x = small_rows(r, m);
    const int64_t k = t == ASC_DTYPE_F32 ? K : K / 32 * 32;
    uint8_t *w = stored(r, t, k * N, &values);
    matmul_init(&p, ctx, t, ASC_SHAPE(m, k), tb ? ASC_SHAPE(N, k) : ASC_SHAPE(k, N), false, tb);
    operands(&p, x, w, values);
    const asc_kernel *kernel = asc_kernel_pick(&p.call, isa);
    unsigned int before[THREADS];
    note_states();
    memcpy(before, states, sizeof before);
    float *y = run(kernel, &p.call, p.in, p.n_out, THREADS);
    states_are(before);
    double *want = reference(&p, false), *scale = reference(&p, true), largest = 1;
    for (int64_t i = 0; i < k * N; i++) largest = fmax(largest, fabs((double)values[i]));
    for (int64_t i = 0; i < p.n_out; i++) {
        const double lost = (double)k * 0x1p-122 * largest; /* docs/errors.md */
        near_element(&p, kernel->name, i, y[i], want[i], 4 * ((double)k + 8) * 0x1p-24 * scale[i] + lost);
    }
    if (t == ASC_DTYPE_F32 && isa > ASC_ISA_BASELINE && isa < ASC_ISA_AMX) {
        for (int64_t i = 0; i < m * N; i += 3 * N) assert_true(y[i] == 0); /* a denormal row */
    }
    if (kernel->takes_post) {
        asc_epilogue post = {.block = halve};
        asc_kargs a = {.call = &p.call, .in = {p.in[0], p.in[1]}, .out = y, .n_threads = 1, .post = &post};
        a.scratch = buffer(kernel->scratch != NULL ? kernel->scratch(&p.call, 1) : 0);
        halves[0] = 0;
        kernel->run(&a);
        assert_true(halves[0] > 0);
        free(a.scratch);
    }
    free(want);
    free(scale);
    free(y);
    free(x);
    free(w);
    free(values);
}

static void products_lose_little(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {5};
    static const int64_t rows[] = {1, 3, 8, 9, 33, 100};
    static const asc_dtype types[] = {ASC_DTYPE_F32, ASC_DTYPE_Q4_1, ASC_DTYPE_Q8_0, ASC_DTYPE_F16};
    for (int isa = 0; isa <= (int)asc_cpu_best_isa(); isa++) {
        for (size_t i = 0; i < 6; i++) {
            for (size_t t = 0; t < 4; t++) {
                check(ctx, &r, types[t], rows[i], true, (asc_isa)isa);
                if (types[t] == ASC_DTYPE_F32) check(ctx, &r, types[t], rows[i], false, (asc_isa)isa);
            }
        }
    }
    test_ctx_end(ctx);
}

/* Through the library: a caller's own way of rounding and flushing comes back, and elementwise ops behind a
 * product keep denormal numbers. */
static void callers_keep_theirs(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    const unsigned int old = _mm_getcsr();
    float one[64], got[64];
    for (int i = 0; i < 64; i++) one[i] = i % 9 == 0 ? 0x1p-60f : 0.0f; /* 2^-60 times the unit matrix */
    asc_scope_begin(ctx);
    asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(8, 8), one);
    asc_tensor *y = asc_scale(ctx, asc_matmul(ctx, x, x, false, false), 0x1p-20); /* 2^-140 */
    assert_ok(ctx, asc_read_f32(ctx, y, got, 64));
    for (int i = 0; i < 64; i++) assert_true(got[i] == (i % 9 == 0 ? 0x1p-140f : 0.0f));
    assert_ok(ctx, asc_scope_end(ctx));
    assert_int_equal(_mm_getcsr() & ~0x3Fu, old & ~0x3Fu);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_lose_little),
                                       cmocka_unit_test(callers_keep_theirs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
