/* adaptive.c - see adaptive.h. Bisection of the panel with the largest error by Gauss-Legendre pairs. */
#include "adaptive.h"
asc_status asc_adaptive_integrate(asc_ctx *ctx, asc_integrand_fn fn, void *self, size_t dim,
                                  const asc_adaptive_options *opts, double *integral, double *error,
                                  asc_adaptive_result *out) {
    (void)fn, (void)self, (void)dim, (void)opts, (void)integral, (void)error, (void)out;
    return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "the adaptive rule is being built");
}
