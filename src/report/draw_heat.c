/* draw_heat.c - maps of scores over pictures, one by one and side by side. The picture below is shown in
 * light grey, so that only scores have colour; the colour covers it the more the larger the score is. */
#include "draw_parts.h"
#include "font_table.h"
#include <math.h>
#include <string.h>

static asc_status wrong_shape(asc_ctx *ctx, asc_shape s) {
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "scores of rank %d are no map of one picture", s.rank);
    return asc_hint(ctx, "a map is [H,W], [C,H,W] or [1,C,H,W]");
}

asc_status asc_heat_sum(asc_ctx *ctx, const double *scores, asc_shape shape, bool nhwc, asc_array *out) {
    int64_t d[3] = {1, 1, 1}; /* channels, rows, columns */
    int rank = shape.rank;
    const int64_t *dims = shape.dims;
    *out = (asc_array){0};
    while (rank > 3 && dims[0] == 1) dims++, rank--;
    if (rank < 2 || rank > 3) return wrong_shape(ctx, shape);
    for (int k = 0; k < rank; k++) d[3 - rank + k] = dims[k];
    if (rank == 3 && nhwc) d[0] = dims[2], d[1] = dims[0], d[2] = dims[1];
    nhwc = nhwc && rank == 3;
    asc_array counted = {.elem = ASC_ELEM_F64, .shape = shape};
    if (d[0] < 1 || d[1] < 1 || d[2] < 1 || asc_array_count(&counted) < 0) return wrong_shape(ctx, shape);
    size_t n = (size_t)(d[1] * d[2]), channels = (size_t)d[0];
    double *sum = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *sum);
    if (sum == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < n; i++) sum[i] += scores[nhwc ? i * channels + c : c * n + i];
    *out = (asc_array){.elem = ASC_ELEM_F64, .shape = ASC_SHAPE(d[1], d[2]), .data = sum};
    return ASC_OK;
}

/* A pixel under a score: light grey, then the score's full colour with its share. */
static void lay_over(const asc_colour_scale *s, double score, const uint8_t *below, uint8_t rgb[3]) {
    static const double cover = 0.9, paleness = 0.4;
    if (below == NULL || !isfinite(score)) {
        asc_colour_scale_rgb(s, score, rgb);
        return;
    }
    double grey = 0.299 * below[0] + 0.587 * below[1] + 0.114 * below[2];
    double share = fabs(score) / s->limit;
    uint8_t full[3];
    asc_colour_scale_rgb(s, score > 0 ? s->limit : -s->limit, full);
    share = cover * (share < 1 ? share : 1);
    grey = 255 - paleness * (255 - grey);
    for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)lround(grey + (full[c] - grey) * share);
}

static asc_status check_heat(asc_ctx *ctx, const asc_heat *heat, const asc_image *picture) {
    if (heat->rows < 1 || heat->cols < 1 || heat->rows > ASC_IMAGE_MAX_SIDE ||
        heat->cols > ASC_IMAGE_MAX_SIDE)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a map of %lld x %lld scores", (long long)heat->rows,
                        (long long)heat->cols);
    if (picture != NULL && (picture->rgb == NULL || picture->width < 1 || picture->height < 1))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the picture below the map is empty");
    return ASC_OK;
}

/* Whole factor that brings the longer side to a size that can be seen. */
static int64_t enlarged(int64_t w, int64_t h) {
    int64_t longer = w > h ? w : h;
    return longer >= ASC_DRAW_CELL ? 1 : (ASC_DRAW_CELL + longer - 1) / longer;
}

asc_status asc_draw_heat(asc_ctx *ctx, const asc_heat *heat, const asc_colour_scale *scale,
                         const asc_image *picture, asc_image *out) {
    *out = (asc_image){0};
    asc_status st = check_heat(ctx, heat, picture);
    if (st != ASC_OK) return st;
    int64_t w = picture != NULL ? picture->width : heat->cols,
            h = picture != NULL ? picture->height : heat->rows;
    int64_t f = enlarged(w, h);
    st = asc_image_create(ctx, w * f, h * f, out);
    if (st != ASC_OK) return st;
    for (int64_t y = 0; y < out->height; y++)
        for (int64_t x = 0; x < out->width; x++) {
            double score =
                heat->scores[y * heat->rows / out->height * heat->cols + x * heat->cols / out->width];
            const uint8_t *below = picture != NULL ? picture->rgb + (size_t)(y / f * w + x / f) * 3 : NULL;
            lay_over(scale, score, below, out->rgb + (size_t)(y * out->width + x) * 3);
        }
    return ASC_OK;
}

static void paint_scale(asc_image *im, int64_t x, int64_t y, int64_t w, const asc_colour_scale *scale) {
    char low[32], high[32];
    asc_draw_figure(-scale->limit, true, low);
    asc_draw_figure(scale->limit, true, high);
    x += asc_paint_text(im, x, y, low, w) + 6;
    for (int64_t i = 0; i < ASC_BAR_STEPS; i++) {
        uint8_t rgb[3];
        asc_colour_scale_rgb(scale, scale->limit * (2.0 * (double)i / (ASC_BAR_STEPS - 1) - 1), rgb);
        asc_paint_rect(im, x + i, y, 1, ASC_FONT_ROWS, rgb);
    }
    asc_paint_text(im, x + ASC_BAR_STEPS + 6, y, high, w);
}

