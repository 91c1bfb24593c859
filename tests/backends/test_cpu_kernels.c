/* test_cpu_kernels.c - every fast kernel but matrix products against the reference: the ops' own samples, odd
 * sizes, nasty values, threads, in place (kernel_check.h). Attention has a file of its own. */
#include "harness.h"

#include "kernel_scope.h"
#include "kernel_tolerance.h"

static const int64_t odd[] = {1, 3, 15, 16, 17, 63, 65, 1000};
enum { N_ODD = sizeof odd / sizeof odd[0] };

/* Values at which kernels break: ends of ranges, changes of formula, special numbers. */
static const float nasty[] = {0.0f,        -0.0f,        1.0f,        -1.0f,        INFINITY,     -INFINITY,
                              NAN,         1e-45f,       -1e-45f,     1e-40f,       -1e-40f,      FLT_MIN,
                              -FLT_MIN,    FLT_MAX,      -FLT_MAX,    88.7228394f,  88.7228317f,  89.5f,
                              128.0f,      -87.3365448f, -88.0f,      -103.0f,      -103.278931f, -103.97f,
                              -104.5f,     -150.0f,      0.65f,       -0.65f,       0.649999976f, 0.70710678f,
                              0.70710670f, 1.41421354f,  1.41421366f, 0.999999940f, 1.00000012f,  3.75f,
                              9.0f,        -9.1f,        10.3f,       -13.0f,       -14.2f,       -14.5f,
                              -20.0f,      1e10f,        -1e10f,      3e38f,        -3e38f,       16777216.0f,
                              0.5f,        -0.5f,        5e-8f};
enum { N_NASTY = sizeof nasty / sizeof nasty[0] };

static int check(asc_ctx *ctx, const asc_op *op, const asc_sample *s) {
    kcheck k;
    if (!kc_begin(&k, ctx, op, s)) return 0;
    kc_reference(&k);
    kt_set(&k);
    kc_compare_all(&k);
    kc_end(&k);
    return k.kernels;
}

static void test_samples(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (int o = 0; o < ASC_N_OPS; o++) {
        const asc_op *op = asc_ops[o];
        if (!mine(op)) continue;
        if (has_kernel(op) == by_reference(op)) fail_msg("%s: a kernel, or a place in the list", op->name);
        if (by_reference(op)) continue;
        int compared = 0;
        asc_sample s;
        for (int i = 0; memset(&s, 0, sizeof s), op->sample(i, &s); i++) compared += check(ctx, op, &s);
        if (compared == 0) fail_msg("%s: no kernel took a sample", op->name);
    }
    test_ctx_end(ctx);
}

static asc_sample sample_of(int n_in, asc_shape a, asc_shape b, asc_shape c, double lo, double hi) {
    asc_sample s = {.n_in = n_in, .in_shape = {a, b, c}};
    for (int i = 0; i < 3; i++) {
        s.in_dtype[i] = ASC_DTYPE_F32;
        s.lo[i] = lo;
        s.hi[i] = hi;
    }
    return s;
}

static const int unary[] = {
    ASC_OPCODE_NEG,          ASC_OPCODE_RECIP,     ASC_OPCODE_ABS,        ASC_OPCODE_SIGN,
    ASC_OPCODE_SQUARE,       ASC_OPCODE_SQRT,      ASC_OPCODE_RSQRT,      ASC_OPCODE_EXP,
    ASC_OPCODE_LOG,          ASC_OPCODE_SIN,       ASC_OPCODE_COS,        ASC_OPCODE_TANH,
    ASC_OPCODE_SIGMOID,      ASC_OPCODE_ERF,       ASC_OPCODE_RELU,       ASC_OPCODE_SILU,
    ASC_OPCODE_GELU,         ASC_OPCODE_GELU_TANH, ASC_OPCODE_SCALE,      ASC_OPCODE_SHIFT,
    ASC_OPCODE_SOFTPLUS,     ASC_OPCODE_MISH,      ASC_OPCODE_SOFTSIGN,   ASC_OPCODE_HARD_SWISH,
    ASC_OPCODE_ELU,          ASC_OPCODE_CELU,      ASC_OPCODE_LEAKY_RELU, ASC_OPCODE_SELU,
    ASC_OPCODE_HARD_SIGMOID, ASC_OPCODE_CLIP};
enum { N_UNARY = sizeof unary / sizeof unary[0] };

