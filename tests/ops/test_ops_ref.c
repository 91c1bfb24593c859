/* test_ops_ref.c - reference kernels against values written down from the definitions (50-digit arithmetic
 * for the transcendental ones), with zeros, infinities and NaN. The matrix, row and attention ops have their
 * values in test_attention.c. */
#include "sampling.h"

#define INF HUGE_VAL
static const double NONE = (double)NAN;

/* Within `ulps` units in the last place. Zeros must agree in sign when `signs`. */
static bool near(double got, double want, double ulps, bool signs) {
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return got == want;
    if (want == 0) return got == 0 && (!signs || (signbit(got) != 0) == (signbit(want) != 0));
    return fabs(got - want) <= ulps * 2.220446049250313e-16 * fabs(want);
}

/* Four units are what the C library's functions keep. */
static bool same(double got, double want) { return near(got, want, 4, false); }

typedef struct unary_row {
    const asc_op *op;
    double a, want;
} unary_row;

static const unary_row UNARY[] = {
    {&asc_op_neg, 2, -2},
    {&asc_op_neg, 0, -0.0},
    {&asc_op_neg, -HUGE_VAL, HUGE_VAL},
    {&asc_op_neg, NAN, NAN},
    {&asc_op_recip, 4, 0.25},
    {&asc_op_recip, 0, HUGE_VAL},
    {&asc_op_recip, -0.0, -HUGE_VAL},
    {&asc_op_recip, HUGE_VAL, 0},
    {&asc_op_recip, NAN, NAN},
    {&asc_op_abs, -3, 3},
    {&asc_op_abs, -0.0, 0},
    {&asc_op_abs, -HUGE_VAL, HUGE_VAL},
    {&asc_op_abs, NAN, NAN},
    {&asc_op_sign, -3, -1},
    {&asc_op_sign, 0, 0},
    {&asc_op_sign, 5e-324, 1},
    {&asc_op_sign, -HUGE_VAL, -1},
    {&asc_op_sign, NAN, NAN},
    {&asc_op_square, -3, 9},
    {&asc_op_square, 1e200, HUGE_VAL},
    {&asc_op_square, -HUGE_VAL, HUGE_VAL},
    {&asc_op_square, NAN, NAN},
    {&asc_op_sqrt, 2, 1.4142135623730951},
    {&asc_op_sqrt, 0, 0},
    {&asc_op_sqrt, -1, NAN},
    {&asc_op_sqrt, HUGE_VAL, HUGE_VAL},
    {&asc_op_sqrt, NAN, NAN},
    {&asc_op_rsqrt, 4, 0.5},
    {&asc_op_rsqrt, 0, HUGE_VAL},
    {&asc_op_rsqrt, -1, NAN},
    {&asc_op_rsqrt, HUGE_VAL, 0},
    {&asc_op_rsqrt, NAN, NAN},
    {&asc_op_exp, 0.5, 1.6487212707001281},
    {&asc_op_exp, 0, 1},
    {&asc_op_exp, -HUGE_VAL, 0},
    {&asc_op_exp, 710, HUGE_VAL},
    {&asc_op_exp, 700, 1.01423205473500449e304},
    {&asc_op_exp, NAN, NAN},
    {&asc_op_log, 10, 2.3025850929940457},
    {&asc_op_log, 1, 0},
    {&asc_op_log, 0, -HUGE_VAL},
    {&asc_op_log, -1, NAN},
    {&asc_op_log, HUGE_VAL, HUGE_VAL},
    {&asc_op_log, NAN, NAN},
    {&asc_op_sin, 0, 0},
    {&asc_op_sin, 0.52359877559829887, 0.5},
    {&asc_op_sin, HUGE_VAL, NAN},
    {&asc_op_sin, NAN, NAN},
    {&asc_op_cos, 0, 1},
    {&asc_op_cos, 3.1415926535897931, -1},
    {&asc_op_cos, -HUGE_VAL, NAN},
    {&asc_op_cos, NAN, NAN},
    {&asc_op_tanh, 0.5, 0.46211715726000976},
    {&asc_op_tanh, HUGE_VAL, 1},
    {&asc_op_tanh, -HUGE_VAL, -1},
    {&asc_op_tanh, 1000, 1},
    {&asc_op_tanh, NAN, NAN},
    {&asc_op_sigmoid, 0, 0.5},
    {&asc_op_sigmoid, -2, 0.11920292202211756},
    {&asc_op_sigmoid, -700, 9.85967654375977086e-305},
    {&asc_op_sigmoid, -HUGE_VAL, 0},
    {&asc_op_sigmoid, HUGE_VAL, 1},
    {&asc_op_sigmoid, 800, 1},
    {&asc_op_sigmoid, NAN, NAN},
    {&asc_op_erf, 0.5, 0.52049987781304654},
    {&asc_op_erf, 1, 0.84270079294971487},
    {&asc_op_erf, -HUGE_VAL, -1},
    {&asc_op_erf, NAN, NAN},
    {&asc_op_relu, 3, 3},
    {&asc_op_relu, -3, 0},
    {&asc_op_relu, 0, 0},
    {&asc_op_relu, -HUGE_VAL, 0},
    {&asc_op_relu, HUGE_VAL, HUGE_VAL},
    {&asc_op_relu, NAN, NAN},
    {&asc_op_silu, 1, 0.73105857863000488},
    {&asc_op_silu, 0, 0},
    {&asc_op_silu, -20, -4.12230723638040716e-8},
    {&asc_op_silu, -HUGE_VAL, 0},
    {&asc_op_silu, -1e300, 0},
    {&asc_op_silu, HUGE_VAL, HUGE_VAL},
    {&asc_op_silu, NAN, NAN},
    {&asc_op_gelu, 1, 0.84134474606854295},
    {&asc_op_gelu, -2, -0.0455002638963584144},
    {&asc_op_gelu, -8, -4.97676845941742730e-15},
    {&asc_op_gelu, 0, 0},
    {&asc_op_gelu, -HUGE_VAL, 0},
    {&asc_op_gelu, HUGE_VAL, HUGE_VAL},
    {&asc_op_gelu, NAN, NAN},
    {&asc_op_gelu_tanh, 1, 0.84119199060827670},
    {&asc_op_gelu_tanh, -2, -0.0454023059122249811},
    {&asc_op_gelu_tanh, -5, -2.29179619662950604e-7},
    {&asc_op_gelu_tanh, 0, 0},
    {&asc_op_gelu_tanh, -HUGE_VAL, 0},
    {&asc_op_gelu_tanh, HUGE_VAL, HUGE_VAL},
    {&asc_op_gelu_tanh, NAN, NAN},
    {&asc_op_gelu_slope, 1, 1.08331547058768724},
    {&asc_op_gelu_slope, -5, -7.14694600179229463e-06},
    {&asc_op_gelu_slope, 0, 0.5},
    {&asc_op_gelu_slope, -HUGE_VAL, 0},
    {&asc_op_gelu_slope, HUGE_VAL, 1},
    {&asc_op_gelu_slope, NAN, NAN},
    {&asc_op_gelu_tanh_slope, 1, 1.0829640838457826},
    {&asc_op_gelu_tanh_slope, -2, -0.0860992566236183816},
    {&asc_op_gelu_tanh_slope, -5, -1.54636198753259460e-06},
    {&asc_op_gelu_tanh_slope, 0, 0.5},
    {&asc_op_gelu_tanh_slope, -HUGE_VAL, 0},
    {&asc_op_gelu_tanh_slope, HUGE_VAL, 1},
    {&asc_op_gelu_tanh_slope, NAN, NAN},
};

