/* shapley_values.c - Shapley values, exactly: all 2^M sets of features, each run once and weighed, instead of
 * all M! orders. */
#include "coalition.h"
#include <math.h>

enum { MAX_FEATURES = 20 };

typedef struct set_job {
    asc_task *t;
    size_t n_out, m;
    double
        weight[MAX_FEATURES + 1]; /* of a set of s features next to one that is not in it: s! (m-1-s)! / m! */
    double *scores, *noise;       /* [n, n_out, m] */
    double *largest;              /* [n, n_out]: of |f| */
} set_job;

static size_t example(void *self, size_t row) { return row >> ((set_job *)self)->m; }

static void fill(void *self, size_t row, size_t var, double *out) {
    const set_job *j = self;
    uint8_t present[MAX_FEATURES];
    for (size_t g = 0; g < j->m; g++) present[g] = (uint8_t)(row >> g & 1);
    asc_coalition_fill_set(j->t, row >> j->m, var, present, out);
}

static asc_status sink(void *self, size_t row, const asc_row_result *x) {
    set_job *j = self;
    size_t e = row >> j->m, set = row & (((size_t)1 << j->m) - 1), s = (size_t)__builtin_popcountll(set);
    for (size_t o = 0; o < j->n_out; o++) {
        size_t eo = e * j->n_out + o;
        double *score = j->scores + eo * j->m;
        if (s == 0) j->t->r->baseline_value[eo] = x->f[o];
        j->largest[eo] = fmax(j->largest[eo], fabs(x->f[o]));
        for (size_t g = 0; g < j->m; g++) {
            bool in = (set >> g & 1) != 0;
            score[g] += in ? j->weight[s - 1] * x->f[o] : -j->weight[s] * x->f[o];
        }
    }
    return ASC_OK;
}

asc_status asc_shapley_all_sets(asc_task *t) {
    set_job j = {.t = t};
    asc_status st;
    ASC_TRY(asc_coalition_begin(t, &j.n_out));
    j.m = t->n_features;
    if (j.m > MAX_FEATURES) {
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                 "shapley-values: %zu features have 2^%zu sets; at most %d features", j.m, j.m, MAX_FEATURES);
        st = asc_hint(t->ctx, "group elements with masks, or use shapley-value-sampling or kernel-shap");
        goto done;
    }
    for (size_t s = 0; s < j.m; s++) { /* 1 / (m binomial(m - 1, s)) */
        j.weight[s] = 1.0 / (double)j.m;
        for (size_t i = 0; i < s; i++) j.weight[s] *= (double)(i + 1) / (double)(j.m - 1 - i);
    }
    j.scores = asc_coalition_alloc(t, j.n_out);
    j.noise = asc_coalition_alloc(t, j.n_out);
    j.largest = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n * j.n_out + 1, sizeof *j.largest);
    if (t->r->baseline_value == NULL) {
        t->r->baseline_value = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n * j.n_out + 1, sizeof(double));
    }
    if (j.scores == NULL || j.noise == NULL || j.largest == NULL || t->r->baseline_value == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    asc_rows rows = {.n = t->n << j.m, .self = &j, .example = example, .fill = fill};
    asc_pass pass = {
        .rows = &rows, .replace_sites = t->at_sites, .what = "coalitions", .self = &j, .sink = sink};
    ASC_TRY(asc_task_run(t, &pass));
    for (size_t i = 0; i < t->n * j.n_out * j.m; i++) {
        j.noise[i] = asc_task_value_noise(t, j.largest[i / j.m]);
    }
    ASC_TRY(asc_coalition_publish(t, j.n_out, j.scores, j.noise));
    ASC_TRY(asc_coalition_delta(t, j.n_out, j.scores));
    t->r->converged = true;
    t->r->stochastic = false;
done:
    asc_free(t->ctx, j.scores);
    asc_free(t->ctx, j.noise);
    asc_free(t->ctx, j.largest);
    return st;
}

static asc_status attribute(asc_task *t) { return asc_over_background(t, asc_shapley_all_sets); }

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    *n_forward = ldexp(1.0, (int)(t->n_features < 1000 ? t->n_features : 1000)) + 1.0;
    *n_forward *= (double)asc_n_background(t);
    *n_gradient = 0.0;
}

const asc_method asc_method_shapley_values = {
    .info = {.name = "shapley-values",
             .captum = "ShapleyValues",
             .doc = "Shapley values, exactly, from all sets of features",
             .formula = "score_i = sum over sets S without i of |S|! (M-1-|S|)! / M! (f(S and i) - f(S))",
             .paper = "Shapley, A value for n-person games, 1953; Lundberg and Lee, NeurIPS 2017",
             .axioms = "completeness, dummy, symmetry, linearity",
             .cost = "2^M + 1 forward passes for M features (at most 20)",
             .options = "baselines (also many rows: a mean over them), masks, at",
             .differences =
                 "runs the 2^M sets once instead of M! orders: the same values; more than 20 features are "
                 "an error"},
    .complete = true,
    .takes_rows = true,
    .takes_integers = true,
    .attribute = attribute,
    .price_rows = price_rows,
};
