/* path_points.h - evaluated points of a vector-valued integrand on [0, 1], and what each interval between
 * neighbours says about the integral. Every point is an end of its two intervals and lies in the stencils of
 * the intervals near it, so nothing that was paid for is thrown away when an interval is halved. */
#ifndef ASC_PATH_POINTS_H
#define ASC_PATH_POINTS_H

#include "ctx.h"

typedef struct asc_path_points {
    size_t n, dim;
    double *alpha, *f, *g; /* in the order of evaluation: [n], [n], [n * dim] */
    double *top;           /* [n]: largest |component| at the point */
    uint32_t *order;       /* [n]: indices by ascending alpha */
    size_t cap_alpha, cap_f, cap_g, cap_top, cap_order;
} asc_path_points;

/* Room for `more` further points behind the n present ones. */
ASC_MUST_USE asc_status asc_path_points_reserve(asc_ctx *ctx, asc_path_points *p, size_t more);
/* Takes over `more` points whose alpha, f and g were written behind the n present ones; alphas must be new
 * and finite. Errors: OUT_OF_RANGE for a value that is not finite. */
ASC_MUST_USE asc_status asc_path_points_commit(asc_ctx *ctx, asc_path_points *p, size_t more);
void asc_path_points_deinit(asc_ctx *ctx, asc_path_points *p);

/* One interval between neighbours, number i of n - 1. */
typedef struct asc_path_interval {
    double from, to;
    double residual;  /* sum of the components' integrals (before the correction) - difference of f: its true
                         error */
    double largest;   /* max over the components of |difference| */
    double left_over; /* sum of the components' integrals (as added up) - difference of f */
} asc_path_interval;

/* Integral over interval i [dim], and the difference of the two rules behind it [dim]. Needs n >= 6. */
void asc_path_interval_integrate(const asc_path_points *p, size_t i, double *integral, double *difference,
                                 asc_path_interval *out);

#endif
