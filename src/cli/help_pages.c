/* help_pages.c - docs/cli.md, the manual page and the shells' completions, written from the tables. */
#include "cli.h"
#include "shell.h"
#include <ctype.h>
#include <string.h>

static const struct {
    int code;
    const char *means;
} codes[] = {
    {0, "done"},
    {1, "a comparison failed (rerun), or stopped by Ctrl-C or SIGTERM: \"stopped\", nothing is written"},
    {2, "wrong use: unknown command or option, a value that makes no sense"},
    {3, "bad input or output: a file, the prompt or the target, an output file that cannot be written, too "
        "little memory"},
    {4, "an error of the program itself"}};
enum { N_CODES = sizeof codes / sizeof *codes };

static bool belongs(int option, int command) { return (cli_options[option].commands & 1u << command) != 0; }

/* In a table cell a bar must not end the cell. */
static void cell(asc_text *t, const char *s) {
    for (; *s != '\0'; s++) asc_text_addf(t, *s == '|' ? "\\%c" : "%c", *s);
}

void cli_help_markdown(asc_text *t) {
    asc_text_adds(
        t,
        "# Command line\n\nWritten by `ascribe help --markdown` from the tables in `src/cli/`; change "
        "those.\n\n"
        "    ascribe explain MODEL.gguf --prompt \"The capital of France is\" --target \" Paris\"\n\n"
        "Options are `--name value` or `--name=value`; `--` ends them. Text of others is shown with control\n"
        "characters escaped. Colours are for terminals only.\n\n| Command | What it does |\n|---|---|\n");
    for (int i = 0; i < N_COMMANDS; i++)
        asc_text_addf(t, "| [`%s`](#ascribe-%s) | %s |\n", cli_commands[i].name, cli_commands[i].name,
                      cli_commands[i].doc);
    asc_text_adds(t, "\n## Exit codes\n| Code | Meaning |\n|---|---|\n");
    for (size_t i = 0; i < N_CODES; i++) asc_text_addf(t, "| %d | %s |\n", codes[i].code, codes[i].means);
    asc_text_adds(
        t, "\n## Environment\nAn option beats its variable. `ascribe env` shows the values in force.\n\n"
           "| Variable | Meaning |\n|---|---|\n");
    for (size_t i = 0; i < cli_n_variables; i++)
        asc_text_addf(t, "| `%s` | %s |\n", cli_variables[i].name, cli_variables[i].doc);
    for (int i = 0; i < N_COMMANDS; i++) {
        const cli_command *k = &cli_commands[i];
        asc_text_addf(t,
                      "\n## ascribe %s\n    ascribe %s%s%s [options]\n\nIt will %s.\n\n| Option | Meaning "
                      "|\n|---|---|\n",
                      k->name, k->name, k->takes[0] ? " " : "", k->takes, k->doc);
        for (int o = 0; o < N_OPTIONS; o++) {
            if (!belongs(o, i)) continue;
            asc_text_addf(t, "| `--%s%s", cli_options[o].name, cli_options[o].arg[0] ? " " : "");
            cell(t, cli_options[o].arg);
            asc_text_adds(t, "` | ");
            cell(t, cli_options[o].doc);
            asc_text_adds(t, " |\n");
        }
    }
}

/* troff: a leading dot or quote and a backslash have a meaning, a plain hyphen becomes a typographic one. */
static void troff(asc_text *t, const char *s) {
    if (*s == '.' || *s == '\'') asc_text_adds(t, "\\&");
    for (; *s != '\0'; s++) {
        if (*s == '\\')
            asc_text_adds(t, "\\e");
        else if (*s == '-')
            asc_text_adds(t, "\\-");
        else
            asc_text_addf(t, "%c", *s);
    }
}

static void man_options(asc_text *t, int command) {
    for (int o = 0; o < N_OPTIONS; o++) {
        if (!belongs(o, command)) continue;
        asc_text_adds(t, ".TP\n\\fB\\-\\-");
        troff(t, cli_options[o].name);
        asc_text_adds(t, "\\fR");
        if (cli_options[o].arg[0] != '\0') {
            asc_text_adds(t, " \\fI");
            troff(t, cli_options[o].arg);
            asc_text_adds(t, "\\fR");
        }
        asc_text_adds(t, "\n");
        troff(t, cli_options[o].doc);
        asc_text_adds(t, "\n");
    }
}

static void man_codes(asc_text *t) {
    asc_text_adds(t, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < N_CODES; i++) {
        asc_text_addf(t, ".TP\n.B %d\n", codes[i].code);
        troff(t, codes[i].means);
        asc_text_adds(t, "\n");
    }
}