static void test_unary(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    const asc_shape none = ASC_SCALAR_SHAPE;
    for (int u = 0; u < N_UNARY; u++) {
        for (int n = 0; n <= N_ODD; n++) { /* the last one is split over threads */
            asc_sample s = sample_of(1, ASC_SHAPE(n < N_ODD ? odd[n] : 70001), none, none, -12, 12);
            s.attrs.f[0] = 0.3;
            s.attrs.f[1] = 1.25;
            check(ctx, asc_ops[unary[u]], &s);
        }
        kcheck k;
        asc_sample s = sample_of(1, ASC_SHAPE(N_NASTY), none, none, 0, 1);
        s.attrs.f[0] = -1.7;
        s.attrs.f[1] = 1.25;
        assert_true(kc_begin(&k, ctx, asc_ops[unary[u]], &s));
        memcpy(k.in[0], nasty, sizeof nasty);
        kc_reference(&k);
        kt_set(&k);
        if (k.call.op->opcode == ASC_OPCODE_SIN || k.call.op->opcode == ASC_OPCODE_COS)
            for (int64_t e = 0; e < k.n_out; e++) k.tol[e] = fmax(k.tol[e], KT_U);
        kc_compare_all(&k);
        kc_end(&k);
    }
    test_ctx_end(ctx);
}

/* A walk over all f32 numbers with a stride that is prime to every power of two: dense in each binade, both
 * signs. */
static void test_unary_dense(void **state) {
    (void)state;
    enum { N = 1 << 17 };
    asc_ctx *ctx = test_ctx("cpu", "eager");
    const asc_shape none = ASC_SCALAR_SHAPE;
    for (int u = 0; u < N_UNARY; u++) {
        const int op = unary[u];
        if (op == ASC_OPCODE_SIN || op == ASC_OPCODE_COS) continue; /* the C library's */
        kcheck k;
        asc_sample s = sample_of(1, ASC_SHAPE(N), none, none, 0, 1);
        s.attrs.f[0] = 0.3;
        assert_true(kc_begin(&k, ctx, asc_ops[op], &s));
        for (int64_t i = 0; i < N; i++) {
            uint32_t bits = (uint32_t)i * 32771u + 17u;
            memcpy(&k.in[0][i], &bits, sizeof bits);
            /* a quarter of the points where the functions bend */
            if (i % 4 == 0) k.in[0][i] = (float)kc_uniform(-16, 16);
        }
        kc_reference(&k);
        kt_set(&k);
        kc_compare_all(&k);
        kc_end(&k);
    }
    test_ctx_end(ctx);
}

static const int binary[] = {ASC_OPCODE_PRELU, ASC_OPCODE_ADD,       ASC_OPCODE_SUB,     ASC_OPCODE_MUL,
                             ASC_OPCODE_DIV,   ASC_OPCODE_MAXIMUM,   ASC_OPCODE_MINIMUM, ASC_OPCODE_EQUAL,
                             ASC_OPCODE_LESS,  ASC_OPCODE_LESS_EQUAL};
enum { N_BINARY = sizeof binary / sizeof binary[0] };

static void both_ways(asc_ctx *ctx, const asc_op *op, asc_shape a, asc_shape b) {
    asc_sample s = sample_of(2, a, b, a, -2, 2);
    check(ctx, op, &s);
    s = sample_of(2, b, a, a, -2, 2);
    check(ctx, op, &s);
}

static void test_binary(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (int u = 0; u < N_BINARY; u++) {
        const asc_op *op = asc_ops[binary[u]];
        for (int i = 0; i < N_ODD; i++) {
            const int64_t n = odd[i];
            both_ways(ctx, op, ASC_SHAPE(n), ASC_SHAPE(n));
            both_ways(ctx, op, ASC_SHAPE(n), ASC_SCALAR_SHAPE);
            both_ways(ctx, op, ASC_SHAPE(3, n), ASC_SHAPE(n));
            both_ways(ctx, op, ASC_SHAPE(3, n), ASC_SHAPE(3, 1));
            both_ways(ctx, op, ASC_SHAPE(n, 3), ASC_SHAPE(n, 1));
            both_ways(ctx, op, ASC_SHAPE(2, 1, n), ASC_SHAPE(5, 1));
            both_ways(ctx, op, ASC_SHAPE(2, 3, 1, n), ASC_SHAPE(2, 1, 4, n));
        }
        both_ways(ctx, op, ASC_SHAPE(70, 1000), ASC_SHAPE(1000));
        both_ways(ctx, op, ASC_SHAPE(2, 40001), ASC_SHAPE(2, 1));
        both_ways(ctx, op, ASC_SHAPE(80003), ASC_SCALAR_SHAPE);
        kcheck k;
        asc_sample s = sample_of(2, ASC_SHAPE(N_NASTY, 1), ASC_SHAPE(N_NASTY), ASC_SCALAR_SHAPE, 0, 1);
        assert_true(kc_begin(&k, ctx, op, &s));
        memcpy(k.in[0], nasty, sizeof nasty);
        memcpy(k.in[1], nasty, sizeof nasty);
        kc_reference(&k);
        kt_set(&k);
        kc_compare_all(&k);
        kc_end(&k);
    }
    test_ctx_end(ctx);
}

