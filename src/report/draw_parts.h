/* draw_parts.h - what the drawings share: painting into pictures, pieces of SVG. */
#ifndef ASC_DRAW_PARTS_H
#define ASC_DRAW_PARTS_H

#include "ascribe/draw.h"
#include "html_put.h"

enum { ASC_DRAW_CELL = 224, ASC_DRAW_GAP = 12, ASC_BAR_STEPS = 128 };

/* "1.23", "-0.0412": three digits, no sign before what rounds to 0. */
void asc_draw_figure(double v, bool sign, char out[32]);

/* Score number i and its size; what is no number is the largest. */
typedef struct asc_ranked {
    double size;
    size_t i;
} asc_ranked;
/* out[n]: in the order given when all of them are shown, else the largest first and equals in the order
 * given. */
void asc_rank_scores(const double *scores, size_t n, size_t shown, asc_ranked *out);

/* Rectangles outside the picture are cut. */
void asc_paint_rect(asc_image *im, int64_t x, int64_t y, int64_t w, int64_t h, const uint8_t rgb[3]);
void asc_paint_image(asc_image *im, int64_t x, int64_t y, const asc_image *what);
/* In dark grey, at most `most` pixels wide (then "..."); returns the width. Not ASCII becomes '?'. */
int64_t asc_paint_text(asc_image *im, int64_t x, int64_t y, const char *s, int64_t most);
int64_t asc_paint_text_width(const char *s);

/* <svg ...> with a title that is read out, on a white sheet. */
void asc_svg_begin(asc_text *t, const char *title, double width, double height);
void asc_svg_end(asc_text *t);
/* anchor "start", "middle" or "end"; s is escaped. */
void asc_svg_text(asc_text *t, double x, double y, const char *anchor, double size, const char *s);
void asc_svg_rect(asc_text *t, double x, double y, double w, double h, const uint8_t rgb[3]);
/* Colour bar with its ends named, and the caption under it, 44 high. */
void asc_svg_scale(asc_ctx *ctx, asc_text *t, double x, double y, double width,
                   const asc_colour_scale *scale);
/* Black or white, whatever can be read on rgb. */
const char *asc_svg_ink(const uint8_t rgb[3]);

#endif
