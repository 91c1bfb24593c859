/* test_cli_compare.c - ascribe compare: two result files; every method in several places and ways. */
#include "run_program.h"
#include <math.h>

static double num(const asc_json *j, const char *key) { return asc_json_num(asc_json_get(j, key), NAN); }
static bool is(const asc_json *j, const char *key) { return asc_json_bool(asc_json_get(j, key), false); }

static asc_json *parsed(asc_ctx *ctx, program *p) {
    asc_json *j = NULL;
    assert_ok(ctx, asc_json_parse(ctx, p->out, p->out_len, &j));
    return j;
}

static void test_prompt_files(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL,
                   "X='$A explain $L --prompt \"The capital of France\" --quiet'; eval \"$X --mode deferred "
                   "--json a.json\"; "
                   "eval \"$X --mode eager --threads 1 --json b.json\"; "
                   "eval \"$X --device reference --json r.json\"; eval \"$X --target-ids 7 --json t.json\"; "
                   "eval \"$X --method saliency --json m.json\"");
    program_expect(p, 0, NULL, "$A compare a.json b.json");
    assert_non_null(strstr(p->out, "bit for bit"));
    assert_non_null(strstr(p->out, "mode: deferred, eager"));
    program_expect(p, 0, NULL, "$A compare a.json r.json");
    assert_non_null(strstr(p->out, "Within"));
    assert_non_null(strstr(p->out, "device: cpu, reference"));
    program_expect(p, 3, "differ in: the target", "$A compare a.json t.json");
    program_expect(p, 3, "differ in: the method", "$A compare a.json m.json");
    /* a score that moved by more than its error */
    program_expect(p, 1, NULL,
                   "sed '0,/\"score\": /s//\"score\": 1/' r.json >x.json; $A compare a.json x.json");
    assert_non_null(strstr(p->out, "BEYOND"));
    assert_non_null(strstr(p->out, "NOT within"));
    program_expect(p, 3, "no usable result", "echo '{}' >e.json; $A compare a.json e.json");
    program_expect(p, 3, "second file", "head -c 100 a.json >e.json; $A compare a.json e.json");
    program_expect(p, 2, "goes with a model", "$A compare a.json b.json --modes eager");
    asc_ctx *ctx = test_ctx(NULL, NULL);
    program_expect(p, 0, NULL, "$A compare a.json r.json --top-k 2 --json -");
    asc_json *j = parsed(ctx, p);
    assert_true(is(j, "within") && !is(j, "same_bits"));
    assert_true(num(j, "max_rel") > 0 && num(j, "max_rel") < 1e-3 && num(j, "excess") <= 1);
    assert_int_equal(asc_json_int(asc_json_get(j, "top_k"), 0), 2);
    assert_true(asc_json_len(asc_json_get(j, "scores")) > 2);
    asc_json_free(j);
    test_ctx_end(ctx);
}

static void test_net_files(void **state) {
    program *p = *state;
    program_expect(
        p, 0, NULL,
        "M=$Z/../../onnx/simple/test_single_relu_model/model.onnx; printf 'a,b\\n3,-2\\n' >r.csv; printf "
        "'a,b\\n3,2\\n' >s.csv; X=\"$A explain $M --method integrated-gradients --target 0 --quiet\"; "
        "$X --input r.csv --json a.json; $X --input r.csv --mode eager --json b.json; "
        "$X --input s.csv --json c.json; $X --input r.csv --tolerance 0.5 --json d.json");
    program_expect(p, 0, NULL, "$A compare a.json b.json");
    program_expect(p, 3, "differ in: the input", "$A compare a.json c.json");
    program_expect(p, 0, NULL, "$A compare a.json d.json");
    assert_non_null(strstr(p->out, "option tolerance: default, 0.5"));
    program_expect(p, 1, NULL,
                   "sed 's/\"data\": \\[3/\"data\": [4/' a.json >x.json; $A compare a.json x.json");
    assert_non_null(strstr(p->out, "[0, 0]"));
}

