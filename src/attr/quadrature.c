/* quadrature.c - see quadrature.h. */
#include "quadrature.h"
#include "alloc.h"
#include <math.h>
#include <string.h>

static const char *const names[] = {"gauss-legendre", "riemann-left",      "riemann-right",
                                    "riemann-middle", "riemann-trapezoid", "adaptive"};
static const char *const captum_names[] = {"gausslegendre",  "riemann_left",      "riemann_right",
                                           "riemann_middle", "riemann_trapezoid", "adaptive"};

int asc_rule_from_name(const char *name) {
    for (int i = 0; i < 6; i++) {
        if (strcmp(names[i], name) == 0 || strcmp(captum_names[i], name) == 0) return i;
    }
    return -1;
}

const char *asc_rule_name(asc_rule r) { return (unsigned)r < 6 ? names[r] : "unknown"; }

static void gauss_legendre(size_t n, double *x, double *w) {
    const double pi = 3.14159265358979323846;
    for (size_t i = 0; i < (n + 1) / 2; i++) {
        double z = cos(pi * ((double)i + 0.75) / ((double)n + 0.5)), slope = 1.0;
        for (int it = 0; it < 100; it++) {
            double p0 = 1.0, p1 = 0.0;
            for (size_t k = 0; k < n; k++) { /* (k+1) P_{k+1} = (2k+1) z P_k - k P_{k-1} */
                double p2 = p1;
                p1 = p0;
                p0 = ((2.0 * (double)k + 1.0) * z * p1 - (double)k * p2) / ((double)k + 1.0);
            }
            slope = (double)n * (z * p0 - p1) / (z * z - 1.0);
            double step = p0 / slope;
            z -= step;
            if (fabs(step) < 1e-16) break;
        }
        double weight = 1.0 / ((1.0 - z * z) * slope * slope); /* halved: the interval is [0, 1] */
        x[i] = 0.5 * (1.0 - z);
        x[n - 1 - i] = 0.5 * (1.0 + z);
        w[i] = w[n - 1 - i] = weight;
    }
    if (n % 2 == 1) x[n / 2] = 0.5;
}

asc_status asc_rule_check_steps(asc_ctx *ctx, asc_rule rule, size_t n) {
    size_t least = rule == ASC_RULE_RIEMANN_TRAPEZOID ? 2 : 1;
    /* Gauss-Legendre nodes cost n^2: 10,000 take a fraction of a second */
    size_t most = rule == ASC_RULE_GAUSS_LEGENDRE ? 10000 : 100000;
    if (n >= least && n <= most) return ASC_OK;
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "rule %s with %zu steps; expected %zu to %zu", asc_rule_name(rule), n,
             least, most);
    return asc_hint(ctx, "choose --steps in that range");
}

asc_status asc_rule_nodes(asc_ctx *ctx, asc_rule rule, size_t n, double *nodes, double *weights) {
    asc_status st = asc_rule_check_steps(ctx, rule, n);
    if (st != ASC_OK) return st;
    if (rule == ASC_RULE_GAUSS_LEGENDRE) {
        gauss_legendre(n, nodes, weights);
        return ASC_OK;
    }
    for (size_t i = 0; i < n; i++) {
        double at = (double)i, count = (double)n;
        weights[i] = 1.0 / count;
        switch (rule) {
        case ASC_RULE_RIEMANN_LEFT:
            nodes[i] = at / count;
            break;
        case ASC_RULE_RIEMANN_RIGHT:
            nodes[i] = (at + 1.0) / count;
            break;
        case ASC_RULE_RIEMANN_MIDDLE:
            nodes[i] = (at + 0.5) / count;
            break;
        default: /* trapezoid: n points, half weights at the ends */
            nodes[i] = at / (count - 1.0);
            weights[i] = (i == 0 || i == n - 1 ? 0.5 : 1.0) / (count - 1.0);
            break;
        }
    }
    return ASC_OK;
}

asc_status asc_rule_nodes_make(asc_ctx *ctx, asc_rule rule, size_t n, double **nodes,
                               const double **weights) {
    *nodes = NULL;
    asc_status st = asc_rule_check_steps(ctx, rule, n);
    if (st != ASC_OK) return st;
    double *both = asc_calloc(ctx, ASC_MEM_GENERAL, 2 * n, sizeof *both);
    if (both == NULL) return ASC_RESOURCE_EXHAUSTED;
    st = asc_rule_nodes(ctx, rule, n, both, both + n);
    if (st != ASC_OK) {
        asc_free(ctx, both);
        return st;
    }
    *nodes = both;
    if (weights != NULL) *weights = both + n;
    return ASC_OK;
}
