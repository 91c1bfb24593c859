/* lime.c - a sparse linear model fitted to the values on random sets of features, near sets counting more.
 * When all sets are affordable they are all taken, each once: what random ones tend to. */
#include "coalition.h"
#include "lime_fit.h"
#include "sampled_sets.h"
#include "surrogate.h"
#include <math.h>
#include <string.h>

enum { GROUPS = 10, MAX_JACKKNIFE = 1 << 24 };
static const double PENALTY = 0.01; /* Captum's */

typedef struct lime_job {
    asc_sets s;
    asc_game *g;
    const asc_task *t; /* NULL = a prompt, whose features are all ones against zeros */
    asc_surrogate kind;
    double penalty, width;
    bool euclidean, converged;
    double *x, *y, *w;         /* [sets, m] features, [sets] values, [sets] similarities */
    double *part, *parts;      /* [sets..] what is left without one group; [GROUPS, m] its coefficients */
    double *xx, *xb, *bb, *dd; /* [m] sums over a feature's elements of x^2, x x0, x0^2, (x - x0)^2 */
} lime_job;

/* Sums over the elements of every feature of example e. */
static void feature_sums(lime_job *j, size_t e) {
    memset(j->xx, 0, 4 * j->s.m * sizeof *j->xx);
    if (j->t == NULL) {
        for (size_t g = 0; g < j->s.m; g++) j->xx[g] = j->dd[g] = 1.0;
        return;
    }
    for (size_t k = 0; k < j->t->n_at; k++) {
        const asc_var *v = &j->t->at[k];
        const double *x = asc_var_row(j->t, v, e), *x0 = asc_var_baseline_row(j->t, v, e);
        const int32_t *mask = asc_var_mask_row(v, e);
        for (size_t i = 0; i < v->size; i++) {
            size_t g = mask != NULL ? (size_t)mask[i] : (size_t)v->first_feature + i;
            double b = x0 != NULL ? x0[i] : 0.0;
            j->xx[g] += x[i] * x[i];
            j->xb[g] += x[i] * b;
            j->bb[g] += b * b;
            j->dd[g] += (x[i] - b) * (x[i] - b);
        }
    }
}

/* exp(-d^2 / 2 width^2) of the input with the features of set z; d is Euclidean, or 1 - cosine. */
static double similarity(const lime_job *j, const uint8_t *z) {
    double xx = 0.0, xz = 0.0, zz = 0.0, dd = 0.0;
    for (size_t g = 0; g < j->s.m; g++) {
        xx += j->xx[g];
        xz += z[g] ? j->xx[g] : j->xb[g];
        zz += z[g] ? j->xx[g] : j->bb[g];
        dd += z[g] ? 0.0 : j->dd[g];
    }
    return asc_lime_kernel(j->euclidean ? sqrt(dd) : asc_lime_cosine_distance(xx, xz, zz), j->width);
}

/* Standard errors by leaving out each of GROUPS groups of the sets in turn. */
static asc_status jackknife(lime_job *j, size_t n, const double *coef, double *error) {
    size_t m = j->s.m;
    double *px = j->part, *py = px + n * m, *pw = py + n;
    for (size_t c = 0; c < GROUPS; c++) {
        size_t k = 0;
        for (size_t i = 0; i < n; i++) {
            if (i % GROUPS == c) continue;
            memcpy(px + k * m, j->x + i * m, m * sizeof *px);
            py[k] = j->y[i];
            pw[k++] = j->w[i];
        }
        asc_fit_data d = {.x = px, .y = py, .w = pw, .n = k, .m = m};
        memcpy(j->parts + c * m, coef, m * sizeof *coef);
        asc_status st =
            asc_surrogate_fit(j->g->ctx, j->kind, j->penalty, &d, j->parts + c * m, &j->converged);
        if (st != ASC_OK) return st;
    }
    for (size_t g = 0; g < m; g++) {
        double mean = 0.0, sum = 0.0;
        for (size_t c = 0; c < GROUPS; c++) mean += j->parts[c * m + g] / GROUPS;
        for (size_t c = 0; c < GROUPS; c++)
            sum += (j->parts[c * m + g] - mean) * (j->parts[c * m + g] - mean);
        error[g] = sqrt(sum * (GROUPS - 1) / GROUPS);
    }
    return ASC_OK;
}