static void test_where_and_gates(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    const asc_op *where = asc_ops[ASC_OPCODE_WHERE];
    for (int i = 0; i <= N_ODD; i++) {
        const int64_t n = i < N_ODD ? odd[i] : 50021;
        const asc_shape one = ASC_SCALAR_SHAPE, row = ASC_SHAPE(n), rows = ASC_SHAPE(3, n),
                        col = ASC_SHAPE(3, 1);
        const asc_shape sets[][3] = {
            {rows, rows, rows}, {row, rows, one}, {rows, one, row}, {col, row, one}, {one, col, rows}};
        for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++) {
            asc_sample s = sample_of(3, sets[k][0], sets[k][1], sets[k][2], -1, 1);
            s.lo[0] = 0; /* in half of the places */
            kcheck c;
            assert_true(kc_begin(&c, ctx, where, &s));
            for (int64_t e = 0; e < c.n_in[0]; e++)
                if (c.in[0][e] < 0.5f) c.in[0][e] = e % 2 != 0 ? 0.0f : -0.0f;
            c.in[0][0] = NAN;
            kc_reference(&c);
            kt_set(&c);
            kc_compare_all(&c);
            kc_end(&c);
        }
        asc_sample s = sample_of(2, rows, rows, rows, -12, 12);
        check(ctx, asc_ops[ASC_OPCODE_SWIGLU], &s);
        s.n_in = 3;
        check(ctx, asc_ops[ASC_OPCODE_SWIGLU_GRAD], &s);
    }
    for (int grad = 0; grad < 2; grad++) {
        kcheck c;
        asc_sample s = sample_of(2 + grad, ASC_SHAPE(N_NASTY), ASC_SHAPE(N_NASTY), ASC_SHAPE(N_NASTY), -2, 2);
        assert_true(kc_begin(&c, ctx, asc_ops[grad != 0 ? ASC_OPCODE_SWIGLU_GRAD : ASC_OPCODE_SWIGLU], &s));
        memcpy(c.in[0], nasty, sizeof nasty);
        kc_reference(&c);
        kt_set(&c);
        kc_compare_all(&c);
        kc_end(&c);
    }
    test_ctx_end(ctx);
}

static const int rows_ops[] = {ASC_OPCODE_SOFTMAX,        ASC_OPCODE_SOFTMAX_GRAD,  ASC_OPCODE_LOG_SOFTMAX,
                               ASC_OPCODE_RMS_NORM,       ASC_OPCODE_RMS_NORM_GRAD, ASC_OPCODE_LAYER_NORM,
                               ASC_OPCODE_LAYER_NORM_GRAD};
enum { N_ROWS_OPS = sizeof rows_ops / sizeof rows_ops[0] };

static asc_sample row_sample(int opcode, int64_t rows, int64_t d, double size) {
    const asc_shape x = ASC_SHAPE(rows, d), w = ASC_SHAPE(d);
    const bool soft =
        opcode == ASC_OPCODE_SOFTMAX || opcode == ASC_OPCODE_SOFTMAX_GRAD || opcode == ASC_OPCODE_LOG_SOFTMAX;
    const asc_op *op = asc_ops[opcode];
    asc_sample s =
        sample_of(op->min_in, x, soft ? x : w, opcode == ASC_OPCODE_LAYER_NORM ? w : x, -size, size);
    s.lo[1] = 0.5;
    s.hi[1] = 1.5;
    if (opcode == ASC_OPCODE_SOFTMAX_GRAD) s.lo[0] = 0, s.hi[0] = 1 / (double)d, s.lo[1] = -2, s.hi[1] = 2;
    if (!soft) s.attrs.f[0] = 1e-5;
    return s;
}

