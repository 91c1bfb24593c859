/* svg_parts.c - pieces of SVG: the sheet, text, rectangles, the colour bar. Everything is a presentation
 * attribute: a page's content policy allows no style of ours inside. */
#include "draw_parts.h"
#include "view.h"

void asc_svg_begin(asc_text *t, const char *title, double width, double height) {
    asc_text_addf(
        t,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sheet\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
        "height=\"%.0f\" font-family=\"system-ui, sans-serif\" fill=\"#15181c\" role=\"group\" aria-label=\"",
        width, height, width, height);
    asc_put_html_attribute(t, asc_view_of(title));
    asc_text_addf(t, "\">\n<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n", width, height);
}

void asc_svg_end(asc_text *t) { asc_text_adds(t, "</svg>\n"); }

void asc_svg_text(asc_text *t, double x, double y, const char *anchor, double size, const char *s) {
    asc_text_addf(t, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\"", x, y, size);
    if (anchor[0] != 's') asc_text_addf(t, " text-anchor=\"%s\"", anchor);
    asc_text_adds(t, ">");
    asc_put_html_attribute(t, asc_view_of(s));
    asc_text_adds(t, "</text>");
}

void asc_svg_rect(asc_text *t, double x, double y, double w, double h, const uint8_t rgb[3]) {
    asc_text_addf(t, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#%02x%02x%02x\"/>", x,
                  y, w, h, rgb[0], rgb[1], rgb[2]);
}

const char *asc_svg_ink(const uint8_t rgb[3]) {
    return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] > 128 ? "#15181c" : "#fff";
}

void asc_svg_scale(asc_ctx *ctx, asc_text *t, double x, double y, double width,
                   const asc_colour_scale *scale) {
    enum { STEPS = 32, BAR = 160, EDGE = 70 };
    char low[32], high[32];
    asc_text *caption = NULL;
    asc_draw_figure(-scale->limit, true, low);
    asc_draw_figure(scale->limit, true, high);
    asc_text_adds(
        t, "<g role=\"img\" tabindex=\"0\" aria-label=\"scale from blue, against, to orange, towards: ");
    if (asc_text_create(ctx, &caption) != ASC_OK) {
        t->b.failed = true;
        return;
    }
    asc_colour_scale_caption(caption, scale);
    asc_put_html_attribute(t, asc_text_view(caption));
    asc_text_adds(t, "\">");
    asc_svg_text(t, x + EDGE - 6, y + 12, "end", 12, low);
    for (int i = 0; i < STEPS; i++) {
        uint8_t rgb[3];
        asc_colour_scale_rgb(scale, scale->limit * ((2.0 * i + 1) / STEPS - 1), rgb);
        asc_svg_rect(t, x + EDGE + i * (double)BAR / STEPS, y, (double)BAR / STEPS + 0.5, 16, rgb);
    }
    asc_svg_text(t, x + EDGE + BAR + 6, y + 12, "start", 12, high);
    /* about 6 units a letter: squeezed where the sheet is narrow rather than cut */
    asc_view v = asc_text_view(caption);
    asc_text_addf(t, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"12\"", x, y + 36);
    if ((double)v.len * 6 > width)
        asc_text_addf(t, " textLength=\"%.0f\" lengthAdjust=\"spacingAndGlyphs\"", width);
    asc_text_adds(t, ">");
    asc_put_html_attribute(t, v);
    asc_text_adds(t, "</text></g>\n");
    if (asc_text_status(caption) != ASC_OK) t->b.failed = true;
    asc_text_destroy(caption);
}
