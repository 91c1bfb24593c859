/* test_ref_kernels.c - reference kernels of the matrix, row and attention ops called directly: the same bits
 * for any strides and number of threads, and matmul beyond its block sizes against a plain triple loop. */
#include "harness.h"

#include "ops.h"

static uint64_t rng_state = 11;

static double draw(double lo, double hi) {
    rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * (double)(rng_state >> 11) / 9007199254740992.0;
}

/* An array with room around it; the layout is contiguous, or spread out with the last axis reversed and axes
 * permuted. */
static asc_nd make(const asc_shape *s, bool odd, double **storage) {
    asc_nd x = {.rank = s->rank};
    int64_t step = odd ? 2 : 1, low = 0, n = 1;
    memcpy(x.dims, s->dims, sizeof x.dims);
    for (int i = 0; i < s->rank; i++) {
        const int axis = odd ? i : s->rank - 1 - i; /* odd: the first axis varies fastest */
        x.strides[axis] = step;
        step *= s->dims[axis] + (odd ? 1 : 0);
        n = step;
    }
    if (odd && s->rank > 0) {
        x.strides[s->rank - 1] *= -1;
        low = (s->dims[s->rank - 1] - 1) * -x.strides[s->rank - 1];
    }
    *storage = test_calloc((size_t)n + 1, sizeof **storage);
    x.data = *storage + low;
    return x;
}

/* Element i in row-major order. */
static double *element(const asc_nd *x, int64_t i) {
    double *p = x->data;
    for (int axis = x->rank - 1; axis >= 0; axis--) {
        p += i % x->dims[axis] * x->strides[axis];
        i /= x->dims[axis];
    }
    return p;
}

static int64_t elems(const asc_shape *s) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) n *= s->dims[i];
    return n;
}

static void check_strides(asc_ctx *ctx, const asc_op *op) {
    asc_sample s;
    for (int i = 0; memset(&s, 0, sizeof s), op->sample(i, &s); i++) {
        asc_call c = {.op = op, .attrs = &s.attrs, .n_in = s.n_in};
        memcpy(c.in_dtype, s.in_dtype, sizeof c.in_dtype);
        memcpy(c.in_shape, s.in_shape, sizeof c.in_shape);
        assert_ok(ctx, op->infer(ctx, &c));
        double *mem[2][ASC_MAX_IN + 1];
        asc_ref_args a[2];
        for (int odd = 0; odd < 2; odd++) {
            a[odd] = (asc_ref_args){.attrs = &s.attrs, .n_in = s.n_in, .n_threads = 1 + 2 * odd};
            for (int k = 0; k < s.n_in; k++) {
                a[odd].in[k] = make(&s.in_shape[k], odd != 0, &mem[odd][k]);
                for (int64_t e = 0; e < elems(&s.in_shape[k]); e++)
                    *element(&a[odd].in[k], e) = odd                              ? *element(&a[0].in[k], e)
                                                 : s.in_dtype[k] == ASC_DTYPE_I32 ? (double)(e % 7)
                                                                                  : draw(s.lo[k], s.hi[k]);
            }
            a[odd].out = make(&c.shape, odd != 0, &mem[odd][s.n_in]);
            op->ref(&a[odd]);
        }
        for (int64_t e = 0; e < elems(&c.shape); e++) {
            const double x = *element(&a[0].out, e), y = *element(&a[1].out, e);
            if (x != y) fail_msg("%s sample %d element %d: %.17g, strided %.17g", op->name, i, (int)e, x, y);
        }
        for (int odd = 0; odd < 2; odd++)
            for (int k = 0; k <= s.n_in; k++) test_free(mem[odd][k]);
    }
}

static void test_strides(void **state) {
    (void)state;
    static const asc_op *const ops[] = {
        &asc_op_matmul,   &asc_op_softmax,       &asc_op_softmax_grad, &asc_op_log_softmax,
        &asc_op_rms_norm, &asc_op_rms_norm_grad, &asc_op_layer_norm,   &asc_op_layer_norm_grad,
        &asc_op_rope,     &asc_op_sdpa,          &asc_op_sdpa_grad,
    };
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) check_strides(ctx, ops[i]);
    test_ctx_end(ctx);
}

/* Sizes on both sides of every block edge, both flags, one and three threads. */
static void test_matmul_blocks(void **state) {
    (void)state;
    static const int sizes[][3] = {{130, 70, 300}, {128, 64, 128}, {129, 65, 129},
                                   {1, 200, 257},  {3, 1, 5},      {4, 9, 0}};
    for (size_t i = 0; i < 4 * sizeof sizes / sizeof sizes[0]; i++) {
        const int64_t m = sizes[i / 4][0], n = sizes[i / 4][1], k = sizes[i / 4][2];
        const bool ta = i % 2 != 0, tb = i / 2 % 2 != 0;
        const asc_attrs attrs = {.i = {ta, tb}};
        asc_shape shapes[3] = {ta ? ASC_SHAPE(k, m) : ASC_SHAPE(m, k), tb ? ASC_SHAPE(n, k) : ASC_SHAPE(k, n),
                               ASC_SHAPE(m, n)};
        double *mem[3];
        asc_ref_args a = {.attrs = &attrs, .n_in = 2, .n_threads = 1 + 2 * (int)(i % 2)};
        for (int j = 0; j < 2; j++) {
            a.in[j] = make(&shapes[j], false, &mem[j]);
            for (int64_t e = 0; e < elems(&shapes[j]); e++) mem[j][e] = draw(-1, 1);
        }
        a.out = make(&shapes[2], false, &mem[2]);
        mem[2][0] = 99; /* the result is overwritten, not added to */
        asc_op_matmul.ref(&a);
        for (int64_t e = 0; e < m * n; e++) {
            double sum = 0;
            for (int64_t j = 0; j < k; j++)
                sum +=
                    mem[0][ta ? j * m + e / n : e / n * k + j] * mem[1][tb ? e % n * k + j : j * n + e % n];
            if (mem[2][e] != sum)
                fail_msg("case %d element %d: %.17g, want %.17g", (int)i, (int)e, mem[2][e], sum);
        }
        for (int j = 0; j < 3; j++) test_free(mem[j]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_strides), cmocka_unit_test(test_matmul_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
