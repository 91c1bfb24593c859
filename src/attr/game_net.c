/* game_net.c - a net's examples as a game: rows with a set of features at their values, the others at the
 * baseline. */
#include "coalition.h"
#include "game.h"

/* The rows of one call: set by set, active example by active example. */
typedef struct rows_job {
    asc_task *t;
    const uint8_t *present;
    const size_t *active;
    size_t n_active, stride, n_out;
    double *y;
} rows_job;

static size_t example(void *self, size_t row) {
    const rows_job *j = self;
    return j->active[row % j->n_active];
}

static void fill(void *self, size_t row, size_t var, double *out) {
    const rows_job *j = self;
    const uint8_t *present = j->present + row / j->n_active * j->t->n_features;
    asc_coalition_fill_set(j->t, example(self, row), var, present, out);
}

static asc_status sink(void *self, size_t row, const asc_row_result *x) {
    const rows_job *j = self;
    double *y = j->y + example(self, row) * j->stride + row / j->n_active * j->n_out;
    for (size_t o = 0; o < j->n_out; o++) y[o] = x->f[o];
    return ASC_OK;
}

static asc_status values(void *self, const uint8_t *present, size_t k, const size_t *active, size_t n_active,
                         double *y, size_t stride) {
    asc_task *t = self;
    rows_job j = {
        .t = t, .present = present, .active = active, .n_active = n_active, .stride = stride, .y = y};
    asc_status st = asc_task_n_out(t, &j.n_out);
    asc_rows rows = {.n = k * n_active, .self = &j, .example = example, .fill = fill};
    asc_pass pass = {
        .rows = &rows, .replace_sites = t->at_sites, .what = "coalitions", .self = &j, .sink = sink};
    return st == ASC_OK && rows.n > 0 ? asc_task_run(t, &pass) : st;
}

static double noise(void *self, size_t o, double largest) {
    (void)o;
    return asc_task_value_noise(self, largest);
}

static asc_status note(void *self, const char *line) { return asc_task_note(self, "%s", line); }

void asc_game_of_task(asc_task *t, size_t n_out, asc_game *out) {
    *out = (asc_game){.ctx = t->ctx,
                      .n = t->n,
                      .n_out = n_out,
                      .m = t->n_features,
                      .full = t->r->value,
                      .empty = t->r->baseline_value,
                      .samples = asc_task_samples(t),
                      .tolerance = t->req->tolerance,
                      .captum = t->req->compat_captum,
                      .key = asc_task_key(t),
                      .self = t,
                      .values = values,
                      .noise = noise,
                      .note = note,
                      .converged = t->r->converged,
                      .stochastic = t->r->stochastic};
}

void asc_game_to_task(const asc_game *g, asc_task *t) {
    t->r->converged = g->converged;
    t->r->stochastic = g->stochastic;
}
