/* test_compare_results.c - two result files: what is refused, what is named, tolerances with and without
 * draws; and every allocation failing once. */
#include "../harness.h"
#include "ascribe/compare.h"
#include <math.h>

#define PROMPT(mode, ids, a, ea, b, eb)                                                                      \
    "{\"schema\": 1, \"model\": {\"file\": \"m.gguf\", \"sha256\": null}, \"method\": {\"name\": "           \
    "\"saliency\", "                                                                                         \
    "\"options\": {\"norm\": \"l2\"}}, \"prompt\": {\"text\": \"a b\", \"ids\": " ids                        \
    "}, \"target\": {\"ids\": [7]}, "                                                                        \
    "\"baseline\": \"none\", \"value\": -1.5, \"features\": [{\"text\": \"a\", \"start\": 0, \"end\": 1, "   \
    "\"score\": " a ", \"error\": " ea "}, {\"text\": \"b\", \"start\": 2, \"end\": 3, \"score\": " b        \
    ", \"error\": " eb "}], "                                                                                \
    "\"device\": \"cpu\", \"mode\": \"" mode "\", \"precision\": \"highest\"}"
#define NET(seed, level, data, error)                                                                        \
    "{\"kind\": \"ascribe-net-result\", \"schema\": 1, \"model\": {\"file\": \"n.onnx\"}, \"input\": null, " \
    "\"environment\": {\"device\": \"cpu\", \"precision\": \"" level "\", \"seed\": " seed                   \
    "}, \"results\": [{\"method\": "                                                                         \
    "\"lime\", \"stochastic\": true, \"value\": [2], \"scores\": [{\"name\": \"x\", \"shape\": [1, 2], "     \
    "\"data\": " data ", \"error\": " error "}]}]}"

static asc_result_difference *compared(asc_ctx *ctx, const char *a, const char *b) {
    asc_result_difference *d = NULL;
    assert_ok(ctx, asc_results_compare(ctx, (asc_view){a, strlen(a)}, (asc_view){b, strlen(b)}, 1, &d));
    return d;
}

static void test_prompts(void **state) {
    static const char a[] = PROMPT("eager", "[1, 2]", "4", "0.1", "-1", "0.2");
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    (void)state;
    asc_result_difference *d = compared(ctx, a, PROMPT("deferred", "[1, 2]", "4.15", "0.1", "-1", "0.2"));
    assert_true(d->within && !d->d.same_bits && d->n_changes == 1);
    assert_string_equal(d->changes[0], "mode: eager, deferred");
    assert_string_equal(d->scores[1].name, "b");
    assert_true(fabs(d->scores[0].tolerance - 0.2) < 1e-15 && fabs(d->d.excess - 0.75) < 1e-9);
    asc_result_difference_destroy(ctx, d);
    d = compared(ctx, a, PROMPT("eager", "[1, 2]", "4.25", "0.1", "-1", "0.2"));
    assert_true(!d->within && d->d.beyond == 1 && d->n_changes == 0);
    asc_result_difference_destroy(ctx, d);
    /* no errors: 128 u times 32 layers of the largest of each, 2.44e-4 x (4 + 4) */
    d = compared(ctx, PROMPT("eager", "[1, 2]", "4", "null", "-1", "null"),
                 PROMPT("eager", "[1, 2]", "4.0019", "null", "-1", "null"));
    assert_true(d->within && d->d.excess > 0.9);
    asc_result_difference_destroy(ctx, d);
    const char *other = PROMPT("eager", "[1, 3]", "4", "0.1", "-1", "0.2");
    asc_result_difference *none = NULL;
    assert_int_equal(
        asc_results_compare(ctx, (asc_view){a, strlen(a)}, (asc_view){other, strlen(other)}, 0, &none),
        ASC_FAILED_PRECONDITION);
    assert_non_null(strstr(asc_error_message(ctx), "differ in: the tokens of the prompt"));
    assert_null(none);
    const char *net = NET("1", "highest", "[1, 2]", "null");
    assert_int_equal(
        asc_results_compare(ctx, (asc_view){a, strlen(a)}, (asc_view){net, strlen(net)}, 0, &none),
        ASC_FAILED_PRECONDITION);
    test_ctx_end(ctx);
}

/* The same draws differ by rounding only, whatever the standard errors; other draws by three of each. */
static void test_sampled(void **state) {
    static const char a[] = NET("1", "highest", "[1, 2]", "[0.1, 0.1]");
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    (void)state;
    asc_result_difference *d = compared(ctx, a, NET("1", "highest", "[1, 2.01]", "[0.1, 0.1]"));
    assert_true(!d->within && !d->sampled);
    asc_result_difference_destroy(ctx, d);
    d = compared(ctx, a, NET("2", "highest", "[1, 2.5]", "[0.1, 0.1]"));
    assert_true(d->within && d->sampled && fabs(d->scores[1].tolerance - 0.6) < 1e-12);
    assert_string_equal(d->scores[1].name, "x[0, 1]");
    asc_result_difference_destroy(ctx, d);
    d = compared(ctx, a, NET("1", "medium", "[1, 2.01]", "[0.1, 0.1]")); /* 64 u of medium is a quarter */
    assert_true(d->within);
    assert_string_equal(d->changes[0], "precision: highest, medium");
    asc_result_difference_destroy(ctx, d);
    test_ctx_end(ctx);
}

static void test_starved(void **state) {
    static const char a[] = PROMPT("eager", "[1, 2]", "4", "0.1", "-1", "0.2"),
                      b[] = PROMPT("deferred", "[1, 2]", "5", "0.1", "-1", "0.2");
    (void)state;
    for (long fail = 1;; fail++) {
        test_alloc t = {0};
        asc_ctx_options o = {.struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &t};
        asc_ctx *ctx = NULL;
        assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
        asc_result_difference *d = NULL;
        t.fail_at = t.count + fail;
        asc_status st =
            asc_results_compare(ctx, (asc_view){a, sizeof a - 1}, (asc_view){b, sizeof b - 1}, 0, &d);
        bool failed = t.count >= t.fail_at;
        t.fail_at = 0;
        if (failed && st != ASC_RESOURCE_EXHAUSTED)
            fail_msg("allocation %ld: %s: %s", fail, asc_status_name(st), asc_error_message(ctx));
        assert_true(failed ? st == ASC_RESOURCE_EXHAUSTED && d == NULL : st == ASC_OK && d != NULL);
        asc_result_difference_destroy(ctx, d);
        test_ctx_end(ctx);
        assert_int_equal(t.live, 0);
        if (!failed) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_sampled),
        cmocka_unit_test(test_starved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
