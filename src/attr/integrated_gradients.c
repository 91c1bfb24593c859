/* integrated_gradients.c - the gradient integrated along the straight path from a baseline to the prompt.
 * Fixed rules are Captum's; the default rule refines itself until the result is under its tolerance
 * (adaptive.h). */
#include "estimate.h"
#include "adaptive.h"
#include "budget.h"
#include "method.h"
#include "path_integral.h"
#include "plain.h"
#include "quadrature.h"
#include "site_path.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_EVALUATIONS = 2000 };

static double tolerance_of(const asc_job *j) { return j->req->tolerance > 0.0 ? j->req->tolerance : 0.01; }

static double largest_score(const asc_result *r) {
    double m = 0.0;
    for (size_t i = 0; i < r->n_prompt; i++) m = fmax(m, fabs(r->scores[i]));
    return m;
}

/* The path of the embeddings, or of the site's rows. */
static asc_status along(asc_job *j, const double *alphas, size_t n, double *f, double *g) {
    return j->site == ASC_SITE_EMBED ? asc_job_path(j, alphas, n, f, g) : asc_site_path(j, alphas, n, f, g);
}

/* f at both ends of the path. */
static asc_status ends(asc_job *j) {
    static const double at[2] = {0.0, 1.0};
    double f[2] = {0.0, 0.0};
    asc_status st = along(j, at, 2, f, NULL);
    j->r->baseline_value = f[0];
    j->r->value = f[1];
    return st;
}

static asc_status fixed(asc_job *j, asc_rule rule) {
    asc_ctx *ctx = j->ctx;
    asc_result *r = j->r;
    size_t n = r->steps, p = r->n_prompt, bytes;
    asc_status st = asc_rule_check_steps(ctx, rule, n);
    if (st != ASC_OK) return st;
    double *x = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *x),
           *w = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *w);
    double *f = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *f);
    double *g = asc_mul_size(n, p, &bytes) ? asc_calloc(ctx, ASC_MEM_GENERAL, bytes, sizeof *g) : NULL;
    if (x == NULL || w == NULL || f == NULL || g == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(asc_rule_nodes(ctx, rule, n, x, w));
    ASC_TRY(ends(j));
    if (!j->req->per_token) ASC_TRY(along(j, x, n, f, g));
    /* Captum's trapezoid divides by n instead of n - 1, so its weights add up to (n - 1) / n. */
    double factor =
        j->req->compat_captum && rule == ASC_RULE_RIEMANN_TRAPEZOID ? ((double)n - 1.0) / (double)n : 1.0;
    for (size_t i = 0; i < n; i++) w[i] *= factor;
    if (j->req->per_token) ASC_TRY(asc_job_matrix_path(j, x, w, n));
    for (size_t t = 0; t < p; t++) {
        double s = 0.0;
        for (size_t i = 0; i < n; i++) s += w[i] * g[i * p + t];
        if (!j->req->per_token) r->scores[t] = s;
        r->score_errors[t] = NAN; /* a fixed rule knows nothing of its own error */
    }
    double sum = 0.0, largest = largest_score(r);
    for (size_t t = 0; t < p; t++) sum += r->scores[t];
    double gap = fabs(sum - (r->value - r->baseline_value));
    r->converged = gap <= tolerance_of(j) * largest;
    r->refinable = !r->converged && !(j->baseline == ASC_BASELINE_ZERO && j->m->info.scale_free);
    if (!r->converged)
        ASC_TRY(asc_job_warn(
            j,
            "not converged: the scores add up to %.4g, the output changes by %.4g; a fixed rule gives no "
            "error per score. Use --rule adaptive, or feature-ablation",
            sum, r->value - r->baseline_value));
    if (r->converged)
        ASC_TRY(asc_job_warn(
            j, "a fixed rule gives no error per score; a small residual alone does not prove it converged "
               "(--rule adaptive does)"));
done:
    asc_free(ctx, x);
    asc_free(ctx, w);
    asc_free(ctx, f);
    asc_free(ctx, g);
    return st;
}

/* Without biases every block multiplies a small residual stream, so at the zero baseline itself the gradient
 * is beyond f32 (about 1e90 after 30 blocks). Only the value is taken there; the gap it leaves shows as a
 * residual, never as converged. */
