/* path_integral.c - weighted sums of gradients along the straight path, for each example: by one fixed rule,
 * or by Gauss-Legendre rules of 8, 16, 32, ... points until two of them agree and the scores add up. */
#include "path_integral.h"
#include "quadrature.h"
#include <math.h>
#include <string.h>

enum { FIRST_LEVEL = 8, DEFAULT_EVALUATIONS = 2000 };

/* Sums of one level; which examples it is for. */
typedef struct level {
    asc_path path; /* alphas */
    const double *weights;
    const size_t *active; /* examples, [n_active] */
    size_t n_active;
    double **sum; /* [n_at]: [n, size] */
} level;

static size_t example(void *self, size_t row) {
    const level *l = self;
    return l->active[row % l->n_active];
}

static void fill(void *self, size_t row, size_t var, double *out) {
    const level *l = self;
    asc_path one = l->path;
    asc_task *t = one.t;
    /* the point's number and the example's make the row that path rows would have */
    size_t as_path_row = row / l->n_active * t->n + l->active[row % l->n_active];
    asc_rows rows = asc_path_rows(&one);
    rows.fill(rows.self, as_path_row, var, out);
}

static asc_status add(void *self, size_t row, const asc_row_result *x) {
    level *l = self;
    asc_task *t = l->path.t;
    size_t e = l->active[row % l->n_active];
    double w = l->weights[row / l->n_active];
    for (size_t k = 0; k < t->n_at; k++) {
        size_t n = t->at[k].size;
        double *s = l->sum[k] + e * n;
        for (size_t i = 0; i < n; i++) s[i] += w * x->g[k][i];
    }
    return ASC_OK;
}

static asc_status run_level(level *l) {
    asc_task *t = l->path.t;
    asc_rows rows = {.n = l->path.n_alphas * l->n_active, .self = l, .example = example, .fill = fill};
    asc_pass p = {.rows = &rows,
                  .replace_sites = l->path.sites,
                  .want_gradients = true,
                  .what = "gradients",
                  .self = l,
                  .sink = add};
    for (size_t k = 0; k < t->n_at; k++) {
        for (size_t a = 0; a < l->n_active; a++)
            memset(l->sum[k] + l->active[a] * t->at[k].size, 0, t->at[k].size * sizeof(double));
    }
    return asc_task_run(t, &p);
}

void asc_path_sums_free(asc_task *t, double **sum) {
    for (size_t k = 0; sum != NULL && k < t->n_at; k++) asc_free(t->ctx, sum[k]);
    asc_free(t->ctx, sum);
}

double **asc_path_sums_make(asc_task *t) {
    double **sum = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n_at + 1, sizeof(double *));
    for (size_t k = 0; sum != NULL && k < t->n_at; k++) {
        size_t total;
        sum[k] = asc_mul_size(t->n, t->at[k].size, &total)
                     ? asc_calloc(t->ctx, ASC_MEM_GENERAL, total + 1, sizeof(double))
                     : NULL;
        if (sum[k] == NULL) {
            asc_path_sums_free(t, sum);
            return NULL;
        }
    }
    return sum;
}

asc_status asc_path_fixed(asc_task *t, bool sites, const double *nodes, const double *weights, size_t n,
                          double **sum) {
    asc_status st = sites ? ASC_OK : asc_task_need_path(t);
    if (st != ASC_OK) return st;
    size_t *active = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n, sizeof *active);
    if (active == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t e = 0; e < t->n; e++) active[e] = e;
    level l = {.path = {.t = t, .alphas = nodes, .n_alphas = n, .sites = sites},
               .weights = weights,
               .active = active,
               .n_active = t->n,
               .sum = sum};
    st = run_level(&l);
    asc_free(t->ctx, active);
    return st;
}

/* Change of example e's scores from one level to the next: stored in change, true when both tests pass. */
static bool settled(const asc_task *t, size_t e, double **now, double **before, double **change, double gap,
                    double tolerance) {
    double largest = 0.0, moved = 0.0, sum = 0.0, size = 0.0;
    for (size_t k = 0; k < t->n_at; k++) {
        size_t n = t->at[k].size;
        for (size_t i = 0; i < n; i++) {
            double d = t->at[k].x[e * n + i] - asc_var_baseline(&t->at[k], e, i), s = d * now[k][e * n + i],
                   c = fabs(s - d * before[k][e * n + i]);
            change[k][e * n + i] = c;
            largest = fmax(largest, fabs(s));
            moved = fmax(moved, c);
            sum += s;
            size += fabs(s);
        }
    }
    double noise = asc_task_gradient_noise(t, size) + asc_task_value_noise(t, fabs(gap));
    return moved <= tolerance * largest + asc_task_gradient_noise(t, largest) &&
           fabs(sum - gap) <= tolerance * largest + noise;
}

static size_t limit(const asc_task *t) {
    return t->req->max_evaluations > 0 ? t->req->max_evaluations : DEFAULT_EVALUATIONS;
}

/* One level is compared with the next. */
size_t asc_path_least(void) { return FIRST_LEVEL + 2 * FIRST_LEVEL; }

size_t asc_path_most(const asc_task *t) {
    size_t used = FIRST_LEVEL;
    for (size_t n = 2 * FIRST_LEVEL; n <= limit(t) && used <= limit(t) - n; n *= 2) used += n;
    return used;
}

asc_status asc_path_refine(asc_task *t, bool sites, double **sum, double **change, bool *converged) {
    asc_ctx *ctx = t->ctx;
    asc_status st = ASC_OK;
    size_t most = limit(t), used = 0;
    double tolerance = t->req->tolerance > 0.0 ? t->req->tolerance : 0.01, *nodes = NULL;
    const double *weights = NULL;
    size_t *active = asc_calloc(ctx, ASC_MEM_GENERAL, t->n, sizeof *active), n_active = t->n;
    double **before = asc_path_sums_make(t);
    *converged = false;
    if (active == NULL || before == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t e = 0; e < t->n; e++) active[e] = e;
    for (size_t n = FIRST_LEVEL; n_active > 0 && (n == FIRST_LEVEL || used + n <= most); n *= 2) {
        asc_free(ctx, nodes);
        ASC_TRY(asc_rule_nodes_make(ctx, ASC_RULE_GAUSS_LEGENDRE, n, &nodes, &weights));
        for (size_t k = 0; k < t->n_at; k++) memcpy(before[k], sum[k], t->n * t->at[k].size * sizeof(double));
        level l = {.path = {.t = t, .alphas = nodes, .n_alphas = n, .sites = sites},
                   .weights = weights,
                   .active = active,
                   .n_active = n_active,
                   .sum = sum};
        ASC_TRY(run_level(&l));
        used += n;
        size_t left = 0;
        for (size_t a = 0; a < n_active; a++) {
            size_t e = active[a];
            double gap = t->r->value[e] - t->r->baseline_value[e];
            if (!settled(t, e, sum, before, change, gap, tolerance) || n == FIRST_LEVEL) active[left++] = e;
        }
        n_active = left;
    }
    *converged = n_active == 0;
done:
    asc_path_sums_free(t, before);
    asc_free(ctx, active);
    asc_free(ctx, nodes);
    return st;
}
