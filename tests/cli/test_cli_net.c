/* test_cli_net.c - commands on ONNX files: inspect, compare-methods, matrix; and bad input of each kind. The
 * net is ONNX's own test model of one Relu: what the methods must say of it is plain. */
#include "run_program.h"
#include <math.h>

#define MODEL "M=$Z/../../onnx/simple/test_single_relu_model/model.onnx; R=$Z/../../arrays; "

static void write_inputs(program *p) {
    program_expect(
        p, 0, NULL,
        MODEL "printf 'a,b\\n3,-2\\n' >r.csv; printf 'cat\\ndog\\n' >labels.txt; head -c 40 $M >cut.onnx");
}

static void test_inspect(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_json *j = NULL;
    program_expect(p, 0, NULL, MODEL "$A inspect $M");
    assert_non_null(strstr(p->out, "opset 9"));
    assert_non_null(strstr(p->out, "Relu 1"));
    program_expect(p, 0, NULL, MODEL "$A inspect $M --json -");
    assert_int_equal(asc_json_parse(ctx, p->out, p->out_len, &j), ASC_OK);
    assert_int_equal(asc_json_int(asc_json_get(j, "opset"), 0), 9);
    assert_int_equal(asc_json_int(asc_json_get(asc_json_get(j, "operators"), "Relu"), 0), 1);
    const asc_json *site = asc_json_at(asc_json_get(j, "sites"), 0);
    assert_int_equal(asc_json_int(asc_json_at(asc_json_get(site, "shape"), 1), 0), 2);
    asc_json_free(j);
    test_ctx_end(ctx);
}

/* f = relu(x0) at x = (3, -2): saliency (1, 0), input x gradient (3, 0). Taking x0 away first leaves 3, 0, 0:
 * an area of 0.75; putting it in first gives 0, 3, 3: 2.25. */
static void test_compare(void **state) {
    program *p = *state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_json *j = NULL;
    write_inputs(p);
    program_expect(
        p, 0, NULL,
        MODEL "$A compare-methods $M --input r.csv --methods saliency,input-x-gradient,lrp --json c.json "
              "--html c.html");
    assert_non_null(strstr(p->out, "Rank correlation"));
    program_expect(p, 0, NULL, "grep -q input-x-gradient c.html; cat c.json");
    assert_int_equal(asc_json_parse(ctx, p->out, p->out_len, &j), ASC_OK);
    const asc_json *methods = asc_json_get(j, "methods");
    assert_int_equal(asc_json_len(methods), 3);
    for (size_t i = 0; i < 3; i++) {
        const asc_json *m = asc_json_at(methods, i);
        assert_true(fabs(asc_json_num(asc_json_get(m, "deletion_area"), -1) - 0.75) < 1e-6);
        assert_true(fabs(asc_json_num(asc_json_get(m, "insertion_area"), -1) - 2.25) < 1e-6);
        assert_true(fabs(asc_json_num(asc_json_at(asc_json_get(m, "scores"), 0), -1) - (i == 0 ? 1 : 3)) <
                    1e-6);
        assert_true(fabs(asc_json_num(asc_json_at(asc_json_get(m, "scores"), 1), -1)) < 1e-6);
    }
    asc_json_free(j);
    test_ctx_end(ctx);
    /* one that cannot be run says why, and the others are there */
    program_expect(p, 1, NULL, MODEL "$A compare-methods $M --input r.csv --methods saliency,grad-cam");
    assert_non_null(strstr(p->out, "not run: grad-cam speaks of inner values"));
}

static void test_rerun(void **state) {
    program *p = *state;
    write_inputs(p);
    program_expect(
        p, 0, NULL,
        MODEL "printf \"it's a cat\\ndog\\n\" >l.txt; $A explain $M --input r.csv --labels l.txt --target "
              "\"it's a cat\" --method input-x-gradient --json r.json --quiet; $A rerun r.json");
    assert_non_null(strstr(p->out, "bit for bit"));
    program_expect(p, 1, NULL, "sed 's/\"data\": \\[3/\"data\": [4/' r.json >s.json; $A rerun s.json");
    assert_non_null(strstr(p->out, "the largest difference is 1,"));
    program_expect(p, 2, "holds no command",
                   "sed 's/\"command\": .*/\"command\": null,/' r.json >s.json; $A rerun s.json");
    program_expect(p, 2, "was not made by",
                   "sed 's/\"command\": .*/\"command\": \"ascribe matrix --device cpu\",/' r.json >s.json; "
                   "$A rerun s.json");
    program_expect(p, 3, "schema", "sed 's/\"schema\": 1/\"schema\": 9/' r.json >s.json; $A rerun s.json");
}

