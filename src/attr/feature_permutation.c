/* feature_permutation.c - how much the value falls when a feature's values are shuffled among the examples.
 * A group moves as one, across inputs too. The shuffle of a feature is drawn until it moves something. */
#include "coalition.h"
#include <math.h>
#include <string.h>

typedef struct shuffle_job {
    asc_task *t;
    size_t n_out, samples, m;
    size_t *from;      /* [samples, features, n]: which example gives its values */
    double *mean, *m2; /* [n, n_out, features]: running mean over samples, sum of squares about it */
} shuffle_job;

/* Rows run sample by sample, feature by feature, example by example. */
static size_t example(void *self, size_t row) { return row % ((shuffle_job *)self)->t->n; }

static void fill(void *self, size_t row, size_t var, double *out) {
    const shuffle_job *j = self;
    const asc_task *t = j->t;
    const asc_var *v = &t->at[var];
    size_t e = row % t->n, g = row / t->n % j->m;
    const double *x = asc_var_row(t, v, e), *other = asc_var_row(t, v, j->from[row]);
    const int32_t *mask = asc_var_mask_row(v, e);
    memcpy(out, x, v->size * sizeof *out);
    for (size_t i = 0; i < v->size; i++) {
        size_t own = mask != NULL ? (size_t)mask[i] : (size_t)v->first_feature + i;
        if (own == g) out[i] = other[i];
    }
}

static asc_status sink(void *self, size_t row, const asc_row_result *x) {
    shuffle_job *j = self;
    size_t n = j->t->n, e = row % n, g = row / n % j->m, s = row / n / j->m;
    for (size_t o = 0; o < j->n_out; o++) {
        size_t i = (e * j->n_out + o) * j->m + g;
        double score = j->t->r->value[e * j->n_out + o] - x->f[o], d = score - j->mean[i];
        j->mean[i] += d / (double)(s + 1);
        j->m2[i] += d * (score - j->mean[i]);
    }
    return ASC_OK;
}

/* A permutation of n >= 2 that is not the identity. */
static void draw(const asc_task *t, uint64_t stream, size_t *p) {
    bool moved = false;
    for (uint64_t k = 0; !moved; k += t->n) {
        for (size_t i = 0; i < t->n; i++) p[i] = i;
        for (size_t i = t->n - 1; i > 0; i--) {
            size_t o = (size_t)(asc_task_uniform(t, stream, k + i) * (double)(i + 1)), was = p[i];
            p[i] = p[o];
            p[o] = was;
        }
        for (size_t i = 0; i < t->n; i++) moved = moved || p[i] != i;
    }
}

/* Captum's answer to a batch of one: zeros. */
static asc_status nothing_to_shuffle(asc_task *t) {
    if (!t->req->compat_captum) {
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "feature-permutation needs at least 2 examples, got %zu",
                 t->n);
        return asc_hint(t->ctx, "give a batch of inputs, or use feature-ablation");
    }
    size_t n_out;
    asc_status st = asc_coalition_begin(t, &n_out);
    if (st == ASC_OK) st = asc_task_make_scores(t, n_out, false);
    t->r->converged = true;
    t->r->error_bound = (double)NAN;
    return st == ASC_OK ? asc_task_note(t, "a batch of one cannot be permuted: the scores are 0") : st;
}

static asc_status attribute(asc_task *t) {
    shuffle_job j = {.t = t};
    double *errors = NULL;
    asc_status st;
    if (t->n < 2) return nothing_to_shuffle(t);
    j.samples = asc_task_samples(t);
    ASC_TRY(asc_coalition_begin(t, &j.n_out));
    j.m = t->n_features; /* of sites: known from here on */
    size_t rows_n;
    j.mean = asc_coalition_alloc(t, j.n_out);
    j.m2 = asc_coalition_alloc(t, j.n_out);
    errors = asc_coalition_alloc(t, j.n_out);
    bool fits = asc_mul_size(j.samples, t->n, &rows_n) && asc_mul_size(rows_n, j.m, &rows_n);
    j.from = fits ? asc_calloc(t->ctx, ASC_MEM_GENERAL, rows_n > 0 ? rows_n : 1, sizeof *j.from) : NULL;
    if (j.mean == NULL || j.m2 == NULL || errors == NULL || j.from == NULL) {
        st = fits ? ASC_RESOURCE_EXHAUSTED
                  : ASC_FAIL(t->ctx, ASC_RESOURCE_EXHAUSTED, "%zu samples are too many", j.samples);
        goto done;
    }
    for (size_t k = 0; k < j.samples * j.m; k++) draw(t, k, j.from + k * t->n);
    asc_rows rows = {.n = rows_n, .self = &j, .example = example, .fill = fill};
    asc_pass pass = {
        .rows = &rows, .replace_sites = t->at_sites, .what = "permuted rows", .self = &j, .sink = sink};
    ASC_TRY(asc_task_run(t, &pass));
    double s = (double)j.samples;
    for (size_t i = 0; i < t->n * j.n_out * j.m; i++) errors[i] = sqrt(j.m2[i] / (s * (s - 1.0)));
    st = asc_coalition_publish(t, j.n_out, j.mean, j.samples > 1 ? errors : NULL);
    t->r->converged = true;
done:
    asc_free(t->ctx, j.mean);
    asc_free(t->ctx, j.m2);
    asc_free(t->ctx, errors);
    asc_free(t->ctx, j.from);
    return st;
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    size_t samples = asc_task_samples(t);
    *n_forward = (double)t->n_features * (double)samples + 1.0;
    *n_gradient = 0.0;
}

const asc_method asc_method_feature_permutation = {
    .info =
        {.name = "feature-permutation",
         .captum = "FeaturePermutation, LayerFeaturePermutation",
         .doc =
             "how much the output falls when a feature's values are shuffled among the examples of the batch",
         .formula = "score_i = f(x) - mean over permutations of f(x with feature i of another example)",
         .paper = "Fisher, Rudin, Dominici, All Models are Wrong, but Many are Useful, JMLR 2019",
         .axioms = "dummy (a feature that changes nothing scores 0)",
         .cost = "samples x n features + 1 forward passes",
         .options = "samples (default 1), masks, at, seed, compat",
         .differences = "a batch of one is an error, not zeros (--compat captum); works at layers with any "
                        "target; several permutations give a standard error"},
    .stochastic = true,
    .takes_integers = true,
    .samples = 1,
    .attribute = attribute,
    .price_rows = price_rows,
};
