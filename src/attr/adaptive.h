/* adaptive.h - adaptive quadrature of a vector-valued integrand on [0, 1] whose components add up to the
 * derivative of a known scalar: the integral of integrated gradients, with a free check per panel (sum of the
 * components of a panel = difference of the scalar at its ends). Knows nothing of models, so it is tested on
 * functions with known integrals. */
#ifndef ASC_ADAPTIVE_H
#define ASC_ADAPTIVE_H

#include "ctx.h"

/* Integrand at n points: f[n] the scalar, g[n * dim] the components (sum_k g[i * dim + k] = df/dalpha at
 * point i). g NULL asks for f only, which costs about half. */
typedef asc_status (*asc_integrand_fn)(void *self, const double *alphas, size_t n, double *f, double *g);

typedef struct asc_adaptive_options {
    double tolerance;       /* relative to the largest |component integral| */
    size_t max_evaluations; /* points */
    double max_seconds;     /* 0 = none */
    double noise;       /* floating-point noise of one component of g, relative to the largest of its point */
    double value_noise; /* floating-point noise of f, absolute. Panels are not split below these two */
    double narrowest;   /* intervals up to this width are not halved, f32 cannot follow; 0 = none */
    size_t batch; /* points the caller evaluates together; for information, the points do not depend on it */
} asc_adaptive_options;

typedef struct asc_adaptive_result {
    double f0, f1;        /* the scalar at 0 and 1 */
    double residual;      /* sum of integrals - (f1 - f0), what the corrections of single panels left over */
    double largest_error; /* over the components */
    double noise_floor;   /* absolute, of one component's integral */
    size_t evaluations, panels;
    bool converged;
    double estimated_evaluations; /* to reach the tolerance, when it was not reached; 0 = unknown */
} asc_adaptive_result;

/* Points that it evaluates at least: the first ones, and those that confirm what they say. */
size_t asc_adaptive_least(void);
/* Bytes that it holds at most, beside what fn takes; SIZE_MAX when they are more. */
size_t asc_adaptive_bytes(size_t dim, size_t max_evaluations);
/* integral[dim] and error[dim] (a calibrated bound per component) are written. Errors: those of fn;
 * CANCELLED. */
ASC_MUST_USE asc_status asc_adaptive_integrate(asc_ctx *ctx, asc_integrand_fn fn, void *self, size_t dim,
                                               const asc_adaptive_options *opts, double *integral,
                                               double *error, asc_adaptive_result *out);

#endif
