/* font_table.h - a small font for labels inside pictures. */
#ifndef ASC_FONT_TABLE_H
#define ASC_FONT_TABLE_H

#include <stdint.h>

enum { ASC_FONT_FIRST = 32, ASC_FONT_LAST = 126, ASC_FONT_ROWS = 16 };

typedef struct asc_glyph {
    int width;                    /* to the next character, pixels */
    uint16_t rows[ASC_FONT_ROWS]; /* leftmost pixel in the highest bit */
} asc_glyph;

extern const asc_glyph asc_font[ASC_FONT_LAST - ASC_FONT_FIRST + 1];

#endif
