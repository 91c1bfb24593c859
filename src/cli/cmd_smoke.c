/* cmd_smoke.c - ascribe smoke: twelve things that automatic differentiation must get right, in every mode. */
#include "ascribe/parity.h"
#include "ascribe/precision.h"
#include "cli.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_MODES = 3, MOST_CASES = 16 };
static const double ROUNDINGS = 16; /* of the few operations in a row that the cases have */

typedef struct cell {
    asc_status st;
    double error;
    bool good;
    char why[200];
} cell;

typedef struct smoke {
    const char *modes[MOST_MODES];
    cell cells[MOST_CASES][MOST_MODES];
    size_t n_cases, bad;
    int n_modes;
} smoke;

static int run_mode(const cli *c, smoke *s, int m) {
    cli here = *c;
    here.ctx = NULL;
    here.out = NULL;
    here.value[OPT_MODE] = s->modes[m];
    here.origin[OPT_MODE] = "command line";
    int rc = cli_open_context(&here);
    for (size_t i = 0; rc == EXIT_DONE && i < s->n_cases; i++) {
        cell *k = &s->cells[i][m];
        k->st = asc_smoke_run(here.ctx, i, &k->error);
        k->good = k->st == ASC_OK && k->error <= ROUNDINGS * asc_ctx_roundoff(here.ctx);
        if (k->st == ASC_CANCELLED) rc = cli_error(&here, k->st);
        if (k->st != ASC_OK) snprintf(k->why, sizeof k->why, "%s", asc_error_message(here.ctx));
        asc_error_clear(here.ctx);
        if (!k->good) s->bad++;
    }
    cli_close(&here);
    return rc;
}

static void json(asc_text *t, const smoke *s) {
    asc_text_object(t, NULL);
    asc_text_strz(t, "kind", "ascribe-smoke");
    asc_text_int(t, "schema", 1);
    asc_text_strz(t, "version", asc_version());
    asc_text_bool(t, "good", s->bad == 0);
    asc_text_array(t, "cases");
    for (size_t i = 0; i < s->n_cases; i++) {
        for (int m = 0; m < s->n_modes; m++) {
            const cell *k = &s->cells[i][m];
            asc_text_object(t, NULL);
            asc_text_strz(t, "case", asc_smoke_at(i)->name);
            asc_text_strz(t, "mode", s->modes[m]);
            asc_text_bool(t, "good", k->good);
            asc_text_num(t, "error", k->st == ASC_OK ? k->error : (double)NAN);
            asc_text_strz(t, "message", k->st == ASC_OK ? NULL : k->why);
            asc_text_end(t);
        }
    }
    asc_text_end(t);
    asc_text_end(t);
}

static void text(asc_text *t, const smoke *s) {
    asc_text_addf(t, "%-18s", "autograd");
    for (int m = 0; m < s->n_modes; m++) asc_text_addf(t, " %10s", s->modes[m]);
    asc_text_adds(t, "   what\n");
    for (size_t i = 0; i < s->n_cases; i++) {
        asc_text_addf(t, "%-18s", asc_smoke_at(i)->name);
        for (int m = 0; m < s->n_modes; m++) {
            const cell *k = &s->cells[i][m];
            if (k->st == ASC_OK)
                asc_text_addf(t, " %8.1e%s", k->error, k->good ? "  " : " !");
            else
                asc_text_addf(t, " %10s", "FAILED");
        }
        asc_text_adds(t, "   ");
        asc_text_wrap(t, asc_smoke_at(i)->doc, (size_t)(21 + 11 * s->n_modes), 110);
        for (int m = 0; m < s->n_modes; m++) {
            if (s->cells[i][m].st != ASC_OK)
                asc_text_addf(t, "    %s: %s\n", s->modes[m], s->cells[i][m].why);
        }
    }
    asc_text_addf(t, "\nLargest difference from numbers worked out by hand: %s\n",
                  s->bad == 0 ? "all as they must be" : "NOT as they must be");
}

int cmd_smoke(cli *c) {
    char *block = NULL;
    smoke *s = calloc(1, sizeof *s);
    if (s == NULL) return cli_usage("out of memory");
    const char *list = cli_has(c, OPT_MODES) ? c->value[OPT_MODES] : "eager,deferred,compiled";
    int rc = cli_check_output(c, OPT_JSON);
    while (asc_smoke_at(s->n_cases) != NULL && s->n_cases < MOST_CASES) s->n_cases++;
    if (rc == EXIT_DONE) {
        s->n_modes = cli_words("modes", list, cli_options[OPT_MODE].arg, s->modes, MOST_MODES, &block);
        if (s->n_modes < 0) rc = EXIT_USAGE;
    }
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    for (int m = 0; rc == EXIT_DONE && m < s->n_modes; m++) rc = run_mode(c, s, m);
    bool good = s->bad == 0;
    if (rc == EXIT_DONE && cli_wants_json(c)) {
        json(c->out, s);
        rc = cli_write_json(c, c->out);
    } else if (rc == EXIT_DONE) {
        text(c->out, s);
        rc = cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
    }
    free(block);
    free(s);
    return rc != EXIT_DONE ? rc : good ? EXIT_DONE : EXIT_CHECK;
}
