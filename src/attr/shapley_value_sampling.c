/* shapley_value_sampling.c - Shapley values from random orders of the features: what each adds when it joins
 * those before it. Orders come in pairs, the second the reverse of the first, which removes the part of the
 * variance that interactions of two features make. All examples see the same orders, so a row of a batch is
 * the row by itself. On prompts, where a row costs far more than arithmetic on its value, as many sets as the
 * orders would have are drawn one by one and every value serves every feature (pair_fit.c). */
#include "coalition.h"
#include "game.h"
#include "pair_fit.h"
#include "plain.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* How many numbers of orders are held at a time; more are drawn in blocks. */
enum { MAX_HELD = 1 << 22 };
/* With a tolerance: rows of one example that are worth a pass, and orders before the first look at the
 * errors. Both depend on nothing but the number of features, so that rows end where they would end alone. */
enum { BLOCK_ROWS = 64, FIRST_ORDERS = 10 };

typedef struct order_job {
    asc_task *t;
    size_t n_out, m, samples;
    bool paired;
    size_t first, n_held;            /* orders in hand: [first, first + n_held) */
    int32_t *rank;                   /* [n_held, m]: position of each feature in the order */
    int32_t *order;                  /* [n_held, m]: the feature at each position */
    size_t *active, n_active, *used; /* examples that still run; orders each has used */
    double *sum, *sum2;              /* [n, n_out, m]: of the orders' contributions */
    double *half, *pair2; /* contribution in the first order of a pair; squares of the pairs' sums */
    double *before;       /* [n_out]: value without the feature that joins next */
} order_job;

/* Rows: order by order, active example by active example, the m - 1 places between empty and full. */
static size_t row_example(const order_job *j, size_t row) {
    return j->active[row / (j->m - 1) % j->n_active];
}
static size_t row_order(const order_job *j, size_t row) { return row / (j->m - 1) / j->n_active; }
static size_t example(void *self, size_t row) { return row_example(self, row); }

static void fill(void *self, size_t row, size_t var, double *out) {
    const order_job *j = self;
    int32_t level = (int32_t)(row % (j->m - 1)) + 1;
    asc_coalition_fill(j->t, row_example(j, row), var, j->rank + row_order(j, row) * j->m, level, out);
}

/* The contribution of feature g to number eo in order p. */
static void note(order_job *j, size_t p, size_t eo, size_t g, double c) {
    size_t i = eo * j->m + g;
    j->sum[i] += c;
    j->sum2[i] += c * c;
    if (j->paired && p % 2 == 0) j->half[i] = c;
    if (j->paired && p % 2 == 1) j->pair2[i] += (j->half[i] + c) * (j->half[i] + c);
}

static asc_status sink(void *self, size_t row, const asc_row_result *x) {
    order_job *j = self;
    const asc_attribution *r = j->t->r;
    size_t k = row % (j->m - 1), e = row_example(j, row), p = row_order(j, row);
    const int32_t *order = j->order + p * j->m;
    for (size_t o = 0; o < j->n_out; o++) {
        size_t eo = e * j->n_out + o;
        double before = k == 0 ? r->baseline_value[eo] : j->before[o];
        note(j, j->first + p, eo, (size_t)order[k], x->f[o] - before);
        if (k + 2 == j->m) note(j, j->first + p, eo, (size_t)order[k + 1], r->value[eo] - x->f[o]);
        j->before[o] = x->f[o];
    }
    if (k + 2 == j->m) j->used[e] = j->first + p + 1;
    return ASC_OK;
}

