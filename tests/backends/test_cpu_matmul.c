/* test_cpu_matmul.c - every matmul, gather and cast kernel of the cpu device, forced by calling it directly,
 * against the ops' f64 reference kernels on expanded values; bits against other thread counts and other row
 * counts; expansions against the scalar ones. Kernels whose instructions this machine lacks are skipped. */
#include "harness.h"
#include "expand.h"
#include "matmul_check.h"

static bool usable(const asc_kernel *k, int opcode, const asc_call *c) {
    return k->opcode == opcode && k->isa <= asc_cpu_best_isa() && (k->fits == NULL || k->fits(c));
}

/* Every kernel that takes the problem: right values, and the same bits for 1, 2 and 3 threads. */
static int check_all(const problem *p) {
    int tried = 0;
    for (size_t i = 0; i < asc_n_kernels; i++) {
        const asc_kernel *k = asc_kernels[i];
        if (!usable(k, ASC_OPCODE_MATMUL, &p->call)) continue;
        float *y = run(k, &p->call, p->in, p->n_out, 1);
        compare(p, k, y);
        for (int threads = 2; threads <= 3; threads++) {
            float *z = run(k, &p->call, p->in, p->n_out, threads);
            if (memcmp(y, z, (size_t)p->n_out * sizeof(float)) != 0)
                fail_msg("%s: other bits with %d threads", k->name, threads);
            free(z);
        }
        free(y);
        tried++;
    }
    return tried;
}

static void one_stored(asc_ctx *ctx, rng *r, asc_dtype t, bool tb, int64_t m, int64_t n, int64_t k) {
    problem p;
    matmul_init(&p, ctx, t, ASC_SHAPE(m, k), tb ? ASC_SHAPE(n, k) : ASC_SHAPE(k, n), false, tb);
    float *values, *x = random_floats(r, m * k);
    uint8_t *w = stored(r, t, n * k, &values);
    operands(&p, x, w, values);
    assert_true(check_all(&p) >= 1);
    free(x);
    free(w);
    free(values);
}

static void test_stored(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {1};
    static const int64_t rows[] = {1, 2, 3, 5, 8, 9, 13, 31};
    for (int t = 0; t < ASC_N_DTYPES; t++) {
        if (asc_dtype_expand((asc_dtype)t) == NULL) continue;
        const int64_t block = asc_dtype_of((asc_dtype)t)->block_elems;
        const int64_t whole = block > 32 ? block : 160, odd = t == ASC_DTYPE_F32 ? 157 : whole;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            one_stored(ctx, &r, (asc_dtype)t, true, rows[i], 53, block == 1 ? odd : whole);
            one_stored(ctx, &r, (asc_dtype)t, false, rows[i], block == 1 ? odd : whole, 53);
        }
        one_stored(ctx, &r, (asc_dtype)t, true, 23, 112, 2 * block > 512 ? 512 : block == 1 ? 401 : 512);
        one_stored(ctx, &r, (asc_dtype)t, false, 23, block == 1 ? 401 : 512, 211);
        /* more than two of any kernel's panels in both directions, and a rest: 7 blocks of 256 */
        one_stored(ctx, &r, (asc_dtype)t, true, 10, 211, t == ASC_DTYPE_F32 ? 1783 : 1792);
        one_stored(ctx, &r, (asc_dtype)t, false, 10, t == ASC_DTYPE_F32 ? 1783 : 1792, 211);
    }
    test_ctx_end(ctx);
}