static void test_matrix(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL, "$A matrix --method integrated-gradients");
    assert_non_null(strstr(p->out, "transformer"));
    program_expect(p, 3, "no method 'tea' for nets", "$A matrix --method tea");
}

static void test_bad_input(void **state) {
    static const struct {
        int code;
        const char *command, *words;
    } cases[] = {
        {2, "explain $M", "no value for input 'x'"},
        {3, "explain none.onnx", "cannot open 'none.onnx'"},
        {3, "explain cut.onnx --input r.csv", "cut short"},
        {3, "inspect none.onnx", "cannot open"},
        {3, "inspect cut.onnx", "cut short"},
        {3, "explain $M --input none.npy", "cannot open 'none.npy'"},
        {2, "explain $M --input z=r.csv", "no input 'z'"},
        {2, "explain $M --input r.csv --input r.csv", "given twice"},
        {3, "explain $M --input $R/object.npy", "pickle"},
        {3, "explain $M --input r.csv --method saliency --target 7", "counts from 0 to 1"},
        {2, "explain $M --input r.csv --method saliency --target cow", "labels need --labels"},
        {2, "explain $M --input r.csv --labels labels.txt --target dgo", "did you mean 'dog'"},
        {3, "explain $M --input r.csv --method saliency --target-value yy", "nearest of its 1 sites: y"},
        {3, "explain $M --input r.csv --method saliency --site yy", "nearest of its 1 sites: y"},
        {3, "explain $M --input r.csv --method integrated-gradients --baseline $R/f64.npy",
         "the baseline of 'x'"},
        {3, "explain $M --input r.csv --method feature-ablation --mask $R/f64.npy", "must hold integers"},
        {3, "explain $M --input r.csv --method occlusion", "window"},
        {3, "explain $M --input r.csv --method grad-cam", "no site was given"},
        {3, "explain $M --input r.csv --method integrated-gradients --rule riemann-left --steps 100000000000",
         "1 to 100000"},
        {2, "explain $M --image r.csv", "no input that is a picture"},
        {2, "explain $M --input r.csv --method saliency --corrupted x", "is a net"},
        {2, "explain $M --input r.csv --method saliency --per-token", "is a net"},
        {2, "explain $M --input r.csv --method saliency --baseline 0", "does not read it"},
        {2, "explain $M --input r.csv --method saliency --output kl", "nets have logit"},
        {2, "explain $M --input r.csv --bytes-as raw", "goes with --bytes"},
        {2, "explain $M --input r.csv --method salience", "did you mean 'saliency'"},
        {2, "explain $M --input r.csv --json - --html -", "would mix on standard output"},
        {2, "explain $M --input r.csv --json a.out --html a.out", "name the same file"},
        {2, "explain $M --prompt hello", "for language models"},
        {2, "compare-methods $M --input r.csv --methods saliency,saliency", "twice"},
        {2, "compare-methods $M --input r.csv --methods gradcam", "did you mean 'grad-cam'"},
        {2, "compare-methods $M --input r.csv --methods ''", "names no method"},
        {2, "compare-methods $L --methods saliency", "no ONNX file"},
        {3, "compare-methods $M --input r.csv --methods occlusion", "window"},
        {3, "explain $M --input r.csv --method saliency --html /nowhere/x.html", "cannot write"},
        {3, "explain $M --input r.csv --method saliency --json /nowhere/x.json", "cannot write"},
        {3, "compare-methods $M --input r.csv --html /nowhere/x.html", "cannot write"},
    };
    program *p = *state;
    write_inputs(p);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[1024];
        snprintf(line, sizeof line, MODEL "$A %s", cases[i].command);
        program_expect(p, cases[i].code, cases[i].words, line);
    }
    /* nothing half-written: a run that fails leaves no page behind */
    program_expect(p, 3, "counts from",
                   MODEL
                   "$A explain $M --input r.csv --method saliency --target 7 --html h.html --json h.json");
    program_expect(p, 1, NULL, "ls h.html h.json 2>/dev/null && exit 0 || exit 1");
}

#define WITH_PROGRAM(f) cmocka_unit_test_setup_teardown(f, program_setup, program_teardown)
int main(void) {
    const struct CMUnitTest tests[] = {WITH_PROGRAM(test_inspect), WITH_PROGRAM(test_compare),
                                       WITH_PROGRAM(test_rerun), WITH_PROGRAM(test_matrix),
                                       WITH_PROGRAM(test_bad_input)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
