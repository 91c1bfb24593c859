/* saliency.c - the size of the gradient at each token. */
#include "method.h"
#include "task.h"
#include <math.h>
#include <string.h>

static asc_status run(asc_job *j) {
    asc_result *r = j->r;
    const char *norm = j->req->norm != NULL ? j->req->norm : "l2";
    r->converged = true;
    if (j->req->per_token) return asc_job_matrix_gradient(j, norm);
    asc_status st = asc_job_gradient(j, norm, r->scores, NULL, NULL);
    double largest = 0.0;
    for (size_t i = 0; i < r->n_prompt; i++) largest = fmax(largest, fabs(r->scores[i]));
    for (size_t i = 0; i < r->n_prompt; i++) r->score_errors[i] = asc_job_gradient_noise(j, largest);
    return st;
}

static asc_status keep(void *self, size_t row, const asc_row_result *x) {
    asc_task *t = self;
    bool is_signed = t->req->norm != NULL && strcmp(t->req->norm, "signed") == 0;
    t->r->value[row] = x->f[0];
    for (size_t k = 0; k < t->n_at; k++) {
        size_t n = t->at[k].size;
        double *s = t->r->scores[k].data + row * n;
        for (size_t i = 0; i < n; i++) s[i] = is_signed ? x->g[k][i] : fabs(x->g[k][i]);
    }
    asc_task_row_errors(t, row);
    return ASC_OK;
}

static asc_status attribute(asc_task *t) {
    const char *norm = t->req->norm;
    if (norm != NULL && strcmp(norm, "abs") != 0 && strcmp(norm, "signed") != 0) {
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "saliency: no norm '%.40s' on nets", norm);
        return asc_hint(t->ctx, "abs (the default) or signed");
    }
    asc_status st = asc_task_prepare(t, true);
    return st == ASC_OK ? asc_task_at_input(t, NULL, NULL, t, keep) : st;
}

const asc_method asc_method_saliency = {
    .info = {.name = "saliency",
             .captum = "Saliency",
             .doc = "how strongly the output reacts to a small change of each input element (of a prompt: of "
                    "each token's embedding)",
             .formula =
                 "score_t = || d f / d x_t ||_2 (l2), sum |d f / d x_t| (abs) or sum d f / d x_t (signed)",
             .paper = "Simonyan, Vedaldi, Zisserman, Deep Inside Convolutional Networks, 2013",
             .axioms = "none: a local slope, not a share of the output",
             .cost = "1 forward and 1 backward pass",
             .options = "features, norm, site, output; nets: norm (abs, signed), at",
             .differences =
                 "reduces over the embedding; Captum leaves that to the user and takes absolute values"},
    .by_gradient = true,
    .attribute = attribute,
    .price_rows = asc_price_one_gradient,
    .run = run,
    .price = asc_job_price_one_gradient,
    .per_token = true,
};