/* Words of a text in lines of `most` pixels, from row y on; returns the row behind (im NULL = only count). */
static int64_t paint_lines(asc_image *im, int64_t x, int64_t y, const char *s, int64_t most) {
    char line[256];
    while (*s != '\0') {
        size_t n = 0, cut = 0;
        while (s[n] != '\0' && n < sizeof line - 1) {
            line[n] = s[n];
            line[++n] = '\0';
            if (asc_paint_text_width(line) > most) break;
            if (s[n] == ' ' || s[n] == '\0') cut = n;
        }
        if (cut == 0) cut = n; /* a word wider than the line */
        line[cut] = '\0';
        if (im != NULL) asc_paint_text(im, x, y, line, most);
        y += ASC_FONT_ROWS + 2;
        s += cut;
        while (*s == ' ') s++;
    }
    return y;
}

typedef struct grid {
    int64_t cell_w, cell_h, across, down, width, top;
} grid;

static grid lay_out(size_t cells, int64_t w, int64_t h) {
    grid g = {.cell_w = w * enlarged(w, h), .cell_h = h * enlarged(w, h)};
    int64_t n = (int64_t)cells, room = 4 * (ASC_DRAW_CELL + ASC_DRAW_GAP);
    g.across = room / (g.cell_w + ASC_DRAW_GAP);
    if (g.across < 2) g.across = 2;
    if (g.across > n) g.across = n;
    g.down = (n + g.across - 1) / g.across;
    g.width = ASC_DRAW_GAP + g.across * (g.cell_w + ASC_DRAW_GAP);
    if (g.width < 2 * ASC_DRAW_CELL) g.width = 2 * ASC_DRAW_CELL;
    g.top = ASC_DRAW_GAP + g.down * (g.cell_h + ASC_FONT_ROWS + ASC_DRAW_GAP);
    return g;
}

/* One cell: its label, its picture enlarged or its map. */
static asc_status paint_cell(asc_ctx *ctx, asc_image *out, const grid *g, size_t i, const char *label,
                             const asc_heat *heat, const asc_colour_scale *scale, const asc_image *picture) {
    asc_image cell = {0};
    int64_t x = ASC_DRAW_GAP + (int64_t)i % g->across * (g->cell_w + ASC_DRAW_GAP);
    int64_t y = ASC_DRAW_GAP + (int64_t)i / g->across * (g->cell_h + ASC_FONT_ROWS + ASC_DRAW_GAP);
    asc_status st = heat != NULL
                        ? asc_draw_heat(ctx, heat, scale, picture, &cell)
                        : asc_image_resize(ctx, picture, g->cell_w, g->cell_h, ASC_FILTER_NEAREST, &cell);
    if (st != ASC_OK) return st;
    asc_paint_text(out, x, y, label != NULL ? label : "", g->cell_w);
    asc_paint_image(out, x, y + ASC_FONT_ROWS, &cell);
    asc_image_free(ctx, &cell);
    return ASC_OK;
}

asc_status asc_draw_heat_grid(asc_ctx *ctx, const asc_heat *heats, size_t n, const asc_colour_scale *scale,
                              const asc_image *picture, asc_image *out) {
    static const uint8_t white[3] = {255, 255, 255};
    asc_text *caption = NULL;
    size_t first = picture != NULL;
    asc_status st = ASC_OK;
    *out = (asc_image){0};
    if (n == 0) return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "no maps to draw");
    for (size_t i = 0; i < n; i++) {
        st = check_heat(ctx, &heats[i], picture);
        if (st == ASC_OK && picture == NULL &&
            (heats[i].rows != heats[0].rows || heats[i].cols != heats[0].cols))
            st = ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "maps of different shapes have no place side by side");
        if (st != ASC_OK) return st;
    }
    grid g =
        lay_out(n + first, first ? picture->width : heats[0].cols, first ? picture->height : heats[0].rows);
    ASC_TRY(asc_text_create(ctx, &caption));
    asc_colour_scale_caption(caption, scale);
    if (n > 1) asc_text_adds(caption, "; the same colours everywhere");
    ASC_TRY(asc_text_status(caption));
    const char *words = asc_text_view(caption).ptr;
    int64_t most = g.width - 2 * ASC_DRAW_GAP, bar = ASC_FONT_ROWS + 6;
    ASC_TRY(asc_image_create(ctx, g.width, paint_lines(NULL, 0, g.top + bar, words, most) + ASC_DRAW_GAP / 2,
                             out));
    asc_paint_rect(out, 0, 0, out->width, out->height, white);
    if (first) ASC_TRY(paint_cell(ctx, out, &g, 0, "input", NULL, scale, picture));
    for (size_t i = 0; i < n; i++)
        ASC_TRY(paint_cell(ctx, out, &g, first + i, heats[i].label, &heats[i], scale, picture));
    paint_scale(out, ASC_DRAW_GAP, g.top, most, scale);
    paint_lines(out, ASC_DRAW_GAP, g.top + bar, words, most);
done:
    asc_text_destroy(caption);
    if (st != ASC_OK) asc_image_free(ctx, out);
    return st;
}
