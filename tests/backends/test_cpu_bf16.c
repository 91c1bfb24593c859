/* test_cpu_bf16.c - matrix products made of bf16 products: the tile instruction against its emulations, bit
 * by bit and on any bits; every level, type, direction and odd shape against f64 with an error model; rows
 * that do not see each other. Kernels whose instructions this machine lacks are skipped. */
#include "harness.h"
#include "bf16.h"
#include "matmul_check.h"

typedef struct way {
    const asc_bf16_ops *ops;
    asc_isa isa;
    const asc_kernel *kernel;
} way;

/* The last one runs anywhere. */
static const way ways[] = {
    {&asc_bf16_amx, ASC_ISA_AMX, &asc_kernel_matmul_bf16_amx},
    {&asc_bf16_avx512, ASC_ISA_AVX512, &asc_kernel_matmul_bf16_avx512},
    {&asc_bf16_avx2, ASC_ISA_AVX2, &asc_kernel_matmul_bf16_avx2},
    {&asc_bf16_base, ASC_ISA_BASELINE, &asc_kernel_matmul_bf16_base},
};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

static bool present(int w) { return ways[w].isa <= asc_cpu_best_isa(); }

/* The same int8 by integers. */
static const struct {
    const asc_kernel *kernel;
    bool bytes; /* needs sums of products of bytes */
} integers[] = {
    {&asc_kernel_matmul_int8_vnni512, true}, {&asc_kernel_matmul_int8_avx512, false},
    {&asc_kernel_matmul_int8_vnni256, true}, {&asc_kernel_matmul_int8_avx2, false},
    {&asc_kernel_matmul_int8_base, false},
};
enum { N_INTEGERS = sizeof integers / sizeof integers[0] };

static bool integers_present(int i) {
    const asc_isa isa = integers[i].kernel->isa;
    return isa <= asc_cpu_best_isa() && (!integers[i].bytes || asc_cpu_sums_bytes(isa));
}

/* Exponents drawn from [lo, lo + n); 0 and 255 are denormals and what is not finite. */
typedef struct range {
    uint32_t lo, n;
} range;

static void draw(rng *r, uint16_t *p, size_t n, range e) {
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = next(r);
        p[i] = (uint16_t)((bits & 0x807F) | (e.lo + (bits >> 16) % e.n) << 7);
        if (bits >> 28 == 0 && e.lo > 0) p[i] = 0;
    }
}

/* Any bits; ordinary numbers; products about the smallest normal number; denormal operands; overflow. */
static void test_blocks(void **state) {
    (void)state;
    static const range left[] = {{0, 256}, {120, 12}, {60, 8}, {0, 3}, {190, 3}, {110, 40}};
    static const range right[] = {{0, 256}, {120, 12}, {60, 8}, {126, 3}, {188, 4}, {110, 40}};
    enum { BLOCKS = 3, TILES = 2 * BLOCKS * 3 };
    static _Alignas(64) uint16_t a[TILES * ASC_BF16_TILE], b[TILES * ASC_BF16_TILE];
    static _Alignas(64) float want[1024], got[1024];
    rng r = {21};
    for (size_t e = 0; e < sizeof left / sizeof left[0]; e++) {
        for (int i = 0; i < 40; i++) {
            const asc_bf16_scheme scheme = (asc_bf16_scheme)(i % ASC_N_BF16_SCHEMES);
            const int64_t step = BLOCKS * asc_bf16_pieces(scheme) * ASC_BF16_TILE;
            asc_bf16_block t = {.a = a, .b = b, .a_step = step, .b_step = step, .blocks = 1 + i % BLOCKS};
            t.two_rows = i % 3 != 0;
            t.two_cols = i % 5 != 0;
            draw(&r, a, sizeof a / sizeof a[0], left[e]);
            draw(&r, b, sizeof b / sizeof b[0], right[e]);
            memset(want, 0x5A, sizeof want);
            t.c = want;
            asc_bf16_base.block[scheme](&t);
            for (int w = 0; w + 1 < N_WAYS; w++) {
                if (!present(w)) continue;
                memset(got, 0x5A, sizeof got);
                t.c = got;
                ways[w].ops->begin();
                ways[w].ops->block[scheme](&t);
                ways[w].ops->end();
                if (!same_bits(want, got, 1024))
                    fail_msg("block by %s, scheme %d, range %zu: other bits", asc_isa_name(ways[w].isa),
                             (int)scheme, e);
            }
        }
    }
}

