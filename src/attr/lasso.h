/* lasso.h - least squares with an absolute-value penalty, by coordinate descent. */
#ifndef ASC_LASSO_H
#define ASC_LASSO_H

#include "least_squares.h"

typedef struct asc_lasso_info {
    double intercept;
    double gap; /* how far the objective may be above its minimum, relative to |y|^2 / 2n of the centred
                   values */
    size_t sweeps;
    bool converged;
} asc_lasso_info;

/* Minimises 1/(2n) sum w (y - x coef - intercept)^2 + penalty |coef|_1 with the weights scaled to add up to
 * n: the objective of scikit-learn's Lasso with sample weights. coef [m] is the start and the result. Stops
 * when the duality gap is below 1e-12 of the variance, or after 10,000 sweeps (converged = false). */
ASC_MUST_USE asc_status asc_lasso_fit(asc_ctx *ctx, const asc_fit_data *d, double penalty, double *coef,
                                      asc_lasso_info *out);

#endif