static asc_status integrand(void *self, const double *alphas, size_t n, double *f, double *g) {
    asc_job *j = self;
    size_t dim = j->r->n_prompt, at = 0;
    asc_status st = ASC_OK;
    bool endless = j->baseline == ASC_BASELINE_ZERO && asc_model_get_info(j->m).scale_free;
    if (endless && n > 0 && !(alphas[0] > 0.0)) {
        memset(g, 0, dim * sizeof *g);
        st = along(j, alphas, 1, f, NULL);
        at = 1;
    }
    return st != ASC_OK || at == n ? st : along(j, alphas + at, n - at, f + at, g + at * dim);
}

static asc_status adaptive(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    asc_result *r = j->r;
    asc_way way;
    asc_adaptive_result a = {0};
    const asc_pass_kind kind = j->site == ASC_SITE_EMBED ? ASC_PASS_PATH : ASC_PASS_SITE;
    asc_status st = asc_job_batch(j, kind, r->n_prompt, 64, &way);
    if (st != ASC_OK) return st;
    asc_adaptive_options o = {.tolerance = tolerance_of(j),
                              .max_evaluations =
                                  j->req->max_evaluations > 0 ? j->req->max_evaluations : DEFAULT_EVALUATIONS,
                              .max_seconds = j->req->max_seconds,
                              .noise = asc_job_gradient_noise(j, 1.0),
                              .value_noise = asc_job_value_noise(j),
                              /* gradients grow as 1 / alpha towards a zero baseline, and f32 ends at 1e38 */
                              .narrowest = strcmp(ctx->device_name, "reference") == 0 ? 1e-290 : 1e-30,
                              .batch = way.batch};
    if (j->estimate != NULL) { /* at most so many; how many tells only the run */
        double unused, before = j->estimate->seconds;
        const double least = (double)asc_adaptive_least(), most = (double)o.max_evaluations;
        j->estimate->held += asc_job_records(j);
        st = along(j, NULL, o.max_evaluations, NULL, &unused);
        if (least < most) j->estimate->spare += (j->estimate->seconds - before) * (1.0 - least / most);
        return st;
    }
    st = asc_adaptive_integrate(ctx, integrand, j, r->n_prompt, &o, r->scores, r->score_errors, &a);
    if (st != ASC_OK) return st;
    r->value = a.f1;
    r->baseline_value = a.f0;
    r->converged = a.converged;
    r->panels = a.panels;
    r->noise_floor = a.noise_floor;
    if (a.converged) return ASC_OK;
    /* From a zero baseline of a scale-free model no number of evaluations helps (docs/errors.md). */
    bool hopeless = j->baseline == ASC_BASELINE_ZERO && j->m->info.scale_free;
    r->refinable = !hopeless;
    char more[96] = " or another baseline";
    if (!hopeless && a.estimated_evaluations > 0.0)
        asc_snprintf(more, sizeof more, ", another baseline, or --max-evaluations %.0f (an estimate)",
                     a.estimated_evaluations);
    if (!hopeless && !(a.estimated_evaluations > 0.0))
        snprintf(more, sizeof more, ", another baseline, or more --max-evaluations");
    return asc_job_warn(
        j,
        "not converged after %zu gradient evaluations: largest error %.3g of largest score %.3g. "
        "What would work: feature-ablation%s",
        a.evaluations, a.largest_error, largest_score(r), more);
}

static asc_status run(asc_job *j) {
    asc_rule rule = (asc_rule)asc_rule_from_name(j->r->rule); /* options.c put it there */
    return rule == ASC_RULE_ADAPTIVE ? adaptive(j) : fixed(j, rule);
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    bool is_adaptive = strcmp(j->r->rule, asc_rule_name(ASC_RULE_ADAPTIVE)) == 0;
    *n_forward = is_adaptive ? 0.0 : 2.0;
    *n_gradient = is_adaptive
                      ? (double)(j->req->max_evaluations > 0 ? j->req->max_evaluations : DEFAULT_EVALUATIONS)
                      : (double)j->r->steps;
}

/* ---- nets ---- */

/* f at the sites' own baselines, when the request gave them. */
static asc_status value_at_site_baselines(asc_task *t) {
    static const double zero = 0.0;
    asc_path p = {.t = t, .alphas = &zero, .n_alphas = 1, .sites = true};
    asc_rows rows = asc_path_rows(&p);
    if (t->r->baseline_value != NULL) return ASC_OK;
    t->r->baseline_value = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n, sizeof(double));
    if (t->r->baseline_value == NULL) return ASC_RESOURCE_EXHAUSTED;
    return asc_task_values(t, &rows, true, t->r->baseline_value);
}

