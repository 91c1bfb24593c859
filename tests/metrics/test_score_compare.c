/* test_score_compare.c - two sets of scores: differences and tolerances by hand, rank measures against scipy
 * 1.17.1 (kendalltau, spearmanr). */
#include "../harness.h"
#include "ascribe/compare.h"
#include "hash.h"
#include <math.h>

static void near(double is, double should) {
    if (!(fabs(is - should) < 1e-14)) fail_msg("%.17g instead of %.17g", is, should);
}

static void test_ranks_against_scipy(void **state) {
    static const double a[] = {1.5, -2, 3, 3, 0, 7, -1, 2.5, 2.5, 4},
                        b[] = {1, -1, 2.5, 3, 0, 5, 0, 2, 1, 4.5}, one[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_difference d;
    double tau;
    (void)state;
    const asc_score_set sa = {a, NULL, 10}, sb = {b, NULL, 10};
    assert_ok(ctx, asc_scores_compare(ctx, &sa, &sb, 0.1, 3, NULL, &d));
    near(d.kendall, 0.9534883720930234);
    near(d.spearman, 0.9846625766871165);
    assert_ok(ctx, asc_kendall(ctx, a, one, 10, &tau));
    assert_true(isnan(tau));
    assert_ok(ctx, asc_kendall(ctx, a, b, 1, &tau));
    assert_true(isnan(tau));
    test_ctx_end(ctx);
}

/* The merge sort against the definition: pairs in order less pairs out of order, with many ties. */
static void test_kendall_by_definition(void **state) {
    enum { N = 97 };
    double a[N], b[N], sum = 0, ta = 0, tb = 0, tau;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    (void)state;
    for (size_t i = 0; i < N; i++) {
        a[i] = floor(9 * asc_uniform(1, 1, i));
        b[i] = floor(7 * asc_uniform(1, 2, i)) + 0.3 * a[i];
    }
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < i; k++) {
            double x = (a[i] > a[k]) - (a[i] < a[k]), y = (b[i] > b[k]) - (b[i] < b[k]);
            sum += x * y;
            ta += x * x;
            tb += y * y;
        }
    }
    assert_ok(ctx, asc_kendall(ctx, a, b, N, &tau));
    near(tau, sum / sqrt(ta * tb));
    test_ctx_end(ctx);
}

static void test_tolerances(void **state) {
    static const double a[] = {4, -1, 0.5, 2}, ea[] = {0.1, NAN, 0.2, 0.1}, eb[] = {0.1, 0.1, 0.1, 0.1};
    double b[] = {4.15, -1, 0.5, 2}, tolerance[4];
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_difference d;
    (void)state;
    const asc_score_set sa = {a, ea, 4}, sb = {b, eb, 4}, plain = {a, NULL, 4}, moved = {b, NULL, 4};
    assert_ok(ctx, asc_scores_compare(ctx, &sa, &sb, 0, 2, tolerance, &d));
    near(tolerance[0], 0.2);
    near(tolerance[1], 0.3); /* the largest known error stands for the unknown one */
    assert_int_equal(d.beyond, 0);
    assert_false(d.same_bits);
    assert_int_equal(d.at, 0);
    assert_true(fabs(d.max_rel - 0.15 / 4) < 1e-12 && fabs(d.excess - 0.75) < 1e-9);
    b[0] = 4.25; /* beyond 0.2: the comparison can fail */
    assert_ok(ctx, asc_scores_compare(ctx, &sa, &sb, 0, 2, NULL, &d));
    assert_int_equal(d.beyond, 1);
    assert_ok(ctx, asc_scores_compare(ctx, &plain, &moved, 0.01, 2, NULL, &d)); /* 0.01 (4 + 4.25) */
    assert_int_equal(d.beyond, 1);
    assert_ok(ctx, asc_scores_compare(ctx, &plain, &moved, 0.04, 2, NULL, &d));
    assert_int_equal(d.beyond, 0);
    assert_ok(ctx, asc_scores_compare(ctx, &plain, &plain, 0, 2, NULL, &d));
    assert_true(d.same_bits && d.max_abs == 0 && d.excess == 0 && d.top_overlap == 1 && d.rank_changes == 0);
    b[0] = 0; /* now the order is 2, 0.5, 0, -1: of the two largest sizes, 2 is left */
    assert_ok(ctx, asc_scores_compare(ctx, &plain, &moved, 0, 2, NULL, &d));
    assert_int_equal(d.rank_changes, 3);
    near(d.top_overlap, 0.5);
    b[0] = NAN;
    assert_ok(ctx, asc_scores_compare(ctx, &plain, &moved, 1, 2, NULL, &d));
    assert_true(isnan(d.max_abs) && d.beyond > 0 && !d.same_bits);
    const asc_score_set shorter = {b, NULL, 3};
    assert_int_equal(asc_scores_compare(ctx, &plain, &shorter, 1, 2, NULL, &d), ASC_INVALID_ARGUMENT);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_against_scipy),
        cmocka_unit_test(test_kendall_by_definition),
        cmocka_unit_test(test_tolerances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
