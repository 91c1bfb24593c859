/* faith_curves.c - see faith_curves.h; definitions in docs/FAITHFULNESS.md. */
#include "faith_curves.h"
#include "hash.h"
#include <math.h>
#include <string.h>

const double asc_faith_shares[ASC_FAITH_SHARES] = {0.01, 0.05, 0.10, 0.20, 0.50};

static const asc_faith_info infos[ASC_N_FAITH] = {
    [ASC_FAITH_DELETION] = {"deletion", "mean of f(x without its k largest) - f(x) over k = 0 .. n",
                            "Petsiuk et al., RISE, BMVC 2018", -1, true},
    [ASC_FAITH_INSERTION] = {"insertion", "mean of f(only the k largest) - f(x) over k = 0 .. n",
                             "Petsiuk et al., RISE, BMVC 2018", 1, true},
    [ASC_FAITH_GAP] = {"gap", "mean of f(x without its k smallest) - f(x without its k largest)",
                       "Achtibat et al., AttnLRP, ICML 2024 (area between the curves)", 1, true},
    [ASC_FAITH_COMPREHENSIVENESS] = {"comprehensiveness",
                                     "mean of p(x) - p(x without the top 1, 5, 10, 20, 50 %)",
                                     "DeYoung et al., ERASER, ACL 2020", 1, true},
    [ASC_FAITH_SUFFICIENCY] = {"sufficiency", "mean of p(x) - p(only the top 1, 5, 10, 20, 50 %)",
                               "DeYoung et al., ERASER, ACL 2020", -1, true},
    [ASC_FAITH_LOG_ODDS] = {"log-odds", "mean of log p(x without the top 1, 5, 10, 20, 50 %) - log p(x)",
                            "Shrikumar et al., DeepLIFT, ICML 2017", -1, true},
    [ASC_FAITH_MONOTONICITY] = {"monotonicity",
                                "share of the features with a positive score that raise f when put in, the "
                                "smallest first",
                                "Luss et al., KDD 2021", 1, false},
    [ASC_FAITH_LINEAR_FIT] = {"linear-fit",
                              "Spearman's correlation of the sum of scores with f, over random halves",
                              "Cohen-Wang et al., ContextCite, NeurIPS 2024 (LDS)", 1, true},
    [ASC_FAITH_OTHER_ANSWER] = {"other-answer",
                                "correlation with the scores of a random other answer; near 1 is bad",
                                "Sixt et al., ICML 2020 (random logit)", 0, false},
    [ASC_FAITH_OTHER_WEIGHTS] = {"other-weights",
                                 "correlation with the scores of shuffled weights; near 1 is bad",
                                 "Adebayo et al., NeurIPS 2018", 0, false},
    [ASC_FAITH_OTHER_BASELINE] = {"other-baseline",
                                  "correlation with the scores from another baseline; near 1 is good",
                                  "Sturmfels et al., Distill 2020", 0, false},
};

const asc_faith_info *asc_faith_at(size_t i) { return i < ASC_N_FAITH ? &infos[i] : NULL; }

size_t asc_faith_n_rows(size_t n) { return 3 * (n + 1) + 2 * ASC_FAITH_SHARES; }

/* How many features a share of n is: rounded up, so that there is at least one. */
static size_t share_of(size_t n, size_t i) {
    size_t k = (size_t)ceil(asc_faith_shares[i] * (double)n - 1e-9);
    return k < 1 ? 1 : k > n ? n : k;
}

/* Indices by falling score; insertion keeps the order of equals. n is the words of a prompt. */
static void sort_down(const double *s, size_t n, size_t *order) {
    for (size_t i = 0; i < n; i++) {
        size_t k = i;
        for (; k > 0 && s[order[k - 1]] < s[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
}

void asc_faith_fill(const double *scores, size_t n, size_t *order, uint8_t *rows) {
    sort_down(scores, n, order);
    uint8_t *deletion = rows, *insertion = rows + (n + 1) * n, *least = rows + 2 * (n + 1) * n,
            *shares = rows + 3 * (n + 1) * n;
    memset(deletion, 1, (n + 1) * n);
    memset(insertion, 0, (n + 1) * n);
    memset(least, 1, (n + 1) * n);
    for (size_t k = 1; k <= n; k++) {
        for (size_t i = 0; i < k; i++) {
            deletion[k * n + order[i]] = 0;
            insertion[k * n + order[i]] = 1;
            least[k * n + order[n - 1 - i]] = 0;
        }
    }
    for (size_t q = 0; q < ASC_FAITH_SHARES; q++) {
        size_t k = share_of(n, q);
        memcpy(shares + 2 * q * n, deletion + k * n, n);
        memcpy(shares + (2 * q + 1) * n, insertion + k * n, n);
    }
}

static double area(const double *v, size_t n, double from) {
    double sum = 0.0;
    for (size_t k = 0; k <= n; k++) sum += v[k] - from;
    return sum / (double)(n + 1);
}

/* Features enter from the smallest score to the largest: row n - k of `deletion` has the k smallest. */
static double monotonicity(const double *deletion, const double *scores, size_t n) {
    size_t positive = 0, rises = 0;
    for (size_t i = 0; i < n; i++) positive += scores[i] > 0.0 ? 1 : 0;
    for (size_t k = 0; k < positive; k++) rises += deletion[k] > deletion[k + 1] ? 1 : 0;
    return positive > 0 ? (double)rises / (double)positive : (double)NAN;
}

void asc_faith_measure(const double *values, const double *scores, size_t n, bool is_log,
                       double metric[ASC_N_FAITH]) {
    const double *deletion = values, *insertion = values + n + 1, *least = values + 2 * (n + 1),
                 *shares = values + 3 * (n + 1);
    double f = deletion[0], p = is_log ? exp(f) : f, comp = 0.0, suff = 0.0, odds = 0.0;
    for (size_t q = 0; q < ASC_FAITH_SHARES; q++) {
        double without = shares[2 * q], only = shares[2 * q + 1];
        comp += p - (is_log ? exp(without) : without);
        suff += p - (is_log ? exp(only) : only);
        odds += without - f;
    }
    metric[ASC_FAITH_DELETION] = area(deletion, n, f);
    metric[ASC_FAITH_INSERTION] = area(insertion, n, f);
    metric[ASC_FAITH_GAP] = area(least, n, f) - metric[ASC_FAITH_DELETION];
    metric[ASC_FAITH_COMPREHENSIVENESS] = comp / ASC_FAITH_SHARES;
    metric[ASC_FAITH_SUFFICIENCY] = suff / ASC_FAITH_SHARES;
    metric[ASC_FAITH_LOG_ODDS] = is_log ? odds / ASC_FAITH_SHARES : (double)NAN;
    metric[ASC_FAITH_MONOTONICITY] = monotonicity(deletion, scores, n);
}

void asc_faith_subsets(uint64_t seed, size_t rows, size_t n, uint8_t *out) {
    for (size_t i = 0; i < rows * n; i++) out[i] = asc_uniform(seed, 0x66616974, i) < 0.5 ? 1 : 0;
}
