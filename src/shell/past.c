/* past.c - turns, moments, undo. */
#include "past.h"
#include <stdlib.h>
#include <string.h>

turn *turn_create(void) {
    turn *t = calloc(1, sizeof *t);
    if (t != NULL) t->references = 1;
    return t;
}

turn *turn_retain(turn *t) {
    if (t != NULL) t->references++;
    return t;
}

void turn_release(turn *t) {
    while (t != NULL && --t->references == 0) { /* a loop: conversations are long */
        turn *before = t->before;
        turn_release(t->words); /* which has neither past nor words */
        asc_answer_destroy(t->result);
        asc_question_destroy(t->question);
        json_decref(t->asked);
        free(t->prompt);
        free(t->ids);
        free(t->answer);
        free(t->said);
        free(t);
        t = before;
    }
}

static void forget(moment *m) {
    json_decref(m->settings);
    turn_release(m->last);
    *m = (moment){0};
}

bool past_init(shell_past *p) {
    p->n = 1;
    p->at = 0;
    p->v[0] = (moment){.settings = json_object()};
    return p->v[0].settings != NULL;
}

void past_deinit(shell_past *p) {
    for (size_t i = 0; i < p->n; i++) forget(&p->v[i]);
    p->n = 0;
}

const moment *past_now(const shell_past *p) { return &p->v[p->at]; }

void past_push(shell_past *p, json_t *take_settings, turn *last) {
    turn_retain(last);
    while (p->n > p->at + 1) forget(&p->v[--p->n]);
    if (p->n == PAST_MOST) {
        forget(&p->v[0]);
        memmove(&p->v[0], &p->v[1], (PAST_MOST - 1) * sizeof p->v[0]);
        p->n--;
    }
    p->v[p->n] = (moment){.settings = take_settings, .last = last};
    p->at = p->n++;
}

void past_begin_here(shell_past *p) {
    moment now = p->v[p->at];
    for (size_t i = 0; i < p->n; i++) {
        if (i != p->at) forget(&p->v[i]);
    }
    p->v[0] = now;
    p->n = 1;
    p->at = 0;
}

bool past_undo(shell_past *p) {
    if (p->at == 0) return false;
    p->at--;
    return true;
}

bool past_redo(shell_past *p) {
    if (p->at + 1 >= p->n) return false;
    p->at++;
    return true;
}

/* Names of keys whose values differ between a and b, those that only b has when `added`. */
static size_t changed(json_t *a, json_t *b, bool added, asc_text *out, size_t said) {
    const char *key;
    json_t *value;
    json_object_foreach(b, key, value) {
        json_t *other = json_object_get(a, key);
        if (added ? other != NULL : other == NULL || json_equal(value, other)) continue;
        asc_text_addf(out, "%s%s", said++ > 0 ? ", " : "", key[0] == ':' ? key + 1 : key);
    }
    return said;
}

void past_difference(const moment *a, const moment *b, asc_text *out) {
    size_t said = 0;
    if (a->last != b->last) {
        const turn *t = b->last != NULL ? b->last : a->last;
        const bool fresh = b->last != NULL && a->last != NULL && b->last->before == a->last->before;
        asc_text_adds(out, fresh ? "an attribution of " : b->last == NULL ? "the end of " : "the prompt ");
        asc_text_adds(out, "\"");
        asc_text_shown(out, (asc_view){t->prompt != NULL ? t->prompt : "", t->prompt_len}, 40);
        asc_text_adds(out, "\"");
        said++;
    }
    said = changed(a->settings, b->settings, false, out, said);
    said = changed(a->settings, b->settings, true, out, said);
    changed(b->settings, a->settings, true, out, said);
}
