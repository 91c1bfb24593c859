/* test_attention.c - attention, rotary positions and row normalisation against their definitions written out
 * here. */
#include "harness.h"

#include <complex.h>
#include <math.h>

#include "attn_naive.h"
#include "ops.h"

enum { MAX_ELEMS = 8192 };

static uint64_t rng_state = 7;

/* Uniform in [-size, size). */
static double draw(double size) {
    rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
    return size * ((double)(rng_state >> 11) / 4503599627370496.0 - 1);
}

static void fill(double *x, int64_t n, double size) {
    for (int64_t i = 0; i < n; i++) x[i] = draw(size);
}

/* Largest difference, relative to the largest expected value (or absolute where that is below 1). */
static double worst(const double *got, const double *want, int64_t n) {
    double diff = 0, scale = 1;
    for (int64_t i = 0; i < n; i++) {
        if (!(fabs(got[i] - want[i]) <= diff)) diff = fabs(got[i] - want[i]);
        scale = fmax(scale, fabs(want[i]));
    }
    return diff / scale;
}

static void expect_close(const char *what, const double *got, const double *want, int64_t n,
                         double tolerance) {
    const double w = worst(got, want, n);
    if (!(w <= tolerance)) fail_msg("%s: off by %g (allowed %g)", what, w, tolerance);
}

static const naive_case cases[] = {
    {"plain", 2, 4, 4, 3, 3, 5, false, 0, 0.5, 0, 2},
    {"causal", 1, 7, 7, 2, 2, 4, true, 0, 0.5, 0, 2},
    {"grouped heads", 2, 5, 5, 6, 2, 3, true, 0, 0.6, 0, 2},
    {"one key head", 1, 3, 3, 4, 1, 9, true, 0, 0.6, 0, 2},
    {"earlier keys", 1, 2, 9, 4, 2, 8, true, 0, 0.4, 0, 2},
    {"one query", 2, 1, 17, 4, 2, 8, true, 0, 0.4, 0, 2},
    {"window", 1, 9, 9, 2, 1, 3, true, 3, 0.7, 0, 2},
    {"window of one", 1, 5, 5, 2, 1, 3, true, 1, 0.7, 0, 2},
    {"window wider than the text", 1, 5, 5, 2, 1, 3, true, 50, 0.7, 0, 2},
    {"window and earlier keys", 1, 3, 9, 2, 1, 3, true, 4, 0.7, 0, 2},
    {"window without causal", 1, 6, 6, 2, 2, 3, false, 2, 0.7, 0, 2},
    {"cap", 1, 6, 6, 4, 2, 3, true, 0, 0.7, 2, 3},
    {"cap and window", 2, 6, 8, 4, 2, 3, true, 3, 0.7, 1.5, 3},
    {"more queries than keys", 1, 7, 3, 4, 2, 4, true, 0, 0.7, 0, 2},
    {"empty windows", 1, 7, 3, 2, 1, 4, true, 2, 0.7, 3, 2},
    {"scores near 1e4", 1, 6, 6, 2, 1, 4, true, 0, 1, 0, 100},
    {"scores near 1e4, capped", 1, 6, 6, 2, 1, 4, true, 0, 1, 30, 100},
    {"many keys", 1, 3, 60, 2, 1, 2, true, 0, 1, 0, 2},
};

static void test_sdpa(void **state) {
    (void)state;
    static double q[MAX_ELEMS], k[MAX_ELEMS], v[MAX_ELEMS], y[MAX_ELEMS], g[MAX_ELEMS], got[MAX_ELEMS];
    static double want[3][MAX_ELEMS];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const naive_case *c = &cases[i];
        const int64_t n_q = c->B * c->T * c->H * c->D, n_k = c->B * c->S * c->G * c->D,
                      n[3] = {n_q, n_k, n_k};
        /* A score carries some ulps of its size into the exponent, so they are relative errors of p. */
        const double tolerance = 1e-15 * (100 + 4 * c->D * c->size * c->size * c->scale);
        fill(q, n_q, c->size);
        fill(k, n_k, c->size);
        fill(v, n_k, 1);
        fill(g, n_q, 1);
        asc_ctx *ctx = test_ctx("reference", "deferred");
        const asc_shape sq = ASC_SHAPE(c->B, c->T, c->H, c->D), sk = ASC_SHAPE(c->B, c->S, c->G, c->D);
        asc_tensor *in[3] = {asc_from_f64(ctx, sq, q), asc_from_f64(ctx, sk, k), asc_from_f64(ctx, sk, v)},
                   *d[3];
        asc_tensor *out = asc_sdpa(ctx, in[0], in[1], in[2], c->scale, c->causal, c->window, c->cap);
        assert_ok(ctx, asc_read_f64(ctx, out, got, (size_t)n_q));
        naive_attention(c, q, k, v, y);
        expect_close(c->name, got, y, n_q, tolerance);
        asc_tensor *same = asc_op_sdpa.decompose(ctx, &out->attrs, in, 3);
        assert_ok(ctx, asc_read_f64(ctx, same, got, (size_t)n_q));
        expect_close(c->name, got, y, n_q, tolerance);

        memset(want, 0, sizeof want);
        naive_gradient(c, q, k, v, g, want[0], want[1], want[2]);
        asc_grad(ctx, out, asc_from_f64(ctx, sq, g), in, 3, d);
        for (int j = 0; j < 3; j++) {
            assert_ok(ctx, asc_read_f64(ctx, d[j], got, (size_t)n[j]));
            expect_close(c->name, got, want[j], n[j], 10 * tolerance);
        }
        test_ctx_end(ctx);
    }
}

