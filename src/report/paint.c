/* paint.c - rectangles, pictures and labels into a picture. */
#include "draw_parts.h"
#include "font_table.h"
#include <string.h>

void asc_paint_rect(asc_image *im, int64_t x, int64_t y, int64_t w, int64_t h, const uint8_t rgb[3]) {
    for (int64_t r = y < 0 ? 0 : y; r < y + h && r < im->height; r++)
        for (int64_t c = x < 0 ? 0 : x; c < x + w && c < im->width; c++)
            memcpy(im->rgb + (size_t)(r * im->width + c) * 3, rgb, 3);
}

void asc_paint_image(asc_image *im, int64_t x, int64_t y, const asc_image *what) {
    for (int64_t r = 0; r < what->height && y + r < im->height; r++) {
        int64_t n = what->width < im->width - x ? what->width : im->width - x;
        if (n > 0)
            memcpy(im->rgb + (size_t)((y + r) * im->width + x) * 3, what->rgb + (size_t)(r * what->width) * 3,
                   (size_t)n * 3);
    }
}

static const asc_glyph *glyph_of(char c) {
    unsigned char u = (unsigned char)c;
    return &asc_font[(u < ASC_FONT_FIRST || u > ASC_FONT_LAST ? '?' : u) - ASC_FONT_FIRST];
}

static int64_t width_of(const char *s, size_t n) {
    int64_t w = 0;
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)s[i] & 0xc0) != 0x80) w += glyph_of(s[i])->width; /* one ? for one character */
    return w;
}

int64_t asc_paint_text_width(const char *s) { return width_of(s, strlen(s)); }

static int64_t put(asc_image *im, int64_t x, int64_t y, const char *s, size_t n) {
    static const uint8_t ink[3] = {21, 24, 28};
    for (size_t i = 0; i < n; i++) {
        if (((unsigned char)s[i] & 0xc0) == 0x80) continue;
        const asc_glyph *g = glyph_of(s[i]);
        for (int r = 0; r < ASC_FONT_ROWS; r++)
            for (int c = 0; c < 16; c++)
                if (g->rows[r] >> (15 - c) & 1) asc_paint_rect(im, x + c, y + r, 1, 1, ink);
        x += g->width;
    }
    return x;
}

int64_t asc_paint_text(asc_image *im, int64_t x, int64_t y, const char *s, int64_t most) {
    size_t n = strlen(s);
    int64_t from = x;
    if (width_of(s, n) <= most) return put(im, x, y, s, n) - from;
    while (n > 0 && width_of(s, n) + width_of("...", 3) > most) n--;
    x = put(im, x, y, s, n);
    return put(im, x, y, "...", 3) - from;
}
