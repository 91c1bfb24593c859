/* lasso.c - cyclic coordinate descent (Friedman, Hastie, Tibshirani 2010), stopped by the duality gap (Kim et
 * al., An Interior-Point Method for Large-Scale l1-Regularized Least Squares, 2007). */
#include "lasso.h"
#include <math.h>

enum { MAX_SWEEPS = 10000, CHECK_EVERY = 10 };
static const double GAP = 1e-12;

static double dot(const double *a, const double *b, size_t n) {
    double s = 0.0;
    for (size_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

/* One pass over the coordinates; x [m, n] by columns, r the residual. Returns the largest change relative to
 * the largest coefficient. */
static double sweep(const double *x, const double *norm2, size_t n, size_t m, double threshold, double *coef,
                    double *r) {
    double change = 0.0, largest = 0.0;
    for (size_t j = 0; j < m; j++) {
        if (!(norm2[j] > 0.0)) { /* a feature that never varies has no say */
            coef[j] = 0.0;
            continue;
        }
        const double *column = x + j * n;
        double was = coef[j], rho = dot(column, r, n) + norm2[j] * was;
        double now = rho > threshold ? rho - threshold : rho < -threshold ? rho + threshold : 0.0;
        now /= norm2[j];
        if (now < was || now > was) {
            for (size_t i = 0; i < n; i++) r[i] -= (now - was) * column[i];
            coef[j] = now;
        }
        change = fmax(change, fabs(now - was));
        largest = fmax(largest, fabs(now));
    }
    return largest > 0.0 ? change / largest : 0.0;
}

/* Gap of n times the objective: primal at coef minus dual at the residual scaled into the feasible set. */
static double duality_gap(const double *x, const double *y, size_t n, size_t m, double threshold,
                          const double *coef, const double *r) {
    double steepest = 0.0, l1 = 0.0;
    for (size_t j = 0; j < m; j++) {
        steepest = fmax(steepest, fabs(dot(x + j * n, r, n)));
        l1 += fabs(coef[j]);
    }
    double s = steepest > threshold ? threshold / steepest : 1.0, rr = dot(r, r, n);
    double primal = 0.5 * rr + threshold * l1, dual = s * dot(r, y, n) - 0.5 * s * s * rr;
    return primal - dual;
}

asc_status asc_lasso_fit(asc_ctx *ctx, const asc_fit_data *d, double penalty, double *coef,
                         asc_lasso_info *out) {
    size_t n = d->n, m = d->m;
    double threshold = penalty * (double)n, *r = NULL, *norm2 = NULL;
    *out = (asc_lasso_info){0};
    asc_centred c;
    asc_status st = asc_centre(ctx, d, (double)n, true, &c);
    if (st != ASC_OK) return st;
    r = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *r);
    norm2 = asc_calloc(ctx, ASC_MEM_GENERAL, m + 1, sizeof *norm2);
    if (r == NULL || norm2 == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < n; i++) r[i] = c.y[i];
    for (size_t j = 0; j < m; j++) {
        norm2[j] = dot(c.x + j * n, c.x + j * n, n);
        for (size_t i = 0; i < n; i++) r[i] -= coef[j] * c.x[j * n + i];
    }
    double yy = dot(c.y, c.y, n);
    while (!out->converged && out->sweeps < MAX_SWEEPS) {
        double change = sweep(c.x, norm2, n, m, threshold, coef, r);
        if (++out->sweeps % CHECK_EVERY != 0 && change > 1e-12) continue;
        double gap = duality_gap(c.x, c.y, n, m, threshold, coef, r);
        out->gap = yy > 0.0 ? gap / yy : 0.0;
        out->converged = out->gap <= GAP;
        if (change <= 1e-15 && !out->converged) break; /* rounding: no further sweep helps */
        if (out->sweeps % 100 == 0) ASC_TRY(asc_poll_cancel(ctx));
    }
    out->converged = out->converged || out->gap <= 1e-9;
    out->intercept = asc_centred_intercept(&c, coef, m);
done:
    asc_free(ctx, r);
    asc_free(ctx, norm2);
    asc_centred_deinit(ctx, &c);
    return st;
}
