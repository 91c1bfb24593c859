/* test_cli_questions.c - spans, matrices, templates and documents as users ask for them: what is answered,
 * what is refused and how, and that a result runs again. */
#include "run_program.h"

static void questions(void **state) {
    program *p = *state;
    const char *const good[] = {
        "--target ' of the' --per-token", "--target ' of the' --span 0:1 --method saliency", "--output kl",
        "--target ' of the' --per-token --method input-x-gradient",
        "--target ' of' --per-token --method integrated-gradients --rule riemann-middle"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char line[512];
        snprintf(line, sizeof line,
                 "$A explain $L --prompt 'The capital' %s --json q.json --html q.html --quiet", good[i]);
        program_expect(p, 0, NULL, line);
        program_expect(p, 0, NULL, "$A rerun q.json");
    }
    program_expect(
        p, 0, NULL,
        "$A explain $L --prompt 'The capital' --target ' of the' --per-token | grep -q 'each answer token'");
    program_expect(p, 2, "--span FIRST:END", "$A explain $L --prompt a --span 3:1");
    program_expect(p, 3, "no part that reads", "$A explain $L --prompt a --span nowhere");
    program_expect(p, 2, "--site is one",
                   "$A explain $L --prompt a --method conductance --site blocks.0.out --site blocks.1.out");
    program_expect(p, 3, "gradient of 0", "$A explain $L --prompt a --output kl --method saliency");
    program_expect(p, 3, "no pairs", "$A explain $L --prompt a --target ' b' --versus ' c' --per-token");
}

static void templates(void **state) {
    program *p = *state;
    program_expect(
        p, 0, NULL,
        "echo '[\"Tom\"]' >v.json; $A explain $L --template 'Dear {name}, {{x}} {}' --values name=Anna "
        "--values v.json --json t.json --quiet && grep -q 'Dear Anna, {x} Tom' t.json");
    program_expect(p, 0, NULL, "$A rerun t.json");
    program_expect(p, 3, "line 1, column 6: a placeholder that is not closed",
                   "$A explain $L --template 'Dear {name' --values name=Anna");
    program_expect(p, 3, "no value for the placeholder {nam}",
                   "$A explain $L --template 'Dear {nam}' --values name=Anna");
    program_expect(p, 2, "--template needs --values", "$A explain $L --template 'Dear {name}'");
    program_expect(p, 2, "more than one prompt",
                   "$A explain $L --template 'a {}' --values v.json --prompt b");
    program_expect(p, 3, "v2.json", "echo '{' >v2.json; $A explain $L --template 'a {}' --values v2.json");
}

static void documents(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL,
                   "printf '{\"text\": \"One is here.\", \"label\": \"one\"}\\n\\n\"Another.\"\\n' >d.jsonl; "
                   "echo text >two; "
                   "$A explain $L --documents d.jsonl --documents two --question 'What is here?' --json "
                   "d.json --quiet && "
                   "grep -q '\"two\"' d.json");
    program_expect(p, 0, NULL, "$A rerun d.json");
    program_expect(p, 3, "line 2",
                   "printf '\"a\"\\n{\"txt\": 1}\\n' >e.jsonl; $A explain $L --documents e.jsonl");
    program_expect(p, 2, "--question goes with a document", "$A explain $L --user a --question b");
    program_expect(p, 2, "no part that reads", "$A explain $L --prompt 'a b' --freeze c");
    program_expect(p, 0, NULL, "$A explain $L --prompt 'one two three' --freeze two --quiet");
    program_expect(p, 2, "has no token", "$A explain $L --prompt 'one two' --skip-tokens '<nothing>'");
    program_expect(p, 0, NULL,
                   "$A explain $L --prompt 'one two' --features token --skip-tokens '<s>,5' --quiet");
}

/* Text of others in the page's table and in its attributes is shown, never obeyed. */
static void hostile_text(void **state) {
    program *p = *state;
    program_expect(
        p, 0, NULL,
        "printf '<script>x</script> \\342\\200\\256evil\\342\\200\\213 \\\"onload=1' >h.txt; $A explain $L "
        "--prompt-file h.txt --target '<img>' --per-token --html h.html --quiet");
    program_expect(p, 0, NULL, "! grep -q '<img>' h.html && ! grep -q '<script>x' h.html");
    program_expect(p, 0, NULL, "! grep -q \"$(printf '\\342\\200\\256')\" h.html");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(questions), cmocka_unit_test(templates),
                                       cmocka_unit_test(documents), cmocka_unit_test(hostile_text)};
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
