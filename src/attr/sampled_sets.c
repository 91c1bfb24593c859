/* sampled_sets.c - runs sets of features on every example, in blocks, until the fits are good enough. */
#include "sampled_sets.h"
#include <math.h>

size_t asc_sets_enumerable(size_t m, size_t most) {
    return m < 32 && (size_t)1 << m <= most ? (size_t)1 << m : 0;
}

asc_status asc_sets_init(asc_task *t, size_t n_out, size_t n, asc_sets *out) {
    *out = (asc_sets){.t = t, .n_out = n_out, .m = t->n_features, .n = n};
    size_t cells, values;
    if (!asc_mul_size(n, out->m, &cells) || !asc_mul_size(t->n, n, &values) ||
        !asc_mul_size(values, n_out, &values)) {
        return ASC_FAIL(t->ctx, ASC_RESOURCE_EXHAUSTED, "%zu samples of %zu features are too many", n,
                        out->m);
    }
    out->present = asc_calloc(t->ctx, ASC_MEM_GENERAL, cells + 1, sizeof *out->present);
    out->y = asc_calloc(t->ctx, ASC_MEM_GENERAL, values + 1, sizeof *out->y);
    out->scores = asc_coalition_alloc(t, n_out);
    out->errors = asc_coalition_alloc(t, n_out);
    out->active = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n + 1, sizeof *out->active);
    bool all = out->present != NULL && out->y != NULL && out->scores != NULL && out->errors != NULL &&
               out->active != NULL;
    for (size_t e = 0; all && e < t->n; e++) out->active[e] = e;
    out->n_active = t->n;
    return all ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

void asc_sets_deinit(asc_sets *s) {
    if (s->t == NULL) return;
    asc_free(s->t->ctx, s->present);
    asc_free(s->t->ctx, s->y);
    asc_free(s->t->ctx, s->scores);
    asc_free(s->t->ctx, s->errors);
    asc_free(s->t->ctx, s->active);
    *s = (asc_sets){0};
}

/* Rows: set by set, active example by active example. */
static size_t example(void *self, size_t row) {
    const asc_sets *s = self;
    return s->active[row % s->n_active];
}

static void fill(void *self, size_t row, size_t var, double *out) {
    const asc_sets *s = self;
    const uint8_t *present = s->present + (s->from + row / s->n_active) * s->m;
    asc_coalition_fill_set(s->t, s->active[row % s->n_active], var, present, out);
}

static asc_status sink(void *self, size_t row, const asc_row_result *x) {
    asc_sets *s = self;
    double *y = s->y + (s->active[row % s->n_active] * s->n + s->from + row / s->n_active) * s->n_out;
    for (size_t o = 0; o < s->n_out; o++) y[o] = x->f[o];
    return ASC_OK;
}

static bool settled(const asc_sets *s, size_t e) {
    double largest = 0.0, worst = 0.0;
    for (size_t i = e * s->n_out * s->m; i < (e + 1) * s->n_out * s->m; i++) {
        if (!(s->errors[i] >= 0.0)) return false;
        largest = fmax(largest, fabs(s->scores[i]));
        worst = fmax(worst, s->errors[i]);
    }
    return worst <= s->t->req->tolerance * largest;
}

asc_status asc_sets_run(asc_sets *s, size_t first_block) {
    asc_task *t = s->t;
    bool stops = t->req->tolerance > 0.0 && !s->exact;
    size_t to = stops && first_block < s->n ? first_block : s->n;
    for (s->from = 0;;) {
        asc_rows rows = {.n = (to - s->from) * s->n_active, .self = s, .example = example, .fill = fill};
        asc_pass pass = {
            .rows = &rows, .replace_sites = t->at_sites, .what = "coalitions", .self = s, .sink = sink};
        asc_status st = rows.n > 0 ? asc_task_run(t, &pass) : ASC_OK;
        if (st == ASC_OK && s->prepare != NULL) st = s->prepare(s->self, to);
        for (size_t a = 0; st == ASC_OK && a < s->n_active; a++) st = s->fit(s->self, s->active[a], to);
        if (st != ASC_OK) return st;
        size_t left = 0;
        for (size_t a = 0; stops && a < s->n_active; a++) {
            if (!settled(s, s->active[a])) s->active[left++] = s->active[a];
        }
        t->r->converged = !stops || left == 0;
        if (t->r->converged || to == s->n) break;
        s->n_active = left;
        s->from = to;
        to = to > s->n - to ? s->n : 2 * to;
    }
    if (t->r->converged) return ASC_OK;
    return asc_task_note(t, "%zu samples did not reach the tolerance of %g", s->n, t->req->tolerance);
}
