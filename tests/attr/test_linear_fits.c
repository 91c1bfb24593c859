/* Linear surrogates against scikit-learn's coefficients (tests/data/attr/sklearn_fits.txt), and properties of
 * the factorisation that no fixture covers. */
#include "harness.h"
#include "surrogate.h"
#include <math.h>

static double next(FILE *f) {
    double v;
    assert_int_equal(fscanf(f, "%lf", &v), 1);
    return v;
}

static void test_against_sklearn(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    FILE *f = fopen(test_data("attr/sklearn_fits.txt"), "r");
    char kind[16];
    int cases = 0, c;
    assert_non_null(f);
    while ((c = fgetc(f)) == '#') assert_int_equal(fscanf(f, "%*[^\n]\n"), 0);
    ungetc(c, f);
    while (fscanf(f, "%15s", kind) == 1) {
        size_t n = (size_t)next(f), m = (size_t)next(f);
        double penalty = next(f), x[400], y[40], w[40], coef[16] = {0}, intercept = 0.0;
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < m; k++) x[i * m + k] = next(f);
            y[i] = next(f);
            w[i] = next(f);
        }
        asc_fit_data d = {.x = x, .y = y, .w = w, .n = n, .m = m};
        asc_lasso_info info = {.converged = true};
        int which = asc_surrogate_from_name(kind);
        if (which == ASC_SURROGATE_LINEAR) assert_ok(ctx, asc_linear_fit(ctx, &d, coef, &intercept));
        if (which == ASC_SURROGATE_RIDGE) assert_ok(ctx, asc_ridge_fit(ctx, &d, penalty, coef, &intercept));
        if (which == ASC_SURROGATE_LASSO) {
            assert_ok(ctx, asc_lasso_fit(ctx, &d, penalty, coef, &info));
            intercept = info.intercept;
            assert_true(info.converged && info.gap <= 1e-9);
        }
        /* The lasso's minimum is flat: coefficients are known to the root of the gap. */
        double tolerance = which == ASC_SURROGATE_LASSO ? 3e-6 : 1e-9;
        for (size_t k = 0; k <= m; k++) {
            double want = next(f), got = k < m ? coef[k] : intercept;
            if (fabs(want - got) > tolerance * (1.0 + fabs(want)))
                fail_msg("case %d %s %zux%zu: coefficient %zu is %.12g, not %.12g", cases, kind, n, m, k, got,
                         want);
        }
        cases++;
    }
    fclose(f);
    assert_int_equal(cases, 28);
    test_ctx_end(ctx);
}

/* Of all solutions the smallest: orthogonal to the null space, and the residual orthogonal to the columns. */
static void test_short_rank(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    double x[5 * 4], y[5] = {1, -2, 0.5, 3, 4}, right[5], coef[4];
    for (int i = 0; i < 5; i++) { /* columns a, b, a + b, 2a - b: rank 2 */
        double a = (double)(i * i % 7), b = (double)(i * 3 % 5) - 1.0;
        x[4 * i] = a, x[4 * i + 1] = b, x[4 * i + 2] = a + b, x[4 * i + 3] = 2.0 * a - b;
        right[i] = y[i];
    }
    asc_lsq f;
    assert_ok(ctx, asc_lsq_init(ctx, x, 5, 4, &f));
    assert_int_equal(f.rank, 2);
    asc_lsq_solve(&f, right, coef);
    asc_lsq_deinit(&f);
    double null1 = coef[0] + coef[1] - coef[2], null2 = 2.0 * coef[0] - coef[1] - coef[3];
    assert_true(fabs(null1) < 1e-13 && fabs(null2) < 1e-13);
    for (int k = 0; k < 4; k++) {
        double dot = 0.0;
        for (int i = 0; i < 5; i++) {
            double r = y[i];
            for (int p = 0; p < 4; p++) r -= x[4 * i + p] * coef[p];
            dot += r * x[4 * i + k];
        }
        assert_true(fabs(dot) < 1e-12);
    }
    test_ctx_end(ctx);
}

static void test_refused(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "eager");
    double x[2] = {1, 2}, y[2] = {1, 2}, w[2] = {0, 0}, coef[1] = {0};
    asc_fit_data d = {.x = x, .y = y, .w = w, .n = 2, .m = 1};
    assert_int_equal(asc_linear_fit(ctx, &d, coef, NULL), ASC_INVALID_ARGUMENT);
    d.n = SIZE_MAX / 2;
    d.m = 3;
    asc_lsq f;
    assert_int_equal(asc_lsq_init(ctx, x, d.n, d.m, &f), ASC_RESOURCE_EXHAUSTED);
    assert_int_equal(asc_surrogate_from_name("forest"), -1);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_sklearn),
                                       cmocka_unit_test(test_short_rank), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
