/* neuron_conductance.c - the part of each input in the output's change that flows through one unit. */
#include "method.h"
#include "path_integral.h"
#include "quadrature.h"
#include "site_path.h"
#include "task_parts.h"
#include <math.h>
#include <string.h>

/* First walk: how strongly the output reacts to the unit at each point. Second walk: the unit's own gradient.
 */
typedef struct unit {
    asc_task *t;
    asc_var site;
    double *slope; /* [points, n] */
    const double *weights;
} unit;

static asc_status keep_slope(void *self, size_t row, const asc_row_result *x) {
    unit *u = self;
    size_t e = row % u->t->n / u->t->copies;
    if (row == 0) { /* the site's shape is known from here on */
        asc_status st = asc_target_check(u->t->ctx, &u->t->req->neuron, &u->site.shape);
        if (st != ASC_OK) return st;
    }
    u->slope[row] = asc_target_sum(&u->t->req->neuron, &u->site.shape, e, x->g[0]);
    return ASC_OK;
}

static asc_status add(void *self, size_t row, const asc_row_result *x) {
    unit *u = self;
    asc_task *t = u->t;
    size_t e = row % t->n;
    double w = u->weights[row / t->n] * u->slope[row];
    for (size_t k = 0; k < t->n_at; k++) {
        const asc_var *v = &t->at[k];
        double *s = t->r->scores[k].data + e * v->size;
        for (size_t i = 0; i < v->size; i++) {
            double d = t->req->no_multiply ? 1.0 : v->x[e * v->size + i] - asc_var_baseline(v, e, i);
            s[i] += w * d * x->g[k][i];
        }
    }
    return ASC_OK;
}

/* The first walk looks at the unit's site in place of the inputs: a copy of the task that does. */
static asc_status slopes(unit *u, const asc_path *path) {
    asc_task at_unit = *u->t;
    asc_path p = *path;
    at_unit.at = &u->site;
    at_unit.n_at = 1;
    at_unit.at_sites = true;
    p.t = &at_unit;
    asc_rows rows = asc_path_rows(&p);
    asc_pass pass = {
        .rows = &rows, .want_gradients = true, .what = "gradients", .self = u, .sink = keep_slope};
    asc_status st = asc_task_run(&at_unit, &pass);
    asc_free(u->t->ctx, u->site.x);
    u->site.x = NULL;
    return st;
}

static asc_status attribute(asc_task *t) {
    asc_ctx *ctx = t->ctx;
    asc_status st = ASC_OK;
    double *nodes = NULL, *weights = NULL;
    size_t n;
    unit u = {.t = t};
    if (t->at_sites || t->req->neuron.value == NULL) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "neuron-conductance speaks of inputs, through one unit");
        return asc_hint(ctx, "name the unit's site (neuron) and give no site to attribute to");
    }
    int64_t site = asc_net_find_site(t->net, asc_view_of(t->req->neuron.value));
    if (site < 0) return ASC_NOT_FOUND;
    u.site = (asc_var){.name = t->net->sites[site], .input = -1, .site = site, .elem = ASC_ELEM_F32};
    asc_aim aim; /* counts of the unit's indices: the first walk reads them before the second would check */
    ASC_TRY(asc_aim_init(t, &t->req->neuron, &aim));
    ASC_TRY(asc_task_need_path(t));
    ASC_TRY(asc_task_prepare(t, false));
    ASC_TRY(asc_task_rule(t, t->req->compat_captum ? "riemann-trapezoid" : "gauss-legendre", &n, &nodes,
                          &weights));
    u.weights = weights;
    u.slope = asc_calloc(ctx, ASC_MEM_GENERAL, n * t->n, sizeof *u.slope);
    if (u.slope == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    asc_path path = {.t = t, .alphas = nodes, .n_alphas = n};
    ASC_TRY(slopes(&u, &path));
    asc_rows rows = asc_path_rows(&path);
    asc_pass p = {.rows = &rows,
                  .want_gradients = true,
                  .other = &t->req->neuron,
                  .what = "gradients",
                  .self = &u,
                  .sink = add};
    ASC_TRY(asc_task_run(t, &p));
    ASC_TRY(asc_task_ends(t, true));
done:
    asc_free(ctx, u.slope);
    asc_free(ctx, nodes);
    asc_free(ctx, weights);
    return st;
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    *n_forward = 2.0;
    *n_gradient = 2.0 * (double)asc_task_steps(t);
}

