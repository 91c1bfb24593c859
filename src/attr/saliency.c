/* saliency.c - the size of the gradient at each token. */
#include "method.h"
#include <math.h>
#include <string.h>

static asc_status run(asc_job *j) {
    asc_result *r = j->r;
    const char *norm = j->req->norm != NULL ? j->req->norm : "l2";
    asc_status st = asc_job_gradient(j, norm, r->scores, NULL);
    double largest = 0.0;
    for (size_t i = 0; i < r->n_prompt; i++) largest = fmax(largest, fabs(r->scores[i]));
    for (size_t i = 0; i < r->n_prompt; i++) r->score_errors[i] = asc_job_gradient_noise(j, largest);
    r->converged = true;
    return st;
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    (void)j;
    *n_forward = 0.0;
    *n_gradient = 1.0;
}

const asc_method asc_method_saliency = {
    .info = {.name = "saliency",
             .captum = "Saliency",
             .doc = "how strongly the output reacts to a small change of each token's embedding",
             .formula =
                 "score_t = || d f / d x_t ||_2 (l2), sum |d f / d x_t| (abs) or sum d f / d x_t (signed)",
             .paper = "Simonyan, Vedaldi, Zisserman, Deep Inside Convolutional Networks, 2013",
             .axioms = "none: a local slope, not a share of the output",
             .cost = "1 forward and 1 backward pass",
             .options = "features, norm, site, output",
             .differences =
                 "reduces over the embedding; Captum leaves that to the user and takes absolute values"},
    .by_gradient = true,
    .run = run,
    .price = price,
};
