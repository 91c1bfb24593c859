/* svg_heat.c - maps side by side as SVG; the maps are PNG inside it. */
#include "draw_parts.h"
#include "image.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

enum { CELL = 232, LABEL = 20, FOOT = 60 };

static asc_status put_png(asc_ctx *ctx, asc_text *t, const asc_image *im, double x, double y, double w,
                          double h) {
    asc_strbuf png;
    asc_strbuf_init(&png, ctx);
    asc_status st = asc_png_encode(ctx, im, &png);
    if (st == ASC_OK) {
        asc_text_addf(
            t,
            "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" preserveAspectRatio=\"none\" "
            "href=\"data:image/png;base64,",
            x, y, w, h);
        asc_base64(&t->b, asc_strbuf_view(&png));
        asc_text_adds(t, "\"/>");
    }
    asc_strbuf_deinit(&png);
    return st;
}

/* Where the largest scores of each sign are: what somebody who does not see the map gets. */
static void put_summary(asc_text *t, const asc_heat *heat) {
    double extreme[2] = {0, 0};
    int64_t at[2] = {-1, -1};
    for (int64_t i = 0; i < heat->rows * heat->cols; i++) {
        double v = heat->scores[i];
        if (!isfinite(v)) continue;
        if (v > extreme[1]) extreme[1] = v, at[1] = i;
        if (v < extreme[0]) extreme[0] = v, at[0] = i;
    }
    asc_put_html_attribute(t, asc_view_of(heat->label != NULL ? heat->label : "scores"));
    asc_text_addf(t, ", %lld rows, %lld columns", (long long)heat->rows, (long long)heat->cols);
    for (int s = 1; s >= 0; s--)
        if (at[s] >= 0)
            asc_text_addf(t, "; most %s: %+.3g at row %lld, column %lld", s ? "towards" : "against",
                          extreme[s], (long long)(at[s] / heat->cols), (long long)(at[s] % heat->cols));
}

/* Cut to the cell: about 6.7 units a letter. */
static void put_label(asc_text *t, double x, double y, double width, const asc_heat *heat) {
    char cut[80];
    const char *s = heat == NULL ? "input" : heat->label != NULL ? heat->label : "scores";
    size_t n = 0, len = strlen(s), most = (size_t)(width / 6.7);
    if (len <= most) {
        asc_svg_text(t, x, y, "start", 13, s);
        return;
    }
    if (most > sizeof cut - 4) most = sizeof cut - 4;
    while (n + asc_utf8_decode(s + n, len - n, &(uint32_t){0}, NULL) < most)
        n += asc_utf8_decode(s + n, len - n, &(uint32_t){0}, NULL);
    snprintf(cut, sizeof cut, "%.*s...", (int)n, s);
    asc_svg_text(t, x, y, "start", 13, cut);
}

static asc_status put_cell(asc_ctx *ctx, asc_text *t, const asc_heat *heat, const asc_colour_scale *scale,
                           const asc_image *picture, double x, double y, double w, double h) {
    asc_image im = {0};
    asc_text_adds(t, "<g role=\"img\" tabindex=\"0\" aria-label=\"");
    if (heat != NULL)
        put_summary(t, heat);
    else
        asc_text_adds(t, "the input picture");
    asc_text_adds(t, "\">");
    put_label(t, x, y + 14, w < 120 ? 120 : w, heat);
    asc_status st = heat == NULL ? put_png(ctx, t, picture, x, y + LABEL, w, h)
                                 : asc_draw_heat(ctx, heat, scale, picture, &im);
    if (st == ASC_OK && heat != NULL) st = put_png(ctx, t, &im, x, y + LABEL, w, h);
    asc_image_free(ctx, &im);
    asc_text_addf(
        t,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"#d9dee3\"/></g>\n",
        x, y + LABEL, w, h);
    return st;
}

asc_status asc_draw_heat_svg(asc_ctx *ctx, asc_text *out, const char *title, const asc_heat *heats, size_t n,
                             const asc_colour_scale *scale, const asc_image *picture) {
    size_t first = picture != NULL, cells = n + first;
    if (n == 0) return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "no maps to draw");
    double rows = (double)(first ? picture->height : heats[0].rows);
    double cols = (double)(first ? picture->width : heats[0].cols), longer = rows > cols ? rows : cols;
    double w = CELL * cols / longer, h = CELL * rows / longer;
    if (!(w >= 8)) w = 8; /* a strip of one row is still seen */
    if (!(h >= 8)) h = 8;
    double pitch_w = (w < 120 ? 120 : w) + ASC_DRAW_GAP, pitch_h = h + LABEL + ASC_DRAW_GAP;
    size_t across = (size_t)(4 * (CELL + ASC_DRAW_GAP) / pitch_w);
    if (across > cells) across = cells;
    size_t down = (cells + across - 1) / across;
    double width = ASC_DRAW_GAP + (double)across * pitch_w, top = ASC_DRAW_GAP + (double)down * pitch_h;
    if (width < 480) width = 480;
    asc_svg_begin(out, title, width, top + FOOT);
    for (size_t i = 0; i < cells; i++) {
        const asc_heat *heat = i < first ? NULL : &heats[i - first];
        asc_status st =
            put_cell(ctx, out, heat, scale, picture, ASC_DRAW_GAP + (double)(i % across) * pitch_w,
                     ASC_DRAW_GAP + (double)(i / across) * pitch_h, w, h);
        if (st != ASC_OK) return st;
    }
    asc_svg_scale(ctx, out, ASC_DRAW_GAP, top, width - 2 * ASC_DRAW_GAP, scale);
    asc_svg_end(out);
    return asc_text_status(out);
}
