/* internal_influence.c - mean gradient at a site along the straight path of the inputs. */
#include "method.h"
#include "path_integral.h"
#include <math.h>
#include <string.h>

static asc_status attribute(asc_task *t) {
    asc_status st = ASC_OK;
    double *nodes = NULL, *weights = NULL, **sum = NULL;
    size_t n;
    ASC_TRY(asc_task_prepare(t, false));
    ASC_TRY(asc_task_rule(t, "gauss-legendre", &n, &nodes, &weights));
    sum = asc_path_sums_make(t);
    if (sum == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(asc_path_fixed(t, false, nodes, weights, n, sum));
    ASC_TRY(asc_task_ends(t, true));
    for (size_t k = 0; k < t->n_at; k++)
        memcpy(t->r->scores[k].data, sum[k], t->n * t->at[k].size * sizeof(double));
done:
    asc_path_sums_free(t, sum);
    asc_free(t->ctx, nodes);
    asc_free(t->ctx, weights);
    return st;
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    *n_forward = 2.0;
    *n_gradient = (double)asc_task_steps(t);
}

const asc_method asc_method_internal_influence = {
    .info = {.name = "internal-influence",
             .captum = "InternalInfluence",
             .doc = "how strongly the output reacts to a site, on average between the baseline and the input",
             .formula = "score = integral over alpha in [0,1] of d f / d y at x' + alpha (x - x')",
             .paper = "Leino et al., Influence-Directed Explanations for Deep Convolutional Networks, 2018",
             .axioms = "none: an average slope, not a share of the output",
             .cost = "steps forward and backward passes and 2 forward",
             .options = "at, baselines, rule, steps",
             .differences = "the trapezoid's weights add up to 1 (Captum: (n-1)/n, --compat captum)"},
    .by_gradient = true,
    .needs_baseline = true,
    .needs_site = true,
    .attribute = attribute,
    .price_rows = price_rows,
};
