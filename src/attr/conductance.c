/* conductance.c - the part of the output's change that flows through each unit of a site, along the path of
 * the inputs.
 */
#include "method.h"
#include "path_integral.h"
#include "quadrature.h"
#include <math.h>
#include <string.h>

/* One step of the sum needs a unit's value and gradient at two neighbouring points. */
typedef struct flow {
    asc_task *t;
    bool mean_slope; /* take the mean of both gradients; otherwise the earlier one, as Captum does */
    double **y, **g; /* at the last point */
} flow;

static asc_status add(void *self, size_t row, const asc_row_result *x) {
    flow *w = self;
    asc_task *t = w->t;
    size_t e = row % t->n;
    for (size_t k = 0; k < t->n_at; k++) {
        size_t n = t->at[k].size;
        double *y = w->y[k] + e * n, *g = w->g[k] + e * n, *s = t->r->scores[k].data + e * n;
        for (size_t i = 0; row >= t->n && i < n; i++) {
            double slope = w->mean_slope ? 0.5 * (g[i] + x->g[k][i]) : g[i];
            s[i] += slope * (x->y[k][i] - y[i]);
        }
        memcpy(y, x->y[k], n * sizeof *y);
        memcpy(g, x->g[k], n * sizeof *g);
    }
    return ASC_OK;
}

/* Points: an explicit rule's n + 1 nodes, as Captum; by default n + 1 even ones with both ends, so nothing of
 * the path is left out. */
static asc_status points(asc_task *t, size_t *n, double **alphas) {
    asc_ctx *ctx = t->ctx;
    size_t steps = asc_task_steps(t);
    const char *name = t->req->rule != NULL
                           ? t->req->rule
                           : (t->req->compat_captum ? "gauss-legendre" : "riemann-trapezoid");
    int rule = asc_rule_from_name(name);
    *n = steps + 1;
    if (rule < 0 || rule == ASC_RULE_ADAPTIVE)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "conductance: no fixed rule is called '%.40s'", name);
    asc_status st = asc_rule_check_steps(ctx, (asc_rule)rule, *n);
    if (st != ASC_OK) return st;
    double *weights = asc_calloc(ctx, ASC_MEM_GENERAL, *n, sizeof *weights);
    *alphas = asc_calloc(ctx, ASC_MEM_GENERAL, *n, sizeof **alphas);
    st = weights == NULL || *alphas == NULL ? ASC_RESOURCE_EXHAUSTED
                                            : asc_rule_nodes(ctx, (asc_rule)rule, *n, *alphas, weights);
    asc_free(ctx, weights);
    return st;
}

static asc_status attribute(asc_task *t) {
    asc_status st = ASC_OK;
    double *alphas = NULL;
    size_t n;
    flow w = {.t = t, .mean_slope = t->req->rule == NULL && !t->req->compat_captum};
    ASC_TRY(asc_task_need_path(t));
    ASC_TRY(asc_task_prepare(t, false));
    ASC_TRY(points(t, &n, &alphas));
    ASC_TRY(asc_task_ends(t, true));
    w.y = asc_path_sums_make(t);
    w.g = asc_path_sums_make(t);
    if (w.y == NULL || w.g == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    asc_path path = {.t = t, .alphas = alphas, .n_alphas = n};
    asc_rows rows = asc_path_rows(&path);
    asc_pass p = {.rows = &rows,
                  .want_values = true,
                  .want_gradients = true,
                  .what = "gradients",
                  .self = &w,
                  .sink = add};
    ASC_TRY(asc_task_run(t, &p));
    ASC_TRY(asc_task_delta(t, 0.02));
done:
    asc_path_sums_free(t, w.y);
    asc_path_sums_free(t, w.g);
    asc_free(t->ctx, alphas);
    return st;
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    *n_forward = 2.0;
    *n_gradient = (double)asc_task_steps(t) + 1.0;
}

const asc_method asc_method_conductance = {
    .info =
        {.name = "conductance",
         .captum = "LayerConductance",
         .doc = "how much of the output's change from the baseline flows through each unit of a site",
         .formula = "score_j = integral over alpha in [0,1] of d f / d y_j * d y_j / d alpha",
         .paper = "Dhamdhere, Sundararajan, Yan, How Important Is a Neuron?, ICLR 2019",
         .axioms = "completeness over a layer that cuts the net",
         .cost = "steps + 1 forward and backward passes and 2 forward",
         .options = "at, baselines, rule, steps",
         .differences =
             "by default even points with both ends and the mean slope of each step; Captum's nodes leave "
             "out both ends (a rule that is named gives its numbers)"},
    .by_gradient = true,
    .needs_baseline = true,
    .needs_site = true,
    .complete = true,
    .not_on_prompts =
        "is about a site of a net; prompts have layers (with deep-lift or input-x-gradient) for that",
    .attribute = attribute,
    .price_rows = price_rows,
};
