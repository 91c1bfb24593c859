/* task_estimate.c - a dry run on a net: the rows that the method says it will run, at the speed of passes of
 * their kind that are run here. A pass of a net takes milliseconds, so it is its own best measurement: of its
 * time, and of the peak with everything that surrounds it. */
#include "exec.h"
#include "method.h"
#include "task_parts.h"
#include <math.h>
#include <string.h>

typedef struct probe {
    size_t chunk;                 /* rows of a pass */
    double first, seconds, flops; /* the first pass; one of the later ones; arithmetic of it */
} probe;

static void fill(void *self, size_t row, size_t var, double *out) {
    const asc_task *t = self;
    const asc_var *v = &t->in[var];
    memcpy(out, v->x + row % t->n * v->size, v->size * sizeof *out);
}

static asc_status ignore(void *self, size_t row, const asc_row_result *x) {
    (void)self;
    (void)row;
    (void)x;
    return ASC_OK;
}

/* Runs passes of the size that `total` rows would be run in. */
static asc_status measure(asc_task *t, bool gradients, double total, probe *out) {
    static const double ENOUGH = 0.05;
    enum { MOST = 50 };
    size_t n = total < 1.0 ? 1 : total > 1e9 ? (size_t)1e9 : (size_t)total;
    asc_rows rows = {.n = n, .self = t, .fill = fill};
    asc_pass p = {.rows = &rows, .want_gradients = gradients, .self = t, .sink = ignore};
    double done = 0.0;
    *out = (probe){0};
    asc_status st = asc_task_chunk(t, &p, &out->chunk);
    rows.n = out->chunk;
    for (int i = 0; st == ASC_OK && i < MOST && done < ENOUGH; i++) {
        double flops = asc_exec_stats_of(t->ctx).flops;
        uint64_t t0 = asc_now_ns();
        st = asc_task_run(t, &p);
        double s = (double)(asc_now_ns() - t0) * 1e-9;
        if (i == 0) out->first = out->seconds = s;
        if (i > 0) done += s;
        if (i > 0) out->seconds = done / i;
        out->flops = asc_exec_stats_of(t->ctx).flops - flops;
    }
    return st;
}

static void count(asc_task *t, const probe *p, double rows) {
    double passes = ceil(rows / (double)p->chunk), share = rows / ((double)p->chunk * fmax(passes, 1.0));
    t->r->flops += rows / (double)p->chunk * p->flops;
    t->r->predicted_seconds += p->first + (passes - 1.0) * p->seconds * share;
}

asc_status asc_task_estimate(asc_task *t, uint64_t t0) {
    double forward = 0.0, gradient = 0.0, n = (double)t->n, other = 0.0;
    size_t n_out;
    probe p;
    asc_status st = asc_task_n_out(t, &n_out);
    if (st == ASC_OK && t->at_sites) st = asc_task_at_baselines(t); /* their shapes are known from here on */
    if (st == ASC_OK && t->at_sites) st = asc_task_masks(t);
    if (st != ASC_OK) return st;
    if (t->method->price_rows == NULL)
        return asc_task_note(t, "%s finds out how many rows it needs only by running", t->method->info.name);
    t->method->price_rows(t, &forward, &gradient);
    other = (double)(asc_now_ns() - t0) * 1e-9; /* what a run does as well: shapes, the first program */
    t->r->flops = t->r->predicted_seconds = 0.0;
    if (forward > 0.0) {
        ASC_TRY(measure(t, false, forward * n, &p));
        count(t, &p, forward * n);
    }
    double spare = 0.0;
    if (gradient > 0.0) {
        const double before = t->r->predicted_seconds;
        ASC_TRY(measure(t, true, gradient * n, &p));
        count(t, &p, gradient * n);
        const double least = t->method->least_rows != NULL ? t->method->least_rows(t) : gradient;
        if (least < gradient) spare = (t->r->predicted_seconds - before) * (1.0 - least / gradient);
    }
    t->r->predicted_seconds += other;
    t->r->predicted_least_seconds = t->r->predicted_seconds - spare;
    t->r->n_forward = (uint64_t)((forward + gradient) * n);
    t->r->n_backward = (uint64_t)(gradient * n);
    t->r->predicted_peak_bytes = asc_memory(t->ctx).peak_total; /* of the passes just run */
done:
    return st;
}
