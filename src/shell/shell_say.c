/* shell_say.c - what the shell prints: text of its own on standard output, errors beside it. */
#include "shell_parts.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void clear_progress(const shell *s) {
    if (s->o->clear_progress != NULL) s->o->clear_progress();
}

void shell_flush(shell *s) {
    clear_progress(s);
    fflush(stdout);
    if (asc_text_status(s->out) != ASC_OK) {
        asc_text_clear(s->out);
        shell_fail(s, "", "out of memory");
        return;
    }
    terminal_write(asc_text_view(s->out));
    asc_text_clear(s->out);
}

/* File names and prompts in a message are other people's text: they are shown, not obeyed. */
static bool say(shell *s, const char *message, const char *hint) {
    asc_text *t = NULL;
    shell_flush(s);
    s->failed = true;
    if (asc_text_create(s->ctx, &t) != ASC_OK) {
        fputs("ascribe: out of memory\n", stderr);
        return false;
    }
    asc_text_adds(t, "ascribe: ");
    if (!s->o->interactive && s->line > 0) asc_text_addf(t, "line %zu: ", s->line);
    asc_text_complaint(t, message, hint);
    fprintf(stderr, "%s\n", asc_text_view(t).ptr);
    asc_text_destroy(t);
    return false;
}

bool shell_fail(shell *s, const char *hint, const char *fmt, ...) {
    char message[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    return say(s, message, hint);
}

bool shell_error(shell *s, asc_status st) {
    char message[1200], hint[600];
    if (st == ASC_CANCELLED) {
        s->quit = s->quit || !s->o->interactive; /* nobody types the next line: all of it was meant */
        return say(s, "stopped", "");
    }
    snprintf(message, sizeof message, "%s", asc_error_message(s->ctx));
    snprintf(hint, sizeof hint, "%s", asc_error_hint(s->ctx));
    if (message[0] == '\0') snprintf(message, sizeof message, "%s", asc_status_name(st));
    return say(s, message, hint);
}

void shell_say_whose_words(shell *s, const turn *t) {
    if (shell_words_of(t) == t || s->o->quiet) return;
    asc_text_adds(s->out, "  The words of this answer by itself: a contrast has scores of the whole only.\n");
    shell_flush(s);
}

asc_report_style shell_style(const shell *s) {
    asc_report_style style = s->o->style;
    size_t rows;
    if (s->o->interactive) terminal_size(&style.columns, &rows);
    return style;
}

json_t *shell_setting(const shell *s, const char *name) {
    return json_object_get(past_now(&s->past)->settings, name);
}