static void test_rows(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (int u = 0; u < N_ROWS_OPS; u++) {
        const asc_op *op = asc_ops[rows_ops[u]];
        asc_sample s;
        for (int i = 0; i < N_ODD; i++) {
            for (int size = 0; size < 3; size++) {
                s = row_sample(op->opcode, 3, odd[i], (const double[]){2, 1e-3, 40}[size]);
                check(ctx, op, &s);
            }
        }
        s = row_sample(op->opcode, 70, 576, 3);
        check(ctx, op, &s);
        s = row_sample(op->opcode, 2, 49152, 12);
        check(ctx, op, &s);
    }
    test_ctx_end(ctx);
}

/* Rows with zeros, denormals, infinities, NaN: the reference's class of value, or its value. */
static void test_rows_nasty(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    const float values[] = {0.0f, -0.0f, 1e-42f, INFINITY, -INFINITY, NAN, 1e18f, -1e18f, -1e30f};
    enum { N_VALUES = sizeof values / sizeof values[0], D = 37 };
    for (int u = 0; u < N_ROWS_OPS; u++) {
        const asc_op *op = asc_ops[rows_ops[u]];
        kcheck k;
        asc_sample s = row_sample(op->opcode, 2 * N_VALUES, D, 1);
        assert_true(kc_begin(&k, ctx, op, &s));
        for (int v = 0; v < N_VALUES; v++) {
            for (int i = 0; i < D; i++) k.in[0][v * D + i] = values[v]; /* all, or one in the tail */
            k.in[0][(N_VALUES + v) * D + D - 2] = values[v];
        }
        kc_reference(&k);
        kt_set(&k);
        kc_compare_all(&k);
        kc_end(&k);
    }
    test_ctx_end(ctx);
}

static void test_reductions(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    const asc_shape none = ASC_SCALAR_SHAPE;
    for (int op = 0; op < 2; op++) {
        for (int i = 0; i < N_ODD; i++) {
            for (int64_t set = 0; set < 16;
                 set++) { /* every subset of the axes of [3,n,1,5] and its mirror */
                for (int mirror = 0; mirror < 2; mirror++) {
                    asc_shape x = mirror != 0 ? ASC_SHAPE(5, 1, 3, odd[i]) : ASC_SHAPE(3, odd[i], 1, 5);
                    asc_sample s = sample_of(1, x, none, none, -2, 2);
                    for (int64_t k = 0; k < 4; k++)
                        if ((set >> k & 1) != 0) s.attrs.i[1 + s.attrs.i[0]++] = k;
                    check(ctx, asc_ops[op == 0 ? ASC_OPCODE_SUM : ASC_OPCODE_MEAN], &s);
                }
            }
        }
        for (int64_t axis = 0; axis < 3; axis++) {
            asc_sample s = sample_of(1, ASC_SHAPE(31, 33, 100), none, none, -2, 2);
            s.attrs.i[0] = 1;
            s.attrs.i[1] = axis;
            check(ctx, asc_ops[op == 0 ? ASC_OPCODE_SUM : ASC_OPCODE_MEAN], &s);
        }
    }
    static const int places[] = {ASC_OPCODE_MAX, ASC_OPCODE_ARG_MAX, ASC_OPCODE_MIN, ASC_OPCODE_ARG_MIN};
    for (int op = 0; op < 4; op++) {
        for (int i = 0; i <= N_ODD; i++) {
            for (int64_t axis = 0; axis < 3; axis++) {
                for (int kind = 0; kind < 4;
                     kind++) { /* plain, equal values, a NaN, infinities of both signs */
                    const int64_t n = i < N_ODD ? odd[i] : 6000;
                    asc_shape x = axis == 0   ? ASC_SHAPE(n, 2, 3)
                                  : axis == 1 ? ASC_SHAPE(2, n, 3)
                                              : ASC_SHAPE(2, 3, n);
                    asc_sample s = sample_of(1, x, none, none, -2, 2);
                    s.attrs.i[0] = axis;
                    s.attrs.i[1] = (i + kind) % 2; /* keep, or last */
                    kcheck k;
                    assert_true(kc_begin(&k, ctx, asc_ops[places[op]], &s));
                    for (int64_t e = 0; e < k.n_in[0] && kind == 1; e++) k.in[0][e] = (float)(e / 7 % 3);
                    if (kind == 2) k.in[0][k.n_in[0] * 2 / 3] = NAN;
                    if (kind == 3) k.in[0][k.n_in[0] / 2] = INFINITY, k.in[0][k.n_in[0] / 3] = -INFINITY;
                    kc_reference(&k);
                    kt_set(&k);
                    kc_compare_all(&k);
                    kc_end(&k);
                }
            }
        }
    }
    test_ctx_end(ctx);
}