/* Orders [first, first + n): Fisher-Yates by the counter-based stream of each pair. */
static void draw(order_job *j, size_t first, size_t n) {
    j->first = first;
    j->n_held = n;
    for (size_t p = 0; p < n; p++) {
        int32_t *order = j->order + p * j->m, *rank = j->rank + p * j->m;
        size_t number = first + p;
        bool reverse = j->paired && number % 2 == 1;
        uint64_t stream = j->paired ? number / 2 : number;
        for (size_t i = 0; i < j->m; i++) order[i] = (int32_t)i;
        for (size_t i = j->m - 1; i > 0; i--) {
            size_t o = (size_t)(asc_task_uniform(j->t, stream, i) * (double)(i + 1));
            int32_t was = order[i];
            order[i] = order[o];
            order[o] = was;
        }
        for (size_t i = 0; reverse && i < j->m / 2; i++) {
            int32_t was = order[i];
            order[i] = order[j->m - 1 - i];
            order[j->m - 1 - i] = was;
        }
        for (size_t i = 0; i < j->m; i++) rank[order[i]] = (int32_t)i;
    }
}

/* Variance of the mean over `used` orders, for number i: pairs are independent of each other, their halves
 * are not. An odd order out counts with the variance of single ones. NAN when there are too few. */
static double variance(const order_job *j, size_t i, size_t used) {
    double s = (double)used, mean = j->sum[i] / s, single = 0.0, n = floor(s / 2.0);
    if (used > 1) single = fmax(j->sum2[i] - s * mean * mean, 0.0) / (s - 1.0);
    if (!j->paired) return used > 1 ? single / s : (double)NAN;
    if (used < 4) return (double)NAN;
    bool odd = used % 2 == 1; /* the odd one out is still in half */
    double rest = odd ? single : 0.0, of_pairs = (j->sum[i] - (odd ? j->half[i] : 0.0)) / n;
    double pair = fmax(j->pair2[i] - n * of_pairs * of_pairs, 0.0) / (n - 1.0);
    return (n * pair + rest) / (s * s);
}

/* Whether every number of example e is known to `tolerance` of the largest. */
static bool settled(const order_job *j, size_t e) {
    double largest = 0.0, worst = 0.0;
    if (j->used[e] < FIRST_ORDERS) return false;
    for (size_t i = e * j->n_out * j->m; i < (e + 1) * j->n_out * j->m; i++) {
        double v = variance(j, i, j->used[e]);
        if (!(v >= 0.0)) return false;
        largest = fmax(largest, fabs(j->sum[i]) / (double)j->used[e]);
        worst = fmax(worst, sqrt(v));
    }
    return worst <= j->t->req->tolerance * largest;
}

static asc_status run_orders(order_job *j) {
    asc_task *t = j->t;
    bool stops = t->req->tolerance > 0.0;
    size_t fit = MAX_HELD / j->m, block = stops ? 2 + BLOCK_ROWS / (j->m - 1) / 2 * 2 : j->samples;
    if (block > fit) block = fit < 2 ? 2 : fit - fit % 2;
    if (block > j->samples) block = j->samples;
    j->rank = asc_calloc(t->ctx, ASC_MEM_GENERAL, block * j->m, sizeof *j->rank);
    j->order = asc_calloc(t->ctx, ASC_MEM_GENERAL, block * j->m, sizeof *j->order);
    if (j->rank == NULL || j->order == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t first = 0; first < j->samples && j->n_active > 0; first += block) {
        size_t n = j->samples - first < block ? j->samples - first : block;
        draw(j, first, n);
        asc_rows rows = {.n = n * j->n_active * (j->m - 1), .self = j, .example = example, .fill = fill};
        asc_pass pass = {
            .rows = &rows, .replace_sites = t->at_sites, .what = "coalitions", .self = j, .sink = sink};
        asc_status st = asc_task_run(t, &pass);
        if (st != ASC_OK) return st;
        size_t left =
            0; /* each example stops by itself, so that its numbers do not depend on its neighbours */
        for (size_t a = 0; stops && a < j->n_active; a++) {
            if (!settled(j, j->active[a])) j->active[left++] = j->active[a];
        }
        if (stops) j->n_active = left;
    }
    t->r->converged = !stops || j->n_active == 0;
    return ASC_OK;
}

