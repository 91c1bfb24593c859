/* cmd_shell.c - ascribe shell: a model stays loaded, questions and answers go on. */
#include "cli.h"
#include "shell.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SETTINGS = 64 };

/* An option that has a key of its name. */
static const char *as_setting(const cli *c, cli_option_id o, char *out, size_t size) {
    snprintf(out, size, "%s=%s", cli_options[o].name, c->value[o]);
    return out;
}

int cmd_shell(cli *c) {
    const char *settings[MOST_SETTINGS], *history = c->value[OPT_HISTORY];
    char path[4096];
    cli_adapters adapters;
    shell_options o = {.model_path = c->operand[0],
                       .set = settings,
                       .quiet = cli_has(c, OPT_QUIET),
                       .interactive = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO),
                       .clear_progress = cli_clear_progress,
                       .style = cli_style(c)};
    static const cli_option_id named[] = {OPT_MEMORY, OPT_SEED, OPT_TEMPERATURE, OPT_TOP_P, OPT_TOP_K};
    enum { N_NAMED = sizeof named / sizeof *named };
    char words[N_NAMED][80];
    for (size_t i = 0; i < N_NAMED; i++) {
        if (cli_has(c, named[i])) settings[o.n_set++] = as_setting(c, named[i], words[i], sizeof words[i]);
    }
    size_t first = o.n_set;
    if (!o.interactive) { /* also when only the input is no terminal: what is piped is not for the eye */
        o.style.colours = ASC_COLOURS_NONE;
        o.style.rows = 0;
    }
    for (const char *v; (v = cli_nth(c, OPT_SET, o.n_set - first)) != NULL; o.n_set++) {
        if (o.n_set == MOST_SETTINGS)
            return cli_usage("--set: too many of them, at most %d", MOST_SETTINGS - N_NAMED);
        settings[o.n_set] = v;
    }
    int rc = cli_open_context(c);
    if (rc == EXIT_DONE) rc = cli_model_options(c, &adapters, &o.model);
    if (rc != EXIT_DONE) return rc;
    if (history == NULL && shell_history_path(path, sizeof path)) history = path;
    if (history != NULL && strcmp(history, "off") != 0) o.history = history;
    cli_watch_file(c->operand[0]);
    return shell_run(c->ctx, &o);
}