/* What can be typed into ascribe shell. */
static void man_shell(asc_text *t) {
    shell_help row;
    asc_text_adds(t, ".SH COMMANDS OF THE SHELL\nA line is a prompt, or one of\n");
    for (size_t i = 0; shell_help_at(i, &row); i++) {
        asc_text_adds(t, ".TP\n\\fB:");
        troff(t, row.name);
        asc_text_adds(t, "\\fR \\fI");
        troff(t, row.args);
        asc_text_adds(t, "\\fR\n");
        troff(t, row.doc);
        asc_text_adds(t, "\n");
    }
}

void cli_help_man_command(asc_text *t, cli_command_id id) {
    const cli_command *k = &cli_commands[id];
    asc_text_adds(t, ".TH ASCRIBE\\-");
    for (const char *p = k->name; *p != '\0'; p++)
        asc_text_addf(t, *p == '-' ? "\\-" : "%c", toupper((unsigned char)*p));
    asc_text_addf(t, " 1 \"\" \"ascribe %s\" \"User Commands\"\n.SH NAME\nascribe\\-", asc_version());
    troff(t, k->name);
    asc_text_adds(t, " \\- ");
    troff(t, k->doc);
    asc_text_adds(t, "\n.SH SYNOPSIS\n.B ascribe ");
    troff(t, k->name);
    asc_text_adds(t, "\n");
    if (k->takes[0] != '\0') {
        asc_text_adds(t, ".I ");
        troff(t, k->takes);
        asc_text_adds(t, "\n");
    }
    asc_text_adds(t, "[options]\n.SH OPTIONS\n");
    man_options(t, (int)id);
    if (id == CMD_shell) man_shell(t);
    man_codes(t);
    asc_text_adds(t, ".SH SEE ALSO\n.BR ascribe (1)\n");
}

void cli_help_man(asc_text *t) {
    asc_text_addf(t,
                  ".TH ASCRIBE 1 \"\" \"ascribe %s\" \"User Commands\"\n.SH NAME\nascribe \\- where did this "
                  "model output come "
                  "from?\n.SH SYNOPSIS\n.B ascribe\n.I COMMAND\n[options]\n.SH DESCRIPTION\nLoads a GGUF "
                  "language model, runs it on "
                  "the CPU, and says which parts of a prompt drove its answer, with the error of every "
                  "number.\n.SH COMMANDS\n",
                  asc_version());
    for (int i = 0; i < N_COMMANDS; i++) {
        const cli_command *k = &cli_commands[i];
        asc_text_addf(t, ".SS ascribe %s %s\nIt will %s.\n", k->name, k->takes, k->doc);
        man_options(t, i);
    }
    asc_text_adds(t, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < cli_n_variables; i++) {
        asc_text_addf(t, ".TP\n.B %s\n", cli_variables[i].name);
        troff(t, cli_variables[i].doc);
        asc_text_adds(t, "\n");
    }
    man_codes(t);
}

/* The fixed values of an argument ("cpu|reference"), blank-separated; "" when it is free text. */
static void choices(asc_text *t, const char *arg) {
    bool list = strchr(arg, '|') != NULL || islower((unsigned char)arg[0]);
    for (const char *p = arg; list && *p != '\0';) {
        size_t n = strcspn(p, "|"), fixed = 0;
        while (fixed < n && !isupper((unsigned char)p[fixed])) fixed++;
        asc_text_addf(t, "%.*s ", (int)fixed, p);
        p += n + (p[n] == '|');
    }
}

static bool is_file(const char *arg) { return strcmp(arg, "FILE") == 0; }

/* What an option's value may be, with blanks between. */
static void values(asc_text *t, const cli_option *k) {
    if (strcmp(k->name, "method") != 0) {
        choices(t, k->arg);
        return;
    }
    for (size_t i = 0; asc_method_at(i) != NULL; i++) asc_text_addf(t, "%s ", asc_method_at(i)->name);
}

static void bash_script(asc_text *t) {
    asc_text_adds(
        t,
        "# bash completion of ascribe; written by: ascribe completions bash\n_ascribe() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n    COMPREPLY=()\n"
        "    case $prev in\n");
    for (int o = 0; o < N_OPTIONS; o++) {
        const cli_option *k = &cli_options[o];
        if (k->arg[0] == '\0') continue;
        asc_text_addf(t, "    --%s) ", k->name);
        if (is_file(k->arg)) {
            asc_text_adds(t, "COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
        } else {
            asc_text_adds(t, "COMPREPLY=($(compgen -W \"");
            values(t, k);
            asc_text_adds(t, "\" -- \"$cur\")); return ;;\n");
        }
    }
    asc_text_adds(t, "    esac\n    if [ \"$COMP_CWORD\" = 1 ]; then\n        words=\"");
    for (int i = 0; i < N_COMMANDS; i++) asc_text_addf(t, "%s ", cli_commands[i].name);
    asc_text_adds(t, "--help --version\"\n    else\n        case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        asc_text_addf(t, "        %s) words=\"", cli_commands[i].name);
        for (int o = 0; o < N_OPTIONS; o++) {
            if (belongs(o, i)) asc_text_addf(t, "--%s ", cli_options[o].name);
        }
        if (i == CMD_completions) asc_text_adds(t, "bash zsh fish ");
        asc_text_adds(t, "\" ;;\n");
    }
    asc_text_adds(t, "        esac\n    fi\n    if [[ $cur == -* || $COMP_CWORD = 1 || ${COMP_WORDS[1]} = "
                     "completions ]]; then\n"
                     "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n    else\n"
                     "        COMPREPLY=($(compgen -f -- \"$cur\"))\n    fi\n}\ncomplete -o filenames -F "
                     "_ascribe ascribe\n");
}

