/* main.c - the program: finds the command and runs it. */
#include "ascribe/env.h"
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int help_or(const char *word) {
    cli c = {.command = CMD_help};
    int rc = cli_open_context(&c);
    if (rc == EXIT_DONE && strcmp(word, "--version") == 0) {
        const char *name, *value;
        asc_text_addf(c.out, "ascribe %s\n", asc_version());
        for (size_t i = 0; asc_build_fact(i, &name, &value); i++) {
            asc_text_addf(c.out, "%-10s ", name);
            asc_text_wrap(c.out, value, 11, 100);
        }
        rc = cli_flush(&c);
    } else if (rc == EXIT_DONE) {
        rc = cli_show_help(&c, -1);
    }
    cli_close(&c);
    return rc;
}

/* Threads that wait for each other spin before they sleep. GCC's runtime spins for milliseconds by default,
 * which makes two threads on busy cores up to 70 times slower (docs/SPEED.md). It reads its settings before
 * main, so the program starts itself once more; whoever set one of them is left alone. */
static void wait_politely(char **argv) {
    const char *preload = getenv("LD_PRELOAD");
    if (getenv("GOMP_SPINCOUNT") != NULL || getenv("OMP_WAIT_POLICY") != NULL) return;
    if (preload != NULL && strstr(preload, "vgpreload") != NULL)
        return; /* valgrind stands in for the program */
    if (setenv("GOMP_SPINCOUNT", "4000", 1) == 0) execv("/proc/self/exe", argv); /* on failure: as it is */
}

int main(int argc, char **argv) {
    wait_politely(argv);
    cli_keep_streams();
    cli_install_signals();
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return help_or("--help");
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) return help_or("--version");
    cli c = {0};
    int rc = cli_parse(&c, argc, argv);
    if (rc != EXIT_DONE) return rc;
    if (cli_has(&c, OPT_HELP)) {
        rc = cli_open_context(&c);
        if (rc == EXIT_DONE) rc = cli_show_help(&c, (int)c.command);
    } else {
        rc = cli_profile_end(&c, cli_commands[c.command].run(&c));
    }
    cli_close(&c);
    return rc;
}
