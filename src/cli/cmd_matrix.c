/* cmd_matrix.c - ascribe matrix: every method on three small nets, the fast device against the exact one. */
#include "ascribe/matrix.h"
#include "cli.h"
#include <stdio.h>
#include <string.h>

/* The bars: of a method, and of the median. */
#define MOST_ERROR 1e-6
#define MOST_MEDIAN 1e-7

static const char *const models[] = {"mlp", "cnn", "transformer"};
enum { N_MODELS = sizeof models / sizeof *models };

/* Prints one line per method and place: a column per model. */
static void table(asc_text *t, const asc_matrix *m) {
    asc_text_addf(t, "%-24s %-6s", "method", "at");
    for (int k = 0; k < N_MODELS; k++) asc_text_addf(t, " %12s", models[k]);
    asc_text_adds(t, "\n");
    for (size_t i = 0; i < m->n;) {
        const asc_matrix_cell *first = &m->cells[i];
        bool site = first->at[0] != '\0', over = false;
        asc_text_addf(t, "%-24s %-6s", first->method, site ? "site" : "input");
        for (int k = 0; k < N_MODELS; k++) {
            const asc_matrix_cell *c = &m->cells[i];
            bool here = i < m->n && strcmp(c->method, first->method) == 0 && (c->at[0] != '\0') == site &&
                        strcmp(c->model, models[k]) == 0;
            if (!here) {
                asc_text_addf(t, " %12s", "-");
                continue;
            }
            asc_text_addf(t, " %12.2e", c->error);
            over = over || !(c->error <= MOST_ERROR);
            i++;
        }
        asc_text_addf(t, "%s%s\n", first->stochastic ? "  same draws" : "", over ? "  OVER" : "");
    }
}

static void json(asc_text *t, const asc_matrix *m, const char *device, bool good) {
    asc_text_object(t, NULL);
    asc_text_strz(t, "device", device);
    asc_text_strz(t, "against", "reference");
    asc_text_num(t, "worst", m->worst);
    asc_text_num(t, "median", m->median);
    asc_text_num(t, "most_error", MOST_ERROR);
    asc_text_num(t, "most_median", MOST_MEDIAN);
    asc_text_bool(t, "within", good);
    asc_text_array(t, "cells");
    for (size_t i = 0; i < m->n; i++) {
        const asc_matrix_cell *c = &m->cells[i];
        asc_text_object(t, NULL);
        asc_text_strz(t, "method", c->method);
        asc_text_strz(t, "model", c->model);
        asc_text_strz(t, "at", c->at[0] != '\0' ? c->at : NULL);
        asc_text_bool(t, "stochastic", c->stochastic);
        asc_text_num(t, "error", c->error);
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
}

int cmd_matrix(cli *c) {
    asc_ctx *exact = NULL;
    asc_matrix *m = NULL;
    const asc_ctx_options o = {.struct_size = sizeof o, .device = "reference"};
    int rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    asc_status st = asc_ctx_create(&o, &exact);
    if (st == ASC_OK) st = asc_method_matrix(c->ctx, exact, c->value[OPT_METHOD], &m);
    if (st != ASC_OK) {
        rc = cli_error(c, st);
        asc_ctx_destroy(exact);
        return rc;
    }
    bool good = m->worst <= MOST_ERROR && m->median <= MOST_MEDIAN;
    if (cli_wants_json(c)) {
        json(c->out, m, c->value[OPT_DEVICE] != NULL ? c->value[OPT_DEVICE] : "cpu", good);
        rc = cli_write_json(c, c->out);
    } else {
        asc_text_adds(c->out, "Largest difference from the reference (f64), over the largest score\n\n");
        table(c->out, m);
        asc_text_addf(c->out, "\nlargest %.2e (at most %.0e), median %.2e (at most %.0e): %s\n", m->worst,
                      MOST_ERROR, m->median, MOST_MEDIAN, good ? "within" : "NOT within");
        rc = cli_has(c, OPT_QUIET) ? EXIT_DONE : cli_flush(c);
    }
    asc_matrix_destroy(c->ctx, m);
    asc_ctx_destroy(exact);
    return rc != EXIT_DONE ? rc : good ? EXIT_DONE : EXIT_CHECK;
}