static asc_status fit(void *self, size_t e, size_t n) {
    lime_job *j = self;
    const asc_sets *s = &j->s;
    size_t m = s->m;
    feature_sums(j, e);
    for (size_t k = 0; k < n; k++) {
        for (size_t g = 0; g < m; g++) j->x[k * m + g] = s->present[k * m + g];
        j->w[k] = similarity(j, s->present + k * m);
    }
    for (size_t o = 0; o < s->n_out; o++) {
        double *coef = s->scores + (e * s->n_out + o) * m, *error = s->errors + (e * s->n_out + o) * m,
               largest = 0.0;
        for (size_t k = 0; k < n; k++) {
            j->y[k] = s->y[(e * s->n + k) * s->n_out + o];
            largest = fmax(largest, fabs(j->y[k]));
        }
        asc_fit_data d = {.x = j->x, .y = j->y, .w = j->w, .n = n, .m = m};
        asc_status st = asc_surrogate_fit(j->g->ctx, j->kind, j->penalty, &d, coef, &j->converged);
        if (st != ASC_OK) return st;
        double noise = j->g->noise(j->g->self, o, largest);
        bool known = s->exact || j->part != NULL;
        for (size_t g = 0; g < m; g++) error[g] = known ? noise : (double)NAN;
        if (s->exact || j->part == NULL || n < 2 * GROUPS) {
            for (size_t g = 0; !s->exact && g < m; g++) error[g] = (double)NAN;
            continue;
        }
        if ((st = jackknife(j, n, coef, error)) != ASC_OK) return st;
        for (size_t g = 0; g < m; g++) error[g] = fmax(error[g], noise);
    }
    return ASC_OK;
}

static asc_status options(lime_job *j, const asc_attr_request *q) {
    int kind = asc_surrogate_from_name(q->surrogate);
    if (kind < 0) {
        ASC_FAIL(j->g->ctx, ASC_INVALID_ARGUMENT, "surrogate: no '%.60s'", q->surrogate);
        return asc_hint(j->g->ctx, "one of lasso, ridge, linear");
    }
    if (q->distance != NULL && strcmp(q->distance, "cosine") != 0 && strcmp(q->distance, "euclidean") != 0) {
        ASC_FAIL(j->g->ctx, ASC_INVALID_ARGUMENT, "distance: no '%.60s'", q->distance);
        return asc_hint(j->g->ctx, "one of cosine, euclidean");
    }
    j->kind = (asc_surrogate)kind;
    j->euclidean = q->distance != NULL && strcmp(q->distance, "euclidean") == 0;
    if (q->penalty > 0.0) j->penalty = q->penalty;
    if (q->kernel_width > 0.0) j->width = q->kernel_width;
    return ASC_OK;
}

static asc_status alloc(lime_job *j, size_t n) {
    asc_ctx *ctx = j->g->ctx;
    size_t m = j->g->m;
    asc_status st = asc_sets_init(j->g, n, &j->s);
    if (st != ASC_OK) return st;
    n = j->s.n;
    j->x = asc_calloc(ctx, ASC_MEM_GENERAL, n * m + 2 * n, sizeof *j->x);
    j->xx = asc_calloc(ctx, ASC_MEM_GENERAL, 4 * m + 1, sizeof *j->xx);
    if (j->x == NULL || j->xx == NULL) return ASC_RESOURCE_EXHAUSTED;
    j->y = j->x + n * m;
    j->w = j->y + n;
    j->xb = j->xx + m;
    j->bb = j->xb + m;
    j->dd = j->bb + m;
    return ASC_OK;
}

