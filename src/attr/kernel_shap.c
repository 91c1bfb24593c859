/* kernel_shap.c - Shapley values as the weighted linear fit to sets of features. That the scores add up to
 * the whole change is built into the fit (no huge weights); when all sets are affordable they are all taken
 * and the result is exact; otherwise sets are drawn with their kernel weight as probability, each together
 * with its complement.
 *
 * phi = D/M + H u: D is the change, H an orthonormal basis of the vectors that add up to 0 (all columns but
 * the first of a Householder reflection that maps (1..1) to a multiple of e_1), u is free. */
#include "coalition.h"
#include "hash.h"
#include "least_squares.h"
#include "sampled_sets.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double CAPTUM_WEIGHT = 1e6; /* of the full and the empty set, as in Captum */

/* A set or its complement, told apart by sign: the one with feature 0 has +1. */
typedef struct shap_key {
    uint64_t hash;
    size_t set;
} shap_key;

typedef struct shap_job {
    asc_sets s;
    asc_game *g;
    bool paired;
    double *w;        /* [sets] kernel weights; NULL = 1 (drawn by them) */
    double *x, *res;  /* [sets, m - 1] sqrt(w) Z H; [sets] right side, residuals */
    double *gain;     /* [sets, m] H (X'X)^-1 x of each set; NULL when the rank is short */
    double *leverage; /* [sets] x' (X'X)^-1 x, behind gain */
    double *u, *phi;  /* [m] */
    shap_key *keys;   /* [sets], equal ones side by side */
    asc_lsq f;
    bool short_of_sets;
} shap_job;

/* v of the reflection I - 2 v v' / v'v that maps (1..1)/sqrt(M) to -e_1. */
static double v_at(size_t m, size_t i) { return 1.0 / sqrt((double)m) + (i == 0 ? 1.0 : 0.0); }
static double v_norm2(size_t m) { return 2.0 + 2.0 / sqrt((double)m); }

/* out [m] = H u, u [m - 1]. */
static void expand(size_t m, const double *u, double *out) {
    double dot = 0.0;
    for (size_t i = 1; i < m; i++) dot += v_at(m, i) * u[i - 1];
    for (size_t i = 0; i < m; i++) {
        out[i] = (i > 0 ? u[i - 1] : 0.0) - 2.0 * dot / v_norm2(m) * v_at(m, i);
    }
}

static size_t set_size(const asc_sets *s, size_t k) {
    size_t n = 0;
    for (size_t g = 0; g < s->m; g++) n += s->present[k * s->m + g];
    return n;
}

/* A uniform set of a size k drawn with probability proportional to 1 / (k (m - k)). */
static void draw(const asc_game *g, size_t m, uint64_t stream, size_t *order, uint8_t *present) {
    double total = 0.0, upto = 0.0;
    for (size_t k = 1; k < m; k++) total += 1.0 / ((double)k * (double)(m - k));
    double at = asc_game_uniform(g, stream, 0) * total;
    size_t size = 1;
    for (; size + 1 < m; size++) {
        upto += 1.0 / ((double)size * (double)(m - size));
        if (at < upto) break;
    }
    for (size_t i = 0; i < m; i++) order[i] = i;
    for (size_t i = 0; i < size; i++) {
        size_t o = i + (size_t)(asc_game_uniform(g, stream, i + 1) * (double)(m - i)), was = order[i];
        order[i] = order[o];
        order[o] = was;
        present[order[i]] = 1;
    }
}

static asc_status draw_all(shap_job *j) {
    asc_sets *s = &j->s;
    size_t m = s->m, *order = asc_calloc(j->g->ctx, ASC_MEM_GENERAL, m + 1, sizeof *order);
    if (order == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < s->n; k++) {
        uint8_t *now = s->present + k * m;
        if (s->exact) {
            for (size_t g = 0; g < m; g++) now[g] = (uint8_t)((k + 1) >> g & 1);
        } else if (j->paired && k % 2 == 1) {
            for (size_t g = 0; g < m; g++) now[g] = !(now - m)[g];
        } else {
            draw(j->g, m, k, order, now);
        }
    }
    asc_free(j->g->ctx, order);
    return ASC_OK;
}

static int by_hash(const void *a, const void *b) {
    const shap_key *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->set > y->set) - (x->set < y->set);
}

static double sign_of(const shap_job *j, size_t k) { return j->s.present[k * j->s.m] != 0 ? 1.0 : -1.0; }