static void test_f32_batched(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {2};
    static const struct {
        asc_shape a, b;
        bool ta, tb;
    } cases[] = {
        {{2, {7, 5}}, {2, {5, 9}}, false, false},
        {{2, {5, 7}}, {2, {5, 9}}, true, false},
        {{2, {5, 300}}, {2, {101, 5}}, true, true},
        {{3, {3, 7, 5}}, {3, {3, 9, 5}}, false, true},
        {{4, {2, 3, 7, 5}}, {4, {2, 1, 5, 9}}, false, false},
        {{4, {2, 3, 5, 7}}, {3, {3, 9, 5}}, true, true},
        {{3, {4, 7, 5}}, {2, {9, 5}}, false, true},
        {{3, {4, 7, 5}}, {3, {1, 5, 9}}, false, false},
        {{2, {7, 5}}, {3, {4, 5, 9}}, false, false},
        {{3, {1, 7, 5}}, {3, {4, 5, 9}}, false, false},
        {{2, {3, 0}}, {2, {0, 4}}, false, false},
        {{2, {13, 0}}, {2, {4, 0}}, false, true},
        {{2, {300, 33}}, {2, {33, 130}}, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        problem p;
        matmul_init(&p, ctx, ASC_DTYPE_F32, cases[i].a, cases[i].b, cases[i].ta, cases[i].tb);
        float *x = random_floats(&r, asc_shape_elems(&cases[i].a)),
              *w = random_floats(&r, asc_shape_elems(&cases[i].b));
        p.in[0] = p.in32[0] = x;
        p.in[1] = p.in32[1] = w;
        assert_true(check_all(&p) >= 1);
        free(x);
        free(w);
    }
    test_ctx_end(ctx);
}

/* Where infinity meets a denormal number, kernels that take it for 0 (flush.h) say NaN: bf16 weights are not.
 */
static void no_denormals(asc_dtype t, uint8_t *w, float *values, int64_t n) {
    for (int64_t i = 0; t == ASC_DTYPE_BF16 && i < n; i++) {
        if (fabsf(values[i]) >= FLT_MIN) continue;
        w[2 * i] = 0x80; /* 1 */
        w[2 * i + 1] = 0x3F;
        values[i] = 1;
    }
}

/* Not-a-numbers and infinities reach exactly the elements that they reach in the reference. */
static void test_non_finite(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {3};
    static const asc_dtype types[] = {ASC_DTYPE_F32,  ASC_DTYPE_F16,  ASC_DTYPE_BF16, ASC_DTYPE_Q4_0,
                                      ASC_DTYPE_Q4_1, ASC_DTYPE_Q8_0, ASC_DTYPE_Q5_0, ASC_DTYPE_Q5_1,
                                      ASC_DTYPE_Q4_K, ASC_DTYPE_Q6_K};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (int tb = 0; tb < 2; tb++) {
            for (int64_t m = 3; m <= 12; m += 9) {
                const int64_t k = 256, n = 256;
                problem p;
                matmul_init(&p, ctx, types[i], ASC_SHAPE(m, k), ASC_SHAPE(n, k), false, tb != 0);
                float *values, *x = random_floats(&r, m * k);
                uint8_t *w = stored(&r, types[i], n * k, &values);
                no_denormals(types[i], w, values, n * k);
                x[5] = NAN;
                x[k + 200] = INFINITY;
                x[2 * k + 31] = -INFINITY;
                if (types[i] == ASC_DTYPE_F32)
                    ((float *)(void *)w)[3 * 256 + 4] = values[3 * 256 + 4] = INFINITY;
                if (types[i] == ASC_DTYPE_F16) {
                    w[2 * (3 * 256 + 4)] = 0;
                    w[2 * (3 * 256 + 4) + 1] = 0x7C;
                    values[3 * 256 + 4] = INFINITY;
                }
                operands(&p, x, w, values);
                check_all(&p);
                free(x);
                free(w);
                free(values);
            }
        }
    }
    test_ctx_end(ctx);
}

/* A row has the same bits in batches of different size, within one kernel (docs/SPEED.md, "Which bits depend
 * on what"). */
static void rows_alone(asc_ctx *ctx, const asc_kernel *kernel, bool tb, const int64_t *rows, int n_rows) {
    rng r = {4};
    const int64_t n = tb ? 192 : 576, k = tb ? 576 : 192, most = rows[n_rows - 1];
    float *values, *x = random_floats(&r, most * k), *all = NULL;
    uint8_t *w = stored(&r, ASC_DTYPE_Q4_1, n * k, &values);
    const void *in[2] = {x, w};
    for (int i = n_rows - 1; i >= 0; i--) {
        problem p;
        matmul_init(&p, ctx, ASC_DTYPE_Q4_1, ASC_SHAPE(rows[i], k), tb ? ASC_SHAPE(n, k) : ASC_SHAPE(k, n),
                    false, tb);
        float *y = run(kernel, &p.call, in, p.n_out, 2);
        same_rows(&all, y, p.n_out);
    }
    free(all);
    free(x);
    free(w);
    free(values);
}

