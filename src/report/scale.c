/* scale.c - from scores to colours, and the words that say how. */
#include "draw_parts.h"
#include "plain.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

asc_status asc_colour_scale_of(asc_ctx *ctx, const double *scores, size_t n, double percentile,
                               asc_colour_scale *out) {
    *out = (asc_colour_scale){.limit = 1, .percentile = percentile > 0 ? percentile : 100, .n = n};
    if (!(percentile >= 0 && percentile <= 100))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%g is no percentile", percentile);
    double *size = asc_calloc(ctx, ASC_MEM_SCRATCH, n + 1, sizeof *size);
    if (size == NULL) return ASC_RESOURCE_EXHAUSTED;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(scores[i])) continue;
        if (k == 0 || scores[i] < out->low) out->low = scores[i];
        if (k == 0 || scores[i] > out->high) out->high = scores[i];
        size[k++] = fabs(scores[i]);
    }
    out->n_unknown = n - k;
    if (k > 0) {
        qsort(size, k, sizeof *size, ascending);
        double at = ceil(out->percentile / 100 * (double)k) - 1; /* nearest rank */
        double limit = size[at < 0 ? 0 : (size_t)at];
        if (!(limit > 0)) limit = size[k - 1];
        if (limit > 0) out->limit = limit;
        for (size_t i = k; i > 0 && size[i - 1] > out->limit; i--) out->n_clipped++;
    }
    asc_free(ctx, size);
    return ASC_OK;
}

void asc_colour_scale_join(asc_colour_scale *into, const asc_colour_scale *other) {
    bool none = into->n == into->n_unknown;
    if (other->n == other->n_unknown) {
        into->n += other->n;
        into->n_unknown += other->n_unknown;
        return;
    }
    if (none || other->limit > into->limit) into->limit = other->limit;
    if (none || other->low < into->low) into->low = other->low;
    if (none || other->high > into->high) into->high = other->high;
    if (other->percentile < into->percentile) into->percentile = other->percentile;
    into->n += other->n;
    into->n_unknown += other->n_unknown;
    into->n_clipped += other->n_clipped; /* at most: with a larger limit there may be fewer */
}

/* Straight from white to both ends: lightness falls evenly with the score. */
void asc_colour_scale_rgb(const asc_colour_scale *s, double score, uint8_t rgb[3]) {
    static const double ends[2][3] = {{8, 81, 156}, {196, 80, 0}};
    if (!isfinite(score)) {
        rgb[0] = rgb[1] = rgb[2] = 153;
        return;
    }
    double t = fabs(score) / s->limit;
    if (!(t < 1)) t = 1;
    for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)lround(255 + (ends[score > 0][c] - 255) * t);
}

void asc_draw_figure(double v, bool sign, char out[32]) {
    if (!isfinite(v))
        snprintf(out, 32, "unknown");
    else if (!(fabs(v) > 0))
        snprintf(out, 32, "0");
    else
        asc_snprintf(out, 32, sign ? "%+.3g" : "%.3g", v);
}

void asc_colour_scale_caption(asc_text *out, const asc_colour_scale *s) {
    char low[32], high[32], limit[32];
    asc_draw_figure(s->low, false, low);
    asc_draw_figure(s->high, false, high);
    asc_draw_figure(s->limit, false, limit);
    asc_text_addf(out, "scores from %s to %s; full colour from %s on", low, high, limit);
    if (s->percentile < 100)
        asc_text_addf(out, ", percentile %g: %zu of %zu score%s beyond", s->percentile, s->n_clipped, s->n,
                      s->n_clipped == 1 ? " is" : "s are");
    if (s->n_unknown > 0) asc_text_addf(out, "; %zu are not numbers (grey)", s->n_unknown);
}