/* Sums become means (in sum) and standard errors (in sum2). */
static void finish(order_job *j) {
    for (size_t e = 0; e < j->t->n; e++) {
        for (size_t i = e * j->n_out * j->m; i < (e + 1) * j->n_out * j->m; i++) {
            double v = variance(j, i, j->used[e]);
            j->sum[i] /= (double)j->used[e];
            size_t eo = i / j->m;
            double floor_ =
                asc_task_value_noise(j->t, fmax(fabs(j->t->r->value[eo]), fabs(j->t->r->baseline_value[eo])));
            j->sum2[i] = v >= 0.0 ? fmax(sqrt(v), floor_) : (double)NAN;
        }
    }
}

/* One feature, or none: nothing to sample. */
static void single(order_job *j) {
    const asc_attribution *r = j->t->r;
    for (size_t i = 0; i < j->t->n * j->n_out * j->m; i++) {
        j->sum[i] = r->value[i] - r->baseline_value[i];
        j->sum2[i] = asc_task_value_noise(j->t, fmax(fabs(r->value[i]), fabs(r->baseline_value[i])));
    }
    j->t->r->converged = true;
}

static asc_status alloc(order_job *j) {
    asc_task *t = j->t;
    j->active = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n + 1, sizeof *j->active);
    j->used = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n + 1, sizeof *j->used);
    j->before = asc_calloc(t->ctx, ASC_MEM_GENERAL, j->n_out + 1, sizeof *j->before);
    j->sum = asc_coalition_alloc(t, j->n_out);
    j->sum2 = asc_coalition_alloc(t, j->n_out);
    j->half = j->paired ? asc_coalition_alloc(t, j->n_out) : NULL;
    j->pair2 = j->paired ? asc_coalition_alloc(t, j->n_out) : NULL;
    bool all = j->active != NULL && j->used != NULL && j->before != NULL && j->sum != NULL &&
               j->sum2 != NULL && (!j->paired || (j->half != NULL && j->pair2 != NULL));
    for (size_t e = 0; all && e < t->n; e++) j->active[e] = e;
    j->n_active = t->n;
    return all ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

/* Orders, and whether all sets are at most as many rows. */
static size_t n_orders(const asc_task *t, bool *exact) {
    size_t samples = asc_task_samples(t), m = t->n_features;
    *exact = !t->req->compat_captum && m > 1 && m < 20 &&
             ldexp(1.0, (int)m) <= (double)samples * (double)(m - 1) + 2.0;
    return samples;
}

static asc_status at_baseline(asc_task *t) {
    order_job j = {.t = t, .paired = !t->req->compat_captum};
    asc_status st;
    ASC_TRY(asc_coalition_begin(t, &j.n_out));
    j.m = t->n_features;
    bool exact;
    j.samples = n_orders(t, &exact);
    if (exact) return asc_shapley_all_sets(t);
    ASC_TRY(alloc(&j));
    ASC_TRY(asc_coalition_empty(t, j.n_out));
    if (j.m < 2) {
        single(&j);
    } else {
        ASC_TRY(run_orders(&j));
        finish(&j);
    }
    ASC_TRY(asc_coalition_publish(t, j.n_out, j.sum, j.sum2));
    ASC_TRY(asc_coalition_delta(t, j.n_out, j.sum));
    if (!t->r->converged) {
        st = asc_task_note(t, "%zu orders did not reach the tolerance of %g", j.samples, t->req->tolerance);
    }
done:
    asc_free(t->ctx, j.active);
    asc_free(t->ctx, j.used);
    asc_free(t->ctx, j.before);
    asc_free(t->ctx, j.sum);
    asc_free(t->ctx, j.sum2);
    asc_free(t->ctx, j.half);
    asc_free(t->ctx, j.pair2);
    asc_free(t->ctx, j.rank);
    asc_free(t->ctx, j.order);
    return st;
}

