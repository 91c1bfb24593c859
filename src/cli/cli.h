/* cli.h - the command line: commands, options, and what the commands share. Sees the public headers only. */
#ifndef ASC_CLI_H
#define ASC_CLI_H

#include "ascribe/builtin.h"
#include "ascribe/chat.h"
#include "ascribe/inputs.h"
#include "ascribe/net_defaults.h"

/* Exit codes. A stop by Ctrl-C is EXIT_CHECK with the message "stopped". */
enum { EXIT_DONE = 0, EXIT_CHECK = 1, EXIT_USAGE = 2, EXIT_INPUT = 3, EXIT_INTERNAL = 4 };

typedef enum cli_command_id {
#define COMMAND(id, name, takes, least, most, doc) CMD_##id,
#include "cmds.def"
#undef COMMAND
    N_COMMANDS
} cli_command_id;

typedef enum cli_option_id {
#define OPTION(id, name, arg, commands, group, doc) OPT_##id,
#include "options.def"
#undef OPTION
    N_OPTIONS,
    OPT_NONE = -1
} cli_option_id;

typedef struct cli cli;

typedef struct cli_command {
    const char *name, *takes, *doc;
    int least, most;
    int (*run)(cli *c); /* returns the exit code */
} cli_command;

typedef struct cli_option {
    const char *name, *arg, *group, *doc;
    unsigned commands; /* bit per cli_command_id */
} cli_option;

typedef struct cli_variable {
    const char *name, *doc;
    int option; /* cli_option_id or OPT_NONE */
} cli_variable;

extern const cli_command cli_commands[N_COMMANDS];
extern const cli_option cli_options[N_OPTIONS];
extern const cli_variable cli_variables[];
extern const size_t cli_n_variables;

struct cli {
    cli_command_id command;
    const char *value[N_OPTIONS];  /* NULL = not given; "" for options without argument */
    const char *origin[N_OPTIONS]; /* "command line" or the variable's name */
    struct {
        cli_option_id option;
        const char *value;
    } given[256]; /* in the order of the command line: options that may be given several times */
    int n_given;
    const char *operand[2];
    int n_operands;
    int argc; /* as it was typed */
    char **argv;
    const asc_adapter *adapters; /* of a result that is repeated, unless --adapter says otherwise */
    size_t n_adapters;
    asc_ctx *ctx;
    asc_text *out; /* what goes to standard output at the end */
};

/* args.c: fills c from the command line and the environment; EXIT_DONE or EXIT_USAGE with a message printed.
 */
int cli_parse(cli *c, int argc, char **argv);
bool cli_has(const cli *c, cli_option_id o);
/* Value number i of an option that may be given several times; NULL when there are no more. */
const char *cli_nth(const cli *c, cli_option_id o, size_t i);
/* Values; `fallback` when not given. EXIT_USAGE and a message when they make no sense. */
int cli_size(const cli *c, cli_option_id o, size_t fallback, size_t *out);   /* a count */
int cli_bytes(const cli *c, cli_option_id o, size_t fallback, size_t *out);  /* with K, M, G */
int cli_number(const cli *c, cli_option_id o, double fallback, double *out); /* finite, >= 0; "1%" is 0.01 */
/* Token ids; *out is made with malloc (at least one element also for an empty list). */
int cli_ids(const cli *c, cli_option_id o, int32_t **out, size_t *n);
int cli_usage(const char *fmt, ...) ASC_PRINTF(1, 2); /* prints the message; returns EXIT_USAGE */
/* The nearest of n names, NULL when none is near. */
const char *cli_nearest(const char *word, const char *const *names, size_t n);

/* session.c: context, signals, progress, messages. */
int cli_open_context(cli *c); /* fills ctx and out */
/* profile_out.c: --profile. cli_profile_folder only makes the folder, before the work; the end takes and
 * returns the command's exit code. */
