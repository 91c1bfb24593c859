/* ascribe/metrics.h - how far scores can be trusted: infidelity, sensitivity, deletion and insertion curves.
 *
 * Each takes the request of an attribution (inputs, target, baselines, masks) and either its scores or, when
 * none are given, the scores that the request's method computes.
 */
#ifndef ASCRIBE_METRICS_H
#define ASCRIBE_METRICS_H

#include "ascribe/attribute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Values of one example: inputs[k] are the elements of the k-th attributed input. */
typedef const double *const *asc_example_inputs;

/* One number per example. */
typedef struct asc_metric {
    size_t n;
    double *values; /* [n] */
    double *means;  /* [n] sensitivity: mean over the samples, where values is the largest; otherwise NULL */
    double *betas;  /* [n] infidelity: the scale that fits the scores best; otherwise NULL */
    uint64_t n_forward;
} asc_metric;
ASC_API void asc_metric_destroy(asc_ctx *ctx, asc_metric *m); /* NULL is accepted */

/* ---- infidelity: do the scores predict what a perturbation I of the input changes?
 * -------------------------------- Mean over samples of (sum I * score - (f(x) - f(x - I)))^2 (Yeh et al., On
 * the (In)fidelity and Sensitivity of Explanations, NeurIPS 2019). */
typedef struct asc_infidelity_request {
    size_t struct_size;
    const asc_array *scores; /* one per attributed input, of its shape; NULL = run the request's method */
    size_t n_scores;
    size_t samples; /* 0 = 10 */
    bool normalize; /* scores are scaled by beta = sum(ab) / sum(a^2), a = sum I * score, b the change */
    double stdev;   /* perturb NULL: I is normal noise of this standard deviation; 0 = 0.02 */
    /* Writes perturbed[k] (which holds the input on entry) and perturbation[k] = I; samples 0, 1, ... of an
     * example are asked for in order, once each. NULL = noise. */
    void (*perturb)(void *self, size_t example, size_t sample, asc_example_inputs x, double *const *perturbed,
                    double *const *perturbation);
    void *self;
    /* I is derived from what perturb writes, perturbation is not read: x - perturbed, and with per_input (for
     * scores that have the input as a factor) over x - baseline, or over 1 where that is 0. */
    bool derive, per_input;
} asc_infidelity_request;
ASC_API ASC_MUST_USE asc_status asc_infidelity(asc_net *net, const asc_attr_request *req,
                                               const asc_infidelity_request *how, asc_metric **out);

/* ---- sensitivity: how much do the scores change when the input hardly does?
 * ---------------------------------------- Largest |scores(x) - scores(x~)| / |scores(x)| over samples x~ (a
 * norm of 0 counts as 1). */
typedef struct asc_sensitivity_request {
    size_t struct_size;
    size_t samples;   /* 0 = 10 */
    double radius;    /* every element moves by a uniform number in [-radius, radius]; 0 = 0.02 */
    const char *norm; /* "l2" (default), "l1", "inf" */
    /* Writes perturbed[k], which holds the input on entry; NULL = the uniform ball. */
    void (*perturb)(void *self, size_t example, size_t sample, asc_example_inputs x,
                    double *const *perturbed);
    void *self;
} asc_sensitivity_request;
ASC_API ASC_MUST_USE asc_status asc_sensitivity(asc_net *net, const asc_attr_request *req,
                                                const asc_sensitivity_request *how, asc_metric **out);

/* ---- removal curves: do the features with the largest scores carry the value?
 * -------------------------------------- Deletion: f with the k largest features at the baseline, k = 0 ..
 * all (falls fast when scores are good). Insertion: f with only the k largest present (rises fast). Random:
 * deletion in a random order, the control. Least first: deletion of the k smallest; `gap` is its area minus
 * the deletion's (larger is better). The score of a group is the mean of its elements'. */
typedef struct asc_curves_request {
    size_t struct_size;
    const asc_array *scores; /* one per attributed value; NULL = run the request's method */
    size_t n_scores;
    size_t points; /* steps of the curves; 0 = one per feature, at most 100 */
} asc_curves_request;
typedef struct asc_curves {
    size_t n, n_points;                            /* examples; points of a curve: steps + 1 */
    double *fraction;                              /* [n_points] of the features */
    double *deletion, *insertion, *random, *least; /* [n, n_points] values */
    double *deletion_area, *insertion_area, *random_area, *least_area,
        *gap; /* [n]: areas over fraction 0..1 */
    uint64_t n_forward;
} asc_curves;
ASC_API ASC_MUST_USE asc_status asc_removal_curves(asc_net *net, const asc_attr_request *req,
                                                   const asc_curves_request *how, asc_curves **out);
ASC_API void asc_curves_destroy(asc_ctx *ctx, asc_curves *c); /* NULL is accepted */

/* ---- agreement of two methods
 * ----------------------------------------------------------------------------------- Spearman's rank
 * correlation of a and b: Pearson's of the ranks, equal numbers sharing their mean rank. NaN when n < 2 or
 * when all numbers of one are equal. RESOURCE_EXHAUSTED. */
ASC_API ASC_MUST_USE asc_status asc_rank_correlation(asc_ctx *ctx, const double *a, const double *b, size_t n,
                                                     double *out);

#ifdef __cplusplus
}
#endif
#endif
