/* shapley_values.c - Shapley values, exactly: all 2^M sets of features, each run once and weighed, instead of
 * all M! orders. */
#include "coalition.h"
#include "game.h"
#include <math.h>
#include <string.h>

enum { MAX_FEATURES = 20 };

typedef struct set_job {
    asc_task *t;
    size_t n_out, m;
    double weight[MAX_FEATURES + 1];
    double *scores, *noise; /* [n, n_out, m] */
    double *largest;        /* [n, n_out]: of |f| */
} set_job;

/* weight[s] of a set of s features next to one that is not in it: s! (m-1-s)! / m! = 1 / (m binomial(m-1,
 * s)).
 */
static void set_weights(size_t m, double *weight) {
    for (size_t s = 0; s < m; s++) {
        weight[s] = 1.0 / (double)m;
        for (size_t i = 0; i < s; i++) weight[s] *= (double)(i + 1) / (double)(m - 1 - i);
    }
}

/* Adds what the value f of a set says of every feature's score; bit g of `set`: feature g is in it. */
static void weigh(size_t m, const double *weight, size_t set, double f, double *score) {
    size_t s = (size_t)__builtin_popcountll(set);
    for (size_t g = 0; g < m; g++) score[g] += (set >> g & 1) != 0 ? weight[s - 1] * f : -weight[s] * f;
}

static asc_status too_many(asc_ctx *ctx, size_t m) {
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
             "shapley-values: %zu features have 2^%zu (about %.2g) sets; at most %d features", m, m,
             ldexp(1.0, (int)(m < 1000 ? m : 1000)), MAX_FEATURES);
    return asc_hint(ctx, "group elements with masks (prompts: --features sentence), or use "
                         "shapley-value-sampling or kernel-shap");
}

static size_t example(void *self, size_t row) { return row >> ((set_job *)self)->m; }

static void fill(void *self, size_t row, size_t var, double *out) {
    const set_job *j = self;
    uint8_t present[MAX_FEATURES];
    for (size_t g = 0; g < j->m; g++) present[g] = (uint8_t)(row >> g & 1);
    asc_coalition_fill_set(j->t, row >> j->m, var, present, out);
}

static asc_status sink(void *self, size_t row, const asc_row_result *x) {
    set_job *j = self;
    size_t e = row >> j->m, set = row & (((size_t)1 << j->m) - 1), s = (size_t)__builtin_popcountll(set);
    for (size_t o = 0; o < j->n_out; o++) {
        size_t eo = e * j->n_out + o;
        if (s == 0) j->t->r->baseline_value[eo] = x->f[o];
        j->largest[eo] = fmax(j->largest[eo], fabs(x->f[o]));
        weigh(j->m, j->weight, set, x->f[o], j->scores + eo * j->m);
    }
    return ASC_OK;
}

asc_status asc_shapley_all_sets(asc_task *t) {
    set_job j = {.t = t};
    asc_status st;
    ASC_TRY(asc_coalition_begin(t, &j.n_out));
    j.m = t->n_features;
    if (j.m > MAX_FEATURES) {
        st = too_many(t->ctx, j.m);
        goto done;
    }
    set_weights(j.m, j.weight);
    j.scores = asc_coalition_alloc(t, j.n_out);
    j.noise = asc_coalition_alloc(t, j.n_out);
    j.largest = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n * j.n_out + 1, sizeof *j.largest);
    if (t->r->baseline_value == NULL) {
        t->r->baseline_value = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n * j.n_out + 1, sizeof(double));
    }
    if (j.scores == NULL || j.noise == NULL || j.largest == NULL || t->r->baseline_value == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    asc_rows rows = {.n = t->n << j.m, .self = &j, .example = example, .fill = fill};
    asc_pass pass = {
        .rows = &rows, .replace_sites = t->at_sites, .what = "coalitions", .self = &j, .sink = sink};
    ASC_TRY(asc_task_run(t, &pass));
    for (size_t i = 0; i < t->n * j.n_out * j.m; i++) {
        j.noise[i] = asc_task_value_noise(t, j.largest[i / j.m]);
    }
    ASC_TRY(asc_coalition_publish(t, j.n_out, j.scores, j.noise));
    ASC_TRY(asc_coalition_delta(t, j.n_out, j.scores));
    t->r->converged = true;
    t->r->stochastic = false;
done:
    asc_free(t->ctx, j.scores);
    asc_free(t->ctx, j.noise);
    asc_free(t->ctx, j.largest);
    return st;
}