int cli_profile_folder(cli *c);
int cli_profile_begin(cli *c);
int cli_profile_end(cli *c, int rc);
void cli_close(cli *c);
/* Ctrl-C stops work in this context from now on. For commands with several. */
void cli_set_running(asc_ctx *ctx);
int cli_open_model(cli *c, asc_model **out);
/* adapter_args.c: --adapter, or those of a result that is repeated. */
enum { CLI_MAX_ADAPTERS = 16 };
typedef struct cli_adapters {
    asc_adapter v[CLI_MAX_ADAPTERS];
    char path[CLI_MAX_ADAPTERS][4096];
    size_t n;
} cli_adapters;
int cli_read_adapters(const cli *c, cli_adapters *out);
asc_weights_mode cli_weights(const cli *c);
/* How these options want a model opened; *out borrows *adapters. */
int cli_model_options(const cli *c, cli_adapters *adapters, asc_model_options *out);
/* Prints the context's error; returns the exit code of st. */
int cli_error(cli *c, asc_status st);
void cli_install_signals(void);
/* The same for a file that was read well and says nonsense; `remedy` where the error has none. */
int cli_error_in(cli *c, asc_status st, const char *path, const char *remedy);
void cli_keep_streams(void); /* first of all */
/* Names the file in the message when it shrinks while mapped. */
void cli_watch_file(const char *path);
bool cli_progress(void *self, const char *what, double done, double total);
void cli_clear_progress(void);
/* From now on only this kind of work is shown, what it does inside is not; NULL: everything again. */
void cli_progress_only(const char *what);
/* Writes c->out to standard output; the exit code. */
int cli_flush(cli *c);
/* If --json was given: writes c->json_doc there and returns true... see each command. */
bool cli_wants_json(const cli *c);
/* Writes t to the file of --json ("-" = standard output). */
int cli_write_json(cli *c, asc_text *t);
/* Does this option's document go to standard output ("-")? */
bool cli_to_stdout(const cli *c, cli_option_id o);
/* Early complaint about an output file that cannot be made. */
int cli_check_output(cli *c, cli_option_id o);
asc_report_style cli_style(const cli *c);

/* precision_args.c: levels for parts of a model, whether int8 is allowed. */
int cli_set_levels(cli *c);                  /* of cli_open_context */
int cli_set_level(cli *c, const char *text); /* "SITE=LEVEL" */
/* Are these parts of the model or the net (either may be NULL)? EXIT_INPUT with the nearest name said. */
int cli_check_levels(cli *c, const asc_model *m, const asc_net *net);
void cli_note_levels(cli *c);                /* says which sites of --precision-at nothing belonged to */

/* prompt_args.c: the prompt options. */
typedef struct cli_prompt {
    asc_view text; /* ptr NULL unless text */
    int32_t *ids;
    size_t n_ids;
    asc_message *messages; /* NULL unless a chat */
    size_t n_messages;
    asc_text *file;
    asc_messages parsed;
    const asc_view *extras; /* of the messages; NULL = none */
    char *vars;             /* of the chat template: a JSON object; NULL = none */
    asc_message own[2];
} cli_prompt;
int cli_prompt_read(cli *c, cli_prompt *p);
void cli_prompt_free(cli *c, cli_prompt *p);
asc_request cli_prompt_request(const cli_prompt *p); /* the prompt's part of a request */
/* Its tokens, as asc_explain would make them; *out is made with malloc. text may be NULL. */
int cli_prompt_ids(cli *c, const asc_model *m, const cli_prompt *p, int32_t **out, size_t *n);

typedef struct cli_features cli_features;

/* explain_args.c: what is asked of a language model, and who owns what a request borrows. */
typedef struct cli_explain_args {
    asc_request req;
    cli_prompt prompt;
    int32_t *target_ids, *versus_ids, *corrupted_ids;
    cli_features *features;
} cli_explain_args;
/* feature_args.c: options that make no sense together; then, with the model open, slots, frozen parts,
 * skipped tokens and the question, into the request. */
int cli_features_check(const cli *c);
int cli_features_read(cli *c, cli_explain_args *j, asc_model *m);
void cli_features_free(cli *c, cli_features *f);
int cli_check_method(const char *name);   /* NULL is fine; EXIT_USAGE for an unknown one */
int cli_refuse_net_options(const cli *c); /* that mean nothing for prompts */
/* What stands for an absent part, by the option's value: a name, or token:ID; unchanged when not given. */
int cli_baseline(const cli *c, cli_option_id o, asc_baseline *out, int32_t *token);
int cli_explain_request(cli *c, cli_explain_args *j);
/* After that: context, prompt, model. */
int cli_explain_open(cli *c, cli_explain_args *j, asc_model **out);
void cli_explain_args_free(cli *c, cli_explain_args *j);

/* explain_run.c: runs a request and writes what was asked for. */
int cli_explain(cli *c, asc_model *m, const asc_request *req);

/* explain_ask.c: explain --ask. */
int cli_explain_ask(cli *c);

/* explain_batch.c: explain --prompts. */
int cli_explain_batch(cli *c);

/* explain_net.c: explain for ONNX files. */
bool cli_is_net(const char *path);
asc_status cli_net_load(cli *c, asc_net **out); /* net_args.c: the net of the operand */
int cli_explain_net(cli *c);
int cli_inspect_net(cli *c); /* inspect_net.c */

