/* surrogate.c - names of the linear surrogates, and which fit each is. */
#include "surrogate.h"
#include <string.h>

static const char *const names[] = {"lasso", "ridge", "linear"};

int asc_surrogate_from_name(const char *name) {
    if (name == NULL) return ASC_SURROGATE_LASSO;
    for (int i = 0; i < 3; i++) {
        if (strcmp(name, names[i]) == 0) return i;
    }
    return -1;
}

const char *asc_surrogate_name(asc_surrogate s) { return names[s]; }

asc_status asc_surrogate_fit(asc_ctx *ctx, asc_surrogate kind, double penalty, const asc_fit_data *d,
                             double *coef, bool *converged) {
    if (kind == ASC_SURROGATE_LINEAR) return asc_linear_fit(ctx, d, coef, NULL);
    if (kind == ASC_SURROGATE_RIDGE) return asc_ridge_fit(ctx, d, penalty, coef, NULL);
    asc_lasso_info info;
    asc_status st = asc_lasso_fit(ctx, d, penalty, coef, &info);
    if (st == ASC_OK && !info.converged) *converged = false;
    return st;
}
