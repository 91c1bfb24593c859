/* choose.c - the state of choosing a word, and its picture. */
#include "choose.h"
#include "ascribe/draw.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURES = 5, LEAST_ROWS = 4 };

static const words *side_of(const chooser *c, int side) { return &c->sheet->side[side]; }

/* Number of the line of a word, prompt and answer counted together. */
static size_t line_of(const chooser *c, int side, size_t i) {
    return side_of(c, side)->v[i].line + (side == SIDE_ANSWER ? side_of(c, SIDE_PROMPT)->n_lines : 0);
}

static size_t n_lines(const chooser *c) {
    return side_of(c, SIDE_PROMPT)->n_lines + side_of(c, SIDE_ANSWER)->n_lines;
}

/* Lines for words: the rest is for figures. */
static size_t room(const chooser *c) {
    size_t rows = c->rows < LEAST_ROWS ? LEAST_ROWS : c->rows, figures = FIGURES + 1;
    if (figures > rows / 2) figures = rows / 2;
    return rows - figures;
}

static void keep_in_sight(chooser *c) {
    size_t line = line_of(c, c->side, c->i), height = room(c), all = n_lines(c);
    if (line < c->top) c->top = line;
    if (line >= c->top + height) c->top = line - height + 1;
    if (all <= height) c->top = 0;
    if (c->top > 0 && c->top + height > all) c->top = all - height;
}

static bool can(const chooser *c, int side, size_t i) { return !side_of(c, side)->v[i].fixed; }

bool chooser_begin(chooser *c, const word_sheet *sheet, size_t rows) {
    *c = (chooser){.sheet = sheet, .side = SIDE_ANSWER, .rows = rows};
    for (int k = 0; k < 2; k++, c->side = 1 - c->side) {
        for (c->i = 0; c->i < side_of(c, c->side)->n; c->i++) {
            if (!can(c, c->side, c->i)) continue;
            c->goal = side_of(c, c->side)->v[c->i].at;
            keep_in_sight(c);
            return true;
        }
    }
    return false;
}

void chooser_resize(chooser *c, size_t rows) {
    c->rows = rows;
    c->goal = side_of(c, c->side)->v[c->i].at;
    keep_in_sight(c);
}

static bool go(chooser *c, int side, size_t i, bool new_goal) {
    c->side = side;
    c->i = i;
    if (new_goal) c->goal = side_of(c, side)->v[i].at;
    keep_in_sight(c);
    return true;
}

/* The next word in reading order that can be chosen, over the border between prompt and answer. */
static bool step(chooser *c, int by) {
    int side = c->side;
    size_t i = c->i;
    for (;;) {
        if (by > 0 && i + 1 < side_of(c, side)->n) {
            i++;
        } else if (by < 0 && i > 0) {
            i--;
        } else if (by > 0 && side == SIDE_PROMPT && side_of(c, SIDE_ANSWER)->n > 0) {
            side = SIDE_ANSWER;
            i = 0;
        } else if (by < 0 && side == SIDE_ANSWER && side_of(c, SIDE_PROMPT)->n > 0) {
            side = SIDE_PROMPT;
            i = side_of(c, side)->n - 1;
        } else {
            return false;
        }
        if (can(c, side, i)) return go(c, side, i, true);
    }
}

/* The word of a line nearest to column `goal`; false: none there can be chosen. */
static bool nearest_in(const chooser *c, size_t line, int *side, size_t *at) {
    size_t least = SIZE_MAX;
    for (int s = 0; s < 2; s++) {
        for (size_t i = 0; i < side_of(c, s)->n; i++) {
            const word *w = &side_of(c, s)->v[i];
            if (line_of(c, s, i) != line || w->fixed) continue;
            size_t d = c->goal < w->at                ? w->at - c->goal
                       : c->goal < w->at + w->columns ? 0
                                                      : c->goal - w->at - w->columns + 1;
            if (d < least) {
                least = d;
                *side = s;
                *at = i;
            }
        }
    }
    return least != SIZE_MAX;
}