/* |error| in units of sum |a||b|. Pieces: |x - h| <= 2^-8 |x|, |x - h - m| <= 2^-16 |x|. One product leaves
 * out hm, mh and smaller; three leave out mm, hl, lh and smaller; six leave out ml, lm and ll. Sums: a
 * product meets at most 15 additions of its tile, 1 of even and odd, then those of blocks, links and the
 * small products (which are 2^-7 of the whole). Weights of [n,k] formats are what the reference has. */
static double eps_of(asc_precision level, int64_t k) {
    const double sums = (17 + (double)(k + 31) / 32 + (double)(k + 127) / 128 + 1) * 0x1p-24;
    switch (level) {
    case ASC_PRECISION_MEDIUM:
        return 2.01 * 0x1p-8 + sums;
    case ASC_PRECISION_HIGH:
        return 3.03 * 0x1p-16 + sums;
    default:
        return 2.02 * 0x1p-24 + sums;
    }
}

/* int8: within a stretch of 256 values of k, a row of a is rounded to steps of a 127th of its largest number,
 * and so is a column of W. Sums of such steps are exact. */
static double int8_bound(const problem *p, int64_t e) {
    const bool tb = p->attrs.i[1] != 0;
    const int64_t n = p->call.shape.dims[1], k = inner(p), row = e / n, col = e % n;
    double bound = 0;
    for (int64_t q = 0; q < k; q += 256) {
        double a1 = 0, b1 = 0, a_most = 0, b_most = 0;
        const int64_t end = q + 256 < k ? q + 256 : k;
        for (int64_t i = q; i < end; i++) {
            const double a = fabs((double)p->in32[0][row * k + i]);
            const double b = fabs((double)p->in32[1][tb ? col * k + i : i * n + col]);
            a1 += a;
            b1 += b;
            a_most = fmax(a_most, a);
            b_most = fmax(b_most, b);
        }
        bound += (a_most * b1 + b_most * a1) / 254 + a_most * b_most / (254 * 254) * (double)(end - q);
    }
    return bound * (1 + 1e-5);
}

static const asc_precision levels[] = {ASC_PRECISION_BF16X6, ASC_PRECISION_HIGH, ASC_PRECISION_MEDIUM,
                                       ASC_PRECISION_INT8};

static void near(const problem *p, const float *y, const double *want, const double *scale) {
    const double eps = eps_of(p->call.level, inner(p));
    for (int64_t i = 0; i < p->n_out; i++) {
        const double tol = p->call.level == ASC_PRECISION_INT8 ? int8_bound(p, i) : eps * scale[i];
        if (isnan(want[i])   ? !isnan(y[i])
            : isinf(want[i]) ? (double)y[i] != want[i]
                             : !(fabs((double)y[i] - want[i]) <= tol + 1e-42))
            fail_msg("%s, %s, tb %d, K %lld: element %lld is %.9g, not %.9g +- %.2g",
                     asc_precision_name(p->call.level), asc_dtype_of(p->call.in_dtype[1])->name,
                     (int)p->attrs.i[1], (long long)inner(p), (long long)i, (double)y[i], want[i], tol);
    }
}

static void same_integers(const problem *p, const float *want) {
    for (int i = 0; i < N_INTEGERS; i++) {
        const asc_kernel *kernel = integers[i].kernel;
        for (int threads = 1; integers_present(i) && threads <= 3; threads += 2) {
            assert_true(kernel->fits(&p->call));
            float *y = run(kernel, &p->call, p->in, p->n_out, threads);
            if (!same_bits(want, y, p->n_out))
                fail_msg("%s, %d threads, %s, tb %d, K %lld: other bits", kernel->name, threads,
                         asc_dtype_of(p->call.in_dtype[1])->name, (int)p->attrs.i[1], (long long)inner(p));
            free(y);
        }
    }
}

/* Every level by every kernel: right, and the same bits whatever the instructions and threads. */
static void every_way(problem *p) {
    double *want = reference(p, false), *scale = reference(p, true);
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        p->call.level = levels[l];
        p->call.pieces = true;
        float *first = NULL;
        for (int w = 0; w < N_WAYS; w++) {
            if (!present(w)) continue;
            assert_true(ways[w].kernel->fits(&p->call));
            for (int threads = 1; threads <= (first == NULL ? 3 : 1); threads++) {
                float *y = run(ways[w].kernel, &p->call, p->in, p->n_out, threads);
                if (first == NULL) {
                    near(p, y, want, scale);
                    first = y;
                    continue;
                }
                if (!same_bits(first, y, p->n_out))
                    fail_msg("%s, %s, %d threads, %s: other bits", asc_precision_name(levels[l]),
                             ways[w].kernel->name, threads, asc_dtype_of(p->call.in_dtype[1])->name);
                free(y);
            }
        }
        if (levels[l] == ASC_PRECISION_INT8) same_integers(p, first);
        free(first);
    }
    free(want);
    free(scale);
}

