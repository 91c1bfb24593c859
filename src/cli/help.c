/* help.c - help in the terminal, written from the tables. */
#include "ascribe/ask.h"
#include "cli.h"
#include "shell.h"
#include <string.h>

enum { WIDTH = 100, NAMES = 34 };

static void option_line(asc_text *t, const cli_option *o) {
    size_t used = 4 + strlen(o->name) + (o->arg[0] != '\0' ? strlen(o->arg) + 1 : 0);
    asc_text_addf(t, "  --%s%s%s", o->name, o->arg[0] != '\0' ? " " : "", o->arg);
    if (used + 2 > NAMES) {
        asc_text_adds(t, "\n");
        used = 0;
    }
    asc_text_blanks(t, NAMES - used);
    asc_text_wrap(t, o->doc, NAMES, WIDTH);
}

void cli_help_command(asc_text *t, cli_command_id id) {
    const cli_command *k = &cli_commands[id];
    const char *group = "";
    asc_text_addf(t, "ascribe %s: %s\n\nusage: ascribe %s%s%s [options]\n", k->name, k->doc, k->name,
                  k->takes[0] ? " " : "", k->takes);
    for (int o = 0; o < N_OPTIONS; o++) {
        if (!(cli_options[o].commands & 1u << id)) continue;
        if (strcmp(group, cli_options[o].group) != 0) {
            group = cli_options[o].group;
            asc_text_addf(t, "\n%s\n", group);
        }
        option_line(t, &cli_options[o]);
    }
    shell_help row;
    if (id == CMD_shell) asc_text_adds(t, "\nInside it a line is a prompt, or one of\n");
    for (size_t i = 0; id == CMD_shell && shell_help_at(i, &row); i++) {
        asc_text_addf(t, "  :%s %s\n", row.name, row.args);
        asc_text_adds(t, "        ");
        asc_text_wrap(t, row.doc, 8, 100);
    }
}

void cli_help_overview(asc_text *t) {
    asc_text_adds(t,
                  "ascribe: where did this model output come from?\n\nusage: ascribe COMMAND [options]\n\n");
    for (int i = 0; i < N_COMMANDS; i++)
        asc_text_addf(t, "  %-16s %s\n", cli_commands[i].name, cli_commands[i].doc);
    asc_text_adds(
        t, "\nascribe COMMAND --help shows the options of a command; ascribe --version the version.\n"
           "For example:\n"
           "  ascribe explain MODEL.gguf --prompt \"The capital of France is\" --target \" Paris\"\n  "
           "ascribe explain MODEL.onnx --image photo.png --labels labels.txt --method integrated-gradients\n"
           "\nexit codes: 0 done; 1 a comparison failed, or stopped by Ctrl-C; 2 wrong use;\n"
           "            3 bad input, output or too little memory; 4 an error of the program\n");
}

int cli_show_help(cli *c, int command) {
    if (command < 0)
        cli_help_overview(c->out);
    else
        cli_help_command(c->out, (cli_command_id)command);
    return cli_flush(c);
}

/* All commands and options, whatever was asked about. */
static int help_json(cli *c) {
    asc_text *t = c->out;
    asc_text_array(t, NULL);
    for (int i = 0; i < N_COMMANDS; i++) {
        asc_text_object(t, NULL);
        asc_text_strz(t, "command", cli_commands[i].name);
        asc_text_strz(t, "takes", cli_commands[i].takes);
        asc_text_strz(t, "doc", cli_commands[i].doc);
        asc_text_array(t, "options");
        for (int o = 0; o < N_OPTIONS; o++) {
            if (!(cli_options[o].commands & 1u << i)) continue;
            asc_text_object(t, NULL);
            asc_text_strz(t, "name", cli_options[o].name);
            asc_text_strz(t, "argument", cli_options[o].arg);
            asc_text_strz(t, "doc", cli_options[o].doc);
            asc_text_end(t);
        }
        asc_text_end(t);
        asc_text_end(t);
    }
    asc_text_end(t);
    return cli_write_json(c, t);
}

int cmd_help(cli *c) {
    int rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    if (cli_wants_json(c)) return help_json(c);
    const bool markdown = cli_has(c, OPT_MARKDOWN);
    if (c->n_operands == 1 && strcmp(c->operand[0], "question") == 0) { /* no command, but asked about */
        if (markdown)
            asc_question_markdown(c->out);
        else
            asc_question_help(c->out);
        return cli_flush(c);
    }
    if (markdown) {
        cli_help_markdown(c->out);
        return cli_flush(c);
    }
    const bool man = cli_has(c, OPT_MAN);
    if (c->n_operands == 0 && man) {
        cli_help_man(c->out);
        return cli_flush(c);
    }
    if (c->n_operands == 0) return cli_show_help(c, -1);
    const char *names[N_COMMANDS];
    for (int i = 0; i < N_COMMANDS; i++) {
        names[i] = cli_commands[i].name;
        if (strcmp(names[i], c->operand[0]) != 0) continue;
        if (!man) return cli_show_help(c, i);
        cli_help_man_command(c->out, (cli_command_id)i);
        return cli_flush(c);
    }
    const char *near = cli_nearest(c->operand[0], names, N_COMMANDS);
    return cli_usage("unknown command '%.60s'%s%s", c->operand[0], near != NULL ? "; did you mean " : "",
                     near != NULL ? near : "");
}