/* Every method on the small nets: the same bits in every mode with one thread and two. */
static void test_places(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    program_expect(p, 0, NULL, "$A compare mlp --json -");
    asc_json *j = parsed(ctx, p);
    const asc_json *rows = asc_json_get(j, "rows");
    assert_true(asc_json_len(rows) >= 30);
    for (size_t i = 0; i < asc_json_len(rows); i++) {
        const asc_json *places = asc_json_get(asc_json_at(rows, i), "places");
        for (size_t k = 0; k < asc_json_len(places); k++) {
            assert_true(is(asc_json_at(places, k), "same_bits_in_all_modes"));
            assert_true(num(asc_json_at(places, k), "max_rel") <= 1e-6); /* as ascribe matrix has it */
        }
    }
    asc_json_free(j);
    program_expect(p, 0, NULL, "$A compare $L --prompt 'The capital of' --modes eager,compiled --threads 1");
    assert_non_null(strstr(p->out, "16 rows in 2 ways: all within"));
    program_expect(p, 0, NULL, "$A compare cnn --method lrp --against tpu-default --json -");
    j = parsed(ctx, p);
    const asc_json *place = asc_json_at(asc_json_get(asc_json_at(asc_json_get(j, "rows"), 0), "places"), 1);
    assert_true(num(place, "max_rel") < 0.1);
    assert_true(num(place, "max_rel") > 1e-5);
    /* of the model in a file too; every level is further away than the one before it */
    double last = 0;
    static const char *const units[] = {"tpu-highest", "tpu-high", "tpu-default"};
    for (size_t i = 0; i < 3; i++) {
        char line[256];
        snprintf(line, sizeof line, "$A compare $L --ids 5,9,12 --method saliency --against %s --json -",
                 units[i]);
        program_expect(p, 0, NULL, line);
        asc_json_free(j);
        j = parsed(ctx, p);
        place = asc_json_at(asc_json_get(asc_json_at(asc_json_get(j, "rows"), 0), "places"), 1);
        assert_true(num(place, "max_rel") > last && num(place, "max_rel") < 0.2);
        last = num(place, "max_rel");
    }
    asc_json_free(j);
    program_expect(p, 0, NULL, "$A compare mlp --precision high --emulate --method saliency --markdown");
    assert_non_null(strstr(p->out, "| saliency | input |"));
    program_expect(p, 2, "leave out --devices", "$A compare mlp --against tpu-high --devices cpu");
    program_expect(p, 2, "not 'gpu'", "$A compare mlp --devices gpu");
    test_ctx_end(ctx);
}

static void test_ops(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    program_expect(p, 0, NULL, "$A ops --probe --device cpu --json -");
    asc_json *j = parsed(ctx, p);
    const asc_json *probe = asc_json_at(asc_json_get(j, "probes"), 0);
    assert_true(num(probe, "works") > 400 && num(probe, "wrong") == 0 && num(probe, "missing") == 0);
    asc_json_free(j);
    program_expect(p, 0, NULL,
                   "unset ASC_ISA ASC_THREADS; $A ops --probe --op matmul --sample 0 --mode eager");
    assert_non_null(strstr(p->out, "ascribe ops --probe --mode eager --op matmul --sample 0"));
    assert_non_null(strstr(p->out, "= matmul f32"));
    program_expect(p, 0, NULL, "$A compare --ops --op gelu --modes deferred --devices reference,cpu");
    assert_non_null(strstr(p->out, "baseline"));
    program_expect(p, 3, "no op 'gellu'", "$A ops --probe --op gellu");
    program_expect(p, 2, "go with --probe", "$A ops --op gelu");
    program_expect(p, 2, "needs two result files, a model, or --ops", "$A compare");
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_prompt_files, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(test_net_files, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(test_places, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(test_ops, program_setup, program_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
