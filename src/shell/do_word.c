/* do_word.c - what drove a word, or what a word drove: as a list, or chosen with the arrow keys. */
#include "choose.h"
#include "line.h"
#include "shell_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 8 };

/* All figures of a word, as text. */
static void figures(shell *s, const word_sheet *w, int side, size_t i) {
    const char *unit = asc_report_unit(w->r);
    asc_text_adds(s->out, side == SIDE_ANSWER ? "  What drove \"" : "  What was driven by \"");
    asc_text_shown(s->out, w->side[side].v[i].text, 40);
    asc_text_addf(s->out, "\"%s%s%s:\n", unit[0] != '\0' ? " (" : "", unit, unit[0] != '\0' ? ")" : "");
    chooser_figures(w, side, i, 0, "\n", s->out);
    asc_text_adds(s->out, "\n");
    shell_flush(s);
}

/* A word of the answer in full: the question about its tokens alone. */
static bool explain_word(shell *s, turn *t, const word *w) {
    char span[64];
    const turn *its = shell_words_of(t);
    const asc_result *r = asc_answer_result(its->result);
    turn *one = turn_create();
    if (one != NULL) one->prompt = strndup(t->prompt, t->prompt_len);
    if (one != NULL) one->said = strndup(t->said != NULL ? t->said : "", t->said_len);
    if (one == NULL || one->prompt == NULL || one->said == NULL) {
        turn_release(one);
        return shell_fail(s, "", "out of memory");
    }
    one->prompt_len = t->prompt_len;
    one->said_len = t->said_len;
    one->chat = t->chat;
    one->before = turn_retain(t->before);
    snprintf(span, sizeof span, "%zu:%zu", r->span_start + w->first, r->span_start + w->first + w->n);
    json_t *asked = json_copy(its->asked);
    json_object_set_new(asked, "span", json_string(span));
    json_object_set_new(asked, "per_token", json_true());
    bool ok = shell_ask(s, one, asked, false);
    json_decref(asked);
    if (ok) {
        shell_put_result(s, one, false);
        past_push(&s->past, json_incref(past_now(&s->past)->settings), one);
    }
    turn_release(one);
    return ok;
}

static bool take(shell *s, turn *t, const word_sheet *w, int side, size_t i) {
    const word *x = &w->side[side].v[i];
    if (side == SIDE_ANSWER && x->n > 0) return explain_word(s, t, x);
    figures(s, w, side, i);
    return true;
}

/* Draws over what was drawn before. */
static size_t redraw(shell *s, const chooser *c, size_t drawn, bool anew) {
    if (anew)
        asc_text_adds(s->out, "\x1b[H\x1b[2J");
    else if (drawn > 1)
        asc_text_addf(s->out, "\r\x1b[%zuA\x1b[J", drawn - 1);
    else
        asc_text_adds(s->out, "\r\x1b[J");
    drawn = chooser_draw(s->ctx, c, s->o->style.colours, s->out);
    shell_flush(s);
    return drawn;
}

static void lay(shell *s, word_sheet *w, size_t *rows) {
    size_t columns;
    terminal_size(&columns, rows);
    words_lay(s->ctx, w, columns > 1 ? columns - 1 : 1, INDENT); /* the last column makes terminals wrap */
}

static bool choose_with(shell *s, turn *t, word_sheet *w) {
    chooser c;
    size_t rows, drawn;
    chosen what = CHOOSE_MOVED;
    lay(s, w, &rows);
    if (!chooser_begin(&c, w, rows)) return shell_fail(s, "", "there is no word to choose");
    if (!terminal_keys(&s->terminal)) return shell_fail(s, "", "this needs a terminal");
    asc_text_adds(s->out, "\x1b[?25l");
    drawn = redraw(s, &c, 0, false);
    while (what != CHOOSE_LEAVE && what != CHOOSE_TAKE) {
        shell_key k = terminal_key(&s->terminal);
        if (k == KEY_RESIZE) {
            lay(s, w, &rows);
            chooser_resize(&c, rows);
        }
        what = chooser_key(&c, k);
        if (what == CHOOSE_MOVED) drawn = redraw(s, &c, drawn, k == KEY_RESIZE);
    }
    asc_text_adds(s->out, "\r\n\x1b[?25h");
    shell_flush(s);
    terminal_no_keys(&s->terminal);
    return what != CHOOSE_TAKE || take(s, t, w, c.side, c.i);
}

/* Words of the turn, with the matrix if there can be one. */
static bool sheet_of(shell *s, turn *t, word_sheet *w) {
    if (!shell_need_matrix(s, t) && asc_error_code(s->ctx) == ASC_CANCELLED) return false;
    if (words_make(s->ctx, asc_answer_result(shell_words_of(t)->result), shell_tokenizer(s), w) != ASC_OK)
        return shell_fail(s, "", "out of memory");
    shell_say_whose_words(s, t);
    return true;
}

bool shell_choose(shell *s) {
    word_sheet w;
    turn *t = shell_last_explained(s);
    if (t == NULL) return false;
    if (asc_answer_result(t->result) == NULL) return shell_fail(s, "", "a net's input has no words");
    asc_error_clear(s->ctx);
    if (!sheet_of(s, t, &w)) return false;
    turn_retain(t);
    bool ok = choose_with(s, t, &w);
    turn_release(t);
    words_free(&w);
    return ok;
}

bool do_word(shell *s, const shell_command *c, asc_view rest) {
    word_sheet w;
    const char *why;
    size_t n;
    (void)c;
    if (rest.len == 0 && s->terminal.able) return shell_choose(s);
    turn *t = shell_last_explained(s);
    if (t == NULL) return false;
    if (rest.len == 0)
        return shell_fail(s, ":word WORD, or its number", ":word needs a word where no keys can choose");
    asc_error_clear(s->ctx);
    char *text = line_value(rest, &n, &why);
    if (text == NULL) return shell_fail(s, "", ":word: %s", why);
    bool ok = sheet_of(s, t, &w);
    if (!ok) {
        free(text);
        return false;
    }
    int side = SIDE_ANSWER;
    size_t i = words_find(&w, side, (asc_view){text, n});
    if (i == SIZE_MAX) i = words_find(&w, side = SIDE_PROMPT, (asc_view){text, n});
    if (i == SIZE_MAX)
        ok = shell_fail(s, "a word as it stands there, or its number counted from 1",
                        "neither the answer nor the prompt has the word '%.100s'", text);
    else
        figures(s, &w, side, i);
    free(text);
    words_free(&w);
    return ok;
}
