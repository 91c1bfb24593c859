/* test_cli_encoder.c - folders of text encoders and image classifiers on the command line: what is asked,
 * what is refused and with what to use instead, results that can be run again. */
#include "run_program.h"

#define E "E=$Z/../../encoders; "

static void classes(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL,
                   E "$A explain $E/electra --ids 5,9,30,3 --features token --label 1 --versus LABEL_0 "
                     "--json r.json --html r.html");
    assert_non_null(strstr(p->out, "Class     \"LABEL_1\""));
    assert_non_null(strstr(p->out, "minus that of the other class"));
    program_expect(p, 0, NULL,
                   "grep -q '\"label\": \"LABEL_1\"' r.json && grep -q 'What drove the class' r.html && "
                   "$A rerun r.json");
    assert_non_null(strstr(p->out, "same numbers"));
    program_expect(p, 0, NULL,
                   E "$A inspect $E/electra | grep -q '2 classes: LABEL_0, LABEL_1' && "
                     "$A inspect $E/mpnet | grep -q 'embeddings of 12 numbers'");
}

static void refused(void **state) {
    program *p = *state;
    program_expect(p, 2, "give --text", E "$A explain $E/electra --prompt a");
    program_expect(p, 3, "LABEL_0, LABEL_1", E "$A explain $E/electra --ids 5,9 --label joy");
    program_expect(p, 3, "no classes", E "$A explain $E/mpnet --ids 5,9 --label joy");
    program_expect(p, 3, "tokenizer.json", E "$A explain $E/electra --text 'a film'");
    program_expect(p, 3, "cannot continue a text", E "$A generate $E/electra --ids 5,9");
    program_expect(p, 3, "no answer", E "$A explain $E/electra --ids 5,9 --target x");
    program_expect(p, 3, "language model", "$A explain $L --prompt a --label x");
    program_expect(p, 3, "language model", "$A explain $L --prompt a --similar-to x");
    program_expect(p, 2, "--text is for language models", E "$A explain $E/deit --text a");
}

static void images(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL,
                   E "$A explain $E/deit --image $Z/../../image/grey.png --normalise half --target LABEL_2 "
                     "--method input-x-gradient --json r.json --html r.html");
    program_expect(p, 0, NULL, E "$A inspect $E/deit-teacher | grep -q 'image classifier'");
    program_expect(p, 0, NULL,
                   E "$A explain $E/deit --image $Z/../../image/grey.png --target 1 --method saliency "
                     "--site deit.encoder.layer.0.output.dense");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(classes, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(refused, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(images, program_setup, program_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
