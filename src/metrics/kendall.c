/* kendall.c - Kendall's tau-b in n log n: pairs out of order are the exchanges of a merge sort (W. R. Knight,
 * A Computer Method for Calculating Kendall's Tau with Ungrouped Data, JASA 61, 1966). */
#include "alloc.h"
#include "ascribe/compare.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pair {
    double a, b;
} pair;

static int by_both(const void *x, const void *y) {
    const pair *p = x, *q = y;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

/* Sorts v by b; the number of exchanges of neighbours that this takes. */
static double sort_counting(pair *v, pair *room, size_t n) {
    double swaps = 0;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t mid = low + width < n ? low + width : n, high = low + 2 * width < n ? low + 2 * width : n;
            size_t i = low, j = mid;
            for (size_t k = low; k < high; k++) {
                if (i < mid && (j >= high || v[i].b <= v[j].b)) {
                    room[k] = v[i++];
                } else {
                    room[k] = v[j++];
                    swaps += (double)(mid - i);
                }
            }
        }
        memcpy(v, room, n * sizeof *v);
    }
    return swaps;
}

static double pairs_of(double n) { return n * (n - 1) / 2; }

/* Pairs that share a, or share b, or (both) share the two; v is sorted so that they are neighbours. */
static double ties(const pair *v, size_t n, bool by_a, bool by_b) {
    double sum = 0;
    size_t run = 1;
    for (size_t i = 1; i <= n; i++) {
        if (i < n && (!by_a || v[i].a == v[i - 1].a) && (!by_b || v[i].b == v[i - 1].b)) {
            run++;
            continue;
        }
        sum += pairs_of((double)run);
        run = 1;
    }
    return sum;
}

asc_status asc_kendall(asc_ctx *ctx, const double *a, const double *b, size_t n, double *out) {
    *out = NAN;
    if (n < 2) return ASC_OK;
    pair *v = asc_calloc(ctx, ASC_MEM_SCRATCH, 2 * n, sizeof *v);
    if (v == NULL) return ASC_RESOURCE_EXHAUSTED;
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        v[i] = (pair){a[i], b[i]};
        finite = finite && !isnan(a[i]) && !isnan(b[i]);
    }
    if (finite) {
        qsort(v, n, sizeof *v, by_both);
        double all = pairs_of((double)n), tied_a = ties(v, n, true, false),
               tied_both = ties(v, n, true, true), swaps = sort_counting(v, v + n, n),
               tied_b = ties(v, n, false, true);
        double below = sqrt((all - tied_a) * (all - tied_b));
        if (below > 0) *out = (all - tied_a - tied_b + tied_both - 2 * swaps) / below;
    }
    asc_free(ctx, v);
    return ASC_OK;
}