static void test_moves(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    const asc_shape none = ASC_SCALAR_SHAPE;
    for (int64_t p = 0; p < 256; p++) { /* all orders of four axes */
        const int64_t perm[4] = {p & 3, p >> 2 & 3, p >> 4 & 3, p >> 6 & 3};
        if ((1 << perm[0] | 1 << perm[1] | 1 << perm[2] | 1 << perm[3]) != 15) continue;
        const asc_shape shapes[] = {ASC_SHAPE(2, 17, 3, 65), ASC_SHAPE(1, 16, 33, 1),
                                    ASC_SHAPE(5, 20, 30, 17)};
        for (int i = 0; i < 3; i++) {
            asc_sample s = sample_of(1, shapes[i], none, none, -2, 2);
            s.attrs = (asc_attrs){.i = {4, perm[0], perm[1], perm[2], perm[3]}};
            check(ctx, asc_ops[ASC_OPCODE_TRANSPOSE], &s);
            s.in_dtype[0] = ASC_DTYPE_I32;
            s.hi[0] = 1 << 24; /* exact in the comparison */
            check(ctx, asc_ops[ASC_OPCODE_TRANSPOSE], &s);
        }
    }
    for (int64_t axis = 0; axis < 3; axis++) {
        asc_sample s = sample_of(1, ASC_SHAPE(17, 45, 63), none, none, -2, 2);
        s.attrs = (asc_attrs){.i = {axis, 3, 11}};
        check(ctx, asc_ops[ASC_OPCODE_SLICE], &s);
        check(ctx, asc_ops[ASC_OPCODE_PAD], &s);
        s = sample_of(3, ASC_SHAPE(17, 45, 63), ASC_SHAPE(17, 45, 63), ASC_SHAPE(17, 45, 63), -2, 2);
        s.in_shape[1].dims[axis] = 1;
        s.in_shape[2].dims[axis] = 0;
        s.attrs.i[0] = axis;
        check(ctx, asc_ops[ASC_OPCODE_CONCAT], &s);
    }
    for (int64_t set = 0; set < 8; set++) { /* any axes stretched */
        const asc_shape to = ASC_SHAPE(9, 2, 70, 65);
        asc_sample s = sample_of(1, ASC_SHAPE(2, 70, 65), none, none, -2, 2);
        for (int k = 0; k < 3; k++)
            if ((set >> k & 1) != 0) s.in_shape[0].dims[k] = 1;
        s.attrs = (asc_attrs){.i = {4, to.dims[0], to.dims[1], to.dims[2], to.dims[3]}};
        check(ctx, asc_ops[ASC_OPCODE_BROADCAST], &s);
    }
    test_ctx_end(ctx);
}

static void test_rope(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    const int64_t widths[][2] = {{64, 32}, {64, 16}, {7, 3}, {2, 1}, {34, 17}, {5, 0}, {128, 64}};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        for (int flags = 0; flags < 4; flags++) {
            const int64_t t = i == 0 ? 40 : 5;
            asc_sample s =
                sample_of(3, ASC_SHAPE(2, t, 9, widths[i][0]), ASC_SHAPE(t), ASC_SHAPE(widths[i][1]), -2, 2);
            s.in_dtype[1] = ASC_DTYPE_I32;
            s.lo[1] = 0;
            s.hi[1] = 131072; /* an f32 angle would be off by 0.004 here */
            s.lo[2] = 1e-5;
            s.hi[2] = 1;
            s.attrs = (asc_attrs){.i = {flags & 1, flags >> 1}, .f = {1.25}};
            check(ctx, asc_ops[ASC_OPCODE_ROPE], &s);
        }
    }
    test_ctx_end(ctx);
}

