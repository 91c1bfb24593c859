/* test_gemm_few.c - f32 weights multiplied where they lie: values against the f64 reference, the bits of the
 * kernel of many rows, parts for the epilogue that cover the result once. */
#include "harness.h"
#include "matmul_check.h"

typedef struct parts {
    asc_epilogue base;
    const float *y;
    float *seen; /* the value that was there when its part came */
    int *times;
    int64_t n;
} parts;

static void note(const asc_epilogue *post, int64_t m0, int64_t m1, int64_t n0, int64_t n1, int thread) {
    const parts *p = (const parts *)(const void *)post;
    (void)thread;
    for (int64_t i = m0; i < m1; i++) {
        for (int64_t j = n0; j < n1; j++) {
            p->seen[i * p->n + j] = p->y[i * p->n + j];
            p->times[i * p->n + j]++;
        }
    }
}

static float *run_in_parts(const asc_kernel *kernel, const problem *p, int threads) {
    const int64_t n = p->n_out;
    parts post = {.base = {.block = note}, .n = p->call.shape.dims[1]};
    asc_kargs a = {.call = &p->call, .n_threads = threads, .post = &post.base};
    for (int k = 0; k < 2; k++) a.in[k] = p->in[k];
    a.scratch = buffer(kernel->scratch(&p->call, threads));
    float *y = a.out = buffer((size_t)n * sizeof(float));
    post.y = y;
    post.seen = buffer((size_t)n * sizeof(float));
    post.times = calloc((size_t)n, sizeof(int));
    kernel->run(&a);
    for (int64_t i = 0; i < n; i++) assert_int_equal(post.times[i], 1);
    assert_memory_equal(post.seen, y, (size_t)n * sizeof(float));
    free(post.seen);
    free(post.times);
    free(a.scratch);
    return y;
}

static void same_as_many_rows(void **state) {
    (void)state;
    if (asc_cpu_best_isa() < ASC_ISA_AVX512) skip();
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {7};
    static const int64_t rows[] = {9, 16, 17, 33, 48, 49, 64, 96}, cols[] = {1, 7, 8, 15, 16, 17, 211, 400},
                         depth[] = {1, 15, 16, 191, 192, 193, 600};
    for (size_t i = 0; i < 8; i++) {
        for (size_t j = 0; j < 8; j++) {
            for (size_t d = 0; d < 7; d++) {
                const int64_t m = rows[i], n = cols[j], k = depth[d];
                problem p;
                matmul_init(&p, ctx, ASC_DTYPE_F32, ASC_SHAPE(m, k), ASC_SHAPE(n, k), false, true);
                float *x = random_floats(&r, m * k), *w = random_floats(&r, n * k);
                p.in[0] = p.in32[0] = x;
                p.in[1] = p.in32[1] = w;
                assert_true(asc_kernel_matmul_few_avx512.fits(&p.call));
                float *y = run_in_parts(&asc_kernel_matmul_few_avx512, &p, 1);
                if (d % 3 == 2) compare(&p, &asc_kernel_matmul_few_avx512, y);
                float *z = run_in_parts(&asc_kernel_matmul_few_avx512, &p, 3);
                assert_memory_equal(y, z, (size_t)p.n_out * sizeof(float));
                free(z);
                z = run_in_parts(&asc_kernel_matmul_avx512, &p, 1);
                assert_memory_equal(y, z, (size_t)p.n_out * sizeof(float));
                free(z);
                free(y);
                free(x);
                free(w);
            }
        }
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_many_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
