/* script.c - a script for sh that makes an attribution again: the command line that asks the same. Where the
 * library knows no options for a question, because it holds a conversation or what was in a file, the words
 * of the shell do: a conversation goes in by standard input, files by their names. */
#include "settings.h"
#include "shell_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In single quotes. */
static void quoted(asc_text *out, const char *s, size_t n) {
    asc_text_adds(out, "'");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\'')
            asc_text_adds(out, "'\\''");
        else
            asc_text_add(out, (asc_view){s + i, 1});
    }
    asc_text_adds(out, "'");
}

/* One value of an option; false: no word says it. */
static bool value(asc_text *out, const char *option, const json_t *v) {
    const char *s = json_string_value(v);
    if (json_is_string(v) && strlen(s) != json_string_length(v)) return false; /* no argument holds a NUL */
    if (json_is_true(v)) asc_text_addf(out, " --%s", option);
    if (json_is_boolean(v)) return true;
    asc_text_addf(out, " --%s=", option);
    if (json_is_string(v)) quoted(out, s, json_string_length(v));
    if (json_is_integer(v)) asc_text_addf(out, "%lld", (long long)json_integer_value(v));
    if (json_is_real(v)) asc_text_addf(out, "%.17g", json_real_value(v));
    return json_is_string(v) || json_is_number(v);
}

static bool key_value(asc_text *out, const char *option, const json_t *v) {
    if (!json_is_array(v)) return value(out, option, v);
    bool numbers = json_array_size(v) > 0 && json_is_integer(json_array_get(v, 0));
    if (numbers) asc_text_addf(out, " --%s=", option);
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *item = json_array_get(v, i);
        if (numbers && !json_is_integer(item)) return false;
        if (numbers)
            asc_text_addf(out, i > 0 ? ",%lld" : "%lld", (long long)json_integer_value(item));
        else if (!json_is_string(item) || !value(out, option, item))
            return false;
    }
    return json_array_size(v) > 0;
}

static const asc_question_key *key_of(const char *name, unsigned subjects) {
    const asc_question_key *k;
    for (size_t i = 0; (k = asc_question_key_at(i)) != NULL; i++) {
        if ((k->subjects & subjects) != 0 && strcmp(k->name, name) == 0) return k;
    }
    return NULL;
}

/* The command line from the question as JSON; *messages receives what goes to its standard input. */
static bool from_keys(const shell *s, const turn *t, asc_text *out, const json_t **messages) {
    const char *name;
    json_t *v, *from = shell_setting(s, ":from");
    asc_text_adds(out, "ascribe explain ");
    quoted(out, asc_subject_path(s->subject), strlen(asc_subject_path(s->subject)));
    json_object_foreach(t->asked, name, v) {
        const asc_question_key *k = key_of(name, s->kind);
        const json_t *words = json_object_get(from, name);
        if (shell_setting(s, name) != v)
            words = NULL; /* set anew since: these files are another question's */
        if (k == NULL || k->option[0] == '\0') return false;
        if (words != NULL) {
            for (size_t i = 0; i < json_array_size(words); i++) {
                const char *w = json_string_value(json_array_get(words, i));
                if (w == NULL || strpbrk(w, "[{") != NULL)
                    return false; /* numbers that were typed: no file has them */
                if (!value(out, k->option, json_array_get(words, i))) return false;
            }
        } else if (k->type == ASC_KEY_MESSAGES) {
            asc_text_addf(out, " --%s=-", k->option);
            *messages = v;
        } else if (settings_is_from_file(k) && !json_is_string(v) && !json_is_number(v)) {
            return false; /* the option names a file, and there is none */
        } else if (!key_value(out, k->option, v)) {
            return false;
        }
    }
    return true;
}

bool shell_script(shell *s, const turn *t, asc_text *out) {
    char folder[4096];
    const json_t *messages = NULL;
    asc_text_adds(out, "#!/bin/sh\n# Makes this attribution again. Written by the shell of ascribe ");
    asc_text_addf(out, "%s.\n", asc_version());
    if (getcwd(folder, sizeof folder) != NULL) { /* names of files may be seen from here */
        asc_text_adds(out, "cd ");
        quoted(out, folder, strlen(folder));
        asc_text_adds(out, " || exit 1\n");
    }
    if (!asc_question_command(t->question, out) && !from_keys(s, t, out, &messages))
        return shell_fail(s, ":save FILE.json keeps all of it",
                          "no command line says this question: something in it has no option");
    asc_text_adds(out, " \"$@\"");
    if (messages == NULL) {
        asc_text_adds(out, "\n");
        return true;
    }
    char *text = json_dumps(messages, JSON_INDENT(1) | JSON_ENSURE_ASCII); /* no line of it can be the mark */
    if (text == NULL) return shell_fail(s, "", "out of memory");
    asc_text_addf(out, " <<'CONVERSATION'\n%s\nCONVERSATION\n", text);
    free(text);
    return true;
}
