/* test_cli_completions.c - the completion scripts, run by the shells that they are for: what Tab offers. A
 * shell that is not installed is skipped, and that is said. */
#include "run_program.h"

/* Is there such a program? Else the test is skipped. */
static bool has(program *p, const char *shell) {
    char command[100];
    snprintf(command, sizeof command, "command -v %s >found", shell);
    if (program_run(p, command) == 0) return true;
    fprintf(stderr, "%s is not installed: its completion was not run (scripts/install-deps.sh --full)\n",
            shell);
    return false;
}

static const char *const cases[][2] = {
    {"ascribe expl", "explain"},
    {"ascribe explain --temp", "--template"},
    {"ascribe explain --method lay", "layer-activation"},
    {"ascribe generate --top", "--top-k"},
    {"ascribe completions fi", "fish"},
    {"ascribe explain mod", "model.here"},
    {"ascribe explain --device re", "reference"},
};

static void test_bash(void **state) {
    program *p = *state;
    if (!has(p, "bash")) skip();
    program_expect(p, 0, NULL,
                   "$A completions bash >c.bash; touch model.here; cat >t.bash <<'EOF'\n"
                   ". ./c.bash\n"
                   "read -ra COMP_WORDS <<<\"$1\"\n"
                   "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                   "_ascribe\n"
                   "printf '%s\\n' \"${COMPREPLY[@]}\"\n"
                   "EOF\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[300];
        snprintf(command, sizeof command, "bash t.bash '%s' | grep -qx -- '%s'", cases[i][0], cases[i][1]);
        program_expect(p, 0, NULL, command);
    }
}

static void test_fish(void **state) {
    program *p = *state;
    if (!has(p, "fish")) skip();
    program_expect(p, 0, NULL, "$A completions fish >c.fish; touch model.here; mkdir -p home");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[400];
        snprintf(command, sizeof command,
                 "HOME=$PWD/home fish -N -c 'source c.fish; complete -C \"%s\"' >offers && cut -f1 offers | "
                 "grep -qx -- "
                 "'%s'",
                 cases[i][0], cases[i][1]);
        program_expect(p, 0, NULL, command);
    }
}

/* zsh completes only where somebody types, so it gets a terminal of its own (zpty); compadd tells what it is
 * given. */
static void test_zsh(void **state) {
    program *p = *state;
    if (!has(p, "zsh")) skip();
    program_expect(
        p, 0, NULL,
        "mkdir -p functions; $A completions zsh >functions/_ascribe; touch model.here; cat >t.zsh <<'EOF'\n"
        "zmodload zsh/zpty\n"
        "zpty z zsh -f -i\n"
        "zpty -w z 'PS1= PROMPT_EOL_MARK=; stty -echo; fpath=($PWD/functions "
        "$fpath); "
        "autoload -Uz compinit; compinit -u -D; "
        "compadd() { local -a __r; builtin compadd -A __r \"$@\"; (( $#__r )) && print -rl -- \"${(@)__r}\" "
        ">>$PWD/offers; builtin compadd \"$@\" }; "
        "told() { print told >>$PWD/offers; zle kill-whole-line }; zle -N told; bindkey ^X told; bindkey ^I "
        "complete-word; print rea\"\"dy'\n"
        "zpty -r z line '*ready*'\n"
        ": >offers\n"
        "zpty -w -n z \"$1\"$'\\t\\x18'\n"
        "for i in {1..6000}; do grep -qx told offers && exit 0; zpty -r -t z line; sleep 0.05; done\n"
        "exit 1\n"
        "EOF\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[300];
        snprintf(command, sizeof command, "zsh -f t.zsh '%s'; cat offers; grep -qx -- '%s' offers",
                 cases[i][0], cases[i][1]);
        program_expect(p, 0, NULL, command);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bash, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(test_fish, program_setup, program_teardown),
        cmocka_unit_test_setup_teardown(test_zsh, program_setup, program_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
