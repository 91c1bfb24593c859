/* path_points.c - see path_points.h.
 *
 * The integral over one interval is that of the polynomial through the six points nearest to it, two
 * intervals to either side (moved inwards at the ends of the path). The polynomial through the four nearest
 * is the second opinion: `difference`. The sum of the components has a known integral, the difference of f.
 * Two things follow.
 *  - `residual` is the true error of that sum, not an estimate. Of the two rules the one with the smaller
 * residual is taken: beside a sharp place six points oscillate and four do not.
 *  - Where a feature of the path moves all components together, the components' errors are proportional to
 * each other and to their differences. So the residual is shared out along the difference vector d: integral
 * -= beta * residual with beta = d * sum(d) / (sum(d)^2 + RIDGE * |d|^2). This is a control variate: the
 * order of the rule stays, and the ridge keeps beta small where the components' differences cancel in the
 * sum, which then says nothing about the components. A residual far above the differences was not caused by
 * what they saw; no more than MOST_SHARE times the differences is taken off.
 */
#include "path_points.h"
#include "alloc.h"
#include <math.h>
#include <string.h>

enum { WIDE = 6, NARROW = 4 };
static const double RIDGE = 0.1, MOST_SHARE = 2.0;

asc_status asc_path_points_reserve(asc_ctx *ctx, asc_path_points *p, size_t more) {
    size_t n, cells;
    asc_status st = ASC_OK;
    if (!asc_add_size(p->n, more, &n) || n > UINT32_MAX || !asc_mul_size(n, p->dim, &cells))
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "too many points on a path: %zu and %zu", p->n, more);
    ASC_TRY(asc_grow(ctx, ASC_MEM_SCRATCH, (void **)&p->alpha, &p->cap_alpha, n, sizeof *p->alpha));
    ASC_TRY(asc_grow(ctx, ASC_MEM_SCRATCH, (void **)&p->f, &p->cap_f, n, sizeof *p->f));
    ASC_TRY(asc_grow(ctx, ASC_MEM_SCRATCH, (void **)&p->top, &p->cap_top, n, sizeof *p->top));
    ASC_TRY(asc_grow(ctx, ASC_MEM_SCRATCH, (void **)&p->order, &p->cap_order, n, sizeof *p->order));
    ASC_TRY(asc_grow(ctx, ASC_MEM_SCRATCH, (void **)&p->g, &p->cap_g, cells, sizeof *p->g));
done:
    return st;
}

asc_status asc_path_points_commit(asc_ctx *ctx, asc_path_points *p, size_t more) {
    for (size_t at = p->n; at < p->n + more; at++) {
        const double *g = p->g + at * p->dim;
        double top = 0.0;
        bool finite = isfinite(p->f[at]);
        for (size_t k = 0; k < p->dim; k++) {
            finite = finite && isfinite(g[k]);
            top = fmax(top, fabs(g[k]));
        }
        if (!finite)
            return ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "a value on the path is not finite at alpha = %.17g",
                            p->alpha[at]);
        p->top[at] = top;
    }
    for (size_t done = 0; done < more; done++, p->n++) {
        size_t at = p->n;
        for (; at > 0 && p->alpha[p->order[at - 1]] > p->alpha[p->n]; at--) p->order[at] = p->order[at - 1];
        p->order[at] = (uint32_t)p->n;
    }
    return ASC_OK;
}

void asc_path_points_deinit(asc_ctx *ctx, asc_path_points *p) {
    asc_free(ctx, p->alpha);
    asc_free(ctx, p->f);
    asc_free(ctx, p->g);
    asc_free(ctx, p->top);
    asc_free(ctx, p->order);
    memset(p, 0, sizeof *p);
}

/* First of the k neighbouring points around interval i. */
static size_t stencil(const asc_path_points *p, size_t i, size_t k) {
    size_t before = k / 2 - 1, first = i > before ? i - before : 0;
    return first > p->n - k ? p->n - k : first;
}

/* Weights of the points first .. first + k - 1 that integrate their polynomial over [a, b]: Lagrange's basis
 * polynomials at the nodes of a 3-point Gauss-Legendre rule, exact up to degree 5. */
static void weights(const asc_path_points *p, size_t first, size_t k, double a, double b, double *w) {
    static const double node[3] = {-0.77459666924148337704, 0.0, 0.77459666924148337704};
    static const double part[3] = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};
    double half = 0.5 * (b - a), middle = a + half, x[WIDE];
    for (size_t j = 0; j < k; j++) {
        x[j] = (p->alpha[p->order[first + j]] - middle) / half; /* scaled: intervals may be 1e-300 wide */
        w[j] = 0.0;
    }
    for (size_t q = 0; q < 3; q++) {
        for (size_t j = 0; j < k; j++) {
            double basis = 1.0;
            for (size_t m = 0; m < k; m++) basis *= m == j ? 1.0 : (node[q] - x[m]) / (x[j] - x[m]);
            w[j] += part[q] * basis;
        }
    }
}

void asc_path_interval_integrate(const asc_path_points *p, size_t i, double *integral, double *difference,
                                 asc_path_interval *out) {
    double a = p->alpha[p->order[i]], b = p->alpha[p->order[i + 1]];
    double wide[WIDE], four[NARROW], narrow[WIDE] = {0};
    size_t first = stencil(p, i, WIDE), inner = stencil(p, i, NARROW);
    weights(p, first, WIDE, a, b, wide);
    weights(p, inner, NARROW, a, b, four);
    for (size_t j = 0; j < NARROW; j++) narrow[inner - first + j] = four[j];
    double sum = 0.0, sum_difference = 0.0, square = 0.0, largest = 0.0;
    for (size_t k = 0; k < p->dim; k++) {
        double s = 0.0, t = 0.0;
        for (size_t j = 0; j < WIDE; j++) {
            double g = p->g[(size_t)p->order[first + j] * p->dim + k];
            s += wide[j] * g;
            t += narrow[j] * g;
        }
        integral[k] = s * (b - a);
        difference[k] = (s - t) * (b - a);
        sum += integral[k];
        sum_difference += difference[k];
        square += difference[k] * difference[k];
        largest = fmax(largest, fabs(difference[k]));
    }
    double change = p->f[p->order[i + 1]] - p->f[p->order[i]];
    double residual = sum - change;
    if (fabs(residual - sum_difference) < fabs(residual)) {
        residual -= sum_difference;
        for (size_t k = 0; k < p->dim; k++) integral[k] -= difference[k];
    }
    double below = sum_difference * sum_difference + RIDGE * square;
    double share = below > 0.0 ? sum_difference / below * residual : 0.0;
    share = fmax(-MOST_SHARE, fmin(MOST_SHARE, share));
    for (size_t k = 0; k < p->dim; k++) integral[k] -= share * difference[k];
    *out = (asc_path_interval){.from = a,
                               .to = b,
                               .residual = residual,
                               .largest = largest,
                               .left_over = residual - share * sum_difference};
}