static bool refines(const asc_task *t) {
    const char *name = t->req->rule;
    return name == NULL ? !t->req->compat_captum && t->req->steps == 0 : strcmp(name, "adaptive") == 0;
}

static asc_status integrate(asc_task *t, double **sum, double **change) {
    if (refines(t)) return asc_path_refine(t, t->at_sites, sum, change, &t->r->converged);
    double *nodes, *weights;
    size_t n;
    asc_status st = asc_task_rule(t, "gauss-legendre", &n, &nodes, &weights);
    if (st == ASC_OK) st = asc_path_fixed(t, t->at_sites, nodes, weights, n, sum);
    asc_free(t->ctx, nodes);
    asc_free(t->ctx, weights);
    return st;
}

static void write_scores(asc_task *t, double **sum, double **change, bool is_adaptive) {
    for (size_t k = 0; k < t->n_at; k++) {
        const asc_var *v = &t->at[k];
        asc_scores *s = &t->r->scores[k];
        double largest = 0.0;
        for (size_t e = 0; e < t->n; e++) {
            for (size_t i = 0; i < v->size; i++) {
                double d = v->x[e * v->size + i] - asc_var_baseline(v, e, i), g = sum[k][e * v->size + i];
                s->data[e * v->size + i] = t->req->no_multiply ? g : d * g;
                largest = fmax(largest, fabs(s->data[e * v->size + i]));
            }
        }
        double noise = asc_task_gradient_noise(t, largest);
        for (size_t i = 0; s->error != NULL && i < t->n * v->size; i++)
            s->error[i] = is_adaptive ? change[k][i] + noise : NAN;
    }
}

static asc_status attribute(asc_task *t) {
    asc_status st = ASC_OK;
    double **sum = NULL, **change = NULL;
    const bool is_adaptive = refines(t);
    ASC_TRY(asc_task_prepare(t, !t->req->no_multiply));
    ASC_TRY(asc_task_ends(t, true));
    if (t->at_sites) ASC_TRY(value_at_site_baselines(t));
    sum = asc_path_sums_make(t);
    change = asc_path_sums_make(t);
    if (sum == NULL || change == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(integrate(t, sum, change));
    write_scores(t, sum, change, is_adaptive);
    ASC_TRY(asc_task_delta(t, t->req->tolerance > 0.0 ? t->req->tolerance : 0.01));
    if (!t->r->converged && is_adaptive)
        st = asc_task_note(t, "not converged: more --max-evaluations or a larger --tolerance would help");
done:
    asc_path_sums_free(t, sum);
    asc_path_sums_free(t, change);
    return st;
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    *n_forward = 2.0;
    *n_gradient = refines(t) ? (double)asc_path_most(t) : (double)asc_task_steps(t);
}

/* Of those gradients, what a run takes that ends as early as it may. */
static double least_rows(const asc_task *t) {
    return refines(t) ? (double)asc_path_least() : (double)asc_task_steps(t);
}

const asc_method asc_method_integrated_gradients = {
    .info =
        {.name = "integrated-gradients",
         .captum = "IntegratedGradients (at a site, on embeddings: LayerIntegratedGradients)",
         .doc = "the gradient integrated from a baseline to the input, by default refined until its error is "
                "known and small",
         .formula = "score_t = integral over alpha in [0,1] of sum_d (x_td - x'_td) d f(x' + alpha (x - x')) "
                    "/ d x_td",
         .paper = "Sundararajan, Taly, Yan, Axiomatic Attribution for Deep Networks, ICML 2017",
         .axioms = "completeness (scores add up to value - baseline value), dummy, linearity, implementation "
                   "invariance",
         .cost =
             "fixed rules: steps forward and backward passes and 2 forward; adaptive: up to max-evaluations",
         .options = "features, site, baseline (eos, pad, zero, mean, token:ID), rule, steps, tolerance, "
                    "max-evaluations, "
                    "max-seconds, output, compat; nets: baselines, at, no-multiply",
         .differences =
             "adaptive by default; weights of every rule add up to 1 (Captum's trapezoid: (n-1)/n, "
             "--compat captum)"},
    .by_gradient = true,
    .needs_baseline = true,
    .complete = true,
    .auto_baseline = ASC_BASELINE_EOS,
    .attribute = attribute,
    .price_rows = price_rows,
    .least_rows = least_rows,
    .run = run,
    .price = price,
    .per_token = true,
};
