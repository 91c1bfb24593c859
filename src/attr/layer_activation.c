/* layer_activation.c - the values of sites themselves: what other layer methods weigh. */
#include "method.h"
#include "task.h"
#include <string.h>

static asc_status attribute(asc_task *t) {
    size_t n_out;
    asc_status st = asc_task_n_out(t, &n_out);
    if (st == ASC_OK) st = asc_task_ends(t, false);
    if (st == ASC_OK) st = asc_task_make_scores(t, 1, false);
    for (size_t k = 0; st == ASC_OK && k < t->n_at; k++)
        memcpy(t->r->scores[k].data, t->at[k].x, t->n * t->at[k].size * sizeof(double));
    t->r->n_outputs = n_out;
    return st;
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    (void)t;
    *n_forward = 1.0;
    *n_gradient = 0.0;
}

const asc_method asc_method_layer_activation = {
    .info = {.name = "layer-activation",
             .captum = "LayerActivation",
             .doc = "the value of a site, as the net computes it",
             .formula = "score = y",
             .paper = "",
             .axioms = "none: a value, not an attribution",
             .cost = "1 forward pass",
             .options = "at",
             .differences = "none"},
    .needs_site = true,
    .takes_integers = true,
    .not_on_prompts = "hands out values, not scores",
    .attribute = attribute,
    .price_rows = price_rows,
};