/* net_args.c: what the options say about a net's inputs, target, baselines and masks. */
enum { CLI_MAX_PORTS = 16 };
typedef struct cli_net_args {
    asc_net *net;
    asc_array inputs[CLI_MAX_PORTS], baselines[CLI_MAX_PORTS], mask;
    asc_image picture; /* the one the scores belong to; rgb NULL = none */
    asc_image_prep prep;
    size_t picture_input;
    asc_text *bytes_file;
    asc_array offsets;
    asc_table table; /* names of columns, of input table_input */
    size_t table_input;
    asc_text *labels_file, *names_file;
    const char **lines, **names; /* of those files */
    const char *const *labels;   /* the lines, or what the net itself names */
    size_t n_labels, n_names;
    const char *sites[CLI_MAX_PORTS];
    asc_text *command;
    int64_t index[ASC_MAX_RANK], versus[ASC_MAX_RANK], unit[ASC_MAX_RANK], window[2 * ASC_MAX_RANK],
        stride[2 * ASC_MAX_RANK];
    double stdev, level[CLI_MAX_PORTS];
    char neuron_site[512], target_text[256];
    asc_rule_choice rule;
    char rule_name[32];
    asc_net_look look;
} cli_net_args;
int cli_net_inputs(cli *c, cli_net_args *a);                       /* inputs, picture, labels, names */
int cli_net_request(cli *c, cli_net_args *a, asc_attr_request *q); /* everything else */
int cli_net_window(cli *c, cli_net_args *a, asc_attr_request *q);  /* of q's method; part of the above */
void cli_net_args_free(cli *c, cli_net_args *a);

/* explain_net.c, for commands that explain nets: everything up to the request; free a in any case. */
int cli_net_open(cli *c, cli_net_args *a, asc_attr_request *q);
/* Sets a site for methods that cannot take bytes; then scores are to be summed (asc_attribution_sum_rows). */
int cli_net_choose_site(cli *c, cli_net_args *a, asc_attr_request *q, bool *chosen);
asc_net_report cli_net_report(const cli *c, const cli_net_args *a, const asc_attr_request *q,
                              const asc_attribution *r);

/* job.c: one thing to run - a prompt, a net of a file, a built-in net - in a context of its own. */
typedef enum cli_job_kind { CLI_JOB_PROMPT, CLI_JOB_NET, CLI_JOB_BUILTIN } cli_job_kind;

/* Where and how to run; NULL = as the command line has it. */
typedef struct cli_where {
    const char *device, *mode, *precision, *isa, *threads;
} cli_where;

typedef struct cli_job {
    cli c; /* the command line with its own context */
    cli_job_kind kind;
    cli_explain_args prompt;
    asc_model *model;
    cli_net_args net;
    asc_attr_request q;
    bool sum_rows;
    asc_builtin *builtin;
} cli_job;

/* What a run said and took; scores of all arrays in a row, made with malloc. */
typedef struct cli_run {
    double *score, *error; /* error: NaN where unknown */
    size_t n;
    double value;
    double flops; /* language models: 2 N a token and pass; nets: of the plans */
    double seconds;
    bool stochastic;
} cli_run;

int cli_job_open(const cli *from, const cli_where *at, cli_job *out); /* close it in any case */
/* Points it at a method (by another name than the options'); EXIT_CHECK with a reason in `why` when the
 * method makes no sense here. */
int cli_job_method(cli_job *j, const char *method, bool at_site, char *why, size_t why_size);
/* EXIT_DONE, or the exit code with the message printed; with `why`: the message goes there instead (but for
 * a stop). */
int cli_job_run(cli_job *j, cli_run *out, char *why, size_t why_size);
void cli_run_free(cli_run *r);
void cli_job_close(cli_job *j);
bool cli_is_builtin(const char *operand);
/* The words of a comma-separated list, at most `most`, into one block that the caller frees; the count, or
 * -1 with a message when there are none, too many, or one that is not in `allowed` (NULL = any). */
int cli_words(const char *option, const char *list, const char *allowed, const char **out, int most,
              char **block);

int cli_bench_modes(cli *c);    /* bench_modes.c */
int cli_compare_places(cli *c); /* compare_places.c */
int cli_compare_ops(cli *c);    /* ops_probe.c */
int cli_ops_probe(cli *c);

/* rerun_net.c: the line that was typed, without its outputs; and a result of such a line again. */
void cli_command_line(const cli *c, asc_text *t);
int cli_rerun_net(cli *c, const asc_net_saved *s);

/* help.c, help_pages.c */
int cli_show_help(cli *c, int command); /* -1 = the overview */
void cli_help_overview(asc_text *t);
void cli_help_command(asc_text *t, cli_command_id id);
void cli_help_markdown(asc_text *t);
void cli_help_man(asc_text *t);
void cli_help_man_command(asc_text *t, cli_command_id id);
bool cli_shell_script(asc_text *t, const char *shell); /* false: unknown shell */

#define COMMAND(id, name, takes, least, most, doc) int cmd_##id(cli *c);
#include "cmds.def"
#undef COMMAND

#endif
