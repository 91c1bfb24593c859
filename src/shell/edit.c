/* edit.c - libedit and what it lacks: our own reading of bytes (signals, windows that change), bracketed
 * paste and completion from the shell's tables. */
#include "edit.h"
#include "complete.h"
#include "history_file.h"
#include "line.h"
#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct editor {
    shell *s;
    EditLine *el;
    History *history;
    const char *prompt;
    mbstate_t state;
    bool interrupted, select;
    bool gave_up;     /* the interrupted line held something */
    bool file_failed; /* the history's file: said once */
    asc_text *paste;
};

static editor *of(EditLine *el) {
    void *p = NULL;
    el_get(el, EL_CLIENTDATA, &p);
    return p;
}

static char *prompt_of(EditLine *el) {
    static char none[] = "";
    editor *e = of(el);
    return e != NULL && e->prompt != NULL ? (char *)(uintptr_t)e->prompt : none;
}

/* ---- bytes ---- */

/* What signals said, while a line is edited; false: the line is over. */
static bool handle(editor *e, terminal_event event) {
    switch (event) {
    case TERMINAL_RESIZED:
        el_resize(e->el);
        el_set(e->el, EL_REFRESH);
        return true;
    case TERMINAL_STOP:
        el_set(e->el, EL_PREP_TERM, 0);
        terminal_sleep(&e->s->terminal);
        el_set(e->el, EL_PREP_TERM, 1);
        terminal_write((asc_view){"\x1b[?2004h", 8});
        el_resize(e->el);
        el_set(e->el, EL_REFRESH);
        return true;
    case TERMINAL_NOTHING:
        return true;
    default:
        return false;
    }
}

static int next_char(EditLine *el, wchar_t *out) {
    editor *e = of(el);
    fflush(stdout);
    for (;;) {
        unsigned char byte;
        terminal_event event;
        int got = terminal_byte(&e->s->terminal, -1, &byte, &event);
        if (got < 0) return 0;
        if (got == 0 && event == TERMINAL_INTERRUPT) {
            *out = 3;
            return 1;
        }
        if (got == 0) {
            if (!handle(e, event)) return 0;
            continue;
        }
        size_t n = mbrtowc(out, (const char *)&byte, 1, &e->state);
        if (n == (size_t)-2) continue;
        if (n == (size_t)-1) { /* not UTF-8: shown as what it is, a character nobody knows */
            e->state = (mbstate_t){0};
            *out = 0xFFFD;
        }
        return 1;
    }
}

/* ---- keys ---- */

static unsigned char on_interrupt(EditLine *el, int ch) {
    const LineInfo *line = el_line(el);
    (void)ch;
    of(el)->interrupted = true;
    of(el)->gave_up = line->lastchar > line->buffer;
    return CC_EOF;
}

static unsigned char on_sleep(EditLine *el, int ch) {
    (void)ch;
    handle(of(el), TERMINAL_STOP);
    return CC_REFRESH;
}

/* Everything up to ESC [ 201 ~, which terminals send behind what is pasted. Breaks of other systems become
 * line breaks, control characters are dropped. */
static unsigned char on_paste(EditLine *el, int ch) {
    static const char end[] = "\x1b[201~";
    editor *e = of(el);
    size_t matched = 0;
    bool cr = false;
    (void)ch;
    asc_text_clear(e->paste);
    while (matched < sizeof end - 1) {
        unsigned char byte;
        terminal_event event;
        int got = terminal_byte(&e->s->terminal, 10, &byte, &event);
        if (got < 0 || (got == 0 && (event == TERMINAL_NOTHING || !handle(e, event)))) break;
        if (got == 0) continue;
        if (byte == (unsigned char)end[matched]) {
            matched++;
            continue;
        }
        if (matched > 1) asc_text_add(e->paste, (asc_view){end + 1, matched - 1}); /* without the escape */
        matched = byte == 0x1b;
        bool lf = byte == '\n' || byte == '\r';
        if (lf && !(cr && byte == '\n')) asc_text_adds(e->paste, "\n");
        cr = byte == '\r';
        if (lf || matched > 0 || (byte < 0x20 && byte != '\t') || byte == 0x7f) continue;
        if (asc_text_view(e->paste).len < LINE_MOST)
            asc_text_add(e->paste, (asc_view){(const char *)&byte, 1});
    }
    asc_view v = asc_text_view(e->paste);
    size_t n = v.len;
    while (n > 0 && v.ptr[n - 1] == '\n') n--;
    char *text = asc_text_status(e->paste) == ASC_OK ? strndup(v.ptr, n) : NULL;
    int failed = text != NULL && n > 0 ? el_insertstr(el, text) : text == NULL;
    free(text);
    return failed != 0 ? CC_REFRESH_BEEP : CC_REFRESH;
}