typedef struct binary_row {
    const asc_op *op;
    double a, b, want;
} binary_row;

static const binary_row BINARY[] = {
    {&asc_op_add, 2, 3, 5},
    {&asc_op_add, HUGE_VAL, -HUGE_VAL, NAN},
    {&asc_op_add, NAN, 1, NAN},
    {&asc_op_sub, 2, 3, -1},
    {&asc_op_sub, HUGE_VAL, HUGE_VAL, NAN},
    {&asc_op_sub, 1, NAN, NAN},
    {&asc_op_mul, -2, 3, -6},
    {&asc_op_mul, 0, HUGE_VAL, NAN},
    {&asc_op_mul, 0, NAN, NAN},
    {&asc_op_div, 1, 4, 0.25},
    {&asc_op_div, 1, 0, HUGE_VAL},
    {&asc_op_div, 1, -0.0, -HUGE_VAL},
    {&asc_op_div, 0, 0, NAN},
    {&asc_op_div, HUGE_VAL, HUGE_VAL, NAN},
    {&asc_op_div, 1, HUGE_VAL, 0},
    {&asc_op_maximum, 2, 3, 3},
    {&asc_op_maximum, 3, 2, 3},
    {&asc_op_maximum, NAN, 2, NAN},
    {&asc_op_maximum, 2, NAN, NAN},
    {&asc_op_maximum, -HUGE_VAL, HUGE_VAL, HUGE_VAL},
    {&asc_op_minimum, 2, 3, 2},
    {&asc_op_minimum, 3, 2, 2},
    {&asc_op_minimum, NAN, 2, NAN},
    {&asc_op_minimum, 2, NAN, NAN},
    {&asc_op_minimum, -HUGE_VAL, HUGE_VAL, -HUGE_VAL},
    {&asc_op_equal, 2, 2, 1},
    {&asc_op_equal, 2, 3, 0},
    {&asc_op_equal, NAN, NAN, 0},
    {&asc_op_equal, 0, -0.0, 1},
    {&asc_op_less, 2, 3, 1},
    {&asc_op_less, 2, 2, 0},
    {&asc_op_less, NAN, 2, 0},
    {&asc_op_less, 2, NAN, 0},
    {&asc_op_less_equal, 2, 3, 1},
    {&asc_op_less_equal, 2, 2, 1},
    {&asc_op_less_equal, 3, 2, 0},
    {&asc_op_less_equal, NAN, NAN, 0},
    {&asc_op_swiglu, 2, 3, 5.28478246786729466},
    {&asc_op_swiglu, 0, 3, 0},
    {&asc_op_swiglu, -HUGE_VAL, 3, 0},
    {&asc_op_swiglu, 2, NAN, NAN},
    {&asc_op_swiglu, NAN, 2, NAN},
};

