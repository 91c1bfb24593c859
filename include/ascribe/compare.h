/* ascribe/compare.h - two sets of scores of the same things: how far apart they are, whether that is within
 * their errors, whether their order is the same; and the same for two result files.
 */
#ifndef ASCRIBE_COMPARE_H
#define ASCRIBE_COMPARE_H

#include "ascribe/precision.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A set of scores; error NULL, or NaN in places = not known there. */
typedef struct asc_score_set {
    const double *score, *error;
    size_t n;
} asc_score_set;

typedef struct asc_difference {
    size_t n;
    bool same_bits;      /* equal numbers everywhere (0 and -0 are equal, NaN is not) */
    double largest;      /* largest |score| of a */
    double max_abs;      /* largest |a - b|; NaN when one is not finite where the other is */
    double max_rel;      /* max_abs over `largest`; 0 when both are 0 */
    size_t at;           /* where max_abs is */
    size_t beyond;       /* scores that differ by more than their tolerance */
    double excess;       /* largest |a - b| over tolerance; at most 1 = within; 0 = the same */
    size_t rank_changes; /* scores whose place in the order (largest first) is another one */
    double spearman,
        kendall;        /* of the scores; NaN for n < 2 and when all of one are equal (kendall: tau-b) */
    size_t top_k;       /* at most n */
    double top_overlap; /* share of the top_k largest |scores| of a that are among those of b */
} asc_difference;

/* Compares b with a. The tolerance of a score is error(a) + error(b); where an error is not known, the
 * largest known one of that set stands for it, and `fallback` times the largest |score| where none is known.
 * top_k 0 =
 * 10. tolerance [n] receives them; may be NULL. Errors: INVALID_ARGUMENT (sizes differ), RESOURCE_EXHAUSTED.
 */
ASC_API ASC_MUST_USE asc_status asc_scores_compare(asc_ctx *ctx, const asc_score_set *a,
                                                   const asc_score_set *b, double fallback, size_t top_k,
                                                   double *tolerance, asc_difference *out);

/* Kendall's tau-b of a and b; NaN when n < 2 or when all numbers of one are equal. RESOURCE_EXHAUSTED. */
ASC_API ASC_MUST_USE asc_status asc_kendall(asc_ctx *ctx, const double *a, const double *b, size_t n,
                                            double *out);

/* ---- result files ---- */

typedef struct asc_compared {
    char *name;                    /* the feature's text, or "input[2, 5]" */
    double a, b, error_a, error_b; /* errors: NaN = not known */
    double tolerance;
} asc_compared;

enum { ASC_MAX_CHANGES = 24 };

/* Owned by the caller. */
typedef struct asc_result_difference {
    asc_difference d;
    double value_a, value_b;
    asc_compared *scores; /* [d.n], in the order of the file */
    char *method;
    char *changes[ASC_MAX_CHANGES]; /* "device: cpu, reference", one each */
    size_t n_changes;
    bool sampled; /* errors are standard errors: the tolerance is three of them */
    bool within;
} asc_result_difference;

/* Compares two files that `ascribe explain --json` wrote, of prompts or of nets. FAILED_PRECONDITION when
 * they do not speak of the same thing (model, input, target, method, features): the message names what
 * differs. Options, device, mode, level and the like may differ: they are named in `changes`.
 * INVALID_ARGUMENT: not such files. *out is NULL on failure. */
ASC_API ASC_MUST_USE asc_status asc_results_compare(asc_ctx *ctx, asc_view a, asc_view b, size_t top_k,
                                                    asc_result_difference **out);
ASC_API void asc_result_difference_destroy(asc_ctx *ctx, asc_result_difference *d); /* NULL is accepted */

#ifdef __cplusplus
}
#endif
#endif
