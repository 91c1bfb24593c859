/* svg_signal.c - a signal as a line on ground coloured by the scores. Where there are more samples than
 * columns, a column spans the line from its smallest to its largest sample and has the colour of the score of
 * the largest size in it. */
#include "draw_parts.h"
#include <math.h>
#include <stdio.h>

enum {
    COLUMNS = 800,
    LEFT = 70,
    TOP = 12,
    HEIGHT = 180,
    WIDTH = LEFT + COLUMNS + 20,
    FOOT = 100,
    STOPS = 32
};

typedef struct bin {
    double low, high, score; /* of the signal; of the largest |score| */
    size_t from, to;
} bin;

static bin bin_of(const double *signal, const double *scores, size_t n, size_t columns, size_t k) {
    bin b = {.low = INFINITY, .high = -INFINITY, .from = k * n / columns, .to = (k + 1) * n / columns};
    b.score = scores[b.from];
    for (size_t i = b.from; i < b.to; i++) {
        if (signal[i] < b.low) b.low = signal[i];
        if (signal[i] > b.high) b.high = signal[i];
        if (fabs(scores[i]) > fabs(b.score)) b.score = scores[i];
    }
    return b;
}

static void put_ground(asc_text *t, const double *signal, const double *scores, size_t n, size_t columns,
                       const asc_colour_scale *scale) {
    size_t stops = columns < STOPS ? columns : STOPS;
    for (size_t s = 0; s < stops; s++) { /* a stop for the keyboard is a stretch of columns */
        bin whole = bin_of(signal, scores, n, stops, s);
        char score[32];
        asc_draw_figure(whole.score, true, score);
        asc_text_addf(t,
                      "<g role=\"img\" tabindex=\"0\" aria-label=\"samples %zu to %zu; strongest score %s\">",
                      whole.from, whole.to - 1, score);
        for (size_t k = s * columns / stops; k < (s + 1) * columns / stops; k++) {
            uint8_t rgb[3];
            asc_colour_scale_rgb(scale, bin_of(signal, scores, n, columns, k).score, rgb);
            asc_svg_rect(t, LEFT + (double)k * COLUMNS / (double)columns, TOP,
                         (double)COLUMNS / (double)columns + 0.3, HEIGHT, rgb);
        }
        asc_text_adds(t, "</g>\n");
    }
}

static void put_line(asc_text *t, const double *signal, const double *scores, size_t n, size_t columns,
                     double low, double high) {
    double span = high > low ? high - low : 1;
    bool pen_up = true;
    asc_text_adds(t, "<path fill=\"none\" stroke=\"#15181c\" stroke-width=\"1.2\" d=\"");
    for (size_t k = 0; k < columns; k++) {
        bin b = bin_of(signal, scores, n, columns, k);
        if (!isfinite(b.low) || !isfinite(b.high)) {
            pen_up = true;
            continue;
        }
        double x = LEFT + ((double)k + 0.5) * COLUMNS / (double)columns;
        double y0 = TOP + HEIGHT - 6 - (b.low - low) / span * (HEIGHT - 12);
        double y1 = TOP + HEIGHT - 6 - (b.high - low) / span * (HEIGHT - 12);
        asc_text_addf(t, "%c%.1f %.1f", pen_up ? 'M' : 'L', x, y0);
        if (b.high > b.low) asc_text_addf(t, "V%.1f", y1);
        pen_up = false;
    }
    asc_text_adds(t, "\"/>\n");
}

asc_status asc_draw_signal_svg(asc_ctx *ctx, asc_text *out, const char *title, const double *signal,
                               const double *scores, size_t n, const asc_colour_scale *scale) {
    char figure[32], words[160];
    double low = INFINITY, high = -INFINITY;
    if (n == 0) return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a signal without samples");
    for (size_t i = 0; i < n; i++) {
        if (isfinite(signal[i]) && signal[i] < low) low = signal[i];
        if (isfinite(signal[i]) && signal[i] > high) high = signal[i];
    }
    size_t columns = n < COLUMNS ? n : COLUMNS;
    asc_svg_begin(out, title, WIDTH, TOP + HEIGHT + FOOT);
    put_ground(out, signal, scores, n, columns, scale);
    if (high >= low) put_line(out, signal, scores, n, columns, low, high);
    asc_draw_figure(high, false, figure);
    asc_svg_text(out, LEFT - 6, TOP + 14, "end", 12, figure);
    asc_draw_figure(low, false, figure);
    asc_svg_text(out, LEFT - 6, TOP + HEIGHT, "end", 12, figure);
    asc_svg_text(out, LEFT, TOP + HEIGHT + 16, "start", 12, "0");
    snprintf(figure, sizeof figure, "%zu", n - 1);
    asc_svg_text(out, LEFT + COLUMNS, TOP + HEIGHT + 16, "end", 12, figure);
    if (n > columns)
        snprintf(words, sizeof words, "each column has the strongest score of its %zu or %zu samples",
                 n / columns, (n + columns - 1) / columns);
    else
        snprintf(words, sizeof words, "sample");
    asc_svg_text(out, LEFT + COLUMNS / 2.0, TOP + HEIGHT + 16, "middle", 12, words);
    asc_svg_scale(ctx, out, LEFT, TOP + HEIGHT + 40, COLUMNS, scale);
    asc_svg_end(out);
    return asc_text_status(out);
}
