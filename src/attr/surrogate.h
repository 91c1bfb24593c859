/* surrogate.h - the linear models that stand in for a net around one input. */
#ifndef ASC_SURROGATE_H
#define ASC_SURROGATE_H

#include "lasso.h"

typedef enum asc_surrogate { ASC_SURROGATE_LASSO, ASC_SURROGATE_RIDGE, ASC_SURROGATE_LINEAR } asc_surrogate;

/* By name; NULL = lasso; -1 = unknown. */
int asc_surrogate_from_name(const char *name);
const char *asc_surrogate_name(asc_surrogate s);
/* coef [m]: where a lasso starts, and the result. *converged is set to false when the fit did not converge.
 */
ASC_MUST_USE asc_status asc_surrogate_fit(asc_ctx *ctx, asc_surrogate kind, double penalty,
                                          const asc_fit_data *d, double *coef, bool *converged);

#endif
