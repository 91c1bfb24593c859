/* test_cli_modes.c - commands that run the same work in several modes or many times: bench --modes, smoke,
 * leak.
 */
#include "run_program.h"
#include <math.h>

static asc_json *parsed(asc_ctx *ctx, program *p) {
    asc_json *j = NULL;
    assert_ok(ctx, asc_json_parse(ctx, p->out, p->out_len, &j));
    return j;
}

static double num(const asc_json *j, const char *key) { return asc_json_num(asc_json_get(j, key), NAN); }

/* Nets of a file, built-in ones and prompts: a row for every mode and level, with sound numbers. */
static void test_bench_rows(void **state) {
    static const char *const lines[] = {
        "$A bench mlp --modes eager,deferred,compiled --precision highest,high --runs 2 --steps 8 --json -",
        "M=$Z/../../onnx/simple/test_single_relu_model/model.onnx; printf 'a,b\\n3,-2\\n' >r.csv; "
        "$A bench $M --input r.csv --method saliency --modes eager,deferred,compiled "
        "--precision highest,high --runs 2 --json -",
        "$A bench $L --prompt 'The capital' --modes eager,deferred,compiled "
        "--precision highest,high --runs 2 --json -",
        "$A bench $L --method saliency --modes eager,deferred,compiled --precision highest,high --runs 1 "
        "--json -",
    };
    static const char *const modes[] = {"eager", "deferred", "compiled"};
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        program_expect(p, 0, NULL, lines[i]);
        asc_json *j = parsed(ctx, p);
        const asc_json *rows = asc_json_get(j, "rows");
        assert_int_equal(asc_json_len(rows), 6);
        for (size_t k = 0; k < 6; k++) {
            const asc_json *r = asc_json_at(rows, k), *warm = asc_json_get(r, "warm_seconds"),
                           *cuts = asc_json_get(r, "cuts");
            assert_int_equal(asc_json_str(asc_json_get(r, "mode")).len, strlen(modes[k % 3]));
            assert_true(num(warm, "least") > 0 && num(warm, "least") <= num(warm, "median") &&
                        num(warm, "median") <= num(warm, "most"));
            assert_true(num(r, "error") <
                        (k < 3 ? 2e-4 : 0.1)); /* f32, and three bf16 products at the worst */
            assert_true(num(r, "peak_bytes") > 0 && num(r, "first_seconds") > 0);
            double sum = 0;
            void *iter = NULL;
            asc_view key;
            const asc_json *v;
            while (asc_json_next(cuts, &iter, &key, &v)) sum += asc_json_num(v, NAN);
            assert_true(sum == num(r, "programs"));
            if (k % 3 == 0) assert_true(num(cuts, "eager") == sum && sum > 0);
        }
        asc_json_free(j);
    }
    test_ctx_end(ctx);
}

static void test_bench_text_and_usage(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL, "unset ASC_MODE; $A bench cnn --runs 1 --no-reference --method lrp");
    assert_non_null(strstr(p->out, "compiled  highest"));
    assert_non_null(strstr(p->out, "cuts of a call"));
    program_expect(p, 2, "not 'slow'", "$A bench mlp --modes eager,slow");
    program_expect(p, 2, "'eager' twice", "$A bench mlp --modes eager,eager");
    program_expect(p, 2, "--runs is from 1", "$A bench mlp --runs 0");
    program_expect(p, 2, "one of --mode and --modes", "$A bench mlp --mode eager --modes eager");
    program_expect(p, 2, "--runs goes with --modes", "$A bench $L --runs 3");
    program_expect(p, 2, "did you mean 'saliency'", "$A bench mlp --method salency");
    program_expect(p, 2, "is for language models", "M=x.onnx; $A bench $M --prompt a");
}

/* Twelve cases in three modes, as good as f32 is; and on the exact device as good as f64 is. */
static void test_smoke(void **state) {
    static const char *const lines[] = {"$A smoke --json -",
                                        "$A smoke --device reference --modes deferred --json -"};
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    for (size_t i = 0; i < 2; i++) {
        program_expect(p, 0, NULL, lines[i]);
        asc_json *j = parsed(ctx, p);
        const asc_json *cases = asc_json_get(j, "cases");
        assert_int_equal(asc_json_len(cases), i == 0 ? 36 : 12);
        for (size_t k = 0; k < asc_json_len(cases); k++)
            assert_true(num(asc_json_at(cases, k), "error") <= (i == 0 ? 1e-6 : 2e-15));
        asc_json_free(j);
    }
    program_expect(p, 0, NULL, "$A smoke");
    assert_non_null(strstr(p->out, "all as they must be"));
    test_ctx_end(ctx);
}

static void test_leak(void **state) {
    static const char *const lines[] = {"$A leak mlp --mode compiled", "$A leak $L --ids 5,6,7 --runs 10",
                                        "$A leak cnn --mode eager --runs 20"};
    program *p = *state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        program_expect(p, 0, NULL, lines[i]);
        assert_null(strstr(p->out, "GROWS"));
        assert_non_null(strstr(p->out, "5000"));
    }
    program_expect(p, 2, "at least 3", "$A leak mlp --runs 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bench_rows, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(test_bench_text_and_usage, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(test_smoke, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(test_leak, program_setup, program_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
