/* The method matrix holds its bars, and the rank correlation is scipy's (spearmanr of scipy 1.x, with ties).
 */
#include "harness.h"
#include "ascribe/matrix.h"
#include "ascribe/metrics.h"
#include <math.h>
#include <string.h>

static void ranks(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    static const double a[] = {1.5, -2.0, 3.25, 0.5, 0.5, 7.0, -1.0, 2.0},
                        b[] = {0.25, -1.0, 2.0, 2.0, -3.0, 4.0, 0.0, 1.0}, flat[8] = {0};
    double r;
    assert_int_equal(asc_rank_correlation(ctx, a, b, 8, &r), ASC_OK);
    assert_true(fabs(r - 0.7650602409638554) < 1e-14);
    assert_int_equal(asc_rank_correlation(ctx, a, a, 8, &r), ASC_OK);
    assert_true(fabs(r - 1.0) < 1e-15);
    assert_int_equal(asc_rank_correlation(ctx, a, flat, 8, &r), ASC_OK);
    assert_true(isnan(r));
    assert_int_equal(asc_rank_correlation(ctx, a, b, 1, &r), ASC_OK);
    assert_true(isnan(r));
    test_ctx_end(ctx);
}

static void bars(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred"), *exact = NULL;
    asc_matrix *m = NULL;
    const asc_ctx_options o = {.struct_size = sizeof o, .device = "reference"};
    assert_int_equal(asc_ctx_create(&o, &exact), ASC_OK);
    assert_int_equal(asc_method_matrix(ctx, exact, NULL, &m), ASC_OK);
    assert_true(m->n >= 100);
    size_t zeros = 0;
    for (size_t i = 0; i < m->n; i++) {
        zeros += m->cells[i].error == 0.0;
        if (!(m->cells[i].error <= 1e-6))
            fail_msg("%s at '%s' of %s: %g", m->cells[i].method, m->cells[i].at, m->cells[i].model,
                     m->cells[i].error);
    }
    assert_true(
        zeros <=
        2); /* f32 hardly ever agrees with f64 to the last bit: more means that nothing was computed */
    assert_true(m->median <= 1e-7);
    asc_matrix_destroy(ctx, m);
    assert_int_equal(asc_method_matrix(ctx, exact, "tea-leaves", &m), ASC_NOT_FOUND);
    assert_null(m);
    asc_ctx_destroy(exact);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks), cmocka_unit_test(bars)};
    return cmocka_run_group_tests_name("matrix", tests, NULL, NULL);
}