/* ---- prompts ---- */

/* The sum over n nodes of a rule, by token. */
static asc_status integral(asc_job *j, asc_rule rule, size_t n, double *sum) {
    asc_ctx *ctx = j->ctx;
    const size_t p = j->r->n_prompt;
    size_t cells;
    double *nodes, *g;
    const double *weights;
    asc_status st = asc_rule_nodes_make(ctx, rule, n, &nodes, &weights);
    if (st != ASC_OK) return st;
    g = asc_mul_size(n, p, &cells) ? asc_calloc(ctx, ASC_MEM_GENERAL, cells, sizeof *g) : NULL;
    if (g == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(asc_site_through(j, nodes, n, g));
    /* Captum's trapezoid divides by n instead of n - 1, so its weights add up to (n - 1) / n. */
    const bool less = j->req->compat_captum && rule == ASC_RULE_RIEMANN_TRAPEZOID;
    const double factor = less ? ((double)n - 1.0) / (double)n : 1.0;
    for (size_t t = 0; t < p; t++) {
        sum[t] = 0.0;
        for (size_t i = 0; i < n; i++) sum[t] += factor * weights[i] * g[i * p + t];
    }
done:
    asc_free(ctx, nodes);
    asc_free(ctx, g);
    return st;
}

/* Gauss-Legendre nodes and half as many: the difference bounds the error of the former while both converge.
 */
static asc_status run(asc_job *j) {
    static const double at[2] = {0.0, 1.0};
    asc_result *r = j->r;
    const asc_rule rule = (asc_rule)asc_rule_from_name(r->rule);
    const bool known = j->req->rule == NULL && !j->req->compat_captum && r->steps > 1;
    double f[2] = {0.0, 0.0};
    asc_status st;
    ASC_TRY(asc_job_path(j, at, 2, f, NULL));
    r->baseline_value = f[0];
    r->value = f[1];
    ASC_TRY(integral(j, rule, r->steps, r->scores));
    if (known) ASC_TRY(integral(j, rule, r->steps / 2, r->score_errors));
    st = asc_site_publish(j, r->scores, known ? r->score_errors : NULL,
                          "the error of each score is unknown with a rule that is named");
done:
    return st;
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    *n_forward = 2.0;
    *n_gradient = 2.0 * (double)j->r->steps;
}

const asc_method asc_method_neuron_conductance = {
    .info =
        {.name = "neuron-conductance",
         .captum = "NeuronConductance",
         .doc = "how much of the output's change flows from each input element through one unit",
         .formula = "score_i = (x_i - x'_i) integral over alpha in [0,1] of d f / d y * d y / d x_i",
         .paper =
             "Shrikumar, Su, Kundaje, Computationally Efficient Measures of Internal Neuron Importance, 2018",
         .axioms = "summed over the units of a layer that cuts the net: integrated gradients",
         .cost = "2 x steps forward and backward passes and 2 forward",
         .options =
             "features, neuron, baseline (eos, pad, zero, mean, token:ID), rule, steps, output, compat; "
             "nets: baselines, no-multiply",
         .differences =
             "Gauss-Legendre by default; Captum's default, the trapezoid, leaves out 1/n (--compat captum)"},
    .by_gradient = true,
    .needs_baseline = true,
    .needs_neuron = true,
    .auto_baseline = ASC_BASELINE_EOS,
    .attribute = attribute,
    .price_rows = price_rows,
    .run = run,
    .price = price,
    .rule = "gauss-legendre",
    .captum_rule = "riemann-trapezoid",
};