static asc_status attribute(asc_task *t) { return asc_over_background(t, at_baseline); }

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    bool exact;
    double samples = (double)n_orders(t, &exact);
    double between = t->n_features > 1 ? (double)t->n_features - 1.0 : 0.0;
    *n_forward = exact ? ldexp(1.0, (int)t->n_features) + 1.0 : samples * between + 2.0;
    *n_forward *= (double)asc_n_background(t);
    *n_gradient = 0.0;
}

/* ---- prompts ---- */

/* Means and errors of n orders' contributions, whose sums and sums of squares these are. */
static void order_means(const asc_game *g, double n, const double *sum, const double *sum2, double *scores,
                        double *errors) {
    for (size_t i = 0; i < g->n_out * g->m; i++) {
        scores[i] = sum[i] / n;
        errors[i] = n > 1.0 ? sqrt(fmax(sum2[i] / n - scores[i] * scores[i], 0.0) / (n - 1.0)) : (double)NAN;
    }
}

/* Captum's way: independent orders, one value for each step of each. */
static asc_status plain_orders(asc_game *g, double *scores, double *errors) {
    enum { BLOCK = 8 };
    size_t m = g->m, n_out = g->n_out, active = 0, cells, values, steps = m - 1;
    if (!asc_mul_size(BLOCK * m, steps + 1, &cells) || !asc_mul_size(BLOCK * n_out, steps + 1, &values))
        return ASC_RESOURCE_EXHAUSTED;
    uint8_t *present = asc_calloc(g->ctx, ASC_MEM_GENERAL, cells, 1);
    size_t *order = asc_calloc(g->ctx, ASC_MEM_GENERAL, BLOCK * m, sizeof *order);
    double *y = asc_calloc(g->ctx, ASC_MEM_GENERAL, values, sizeof *y);
    double *sum = asc_calloc(g->ctx, ASC_MEM_GENERAL, 2 * n_out * m, sizeof *sum);
    double *sum2 = sum != NULL ? sum + n_out * m : NULL;
    asc_status st =
        present == NULL || order == NULL || y == NULL || sum == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
    g->converged = !(g->tolerance > 0.0);
    while (st == ASC_OK && g->drawn < g->samples) {
        size_t n = g->samples - g->drawn < BLOCK ? g->samples - g->drawn : BLOCK;
        memset(present, 0, n * steps * m);
        for (size_t p = 0; p < n; p++) {
            asc_game_order(g, g->drawn + p, order + p * m);
            for (size_t k = 0; k < steps; k++)
                for (size_t i = 0; i <= k; i++) present[(p * steps + k) * m + order[p * m + i]] = 1;
        }
        if (g->dry && g->job != NULL) { /* every block is like the first one */
            const double all = (double)g->samples * (double)steps,
                         least = g->tolerance > 0.0 && FIRST_ORDERS < g->samples
                                     ? FIRST_ORDERS * (double)steps
                                     : all;
            st = asc_game_price(g, present, n * steps, all, least, 0);
            g->drawn = g->samples;
            g->converged = true;
            break;
        }
        st = g->values(g->self, present, n * steps, &active, 1, y, n * steps * n_out);
        for (size_t i = 0; st == ASC_OK && i < n * m * n_out; i++) {
            size_t o = i % n_out, k = i / n_out % m, p = i / n_out / m, at = o * m + order[p * m + k];
            double before = k == 0 ? g->empty[o] : y[(p * steps + k - 1) * n_out + o];
            double c = (k + 1 == m ? g->full[o] : y[(p * steps + k) * n_out + o]) - before;
            sum[at] += c;
            sum2[at] += c * c;
        }
        g->drawn += n;
        order_means(g, (double)g->drawn, sum, sum2, scores, errors);
        if (g->tolerance > 0.0 && g->drawn >= FIRST_ORDERS && asc_game_settled(g, scores, errors)) {
            g->converged = true;
            break;
        }
    }
    asc_free(g->ctx, present);
    asc_free(g->ctx, order);
    asc_free(g->ctx, y);
    asc_free(g->ctx, sum);
    return st;
}