/* A query that sees nothing gives exactly 0 and nothing flows back, whatever the values. */
static void test_sdpa_nothing_visible(void **state) {
    (void)state;
    const double q[8] = {1, -2, 3, 4, 5, 6, 7, 8}, kv[4] = {1e4, -1e4, 3, 2},
                 ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    double y[8], dq[8];
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_tensor *in[3] = {asc_from_f64(ctx, ASC_SHAPE(1, 4, 1, 2), q),
                         asc_from_f64(ctx, ASC_SHAPE(1, 2, 1, 2), kv),
                         asc_from_f64(ctx, ASC_SHAPE(1, 2, 1, 2), kv)};
    asc_tensor *out = asc_sdpa(ctx, in[0], in[1], in[2], 1, true, 0, 0), *d;
    asc_grad(ctx, out, asc_from_f64(ctx, ASC_SHAPE(1, 4, 1, 2), ones), in, 1, &d);
    assert_ok(ctx, asc_read_f64(ctx, out, y, 8));
    assert_ok(ctx, asc_read_f64(ctx, d, dq, 8));
    for (int i = 0; i < 4; i++) assert_true(y[i] == 0 && dq[i] == 0);
    assert_true(y[4] == 1e4 && y[5] == -1e4); /* sees only the first key */
    test_ctx_end(ctx);
}

static void test_rope(void **state) {
    (void)state;
    enum { T = 4, H = 2, D = 7, HALF = 3 };
    const int32_t pos[T] = {0, 3, 1000, -2};
    const double freq[HALF] = {1, 0.1, 0.0123}, mscale = 1.25;
    double x[T * H * D], want[T * H * D], got[T * H * D];
    fill(x, T * H * D, 3);
    for (int mode = 0; mode < 4; mode++) {
        const bool pairs = mode % 2 != 0, inverse = mode / 2 != 0;
        memcpy(want, x, sizeof x);
        for (int r = 0; r < T * H; r++)
            for (int i = 0; i < HALF; i++) {
                const int c0 = r * D + (pairs ? 2 * i : i), c1 = pairs ? c0 + 1 : c0 + HALF;
                const double angle = (inverse ? -1 : 1) * pos[r / H] * freq[i];
                const double complex z = (x[c0] + x[c1] * I) * mscale * cexp(I * angle);
                want[c0] = creal(z);
                want[c1] = cimag(z);
            }
        asc_ctx *ctx = test_ctx("reference", "eager");
        asc_tensor *in[3] = {asc_from_f64(ctx, ASC_SHAPE(T, H, D), x), asc_from_i32(ctx, ASC_SHAPE(T), pos),
                             asc_from_f64(ctx, ASC_SHAPE(HALF), freq)};
        asc_tensor *y = asc_rope(ctx, in[0], in[1], in[2], pairs, inverse, mscale);
        assert_ok(ctx, asc_read_f64(ctx, y, got, T * H * D));
        expect_close("rope", got, want, T * H * D, 1e-13);
        assert_ok(ctx, asc_read_f64(ctx, asc_op_rope.decompose(ctx, &y->attrs, in, 3), got, T * H * D));
        expect_close("rope decomposed", got, want, T * H * D, 1e-13);
        asc_tensor *back = asc_rope(ctx, y, in[1], in[2], pairs, !inverse, 1 / mscale);
        assert_ok(ctx, asc_read_f64(ctx, back, got, T * H * D));
        expect_close("rope turned back", got, x, T * H * D, 1e-13);
        test_ctx_end(ctx);
    }
}

/* Formula of either norm in long double, by row. */
static void norm_by_hand(const double *a, const double *w, const double *b, int rows, int n, double eps,
                         double *y) {
    for (int r = 0; r < rows; r++) {
        long double mean = 0, var = 0;
        for (int i = 0; i < n && b != NULL; i++) mean += a[r * n + i];
        mean /= n;
        for (int i = 0; i < n; i++) var += (a[r * n + i] - mean) * (a[r * n + i] - mean);
        const long double root = sqrtl(var / n + eps);
        for (int i = 0; i < n; i++)
            y[r * n + i] = (double)((a[r * n + i] - mean) / root * w[i] + (b != NULL ? b[i] : 0));
    }
}

