/* do_sampling.c - how the tokens of an answer are drawn: settings of the shell's own, as no question has
 * them. The seed is the question's key: the same prompt, settings and seed have the same answer. */
#include "line.h"
#include "shell_parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number that a session keeps. */
typedef struct drawing {
    const char *name;    /* as commands and options spell it */
    const char *setting; /* in the moment's settings */
    double least, most;
    bool whole;
    const char *range, *doc;
} drawing;

static const drawing drawings[] = {
    {"temperature", ":temperature", 0, 100, false, "from 0 to 100", "0: always the likeliest token"},
    {"top-p", ":top_p", 0, 1, false, "from 0 to 1", "0 or 1: all tokens"},
    {"top-k", ":top_k", 0, 1000000, true, "a whole number from 0 to 1000000", "0: all tokens"},
};
enum { N_DRAWINGS = sizeof drawings / sizeof *drawings };

static const drawing *find(asc_view name) {
    for (size_t i = 0; i < N_DRAWINGS; i++) {
        const char *s = drawings[i].name;
        size_t k = 0;
        while (k < name.len && s[k] != '\0' && (name.ptr[k] == '_' ? '-' : name.ptr[k]) == s[k]) k++;
        if (k == name.len && s[k] == '\0') return &drawings[i];
    }
    return NULL;
}

const char *shell_drawing_name(size_t i) { return i < N_DRAWINGS ? drawings[i].name : NULL; }

const char *shell_drawing_setting(asc_view name) {
    const drawing *d = find(name);
    return d != NULL ? d->setting : NULL;
}

static bool number(asc_view v, double *out) {
    char s[64], *end;
    if (v.len == 0 || v.len >= sizeof s) return false;
    memcpy(s, v.ptr, v.len);
    s[v.len] = '\0';
    if (strspn(s, "0123456789+-.eE") != v.len) return false;
    *out = strtod(s, &end);
    return *end == '\0' && end != s && isfinite(*out);
}

static void show(shell *s, const drawing *d) {
    const json_t *set = shell_setting(s, d->setting);
    asc_text_addf(s->out, "  %-16s %.15g  (%s, %s)\n", d->name, set != NULL ? json_number_value(set) : 0,
                  d->range, d->doc);
    shell_flush(s);
}

bool shell_set_drawing(shell *s, asc_view name, asc_view text) {
    const drawing *d = find(name);
    double x;
    if (!number(text, &x) || !(x >= d->least && x <= d->most) || (d->whole && x != floor(x)))
        return shell_fail(s, d->doc, "%s: '%.*s' is not %s", d->name, text.len < 40 ? (int)text.len : 40,
                          text.ptr, d->range);
    json_t *fresh = json_copy(past_now(&s->past)->settings);
    json_object_set_new(fresh, d->setting, d->whole ? json_integer((json_int_t)x) : json_real(x));
    past_push(&s->past, fresh, past_now(&s->past)->last);
    return true;
}

bool do_drawing(shell *s, const shell_command *c, asc_view rest) {
    asc_view name = {c->name, strlen(c->name)};
    if (rest.len > 0) return shell_set_drawing(s, name, rest);
    show(s, find(name));
    return true;
}

void shell_put_drawing(const shell *s, asc_generate_options *o) {
    const json_t *seed = shell_setting(s, "seed");
    o->temperature = json_number_value(shell_setting(s, ":temperature"));
    o->top_p = json_number_value(shell_setting(s, ":top_p"));
    o->top_k = (int)json_integer_value(shell_setting(s, ":top_k"));
    if (json_is_integer(seed)) o->seed = (uint64_t)json_integer_value(seed);
}
