/* test_stretch.c - arrays repeated by NumPy's rule: the expected elements are what numpy.broadcast_to gives.
 */
#include "harness.h"
#include "stretch.h"

typedef struct stretched {
    asc_shape own, full;
    double out[24];
} stretched;

static const stretched cases[] = {
    /* a missing axis in front and one of length 1 inside, before an axis that is walked */
    {{3, {2, 1, 3}}, {4, {2, 2, 2, 3}}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5,
                                         0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
    {{3, {1, 2, 1}}, {3, {2, 2, 3}}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}},
    {{2, {2, 1}}, {2, {2, 3}}, {0, 0, 0, 1, 1, 1}},
    {{0, {0}}, {1, {3}}, {0, 0, 0}},
};

static void test_as_numpy(void **state) {
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    double from[] = {0, 1, 2, 3, 4, 5};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        asc_array a = {ASC_ELEM_F64, cases[i].own, from};
        double out[24];
        assert_ok(ctx, asc_array_stretch(ctx, &a, &cases[i].full, out));
        for (int64_t e = 0; e < asc_shape_elems(&cases[i].full); e++) {
            if (out[e] != cases[i].out[e]) fail_msg("case %zu, element %lld: %g", i, (long long)e, out[e]);
        }
    }
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_numpy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
