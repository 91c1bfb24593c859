/* svg_bytes.c - bytes as a hex dump whose cells have the colours of their scores. A row is one stop for the
 * keyboard and tells its strongest byte; each coloured byte has a tip of its own for the pointer. */
#include "draw_parts.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

enum {
    PER_ROW = 16,
    ROW = 20,
    BREAK = 10, /* between rows that do not follow each other */
    CELL = 24,
    LETTER = 12,
    HEX_FROM = 96,
    TEXT_FROM = HEX_FROM + PER_ROW * CELL + 16,
    WIDTH = TEXT_FROM + PER_ROW * LETTER + 16,
    TOP = 12,
    FOOT = 64,
    MOST_ROWS = 1024
};

static int64_t offset_of(const asc_byte_strip *s, size_t i) {
    return s->offsets != NULL ? s->offsets[i] : (int64_t)i;
}

static bool padding(const asc_byte_strip *s, size_t i) {
    return s->bytes[i] < 0 || s->bytes[i] > 255 || offset_of(s, i) < 0;
}

/* Bytes from i on that belong to one row: neighbours in the file, up to the next multiple of 16. */
static size_t row_length(const asc_byte_strip *s, size_t i) {
    size_t n = 1;
    while (i + n < s->n && !padding(s, i + n) && offset_of(s, i + n) == offset_of(s, i + n - 1) + 1 &&
           offset_of(s, i + n) % PER_ROW != 0)
        n++;
    return n;
}

static void put_letter(asc_text *t, int32_t byte) {
    char c[2] = {(char)(byte >= 32 && byte < 127 ? byte : '.'), '\0'};
    asc_put_html_attribute(t, asc_view_make(c, 1));
}

static void put_byte(asc_text *t, const asc_byte_strip *s, size_t i, double y,
                     const asc_colour_scale *scale) {
    double column = (double)(offset_of(s, i) % PER_ROW), v = s->scores[i];
    double hex = HEX_FROM + column * CELL, letter = TEXT_FROM + column * LETTER;
    uint8_t rgb[3];
    char score[32];
    asc_colour_scale_rgb(scale, v, rgb);
    asc_draw_figure(v, true, score);
    bool plain = !isfinite(v) ? false : fabs(v) < scale->limit / 64;
    const char *ink = plain ? "#15181c" : asc_svg_ink(rgb);
    if (!plain) {
        asc_text_addf(t, "<g fill=\"%s\"><title>%lld: %s</title>", ink, (long long)offset_of(s, i), score);
        asc_svg_rect(t, hex, y, CELL, ROW, rgb);
        asc_svg_rect(t, letter, y, LETTER, ROW, rgb);
    }
    asc_text_addf(t, "<text x=\"%.0f\" y=\"%.0f\">%02x</text><text x=\"%.0f\" y=\"%.0f\">", hex + CELL / 2.0,
                  y + 15, (unsigned)s->bytes[i], letter + LETTER / 2.0, y + 15);
    put_letter(t, s->bytes[i]);
    asc_text_adds(t, plain ? "</text>" : "</text></g>");
}

static void put_row(asc_text *t, const asc_byte_strip *s, size_t from, size_t n, double y,
                    const asc_colour_scale *scale) {
    size_t best = from;
    char score[32];
    for (size_t i = from; i < from + n; i++)
        if (fabs(s->scores[i]) > fabs(s->scores[best])) best = i;
    asc_draw_figure(s->scores[best], true, score);
    asc_text_addf(t,
                  "<g role=\"img\" tabindex=\"0\" aria-label=\"bytes %lld to %lld; strongest: byte %lld, "
                  "hexadecimal %02x, "
                  "%s\"><text x=\"%d\" y=\"%.0f\" text-anchor=\"end\" fill=\"#565f69\">%08llx</text>",
                  (long long)offset_of(s, from), (long long)offset_of(s, from + n - 1),
                  (long long)offset_of(s, best), (unsigned)s->bytes[best], score, HEX_FROM - 12, y + 15,
                  (unsigned long long)(offset_of(s, from) / PER_ROW * PER_ROW));
    for (size_t i = from; i < from + n; i++) put_byte(t, s, i, y, scale);
    asc_text_adds(t, "</g>\n");
}

/* Walks the rows; draws them when t is there. Returns the y behind them; at most MOST_ROWS are drawn, *left =
 * bytes of the others. A line stands where the next row does not go on from the last: a gap in the file, or
 * bytes that the net sees a second time. */
static double walk(asc_text *t, const asc_byte_strip *s, const asc_colour_scale *scale, size_t *left) {
    size_t rows = 0;
    int64_t next = -1;
    double y = TOP;
    *left = 0;
    for (size_t i = 0; i < s->n;) {
        if (padding(s, i)) {
            i++;
            continue;
        }
        size_t n = row_length(s, i);
        if (rows < MOST_ROWS) {
            if (rows > 0 && offset_of(s, i) != next) {
                if (t != NULL)
                    asc_text_addf(t,
                                  "<path d=\"M12 %.0fH%d\" stroke=\"#565f69\" stroke-dasharray=\"4 4\"/>\n",
                                  y + BREAK / 2.0, WIDTH - 12);
                y += BREAK;
            }
            if (t != NULL) put_row(t, s, i, n, y, scale);
            next = offset_of(s, i) + (int64_t)n;
            y += ROW;
            rows++;
        } else {
            *left += n;
        }
        i += n;
    }
    return y;
}

asc_status asc_draw_bytes_svg(asc_ctx *ctx, asc_text *out, const char *title, const asc_byte_strip *strip,
                              const asc_colour_scale *scale) {
    size_t left;
    double foot = walk(NULL, strip, scale, &left) + 14;
    asc_svg_begin(out, title, WIDTH, foot + FOOT);
    asc_text_adds(out, "<g font-family=\"ui-monospace, 'DejaVu Sans Mono', monospace\" font-size=\"13\" "
                       "text-anchor=\"middle\">\n");
    walk(out, strip, scale, &left);
    asc_text_adds(out, "</g>\n");
    if (left > 0) {
        char more[80];
        snprintf(more, sizeof more, "%zu more bytes are in the table of numbers", left);
        asc_svg_text(out, 12, foot + 4, "start", 12, more);
    }
    asc_svg_scale(ctx, out, 12, foot + 12, WIDTH - 24, scale);
    asc_svg_end(out);
    return asc_text_status(out);
}
