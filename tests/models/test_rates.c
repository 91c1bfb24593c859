/* Measured rates that dry runs keep: found where they are near, and only there; the oldest make room. */
#include "rates.h"
#include "harness.h"

static void test_found_where_near(void **state) {
    (void)state;
    asc_rates r = {0};
    const double v[3] = {5.0, 6.0, 7.0};
    const asc_precision highest = ASC_PRECISION_HIGHEST;
    assert_null(asc_rates_find(&r, ASC_RATE_TRIE, highest, 100.0, 1000.0));
    asc_rates_keep(&r, ASC_RATE_TRIE, highest, 100.0, 1000.0, v);
    const double *got = asc_rates_find(&r, ASC_RATE_TRIE, highest, 119.0, 801.0);
    assert_non_null(got);
    assert_true(got[0] == 5.0 && got[1] == 6.0 && got[2] == 7.0);
    assert_null(asc_rates_find(&r, ASC_RATE_TRIE, highest, 121.0, 1000.0)); /* more than a fifth */
    assert_null(asc_rates_find(&r, ASC_RATE_TRIE, highest, 100.0, 799.0));
    assert_null(asc_rates_find(&r, ASC_RATE_TRIE_ROWS, highest, 100.0, 1000.0)); /* another kind */
    assert_null(asc_rates_find(&r, ASC_RATE_TRIE, ASC_PRECISION_MEDIUM, 100.0, 1000.0));
}

static void test_a_ring_that_ages(void **state) {
    (void)state;
    asc_rates r = {0};
    double rows = 1.0;
    for (int i = 0; i <= ASC_RATES_KEPT; i++, rows *= 2.0)
        asc_rates_keep(&r, ASC_RATE_FORWARD, ASC_PRECISION_HIGHEST, rows, 0.0, (double[3]){rows, 0.0, 0.0});
    assert_null(asc_rates_find(&r, ASC_RATE_FORWARD, ASC_PRECISION_HIGHEST, 1.0, 0.0)); /* the oldest */
    assert_true(asc_rates_find(&r, ASC_RATE_FORWARD, ASC_PRECISION_HIGHEST, 2.0, 0.0)[0] == 2.0);
    assert_true(asc_rates_find(&r, ASC_RATE_FORWARD, ASC_PRECISION_HIGHEST, rows / 2.0, 0.0)[0] ==
                rows / 2.0);
    for (size_t i = 0; i < ASC_RATES_KEPT; i++)
        r.kept[i].when_ns -= (uint64_t)(ASC_RATES_SECONDS + 1) * 1000000000u;
    assert_null(asc_rates_find(&r, ASC_RATE_FORWARD, ASC_PRECISION_HIGHEST, 2.0, 0.0));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found_where_near),
                                       cmocka_unit_test(test_a_ring_that_ages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