/* To the line `by` lines away, or the next one beyond with a word to choose, or the last one before. */
static bool rise(chooser *c, long by) {
    long line = (long)line_of(c, c->side, c->i), all = (long)n_lines(c), to = line + by,
         unit = by > 0 ? 1 : -1;
    int side = 0;
    size_t i = 0;
    if (to < 0) to = 0;
    if (to >= all) to = all - 1;
    for (long at = to; at >= 0 && at < all && at != line; at += unit) {
        if (nearest_in(c, (size_t)at, &side, &i)) return go(c, side, i, false);
    }
    for (long at = to; at != line; at -= unit) {
        if (nearest_in(c, (size_t)at, &side, &i)) return go(c, side, i, false);
    }
    return false;
}

static bool to_edge(chooser *c, bool end) {
    const words *w = side_of(c, c->side);
    size_t line = w->v[c->i].line, best = c->i;
    for (size_t i = 0; i < w->n; i++) {
        if (w->v[i].line == line && !w->v[i].fixed && (end ? i > best : i < best)) best = i;
    }
    return best != c->i && go(c, c->side, best, true);
}

static bool other_side(chooser *c) {
    const words *w = side_of(c, 1 - c->side);
    for (size_t i = 0; i < w->n; i++) {
        if (!w->v[i].fixed) return go(c, 1 - c->side, i, true);
    }
    return false;
}

chosen chooser_key(chooser *c, shell_key k) {
    bool moved = false;
    switch (k) {
    case KEY_LEFT:
        moved = step(c, -1);
        break;
    case KEY_RIGHT:
        moved = step(c, 1);
        break;
    case KEY_UP:
        moved = rise(c, -1);
        break;
    case KEY_DOWN:
        moved = rise(c, 1);
        break;
    case KEY_PAGE_UP:
        moved = rise(c, -(long)room(c));
        break;
    case KEY_PAGE_DOWN:
        moved = rise(c, (long)room(c));
        break;
    case KEY_HOME:
    case KEY_END:
        moved = to_edge(c, k == KEY_END);
        break;
    case KEY_TAB:
        moved = other_side(c);
        break;
    case KEY_ENTER:
        return CHOOSE_TAKE;
    case KEY_ESCAPE:
    case KEY_INTERRUPT:
        return CHOOSE_LEAVE;
    case KEY_RESIZE:
        return CHOOSE_MOVED;
    default:
        break;
    }
    return moved ? CHOOSE_MOVED : CHOOSE_STAY;
}

/* ---- the picture ---- */

static void background(asc_text *out, const asc_colour_scale *scale, double score, asc_colours colours) {
    uint8_t c[3];
    asc_colour_scale_rgb(scale, score, c);
    bool dark = 299 * c[0] + 587 * c[1] + 114 * c[2] < 128000; /* luma of ITU-R BT.601 */
    if (colours == ASC_COLOURS_RGB)
        asc_text_addf(out, "\x1b[48;2;%d;%d;%dm\x1b[38;2;%sm", c[0], c[1], c[2],
                      dark ? "255;255;255" : "0;0;0");
    else /* the 6 x 6 x 6 cube of xterm */
        asc_text_addf(out, "\x1b[48;5;%dm\x1b[38;5;%sm",
                      16 + 36 * ((c[0] + 25) / 51) + 6 * ((c[1] + 25) / 51) + (c[2] + 25) / 51,
                      dark ? "231" : "16");
}

static void draw_line(const chooser *c, size_t line, const asc_colour_scale *scale, asc_colours colours,
                      asc_text *out) {
    static const char *const names[] = {"Prompt", "Answer"};
    const int side = line < side_of(c, SIDE_PROMPT)->n_lines ? SIDE_PROMPT : SIDE_ANSWER;
    const words *w = side_of(c, side);
    size_t at = 0, own = side == SIDE_ANSWER ? line - side_of(c, SIDE_PROMPT)->n_lines : line;
    if (own == 0 && c->sheet->indent > strlen(names[side])) {
        asc_text_adds(out, names[side]);
        at = strlen(names[side]);
    }
    for (size_t i = 0; i < w->n; i++) {
        const word *x = &w->v[i];
        if (x->line != own) continue;
        asc_text_blanks(out, x->at - at);
        bool chosen_one = side == c->side && i == c->i, coloured = false;
        if (chosen_one) {
            asc_text_adds(out, "\x1b[7m");
            coloured = true;
        } else if (side != c->side && colours != ASC_COLOURS_NONE && !x->fixed) {
            double e, score = words_score(c->sheet, c->side, c->i, i, &e);
            coloured = fabs(score) > scale->limit / 64; /* less is as good as white */
            if (coloured) background(out, scale, score, colours);
        }
        asc_text_shown(out, x->text, c->sheet->columns - c->sheet->indent);
        if (coloured) asc_text_adds(out, "\x1b[0m");
        at = x->at + x->columns;
    }
}

