/* task_ends.c - the two ends of every path: values at the inputs and at the baselines; and how many numbers
 * are explained. */
#include "ops.h"
#include "method.h"
#include "task_parts.h"
#include <string.h>

typedef struct ends {
    asc_task *t;
    bool at_baseline;
    double *f;
    size_t n_out;
} ends;

static void fill(void *self, size_t row, size_t var, double *out) {
    const ends *s = self;
    const asc_var *v = &s->t->in[var];
    if (!s->at_baseline) {
        memcpy(out, v->x + row * v->size, v->size * sizeof *out);
        return;
    }
    for (size_t i = 0; i < v->size; i++) out[i] = asc_var_baseline(v, row, i);
}

static asc_status keep(void *self, size_t row, const asc_row_result *x) {
    ends *s = self;
    asc_task *t = s->t;
    memcpy(s->f + row * s->n_out, x->f, s->n_out * sizeof *x->f);
    for (size_t k = 0; x->y != NULL && k < t->n_at; k++) {
        asc_var *v = &t->at[k];
        double **to = s->at_baseline ? &v->x0 : &v->x;
        if (*to == NULL) *to = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n * v->size, sizeof **to);
        if (*to == NULL) return ASC_RESOURCE_EXHAUSTED;
        if (s->at_baseline) v->n_x0 = t->n;
        memcpy(*to + row * v->size, x->y[k], v->size * sizeof **to);
    }
    return ASC_OK;
}

static asc_status run_end(asc_task *t, bool at_baseline, bool with_sites, double **f) {
    size_t n_out;
    asc_status st = asc_task_n_out(t, &n_out);
    if (st != ASC_OK) return st;
    if (*f == NULL) *f = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n * n_out, sizeof **f);
    if (*f == NULL) return ASC_RESOURCE_EXHAUSTED;
    ends s = {.t = t, .at_baseline = at_baseline, .f = *f, .n_out = n_out};
    asc_rows rows = {.n = t->n, .self = &s, .fill = fill};
    asc_pass p = {.rows = &rows, .want_values = with_sites, .what = "values", .self = &s, .sink = keep};
    return asc_task_run(t, &p);
}

asc_status asc_task_ends(asc_task *t, bool with_baselines) {
    asc_ctx *ctx = t->ctx;
    bool have = true;
    for (size_t k = 0; k < t->n_at; k++) have = have && t->at[k].x != NULL;
    if (t->r->value == NULL || !have) {
        asc_status st = run_end(t, false, t->at_sites, &t->r->value);
        if (st != ASC_OK) return st;
    }
    if (t->at_sites) {
        asc_status st = asc_task_at_baselines(t);
        if (st == ASC_OK) st = asc_task_masks(t);
        if (st != ASC_OK) return st;
    }
    if (!with_baselines || t->r->baseline_value != NULL) return ASC_OK;
    bool given = t->at_sites;
    for (size_t k = 0; k < t->n_at; k++) given = given && t->at[k].x0 != NULL;
    if (given) return ASC_OK; /* the request speaks of the sites themselves: methods run that end */
    for (size_t k = 0; k < t->n_in; k++) {
        if (t->in[k].x0 != NULL && t->in[k].n_x0 != 1 && t->in[k].n_x0 != t->n)
            return ASC_FAIL(ctx, ASC_INTERNAL, "a distribution of baselines has no single end");
    }
    return run_end(t, true, t->at_sites, &t->r->baseline_value);
}

/* Every explained number has a score for every element: a target that was left out can ask for terabytes. */
static const double MOST_SCORES = 268435456.0;

static asc_status check_scores(const asc_task *t) {
    double n = 0.0;
    for (size_t k = 0; k < t->n_at; k++) n += (double)t->at[k].size;
    n *= (double)t->n * (double)t->aim.n_out;
    if (t->aim.n_out < 2 || n <= MOST_SCORES) return ASC_OK;
    ASC_FAIL(t->ctx, ASC_RESOURCE_EXHAUSTED,
             "%zu explained numbers per example make %.4g scores; at most %.4g", t->aim.n_out, n,
             MOST_SCORES);
    return asc_hint(t->ctx, "choose one number with the target (--target), or weights over them");
}

asc_status asc_task_n_out(asc_task *t, size_t *out) {
    asc_ctx *ctx = t->ctx;
    asc_status st = ASC_OK;
    *out = 0;
    if (t->aim.resolved) {
        *out = t->aim.n_out;
        return ASC_OK;
    }
    ends s = {.t = t};
    asc_rows rows = {.n = 1, .self = &s, .fill = fill};
    asc_pass p = {.rows = &rows};
    asc_pass_run r = {.t = t, .p = &p, .aim = &t->aim};
    size_t n = t->n_at > t->n_in ? t->n_at : t->n_in;
    bool known = false;
    ASC_TRY(asc_pass_recall(&r, &known));
    if (known) goto done;
    r.rec.moved = asc_calloc(ctx, ASC_MEM_PROGRAM, n + 1, sizeof(asc_tensor *));
    r.rec.y = asc_calloc(ctx, ASC_MEM_PROGRAM, n + 1, sizeof(asc_tensor *));
    st = r.rec.moved != NULL && r.rec.y != NULL ? asc_pass_learn(&r) : ASC_RESOURCE_EXHAUSTED;
done:
    asc_free(ctx, r.rec.moved);
    asc_free(ctx, r.rec.y);
    asc_pass_capture_deinit(&r);
    *out = t->aim.n_out;
    return st == ASC_OK ? check_scores(t) : st;
}

asc_status asc_task_prepare(asc_task *t, bool with_errors) {
    size_t n_out;
    asc_status st = asc_task_n_out(t, &n_out);
    if (st != ASC_OK) return st;
    if (n_out != 1) {
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "%s explains one number per example; the target leaves %zu",
                 t->method->info.name, n_out);
        return asc_hint(t->ctx, "choose one with the target (--target), or weights over them");
    }
    return asc_task_make_scores(t, 1, with_errors);
}
