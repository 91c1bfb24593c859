/* conductance.c - the part of the output's change that flows through each unit of a site, along the path of
 * the inputs.
 */
#include "method.h"
#include "path_integral.h"
#include "quadrature.h"
#include "site_path.h"
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
    return asc_rule_nodes_make(ctx, (asc_rule)rule, *n, alphas, NULL);
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

/* ---- prompts ---- */

/* A sum over steps, by token, and what its next step starts from. */
typedef struct steps {
    double *y, *g; /* [P,W] at its last point */
    double *sum;   /* [P] */
} steps;

typedef struct token_flow {
    asc_job *j;
    bool mean_slope;
    steps all, half; /* every point; every other one */
} token_flow;

static void step(const token_flow *w, steps *s, bool first, const double *y, const double *g) {
    const size_t p = w->j->r->n_prompt, n = asc_job_site_width(w->j), from = (size_t)w->j->site_first;
    const size_t end = w->j->site_columns > 0 ? from + (size_t)w->j->site_columns : n;
    for (size_t t = 0; !first && t < p; t++) {
        for (size_t i = t * n + from; i < t * n + end; i++)
            s->sum[t] += (w->mean_slope ? 0.5 * (s->g[i] + g[i]) : s->g[i]) * (y[i] - s->y[i]);
    }
    memcpy(s->y, y, p * n * sizeof *y);
    memcpy(s->g, g, p * n * sizeof *g);
}

static asc_status add_point(void *self, size_t point, const double *y, const double *g) {
    token_flow *w = self;
    step(w, &w->all, point == 0, y, g);
    if (point % 2 == 0) step(w, &w->half, point == 0, y, g);
    return ASC_OK;
}

static asc_status make_steps(asc_job *j, steps *s) {
    const size_t p = j->r->n_prompt;
    size_t cells;
    if (!asc_mul_size(2 * p, asc_job_site_width(j), &cells)) return ASC_RESOURCE_EXHAUSTED;
    s->y = asc_calloc(j->ctx, ASC_MEM_GENERAL, cells + p, sizeof *s->y);
    if (s->y == NULL) return ASC_RESOURCE_EXHAUSTED;
    s->g = s->y + cells / 2;
    s->sum = s->y + cells;
    return ASC_OK;
}

/* All of the change passes a site that cuts the model, unless tokens that have no score carry some of it. */
static bool cuts(const asc_job *j) {
    bool all = (j->site == ASC_SITE_BLOCK_OUT || j->site == ASC_SITE_EMBED) && j->site_columns == 0;
    if (!j->neuron.on && j->encoder == NULL) all = all && j->r->n_target == 1 && j->r->n_versus <= 1;
    for (size_t t = 0; t < j->r->n_prompt; t++) all = all && j->active[t];
    return all;
}

/* Steps of half as many points are off by four times as much, so the difference is thrice the error. */
static asc_status publish(const token_flow *w) {
    w->j->partial = !cuts(w->j);
    return asc_site_publish(
        w->j, w->all.sum, w->mean_slope && w->j->r->steps % 2 == 0 ? w->half.sum : NULL,
        "the error of each score is unknown: an even number of --steps without --rule gives "
        "one");
}

static asc_status run(asc_job *j) {
    static const double at[2] = {0.0, 1.0};
    asc_ctx *ctx = j->ctx;
    asc_status st = ASC_OK;
    const size_t n = j->r->steps + 1;
    double f[2] = {0.0, 0.0}, *alphas = NULL;
    token_flow w = {.j = j, .mean_slope = j->req->rule == NULL && !j->req->compat_captum};
    const asc_rule rule = (asc_rule)asc_rule_from_name(j->r->rule);
    ASC_TRY(asc_rule_nodes_make(ctx, rule, n, &alphas, NULL));
    ASC_TRY(make_steps(j, &w.all));
    ASC_TRY(make_steps(j, &w.half));
    ASC_TRY(asc_job_path(j, at, 2, f, NULL));
    j->r->baseline_value = f[0];
    j->r->value = f[1];
    ASC_TRY(asc_site_flow(j, alphas, n, add_point, &w));
    ASC_TRY(publish(&w));
done:
    asc_free(ctx, alphas);
    asc_free(ctx, w.all.y);
    asc_free(ctx, w.half.y);
    return st;
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    *n_forward = 2.0;
    *n_gradient = (double)j->r->steps + 1.0;
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
         .options = "features, site, baseline (eos, pad, zero, mean, token:ID), rule, steps, output, compat; "
                    "nets: at, baselines",
         .differences =
             "by default even points with both ends and the mean slope of each step; Captum's nodes leave "
             "out both ends (a rule that is named gives its numbers). Prompts: summed over a token's row"},
    .by_gradient = true,
    .needs_baseline = true,
    .needs_site = true,
    .complete = true,
    .auto_baseline = ASC_BASELINE_EOS,
    .attribute = attribute,
    .price_rows = price_rows,
    .run = run,
    .price = price,
    .rule = "riemann-trapezoid",
    .captum_rule = "gauss-legendre",
};
