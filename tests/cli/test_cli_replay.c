/* test_cli_replay.c - a run that fails leaves a replay file, and `ascribe replay` runs it again. */
#include "run_program.h"

static void prints(program *p, int code, const char *words, const char *command) {
    program_expect(p, code, NULL, command);
    if (strstr(p->out, words) == NULL) fail_msg("no '%s' in: %s\nof: %s", words, p->out, command);
}

static void test_a_saved_cut(void **state) {
    program *p = *state;
    program_expect(p, 0, "the program and its inputs are in 'cut.replay'",
                   "ASC_REPLAY=cut.replay ASC_REPLAY_CUT=1 $A memory mlp --quiet");
    prints(p, 0, "the same numbers as stored", "$A replay cut.replay");
    prints(p, 0, "the same numbers as stored", "$A replay cut.replay --mode eager --threads 1");
    prints(p, 0, "elements differ", "$A replay cut.replay --device reference");
    prints(p, 1, "DIFFERENT", "$A replay cut.replay --device reference --tolerance 1e-12");
    prints(p, 0, "not compared", "$A replay cut.replay --device null");
    prints(p, 0, "no numbers compared", "$A ops --probe --op add --device null");
    prints(p, 0, "%0 = input f32", "$A replay cut.replay --program");
    prints(p, 0, "\"has_outputs\": true", "$A replay cut.replay --json -");
}

static void test_bad_files(void **state) {
    program *p = *state;
    program_expect(p, 3, "no replay file", "echo nonsense >x; $A replay x");
    program_expect(p, 3, "No such file", "$A replay no.such");
    program_expect(p, 3, "checksum",
                   "ASC_REPLAY=b.replay ASC_REPLAY_CUT=1 $A "
                   "memory mlp --mode deferred --quiet 2>/dev/null; printf x | dd of=b.replay bs=1 seek=1500 "
                   "conv=notrunc 2>/dev/null; $A replay b.replay");
    program_expect(p, 2, "tolerance", "$A replay x --tolerance nonsense");
    program_expect(p, 3, "Not a directory", "ASC_CACHE=1 ASC_CACHE_DIR=/dev/null $A cache list");
}

/* Level 1 logs, level 2 traps; without them nothing is said. */
static void test_levels(void **state) {
    program *p = *state;
    program_expect(p, 0, "debug: cut (", "ASC_DEBUG=1 $A memory mlp --quiet");
    program_expect(p, 0, "debug: program after the passes", "ASC_DEBUG=3 $A memory mlp --quiet");
    program_expect(p, 0, "mean", "ASC_DEBUG=5 $A memory mlp --quiet");
    program_expect(p, 3, "ASC_DEBUG is a number from 0 to 5", "ASC_DEBUG=6 $A memory mlp --quiet");
    prints(p, 0, "ASC_DEBUG", "$A env");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_saved_cut),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_levels),
    };
    return cmocka_run_group_tests(tests, program_setup, program_teardown);
}