static asc_status attribute(asc_task *t) { return asc_over_background(t, asc_shapley_all_sets); }

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    *n_forward = ldexp(1.0, (int)(t->n_features < 1000 ? t->n_features : 1000)) + 1.0;
    *n_forward *= (double)asc_n_background(t);
    *n_gradient = 0.0;
}

/* ---- prompts ---- */

/* Sets in blocks of consecutive numbers. The first feature is the highest bit of a set's number, so that the
 * prompts of a block begin alike and what they have in common is run once. */
asc_status asc_game_exact(asc_game *g, double *scores, double *errors) {
    enum { BLOCK = 1 << 11 };
    size_t m = g->m, all = (size_t)1 << (m <= MAX_FEATURES ? m : 0), n_out = g->n_out, active = 0;
    size_t block = all < BLOCK ? all : BLOCK;
    double weight[MAX_FEATURES + 1], largest = 0.0;
    if (m > MAX_FEATURES) return too_many(g->ctx, m);
    set_weights(m, weight);
    memset(scores, 0, n_out * m * sizeof *scores); /* they are sums over the sets */
    asc_status st = ASC_OK;
    uint8_t *present = asc_calloc(g->ctx, ASC_MEM_GENERAL, block * m + 1, sizeof *present);
    double *y = asc_calloc(g->ctx, ASC_MEM_GENERAL, block * n_out + 1, sizeof *y);
    if (present == NULL || y == NULL) st = ASC_RESOURCE_EXHAUSTED;
    for (size_t first = 0; st == ASC_OK && first < all; first += block) {
        size_t n = all - first < block ? all - first : block;
        for (size_t i = 0; i < n * m; i++) present[i] = (uint8_t)((first + i / m) >> (m - 1 - i % m) & 1);
        st = g->values(g->self, present, n, &active, 1, y, n * n_out);
        for (size_t i = 0; st == ASC_OK && i < n; i++) {
            size_t set = 0;
            for (size_t k = 0; k < m; k++) set |= (size_t)present[i * m + k] << k;
            for (size_t o = 0; o < n_out; o++) {
                largest = fmax(largest, fabs(y[i * n_out + o]));
                weigh(m, weight, set, y[i * n_out + o], scores + o * m);
            }
        }
    }
    for (size_t i = 0; i < n_out * m; i++) errors[i] = g->noise(g->self, i / m, largest);
    g->drawn = all;
    g->converged = true;
    g->stochastic = false;
    asc_free(g->ctx, present);
    asc_free(g->ctx, y);
    return st;
}

static asc_status run(asc_job *j) {
    asc_prompt_game p = {.j = j};
    asc_status st = j->n_groups > MAX_FEATURES ? too_many(j->ctx, j->n_groups) : ASC_OK;
    if (st == ASC_OK) st = asc_prompt_game_begin(j, &p);
    if (st == ASC_OK) st = asc_game_exact(&p.g, p.scores, p.errors);
    if (st == ASC_OK) asc_prompt_game_publish(&p, p.scores, p.errors);
    asc_prompt_game_end(&p);
    return st;
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    *n_forward = ldexp(1.0, (int)(j->n_groups < 1000 ? j->n_groups : 1000)) + 3.0;
    *n_gradient = 0.0;
}

const asc_method asc_method_shapley_values = {
    .info =
        {.name = "shapley-values",
         .captum = "ShapleyValues",
         .doc = "Shapley values, exactly, from all sets of features",
         .formula = "score_i = sum over sets S without i of |S|! (M-1-|S|)! / M! (f(S and i) - f(S))",
         .paper = "Shapley, A value for n-person games, 1953; Lundberg and Lee, NeurIPS 2017",
         .axioms = "completeness, dummy, symmetry, linearity",
         .cost = "2^M + 1 forward passes for M features (at most 20)",
         .options =
             "baseline (remove, mask, eos, pad, token:ID), output; nets: baselines (also many rows: a mean "
             "over them), masks, at",
         .differences =
             "runs the 2^M sets once instead of M! orders: the same values; more than 20 features are "
             "an error"},
    .complete = true,
    .takes_rows = true,
    .takes_integers = true,
    .attribute = attribute,
    .price_rows = price_rows,
    .needs_baseline = true,
    .auto_baseline = ASC_BASELINE_REMOVE,
    .per_token = true,
    .run = run,
    .price = price,
};
