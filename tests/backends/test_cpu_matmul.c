/* test_cpu_matmul.c - every matmul, gather and cast kernel of the cpu device, forced by calling it directly,
 * against the ops' f64 reference kernels on expanded values; bits against other thread counts and other row
 * counts; expansions against the scalar ones. Kernels whose instructions this machine lacks are skipped. */
#include "harness.h"
#include "expand.h"
#include "kernel.h"
#include <math.h>

typedef struct rng {
    uint64_t s;
} rng;

static uint32_t next(rng *r) {
    r->s = r->s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->s >> 33);
}

static float uniform(rng *r) { return (float)next(r) * 0x1p-30f - 1.0f; }

static void *buffer(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    assert_non_null(p);
    memset(p, 0xA5, (bytes + 127) / 64 * 64);
    return p;
}

static bool finite_block(const float *v, int n) {
    for (int i = 0; i < n; i++) {
        if (!(fabsf(v[i]) < 1e6f)) return false;
    }
    return true;
}

/* Random blocks whose values are finite and below a million; *values receives them in f32. The block formats
 * get random bits, so every scale, sign and quant occurs. */
static uint8_t *stored(rng *r, asc_dtype t, int64_t n, float **values) {
    const asc_dtype_info *info = asc_dtype_of(t);
    size_t bytes = 0;
    assert_true(asc_dtype_bytes(t, n, &bytes));
    uint8_t *w = buffer(bytes);
    *values = buffer((size_t)n * sizeof(float));
    for (int64_t b = 0; b < n / info->block_elems; b++) {
        uint8_t *p = w + b * info->block_bytes;
        float *v = *values + b * info->block_elems;
        do {
            if (t == ASC_DTYPE_F32) {
                *(float *)(void *)p = uniform(r);
            } else {
                for (int i = 0; i < info->block_bytes; i++) p[i] = (uint8_t)next(r);
            }
            asc_dtype_expand(t)(p, v, info->block_elems);
        } while (!finite_block(v, info->block_elems));
    }
    return w;
}

typedef struct problem {
    asc_call call;
    asc_attrs attrs;
    const void *in[2];
    const float *in32[2]; /* values */
    int64_t n_out;
} problem;

static void matmul_init(problem *p, asc_ctx *ctx, asc_dtype t, asc_shape a, asc_shape b, bool ta, bool tb) {
    *p = (problem){.attrs = {.i = {ta, tb}}};
    p->call = (asc_call){.op = &asc_op_matmul, .n_in = 2, .in_dtype = {ASC_DTYPE_F32, t}, .in_shape = {a, b}};
    p->call.attrs = &p->attrs;
    assert_ok(ctx, asc_op_matmul.infer(ctx, &p->call));
    p->n_out = asc_shape_elems(&p->call.shape);
}

static double *widen(const float *x, int64_t n, bool magnitude) {
    double *d = buffer((size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++) d[i] = magnitude ? fabs((double)x[i]) : (double)x[i];
    return d;
}

static asc_nd nd_of(const asc_shape *s, double *data) {
    asc_nd nd = {.data = data, .rank = s->rank};
    memcpy(nd.dims, s->dims, sizeof nd.dims);
    asc_shape_strides(s, nd.strides);
    return nd;
}

/* The op's reference kernel; with `magnitude` on absolute values, which is the scale of the rounding errors.
 */
static double *reference(const problem *p, bool magnitude) {
    asc_ref_args r = {.attrs = &p->attrs, .n_in = 2, .n_threads = 1};
    double *in[2], *out = buffer((size_t)p->n_out * sizeof(double));
    for (int k = 0; k < 2; k++) {
        in[k] = widen(p->in32[k], asc_shape_elems(&p->call.in_shape[k]), magnitude);
        r.in[k] = nd_of(&p->call.in_shape[k], in[k]);
    }
    r.out = nd_of(&p->call.shape, out);
    asc_op_matmul.ref(&r);
    for (int k = 0; k < 2; k++) free(in[k]);
    return out;
}

static float *run(const asc_kernel *kernel, const asc_call *call, const void *const *in, int64_t n_out,
                  int threads) {
    asc_kargs a = {.call = call, .n_threads = threads};
    for (int k = 0; k < call->n_in; k++) a.in[k] = in[k];
    size_t scratch = kernel->scratch != NULL ? kernel->scratch(call, threads) : 0;
    a.scratch = buffer(scratch);
    a.out = buffer((size_t)n_out * sizeof(float));
    kernel->run(&a);
    free(a.scratch);
    return a.out;
}

static int64_t inner(const problem *p) {
    const asc_shape *a = &p->call.in_shape[0];
    return a->dims[a->rank - (p->attrs.i[0] != 0 ? 2 : 1)];
}

/* Rounding: at most K + 8 roundings of relative size 2^-24 on the way of each product. A kernel that adds d q
 * and m apart, where w = d q + m, works with terms up to four times as large. */
static void compare(const problem *p, const asc_kernel *kernel, const float *y) {
    double *want = reference(p, false), *scale = reference(p, true);
    const double eps = 4 * ((double)inner(p) + 8) * 0x1p-24;
    for (int64_t i = 0; i < p->n_out; i++) {
        double tol = eps * scale[i] + 1e-37;
        if (isnan(want[i])   ? !isnan(y[i])
            : isinf(want[i]) ? (double)y[i] != want[i]
                             : !(fabs((double)y[i] - want[i]) <= tol)) {
            fail_msg("%s, %s, tb %d, M %lld, K %lld: element %lld is %.9g, not %.9g +- %.2g", kernel->name,
                     asc_dtype_of(p->call.in_dtype[1])->name, (int)p->attrs.i[1],
                     (long long)p->call.in_shape[0].dims[0], (long long)inner(p), (long long)i, (double)y[i],
                     want[i], tol);
        }
    }
    free(want);
    free(scale);
}

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

static float *random_floats(rng *r, int64_t n) {
    float *x = buffer((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) x[i] = uniform(r);
    return x;
}

static void one_stored(asc_ctx *ctx, rng *r, asc_dtype t, bool tb, int64_t m, int64_t n, int64_t k) {
    problem p;
    matmul_init(&p, ctx, t, ASC_SHAPE(m, k), tb ? ASC_SHAPE(n, k) : ASC_SHAPE(k, n), false, tb);
    float *values, *x = random_floats(r, m * k);
    uint8_t *w = stored(r, t, n * k, &values);
    p.in[0] = p.in32[0] = x;
    p.in[1] = w;
    p.in32[1] = values;
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
                p.in[0] = p.in32[0] = x;
                p.in[1] = w;
                p.in32[1] = values;
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
        if (all == NULL) {
            all = y;
        } else {
            assert_memory_equal(all, y, (size_t)p.n_out * sizeof(float));
            free(y);
        }
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
    if (asc_cpu_best_isa() >= ASC_ISA_AVX512) {
        rows_alone(ctx, &asc_kernel_gemv_avx512, true, few, 6);
        rows_alone(ctx, &asc_kernel_matmul_avx512, true, many, 5);
        rows_alone(ctx, &asc_kernel_matmul_avx512, false, any, 5);
    }
    test_ctx_end(ctx);
}

static bool same_bits(const float *a, const float *b, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (isnan(a[i]) ? !isnan(b[i]) : memcmp(a + i, b + i, sizeof *a) != 0) return false;
    }
    return true;
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