/* [5,n,3], [n,3] and [5,n] along n, by 7 indices. */
static void test_along(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    for (int i = 0; i <= N_ODD; i++) {
        const int64_t n = i < N_ODD ? odd[i] : 30011;
        const asc_shape from[] = {ASC_SHAPE(5, n, 3), ASC_SHAPE(n, 300), ASC_SHAPE(5, n)};
        for (int k = 0; k < 3; k++) {
            const int64_t axis = k == 1 ? 0 : 1;
            asc_sample s = sample_of(2, from[k], from[k], from[k], -2, 2);
            s.in_dtype[1] = ASC_DTYPE_I32; /* indices outside count for the nearest */
            s.in_shape[1].dims[axis] = 7;
            s.lo[1] = -3;
            s.hi[1] = (double)n + 3;
            s.attrs.i[0] = axis;
            check(ctx, asc_ops[ASC_OPCODE_TAKE_ALONG], &s);
            s.in_shape[0] = s.in_shape[1];
            s.attrs = (asc_attrs){.i = {from[k].rank, from[k].dims[0], from[k].dims[1], from[k].dims[2]}};
            s.attrs.i[ASC_MAX_RANK + 1] = axis;
            check(ctx, asc_ops[ASC_OPCODE_PUT_ALONG], &s);
            s = sample_of(1, from[k], from[k], from[k], -2, 2);
            s.attrs = (asc_attrs){.i = {axis, i % 2, i / 2 % 2}};
            check(ctx, asc_ops[ASC_OPCODE_CUMSUM], &s);
        }
    }
    test_ctx_end(ctx);
}

static void test_indexing(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    const asc_shape none = ASC_SCALAR_SHAPE;
    for (int i = 0; i < N_ODD; i++) {
        const int64_t n = odd[i];
        asc_sample s = sample_of(2, ASC_SHAPE(5, 3, n), ASC_SHAPE(5, 3), none, -2, 2);
        s.in_dtype[1] = ASC_DTYPE_I32; /* indices outside count for the nearest */
        s.lo[1] = -3;
        s.hi[1] = (double)n + 3;
        check(ctx, asc_ops[ASC_OPCODE_TAKE_LAST], &s);
        s.in_shape[0] = s.in_shape[1];
        s.attrs.i[0] = n;
        check(ctx, asc_ops[ASC_OPCODE_PUT_LAST], &s);
        s.in_shape[0] = ASC_SHAPE(5, 3, 2, n);
        s.attrs.i[0] = 4;
        s.hi[1] = 7;
        check(ctx, asc_ops[ASC_OPCODE_SCATTER_ADD], &s);
    }
    asc_sample s = sample_of(2, ASC_SHAPE(80, 576), ASC_SHAPE(80), none, -2, 2);
    s.in_dtype[1] = ASC_DTYPE_I32;
    s.lo[1] = 0;
    s.hi[1] = 50;
    s.attrs.i[0] = 50;
    check(ctx, asc_ops[ASC_OPCODE_SCATTER_ADD], &s);
    kcheck k; /* f32 to i32 */
    s = sample_of(1, ASC_SHAPE(N_NASTY), none, none, 0, 1);
    s.attrs.i[0] = ASC_DTYPE_I32;
    assert_true(kc_begin(&k, ctx, asc_ops[ASC_OPCODE_CAST], &s));
    memcpy(k.in[0], nasty, sizeof nasty);
    kc_reference(&k);
    for (int64_t e = 0; e < k.n_out; e++)
        k.tol[e] = 0.5 * kc_ulp(k.want[e]); /* the comparison itself is in f32 */
    kc_compare_all(&k);
    kc_end(&k);
    test_ctx_end(ctx);
}

/* The comparison must be able to fail: one element moved by twice what is allowed. */
static void test_comparison_fails(void **state) {
    (void)state;
    assert_true(kc_same(1.0f, 1.0, 0, true));
    assert_false(kc_same(1.00000012f, 1.0, 0.5 * kc_ulp(1), true));
    assert_true(kc_same(1.00000012f, 1.0, kc_ulp(1), true));
    assert_false(kc_same(NAN, 1.0, 1e9, true));
    assert_false(kc_same(1.0f, NAN, 1e9, true));
    assert_false(kc_same(FLT_MAX, INFINITY, 1e9, true));
    assert_false(kc_same(-INFINITY, INFINITY, 1e9, true));
    assert_false(kc_same(-0.0f, 0.0, 1, true));
    assert_false(kc_same(INFINITY, 1e38, 0, true));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparison_fails),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_unary_dense),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_where_and_gates),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_rows_nasty),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_rope),
        cmocka_unit_test(test_along),
        cmocka_unit_test(test_indexing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
