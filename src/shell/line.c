/* line.c - prompts, commands and their words; joining of lines. */
#include "line.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static asc_view trimmed(asc_view v) {
    while (v.len > 0 && blank(v.ptr[0])) v = (asc_view){v.ptr + 1, v.len - 1};
    while (v.len > 0 && blank(v.ptr[v.len - 1])) v.len--;
    return v;
}

line_parts line_parse(asc_view line, bool literal) {
    line_parts p = {.kind = LINE_PROMPT, .text = line};
    asc_view t = trimmed(line);
    if (t.len == 0) p.kind = LINE_EMPTY;
    if (literal || t.len == 0 || t.ptr[0] != ':') return p;
    if (t.len > 1 && t.ptr[1] == ':') {
        size_t skip = (size_t)(t.ptr - line.ptr) + 1;
        p.text = (asc_view){line.ptr + skip, line.len - skip};
        return p;
    }
    size_t n = 1;
    while (n < t.len && !blank(t.ptr[n])) n++;
    p.kind = LINE_COMMAND;
    p.name = (asc_view){t.ptr + 1, n - 1};
    p.rest = trimmed((asc_view){t.ptr + n, t.len - n});
    return p;
}

bool line_word(asc_view *rest, asc_view *word) {
    asc_view v = trimmed(*rest);
    size_t n = 0;
    if (v.len == 0) return false;
    if (v.ptr[0] == '"') {
        for (n = 1; n < v.len && v.ptr[n] != '"'; n++) {
            if (v.ptr[n] == '\\' && n + 1 < v.len) n++;
        }
        if (n < v.len) n++;
    }
    while (n < v.len && !blank(v.ptr[n])) n++;
    *word = (asc_view){v.ptr, n};
    *rest = trimmed((asc_view){v.ptr + n, v.len - n});
    return true;
}

char *line_value(asc_view value, size_t *len, const char **why) {
    char *out = NULL;
    *len = 0;
    *why = "out of memory";
    if (value.len == 0 || value.ptr[0] != '"') {
        out = malloc(value.len + 1);
        if (out == NULL) return NULL;
        if (value.len > 0) memcpy(out, value.ptr, value.len);
        *len = value.len;
    } else {
        json_error_t e;
        json_t *j = json_loadb(value.ptr, value.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
        *why =
            "a value that begins with a quotation mark is a JSON string: \"...\", with \\\" and \\n inside";
        if (!json_is_string(j)) {
            json_decref(j);
            return NULL;
        }
        *len = json_string_length(j);
        out = malloc(*len + 1);
        if (out != NULL) memcpy(out, json_string_value(j), *len);
        if (out == NULL) *why = "out of memory";
        json_decref(j);
    }
    if (out != NULL) out[*len] = '\0';
    return out;
}

char *line_path(asc_view value, size_t *len, const char **why) {
    const char *home = getenv("HOME");
    char *name = line_value(value, len, why), *path = NULL;
    if (name == NULL || strncmp(name, "~/", 2) != 0 || home == NULL || home[0] != '/') return name;
    size_t n = strlen(home);
    path = malloc(n + *len);
    if (path != NULL) {
        memcpy(path, home, n);
        memcpy(path + n, name + 1, *len); /* with its NUL */
        *len += n - 1;
    } else {
        *why = "out of memory";
    }
    free(name);
    return path;
}

void line_restart(line_joiner *j) {
    asc_text_clear(j->text);
    j->open = false;
    j->block = false;
}

/* Does v end with """? */
static bool closes(asc_view v) { return v.len >= 3 && memcmp(v.ptr + v.len - 3, "\"\"\"", 3) == 0; }

static line_joined add(line_joiner *j, asc_view v, bool more) {
    if (asc_text_view(j->text).len + v.len >= LINE_MOST) return LINE_TOO_LONG;
    asc_text_add(j->text, v);
    if (more) asc_text_adds(j->text, "\n");
    j->open = more;
    if (asc_text_status(j->text) != ASC_OK) return LINE_TOO_LONG;
    return more ? LINE_MORE : LINE_DONE;
}

line_joined line_feed(line_joiner *j, asc_view line) {
    if (j->open && j->block) {
        bool end = closes(line);
        if (end) line.len -= 3;
        if (end && line.len == 0) { /* on a line of its own: the break before it is not meant */
            asc_view all = asc_text_view(j->text);
            char *kept = malloc(all.len + 1);
            if (kept == NULL) return LINE_TOO_LONG;
            memcpy(kept, all.ptr, all.len);
            asc_text_clear(j->text);
            line_joined r = add(j, (asc_view){kept, all.len > 0 ? all.len - 1 : 0}, false);
            free(kept);
            return r;
        }
        return add(j, line, !end);
    }
    if (!j->open) {
        asc_view t = trimmed(line);
        if (t.len >= 3 && memcmp(t.ptr, "\"\"\"", 3) == 0) {
            t = (asc_view){t.ptr + 3, line.len - 3 - (size_t)(t.ptr - line.ptr)};
            asc_view ends = trimmed(t);
            j->block = true;
            j->open = true;
            if (closes(ends))
                return add(j, (asc_view){t.ptr, (size_t)(ends.ptr - t.ptr) + ends.len - 3}, false);
            return trimmed(t).len == 0 ? LINE_MORE : add(j, t, true);
        }
    }
    size_t slashes = 0;
    while (slashes < line.len && line.ptr[line.len - 1 - slashes] == '\\') slashes++;
    if (slashes % 2 == 1) return add(j, (asc_view){line.ptr, line.len - 1}, true);
    if (slashes >= 2) line.len--;
    return add(j, line, false);
}
