/* test_cli_evaluate.c - faithfulness over a file of prompts: what is printed, that it is the same twice, what
 * is refused; and that an exact method beats the control on a real function. */
#include "run_program.h"
#include <math.h>

static double mean_of(const asc_json *method, const char *metric) {
    return asc_json_num(asc_json_get(asc_json_get(asc_json_get(method, "metrics"), metric), "mean"), NAN);
}

static void the_table(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    asc_json *j = NULL;
    program_expect(
        p, 0, NULL,
        "printf '%s\\n' '{\"prompt\": \"The capital of France is\", \"target\": \" Paris\"}' '{oops' "
        "'{\"prompt\": \"a b c d e f\", \"generate\": 2}' '{\"prompt\": \"one two three four\"}' >e.jsonl; "
        "$A evaluate $L --prompts e.jsonl --methods shapley-values,random,saliency --subsets 16 --json a");
    assert_non_null(strstr(p->out, "shapley-values"));
    assert_non_null(strstr(p->out, "prompt 2:"));
    program_expect(p, 0, NULL, "cat a");
    assert_ok(ctx, asc_json_parse(ctx, p->out, p->out_len, &j));
    assert_int_equal(asc_json_int(asc_json_get(j, "prompts"), 0), 3);
    assert_int_equal(asc_json_int(asc_json_get(j, "failed"), 0), 1);
    const asc_json *methods = asc_json_get(j, "methods"), *shapley = asc_json_at(methods, 0),
                   *control = asc_json_at(methods, 1);
    assert_true(mean_of(shapley, "linear-fit") > mean_of(control, "linear-fit"));
    assert_true(mean_of(shapley, "gap") > mean_of(control, "gap"));
    assert_true(isfinite(mean_of(shapley, "other-answer")) && isfinite(mean_of(shapley, "other-weights")));
    assert_true(isnan(mean_of(control, "other-weights")));
    asc_json_free(j);
    program_expect(
        p, 0, NULL,
        "$A evaluate $L --prompts e.jsonl --methods shapley-values,random,saliency --subsets 16 --json b "
        "--quiet --threads 1; for f in a b; do grep -v seconds $f >$f.t; done; cmp a.t b.t");
    program_expect(
        p, 0, NULL,
        "$A evaluate $L --prompts e.jsonl --methods saliency,random --no-sanity --markdown | grep -q '^| "
        "saliency |'");
    test_ctx_end(ctx);
}

static void refusals(void **state) {
    program *p = *state;
    program_expect(p, 2, "--prompts", "$A evaluate $L");
    program_expect(p, 2, "did you mean", "$A evaluate $L --prompts e.jsonl --methods saliencey");
    program_expect(p, 2, "has many", "$A evaluate $L --prompts e.jsonl --prompt a");
    program_expect(p, 3, "holds no prompts", "echo >n.jsonl; $A evaluate $L --prompts n.jsonl");
    program_expect(p, 3, "could be evaluated", "echo '[]' >n.jsonl; $A evaluate $L --prompts n.jsonl");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
