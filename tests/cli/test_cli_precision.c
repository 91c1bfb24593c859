/* test_cli_precision.c - levels of products on the command line: in results, on a second run, refused. */
#include "run_program.h"
#include <math.h>

static void test_levels_are_kept(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL,
                   "X='$A explain $L --ids 5,9,12,3 --method saliency --quiet'; eval \"$X --json a.json\"; "
                   "eval \"$X --precision medium --json m.json\"; "
                   "eval \"$X --precision-at blocks.0=medium --precision-at head=high --json s.json\"");
    program_expect(p, 0, NULL, "grep -A1 '\"precision\"' m.json");
    assert_non_null(strstr(p->out, "\"medium\""));
    program_expect(p, 0, NULL, "grep -A5 '\"precision_at\"' s.json");
    assert_non_null(strstr(p->out, "\"blocks.0=medium\""));
    assert_non_null(strstr(p->out, "\"head=high\""));
    program_expect(p, 0, NULL, "$A compare a.json m.json"); /* the errors know the level */
    assert_non_null(strstr(p->out, "precision: highest, medium"));
    program_expect(p, 0, NULL, "$A compare a.json s.json");
    assert_non_null(strstr(p->out, "precision_at"));
    program_expect(p, 0, NULL, "$A rerun m.json && $A rerun s.json");
    assert_non_null(strstr(p->out, "bit for bit"));
    program_run(p, "$A rerun m.json --precision highest");
    assert_non_null(strstr(p->out, "the precision: was medium, is highest"));
}

static void test_nets(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL,
                   "M=$Z/../../onnx/simple/test_single_relu_model/model.onnx; printf 'a,b\\n3,-2\\n' >r.csv; "
                   "$A explain $M --input r.csv --method saliency --precision high --json n.json --quiet; $A "
                   "rerun n.json");
    assert_non_null(strstr(p->out, "bit for bit"));
    program_expect(p, 0, NULL, "grep '\"precision\": \"high\"' n.json");
    program_expect(p, 3, "no part 'nowhere'",
                   "M=$Z/../../onnx/simple/test_single_relu_model/model.onnx; "
                   "$A explain $M --input r.csv --method saliency --precision-at nowhere=high");
}

/* A part that is misspelt is an error before anything runs, with the nearest name; one without products is
 * said. */
static void test_unknown_parts(void **state) {
    program *p = *state;
    static const char *const cases[][2] = {
        {"blocks.0.atn", "no part 'blocks.0.atn'; did you mean 'blocks.0.attn'?"},
        {"heads", "did you mean 'head'?"},
        {"blocks.77", "no part 'blocks.77'"},
        {"blocks.0.attnx", "did you mean 'blocks.0.attn'?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[300];
        snprintf(command, sizeof command, "$A explain $L --prompt 'a b' --precision-at %s=high", cases[i][0]);
        program_expect(p, 3, cases[i][1], command);
        snprintf(command, sizeof command,
                 "echo '{\"prompt\": \"a b\"}' >q.json; $A explain $L --ask q.json --precision-at %s=high",
                 cases[i][0]);
        program_expect(p, 3, cases[i][1], command);
    }
    program_expect(p, 3, "did you mean 'blocks.1'?",
                   "$A compare $L --modes eager,deferred --precision-at block.1=high");
    program_expect(
        p, 0, NULL,
        "$A explain $L --prompt 'a b' --precision-at blocks=high --precision-at blocks.1.attn=medium");
    program_expect(p, 0, "no product belongs to 'blocks.0.out'",
                   "$A explain $L --prompt 'a b' --precision-at blocks.0.out=high");
}

static void test_int8(void **state) {
    program *p = *state;
    program_expect(p, 3, "--force-int8", "$A explain $L --prompt a --precision int8");
    program_expect(p, 3, "not for final numbers", "$A explain $L --prompt a --precision-at head=int8");
    program_expect(p, 0, NULL,
                   "$A explain $L --prompt a --precision int8 --force-int8 --json i.json; $A rerun i.json");
    program_expect(p, 0, NULL, "$A bench mlp --precision int8 --modes deferred --runs 1"); /* it measures */
    program_expect(p, 2, "SITE=LEVEL", "$A explain $L --prompt a --precision-at head");
    program_expect(p, 2, "SITE=LEVEL", "$A explain $L --prompt a --precision-at head=lowest");
    program_expect(p, 2, "is one of", "$A explain $L --prompt a --precision lowest");
    program_expect(p, 3, "--force-int8", "ASC_PRECISION=int8 $A explain $L --prompt a");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_levels_are_kept, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(test_nets, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(test_unknown_parts, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(test_int8, program_setup, program_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
