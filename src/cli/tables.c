/* tables.c - commands, options and variables as tables, made of cmds.def, options.def and env.def. */
#include "cli.h"

#define IN(command) (1u << CMD_##command)
#define SEVERAL (IN(bench) | IN(compare)) /* run the same thing in several ways, as explain would */
#define EXPLAINING (IN(explain) | IN(evaluate) | IN(memory) | IN(leak) | SEVERAL)
#define PROMPTED (EXPLAINING | IN(generate) | IN(tokenize))
#define NETS (EXPLAINING | IN(compare_methods))
#define RUNNING (NETS | IN(generate) | IN(rerun) | IN(serve) | IN(shell))
#define EVERY (~0u)

const cli_command cli_commands[N_COMMANDS] = {
#define COMMAND(id, name, takes, least, most, doc) {name, takes, doc, least, most, cmd_##id},
#include "cmds.def"
#undef COMMAND
};

const cli_option cli_options[N_OPTIONS] = {
#define OPTION(id, name, arg, commands, group, doc) {name, arg, group, doc, commands},
#include "options.def"
#undef OPTION
};

const cli_variable cli_variables[] = {
#define VARIABLE(name, option, doc) {name, doc, OPT_##option},
#include "env.def"
#undef VARIABLE
};
const size_t cli_n_variables = sizeof cli_variables / sizeof *cli_variables;