static void one(asc_ctx *ctx, rng *r, asc_dtype t, bool tb, int64_t m, int64_t n, int64_t k) {
    problem p;
    matmul_init(&p, ctx, t, ASC_SHAPE(m, k), tb ? ASC_SHAPE(n, k) : ASC_SHAPE(k, n), false, tb);
    float *values, *x = random_floats(r, m * k);
    uint8_t *w = stored(r, t, n * k, &values);
    operands(&p, x, w, values);
    every_way(&p);
    free(x);
    free(w);
    free(values);
}

static void test_levels(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {22};
    for (int t = 0; t < ASC_N_DTYPES; t++) {
        if (asc_dtype_expand((asc_dtype)t) == NULL) continue;
        const int64_t block = asc_dtype_of((asc_dtype)t)->block_elems, whole = block > 32 ? block : 160;
        one(ctx, &r, (asc_dtype)t, true, 13, 53, block == 1 ? 157 : whole);
        one(ctx, &r, (asc_dtype)t, false, 13, block == 1 ? 157 : whole, 53);
        one(ctx, &r, (asc_dtype)t, true, 40, 112, 2 * whole);
        one(ctx, &r, (asc_dtype)t, false, 9, 2 * whole, 70);
        one(ctx, &r, (asc_dtype)t, false, 9, 2 * whole, 96); /* whole tiles */
    }
    for (int64_t k = 1; k <= 65; k += k < 4 ? 1 : k < 33 ? 14 : 16) {
        one(ctx, &r, ASC_DTYPE_F32, true, 17, 17, k); /* so few products that each error shows */
        one(ctx, &r, ASC_DTYPE_F32, false, 33, 33, k);
    }
    one(ctx, &r, ASC_DTYPE_F32, true, 10, 99, 1700); /* more than one panel deep */
    one(ctx, &r, ASC_DTYPE_Q8_0, false, 10, 1056, 96);
    test_ctx_end(ctx);
}

/* (1 + 2^-6)(1 + 2^-7) = 1 + 2^-6 + 2^-7 + 2^-13: two bf16, whose product is exact in f32 at every level. */
static void test_products_are_exact(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    problem p;
    float x[9], w[1] = {1 + 0x1p-7f};
    for (int i = 0; i < 9; i++) x[i] = 1 + 0x1p-6f;
    matmul_init(&p, ctx, ASC_DTYPE_F32, ASC_SHAPE(9, 1), ASC_SHAPE(1, 1), false, true);
    const void *in[2] = {x, w};
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        p.call.level = levels[l];
        for (int i = 0; i < N_WAYS; i++) {
            if (!present(i)) continue;
            float *y = run(ways[i].kernel, &p.call, in, p.n_out, 1);
            for (int e = 0; e < 9; e++) assert_true(y[e] == 1 + 0x1p-6f + 0x1p-7f + 0x1p-13f);
            free(y);
        }
    }
    test_ctx_end(ctx);
}

/* Infinities, NaN, numbers that would become infinite pieces, and a row of tiny ones. */
static void test_odd_numbers(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {23};
    for (int tb = 0; tb < 2; tb++) {
        const int64_t m = 40, n = 70, k = 200;
        problem p;
        matmul_init(&p, ctx, ASC_DTYPE_F32, ASC_SHAPE(m, k), tb ? ASC_SHAPE(n, k) : ASC_SHAPE(k, n), false,
                    tb != 0);
        float *x = random_floats(&r, m * k), *w = random_floats(&r, n * k);
        x[5] = NAN;
        const uint32_t all_ones = 0x7FFFFFFF;
        memcpy(x + 3 * k + 7, &all_ones, sizeof all_ones);
        x[k + 190] = INFINITY;
        x[2 * k + 31] = -INFINITY;
        for (int64_t i = 0; i < k; i++) x[35 * k + i] = i == 0 ? 0x1.fffffep+127f : 0;
        for (int64_t i = 0; i < k; i++) x[20 * k + i] *= 0x1p-112f; /* its small pieces would be denormal */
        w[3 * 70 + 4] = INFINITY;
        w[5 * 70 + 11] = NAN;
        p.in[0] = p.in32[0] = x;
        p.in[1] = p.in32[1] = w;
        every_way(&p);
        free(x);
        free(w);
    }
    test_ctx_end(ctx);
}

