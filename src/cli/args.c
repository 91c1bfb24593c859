/* args.c - from argv to values: --name value, --name=value, variables behind them; and values to numbers. */
#include "ascribe/ask.h"
#include "cli.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_usage(const char *fmt, ...) {
    va_list ap;
    cli_clear_progress();
    fputs("ascribe: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    return EXIT_USAGE;
}

/* Levenshtein distance, bounded by the lengths of names. */
static size_t distance(const char *a, const char *b) {
    size_t row[64], n = strlen(b);
    if (n >= 64 || strlen(a) >= 64) return 64;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t old = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
            diagonal = old;
        }
    }
    return row[n];
}

const char *cli_nearest(const char *word, const char *const *names, size_t n) {
    const char *best = NULL;
    size_t least = strlen(word) / 3 + 2; /* farther is no help */
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, names[i]);
        if (strlen(word) >= 3 && strncmp(names[i], word, strlen(word)) == 0) d = 1;
        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return best;
}

bool cli_has(const cli *c, cli_option_id o) { return c->value[o] != NULL; }

/* Does `value` fit "a|b|token:ID"? Any value fits an argument without bars. */
static bool allowed(const char *list, const char *value) {
    if (strchr(list, '|') == NULL && !(islower((unsigned char)list[0]) && list[0] != '\0')) return true;
    return asc_choice_fits(list, value);
}

static int set(cli *c, int o, const char *value, const char *origin) {
    const cli_option *opt = &cli_options[o];
    if (!allowed(opt->arg, value)) {
        if (strcmp(origin, "command line") == 0)
            return cli_usage("--%s is one of %s, not '%s'", opt->name, opt->arg, value);
        return cli_usage("%s (environment) is one of %s, not '%s'", origin, opt->arg, value);
    }
    c->value[o] = value;
    c->origin[o] = origin;
    if (strcmp(origin, "command line") == 0) {
        const int most = (int)(sizeof c->given / sizeof *c->given);
        if (c->n_given == most) return cli_usage("more than %d options", most);
        c->given[c->n_given].option = (cli_option_id)o;
        c->given[c->n_given++].value = value;
    }
    return EXIT_DONE;
}

const char *cli_nth(const cli *c, cli_option_id o, size_t i) {
    for (int k = 0; k < c->n_given; k++) {
        if (c->given[k].option == o && i-- == 0) return c->given[k].value;
    }
    return NULL;
}

/* What options are called elsewhere: llama.cpp (common/arg.cpp), Captum's arguments. */
static const struct {
    const char *theirs, *ours;
} elsewhere[] = {{"p", "prompt"},
                 {"f", "prompt-file"},
                 {"file", "prompt-file"},
                 {"n", "generate"},
                 {"n-predict", "generate"},
                 {"predict", "generate"},
                 {"temp", "temperature"},
                 {"t", "threads"},
                 {"s", "seed"},
                 {"lora", "adapter"},
                 {"api-key-file", "token-file"},
                 {"contrast", "versus"},
                 {"attribution", "method"},
                 {"n-steps", "steps"},
                 {"n-samples", "samples"},
                 {"baselines", "baseline"},
                 {"feature-mask", "mask"},
                 {"internal-batch-size", "memory"},
                 {"perturbations-per-eval", "memory"},
                 {"sliding-window-shapes", "window"},
                 {"nt-type", "noise"},
                 {"nt-samples", "samples"},
                 {"layer", "site"}};

/* Our name of an option that the command has; NULL = none. */
static const char *known_elsewhere(cli_command_id command, const char *word) {
    for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++) {
        for (int i = 0; strcmp(elsewhere[k].theirs, word) == 0 && i < N_OPTIONS; i++) {
            if (strcmp(cli_options[i].name, elsewhere[k].ours) == 0 &&
                (cli_options[i].commands & 1u << command))
                return elsewhere[k].ours;
        }
    }
    return NULL;
}

static int unknown_option(cli_command_id command, const char *name, size_t len) {
    const char *names[N_OPTIONS];
    char word[64];
    size_t n = 0;
    snprintf(word, sizeof word, "%.*s", (int)(len < 60 ? len : 60), name);
    for (int i = 0; i < N_OPTIONS; i++) {
        if (cli_options[i].commands & 1u << command) names[n++] = cli_options[i].name;
    }
    for (int i = 0; i < N_OPTIONS; i++) {
        if (strcmp(cli_options[i].name, word) == 0)
            return cli_usage("'%s' has no option --%s (see: ascribe %s --help)", cli_commands[command].name,
                             word, cli_commands[command].name);
    }
    const char *near = known_elsewhere(command, word);
    if (near == NULL) near = cli_nearest(word, names, n);
    return near != NULL
               ? cli_usage("unknown option --%s; did you mean --%s?", word, near)
               : cli_usage("unknown option --%s (see: ascribe %s --help)", word, cli_commands[command].name);
}