static double scalar_value(const asc_op *op, double a, double b, double c) {
    double in[3] = {a, b, c}, out = 7e77;
    asc_attrs attrs = {.i = {0}};
    asc_ref_args args = {.attrs = &attrs, .n_in = op->min_in, .n_threads = 1, .out = {.data = &out}};
    for (int k = 0; k < op->min_in; k++) args.in[k].data = &in[k];
    op->ref(&args);
    return out;
}

static void scalars(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof UNARY / sizeof UNARY[0]; i++) {
        const unary_row *r = &UNARY[i];
        double got = scalar_value(r->op, r->a, 0, 0);
        bool signs = r->op == &asc_op_neg || r->op == &asc_op_abs;
        double ulps = 4 + (r->op == &asc_op_gelu ? r->a * r->a : 0); /* a rounded argument counts a^2 times */
        if (!near(got, r->want, ulps, signs))
            fail_msg("%s(%g) = %.17g, want %.17g", r->op->name, r->a, got, r->want);
    }
    for (size_t i = 0; i < sizeof BINARY / sizeof BINARY[0]; i++) {
        const binary_row *r = &BINARY[i];
        double got = scalar_value(r->op, r->a, r->b, 0);
        if (!same(got, r->want))
            fail_msg("%s(%g, %g) = %.17g, want %.17g", r->op->name, r->a, r->b, got, r->want);
    }
    assert_true(scalar_value(&asc_op_where, 0, 5, 6) == 6 && scalar_value(&asc_op_where, -1, 5, 6) == 5);
    assert_true(scalar_value(&asc_op_where, NONE, 5, 6) == 5); /* NaN is not 0 */
    assert_true(scalar_value(&asc_op_where, 0, NONE, 6) == 6); /* the value not chosen does not matter */
}