static void list(editor *e, const completion *c) {
    size_t columns, rows, wide = 0;
    terminal_size(&columns, &rows);
    for (size_t i = 0; i < c->n; i++) {
        if (strlen(c->v[i]) + 2 > wide) wide = strlen(c->v[i]) + 2;
    }
    size_t across = wide > 0 && columns > wide ? columns / wide : 1;
    asc_text_adds(e->s->out, "\r\n");
    for (size_t i = 0; i < c->n && i < across * (rows > 4 ? rows - 4 : 1); i++) {
        size_t at = asc_text_shown(e->s->out, (asc_view){c->v[i], strlen(c->v[i])}, wide);
        if ((i + 1) % across == 0 || i + 1 == c->n)
            asc_text_adds(e->s->out, "\r\n");
        else
            asc_text_blanks(e->s->out, wide > at ? wide - at : 1);
    }
    shell_flush(e->s);
}

static unsigned char on_tab(EditLine *el, int ch) {
    editor *e = of(el);
    const LineInfo *line = el_line(el);
    completion c;
    unsigned char result = CC_REFRESH;
    (void)ch;
    if (line->lastchar == line->buffer) {
        e->select = true;
        return CC_EOF;
    }
    size_t cursor = (size_t)(line->cursor - line->buffer);
    complete_line((asc_view){line->buffer, cursor}, e->s->kind, &c);
    size_t common = completion_common(&c), typed = cursor - c.start;
    if (c.n == 0) {
        result = CC_REFRESH_BEEP;
    } else if (common > typed || c.n == 1) {
        size_t len = strlen(c.v[0]);
        bool folder = c.file && len > 0 && c.v[0][len - 1] == '/';
        char *rest = malloc(common - typed + 2);
        if (rest != NULL) {
            memcpy(rest, c.v[0] + typed, common - typed);
            strcpy(rest + (common - typed), c.n == 1 && !folder ? " " : "");
            el_insertstr(el, rest);
        }
        free(rest);
    } else {
        list(e, &c);
        result = CC_REDISPLAY;
    }
    completion_free(&c);
    return result;
}

/* ---- the editor ---- */

static void recall(void *self, asc_view line) {
    HistEvent event;
    editor *e = self;
    history(e->history, &event, H_ENTER, line.ptr);
}

/* Characters are UTF-8; other things of a locale, such as the decimal point, are not wanted. */
static void use_utf8(void) {
    setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
}

