/* shell_run.c - the loop: a line is read, it is a prompt or a command, it is done. Errors never end a shell
 * that somebody types into. */
#include "edit.h"
#include "line.h"
#include "settings.h"
#include "shell_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool command(shell *s, const line_parts *p) {
    char why[200];
    const shell_command *c = shell_command_find(p->name, why, sizeof why);
    if (c == NULL) return shell_fail(s, ":help", "%s", why);
    if ((c->subjects & s->kind) == 0)
        return shell_fail(s, ":help", ":%s means nothing for this kind of model", c->name);
    return c->run(s, c, p->rest);
}

static void perform(shell *s, asc_view line, bool literal) {
    line_parts p = line_parse(line, literal);
    asc_error_clear(s->ctx);
    if (p.kind == LINE_PROMPT) shell_prompt(s, p.text);
    if (p.kind == LINE_COMMAND) command(s, &p);
    shell_flush(s);
}

/* Performs what was joined; the text is copied because commands may read on. */
static void finish(shell *s, line_joiner *j, editor *e) {
    asc_view v = asc_text_view(j->text);
    bool literal = j->block;
    char *line = malloc(v.len + 1);
    if (line == NULL) {
        shell_fail(s, "", "out of memory");
        return;
    }
    if (v.len > 0) memcpy(line, v.ptr, v.len);
    line[v.len] = '\0';
    v = (asc_view){line, v.len};
    line_restart(j);
    if (e != NULL) editor_remember(e, v);
    perform(s, v, literal);
    free(line);
}

static void feed(shell *s, line_joiner *j, asc_view line, editor *e) {
    switch (line_feed(j, line)) {
    case LINE_DONE:
        finish(s, j, e);
        break;
    case LINE_TOO_LONG:
        shell_fail(s, "", "over %d MiB: too long for a line", LINE_MOST >> 20);
        line_restart(j);
        break;
    default:
        break;
    }
}

static void greet(shell *s) {
    const char *path = asc_subject_path(s->subject), *base = strrchr(path, '/');
    if (s->o->quiet) return;
    base = base != NULL && base[1] != '\0' ? base + 1 : path;
    asc_text_adds(s->out, "ascribe ");
    asc_text_adds(s->out, asc_version());
    asc_text_adds(s->out, ", ");
    asc_text_shown(s->out, (asc_view){base, strlen(base)}, 60);
    asc_text_adds(s->out, s->kind == ASC_KEY_PROMPTS    ? ": type a prompt"
                          : s->kind == ASC_KEY_ENCODERS ? ": type a text"
                                                        : ": :load-picture or :input");
    asc_text_adds(s->out, ", :help for commands, Ctrl-D to leave\n");
    shell_flush(s);
}

static void interactive(shell *s, line_joiner *j, asc_text *line) {
    editor *e = editor_create(s);
    bool asked_once = false;
    if (e == NULL) {
        shell_fail(s, "", "out of memory");
        return;
    }
    greet(s);
    while (!s->quit && !terminal_is_ending()) {
        bool again = false;
        switch (editor_read(e, j->open ? "... " : "> ", line)) {
        case EDITED_END:
            s->quit = true;
            break;
        case EDITED_INTERRUPT:
            again = !j->open && asc_text_view(line).len == 0;
            line_restart(j);
            s->quit = again && asked_once;
            if (again && !s->quit) {
                asc_text_adds(s->out, "(Ctrl-C once more, or Ctrl-D, leaves)\n");
                shell_flush(s);
            }
            break;
        case EDITED_SELECT:
            if (!j->open) shell_choose(s);
            break;
        default:
            feed(s, j, asc_text_view(line), e);
        }
        asked_once = again;
    }
    editor_destroy(e);
}

static void piped(shell *s, line_joiner *j) {
    char *buffer = NULL;
    size_t capacity = 0;
    ssize_t n = 0;
    while (!s->quit && !terminal_is_ending() && (n = getline(&buffer, &capacity, stdin)) >= 0) {
        size_t len = (size_t)n;
        s->line++;
        if (len > 0 && buffer[len - 1] == '\n') len--;
        if (len > 0 && buffer[len - 1] == '\r') len--;
        feed(s, j, (asc_view){buffer, len}, NULL);
    }
    if (!s->quit && ferror(stdin)) shell_fail(s, "", "standard input cannot be read");
    if (!s->quit && j->open) shell_fail(s, "", "the input ends inside a prompt of several lines");
    free(buffer);
}

/* "KEY=VALUE" of the command line. */
static bool set_first(shell *s) {
    for (size_t i = 0; i < s->o->n_set; i++) {
        char line[4096];
        const char *equals = strchr(s->o->set[i], '=');
        if (equals == NULL) return shell_fail(s, "--set KEY=VALUE", "'%.200s' has no =", s->o->set[i]);
        int n = snprintf(line, sizeof line, ":set %.*s %s", (int)(equals - s->o->set[i]), s->o->set[i],
                         equals + 1);
        if (n < 0 || (size_t)n >= sizeof line) return shell_fail(s, "", "--set: the value is too long");
        line_parts p = line_parse((asc_view){line, (size_t)n}, false);
        if (!command(s, &p)) return false;
    }
    past_begin_here(&s->past);
    return true;
}

static int exit_code(asc_status st) {
    if (st == ASC_CANCELLED) return 1;
    return st == ASC_INTERNAL || st == ASC_UNKNOWN || st == ASC_ABORTED ? 4 : 3;
}

int shell_run(asc_ctx *ctx, const shell_options *o) {
    static const unsigned kinds[] = {ASC_KEY_PROMPTS, ASC_KEY_ENCODERS, ASC_KEY_NETS};
    shell s = {.ctx = ctx, .o = o};
    line_joiner j = {0};
    asc_text *line = NULL;
    int rc = 0;
    bool begun = false;
    terminal_begin(&s.terminal, ctx, o->interactive);
    asc_status st = asc_text_create(ctx, &s.out);
    if (st == ASC_OK) st = asc_text_create(ctx, &j.text);
    if (st == ASC_OK) st = asc_text_create(ctx, &line);
    if (st == ASC_OK) begun = past_init(&s.past);
    terminal_work_begins(&s.terminal);
    if (st == ASC_OK)
        st = begun ? asc_subject_open(ctx, o->model_path, &o->model, &s.subject) : ASC_RESOURCE_EXHAUSTED;
    if (st != ASC_OK) {
        rc = exit_code(st);
        if (s.out != NULL) shell_error(&s, st);
    }
    terminal_work_ends(&s.terminal);
    if (st == ASC_OK) {
        s.kind = kinds[asc_subject_get_kind(s.subject)];
        if (!set_first(&s)) {
            rc = 2;
        } else if (o->interactive) {
            interactive(&s, &j, line);
        } else {
            s.failed = false;
            piped(&s, &j);
            rc = s.failed;
        }
        if (rc == 0 && terminal_is_ending()) rc = 1;
    }
    if (begun) past_deinit(&s.past);
    asc_text_destroy(line);
    asc_text_destroy(j.text);
    asc_text_destroy(s.out);
    asc_subject_close(s.subject);
    terminal_end(&s.terminal);
    return rc;
}
