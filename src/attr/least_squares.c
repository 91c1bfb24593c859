/* least_squares.c - pivoted QR (Golub and Van Loan, Matrix Computations, 5.4.2) and the smallest solution
 * when the rank is short (5.5.6). */
#include "least_squares.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* Makes the reflection that maps column c (rows k..n-1, stride ld) of a to a multiple of e_k: the vector v,
 * v[k] = 1 implied, is left below the diagonal, the multiple on it. Returns beta of I - beta v v'. */
static double reflect(double *a, size_t ld, size_t n, size_t k, size_t c) {
    double tail = 0.0, head = a[k * ld + c];
    for (size_t i = k + 1; i < n; i++) tail += a[i * ld + c] * a[i * ld + c];
    if (!(tail > 0.0)) return 0.0;
    double norm = sqrt(head * head + tail), v0 = head <= 0.0 ? head - norm : -tail / (head + norm);
    for (size_t i = k + 1; i < n; i++) a[i * ld + c] /= v0;
    a[k * ld + c] = norm;
    return 2.0 * v0 * v0 / (tail + v0 * v0);
}

/* Applies it to the column y (stride ldy), rows k..n-1. */
static void apply(const double *a, size_t ld, size_t n, size_t k, size_t c, double beta, double *y,
                  size_t ldy) {
    double dot = y[k * ldy];
    for (size_t i = k + 1; i < n; i++) dot += a[i * ld + c] * y[i * ldy];
    dot *= beta;
    y[k * ldy] -= dot;
    for (size_t i = k + 1; i < n; i++) y[i * ldy] -= dot * a[i * ld + c];
}

static double column_norm2(const asc_lsq *f, size_t k, size_t c) {
    double s = 0.0;
    for (size_t i = k; i < f->n; i++) s += f->qr[i * f->m + c] * f->qr[i * f->m + c];
    return s;
}

static void swap_columns(asc_lsq *f, size_t a, size_t b, double *norms) {
    if (a == b) return;
    for (size_t i = 0; i < f->n; i++) {
        double x = f->qr[i * f->m + a];
        f->qr[i * f->m + a] = f->qr[i * f->m + b];
        f->qr[i * f->m + b] = x;
    }
    size_t p = f->perm[a];
    f->perm[a] = f->perm[b];
    f->perm[b] = p;
    norms[b] = norms[a];
}

/* Reduces the columns behind k by the reflection in column k, row by row (the matrix is row-major). */
static void reduce_rest(asc_lsq *f, size_t k, double *dots) {
    size_t m = f->m;
    if (f->beta[k] <= 0.0) return;
    for (size_t c = k + 1; c < m; c++) dots[c] = f->qr[k * m + c];
    for (size_t i = k + 1; i < f->n; i++) {
        double v = f->qr[i * m + k];
        for (size_t c = k + 1; c < m; c++) dots[c] += v * f->qr[i * m + c];
    }
    for (size_t c = k + 1; c < m; c++) {
        dots[c] *= f->beta[k];
        f->qr[k * m + c] -= dots[c];
    }
    for (size_t i = k + 1; i < f->n; i++) {
        double v = f->qr[i * m + k];
        for (size_t c = k + 1; c < m; c++) f->qr[i * m + c] -= dots[c] * v;
    }
}

/* The squared norms of what is left of the columns are carried along; one that lost most of its digits is
 * made anew. */
static void factor(asc_lsq *f, double *norms, double *start, double *dots) {
    size_t most = f->n < f->m ? f->n : f->m;
    double first = 0.0, cut = DBL_EPSILON * (double)(f->n > f->m ? f->n : f->m);
    for (size_t c = 0; c < f->m; c++) norms[c] = start[c] = column_norm2(f, 0, c);
    for (f->rank = 0; f->rank < most; f->rank++) {
        size_t k = f->rank, best = k;
        for (size_t c = k + 1; c < f->m; c++) {
            if (norms[c] > norms[best]) best = c;
        }
        swap_columns(f, k, best, norms);
        double was = start[k];
        start[k] = start[best];
        start[best] = was;
        f->beta[k] = reflect(f->qr, f->m, f->n, k, k);
        double pivot = fabs(f->qr[k * f->m + k]);
        if (k == 0) first = pivot;
        if (!(pivot > cut * first)) return;
        reduce_rest(f, k, dots);
        for (size_t c = k + 1; c < f->m; c++) {
            norms[c] -= f->qr[k * f->m + c] * f->qr[k * f->m + c];
            if (norms[c] < 1e-6 * start[c]) norms[c] = start[c] = column_norm2(f, k + 1, c);
        }
    }
}