static bool is_named(const cli *c, int option, const char *name, size_t len) {
    const cli_option *opt = &cli_options[option];
    return strlen(opt->name) == len && strncmp(opt->name, name, len) == 0 &&
           (opt->commands & 1u << c->command) != 0;
}

/* An option of the command: as a value of another it is what a forgotten value leaves, not what was meant. */
static bool is_option(const cli *c, const char *word) {
    bool is = false;
    if (word[0] != '-' || word[1] != '-') return false;
    for (int o = 0; o < N_OPTIONS && !is; o++) is = is_named(c, o, word + 2, strcspn(word + 2, "="));
    return is;
}

/* One option at argv[*i]; steps over its value. */
static int take_option(cli *c, int argc, char **argv, int *i) {
    const char *name = argv[*i] + 2, *value = strchr(name, '=');
    size_t len = value != NULL ? (size_t)(value - name) : strlen(name);
    for (int o = 0; o < N_OPTIONS; o++) {
        const cli_option *opt = &cli_options[o];
        if (!is_named(c, o, name, len)) continue;
        if (opt->arg[0] == '\0') {
            if (value != NULL) return cli_usage("--%s takes no value", opt->name);
            return set(c, o, "", "command line");
        }
        if (value != NULL) return set(c, o, value + 1, "command line");
        if (*i + 1 >= argc) return cli_usage("--%s needs a value: %s", opt->name, opt->arg);
        if (is_option(c, argv[*i + 1]))
            return cli_usage(
                "--%s needs a value (%s), and the option '%.60s' follows; where that is the value, "
                "write --%s='%.60s'",
                opt->name, opt->arg, argv[*i + 1], opt->name, argv[*i + 1]);
        return set(c, o, argv[++*i], "command line");
    }
    return unknown_option(c->command, name, len);
}

static int find_command(const char *word) {
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(cli_commands[i].name, word) == 0) return i;
    }
    return -1;
}

static int unknown_command(const char *word) {
    const char *names[N_COMMANDS];
    for (int i = 0; i < N_COMMANDS; i++) names[i] = cli_commands[i].name;
    const char *near = cli_nearest(word, names, N_COMMANDS);
    return near != NULL ? cli_usage("unknown command '%.60s'; did you mean '%s'?", word, near)
                        : cli_usage("unknown command '%.60s' (see: ascribe help)", word);
}

static int from_environment(cli *c) {
    for (size_t i = 0; i < cli_n_variables; i++) {
        const cli_variable *v = &cli_variables[i];
        const char *value = getenv(v->name);
        if (v->option == OPT_NONE || value == NULL || value[0] == '\0' || c->value[v->option] != NULL)
            continue;
        if (!(cli_options[v->option].commands & 1u << c->command) && c->command != CMD_env) continue;
        int rc = set(c, v->option, cli_options[v->option].arg[0] == '\0' ? "" : value, v->name);
        if (rc != EXIT_DONE) return rc;
    }
    return EXIT_DONE;
}

