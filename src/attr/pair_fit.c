/* pair_fit.c - the estimator behind Shapley values of prompts.
 *
 * Half the difference of the values of a set S and of its complement, less S's share |S| of the whole change,
 * has lost every interaction of an even number of features. Its weighted least-squares fit by
 *     sum over i in S of u_i  +  c of (the last feature of S)
 * gives the Shapley values: those of the linear part are u + change / m, those of the second part are known
 * in closed form, and what neither explains averages out (KernelShap of the rest; Lundberg and Lee 2017;
 * pairs: Covert and Lee 2021; sizes drawn evenly and without repetition: Musco and Witter 2024; a game whose
 * values are known taken off first: Witter, Liu and Musco 2025). S is the one of the two sets that lacks the
 * last feature.
 *
 * The offsets c are this file's own: in a language model the last word that is left matters most, whatever
 * the others are, since the answer follows it. On a sentence of 12 words (SmolLM2) they explain two thirds of
 * what pairs leave, at no evaluation; where order does not matter they are shrunk towards 0 and do no harm.
 *
 * Errors: squares of what each pair pulls a score by, its residual r corrected for the pair's own share h in
 * the fit. MacKinnon and White (1985) divide r^2 by 1 - h (HC2: on this model's values 5 to 20 % too small a
 * square when pairs are few) or by (1 - h)^2 (HC3, the jackknife that leaves out one pair at a time: 15 to 60
 * % too large); (1 - h)^1.5 is between and was never too small. Sizes of which every set was run have nothing
 * left to chance and add nothing. */
#include "pair_fit.h"
#include "least_squares.h"
#include <math.h>
#include <string.h>

/* Pairs of average weight that pull an offset towards 0, and the same (relative) that keep a fit of fewer
 * pairs than features from having no solution. The first is flat between 0.3 and 2 on the sentence above. */
static const double SHRINK = 0.5, LEAST = 1e-10;