static void test_norms(void **state) {
    (void)state;
    enum { R = 3, N = 33 };
    static const double sizes[] = {1, 1e-8, 1e6};
    double a[R * N], w[N], b[N], want[R * N], got[R * N];
    for (int s = 0; s < 3; s++) {
        fill(a, R * N, sizes[s]);
        fill(w, N, 1);
        fill(b, N, 1);
        for (int i = 0; i < N; i++) a[N + i] = 0; /* a row of zeros */
        asc_ctx *ctx = test_ctx("reference", "deferred");
        asc_tensor *ta = asc_from_f64(ctx, ASC_SHAPE(R, N), a), *tw = asc_from_f64(ctx, ASC_SHAPE(N), w);
        asc_tensor *tb = asc_from_f64(ctx, ASC_SHAPE(N), b);
        norm_by_hand(a, w, NULL, R, N, 1e-6, want);
        assert_ok(ctx, asc_read_f64(ctx, asc_rms_norm(ctx, ta, tw, 1e-6), got, R * N));
        expect_close("rms_norm", got, want, R * N, 1e-14);
        norm_by_hand(a, w, b, R, N, 1e-6, want);
        assert_ok(ctx, asc_read_f64(ctx, asc_layer_norm(ctx, ta, tw, tb, 1e-6), got, R * N));
        expect_close("layer_norm", got, want, R * N, 1e-13);
        test_ctx_end(ctx);
    }
}

/* Rows whose scores differ by 1e4 and more: probabilities 0 and 1, log-probabilities finite and exact. */
static void test_softmax_extremes(void **state) {
    (void)state;
    const double a[6] = {1e4, -1e4, 1e4 - 1, -3e8, -3e8, -INFINITY};
    const double e = exp(-1), lse = log1p(e);
    const double p[6] = {1 / (1 + e), 0, e / (1 + e), 0.5, 0.5, 0}, l[3] = {-lse, -2e4 - lse, -1 - lse};
    double got[6];
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_tensor *t = asc_from_f64(ctx, ASC_SHAPE(2, 3), a);
    assert_ok(ctx, asc_read_f64(ctx, asc_softmax(ctx, t), got, 6));
    expect_close("softmax", got, p, 6, 1e-15);
    assert_ok(ctx, asc_read_f64(ctx, asc_log_softmax(ctx, t), got, 6));
    expect_close("log_softmax", got, l, 3, 1e-15);
    assert_true(got[5] == -INFINITY);
    test_ctx_end(ctx);
}

/* Wrong arguments are errors that name the op, at the boundary, and leave nothing behind. */
static void test_refusals(void **state) {
    (void)state;
    static const float x[64] = {0};
    for (int i = 0; i < 8; i++) {
        asc_ctx *ctx = test_ctx("reference", "deferred");
        asc_tensor *q = asc_from_f32(ctx, ASC_SHAPE(1, 2, 3, 2), x),
                   *k = asc_from_f32(ctx, ASC_SHAPE(1, 2, 2, 2), x);
        asc_tensor *one = asc_from_f32(ctx, ASC_SHAPE(1, 2, 3, 2), x),
                   *m = asc_from_f32(ctx, ASC_SHAPE(3, 2), x), *y;
        asc_tensor *vec = asc_from_f32(ctx, ASC_SHAPE(3), x);
        switch (i) {
        case 0:
            y = asc_sdpa(ctx, q, k, k, 1, true, 0, 0);
            break; /* 3 heads on 2 */
        case 1:
            y = asc_sdpa(ctx, q, one, k, 1, true, 0, 0);
            break; /* k and v differ */
        case 2:
            y = asc_sdpa(ctx, q, one, one, 1, true, -1, 0);
            break;
        case 3:
            y = asc_sdpa(ctx, q, one, one, 1, true, 0, NAN);
            break;
        case 4:
            y = asc_matmul(ctx, m, m, false, false);
            break; /* 2 against 3 */
        case 5:
            y = asc_rms_norm(ctx, m, vec, 1e-5);
            break; /* weight of 3 for 2 columns */
        case 6:
            y = asc_rope(ctx, q, vec, vec, false, false, 1);
            break; /* positions not i32 */
        default:
            y = asc_matmul(ctx, vec, m, false, false);
            break; /* rank 1 */
        }
        float out[64];
        assert_int_equal(asc_read_f32(ctx, y, out, (size_t)asc_tensor_elems(y)), ASC_INVALID_ARGUMENT);
        const char *name = i < 4 ? "sdpa" : i == 5 ? "rms_norm" : i == 6 ? "rope" : "matmul";
        if (strstr(asc_error_message(ctx), name) == NULL) fail_msg("case %d: %s", i, asc_error_message(ctx));
        test_ctx_end(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sdpa),
        cmocka_unit_test(test_sdpa_nothing_visible),
        cmocka_unit_test(test_rope),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_softmax_extremes),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