static void figure(asc_text *out, double v, bool sign) {
    double a = fabs(v);
    asc_text_addf(out,
                  a == 0 || (a >= 0.001 && a < 1e5) ? (sign ? "%+10.4f" : "%-9.2g")
                  : sign                            ? "%+10.2e"
                                                    : "%-9.1e",
                  v);
}

void chooser_figures(const word_sheet *s, int side, size_t i, size_t most, const char *end, asc_text *out) {
    const words *other = &s->side[1 - side];
    size_t *order = malloc((other->n + 1) * sizeof *order), wide = s->columns > 40 ? s->columns - 28 : 12;
    if (order == NULL) return;
    size_t n = words_ranked(s, side, i, order), shown = most > 0 && most < n ? most : n;
    for (size_t k = 0; k < shown; k++) {
        double e, score = words_score(s, side, i, order[k], &e);
        if (k > 0) asc_text_adds(out, end);
        asc_text_adds(out, "  ");
        figure(out, score, true);
        asc_text_adds(out, " \xc2\xb1 ");
        figure(out, e, false);
        asc_text_adds(out, "  ");
        asc_text_shown(out, other->v[order[k]].text, wide);
    }
    free(order);
}

size_t chooser_draw(asc_ctx *ctx, const chooser *c, asc_colours colours, asc_text *out) {
    const words *other = side_of(c, 1 - c->side);
    asc_colour_scale scale = {.limit = 1};
    size_t all = n_lines(c), height = room(c), drawn = 0;
    double *scores = malloc((other->n + 1) * sizeof *scores), e;
    for (size_t k = 0; scores != NULL && k < other->n; k++)
        scores[k] = words_score(c->sheet, c->side, c->i, k, &e);
    if (scores != NULL && other->n > 0 && asc_colour_scale_of(ctx, scores, other->n, 100, &scale) != ASC_OK)
        scale = (asc_colour_scale){.limit = 1};
    free(scores);
    for (size_t line = c->top; line < all && drawn < height; line++, drawn++) {
        if (drawn > 0) asc_text_adds(out, "\r\n");
        draw_line(c, line, &scale, colours, out);
    }
    const word *w = &side_of(c, c->side)->v[c->i];
    asc_text_adds(out, "\r\n");
    drawn++;
    size_t used = asc_text_shown(out, w->text, c->sheet->columns / 3);
    const char *says = c->side == SIDE_ANSWER ? " was driven by" : " drove",
               *unit = asc_report_unit(c->sheet->r);
    asc_text_adds(out, says);
    used += strlen(says);
    if (unit[0] != '\0') asc_text_addf(out, " (%s)", unit);
    used += unit[0] != '\0' ? strlen(unit) + 3 : 0;
    static const char help[] = "  arrows, Enter explains, Esc leaves";
    if (used + sizeof help <= c->sheet->columns) asc_text_adds(out, help);
    size_t rows = c->rows < LEAST_ROWS ? LEAST_ROWS : c->rows, left = rows > drawn ? rows - drawn : 0;
    size_t can_show = 0;
    for (size_t k = 0; k < other->n; k++) can_show += !other->v[k].fixed;
    size_t shown = left < FIGURES ? left : FIGURES;
    if (shown > can_show) shown = can_show;
    if (shown > 0) {
        asc_text_adds(out, "\r\n");
        chooser_figures(c->sheet, c->side, c->i, shown, "\r\n", out);
        drawn += shown;
    }
    return drawn;
}
