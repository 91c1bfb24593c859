/* commands.c - the table of commands and what is said from it. */
#include "commands.h"
#include "shell_parts.h"
#include <stdio.h>
#include <string.h>

enum {
    PROMPTS = ASC_KEY_PROMPTS,
    ENCODERS = ASC_KEY_ENCODERS,
    NETS = ASC_KEY_NETS,
    ANY = PROMPTS | ENCODERS | NETS
};

const shell_command shell_commands[] = {
#define SHELL_COMMAND(function, name, args, key, subjects, offer, doc)                                       \
    {name, args, key, doc, subjects, OFFER_##offer, do_##function},
#include "commands.def"
#undef SHELL_COMMAND
};
const size_t shell_n_commands = sizeof shell_commands / sizeof *shell_commands;

static const char *name_at(void *self, size_t i) {
    (void)self;
    return i < shell_n_commands ? shell_commands[i].name : NULL;
}

/* Levenshtein distance of word and name, both shorter than 64. */
static size_t distance(asc_view word, const char *name) {
    size_t row[64], n = strlen(name);
    if (n >= 64 || word.len >= 64) return 64;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; i <= word.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t old = row[j], best = diagonal + (word.ptr[i - 1] != name[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
            diagonal = old;
        }
    }
    return row[n];
}

const char *shell_nearest(asc_view word, const char *(*name)(void *self, size_t i), void *self) {
    const char *best = NULL, *at;
    size_t least = word.len / 3 + 2; /* farther is no help */
    for (size_t i = 0; (at = name(self, i)) != NULL; i++) {
        size_t d = distance(word, at);
        if (word.len >= 3 && strncmp(at, word.ptr, word.len) == 0) d = 1;
        if (d < least) {
            least = d;
            best = at;
        }
    }
    return best;
}

const shell_command *shell_command_find(asc_view name, char *why, size_t why_size) {
    const shell_command *found = NULL;
    size_t fits = 0;
    for (size_t i = 0; i < shell_n_commands && name.len > 0; i++) {
        const shell_command *c = &shell_commands[i];
        if (strncmp(c->name, name.ptr, name.len) != 0 || strlen(c->name) < name.len) continue;
        if (strlen(c->name) == name.len) return c;
        found = c;
        fits++;
    }
    if (fits == 1) return found;
    const char *near = fits == 0 ? shell_nearest(name, name_at, NULL) : NULL;
    int shown = name.len < 40 ? (int)name.len : 40;
    if (name.len == 0)
        snprintf(why, why_size, "a command's name follows the colon");
    else if (fits > 1)
        snprintf(why, why_size, "several commands begin with ':%.*s'", shown, name.ptr);
    else if (near != NULL)
        snprintf(why, why_size, "there is no command ':%.*s'; did you mean ':%s'?", shown, name.ptr, near);
    else
        snprintf(why, why_size, "there is no command ':%.*s'", shown, name.ptr);
    return NULL;
}

void shell_commands_text(asc_text *t, unsigned subjects, size_t columns) {
    enum { NAME = 30 };
    for (size_t i = 0; i < shell_n_commands; i++) {
        const shell_command *c = &shell_commands[i];
        if ((c->subjects & subjects) == 0) continue;
        char head[80];
        size_t n = (size_t)snprintf(head, sizeof head, "  :%s %s", c->name, c->args);
        asc_text_adds(t, head);
        if (n + 1 > NAME) {
            asc_text_adds(t, "\n");
            n = 0;
        }
        asc_text_blanks(t, NAME - n);
        asc_text_wrap(t, c->doc, NAME, columns);
    }
}

bool shell_help_at(size_t i, shell_help *out) {
    if (i >= shell_n_commands) return false;
    *out = (shell_help){shell_commands[i].name, shell_commands[i].args, shell_commands[i].doc};
    return true;
}

/* In a cell a bar must not end the cell. */
static void cell(asc_text *t, const char *s) {
    for (; *s != '\0'; s++) asc_text_addf(t, *s == '|' ? "\\%c" : "%c", *s);
}

void shell_commands_markdown(asc_text *t) {
    asc_text_adds(t, "| Command | What it does | Models |\n|---|---|---|\n");
    for (size_t i = 0; i < shell_n_commands; i++) {
        const shell_command *c = &shell_commands[i];
        asc_text_addf(t, "| `:%s%s", c->name, c->args[0] != '\0' ? " " : "");
        cell(t, c->args);
        asc_text_adds(t, "` | ");
        cell(t, c->doc);
        asc_text_addf(t, " | %s%s%s |\n", (c->subjects & PROMPTS) != 0 ? "L" : "",
                      (c->subjects & ENCODERS) != 0 ? "E" : "", (c->subjects & NETS) != 0 ? "N" : "");
    }
}
