/* rank_correlation.c - do two methods order the features alike? */
#include "alloc.h"
#include "ascribe/metrics.h"
#include <math.h>
#include <stdlib.h>

typedef struct entry {
    double value;
    size_t at;
} entry;

static int by_value(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* Ranks from 1 of n numbers; equal ones get the mean of their places. */
static void rank(const double *v, size_t n, entry *order, double *out) {
    for (size_t i = 0; i < n; i++) order[i] = (entry){v[i], i};
    qsort(order, n, sizeof *order, by_value);
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && !(order[end].value > order[i].value)) end++;
        for (size_t k = i; k < end; k++) out[order[k].at] = 0.5 * (double)(i + 1 + end);
        i = end;
    }
}

asc_status asc_rank_correlation(asc_ctx *ctx, const double *a, const double *b, size_t n, double *out) {
    asc_status st = ASC_OK;
    *out = (double)NAN;
    entry *order = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *order);
    double *x = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *x),
           *y = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *y);
    if (order == NULL || x == NULL || y == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    rank(a, n, order, x);
    rank(b, n, order, y);
    double mean = 0.5 * (double)(n + 1), xy = 0.0, xx = 0.0, yy = 0.0;
    for (size_t i = 0; i < n; i++) {
        xy += (x[i] - mean) * (y[i] - mean);
        xx += (x[i] - mean) * (x[i] - mean);
        yy += (y[i] - mean) * (y[i] - mean);
    }
    if (xx > 0.0 && yy > 0.0) *out = xy / sqrt(xx * yy);
done:
    asc_free(ctx, order);
    asc_free(ctx, x);
    asc_free(ctx, y);
    return st;
}
