/* rerun_net.c - the command of an explanation of a net, as one line, and rerun: that line again, and whether
 * the numbers are the same. */
#include "cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Outputs are left out: running it again must not write over them. */
static bool is_output(const char *arg, bool *takes_next) {
    static const char *const names[] = {"--json", "--html", "--png"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(arg, names[i], n) != 0 || (arg[n] != '\0' && arg[n] != '=')) continue;
        *takes_next = arg[n] == '\0';
        return true;
    }
    return false;
}

static void quote(asc_text *t, const char *arg) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    if (arg[0] != '\0' && strspn(arg, plain) == strlen(arg)) {
        asc_text_adds(t, arg);
        return;
    }
    asc_text_adds(t, "'");
    for (; *arg != '\0'; arg++) {
        char one[2] = {*arg, '\0'};
        asc_text_adds(t, *arg == '\'' ? "'\\''" : one);
    }
    asc_text_adds(t, "'");
}

void cli_command_line(const cli *c, asc_text *t) {
    asc_text_adds(t, "ascribe");
    for (int i = 1; i < c->argc; i++) {
        bool takes_next = false;
        if (is_output(c->argv[i], &takes_next)) {
            i += takes_next;
            continue;
        }
        asc_text_adds(t, " ");
        quote(t, c->argv[i]);
    }
}

/* Words of a line that cli_command_line wrote, in place; the count, -1 = a quote is not closed or too many.
 */
static int split(char *line, char **words, int most) {
    int n = 0;
    char *from = line, *to = line;
    while (*from != '\0') {
        bool quoted = false;
        while (*from == ' ') from++;
        if (*from == '\0') break;
        if (n == most) return -1;
        words[n++] = to;
        for (; *from != '\0' && (quoted || *from != ' '); from++) {
            if (*from == '\'')
                quoted = !quoted;
            else if (!quoted && *from == '\\' && from[1] != '\0')
                *to++ = *++from;
            else
                *to++ = *from;
        }
        if (quoted) return -1;
        bool end = *from == '\0';
        *to++ = '\0';
        if (end) break;
        from++;
    }
    return n;
}

static size_t count(const asc_scores *s) {
    size_t n = 1;
    for (int d = 0; d < s->shape.rank; d++) n *= (size_t)s->shape.dims[d];
    return n;
}

static int report(cli *c, const asc_net_saved *s, const asc_attribution *r) {
    bool shape = s->n_scores == r->n_scores, same = true;
    double difference = 0.0, largest = 0.0;
    size_t n = 0;
    for (size_t k = 0; shape && k < r->n_scores; k++) {
        shape = s->scores[k].n == count(&r->scores[k]);
        for (size_t i = 0; shape && i < s->scores[k].n; i++, n++) {
            double was = s->scores[k].data[i], is = r->scores[k].data[i];
            same = same && was == is;
            difference = fmax(difference, fabs(was - is));
            largest = fmax(largest, fabs(was));
        }
    }
    same = same && shape;
    bool close = shape && difference <= 1e-4 * fmax(largest, 1e-6),
         other = strcmp(s->version, asc_version()) != 0;
    if (cli_wants_json(c)) {
        asc_text_object(c->out, NULL);
        asc_text_bool(c->out, "same", same);
        asc_text_bool(c->out, "close", same || close);
        asc_text_num(c->out, "largest_difference", shape ? difference : (double)NAN);
        asc_text_num(c->out, "largest_score", largest);
        asc_text_end(c->out);
        int rc = cli_write_json(c, c->out);
        if (rc != EXIT_DONE) return rc;
    } else {
        if (same)
            asc_text_addf(c->out, "The same numbers: %zu scores, bit for bit.\n", n);
        else if (!shape)
            asc_text_adds(c->out, "Other scores: their number or shape has changed.\n");
        else
            asc_text_addf(c->out, "%s: the largest difference is %.3g, the largest score %.3g.\n",
                          close ? "Nearly the same numbers" : "Other numbers", difference, largest);
        if (other)
            asc_text_addf(c->out, "What changed:\n  the program: was %s, is %s\n", s->version, asc_version());
        int rc = cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
        if (rc != EXIT_DONE) return rc;
    }
    return same ? EXIT_DONE : EXIT_CHECK;
}

/* The saved command as if it had been typed; options of the rerun itself take its place. */
static int run_again(cli *c, const asc_net_saved *s, int argc, char **argv) {
    static const cli_option_id own[] = {OPT_DEVICE, OPT_MODE,   OPT_THREADS,
                                        OPT_ISA,    OPT_MEMORY, OPT_PRECISION};
    cli again = {0};
    cli_net_args a = {0};
    asc_attr_request q;
    asc_attribution *r = NULL;
    bool chosen = false;
    int rc = argc < 3 ? cli_usage("'%.200s' holds no command to run again", c->operand[0])
                      : cli_parse(&again, argc, argv);
    if (rc != EXIT_DONE) return rc;
    if (again.command != CMD_explain || again.n_operands < 1 || !cli_is_net(again.operand[0]))
        return cli_usage("'%.200s' was not made by ascribe explain of an ONNX file", c->operand[0]);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (!cli_has(c, own[i])) continue;
        again.value[own[i]] = c->value[own[i]];
        again.origin[own[i]] = c->origin[own[i]];
    }
    if (!cli_has(&again, OPT_PRECISION) && s->precision[0] != '\0') again.value[OPT_PRECISION] = s->precision;
    again.value[OPT_FORCE_INT8] = ""; /* a result with int8 products was made with it */
    again.value[OPT_QUIET] = c->value[OPT_QUIET];
    again.value[OPT_JSON] = c->value[OPT_JSON];
    again.origin[OPT_JSON] = c->origin[OPT_JSON];
    rc = cli_net_open(&again, &a, &q);
    if (rc == EXIT_DONE) rc = cli_net_choose_site(&again, &a, &q, &chosen);
    if (rc == EXIT_DONE) {
        asc_status st = asc_attribute(a.net, &q, &r);
        if (st != ASC_OK) rc = cli_error(&again, st);
    }
    if (rc == EXIT_DONE) {
        if (chosen) asc_attribution_sum_rows(r);
        rc = report(&again, s, r);
    }
    if (again.ctx != NULL) asc_attribution_destroy(again.ctx, r);
    cli_net_args_free(&again, &a);
    cli_close(&again);
    return rc;
}

int cli_rerun_net(cli *c, const asc_net_saved *s) {
    enum { MOST_WORDS = 256 };
    char *words[MOST_WORDS + 1] = {NULL};
    size_t n = strlen(s->command);
    char *line = malloc(n + 2);
    if (line == NULL) return cli_usage("out of memory");
    memcpy(line, s->command, n + 1);
    int argc = split(line, words, MOST_WORDS);
    int rc = argc < 0 ? cli_usage("the command in '%.200s' cannot be read", c->operand[0])
                      : run_again(c, s, argc, words);
    free(line);
    return rc;
}