/* Applies op to arrays given as {rank, dims..} and data, and compares shape and elements. */
typedef struct array_row {
    const char *what;
    const asc_op *op;
    asc_attrs attrs;
    int n_in;
    asc_shape in[3];
    const double *data[3];
    asc_shape out;
    const double *want;
} array_row;

#define D(...) ((const double[]){__VA_ARGS__})
#define S(...)                                                                                               \
    {                                                                                                        \
        .rank = (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), .dims = { __VA_ARGS__ }                   \
    }
#define A(...)                                                                                               \
    {                                                                                                        \
        .i = { __VA_ARGS__ }                                                                                 \
    }

static void check_arrays(const array_row *rows, size_t n) {
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (size_t i = 0; i < n; i++) {
        const array_row *r = &rows[i];
        asc_call c = {.op = r->op, .attrs = &r->attrs, .n_in = r->n_in};
        double *in[3] = {NULL}, out[64];
        for (int k = 0; k < r->n_in; k++) {
            c.in_shape[k] = r->in[k];
            c.in_dtype[k] = ASC_DTYPE_F32;
            int64_t elems = asc_shape_elems(&r->in[k]);
            in[k] = calloc((size_t)elems + 1, sizeof(double));
            for (int64_t e = 0; e < elems; e++) in[k][e] = r->data[k][e];
        }
        bool indexed = r->op == &asc_op_gather || r->op == &asc_op_scatter_add ||
                       r->op == &asc_op_take_last || r->op == &asc_op_put_last;
        if (indexed) c.in_dtype[1] = ASC_DTYPE_I32;
        assert_ok(ctx, r->op->infer(ctx, &c));
        if (!asc_shape_eq(&c.shape, &r->out)) fail_msg("%s: wrong shape", r->what);
        for (int e = 0; e < 64; e++) out[e] = 7e77;
        test_ref(&c, in, out);
        for (int64_t e = 0; e < asc_shape_elems(&r->out); e++)
            if (!same(out[e], r->want[e]))
                fail_msg("%s: element %lld is %.17g, want %.17g", r->what, (long long)e, out[e], r->want[e]);
        assert_true(out[asc_shape_elems(&r->out)] == 7e77); /* nothing behind the end */
        for (int k = 0; k < r->n_in; k++) free(in[k]);
    }
    test_ctx_end(ctx);
}

static void reductions(void **state) {
    (void)state;
    const array_row rows[] = {
        {"sum of rows", &asc_op_sum, A(1, 1), 1, {S(2, 3)}, {D(1, 2, 3, 4, 5, 6)}, S(2), D(6, 15)},
        {"sum of columns, kept",
         &asc_op_sum,
         A(1, 0, 0, 0, 0, 0, 0, 1),
         1,
         {S(2, 3)},
         {D(1, 2, 3, 4, 5, 6)},
         S(1, 3),
         D(5, 7, 9)},
        {"sum of all", &asc_op_sum, A(2, 0, 1), 1, {S(2, 3)}, {D(1, 2, 3, 4, 5, 6)}, {.rank = 0}, D(21)},
        {"sum over nothing", &asc_op_sum, A(0), 1, {S(2)}, {D(1, 2)}, S(2), D(1, 2)},
        {"sum of an empty axis", &asc_op_sum, A(1, 1), 1, {S(2, 0)}, {D(0)}, S(2), D(0, 0)},
        {"sum with inf and NaN",
         &asc_op_sum,
         A(1, 1),
         1,
         {S(3, 2)},
         {D(INF, 1, INF, -INF, NONE, 1)},
         S(3),
         D(INF, NONE, NONE)},
        {"mean", &asc_op_mean, A(1, 0), 1, {S(2, 2)}, {D(1, 2, 3, 5)}, S(2), D(2, 3.5)},
        {"mean of two axes", &asc_op_mean, A(2, 0, 2), 1, {S(2, 1, 2)}, {D(1, 2, 3, 6)}, S(1), D(3)},
        {"mean of nothing", &asc_op_mean, A(1, 1), 1, {S(2, 0)}, {D(0)}, S(2), D(NONE, NONE)},
        {"max", &asc_op_max, A(1, 0), 1, {S(2, 3)}, {D(1, 3, 2, -1, -3, -2)}, S(2), D(3, -1)},
        {"max, kept, first axis", &asc_op_max, A(0, 1), 1, {S(2, 2)}, {D(1, 3, 2, -1)}, S(1, 2), D(2, 3)},
        {"max with NaN and -inf",
         &asc_op_max,
         A(1, 0),
         1,
         {S(3, 2)},
         {D(NONE, 3, 3, NONE, -INF, -INF)},
         S(3),
         D(NONE, NONE, -INF)},
        {"arg_max, first of equals",
         &asc_op_arg_max,
         A(1),
         1,
         {S(2, 3)},
         {D(1, 3, 3, 5, 5, 5)},
         S(2),
         D(1, 0)},
        {"arg_max, first NaN", &asc_op_arg_max, A(0), 1, {S(4)}, {D(1, NONE, 9, NONE)}, {.rank = 0}, D(1)},
    };
    check_arrays(rows, sizeof rows / sizeof rows[0]);
}

