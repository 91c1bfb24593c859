/* svg_bars.c - signed bars for the features of a table. */
#include "draw_parts.h"
#include "plain.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

enum {
    ROW = 22,
    NAME_END = 200,
    VALUE_END = 290,
    BAR_FROM = 300,
    BAR_TO = 640,
    FIGURE_END = 760,
    WIDTH = 780,
    FOOT = 64
};

static void name_of(const asc_bars *b, size_t i, char out[64]) {
    if (b->names != NULL && b->names[i] != NULL)
        snprintf(out, 64, "%.60s", b->names[i]);
    else
        snprintf(out, 64, "%zu", i);
}

/* Cut at a character, with dots, so that it stays inside its column (about 7 units a letter). */
static void shortened(const char *name, char out[40]) {
    size_t n = 0, shown = 0, len = strlen(name);
    while (n < len && shown < 25) {
        size_t k = asc_utf8_decode(name + n, len - n, &(uint32_t){0}, NULL);
        if (n + k > 32) break;
        n += k;
        shown++;
    }
    snprintf(out, 40, "%.*s%s", (int)n, name, n < len ? "\xe2\x80\xa6" : "");
}

static void put_bar(asc_text *t, const asc_bars *b, size_t i, double y, const asc_colour_scale *scale) {
    char name[64], cut[40], value[32], score[32], error[48];
    const double middle = (BAR_FROM + BAR_TO) / 2.0, half = (BAR_TO - BAR_FROM) / 2.0;
    double v = b->scores[i], w = isfinite(v) ? fmin(fabs(v) / scale->limit, 1) * half : 0;
    double e = b->errors != NULL && isfinite(b->errors[i]) ? fmin(b->errors[i] / scale->limit, 1) * half : 0;
    uint8_t rgb[3];
    name_of(b, i, name);
    shortened(name, cut);
    asc_draw_figure(v, true, score);
    asc_text_adds(t, "<g role=\"img\" tabindex=\"0\" aria-label=\"");
    asc_put_html_attribute(t, asc_view_of(name));
    if (b->values != NULL) asc_text_addf(t, " = %.6g", b->values[i]);
    asc_text_addf(t, ": %s", score);
    if (e > 0) asc_text_addf(t, " \xc2\xb1 %.2g", b->errors[i]);
    asc_text_adds(t, "\">");
    asc_svg_text(t, NAME_END, y + 15, "end", 13, cut);
    if (b->values != NULL) {
        asc_snprintf(value, sizeof value, "%.4g", b->values[i]);
        asc_svg_text(t, VALUE_END, y + 15, "end", 13, value);
    }
    asc_colour_scale_rgb(scale, v < 0 ? -scale->limit : scale->limit, rgb);
    asc_svg_rect(t, v < 0 ? middle - w : middle, y + 3, w, ROW - 6, rgb);
    double tip = v < 0 ? middle - w : middle + w;
    if (e > 0)
        asc_text_addf(t, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#15181c\" stroke-width=\"1.5\"/>",
                      fmax(tip - e, BAR_FROM), y + ROW / 2.0, fmin(tip + e, BAR_TO));
    snprintf(error, sizeof error, "%s%s", score, isfinite(v) && fabs(v) > scale->limit ? " (cut)" : "");
    asc_svg_text(t, FIGURE_END, y + 15, "end", 13, error);
    asc_text_adds(t, "</g>\n");
}

asc_status asc_draw_bars_svg(asc_ctx *ctx, asc_text *out, const char *title, const asc_bars *b,
                             const asc_colour_scale *scale) {
    size_t shown = b->most > 0 && b->most < b->n ? b->most : b->n;
    asc_ranked *order = asc_calloc(ctx, ASC_MEM_SCRATCH, b->n + 1, sizeof *order);
    if (order == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_rank_scores(b->scores, b->n, shown, order);
    double top = 30, height = top + (double)shown * ROW + 10 + FOOT;
    asc_svg_begin(out, title, WIDTH, height);
    asc_svg_text(out, NAME_END, 18, "end", 12, "feature");
    if (b->values != NULL) asc_svg_text(out, VALUE_END, 18, "end", 12, "value");
    asc_svg_text(out, (BAR_FROM + BAR_TO) / 2.0, 18, "middle", 12, "against | towards");
    asc_svg_text(out, FIGURE_END, 18, "end", 12, "score");
    asc_text_adds(out, "\n");
    for (size_t k = 0; k < shown; k++) put_bar(out, b, order[k].i, top + (double)k * ROW, scale);
    asc_text_addf(out, "<path d=\"M%.1f %.0fV%.0f\" stroke=\"#565f69\"/>\n", (BAR_FROM + BAR_TO) / 2.0, top,
                  top + (double)shown * ROW);
    if (shown < b->n) {
        char more[64];
        snprintf(more, sizeof more, "and %zu more with smaller scores", b->n - shown);
        asc_svg_text(out, NAME_END, height - FOOT + 8, "end", 12, more);
    }
    asc_svg_scale(ctx, out, 240, height - FOOT + 12, WIDTH - 260, scale);
    asc_svg_end(out);
    asc_free(ctx, order);
    return asc_text_status(out);
}
