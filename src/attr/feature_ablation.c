/* feature_ablation.c - how much the value falls when one feature is left out or replaced.
 * Prompts: all are one set of coalitions. Nets: a feature is a group of elements, put at its baseline.
 */
#include "coalition.h"
#include "coalitions.h"
#include <math.h>
#include <string.h>

/* Values of the prompt without each feature, without any, and of the whole one: [n_groups + 2,
 * asc_job_n_values]. */
static asc_status all_values(asc_job *j, double *values) {
    size_t g = j->n_groups, bytes;
    uint8_t *present =
        asc_mul_size(g + 2, g, &bytes) ? asc_calloc(j->ctx, ASC_MEM_GENERAL, bytes, sizeof *present) : NULL;
    if (present == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < g + 2; i++) {
        memset(present + i * g, i != g, g);
        if (i < g) present[i * g + i] = 0;
    }
    asc_status st = asc_job_coalition_values(j, present, g + 2, values);
    asc_free(j->ctx, present);
    return st;
}

static void scores(asc_job *j, const double *values, size_t width) {
    asc_result *r = j->r;
    const double noise = 2.0 * asc_job_value_noise(j);
    for (size_t g = 0; g < j->n_groups; g++) {
        for (size_t k = 0; k + 1 < width; k++) {
            r->matrix[k * r->n_features + g] = r->token_values[k] - values[g * width + 1 + k];
            r->matrix_errors[k * r->n_features + g] = 2.0 * asc_job_token_noise(j, k);
        }
        r->features[g].score = r->value - values[g * width];
        r->features[g].error = noise;
        r->scores[j->groups[g].first] = r->features[g].score;
        r->score_errors[j->groups[g].first] = noise;
    }
    r->converged = true;
}

static asc_status run(asc_job *j) {
    asc_result *r = j->r;
    size_t width = asc_job_n_values(j), cells;
    double *values = asc_mul_size(j->n_groups + 2, width, &cells)
                         ? asc_calloc(j->ctx, ASC_MEM_GENERAL, cells, sizeof *values)
                         : NULL;
    if (values == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = all_values(j, values);
    const double *whole = values + (j->n_groups + 1) * width;
    if (st == ASC_OK) {
        r->value = whole[0];
        for (size_t k = 0; k + 1 < width; k++) r->token_values[k] = whole[1 + k];
        r->baseline_value = values[j->n_groups * width];
        scores(j, values, width);
    }
    asc_free(j->ctx, values);
    return st;
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    *n_forward = (double)j->n_groups + 2.0;
    *n_gradient = 0.0;
}

/* ---- nets: one row per example and feature, the feature at its baseline
 * --------------------------------------- */

typedef struct net_job {
    asc_task *t;
    size_t n_out;
    double *scores, *errors; /* [n, n_out, features] */
} net_job;

static size_t net_example(void *self, size_t row) { return row / ((net_job *)self)->t->n_features; }

static void net_fill(void *self, size_t row, size_t var, double *out) {
    const asc_task *t = ((net_job *)self)->t;
    asc_coalition_fill_without(t, row / t->n_features, var, (int32_t)(row % t->n_features), out);
}

static asc_status net_sink(void *self, size_t row, const asc_row_result *x) {
    net_job *j = self;
    size_t m = j->t->n_features, e = row / m, g = row % m;
    for (size_t o = 0; o < j->n_out; o++) {
        double value = j->t->r->value[e * j->n_out + o];
        j->scores[(e * j->n_out + o) * m + g] = value - x->f[o];
        j->errors[(e * j->n_out + o) * m + g] = asc_task_value_noise(j->t, fmax(fabs(value), fabs(x->f[o])));
    }
    return ASC_OK;
}

static asc_status attribute(asc_task *t) {
    net_job j = {.t = t};
    asc_status st;
    ASC_TRY(asc_coalition_begin(t, &j.n_out));
    j.scores = asc_coalition_alloc(t, j.n_out);
    j.errors = asc_coalition_alloc(t, j.n_out);
    if (j.scores == NULL || j.errors == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    asc_rows rows = {.n = t->n * t->n_features, .self = &j, .example = net_example, .fill = net_fill};
    asc_pass pass = {
        .rows = &rows, .replace_sites = t->at_sites, .what = "ablated rows", .self = &j, .sink = net_sink};
    ASC_TRY(asc_task_run(t, &pass));
    st = asc_coalition_publish(t, j.n_out, j.scores, j.errors);
    t->r->converged = true;
done:
    asc_free(t->ctx, j.scores);
    asc_free(t->ctx, j.errors);
    return st;
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    *n_forward = (double)t->n_features + 1.0;
    *n_gradient = 0.0;
}

const asc_method asc_method_feature_ablation = {
    .info =
        {.name = "feature-ablation",
         .captum = "FeatureAblation, LayerFeatureAblation, NeuronFeatureAblation",
         .doc = "how much the output falls without each word or feature: one forward pass per feature",
         .formula = "score_i = f(x) - f(x without feature i)",
         .paper =
             "Zeiler and Fergus, Visualizing and Understanding Convolutional Networks, ECCV 2014 (occlusion)",
         .axioms = "dummy (a feature that changes nothing scores 0); the scores need not add up to the total",
         .cost = "n features + 2 forward passes (nets: + 1)",
         .options =
             "features, baseline (remove, mask, eos, pad, token:ID), output; nets: baselines, masks, at",
         .differences =
             "removes tokens by default where Captum replaces them; --baseline token:ID is Captum's way. "
             "Nets: several explained numbers keep their dimension; groups absent from every mask cost "
             "nothing"},
    .needs_baseline = true,
    .auto_baseline = ASC_BASELINE_REMOVE,
    .takes_integers = true,
    .attribute = attribute,
    .price_rows = price_rows,
    .run = run,
    .price = price,
    .per_token = true,
};
