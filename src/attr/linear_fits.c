/* linear_fits.c - weighted linear surrogates with intercept, in scikit-learn's terms: LinearRegression and
 * Ridge. */
#include "least_squares.h"
#include <math.h>

asc_status asc_centre(asc_ctx *ctx, const asc_fit_data *d, double total, bool by_column, asc_centred *out) {
    *out = (asc_centred){0};
    size_t n = d->n, m = d->m, cells;
    double sum = 0.0;
    if (!asc_mul_size(n, m, &cells) || cells > SIZE_MAX / 16) {
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "a fit of %zu samples to %zu features is too large", n,
                        m);
    }
    for (size_t i = 0; i < n; i++) sum += d->w != NULL ? d->w[i] : 1.0;
    if (!(sum > 0.0) || !isfinite(sum)) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the weights of %zu samples add up to %g", n, sum);
    }
    double scale = total > 0.0 ? total / sum : 1.0;
    out->x = asc_calloc(ctx, ASC_MEM_GENERAL, cells + 1, sizeof *out->x);
    out->y = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *out->y);
    out->x_mean = asc_calloc(ctx, ASC_MEM_GENERAL, m + 1, sizeof *out->x_mean);
    if (out->x == NULL || out->y == NULL || out->x_mean == NULL) {
        asc_centred_deinit(ctx, out);
        return ASC_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; i < n; i++) {
        double w = (d->w != NULL ? d->w[i] : 1.0) / sum;
        out->y_mean += w * d->y[i];
        for (size_t c = 0; c < m; c++) out->x_mean[c] += w * d->x[i * m + c];
    }
    for (size_t i = 0; i < n; i++) {
        double root = sqrt((d->w != NULL ? d->w[i] : 1.0) * scale);
        out->y[i] = root * (d->y[i] - out->y_mean);
        for (size_t c = 0; c < m; c++) {
            out->x[by_column ? c * n + i : i * m + c] = root * (d->x[i * m + c] - out->x_mean[c]);
        }
    }
    return ASC_OK;
}

void asc_centred_deinit(asc_ctx *ctx, asc_centred *c) {
    asc_free(ctx, c->x);
    asc_free(ctx, c->y);
    asc_free(ctx, c->x_mean);
    *c = (asc_centred){0};
}

double asc_centred_intercept(const asc_centred *c, const double *coef, size_t m) {
    double b = c->y_mean;
    for (size_t k = 0; k < m; k++) b -= c->x_mean[k] * coef[k];
    return b;
}

asc_status asc_linear_fit(asc_ctx *ctx, const asc_fit_data *d, double *coef, double *intercept) {
    asc_centred c;
    asc_lsq f = {.ctx = ctx};
    asc_status st = asc_centre(ctx, d, 0.0, false, &c);
    if (st != ASC_OK) return st;
    ASC_TRY(asc_lsq_init(ctx, c.x, d->n, d->m, &f));
    asc_lsq_solve(&f, c.y, coef);
    if (intercept != NULL) *intercept = asc_centred_intercept(&c, coef, d->m);
done:
    asc_lsq_deinit(&f);
    asc_centred_deinit(ctx, &c);
    return st;
}

bool asc_cholesky_factor(double *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k <= i; k++) {
            double s = a[i * n + k];
            for (size_t p = 0; p < k; p++) s -= a[i * n + p] * a[k * n + p];
            if (k < i) {
                a[i * n + k] = s / a[k * n + k];
            } else if (s > 0.0) {
                a[i * n + i] = sqrt(s);
            } else {
                return false;
            }
        }
    }
    return true;
}

void asc_cholesky_apply(const double *a, size_t n, double *b) {
    for (size_t i = 0; i < n; i++) {
        for (size_t p = 0; p < i; p++) b[i] -= a[i * n + p] * b[p];
        b[i] /= a[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t p = i + 1; p < n; p++) b[i] -= a[p * n + i] * b[p];
        b[i] /= a[i * n + i];
    }
}

bool asc_cholesky_solve(double *a, size_t n, double *b) {
    if (!asc_cholesky_factor(a, n)) return false;
    asc_cholesky_apply(a, n, b);
    return true;
}

static double dot(const double *a, const double *b, size_t n) {
    double s = 0.0;
    for (size_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

/* The smaller of the two equivalent systems: (X'X + p) coef = X'y, or coef = X' (X X' + p)^-1 y. */
asc_status asc_ridge_fit(asc_ctx *ctx, const asc_fit_data *d, double penalty, double *coef,
                         double *intercept) {
    bool dual = d->m > d->n;
    size_t n = d->n, m = d->m, k = dual ? n : m, outer = dual ? m : n, cells;
    asc_centred c;
    double *a = NULL, *b = NULL;
    asc_status st = asc_centre(ctx, d, 0.0, !dual, &c); /* rows of c.x: the k vectors of the system */
    if (st != ASC_OK) return st;
    a = asc_mul_size(k, k, &cells) ? asc_calloc(ctx, ASC_MEM_GENERAL, cells + 1, sizeof *a) : NULL;
    b = asc_calloc(ctx, ASC_MEM_GENERAL, k + 1, sizeof *b);
    if (a == NULL || b == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t i = 0; i < k; i++) {
        for (size_t p = 0; p <= i; p++) a[i * k + p] = dot(c.x + i * outer, c.x + p * outer, outer);
        a[i * k + i] += penalty;
        b[i] = dual ? c.y[i] : dot(c.x + i * outer, c.y, n);
    }
    if (!asc_cholesky_solve(a, k, b)) {
        st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "ridge: a penalty of %g is too small for this fit", penalty);
        goto done;
    }
    for (size_t j = 0; j < m; j++) {
        coef[j] = dual ? 0.0 : b[j];
        for (size_t i = 0; dual && i < n; i++) coef[j] += c.x[i * m + j] * b[i];
    }
    if (intercept != NULL) *intercept = asc_centred_intercept(&c, coef, m);
done:
    asc_free(ctx, a);
    asc_free(ctx, b);
    asc_centred_deinit(ctx, &c);
    return st;
}
