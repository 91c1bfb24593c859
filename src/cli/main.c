/* main.c - the program: finds the command and runs it. */
#include "cli.h"
#include <stdio.h>
#include <string.h>

static int help_or(const char *word) {
    cli c = {.command = CMD_help};
    int rc = cli_open_context(&c);
    if (rc == EXIT_DONE && strcmp(word, "--version") == 0) {
        asc_text_addf(c.out, "ascribe %s\n", asc_version());
        rc = cli_flush(&c);
    } else if (rc == EXIT_DONE) {
        rc = cli_show_help(&c, -1);
    }
    cli_close(&c);
    return rc;
}

int main(int argc, char **argv) {
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
        rc = cli_commands[c.command].run(&c);
    }
    cli_close(&c);
    return rc;
}
