/* test_cli_files.c - what a command must never do to files: overwrite what it reads, take one for a standard
 * stream. */
#include "run_program.h"

static void inputs_are_kept(void **state) {
    program *p = *state;
    program_expect(p, 0, NULL, "cp $L m.gguf; chmod u+w m.gguf; cp m.gguf kept; ln -s m.gguf l.gguf");
    const char *const writes[] = {"$A explain m.gguf --prompt a --json m.gguf",
                                  "$A explain m.gguf --prompt a --html l.gguf",
                                  "$A explain l.gguf --prompt a --json ./m.gguf",
                                  "$A inspect m.gguf --json m.gguf",
                                  "$A tokenize m.gguf --prompt a --json m.gguf",
                                  "$A generate m.gguf --prompt a --generate 1 --json m.gguf"};
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
        program_expect(p, 3, "would be overwritten", writes[i]);
    program_expect(p, 0, NULL, "cmp m.gguf kept");
    program_expect(p, 3, "would be overwritten",
                   "echo hello >p.txt; $A explain m.gguf --prompt-file p.txt --json p.txt");
    program_expect(p, 0, NULL, "grep -q hello p.txt");
    program_expect(p, 0, NULL, "$A explain m.gguf --prompt a --json r.json");
    program_expect(p, 3, "would be overwritten", "$A rerun r.json --json r.json");
    program_expect(p, 3, "would be overwritten", "$A rerun r.json --json m.gguf");
    program_expect(p, 2, "same file", "$A explain m.gguf --prompt a --json o --html o");
    program_expect(p, 0, NULL, "cmp m.gguf kept && [ ! -e o ]");
}

static void closed_streams(void **state) {
    program_expect(*state, 3, "try:", "$A explain $L --prompt a >&-");
    program_expect(*state, 3, "standard input", "$A explain $L --prompt-file - <&-");
    program_expect(*state, 0, NULL, "$A explain $L --prompt a --json c.json --quiet <&- >&- 2>&-");
    program_expect(*state, 0, NULL, "grep -q schema c.json");
}

static void messages_name_the_file(void **state) {
    program_expect(*state, 3, "bad.json", "echo '{' >bad.json; $A explain $L --chat bad.json");
    program_expect(*state, 3, "try:", "$A explain $L --chat bad.json");
    program_expect(*state, 3, "bad.json", "$A rerun bad.json");
    program_expect(*state, 3, "bad.json", "echo '[{\"role\": 1}]' >bad.json; $A explain $L --chat bad.json");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(inputs_are_kept), cmocka_unit_test(closed_streams),
                                       cmocka_unit_test(messages_name_the_file)};
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