static void movement(void **state) {
    (void)state;
    const array_row rows[] = {
        {"reshape",
         &asc_op_reshape,
         A(2, 3, 2),
         1,
         {S(2, 3)},
         {D(1, 2, 3, 4, 5, 6)},
         S(3, 2),
         D(1, 2, 3, 4, 5, 6)},
        {"transpose",
         &asc_op_transpose,
         A(2, 1, 0),
         1,
         {S(2, 3)},
         {D(1, 2, 3, 4, 5, 6)},
         S(3, 2),
         D(1, 4, 2, 5, 3, 6)},
        {"transpose, rank 3",
         &asc_op_transpose,
         A(3, 2, 0, 1),
         1,
         {S(1, 2, 3)},
         {D(1, 2, 3, 4, 5, 6)},
         S(3, 1, 2),
         D(1, 4, 2, 5, 3, 6)},
        {"broadcast", &asc_op_broadcast, A(2, 2, 3), 1, {S(2, 1)}, {D(1, 2)}, S(2, 3), D(1, 1, 1, 2, 2, 2)},
        {"broadcast of a row", &asc_op_broadcast, A(2, 2, 2), 1, {S(2)}, {D(1, 2)}, S(2, 2), D(1, 2, 1, 2)},
        {"slice", &asc_op_slice, A(1, 1, 2), 1, {S(2, 3)}, {D(1, 2, 3, 4, 5, 6)}, S(2, 2), D(2, 3, 5, 6)},
        {"slice of nothing", &asc_op_slice, A(0, 2, 0), 1, {S(2)}, {D(1, 2)}, S(0), D(0)},
        {"pad", &asc_op_pad, A(0, 1, 2), 1, {S(2)}, {D(5, NONE)}, S(5), D(0, 5, NONE, 0, 0)},
        {"pad of an inner axis",
         &asc_op_pad,
         A(1, 0, 1),
         1,
         {S(2, 2)},
         {D(1, 2, 3, 4)},
         S(2, 3),
         D(1, 2, 0, 3, 4, 0)},
        {"concat",
         &asc_op_concat,
         A(1),
         3,
         {S(2, 1), S(2, 2), S(2, 0)},
         {D(1, 2), D(3, 4, 5, 6), D(0)},
         S(2, 3),
         D(1, 3, 4, 2, 5, 6)},
        {"full", &asc_op_full, {.i = {1, 3}, .f = {-2.5}}, 0, {S(0)}, {NULL}, S(3), D(-2.5, -2.5, -2.5)},
        {"iota", &asc_op_iota, {.i = {4}, .f = {1, -0.5}}, 0, {S(0)}, {NULL}, S(4), D(1, 0.5, 0, -0.5)},
        {"scale", &asc_op_scale, {.f = {-2}}, 1, {S(3)}, {D(1, INF, NONE)}, S(3), D(-2, -INF, NONE)},
        {"shift", &asc_op_shift, {.f = {-2}}, 1, {S(3)}, {D(1, INF, NONE)}, S(3), D(-1, INF, NONE)},
        {"cast to i32",
         &asc_op_cast,
         A(ASC_DTYPE_I32),
         1,
         {S(6)},
         {D(1.9, -1.9, NONE, INF, -INF, 3e9)},
         S(6),
         D(1, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX)},
    };
    check_arrays(rows, sizeof rows / sizeof rows[0]);
}

