/* complete.c - completion from the tables of commands, keys and methods, and from folders. */
#include "complete.h"
#include "ascribe/attr.h"
#include "line.h"
#include "settings.h"
#include "shell_parts.h"
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add(completion *c, asc_view part, const char *name, size_t len) {
    if (len < part.len || memcmp(name, part.ptr, part.len) != 0 || c->n == COMPLETE_MOST) return;
    for (size_t i = 0; i < c->n; i++) {
        if (strlen(c->v[i]) == len && memcmp(c->v[i], name, len) == 0) return;
    }
    c->v[c->n] = strndup(name, len);
    c->n += c->v[c->n] != NULL;
}

/* Parts of "a|b|token:ID"; of one with capitals, what stands before them. */
static void choices(completion *c, asc_view part, const char *list) {
    for (const char *p = list; *p != '\0';) {
        size_t n = strcspn(p, "|"), fixed = 0;
        while (fixed < n && !isupper((unsigned char)p[fixed])) fixed++;
        if (fixed > 0) add(c, part, p, fixed);
        p += n + (p[n] == '|');
    }
}

static void methods(completion *c, asc_view part, unsigned subjects) {
    for (size_t i = 0; asc_method_at(i) != NULL; i++) {
        asc_method_traits has = asc_method_traits_at(i);
        if ((subjects & ASC_KEY_NETS) != 0 ? has.nets : has.prompts)
            add(c, part, asc_method_at(i)->name, strlen(asc_method_at(i)->name));
    }
}

static void keys(completion *c, asc_view part, unsigned subjects) {
    const asc_question_key *k;
    for (size_t i = 0; (k = asc_question_key_at(i)) != NULL; i++) {
        if ((k->subjects & subjects) != 0) add(c, part, k->name, strlen(k->name));
    }
    for (size_t i = 0; (subjects & ASC_KEY_PROMPTS) != 0 && shell_drawing_name(i) != NULL; i++)
        add(c, part, shell_drawing_name(i), strlen(shell_drawing_name(i)));
}

static void files(completion *c, asc_view part) {
    char folder[4096] = ".", full[4400], name[600];
    size_t slash = part.len;
    while (slash > 0 && part.ptr[slash - 1] != '/') slash--;
    if (slash >= sizeof folder) return;
    const char *home = getenv("HOME");
    if (slash > 1 && part.ptr[0] == '~' && part.ptr[1] == '/' && home != NULL)
        snprintf(folder, sizeof folder, "%s%.*s", home, (int)slash - 1, part.ptr + 1);
    else if (slash > 0)
        snprintf(folder, sizeof folder, "%.*s", (int)slash, part.ptr);
    asc_view begin = {part.ptr + slash, part.len - slash};
    c->start += slash;
    c->file = true;
    DIR *d = opendir(folder);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        struct stat st;
        bool hidden = e->d_name[0] == '.' && (begin.len == 0 || begin.ptr[0] != '.');
        if (hidden || strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(full, sizeof full, "%s/%s", folder, e->d_name);
        bool inner = stat(full, &st) == 0 && S_ISDIR(st.st_mode);
        snprintf(name, sizeof name, "%s%s", e->d_name, inner ? "/" : "");
        add(c, begin, name, strlen(name));
    }
    if (d != NULL) closedir(d);
}

static void values(completion *c, asc_view part, const asc_question_key *k, unsigned subjects) {
    if (k == NULL) return;
    if (strcmp(k->name, "method") == 0 || strcmp(k->name, "base") == 0)
        methods(c, part, subjects);
    else if (k->choices[0] != '\0')
        choices(c, part, k->choices);
    else if (k->type == ASC_KEY_BOOL)
        choices(c, part, "on|off");
    else if (settings_is_from_file(k))
        files(c, part);
}

static int in_order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The word that the cursor is in or behind, and how many words stand before it. */
static asc_view part_at_end(asc_view line, size_t *before, asc_view *first_argument) {
    size_t start = line.len;
    asc_view rest, word;
    while (start > 0 && line.ptr[start - 1] != ' ' && line.ptr[start - 1] != '\t') start--;
    rest = (asc_view){line.ptr, start};
    *before = 0;
    *first_argument = (asc_view){0};
    while (line_word(&rest, &word)) {
        if (++*before == 2) *first_argument = word;
    }
    return (asc_view){line.ptr + start, line.len - start};
}

void complete_line(asc_view line, unsigned subjects, completion *out) {
    size_t before;
    asc_view argument, word, rest = line;
    char why[200];
    out->n = 0;
    out->file = false;
    if (!line_word(&rest, &word) || word.ptr[0] != ':') { /* a prompt has no completion */
        out->start = line.len;
        return;
    }
    asc_view part = part_at_end(line, &before, &argument);
    out->start = line.len - part.len;
    if (before == 0) {
        for (size_t i = 0; i < shell_n_commands; i++) {
            char name[64];
            if ((shell_commands[i].subjects & subjects) == 0) continue;
            snprintf(name, sizeof name, ":%s", shell_commands[i].name);
            add(out, part, name, strlen(name));
        }
    } else {
        const shell_command *c = shell_command_find((asc_view){word.ptr + 1, word.len - 1}, why, sizeof why);
        shell_offer offer = c != NULL ? c->offer : OFFER_NONE;
        if (offer == OFFER_FILES && before == 1) files(out, part);
        if (offer == OFFER_METHODS && before == 1) methods(out, part, subjects);
        if (offer == OFFER_SWITCH && before == 1) choices(out, part, "on|off");
        if (offer == OFFER_VALUE && before == 1)
            values(out, part, settings_key((asc_view){c->key, strlen(c->key)}, subjects), subjects);
        if (offer == OFFER_KEYS && before == 1) keys(out, part, subjects);
        if (offer == OFFER_KEYS && before == 2) values(out, part, settings_key(argument, subjects), subjects);
        for (size_t i = 0; offer == OFFER_COMMANDS && before == 1 && i < shell_n_commands; i++)
            add(out, part, shell_commands[i].name, strlen(shell_commands[i].name));
    }
    qsort(out->v, out->n, sizeof out->v[0], in_order);
}

void completion_free(completion *c) {
    for (size_t i = 0; i < c->n; i++) free(c->v[i]);
    c->n = 0;
}

size_t completion_common(const completion *c) {
    size_t n = c->n > 0 ? strlen(c->v[0]) : 0;
    for (size_t i = 1; i < c->n; i++) {
        size_t k = 0;
        while (k < n && c->v[i][k] == c->v[0][k]) k++;
        n = k;
    }
    while (n > 0 && c->n > 1 && ((unsigned char)c->v[0][n] & 0xC0) == 0x80) n--; /* no half character */
    return n;
}
