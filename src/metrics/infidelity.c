/* infidelity.c - the mean squared error of the change that scores predict for a perturbation. Perturbed
 * examples are made and run block by block. */
#include "metric.h"
#include <math.h>
#include <string.h>

enum { BLOCK = 64, DEFAULT_SAMPLES = 10 };

typedef struct inf_job {
    asc_task *t;
    const asc_infidelity_request *how;
    size_t samples, first; /* row r of the block: number first + r = example * samples + sample */
    double **scores;
    const double **x; /* [n_at] of the example in hand */
    asc_block perturbed, perturbation;
    double predicted[BLOCK];       /* sum of perturbation * score, per row of the block */
    double *aa, *ab, *bb, *square; /* [n] sums over samples of predicted a, seen b: aa, ab, bb, (a - b)^2 */
} inf_job;

static size_t example(void *self, size_t row) {
    const inf_job *j = self;
    return (j->first + row) / j->samples;
}

static void fill(void *self, size_t row, size_t var, double *out) {
    const inf_job *j = self;
    memcpy(out, j->perturbed.rows[row * j->t->n_at + var], j->t->at[var].size * sizeof *out);
}

static asc_status sink(void *self, size_t row, const asc_row_result *x) {
    inf_job *j = self;
    size_t e = example(self, row);
    double a = j->predicted[row], b = j->t->r->value[e] - x->f[0];
    j->aa[e] += a * a;
    j->ab[e] += a * b;
    j->bb[e] += b * b;
    j->square[e] += (a - b) * (a - b);
    return ASC_OK;
}

/* I from the two inputs: x - x~, over x - x0 where the scores have that factor (over 1 where it is 0). */
static void derive(const inf_job *j, size_t e, double *const *perturbed, double *const *perturbation) {
    for (size_t k = 0; k < j->t->n_at; k++) {
        const asc_var *v = &j->t->at[k];
        const double *x0 = asc_var_baseline_row(j->t, v, e);
        for (size_t i = 0; i < v->size; i++) {
            double by = j->x[k][i] - (x0 != NULL ? x0[i] : 0.0), d = j->x[k][i] - perturbed[k][i];
            perturbation[k][i] = j->how->per_input && by != 0.0 ? d / by : d;
        }
    }
}

static void add_noise(const inf_job *j, size_t sample, double *const *perturbed,
                      double *const *perturbation) {
    double stdev = j->how->stdev > 0.0 ? j->how->stdev : 0.02;
    uint64_t index = 0;
    for (size_t k = 0; k < j->t->n_at; k++) {
        for (size_t i = 0; i < j->t->at[k].size; i++) {
            perturbation[k][i] = stdev * asc_task_normal(j->t, sample, index++);
            perturbed[k][i] -= perturbation[k][i];
        }
    }
}

static void make_row(inf_job *j, size_t row) {
    size_t number = j->first + row, e = number / j->samples, s = number % j->samples, n = j->t->n_at;
    double **perturbed = j->perturbed.rows + row * n, **by = j->perturbation.rows + row * n;
    const asc_infidelity_request *how = j->how;
    for (size_t k = 0; k < n; k++) j->x[k] = asc_var_row(j->t, &j->t->at[k], e);
    asc_block_load(j->t, &j->perturbed, row, e);
    for (size_t k = 0; k < n; k++) memset(by[k], 0, j->t->at[k].size * sizeof **by);
    if (how->perturb != NULL) {
        how->perturb(how->self, e, s, j->x, perturbed, by);
    } else {
        add_noise(j, s, perturbed, by);
    }
    if (how->derive) derive(j, e, perturbed, by);
    j->predicted[row] = 0.0;
    for (size_t k = 0; k < n; k++) {
        const double *score = j->scores[k] + e * j->t->at[k].size;
        for (size_t i = 0; i < j->t->at[k].size; i++) j->predicted[row] += by[k][i] * score[i];
    }
}

static asc_status run_samples(inf_job *j) {
    size_t total;
    if (!asc_mul_size(j->t->n, j->samples, &total)) {
        return ASC_FAIL(j->t->ctx, ASC_RESOURCE_EXHAUSTED, "infidelity: %zu samples are too many",
                        j->samples);
    }
    for (j->first = 0; j->first < total; j->first += BLOCK) {
        size_t n = total - j->first < BLOCK ? total - j->first : BLOCK;
        for (size_t i = 0; i < n; i++) make_row(j, i);
        asc_rows rows = {.n = n, .self = j, .example = example, .fill = fill};
        asc_pass pass = {.rows = &rows, .what = "perturbed rows", .self = j, .sink = sink};
        asc_status st = asc_task_run(j->t, &pass);
        if (st != ASC_OK) return st;
    }
    return ASC_OK;
}

static void finish(const inf_job *j, asc_metric *m) {
    for (size_t e = 0; e < m->n; e++) {
        double beta = j->ab[e] / (j->aa[e] > 0.0 ? j->aa[e] : 1.0);
        m->betas[e] = beta;
        m->values[e] =
            j->how->normalize ? beta * beta * j->aa[e] - 2.0 * beta * j->ab[e] + j->bb[e] : j->square[e];
        m->values[e] = fmax(m->values[e], 0.0) / (double)j->samples;
    }
}

static asc_status check(const asc_task *t, const asc_infidelity_request *how) {
    if (how->struct_size != sizeof *how) {
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "infidelity: struct_size is not that of this library");
    }
    if (t->at_sites)
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "infidelity: at: only inputs can be perturbed");
    if (!(how->stdev >= 0.0) || !isfinite(how->stdev)) {
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "infidelity: stdev is %g", how->stdev);
    }
    return ASC_OK;
}

asc_status asc_infidelity(asc_net *net, const asc_attr_request *req, const asc_infidelity_request *how,
                          asc_metric **out) {
    asc_task t;
    inf_job j = {.t = &t, .how = how};
    asc_metric *m = NULL;
    asc_status st;
    *out = NULL;
    ASC_TRY(asc_task_init(&t, net, req));
    ASC_TRY(check(&t, how));
    ASC_TRY(asc_metric_one_number(&t, "infidelity"));
    ASC_TRY(asc_task_ends(&t, false));
    ASC_TRY(asc_metric_scores(&t, how->scores, how->n_scores, &j.scores));
    j.samples = how->samples > 0 ? how->samples : DEFAULT_SAMPLES;
    j.x = asc_calloc(t.ctx, ASC_MEM_GENERAL, t.n_at + 1, sizeof *j.x);
    j.aa = asc_calloc(t.ctx, ASC_MEM_GENERAL, 4 * t.n + 1, sizeof *j.aa);
    if (j.x == NULL || j.aa == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    j.ab = j.aa + t.n;
    j.bb = j.ab + t.n;
    j.square = j.bb + t.n;
    ASC_TRY(asc_block_init(&t, BLOCK, &j.perturbed));
    ASC_TRY(asc_block_init(&t, BLOCK, &j.perturbation));
    ASC_TRY(asc_metric_create(t.ctx, t.n, false, true, &m));
    ASC_TRY(run_samples(&j));
    finish(&j, m);
    m->n_forward = t.r->n_forward;
    *out = m;
    m = NULL;
done:
    asc_metric_destroy(net->ctx, m);
    if (t.ctx != NULL) {
        asc_block_deinit(&t, &j.perturbed);
        asc_block_deinit(&t, &j.perturbation);
        asc_metric_scores_free(&t, j.scores);
    }
    asc_free(net->ctx, j.x);
    asc_free(net->ctx, j.aa);
    asc_task_deinit(&t);
    return st;
}
