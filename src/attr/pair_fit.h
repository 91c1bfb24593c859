/* pair_fit.h - Shapley values and their standard errors from values of pairs of sets (pair_draw.h). */
#ifndef ASC_PAIR_FIT_H
#define ASC_PAIR_FIT_H

#include "pair_draw.h"

typedef struct asc_pair_fit {
    asc_ctx *ctx;
    size_t m, n_out;
    double *gram;            /* [m, m] what is left of the normal equations without the offsets; its factor */
    double *cross;           /* [m, m] of offset t (a column): sum of w x over its pairs */
    double *own;             /* [m] of each offset: sum of w, and its penalty */
    double *right;           /* [n_out, 2, m] right sides, then solutions: slopes, offsets */
    double *row, *at, *pull; /* [m], [2, m], [m] */
} asc_pair_fit;

ASC_MUST_USE asc_status asc_pair_fit_init(asc_ctx *ctx, size_t m, size_t n_out, asc_pair_fit *out);
void asc_pair_fit_deinit(asc_pair_fit *f);
/* y [pairs, 2, n_out]: values of each set and of its complement. full, empty [n_out]. scores, errors
 * [n_out, m]; errors are NAN where one pair alone decides. */
void asc_pair_fit_solve(asc_pair_fit *f, const asc_pairs *p, const double *y, const double *full,
                        const double *empty, double *scores, double *errors);

#endif