/* Inside single quotes of zsh's _arguments: brackets and colons have a meaning, a quote ends the string. */
static void zsh_text(asc_text *t, const char *s) {
    for (; *s != '\0'; s++) {
        if (*s == '\'')
            asc_text_adds(t, "'\\''");
        else if (strchr("[]:\\", *s) != NULL)
            asc_text_addf(t, "\\%c", *s);
        else
            asc_text_addf(t, "%c", *s);
    }
}

static void zsh_script(asc_text *t) {
    asc_text_adds(t, "#compdef ascribe\n# written by: ascribe completions zsh\n_ascribe() {\n    local -a "
                     "commands\n    commands=(\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        asc_text_addf(t, "        '%s:", cli_commands[i].name);
        zsh_text(t, cli_commands[i].doc);
        asc_text_adds(t, "'\n");
    }
    asc_text_adds(
        t,
        "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
        "    local cmd=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $cmd in\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        asc_text_addf(t, "    %s)\n        _arguments", cli_commands[i].name);
        for (int o = 0; o < N_OPTIONS; o++) {
            if (!belongs(o, i)) continue;
            asc_text_addf(t, " \\\n            '--%s[", cli_options[o].name);
            zsh_text(t, cli_options[o].doc);
            asc_text_adds(t, "]");
            if (cli_options[o].arg[0] != '\0') {
                asc_text_addf(t, ":%s:", cli_options[o].name);
                if (is_file(cli_options[o].arg)) {
                    asc_text_adds(t, "_files");
                } else {
                    asc_text_adds(t, "(");
                    values(t, &cli_options[o]);
                    asc_text_adds(t, ")");
                }
            }
            asc_text_adds(t, "'");
        }
        asc_text_adds(t, i == CMD_completions ? " \\\n            '1:shell:(bash zsh fish)' ;;\n"
                                              : " \\\n            '*:file:_files' ;;\n");
    }
    asc_text_adds(t, "    esac\n}\n_ascribe \"$@\"\n");
}

/* In single quotes of fish a quote and a backslash have one before them. */
static void fish_text(asc_text *t, const char *s) {
    for (; *s != '\0'; s++) asc_text_addf(t, *s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
}

static void fish_script(asc_text *t) {
    asc_text_adds(t, "# fish completion of ascribe; written by: ascribe completions fish\n");
    for (int i = 0; i < N_COMMANDS; i++) {
        asc_text_addf(t, "complete -c ascribe -n __fish_use_subcommand -f -a %s -d '", cli_commands[i].name);
        fish_text(t, cli_commands[i].doc);
        asc_text_adds(t, "'\n");
    }
    for (int i = 0; i < N_COMMANDS; i++) {
        for (int o = 0; o < N_OPTIONS; o++) {
            const cli_option *k = &cli_options[o];
            if (!belongs(o, i)) continue;
            asc_text_addf(t, "complete -c ascribe -n '__fish_seen_subcommand_from %s' -l %s",
                          cli_commands[i].name, k->name);
            if (k->arg[0] != '\0') asc_text_adds(t, is_file(k->arg) ? " -r -F" : " -x -a '");
            if (k->arg[0] != '\0' && !is_file(k->arg)) {
                values(t, k);
                asc_text_adds(t, "'");
            }
            asc_text_adds(t, " -d '");
            fish_text(t, k->doc);
            asc_text_adds(t, "'\n");
        }
    }
    asc_text_adds(t,
                  "complete -c ascribe -n '__fish_seen_subcommand_from completions' -f -a 'bash zsh fish'\n");
}

bool cli_shell_script(asc_text *t, const char *shell) {
    if (strcmp(shell, "bash") == 0)
        bash_script(t);
    else if (strcmp(shell, "zsh") == 0)
        zsh_script(t);
    else if (strcmp(shell, "fish") == 0)
        fish_script(t);
    else
        return false;
    return true;
}
