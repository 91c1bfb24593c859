/* ranked.c - the order in which tables and bars show scores. */
#include "draw_parts.h"
#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b) {
    const asc_ranked *x = a, *y = b;
    if (x->size < y->size || x->size > y->size) return x->size < y->size ? 1 : -1;
    return x->i < y->i ? -1 : x->i > y->i;
}

void asc_rank_scores(const double *scores, size_t n, size_t shown, asc_ranked *out) {
    for (size_t i = 0; i < n; i++) out[i] = (asc_ranked){isfinite(scores[i]) ? fabs(scores[i]) : INFINITY, i};
    if (shown < n) qsort(out, n, sizeof *out, by_size);
}