/* [R11 R12] transposed, [m, rank], factored: its solutions of smallest norm are in the span of the
 * reflections. */
static asc_status factor_right(asc_lsq *f) {
    size_t m = f->m, r = f->rank;
    f->right = asc_calloc(f->ctx, ASC_MEM_GENERAL, m * r + 1, sizeof *f->right);
    f->right_beta = asc_calloc(f->ctx, ASC_MEM_GENERAL, r + 1, sizeof *f->right_beta);
    if (f->right == NULL || f->right_beta == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < r; i++) {
        for (size_t c = i; c < m; c++) f->right[c * r + i] = f->qr[i * m + c];
    }
    for (size_t k = 0; k < r; k++) {
        f->right_beta[k] = reflect(f->right, r, m, k, k);
        for (size_t c = k + 1; c < r; c++) apply(f->right, r, m, k, k, f->right_beta[k], f->right + c, r);
    }
    return ASC_OK;
}

asc_status asc_lsq_init(asc_ctx *ctx, const double *x, size_t n, size_t m, asc_lsq *out) {
    *out = (asc_lsq){.ctx = ctx, .n = n, .m = m};
    size_t cells, most = n > m ? n : m;
    if (!asc_mul_size(n, m, &cells) || cells > SIZE_MAX / 16) {
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "a fit of %zu samples to %zu features is too large", n,
                        m);
    }
    asc_status st = ASC_OK;
    double *norms = asc_calloc(ctx, ASC_MEM_GENERAL, 3 * m + 1, sizeof *norms);
    out->qr = asc_calloc(ctx, ASC_MEM_GENERAL, cells + 1, sizeof *out->qr);
    out->beta = asc_calloc(ctx, ASC_MEM_GENERAL, most + 1, sizeof *out->beta);
    out->perm = asc_calloc(ctx, ASC_MEM_GENERAL, m + 1, sizeof *out->perm);
    out->work = asc_calloc(ctx, ASC_MEM_GENERAL, most + 1, sizeof *out->work);
    if (norms == NULL || out->qr == NULL || out->beta == NULL || out->perm == NULL || out->work == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    if (cells > 0) memcpy(out->qr, x, cells * sizeof *x);
    for (size_t c = 0; c < m; c++) out->perm[c] = c;
    factor(out, norms, norms + m, norms + 2 * m);
    if (out->rank < m) st = factor_right(out);
done:
    asc_free(ctx, norms);
    return st;
}

void asc_lsq_deinit(asc_lsq *f) {
    asc_free(f->ctx, f->qr);
    asc_free(f->ctx, f->beta);
    asc_free(f->ctx, f->perm);
    asc_free(f->ctx, f->right);
    asc_free(f->ctx, f->right_beta);
    asc_free(f->ctx, f->work);
    *f = (asc_lsq){.ctx = f->ctx};
}

void asc_lsq_solve(const asc_lsq *f, double *y, double *coef) {
    size_t m = f->m, r = f->rank;
    double *z = f->work;
    for (size_t k = 0; k < r; k++) apply(f->qr, m, f->n, k, k, f->beta[k], y, 1);
    for (size_t c = 0; c < m; c++) z[c] = 0.0;
    if (r == m) {
        for (size_t i = r; i-- > 0;) {
            double s = y[i];
            for (size_t c = i + 1; c < m; c++) s -= f->qr[i * m + c] * z[c];
            z[i] = s / f->qr[i * m + i];
        }
    } else { /* L w = y with L the transposed second triangle; the solution is the reflections applied to [w;
                0] */
        for (size_t i = 0; i < r; i++) {
            double s = y[i];
            for (size_t c = 0; c < i; c++) s -= f->right[c * r + i] * z[c];
            z[i] = s / f->right[i * r + i];
        }
        for (size_t k = r; k-- > 0;) apply(f->right, r, m, k, k, f->right_beta[k], z, 1);
    }
    for (size_t c = 0; c < m; c++) coef[f->perm[c]] = z[c];
}

void asc_lsq_normal_solve(const asc_lsq *f, double *v) {
    size_t m = f->m;
    double *z = f->work;
    for (size_t i = 0; i < m; i++) { /* R' z = P' v */
        double s = v[f->perm[i]];
        for (size_t c = 0; c < i; c++) s -= f->qr[c * m + i] * z[c];
        z[i] = s / f->qr[i * m + i];
    }
    for (size_t i = m; i-- > 0;) { /* R z = z */
        double s = z[i];
        for (size_t c = i + 1; c < m; c++) s -= f->qr[i * m + c] * z[c];
        z[i] = s / f->qr[i * m + i];
    }
    for (size_t c = 0; c < m; c++) v[f->perm[c]] = z[c];
}