/* Pairs after which to look at the errors again: what errors of now say is needed, at most twice as many. */
static size_t next_look(const asc_game *g, size_t n, size_t most, const double *scores,
                        const double *errors) {
    double largest = 0.0, worst = 0.0;
    for (size_t i = 0; i < g->n_out * g->m; i++) {
        largest = fmax(largest, fabs(scores[i]));
        worst = fmax(worst, errors[i] >= 0.0 ? errors[i] : INFINITY);
    }
    double ratio = worst / (g->tolerance * largest), need = (double)n * ratio * ratio;
    size_t to = need < 2.0 * (double)n ? (size_t)ceil(need) : 2 * n, least = n + (n + 7) / 8;
    if (to < least) to = least;
    return to < most ? to : most;
}

static size_t first_look(const asc_game *g) {
    enum { FEWEST = 16 };
    return 2 * g->m > FEWEST ? 2 * g->m : FEWEST;
}

/* A dry run: as many pairs as run together stand for all of them. */
static asc_status price_pairs(asc_game *g, size_t most) {
    const size_t few = g->lot / 2 > 0 ? g->lot / 2 : 1, n = most < few ? most : few, look = first_look(g);
    const size_t have = asc_pairs_bytes(g->m, n), all = asc_pairs_bytes(g->m, most);
    asc_pairs p = {0};
    size_t values = 0;
    if (all == SIZE_MAX || !asc_mul_size(most, 2 * g->n_out * sizeof(double), &values) ||
        !asc_add_size(values, all - have, &values))
        values = SIZE_MAX / 4; /* more than there is: the predicted peak says so */
    asc_status st = asc_pairs_init(g, n, &p);
    if (st == ASC_OK) st = asc_pairs_draw(&p, g, n);
    if (st == ASC_OK && p.n < n) most = p.n; /* all there are */
    if (st == ASC_OK)
        st = asc_game_price(g, p.present, 2 * p.n, 2.0 * (double)most,
                            2.0 * (double)(g->tolerance > 0.0 && look < most ? look : most), values);
    g->drawn = 2 * most;
    g->stochastic = p.n < most || !asc_pairs_all(&p);
    g->converged = true;
    asc_pairs_deinit(&p);
    return st;
}