/* The groups' fits cost ten times the fit; beyond a size they are left out. */
static asc_status alloc_jackknife(lime_job *j) {
    size_t n = j->s.n, m = j->s.m;
    if (j->s.exact || n * m > MAX_JACKKNIFE || n < 2 * GROUPS) return ASC_OK;
    j->part = asc_calloc(j->g->ctx, ASC_MEM_GENERAL, n * m + 2 * n, sizeof *j->part);
    j->parts = asc_calloc(j->g->ctx, ASC_MEM_GENERAL, GROUPS * m + 1, sizeof *j->parts);
    return j->part != NULL && j->parts != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static void draw_all(lime_job *j) {
    asc_sets *s = &j->s;
    for (size_t k = 0; k < s->n; k++) {
        for (size_t g = 0; g < s->m; g++) {
            bool in = s->exact ? (k >> g & 1) != 0 : asc_game_uniform(j->g, k, g) < 0.5;
            s->present[k * s->m + g] = in;
        }
    }
}

/* Scores and errors into j->s; deinit frees them. */
static asc_status solve(void *self) {
    lime_job *j = self;
    asc_game *g = j->g;
    size_t m = g->m, all = g->captum ? 0 : asc_sets_enumerable(m, g->samples);
    asc_status st = alloc(j, all > 0 ? all : g->samples);
    if (st != ASC_OK) return st;
    j->s.exact = all > 0;
    g->stochastic = !j->s.exact;
    if ((st = alloc_jackknife(j)) != ASC_OK) return st;
    draw_all(j);
    j->s.self = j;
    j->s.fit = fit;
    st = asc_sets_run(&j->s, 4 * m > 64 ? 4 * m : 64);
    if (st != ASC_OK || j->converged) return st;
    g->converged = false;
    return g->note(g->self, "a lasso fit stopped before its duality gap closed");
}

static void deinit(void *self) {
    lime_job *j = self;
    asc_sets_deinit(&j->s);
    asc_free(j->g->ctx, j->x);
    asc_free(j->g->ctx, j->xx);
    asc_free(j->g->ctx, j->part);
    asc_free(j->g->ctx, j->parts);
}

static asc_status attribute(asc_task *t) {
    asc_game g = {.ctx = t->ctx};
    lime_job j = {.g = &g, .t = t, .converged = true, .penalty = PENALTY, .width = 1.0};
    asc_status st;
    size_t n_out;
    ASC_TRY(options(&j, t->req));
    ASC_TRY(asc_coalition_begin(t, &n_out));
    asc_game_of_task(t, n_out, &g);
    ASC_TRY(solve(&j));
    asc_game_to_task(&g, t);
    st = asc_coalition_publish(t, n_out, j.s.scores, j.s.errors);
done:
    deinit(&j);
    return st;
}

static size_t n_sets(size_t m, size_t samples, bool captum) {
    size_t all = captum ? 0 : asc_sets_enumerable(m, samples);
    return all > 0 ? all : samples;
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    *n_forward = (double)n_sets(t->n_features, asc_task_samples(t), t->req->compat_captum) + 1.0;
    *n_gradient = 0.0;
}

/* ---- prompts ---- */

static size_t prompt_samples(const asc_job *j) {
    enum { CAPTUMS = 25, FEWEST = 100, SETS_A_FEATURE = 10 };
    size_t own = SETS_A_FEATURE * j->n_groups;
    return asc_job_samples(j, j->req->compat_captum ? CAPTUMS : own > FEWEST ? own : FEWEST, 1);
}

static asc_status run(asc_job *job) {
    lime_job j = {.converged = true, .penalty = PENALTY, .width = 1.0};
    if (job->req->alpha > 0.0) j.penalty = job->req->alpha;
    return asc_prompt_sets(job, prompt_samples(job), &j.g, &j.s, solve, deinit, &j);
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    *n_forward = (double)n_sets(j->n_groups, prompt_samples(j), j->req->compat_captum) + 3.0;
    *n_gradient = 0.0;
}

const asc_method asc_method_lime = {
    .info = {.name = "lime",
             .captum = "Lime",
             .doc = "coefficients of a sparse linear model of the output around the input",
             .formula = "scores = argmin over w, b of sum over sets z of exp(-d(x, x_z)^2 / 2 width^2) "
                        "(f(x_z) - w z - b)^2 / 2n + penalty |w|_1",
             .paper = "Ribeiro, Singh, Guestrin, \"Why Should I Trust You?\", KDD 2016",
             .axioms = "none exactly: a penalised local fit",
             .cost = "samples + 1 forward passes (2^M + 1 for M features if that is fewer)",
             .options =
                 "samples (default 25; prompts: 10 a feature, at least 100), tolerance, compat, seed, alpha "
                 "(prompts: of the "
                 "penalty, default 0.01), baseline (remove, mask, eos, pad, token:ID), output; "
                 "nets: "
                 "surrogate (lasso, ridge, "
                 "linear), penalty, distance (cosine, euclidean), kernel-width, baselines, masks, at",
             .differences =
                 "takes every set once when there are no more than samples (--compat captum: draws); "
                 "standard errors by a grouped jackknife; several explained numbers, one fit each; own "
                 "perturbations, kernels and surrogates: asc_lime_base"},
    .stochastic = true,
    .takes_integers = true,
    .samples = 25,
    .attribute = attribute,
    .price_rows = price_rows,
    .needs_baseline = true,
    .auto_baseline = ASC_BASELINE_REMOVE,
    .per_token = true,
    .run = run,
    .price = price,
};