static void test_rows_do_not_see_each_other(void **state) {
    (void)state;
    static const int64_t many[] = {9, 10, 56, 224, 448}, few[] = {1, 2, 3, 4, 5, 8}, any[] = {1, 2, 7, 9, 56};
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rows_alone(ctx, &asc_kernel_gemv_base, true, few, 6);
    if (asc_cpu_best_isa() >= ASC_ISA_AVX2) rows_alone(ctx, &asc_kernel_gemv_avx2, true, few, 6);
    if (asc_cpu_best_isa() >= ASC_ISA_AMX) rows_alone(ctx, &asc_kernel_gemv_amx, true, few, 6);
    if (asc_cpu_best_isa() >= ASC_ISA_AVX512) {
        rows_alone(ctx, &asc_kernel_gemv_avx512, true, few, 6);
        rows_alone(ctx, &asc_kernel_matmul_avx512, true, many, 5);
        rows_alone(ctx, &asc_kernel_matmul_avx512, false, any, 5);
    }
    test_ctx_end(ctx);
}

/* Random bytes, so NaN and infinite scales too; NaN payloads are not compared. */
static void test_expand(void **state) {
    (void)state;
    rng r = {5};
    for (int t = 0; t < ASC_N_DTYPES; t++) {
        if (asc_dtype_expand((asc_dtype)t) == NULL) continue;
        const asc_dtype_info *info = asc_dtype_of((asc_dtype)t);
        const int64_t n = 997 * (int64_t)info->block_elems;
        size_t bytes = 997 * (size_t)info->block_bytes;
        uint8_t *w = malloc(bytes); /* exact, so that a memory checker sees reads behind the end */
        float *want = buffer((size_t)n * sizeof(float)), *got = buffer((size_t)n * sizeof(float));
        for (size_t i = 0; i < bytes; i++) w[i] = (uint8_t)next(&r);
        asc_dtype_expand((asc_dtype)t)(w, want, n);
        for (int isa = 0; isa <= (int)asc_cpu_best_isa(); isa++) {
            asc_expand_for((asc_dtype)t, (asc_isa)isa)(w, got, n);
            if (!same_bits(want, got, n))
                fail_msg("expansion of %s differs, %s", info->name, asc_isa_name((asc_isa)isa));
        }
        free(w);
        free(want);
        free(got);
    }
}

static void test_gather_and_cast(void **state) {
    (void)state;
    rng r = {6};
    static const int32_t index[7] = {3, 0, 0, 10, -5, 99, 7};
    for (int t = 0; t < ASC_N_DTYPES; t++) {
        if (asc_dtype_expand((asc_dtype)t) == NULL) continue;
        const int64_t rows = 11, width = 2 * asc_dtype_of((asc_dtype)t)->block_elems;
        float *values;
        uint8_t *w = stored(&r, (asc_dtype)t, rows * width, &values);
        asc_attrs attrs = {.i = {0}};
        asc_call gather = {.op = &asc_op_gather, .attrs = &attrs, .n_in = 2, .dtype = ASC_DTYPE_F32};
        gather.in_dtype[0] = (asc_dtype)t;
        gather.in_dtype[1] = ASC_DTYPE_I32;
        gather.in_shape[0] = ASC_SHAPE(rows, width);
        gather.in_shape[1] = ASC_SHAPE(7);
        gather.shape = ASC_SHAPE(7, width);
        asc_call cast = {.op = &asc_op_cast, .attrs = &attrs, .n_in = 1, .dtype = ASC_DTYPE_F32};
        cast.in_dtype[0] = (asc_dtype)t;
        cast.in_shape[0] = cast.shape = ASC_SHAPE(rows, width);
        for (size_t i = 0; i < asc_n_kernels; i++) {
            const asc_kernel *k = asc_kernels[i];
            const void *in[2] = {w, index};
            for (int threads = 1; threads <= 2; threads++) {
                if (usable(k, ASC_OPCODE_CAST, &cast)) {
                    float *y = run(k, &cast, in, rows * width, threads);
                    assert_true(same_bits(values, y, rows * width));
                    free(y);
                }
                if (!usable(k, ASC_OPCODE_GATHER, &gather)) continue;
                float *y = run(k, &gather, in, 7 * width, threads);
                for (int j = 0; j < 7; j++) {
                    int row = index[j] < 0 ? 0 : index[j] > 10 ? 10 : index[j];
                    assert_true(same_bits(values + row * width, y + j * width, width));
                }
                free(y);
            }
        }
        free(w);
        free(values);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expand),
        cmocka_unit_test(test_stored),
        cmocka_unit_test(test_f32_batched),
        cmocka_unit_test(test_non_finite),
        cmocka_unit_test(test_rows_do_not_see_each_other),
        cmocka_unit_test(test_gather_and_cast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
