/* background.c - a method averaged over a distribution of baselines: one run per row of it, on a view of the
 * task whose variables have that row as their only baseline. Nothing is copied but the variables' records. */
#include "coalition.h"
#include <math.h>
#include <string.h>

static size_t rows_of(const asc_task *t, const asc_var *v) {
    return v->x0 != NULL && v->n_x0 > 1 && v->n_x0 != t->n ? v->n_x0 : 1;
}

size_t asc_n_background(const asc_task *t) {
    size_t n = 1;
    for (size_t k = 0; k < t->n_at; k++) {
        if (rows_of(t, &t->at[k]) > n) n = rows_of(t, &t->at[k]);
    }
    return n;
}

/* Adds a run's numbers to the sums in `to`; errors as squares. */
static void add(const asc_task *t, asc_attribution *to, const asc_attribution *from, size_t n_out) {
    for (size_t k = 0; k < t->n_at; k++) {
        size_t n = t->n * n_out * t->at[k].size;
        for (size_t i = 0; i < n; i++) {
            to->scores[k].data[i] += from->scores[k].data[i];
            to->scores[k].error[i] += from->scores[k].error[i] * from->scores[k].error[i];
        }
    }
    for (size_t i = 0; i < t->n * n_out; i++) {
        to->value[i] = from->value[i];
        to->baseline_value[i] += from->baseline_value[i];
        to->delta[i] += from->delta[i];
    }
    to->n_forward += from->n_forward;
    to->converged = to->converged && from->converged;
    to->stochastic = to->stochastic || from->stochastic;
    if (from->rows_per_pass > to->rows_per_pass) to->rows_per_pass = from->rows_per_pass;
}

static void divide(const asc_task *t, size_t n_out, double rows) {
    asc_attribution *r = t->r;
    for (size_t k = 0; k < t->n_at; k++) {
        for (size_t i = 0; i < t->n * n_out * t->at[k].size; i++) {
            r->scores[k].data[i] /= rows;
            r->scores[k].error[i] = sqrt(r->scores[k].error[i]) / (r->stochastic ? rows : sqrt(rows));
        }
    }
    for (size_t i = 0; i < t->n * n_out; i++) {
        r->baseline_value[i] /= rows;
        r->delta[i] /= rows;
    }
}

/* The run for row b. Its notes are the task's: the same ones once. */
static asc_status run_row(asc_task *t, asc_var *vars, size_t b, asc_status (*attribute)(asc_task *t),
                          size_t n_out) {
    asc_task view = *t;
    for (size_t k = 0; k < t->n_at; k++) {
        vars[k] = t->at[k];
        if (rows_of(t, &vars[k]) == 1) continue;
        vars[k].x0 += b * vars[k].size;
        vars[k].n_x0 = 1;
    }
    view.at = vars;
    if (!t->at_sites) view.in = vars;
    view.r = asc_calloc(t->ctx, ASC_MEM_GENERAL, 1, sizeof *view.r);
    if (view.r == NULL) return ASC_RESOURCE_EXHAUSTED;
    view.r->method = t->r->method;
    view.r->stochastic = t->method->stochastic;
    view.r->converged = true;
    asc_status st = attribute(&view);
    for (size_t i = 0; st == ASC_OK && i < view.r->n_notes; i++)
        st = asc_task_note(t, "%s", view.r->notes[i]);
    if (st == ASC_OK) add(t, t->r, view.r, n_out);
    asc_attribution_destroy(t->ctx, view.r);
    return st;
}

asc_status asc_over_background(asc_task *t, asc_status (*attribute)(asc_task *t)) {
    size_t rows, n_out;
    asc_status st = ASC_OK;
    asc_var *vars = NULL;
    if (t->at_sites)
        ASC_TRY(asc_task_ends(t, false)); /* their values, baselines and groups, once for all rows */
    rows = asc_n_background(t);
    if (rows == 1) return attribute(t);
    for (size_t k = 0; k < t->n_at; k++) {
        size_t own = rows_of(t, &t->at[k]);
        if (own == 1 || own == rows) continue;
        st = ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "baselines: '%.60s' has %zu rows, another value %zu",
                      t->at[k].name, own, rows);
        goto done;
    }
    ASC_TRY(asc_task_n_out(t, &n_out));
    ASC_TRY(asc_task_make_scores(t, n_out, true));
    vars = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n_at + 1, sizeof *vars);
    asc_free(t->ctx, t->r->value);
    t->r->value = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n * n_out, sizeof(double));
    t->r->baseline_value = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n * n_out, sizeof(double));
    t->r->delta = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n * n_out, sizeof(double));
    if (vars == NULL || t->r->value == NULL || t->r->baseline_value == NULL || t->r->delta == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    t->r->n_delta = t->n * n_out;
    t->r->converged = true;
    t->r->stochastic = false;
    for (size_t b = 0; b < rows; b++) ASC_TRY(run_row(t, vars, b, attribute, n_out));
    divide(t, n_out, (double)rows);
    st = asc_task_note(
        t, "absent features stand at each of %zu baselines in turn; the scores are means over them", rows);
done:
    asc_free(t->ctx, vars);
    return st;
}
