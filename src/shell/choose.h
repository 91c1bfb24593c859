/* choose.h - choosing a word with keys, and the picture of it: which word is chosen, what is in sight, lines
 * for a terminal. No terminal of its own: keys in, text out.
 */
#ifndef SHELL_CHOOSE_H
#define SHELL_CHOOSE_H

#include "keys.h"
#include "words.h"

typedef enum chosen { CHOOSE_STAY, CHOOSE_MOVED, CHOOSE_TAKE, CHOOSE_LEAVE } chosen;

typedef struct chooser {
    const word_sheet *sheet; /* laid out; borrowed */
    int side;
    size_t i;    /* the chosen word of that side */
    size_t top;  /* first line in sight, of those of prompt and answer together */
    size_t rows; /* lines there is room for, words and figures together */
    size_t goal; /* column that up and down keep to */
} chooser;

/* Begins at the first word of the answer, or of the prompt when nothing of the answer can be chosen. False:
 * there is nothing to choose. */
bool chooser_begin(chooser *c, const word_sheet *sheet, size_t rows);
chosen chooser_key(chooser *c, shell_key k);
/* Another layout or window; the same word stays chosen. */
void chooser_resize(chooser *c, size_t rows);

/* Appends the picture, lines separated (not ended) by \r\n, no line wider than the sheet's columns; returns
 * how many there are (at most c->rows). */
size_t chooser_draw(asc_ctx *ctx, const chooser *c, asc_colours colours, asc_text *out);
/* The words of the other side with their figures, largest first, at most `most` lines (0 = all). */
void chooser_figures(const word_sheet *s, int side, size_t i, size_t most, const char *end, asc_text *out);

#endif