/* The first in kernels.def that this machine can run. */
static const asc_kernel *best_of(asc_precision level) {
    if (level == ASC_PRECISION_INT8 && !present(0)) {
        for (int i = 0; i < N_INTEGERS; i++)
            if (integers_present(i)) return integers[i].kernel;
    }
    for (int w = 0;; w++)
        if (present(w)) return ways[w].kernel;
}

static void test_rows_do_not_see_each_other(void **state) {
    (void)state;
    static const int64_t rows[] = {1100, 448, 57, 10, 9, 1};
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {24};
    for (int tb = 0; tb < 2; tb++) {
        const int64_t n = tb ? 192 : 576, k = tb ? 576 : 192;
        float *values, *x = random_floats(&r, rows[0] * k);
        uint8_t *w = stored(&r, ASC_DTYPE_Q4_1, n * k, &values);
        const void *in[2] = {x, w};
        for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
            float *all = NULL;
            for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                problem p;
                matmul_init(&p, ctx, ASC_DTYPE_Q4_1, ASC_SHAPE(rows[i], k),
                            tb ? ASC_SHAPE(n, k) : ASC_SHAPE(k, n), false, tb != 0);
                p.call.level = levels[l];
                p.call.many_rows = rows[i] < 9;
                p.call.pieces = true;
                const asc_kernel *best = best_of(levels[l]);
                assert_ptr_equal(asc_kernel_pick(&p.call, asc_cpu_best_isa()), best);
                float *y = run(best, &p.call, in, p.n_out, 2);
                same_rows(&all, y, p.n_out);
            }
            free(all);
        }
        free(x);
        free(w);
        free(values);
    }
    test_ctx_end(ctx);
}

static void test_epilogue(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    rng r = {25};
    const int64_t m = 75, n = 300, k = 1600;
    problem p;
    matmul_init(&p, ctx, ASC_DTYPE_F32, ASC_SHAPE(m, k), ASC_SHAPE(n, k), false, true);
    p.call.level = ASC_PRECISION_HIGH;
    float *x = random_floats(&r, m * k), *w = random_floats(&r, n * k);
    const void *in[2] = {x, w};
    for (int i = 0; i < N_WAYS; i++) {
        if (!present(i)) continue;
        p.call.pieces = true;
        epilogue_check(ways[i].kernel, &p, in);
    }
    p.call.level = ASC_PRECISION_INT8;
    for (int i = 0; i < N_INTEGERS; i++)
        if (integers_present(i)) epilogue_check(integers[i].kernel, &p, in);
    free(x);
    free(w);
    test_ctx_end(ctx);
}

/* Without tiles f32 products are finer than those of pieces and faster: pieces are made where they are asked
 * for, and int8, whose numbers are wanted, always. */
static void test_who_takes_a_level(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const struct {
        asc_isa isa;
        const asc_kernel *f32, *pieces;
    } at[] = {{ASC_ISA_AMX, &asc_kernel_matmul_bf16_amx, &asc_kernel_matmul_bf16_amx},
              {ASC_ISA_AVX512, &asc_kernel_matmul_avx512, &asc_kernel_matmul_bf16_avx512},
              {ASC_ISA_AVX2, &asc_kernel_matmul_onednn, &asc_kernel_matmul_bf16_avx2},
              {ASC_ISA_BASELINE, &asc_kernel_matmul_onednn, &asc_kernel_matmul_bf16_base}};
    problem p;
    matmul_init(&p, ctx, ASC_DTYPE_Q8_0, ASC_SHAPE(40, 64), ASC_SHAPE(32, 64), false, true);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
            p.call.level = levels[l];
            p.call.pieces = false;
            const asc_kernel *free_choice = asc_kernel_pick(&p.call, at[i].isa);
            p.call.pieces = true;
            const asc_kernel *as_told = asc_kernel_pick(&p.call, at[i].isa);
            if (levels[l] == ASC_PRECISION_INT8) {
                assert_ptr_equal(free_choice, as_told);
                if (at[i].isa != ASC_ISA_AMX) assert_non_null(strstr(as_told->name, "int8"));
                continue;
            }
            assert_ptr_equal(free_choice, at[i].f32);
            assert_ptr_equal(as_told, at[i].pieces);
        }
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_products_are_exact),
        cmocka_unit_test(test_odd_numbers),
        cmocka_unit_test(test_rows_do_not_see_each_other),
        cmocka_unit_test(test_epilogue),
        cmocka_unit_test(test_who_takes_a_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