asc_status asc_pair_fit_init(asc_ctx *ctx, size_t m, size_t n_out, asc_pair_fit *out) {
    size_t mm, right;
    *out = (asc_pair_fit){.ctx = ctx, .m = m, .n_out = n_out};
    if (!asc_mul_size(m, m, &mm) || !asc_mul_size(n_out, 2 * m, &right)) return ASC_RESOURCE_EXHAUSTED;
    out->gram = asc_calloc(ctx, ASC_MEM_GENERAL, mm + 1, sizeof(double));
    out->cross = asc_calloc(ctx, ASC_MEM_GENERAL, mm + 1, sizeof(double));
    out->own = asc_calloc(ctx, ASC_MEM_GENERAL, m + 1, sizeof(double));
    out->right = asc_calloc(ctx, ASC_MEM_GENERAL, right + 1, sizeof(double));
    out->row = asc_calloc(ctx, ASC_MEM_GENERAL, m + 1, sizeof(double));
    out->at = asc_calloc(ctx, ASC_MEM_GENERAL, 2 * m + 1, sizeof(double));
    out->pull = asc_calloc(ctx, ASC_MEM_GENERAL, m + 1, sizeof(double));
    bool all = out->gram != NULL && out->cross != NULL && out->own != NULL && out->right != NULL &&
               out->row != NULL && out->at != NULL && out->pull != NULL;
    return all ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

void asc_pair_fit_deinit(asc_pair_fit *f) {
    if (f->ctx == NULL) return;
    asc_free(f->ctx, f->gram);
    asc_free(f->ctx, f->cross);
    asc_free(f->ctx, f->own);
    asc_free(f->ctx, f->right);
    asc_free(f->ctx, f->row);
    asc_free(f->ctx, f->at);
    asc_free(f->ctx, f->pull);
    *f = (asc_pair_fit){0};
}

/* Weight of a pair, all adding up to 1; the last feature of its first set. x [m]: the set less its mean. */
static double read_pair(const asc_pairs *p, size_t k, double total, double *x, size_t *size, size_t *last) {
    const uint8_t *set = p->present + 2 * k * p->m;
    size_t h = p->stratum[k];
    *size = *last = 0;
    for (size_t i = 0; i < p->m; i++) {
        *size += set[i];
        if (set[i] != 0) *last = i;
    }
    for (size_t i = 0; i < p->m; i++) x[i] = (double)set[i] - (double)*size / (double)p->m;
    return p->weight[h] / ((double)p->count[h] * total);
}

/* Half the difference of a pair, less the set's even share of the whole change. */
static double response(const double *y, size_t n_out, size_t o, size_t size, size_t m, double change) {
    double share = (double)size / (double)m;
    return (y[o] - y[n_out + o] + change) / 2.0 - share * change;
}

static double total_weight(const asc_pairs *p) {
    double total = 0.0;
    for (size_t h = 0; h < p->n_strata; h++) total += p->count[h] > 0 ? p->weight[h] : 0.0;
    return total;
}

/* The normal equations, the offsets eliminated (theirs are a diagonal). */
static void normal_equations(asc_pair_fit *f, const asc_pairs *p, const double *y, const double *full,
                             const double *empty) {
    size_t m = f->m, size, last;
    double total = total_weight(p), trace = 0.0;
    memset(f->gram, 0, m * m * sizeof(double));
    memset(f->cross, 0, m * m * sizeof(double));
    memset(f->right, 0, f->n_out * 2 * m * sizeof(double));
    for (size_t t = 0; t < m; t++) f->own[t] = SHRINK / (double)(p->n > 0 ? p->n : 1);
    for (size_t k = 0; k < p->n; k++) {
        double *x = f->row, w = read_pair(p, k, total, x, &size, &last);
        for (size_t a = 0; a < m; a++) {
            for (size_t b = 0; b <= a; b++) f->gram[a * m + b] += w * x[a] * x[b];
            f->cross[last * m + a] += w * x[a];
        }
        f->own[last] += w;
        for (size_t o = 0; o < f->n_out; o++) {
            double r = w * response(y + 2 * k * f->n_out, f->n_out, o, size, m, full[o] - empty[o]);
            for (size_t a = 0; a < m; a++) f->right[2 * o * m + a] += r * x[a];
            f->right[(2 * o + 1) * m + last] += r;
        }
    }
    for (size_t a = 0; a < m; a++) trace += f->gram[a * m + a];
    for (size_t a = 0; a < m; a++) {
        for (size_t b = 0; b <= a; b++) { /* the rows add up to 0: the direction (1..1) is filled in */
            double s = f->gram[a * m + b] + trace / (double)(m * m) + (a == b ? LEAST * trace : 0.0);
            for (size_t t = 0; t < m; t++) s -= f->cross[t * m + a] * f->cross[t * m + b] / f->own[t];
            f->gram[a * m + b] = s;
        }
    }
}

/* v [2, m]: a right side for slopes and offsets, then the solution. */
static void solve(const asc_pair_fit *f, double *v) {
    size_t m = f->m;
    double *u = v, *c = v + m;
    for (size_t t = 0; t < m; t++) {
        if (c[t] == 0.0) continue;
        for (size_t a = 0; a < m; a++) u[a] -= f->cross[t * m + a] * c[t] / f->own[t];
    }
    asc_cholesky_apply(f->gram, m, u);
    for (size_t t = 0; t < m; t++) {
        for (size_t a = 0; a < m; a++) c[t] -= f->cross[t * m + a] * u[a];
        c[t] /= f->own[t];
    }
}

/* Shapley values of the fitted game: the slopes', and those of "t is the last one there" times 2 c_t (half of
 * it shows in a pair): of t 1 / (m - t), of each behind it -1 / ((m - 1 - t)(m - t)). */
static void shapley(size_t m, const double *v, double *out) {
    const double *u = v, *c = v + m;
    double before = 0.0;
    for (size_t i = 0; i < m; i++) {
        double behind = (double)(m - 1 - i);
        out[i] = u[i] - before;
        if (i + 1 == m) break; /* the last feature is never in the set: c of it is 0 */
        out[i] += 2.0 * c[i] / (behind + 1.0);
        before += 2.0 * c[i] / (behind * (behind + 1.0));
    }
}

/* Adds pair k's part of the squared errors. */
static void add_errors(asc_pair_fit *f, const asc_pairs *p, size_t k, double total, const double *y,
                       const double *full, const double *empty, double *errors) {
    size_t m = f->m, size, last, h = p->stratum[k];
    double *x = f->row, *v = f->at, w = read_pair(p, k, total, x, &size, &last);
    double chance = 1.0 - (double)p->count[h] / p->total[h];
    if (!(chance > 0.0)) return;
    memcpy(v, x, m * sizeof *x);
    memset(v + m, 0, m * sizeof *x);
    v[m + last] = 1.0;
    solve(f, v);
    double rest = 1.0 - w * v[m + last];
    for (size_t a = 0; a < m; a++) rest -= w * x[a] * v[a];
    shapley(m, v, f->pull);
    for (size_t o = 0; o < f->n_out; o++) {
        const double *fitted = f->right + 2 * o * m;
        double r =
            response(y + 2 * k * f->n_out, f->n_out, o, size, m, full[o] - empty[o]) - fitted[m + last];
        for (size_t a = 0; a < m; a++) r -= x[a] * fitted[a];
        double change = rest > 1e-6 ? w * r / pow(rest, 0.75) : (double)NAN;
        for (size_t a = 0; a < m; a++)
            errors[o * m + a] += chance * (f->pull[a] * change) * (f->pull[a] * change);
    }
}

void asc_pair_fit_solve(asc_pair_fit *f, const asc_pairs *p, const double *y, const double *full,
                        const double *empty, double *scores, double *errors) {
    size_t m = f->m;
    double total = total_weight(p);
    normal_equations(f, p, y, full, empty);
    bool solved = asc_cholesky_factor(f->gram, m);
    for (size_t i = 0; i < f->n_out * m; i++) scores[i] = errors[i] = solved ? 0.0 : (double)NAN;
    if (!solved) return;
    for (size_t o = 0; o < f->n_out; o++) {
        solve(f, f->right + 2 * o * m);
        shapley(m, f->right + 2 * o * m, scores + o * m);
        for (size_t a = 0; a < m; a++) scores[o * m + a] += (full[o] - empty[o]) / (double)m;
    }
    for (size_t k = 0; k < p->n; k++) add_errors(f, p, k, total, y, full, empty, errors);
    for (size_t i = 0; i < f->n_out * m; i++) errors[i] = sqrt(errors[i]);
}