/* Sorts the first n sets so that repetitions of a set, and its complement, lie side by side. */
static asc_status find_repeats(shap_job *j, size_t n) {
    size_t m = j->s.m;
    uint8_t *set = asc_calloc(j->g->ctx, ASC_MEM_GENERAL, m, 1);
    asc_free(j->g->ctx, j->keys);
    j->keys = asc_calloc(j->g->ctx, ASC_MEM_GENERAL, n + 1, sizeof *j->keys);
    for (size_t k = 0; set != NULL && j->keys != NULL && k < n; k++) {
        const uint8_t *z = j->s.present + k * m;
        for (size_t g = 0; g < m; g++) set[g] = z[g] == z[0];
        j->keys[k] = (shap_key){asc_hash64(set, m, 0), k};
    }
    bool ok = set != NULL && j->keys != NULL;
    if (ok) qsort(j->keys, n, sizeof *j->keys, by_hash);
    asc_free(j->g->ctx, set);
    return ok ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

/* The design, its factors and (rank permitting) each set's pull on the scores, for the first n sets. */
static asc_status prepare(void *self, size_t n) {
    shap_job *j = self;
    asc_sets *s = &j->s;
    size_t m = s->m;
    for (size_t k = 0; k < n; k++) {
        const uint8_t *z = s->present + k * m;
        double dot = 0.0, root = j->w != NULL ? sqrt(j->w[k]) : 1.0;
        for (size_t g = 0; g < m; g++) dot += z[g] ? v_at(m, g) : 0.0;
        for (size_t g = 1; g < m; g++) {
            j->x[k * (m - 1) + g - 1] = root * (z[g] - 2.0 * dot / v_norm2(m) * v_at(m, g));
        }
    }
    asc_lsq_deinit(&j->f);
    asc_status st = asc_lsq_init(j->g->ctx, j->x, n, m - 1, &j->f);
    if (st != ASC_OK) return st;
    size_t clusters = j->paired ? n / 2 : n;
    j->short_of_sets = j->f.rank < m - 1;
    asc_free(j->g->ctx, j->gain);
    j->gain = NULL;
    if (s->exact || j->short_of_sets || clusters < m) return ASC_OK;
    j->gain = asc_calloc(j->g->ctx, ASC_MEM_GENERAL, n * (m + 1), sizeof *j->gain);
    if (j->gain == NULL) return ASC_RESOURCE_EXHAUSTED;
    j->leverage = j->gain + n * m;
    for (size_t k = 0; k < n; k++) {
        for (size_t g = 0; g + 1 < m; g++) j->u[g] = j->x[k * (m - 1) + g];
        asc_lsq_normal_solve(&j->f, j->u);
        for (size_t g = 0; g + 1 < m; g++) j->leverage[k] += j->x[k * (m - 1) + g] * j->u[g];
        expand(m, j->u, j->gain + k * m);
    }
    return find_repeats(j, n);
}

/* Standard errors by the sandwich formula. A set, its complement (x and -x in the fit) and repetitions of
 * both are one cluster: the net is no random variable, so they say nothing new about each other. Residuals
 * are divided by 1 - leverage (HC2, MacKinnon and White 1985): a cluster that alone decides a score fits
 * itself, and the error of that score is not known. */
static void standard_errors(const shap_job *j, size_t n, double *error) {
    size_t m = j->s.m;
    for (size_t g = 0; g < m; g++) error[g] = j->gain != NULL ? 0.0 : (double)NAN;
    for (size_t a = 0, b; j->gain != NULL && a < n; a = b) {
        size_t first = j->keys[a].set;
        double r = 0.0, rest = 1.0;
        for (b = a; b < n && j->keys[b].hash == j->keys[a].hash; b++) {
            r += sign_of(j, j->keys[b].set) * j->res[j->keys[b].set];
            rest -= j->leverage[j->keys[b].set];
        }
        for (size_t g = 0; g < m; g++) {
            double pull = fabs(j->gain[first * m + g]);
            if (rest > 1e-9) error[g] += pull * r * pull * r / rest;
            if (!(rest > 1e-9) && pull > 1e-9) error[g] = (double)NAN;
        }
    }
    for (size_t g = 0; j->gain != NULL && g < m; g++) error[g] = sqrt(error[g]);
}

static asc_status fit(void *self, size_t e, size_t n) {
    shap_job *j = self;
    const asc_sets *s = &j->s;
    size_t m = s->m;
    for (size_t o = 0; o < s->n_out; o++) {
        size_t eo = e * s->n_out + o;
        double full = j->g->full[eo], empty = j->g->empty[eo], share = (full - empty) / (double)m;
        double *phi = s->scores + eo * m, *error = s->errors + eo * m,
               largest = fmax(fabs(full), fabs(empty));
        for (size_t k = 0; k < n; k++) {
            double y = s->y[(e * s->n + k) * s->n_out + o];
            largest = fmax(largest, fabs(y));
            j->res[k] = (j->w != NULL ? sqrt(j->w[k]) : 1.0) * (y - empty - share * (double)set_size(s, k));
        }
        asc_lsq_solve(&j->f, j->res, j->u);
        for (size_t k = 0; k < n; k++) { /* the solver used the right side up */
            double y = s->y[(e * s->n + k) * s->n_out + o], fitted = 0.0;
            for (size_t g = 0; g + 1 < m; g++) fitted += j->x[k * (m - 1) + g] * j->u[g];
            j->res[k] =
                (j->w != NULL ? sqrt(j->w[k]) : 1.0) * (y - empty - share * (double)set_size(s, k)) - fitted;
        }
        expand(m, j->u, phi);
        for (size_t g = 0; g < m; g++) phi[g] += share;
        standard_errors(j, n, error);
        double noise = j->g->noise(j->g->self, o, largest);
        for (size_t g = 0; g < m; g++)
            error[g] = s->exact ? noise : error[g] >= 0.0 ? fmax(error[g], noise) : error[g];
    }
    return ASC_OK;
}

/* Captum's fit: the full and the empty set as two more rows with a large weight, an intercept, no constraint.
 */
static asc_status fit_captum(void *self, size_t e, size_t n) {
    shap_job *j = self;
    const asc_sets *s = &j->s;
    asc_ctx *ctx = j->g->ctx;
    size_t m = s->m;
    asc_status st = ASC_OK;
    double *x = asc_calloc(ctx, ASC_MEM_GENERAL, (n + 2) * (m + 2), sizeof *x);
    if (x == NULL) return ASC_RESOURCE_EXHAUSTED;
    double *y = x + (n + 2) * m, *w = y + n + 2;
    for (size_t i = 0; i < (n + 2) * m; i++) x[i] = i < m ? 1.0 : i < 2 * m ? 0.0 : s->present[i - 2 * m];
    for (size_t k = 0; k < n + 2; k++) w[k] = k < 2 ? CAPTUM_WEIGHT : 1.0;
    for (size_t o = 0; st == ASC_OK && o < s->n_out; o++) {
        size_t eo = e * s->n_out + o;
        y[0] = j->g->full[eo];
        y[1] = j->g->empty[eo];
        for (size_t k = 0; k < n; k++) y[k + 2] = s->y[(e * s->n + k) * s->n_out + o];
        asc_fit_data d = {.x = x, .y = y, .w = w, .n = n + 2, .m = m};
        st = asc_linear_fit(ctx, &d, s->scores + eo * m, NULL);
        for (size_t g = 0; g < m; g++) s->errors[eo * m + g] = (double)NAN;
    }
    asc_free(ctx, x);
    return st;
}

/* Kernel weight of every set: (M-1) / (binomial(M, k) k (M-k)). */
static void weigh(shap_job *j) {
    double m = (double)j->s.m;
    for (size_t i = 0; i < j->s.n; i++) {
        double k = (double)set_size(&j->s, i), w = (m - 1.0) / (k * (m - k));
        for (double p = 1.0; p <= k; p += 1.0) w *= p / (m - k + p);
        j->w[i] = w;
    }
}

static asc_status alloc(shap_job *j, size_t n) {
    asc_ctx *ctx = j->g->ctx;
    asc_status st = asc_sets_init(j->g, n, &j->s);
    if (st != ASC_OK) return st;
    n = j->s.n;
    j->x = asc_calloc(ctx, ASC_MEM_GENERAL, n * j->s.m + 1, sizeof *j->x);
    j->res = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *j->res);
    j->u = asc_calloc(ctx, ASC_MEM_GENERAL, j->s.m + 1, sizeof *j->u);
    return j->x != NULL && j->res != NULL && j->u != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static asc_status run_sets(shap_job *j) {
    asc_game *g = j->g;
    asc_status st;
    bool captum = g->captum;
    size_t m = g->m, samples = g->samples, all = captum ? 0 : asc_sets_enumerable(m, samples);
    size_t n = (all > 0 ? all : samples > 2 ? samples : 2) - 2;
    j->paired =
        !captum && all == 0 && n >= 2 * m; /* with fewer, complements would only repeat what is known */
    if ((st = alloc(j, n)) != ASC_OK) return st;
    j->s.exact = all > 0;
    if ((st = draw_all(j)) != ASC_OK) return st;
    j->s.self = j;
    j->s.prepare = captum ? NULL : prepare;
    j->s.fit = captum ? fit_captum : fit;
    if (j->s.exact) {
        j->w = asc_calloc(g->ctx, ASC_MEM_GENERAL, n + 1, sizeof *j->w);
        if (j->w == NULL) return ASC_RESOURCE_EXHAUSTED;
        weigh(j);
        g->stochastic = false;
    }
    size_t first = 4 * m > 32 ? 4 * m : 32;
    if ((st = asc_sets_run(&j->s, first)) != ASC_OK) return st;
    if (!j->short_of_sets) return ASC_OK;
    char line[160];
    snprintf(line, sizeof line,
             "%zu samples are too few to tell %zu features apart: the scores are the smallest that fit",
             n + 2, m);
    return g->note(g->self, line);
}

/* Scores and errors into j->s; deinit frees them. */
static asc_status solve(void *self) {
    shap_job *j = self;
    asc_game *g = j->g;
    if (g->m >= 2) return run_sets(j);
    asc_status st = asc_sets_init(g, 0, &j->s); /* one feature has all of it */
    for (size_t i = 0; st == ASC_OK && i < g->n * g->n_out * g->m; i++) {
        j->s.scores[i] = g->full[i] - g->empty[i];
        j->s.errors[i] = g->noise(g->self, i % g->n_out, fmax(fabs(g->full[i]), fabs(g->empty[i])));
    }
    g->stochastic = false;
    g->converged = true;
    return st;
}

static void deinit(void *self) {
    shap_job *j = self;
    asc_ctx *ctx = j->f.ctx;
    asc_sets_deinit(&j->s);
    asc_lsq_deinit(&j->f);
    asc_free(ctx, j->w);
    asc_free(ctx, j->x);
    asc_free(ctx, j->res);
    asc_free(ctx, j->gain);
    asc_free(ctx, j->keys);
    asc_free(ctx, j->u);
}

static asc_status at_baseline(asc_task *t) {
    asc_game g;
    shap_job j = {.g = &g, .f = {.ctx = t->ctx}};
    asc_status st;
    size_t n_out;
    ASC_TRY(asc_coalition_begin(t, &n_out));
    ASC_TRY(asc_coalition_empty(t, n_out));
    asc_game_of_task(t, n_out, &g);
    ASC_TRY(solve(&j));
    asc_game_to_task(&g, t);
    ASC_TRY(asc_coalition_publish(t, n_out, j.s.scores, j.s.errors));
    st = asc_coalition_delta(t, n_out, j.s.scores);
done:
    deinit(&j);
    return st;
}

static asc_status attribute(asc_task *t) { return asc_over_background(t, at_baseline); }

/* Sets that will be run, the full and the empty one among them. */
static double n_sets(size_t m, size_t samples, bool captum) {
    size_t all = captum ? 0 : asc_sets_enumerable(m, samples);
    return m < 2 ? 2.0 : (double)(all > 0 ? all : samples > 2 ? samples : 2);
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    *n_forward = n_sets(t->n_features, asc_task_samples(t), t->req->compat_captum);
    *n_forward *= (double)asc_n_background(t);
    *n_gradient = 0.0;
}

/* ---- prompts ---- */

/* As many sets as shapley-value-sampling runs by default; Captum's 25 leave most prompts undetermined. */
static size_t prompt_samples(const asc_job *j) {
    enum { CAPTUMS = 25, SETS_A_FEATURE = 25 };
    return asc_job_samples(j, j->req->compat_captum ? CAPTUMS : SETS_A_FEATURE * j->n_groups, 1);
}

static asc_status run(asc_job *job) {
    shap_job j = {.f = {.ctx = job->ctx}};
    return asc_prompt_sets(job, prompt_samples(job), &j.g, &j.s, solve, deinit, &j);
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    *n_forward = n_sets(j->n_groups, prompt_samples(j), j->req->compat_captum) + 1.0;
    *n_gradient = 0.0;
}

const asc_method asc_method_kernel_shap = {
    .info =
        {.name = "kernel-shap",
         .captum = "KernelShap",
         .doc = "Shapley values from a weighted linear fit to random sets of features",
         .formula = "scores = argmin over phi, sum phi = f(x) - f(x'), of sum over sets S of "
                    "(M-1) / (C(M,|S|) |S| (M-|S|)) (f(S) - f(x') - sum_{i in S} phi_i)^2",
         .paper =
             "Lundberg and Lee, A Unified Approach to Interpreting Model Predictions, NeurIPS 2017; pairs: "
             "Covert and Lee, Improving KernelSHAP, AISTATS 2021",
         .axioms = "completeness; the Shapley axioms when all sets are run, in the limit otherwise",
         .cost = "samples forward passes (2^M for M features if that is fewer)",
         .options =
             "samples (default 25; prompts: 25 a feature), tolerance, compat, seed, baseline (remove, mask, "
             "eos, pad, "
             "token:ID), output; nets: baselines (also many rows: a mean over them), masks, at",
         .differences =
             "the sum is a constraint of the fit, not a weight of 1e6; sets come with their complements; "
             "all sets when affordable; one feature is no error (--compat captum: Captum's fit)"},
    .complete = true,
    .stochastic = true,
    .takes_rows = true,
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