/* Sets and their complements. Looks begin at two pairs a feature: with fewer, errors are guesses. */
static asc_status pairs(asc_game *g, double *scores, double *errors) {
    size_t active = 0, values, most = (g->samples * (g->m - 1) + 1) / 2;
    asc_pairs p = {0};
    asc_pair_fit f = {0};
    double *y = NULL;
    asc_status st;
    if (most == 0) most = 1;
    if (asc_game_enumerable(g, 2.0 * (double)most)) most = ((size_t)1 << (g->m - 1)) - 1;
    if (g->dry && g->job != NULL) return price_pairs(g, most);
    ASC_TRY(asc_pairs_init(g, most, &p));
    ASC_TRY(asc_pair_fit_init(g->ctx, g->m, g->n_out, &f));
    y = asc_mul_size(most, 2 * g->n_out, &values) ? asc_calloc(g->ctx, ASC_MEM_GENERAL, values, sizeof *y)
                                                  : NULL;
    if (y == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    bool stops = g->tolerance > 0.0 && !g->dry;
    size_t to = stops ? first_look(g) : most;
    for (size_t from = 0;;) {
        ASC_TRY(asc_pairs_draw(&p, g, to));
        size_t n = 2 * (p.n - from);
        ASC_TRY(g->values(g->self, p.present + 2 * from * g->m, n, &active, 1, y + 2 * from * g->n_out,
                          n * g->n_out));
        asc_pair_fit_solve(&f, &p, y, g->full, g->empty, scores, errors);
        g->drawn = 2 * p.n;
        g->stochastic = !asc_pairs_all(&p);
        g->converged = !(g->tolerance > 0.0) || !g->stochastic || asc_game_settled(g, scores, errors);
        if (g->converged || p.n == most || p.n < to) break;
        from = p.n;
        to = next_look(g, p.n, most, scores, errors);
    }
done:
    asc_free(g->ctx, y);
    asc_pair_fit_deinit(&f);
    asc_pairs_deinit(&p);
    return st;
}

static size_t prompt_orders(const asc_job *j) {
    return asc_job_samples(j, asc_method_shapley_value_sampling.samples, j->n_groups);
}

/* With a tolerance fewer may do. */
static bool all_sets(const asc_game *g) {
    return !g->captum && !(g->tolerance > 0.0) &&
           asc_game_enumerable(g, (double)g->samples * ((double)g->m - 1.0) + 2.0);
}

asc_status asc_game_sampled(asc_game *g, double *scores, double *errors) {
    if (g->m < 2 || all_sets(g)) return asc_game_exact(g, scores, errors);
    asc_status st = g->captum ? plain_orders(g, scores, errors) : pairs(g, scores, errors);
    for (size_t i = 0; i < g->n_out * g->m; i++) {
        double least = g->noise(g->self, i / g->m, 0.0);
        if (errors[i] < least) errors[i] = least;
    }
    if (st != ASC_OK || g->converged) return st;
    char line[128];
    asc_snprintf(line, sizeof line, "%zu %s did not reach the tolerance of %g", g->drawn,
                 g->captum ? "orders" : "sets", g->tolerance);
    return g->note(g->self, line);
}

static asc_status run(asc_job *j) {
    asc_prompt_game p;
    asc_status st = asc_prompt_game_begin(j, &p);
    p.g.samples = prompt_orders(j);
    if (st == ASC_OK) st = asc_game_sampled(&p.g, p.scores, p.errors);
    if (st == ASC_OK) asc_prompt_game_publish(&p, p.scores, p.errors);
    asc_prompt_game_end(&p);
    return st;
}

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    asc_game g = {.m = j->n_groups, .samples = prompt_orders(j), .captum = j->req->compat_captum};
    double steps = g.m > 1 ? (double)g.m - 1.0 : 0.0;
    double sets = (double)g.samples * steps, all = g.m < 50 ? ldexp(1.0, (int)g.m) : sets;
    *n_forward = 3.0 + (g.m < 2 || (!g.captum && all < sets + 2.0) ? all : sets);
    *n_gradient = 0.0;
}

const asc_method asc_method_shapley_value_sampling = {
    .info =
        {.name = "shapley-value-sampling",
         .captum = "ShapleyValueSampling",
         .doc = "Shapley values estimated from random orders in which the features are put in",
         .formula = "score_i = mean over orders of f(features before i, and i) - f(features before i)",
         .paper =
             "Castro, Gomez, Tejada, Polynomial calculation of the Shapley value based on sampling, 2009; "
             "reversed pairs: Mitchell et al., Sampling Permutations for Shapley Value Estimation, JMLR "
             "2022; "
             "prompts: Musco and Witter, Provably Accurate Shapley Value Estimation via Leverage Score "
             "Sampling, 2024, and Witter, Liu and Musco, Regression-adjusted Monte Carlo Estimators for "
             "Shapley Values and Probabilistic Values, 2025",
         .axioms = "completeness, dummy; symmetry, linearity in expectation; additive functions exactly",
         .cost =
             "samples x (n features - 1) + 2 forward passes (2^M + 1 for M features if that is fewer: exact)",
         .options =
             "samples (default 25; prompts: with a tolerance up to 1000, of 32,768 sets together), "
             "tolerance, compat, seed, baseline "
             "(remove, mask, "
             "eos, pad, token:ID), output; nets: baselines (also many rows: a mean over them), masks, at",
         .differences =
             "every second order is the reverse of the one before (--compat captum: all independent); "
             "prompts: "
             "as many sets as the orders have steps, each with its complement, fitted together; all sets "
             "instead when they cost no more; standard errors; stops at the tolerance"},
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
