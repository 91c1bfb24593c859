/* test_strips.c - products by tiles whose threads cut rows strip by strip (bf16_deal.h): the bits are those
 * of rows that all threads cut beforehand, with one panel or several, whatever the threads, at every level.
 */
#include "matmul_check.h"

static const asc_dtype types[] = {ASC_DTYPE_F32, ASC_DTYPE_Q4_0, ASC_DTYPE_Q4_1, ASC_DTYPE_Q8_0};
enum { N_TYPES = sizeof types / sizeof types[0] };

static float *run_as(const asc_kernel *kernel, const problem *p, int threads, bool keep) {
    asc_kargs a = {.call = &p->call, .n_threads = threads, .in = {p->in[0], p->in[1]}, .left_keep = keep};
    a.scratch = buffer(kernel->scratch(&p->call, threads));
    a.out = buffer((size_t)p->n_out * sizeof(float));
    kernel->run(&a);
    /* The rows that were to be kept are those of the next product. */
    if (keep && kernel->left_form(&p->call) != 0) {
        float *again = buffer((size_t)p->n_out * sizeof(float)), *first = a.out;
        a.left_ready = true;
        a.out = again;
        kernel->run(&a);
        assert_memory_equal(first, again, (size_t)p->n_out * sizeof(float));
        free(again);
        a.out = first;
    }
    free(a.scratch);
    return a.out;
}

static void one(asc_ctx *ctx, rng *r, asc_dtype t, asc_precision level, bool tb, int64_t m, int64_t n,
                int64_t k) {
    problem p;
    matmul_init(&p, ctx, t, ASC_SHAPE(m, k), tb ? ASC_SHAPE(n, k) : ASC_SHAPE(k, n), false, tb);
    float *values, *x = random_floats(r, m * k);
    uint8_t *w = stored(r, t, n * k, &values);
    operands(&p, x, w, values);
    p.call.level = level;
    p.call.pieces = true;
    const asc_kernel *kernel = asc_kernel_pick(&p.call, asc_cpu_best_isa());
    if (kernel->left_form != NULL) {
        float *want = run_as(kernel, &p, 1, true);
        for (int threads = 1; threads <= 4; threads++) {
            for (int keep = 0; keep < 2; keep++) {
                float *y = run_as(kernel, &p, threads, keep != 0);
                if (memcmp(want, y, (size_t)p.n_out * sizeof *y) != 0)
                    fail_msg("%s, %s, %lld x %lld x %lld: other bits with %d threads, keep %d", kernel->name,
                             asc_dtype_of(t)->name, (long long)m, (long long)n, (long long)k, threads, keep);
                free(y);
            }
        }
        free(want);
    }
    free(x);
    free(w);
    free(values);
}

static void bits(void **state) {
    /* rows: one group, a strip and a bit, many; columns: one panel of a part or two; k: one panel or two,
     * more than a strip may have */
    static const int64_t shapes[][3] = {{9, 288, 64},    {40, 576, 608},  {130, 640, 192},
                                        {65, 544, 1600}, {70, 288, 4352}, {1050, 160, 96}};
    static const asc_precision levels[] = {ASC_PRECISION_HIGHEST, ASC_PRECISION_HIGH, ASC_PRECISION_MEDIUM,
                                           ASC_PRECISION_INT8};
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {41};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int t = 0; t < N_TYPES; t++)
            for (int tb = 0; tb < 2; tb++)
                for (size_t l = 0; l < (types[t] == ASC_DTYPE_Q4_1 ? sizeof levels / sizeof *levels : 1); l++)
                    one(ctx, &r, types[t], levels[l], tb != 0, shapes[s][0], shapes[s][1], shapes[s][2]);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
