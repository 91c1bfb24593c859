/* past.h - what was asked and set before: turns (a prompt, its answer, its attribution) and the moments
 * between which undo and redo go. Turns are counted references: a moment keeps the turns it knew.
 */
#ifndef SHELL_PAST_H
#define SHELL_PAST_H

#include "ascribe/ask.h"
#include <jansson.h>

enum { PAST_MOST = 200 }; /* moments; older ones are forgotten */

/* Fields are written by whoever makes a turn, before anybody else sees it. */
typedef struct turn {
    struct turn *before; /* of the same conversation, or the one shown before; a reference */
    char *prompt;        /* what was typed; malloc */
    size_t prompt_len;
    bool chat;    /* a message, not a text to be continued */
    int32_t *ids; /* of the prompt; malloc */
    size_t n_ids;
    int32_t *answer; /* ids of the model's own; malloc */
    size_t n_answer;
    char *said; /* their text, NUL-terminated; malloc */
    size_t said_len;
    json_t *asked; /* the question as JSON */
    asc_question *question;
    asc_answer *result; /* NULL: it was not explained */
    struct turn *words; /* a contrast's answer by itself, for scores of its words; owned, NULL: not asked */
    double answer_seconds, explain_seconds;
    unsigned references;
} turn;

turn *turn_create(void); /* with one reference; NULL: no memory */
turn *turn_retain(turn *t);
void turn_release(turn *t); /* NULL is accepted */

typedef struct moment {
    json_t *settings; /* never changed once it is here */
    turn *last;
} moment;

typedef struct shell_past {
    moment v[PAST_MOST];
    size_t n, at; /* v[at] is now; those behind it can be had back */
} shell_past;

bool past_init(shell_past *p); /* one moment without settings or turns */
void past_deinit(shell_past *p);
const moment *past_now(const shell_past *p);
/* Makes a new moment; what could have been had back is gone. Takes `settings`; retains `last` (may be NULL).
 */
void past_push(shell_past *p, json_t *take_settings, turn *last);
void past_begin_here(shell_past *p); /* what was before cannot be had back */
bool past_undo(shell_past *p);       /* false: there is nothing before */
bool past_redo(shell_past *p);
/* What the step from a to b did, in a few words, as "method" or "a prompt". */
void past_difference(const moment *a, const moment *b, asc_text *out);

#endif