static void indexing(void **state) {
    (void)state;
    const array_row rows[] = {
        {"gather",
         &asc_op_gather,
         A(0),
         2,
         {S(3, 2), S(4)},
         {D(1, 2, 3, 4, 5, 6), D(2, 0, 2, 1)},
         S(4, 2),
         D(5, 6, 1, 2, 5, 6, 3, 4)},
        {"gather outside", &asc_op_gather, A(0), 2, {S(3), S(2)}, {D(1, 2, 3), D(-7, 9)}, S(2), D(1, 3)},
        {"gather by one",
         &asc_op_gather,
         A(0),
         2,
         {S(3, 2), {.rank = 0}},
         {D(1, 2, 3, 4, 5, 6), D(1)},
         S(2),
         D(3, 4)},
        {"scatter_add",
         &asc_op_scatter_add,
         A(3),
         2,
         {S(3, 2), S(3)},
         {D(1, 2, 3, 4, 5, 6), D(2, 0, 2)},
         S(3, 2),
         D(3, 4, 0, 0, 6, 8)},
        {"scatter_add outside",
         &asc_op_scatter_add,
         A(2),
         2,
         {S(2), S(2)},
         {D(1, 2), D(-1, 5)},
         S(2),
         D(1, 2)},
        {"take_last",
         &asc_op_take_last,
         A(0),
         2,
         {S(2, 3), S(2)},
         {D(1, 2, 3, 4, 5, 6), D(2, 0)},
         S(2),
         D(3, 4)},
        {"take_last outside",
         &asc_op_take_last,
         A(0),
         2,
         {S(3), {.rank = 0}},
         {D(1, 2, 3), D(3)},
         {.rank = 0},
         D(3)},
        {"put_last",
         &asc_op_put_last,
         A(3),
         2,
         {S(2), S(2)},
         {D(5, NONE), D(1, 0)},
         S(2, 3),
         D(0, 5, 0, NONE, 0, 0)},
    };
    check_arrays(rows, sizeof rows / sizeof rows[0]);
}

/* gate 2, up 3, g 0.5: (0.5 3 silu'(2), 0.5 silu(2)); and the ends. */
static void swiglu_gradient(void **state) {
    (void)state;
    const double dsilu = 1.09078424878489555, silu = 1.76159415595576489;
    const array_row rows[] = {
        {"swiglu_grad",
         &asc_op_swiglu_grad,
         A(0),
         3,
         {S(2), S(2), S(2)},
         {D(2, 0), D(3, 4), D(0.5, 1)},
         S(2, 2),
         D(1.5 * dsilu, 2, 0.5 * silu, 0)},
        {"swiglu_grad at the ends",
         &asc_op_swiglu_grad,
         A(0),
         3,
         {S(3), S(3), S(3)},
         {D(-INF, INF, NONE), D(3, 3, 3), D(0.5, 0.5, 0.5)},
         S(2, 3),
         D(0, 1.5, NONE, 0, INF, NONE)},
    };
    check_arrays(rows, sizeof rows / sizeof rows[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(scalars), cmocka_unit_test(reductions),
                                       cmocka_unit_test(movement), cmocka_unit_test(indexing),
                                       cmocka_unit_test(swiglu_gradient)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
