/* least_squares.h - linear least squares: a pivoted QR with a rank decision, weighted fits with intercept,
 * ridge. All matrices are row-major doubles. */
#ifndef ASC_LEAST_SQUARES_H
#define ASC_LEAST_SQUARES_H

#include "alloc.h"

/* X [n, m] factored as Q R P' by Householder reflections with column pivoting; when the rank is short, [R11
 * R12] is factored once more from the right, so that solutions have the smallest norm. */
typedef struct asc_lsq {
    asc_ctx *ctx;
    size_t n, m, rank;
    double *qr;                 /* [n, m]: R above the diagonal, reflections below */
    double *beta;               /* [min(n, m)] */
    size_t *perm;               /* [m]: column of X at each place */
    double *right, *right_beta; /* rank < m: reflections of the second factor, [m, rank], [rank] */
    double *work;               /* [max(n, m)] */
} asc_lsq;

/* Columns count towards the rank while their pivot is above eps * max(n, m) * the first one. */
ASC_MUST_USE asc_status asc_lsq_init(asc_ctx *ctx, const double *x, size_t n, size_t m, asc_lsq *out);
void asc_lsq_deinit(asc_lsq *f);
/* coef [m]: minimises |X coef - y|, of smallest norm. y [n] is overwritten. */
void asc_lsq_solve(const asc_lsq *f, double *y, double *coef);
/* v [m] := (X'X)^-1 v; only when rank = m. */
void asc_lsq_normal_solve(const asc_lsq *f, double *v);

/* What every surrogate is fitted to: features, values, weights (NULL = 1) of n samples. */
typedef struct asc_fit_data {
    const double *x; /* [n, m] */
    const double *y; /* [n] */
    const double *w; /* [n], not negative; NULL = 1 */
    size_t n, m;
} asc_fit_data;

/* Weighted least squares with intercept, smallest norm: scikit-learn's LinearRegression. intercept may be
 * NULL. */
ASC_MUST_USE asc_status asc_linear_fit(asc_ctx *ctx, const asc_fit_data *d, double *coef, double *intercept);
/* sum w (y - x coef - intercept)^2 + penalty |coef|^2, penalty > 0: scikit-learn's Ridge. */
ASC_MUST_USE asc_status asc_ridge_fit(asc_ctx *ctx, const asc_fit_data *d, double penalty, double *coef,
                                      double *intercept);

/* Shared by the fits: x and y about their weighted means and times sqrt(w), weights scaled to add up to
 * `total` (0 = as they are). x out: [n, m], or [m, n] if by_column. INVALID_ARGUMENT unless some weight is
 * positive. */
typedef struct asc_centred {
    double *x, *y, *x_mean, y_mean;
} asc_centred;
ASC_MUST_USE asc_status asc_centre(asc_ctx *ctx, const asc_fit_data *d, double total, bool by_column,
                                   asc_centred *out);
void asc_centred_deinit(asc_ctx *ctx, asc_centred *c);
/* y_mean - x_mean * coef. */
double asc_centred_intercept(const asc_centred *c, const double *coef, size_t m);

/* Cholesky: a [n, n] symmetric positive definite, its lower triangle overwritten; b [n] becomes the solution
 * of a x = b. false = not positive definite. */
bool asc_cholesky_solve(double *a, size_t n, double *b);
/* The same in two steps, for several b. */
bool asc_cholesky_factor(double *a, size_t n);
void asc_cholesky_apply(const double *factor, size_t n, double *b);

#endif