int cli_parse(cli *c, int argc, char **argv) {
    bool only_operands = false;
    int command = find_command(argv[1]);
    if (command < 0) return unknown_command(argv[1]);
    c->command = (cli_command_id)command;
    c->argc = argc;
    c->argv = argv;
    for (int i = 2; i < argc; i++) {
        const char *a = argv[i];
        if (!only_operands && strcmp(a, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && strcmp(a, "-h") == 0) {
            c->value[OPT_HELP] = "";
        } else if (!only_operands && a[0] == '-' && a[1] == '-') {
            int rc = take_option(c, argc, argv, &i);
            if (rc != EXIT_DONE) return rc;
        } else if (!only_operands && a[0] == '-' && a[1] != '\0') {
            const char *ours = known_elsewhere(c->command, a + 1);
            if (strcmp(a, "-m") == 0)
                return cli_usage("unknown option '-m': the model comes first, as ascribe %s MODEL ...",
                                 cli_commands[command].name);
            if (ours != NULL) return cli_usage("unknown option '%s'; did you mean --%s?", a, ours);
            return cli_usage(
                "unknown option '%.60s'; options are written out: --name (see: ascribe %s --help)", a,
                cli_commands[command].name);
        } else if (c->n_operands < cli_commands[command].most) {
            c->operand[c->n_operands++] = a;
        } else {
            return cli_usage("'%.60s' is one argument too many%s (see: ascribe %s --help)", a,
                             cli_options[OPT_PROMPT].commands & 1u << command
                                 ? ": the prompt is an option, --prompt TEXT"
                                 : "",
                             cli_commands[command].name);
        }
    }
    if (cli_has(c, OPT_HELP)) return EXIT_DONE;
    if (c->n_operands < cli_commands[command].least)
        return cli_usage("'%s' needs %s (see: ascribe %s --help)", cli_commands[command].name,
                         cli_commands[command].takes, cli_commands[command].name);
    return from_environment(c);
}

static int bad_value(const cli *c, cli_option_id o, const char *wanted) {
    if (strcmp(c->origin[o], "command line") == 0)
        return cli_usage("--%s is %s, not '%.60s'", cli_options[o].name, wanted, c->value[o]);
    return cli_usage("%s (environment) is %s, not '%.60s'", c->origin[o], wanted, c->value[o]);
}

/* Digits only: no sign, no blanks, no overflow. */
static bool parse_count(const char *s, char **end, size_t *out) {
    if (!isdigit((unsigned char)s[0])) return false;
    errno = 0;
    unsigned long long v = strtoull(s, end, 10);
    if (errno != 0 || v > INT64_MAX) return false;
    *out = (size_t)v;
    return true;
}

int cli_size(const cli *c, cli_option_id o, size_t fallback, size_t *out) {
    char *end;
    *out = fallback;
    if (!cli_has(c, o)) return EXIT_DONE;
    if (!parse_count(c->value[o], &end, out) || *end != '\0') return bad_value(c, o, "a whole number");
    return EXIT_DONE;
}

int cli_bytes(const cli *c, cli_option_id o, size_t fallback, size_t *out) {
    static const char units[] = "KMGT";
    char *end;
    *out = fallback;
    if (!cli_has(c, o)) return EXIT_DONE;
    if (!parse_count(c->value[o], &end, out) || *out == 0)
        return bad_value(c, o, "a size such as 512M or 2G");
    const char *unit = *end != '\0' ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit != NULL) {
        for (const char *u = units; u <= unit; u++) {
            if (__builtin_mul_overflow(*out, (size_t)1024, out))
                return bad_value(c, o, "a size such as 512M or 2G");
        }
        end++;
        if (*end == 'i') end++;
        if (*end == 'B') end++;
    }
    return *end == '\0' ? EXIT_DONE : bad_value(c, o, "a size such as 512M or 2G");
}

int cli_number(const cli *c, cli_option_id o, double fallback, double *out) {
    char *end;
    *out = fallback;
    if (!cli_has(c, o)) return EXIT_DONE;
    *out = strtod(c->value[o], &end);
    if (end == c->value[o] || !isfinite(*out) || *out < 0) return bad_value(c, o, "a number from 0 on");
    if (*end == '%') {
        *out /= 100;
        end++;
    }
    return *end == '\0' ? EXIT_DONE : bad_value(c, o, "a number from 0 on");
}

int cli_ids(const cli *c, cli_option_id o, int32_t **out, size_t *n) {
    *out = NULL;
    *n = 0;
    if (!cli_has(c, o)) return EXIT_DONE;
    const char *s = c->value[o];
    int32_t *ids = malloc((strlen(s) / 2 + 2) * sizeof *ids);
    if (ids == NULL) return cli_usage("no memory for the list of ids");
    while (*s != '\0') {
        char *end;
        if (*s == ' ' || *s == ',' || *s == '\n' || *s == '\t' || *s == '[' || *s == ']') {
            s++;
            continue;
        }
        errno = 0;
        long long v = strtoll(s, &end, 10);
        if (end == s || errno != 0 || v < INT32_MIN || v > INT32_MAX ||
            (*end != '\0' && strchr(" ,\n\t]", *end) == NULL)) {
            free(ids);
            return bad_value(c, o, "a list of whole numbers such as 504,3575,282");
        }
        ids[(*n)++] = (int32_t)v;
        s = end;
    }
    *out = ids;
    return EXIT_DONE;
}
