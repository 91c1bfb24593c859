/* input_x_gradient.c - gradient times input: the output's linear part at each token. */
#include "method.h"
#include "prompt_sweep.h"
#include "task.h"
#include <math.h>

static asc_status run(asc_job *j) {
    asc_result *r = j->r;
    if (j->inner != 0) return asc_prompt_sweeps(j, ASC_ROWS_PROMPT, NULL, 1);
    r->converged = true;
    if (j->req->per_token) return asc_job_matrix_gradient(j, NULL);
    double largest = 0.0; /* before parts of a sum cancel, as they do in front of a normalisation */
    asc_status st = asc_job_gradient(j, "l2", NULL, r->scores, &largest);
    for (size_t i = 0; i < r->n_prompt; i++) r->score_errors[i] = asc_job_gradient_noise(j, largest);
    return st;
}

static asc_status keep(void *self, size_t row, const asc_row_result *x) {
    asc_task *t = self;
    t->r->value[row] = x->f[0];
    for (size_t k = 0; k < t->n_at; k++) {
        size_t n = t->at[k].size;
        double *s = t->r->scores[k].data + row * n;
        for (size_t i = 0; i < n; i++) s[i] = t->req->no_multiply ? x->g[k][i] : x->g[k][i] * x->y[k][i];
    }
    asc_task_row_errors(t, row);
    return ASC_OK;
}

static asc_status attribute(asc_task *t) {
    asc_status st = asc_task_prepare(t, true);
    return st == ASC_OK ? asc_task_at_input(t, NULL, NULL, t, keep) : st;
}

const asc_method asc_method_input_x_gradient = {
    .info = {.name = "input-x-gradient",
             .captum = "InputXGradient",
             .doc = "gradient times value of each input element (of a prompt: summed over a token's "
                    "embedding); at a site: LayerGradientXActivation",
             .formula = "score_t = sum_d x_td * d f / d x_td",
             .paper = "Shrikumar et al., Not Just a Black Box, 2016",
             .axioms = "none in general (complete only for functions that are linear along the ray to zero)",
             .cost = "1 forward and 1 backward pass",
             .options = "features, site, layers, output; nets: at, no-multiply",
             .differences = "sums over the embedding"},
    .by_gradient = true,
    .attribute = attribute,
    .price_rows = asc_price_one_gradient,
    .run = run,
    .price = asc_job_price_one_gradient,
    .per_token = true,
};
