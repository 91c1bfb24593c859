/* draw_text.c - drawings for a terminal: bars, and maps of half blocks (two pixels a character) or, without
 * colours, of numbers. */
#include "draw_parts.h"
#include "plain.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

enum { BAR = 24, NAME = 28, MAP_COLUMNS = 56, NUMBER_COLUMNS = 8 };

static void begin_colour(asc_text *t, asc_colours colours, bool ground, const uint8_t rgb[3]) {
    int layer = ground ? 48 : 38;
    if (colours == ASC_COLOURS_RGB)
        asc_text_addf(t, "\x1b[%d;2;%d;%d;%dm", layer, rgb[0], rgb[1], rgb[2]);
    else if (colours == ASC_COLOURS_256) /* the 6 x 6 x 6 cube of xterm */
        asc_text_addf(t, "\x1b[%d;5;%dm", layer,
                      16 + 36 * ((rgb[0] + 25) / 51) + 6 * ((rgb[1] + 25) / 51) + (rgb[2] + 25) / 51);
}

static void end_colour(asc_text *t, asc_colours colours) {
    if (colours != ASC_COLOURS_NONE) asc_text_adds(t, "\x1b[0m");
}

static void put_bar_row(asc_text *t, const asc_bars *b, size_t i, const asc_colour_scale *scale,
                        const asc_report_style *style) {
    char score[32], value[32] = "", error[32] = "", number[24];
    double v = b->scores[i], share = isfinite(v) ? fmin(fabs(v) / scale->limit, 1) : 0;
    size_t cells = (size_t)lround(share * BAR);
    asc_draw_figure(v, true, score);
    asc_text_addf(t, "  %10s", score);
    if (b->errors != NULL) {
        asc_draw_figure(b->errors[i], false, error);
        asc_text_addf(t, "  \xc2\xb1 %-9s", isfinite(b->errors[i]) ? error : "-");
    }
    asc_text_adds(t, "  ");
    uint8_t rgb[3];
    asc_colour_scale_rgb(scale, v, rgb);
    if (cells > 0) begin_colour(t, style->colours, true, rgb);
    for (size_t k = 0; k < cells; k++)
        asc_text_adds(t, style->colours != ASC_COLOURS_NONE ? " " : v < 0 ? "-" : "+");
    if (cells > 0) end_colour(t, style->colours);
    asc_text_blanks(t, BAR - cells + 2);
    snprintf(number, sizeof number, "%zu", i);
    bool named = b->names != NULL && b->names[i] != NULL;
    asc_text_shown(t, asc_view_of(named ? b->names[i] : number), NAME);
    if (b->values != NULL) {
        asc_snprintf(value, sizeof value, "%.6g", b->values[i]);
        asc_text_addf(t, " = %s", value);
    }
    asc_text_adds(t, "\n");
}

void asc_draw_bars_text(asc_text *out, const asc_bars *b, const asc_colour_scale *scale,
                        const asc_report_style *style) {
    size_t most = style->rows > 0 ? style->rows : b->most, shown = most > 0 && most < b->n ? most : b->n;
    asc_ranked *order = asc_calloc(out->ctx, ASC_MEM_SCRATCH, b->n + 1, sizeof *order);
    if (order == NULL) {
        out->b.failed = true;
        return;
    }
    asc_rank_scores(b->scores, b->n, shown, order);
    asc_text_addf(out, "  %10s%s  %-*s  feature\n", "score", b->errors != NULL ? "  error      " : "", BAR,
                  "");
    for (size_t k = 0; k < shown; k++) put_bar_row(out, b, order[k].i, scale, style);
    if (shown < b->n) asc_text_addf(out, "  and %zu more with smaller scores\n", b->n - shown);
    asc_free(out->ctx, order);
}

/* Part (r, c) of a map in rows x cols parts: the score of the largest size, or the sum. */
static double part(const asc_heat *h, int64_t rows, int64_t cols, int64_t r, int64_t c, bool sum) {
    double best = 0;
    for (int64_t y = r * h->rows / rows; y < (r + 1) * h->rows / rows; y++)
        for (int64_t x = c * h->cols / cols; x < (c + 1) * h->cols / cols; x++) {
            double v = h->scores[y * h->cols + x];
            if (sum)
                best += v;
            else if (fabs(v) > fabs(best))
                best = v;
        }
    return best;
}

static void put_numbers(asc_text *t, const asc_heat *h) {
    int64_t cols = h->cols < NUMBER_COLUMNS ? h->cols : NUMBER_COLUMNS;
    int64_t rows = h->rows < NUMBER_COLUMNS ? h->rows : NUMBER_COLUMNS;
    for (int64_t r = 0; r < rows; r++) {
        asc_text_adds(t, " ");
        for (int64_t c = 0; c < cols; c++) {
            char figure[32];
            asc_draw_figure(part(h, rows, cols, r, c, true), true, figure);
            asc_text_addf(t, " %10s", figure);
        }
        asc_text_adds(t, "\n");
    }
    if (rows < h->rows || cols < h->cols)
        asc_text_addf(t, "  each number is the sum over a part of about %lld x %lld of %lld x %lld scores\n",
                      (long long)(h->rows / rows), (long long)(h->cols / cols), (long long)h->rows,
                      (long long)h->cols);
}

void asc_draw_heat_text(asc_text *out, const asc_heat *h, const asc_colour_scale *scale,
                        const asc_report_style *style) {
    if (h->label != NULL) {
        asc_text_adds(out, "  ");
        asc_text_shown(out, asc_view_of(h->label), 60);
        asc_text_adds(out, "\n");
    }
    if (h->rows < 1 || h->cols < 1) return;
    if (style->colours == ASC_COLOURS_NONE) {
        put_numbers(out, h);
    } else {
        int64_t cols = h->cols < MAP_COLUMNS ? h->cols : MAP_COLUMNS;
        int64_t rows = (int64_t)llround((double)h->rows * (double)cols / (double)h->cols);
        rows = rows < 1 ? 1 : rows > h->rows ? h->rows : rows > 2 * MAP_COLUMNS ? 2 * MAP_COLUMNS : rows;
        for (int64_t r = 0; r < rows; r += 2) {
            asc_text_adds(out, "  ");
            for (int64_t c = 0; c < cols; c++) {
                uint8_t rgb[3];
                asc_colour_scale_rgb(scale, part(h, rows, cols, r, c, false), rgb);
                begin_colour(out, style->colours, false, rgb);
                if (r + 1 < rows) {
                    asc_colour_scale_rgb(scale, part(h, rows, cols, r + 1, c, false), rgb);
                    begin_colour(out, style->colours, true, rgb);
                }
                asc_text_adds(out, "\xe2\x96\x80"); /* the upper half; the ground is the lower one */
            }
            end_colour(out, style->colours);
            asc_text_adds(out, "\n");
        }
    }
    asc_text_adds(out, "  ");
    asc_colour_scale_caption(out, scale);
    asc_text_adds(out, "\n");
}
