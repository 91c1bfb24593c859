/* score_compare.c - see ascribe/compare.h: two sets of scores of the same things. */
#include "alloc.h"
#include "ascribe/compare.h"
#include "ascribe/metrics.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number with its place; sorting is by number, largest first, then by place. */
typedef struct placed {
    double v;
    size_t at;
} placed;

static int larger_first(const void *x, const void *y) {
    const placed *a = x, *b = y;
    if (a->v != b->v) return a->v > b->v || isnan(b->v) ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static void order(const double *v, size_t n, bool magnitude, placed *out) {
    for (size_t i = 0; i < n; i++) out[i] = (placed){magnitude ? fabs(v[i]) : v[i], i};
    qsort(out, n, sizeof *out, larger_first);
}

/* Largest known error, or fallback times the largest score. */
static double usual_error(const asc_score_set *s, double fallback) {
    double error = NAN, largest = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->error != NULL && !isnan(s->error[i]) && !(s->error[i] <= error)) error = s->error[i];
        if (fabs(s->score[i]) > largest) largest = fabs(s->score[i]);
    }
    return isnan(error) ? fallback * largest : error;
}

static double error_of(const asc_score_set *s, size_t i, double usual) {
    return s->error != NULL && !isnan(s->error[i]) ? s->error[i] : usual;
}

static asc_status orders(asc_ctx *ctx, const asc_score_set *a, const asc_score_set *b, asc_difference *out) {
    size_t n = a->n, shared = 0;
    placed *x = asc_calloc(ctx, ASC_MEM_SCRATCH, n + 1, sizeof *x),
           *y = asc_calloc(ctx, ASC_MEM_SCRATCH, n + 1, sizeof *y);
    unsigned char *in_top = asc_calloc(ctx, ASC_MEM_SCRATCH, n + 1, 1);
    asc_status st = x != NULL && y != NULL && in_top != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
    if (st != ASC_OK) goto done;
    order(a->score, n, false, x);
    order(b->score, n, false, y);
    for (size_t i = 0; i < n; i++) out->rank_changes += x[i].at != y[i].at;
    order(a->score, n, true, x);
    order(b->score, n, true, y);
    for (size_t i = 0; i < out->top_k; i++) in_top[x[i].at] = 1;
    for (size_t i = 0; i < out->top_k; i++) shared += in_top[y[i].at];
    out->top_overlap = out->top_k > 0 ? (double)shared / (double)out->top_k : 1.0;
done:
    asc_free(ctx, x);
    asc_free(ctx, y);
    asc_free(ctx, in_top);
    return st;
}

asc_status asc_scores_compare(asc_ctx *ctx, const asc_score_set *a, const asc_score_set *b, double fallback,
                              size_t top_k, double *tolerance, asc_difference *out) {
    *out = (asc_difference){.n = a->n, .same_bits = true, .spearman = NAN, .kendall = NAN};
    if (a->n != b->n)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%zu scores cannot be compared with %zu", a->n, b->n);
    double usual_a = usual_error(a, fallback), usual_b = usual_error(b, fallback);
    for (size_t i = 0; i < a->n; i++) {
        double x = a->score[i], y = b->score[i], d = fabs(x - y),
               allowed = error_of(a, i, usual_a) + error_of(b, i, usual_b);
        if (tolerance != NULL) tolerance[i] = allowed;
        out->same_bits = out->same_bits && x == y;
        if (fabs(x) > out->largest) out->largest = fabs(x);
        if (isnan(out->max_abs)) continue;
        if (!(d <= out->max_abs)) {
            out->max_abs = d;
            out->at = i;
        }
        if (!(d <= allowed)) out->beyond++;
        if (d > 0) out->excess = fmax(out->excess, allowed > 0 ? d / allowed : INFINITY);
    }
    if (isnan(out->max_abs)) out->excess = INFINITY;
    out->max_rel = out->max_abs > 0 ? out->max_abs / out->largest : out->max_abs;
    out->top_k = top_k == 0 ? 10 : top_k;
    if (out->top_k > a->n) out->top_k = a->n;
    asc_status st = orders(ctx, a, b, out);
    if (st == ASC_OK) st = asc_rank_correlation(ctx, a->score, b->score, a->n, &out->spearman);
    if (st == ASC_OK) st = asc_kendall(ctx, a->score, b->score, a->n, &out->kendall);
    return st;
}