static bool begin_libedit(editor *e) {
    HistEvent event;
    e->el = el_init("ascribe", stdin, stdout, stderr);
    e->history = history_init();
    if (e->el == NULL || e->history == NULL) return false;
    history(e->history, &event, H_SETSIZE, HISTORY_LINES);
    el_set(e->el, EL_CLIENTDATA, e);
    el_set(e->el, EL_SIGNAL, 0);
    el_set(e->el, EL_PROMPT, prompt_of);
    el_set(e->el, EL_EDITOR, "emacs");
    el_set(e->el, EL_HIST, history, e->history);
    el_set(e->el, EL_GETCFN, next_char);
    /* Wide names: of narrow ones libedit keeps copies that nobody frees. */
    el_wset(e->el, EL_ADDFN, L"shell-interrupt", L"gives the line up", on_interrupt);
    el_wset(e->el, EL_ADDFN, L"shell-sleep", L"stops the program until it is woken", on_sleep);
    el_wset(e->el, EL_ADDFN, L"shell-paste", L"takes in what is pasted", on_paste);
    el_wset(e->el, EL_ADDFN, L"shell-complete", L"completes, or chooses words", on_tab);
    el_set(e->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(e->el, EL_BIND, "\\e[H", "ed-move-to-beg", NULL);
    el_set(e->el, EL_BIND, "\\e[F", "ed-move-to-end", NULL);
    el_set(e->el, EL_BIND, "\\e[3~", "ed-delete-next-char", NULL);
    el_source(e->el, NULL);
    el_set(e->el, EL_BIND, "^C", "shell-interrupt", NULL);
    el_set(e->el, EL_BIND, "^I", "shell-complete", NULL);
    el_set(e->el, EL_BIND, "\\e[200~", "shell-paste", NULL);
    el_set(e->el, EL_BIND, "^Z", "shell-sleep", NULL);
    /* While a line is edited, Ctrl-C and Ctrl-Z are keys; between lines the terminal stays as terminal.c has
     * it. */
    el_set(e->el, EL_SETTY, "-d", "-isig", "-icrnl", "-inlcr", "-ixon", NULL);
    el_set(e->el, EL_SETTY, "-x", "-icanon", "-echo", "-iexten", "-icrnl", "-inlcr", "-ixon", NULL);
    return true;
}

editor *editor_create(shell *s) {
    editor *e = calloc(1, sizeof *e);
    if (e == NULL) return NULL;
    e->s = s;
    use_utf8();
    if (asc_text_create(s->ctx, &e->paste) != ASC_OK || (s->terminal.able && !begin_libedit(e))) {
        editor_destroy(e);
        return NULL;
    }
    if (e->el != NULL && s->o->history != NULL) {
        asc_status st = history_read(s->ctx, s->o->history, recall, e);
        if (st != ASC_OK) shell_error(s, st);
    }
    return e;
}

void editor_destroy(editor *e) {
    if (e == NULL) return;
    if (e->el != NULL) el_end(e->el);
    if (e->history != NULL) history_end(e->history);
    asc_text_destroy(e->paste);
    free(e);
}

/* A terminal that cannot do more than print: the line discipline edits. */
static edited read_plain(editor *e, const char *prompt, asc_text *line) {
    asc_text_adds(e->s->out, prompt);
    shell_flush(e->s);
    for (;;) {
        unsigned char byte;
        terminal_event event;
        int got = terminal_byte(&e->s->terminal, -1, &byte, &event);
        if (got < 0) return asc_text_view(line).len > 0 ? EDITED_LINE : EDITED_END;
        if (got == 1 && byte == '\n') return EDITED_LINE;
        if (got == 1 && asc_text_view(line).len < LINE_MOST)
            asc_text_add(line, (asc_view){(const char *)&byte, 1});
        if (got == 1) continue;
        if (event == TERMINAL_INTERRUPT) return EDITED_INTERRUPT;
        if (event == TERMINAL_STOP) terminal_sleep(&e->s->terminal);
        if (event == TERMINAL_END) return EDITED_END;
    }
}

edited editor_read(editor *e, const char *prompt, asc_text *line) {
    int n = 0;
    asc_text_clear(line);
    if (e->el == NULL) return read_plain(e, prompt, line);
    e->prompt = prompt;
    e->interrupted = e->select = false;
    e->state = (mbstate_t){0};
    el_resize(e->el);
    /* libedit shows the prompt first and changes the mode then: what is typed in between would be signals,
     * and two of them that come at once are one. */
    el_set(e->el, EL_PREP_TERM, 1);
    terminal_write((asc_view){"\x1b[?2004h", 8});
    const char *got = el_gets(e->el, &n);
    terminal_write((asc_view){"\x1b[?2004l", 8});
    if (e->interrupted || e->select) {
        terminal_write(e->interrupted ? (asc_view){"^C\r\n", 4} : (asc_view){"\r", 1});
        el_reset(e->el);
        if (e->interrupted && e->gave_up) asc_text_adds(line, "^C");
        return e->interrupted ? EDITED_INTERRUPT : EDITED_SELECT;
    }
    if (got == NULL || n <= 0) {
        terminal_write((asc_view){"\r\n", 2});
        return EDITED_END;
    }
    size_t len = (size_t)n;
    if (got[len - 1] == '\n') len--;
    asc_text_add(line, (asc_view){got, len});
    return EDITED_LINE;
}

void editor_remember(editor *e, asc_view line) {
    HistEvent event;
    if (e->el == NULL || line.len == 0 || line.len > HISTORY_LONGEST || line.ptr[0] == ' ') return;
    history(e->history, &event, H_ENTER, line.ptr);
    if (e->s->o->history == NULL || e->file_failed) return;
    asc_status st = history_add(e->s->ctx, e->s->o->history, line);
    if (st == ASC_OK) return;
    e->file_failed = true;
    shell_fail(e->s, "--history FILE or --history off", "the history cannot be kept in '%.300s'",
               e->s->o->history);
    asc_error_clear(e->s->ctx);
}
