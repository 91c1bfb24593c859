/* commands.h - the shell's commands: found by name, listed for help, completion and the documents. */
#ifndef SHELL_COMMANDS_H
#define SHELL_COMMANDS_H

#include "ascribe/ask.h"

typedef struct shell shell;

/* What completion offers behind a command. */
typedef enum shell_offer {
    OFFER_NONE,
    OFFER_VALUE, /* values of the command's key */
    OFFER_KEYS,  /* keys, then their values */
    OFFER_FILES,
    OFFER_METHODS,
    OFFER_COMMANDS,
    OFFER_SWITCH /* on, off */
} shell_offer;

typedef struct shell_command {
    const char *name; /* without the colon */
    const char *args; /* "[NAME]" */
    const char *key;  /* of a question; "" = it is not about one */
    const char *doc;
    unsigned subjects; /* ASC_KEY_* bits: what models it is for */
    shell_offer offer;
    bool (*run)(shell *s, const struct shell_command *c, asc_view rest); /* false: an error was said */
} shell_command;

extern const shell_command shell_commands[];
extern const size_t shell_n_commands;

/* By its name or a beginning that no other command has; NULL: *why says what is wrong (any number of bytes,
 * cut to fit). */
const shell_command *shell_command_find(asc_view name, char *why, size_t why_size);

/* The table as text for a terminal, and as Markdown (docs/shell.md). subjects: only commands for these. */
void shell_commands_text(asc_text *t, unsigned subjects, size_t columns);
void shell_commands_markdown(asc_text *t);

/* The nearest of the names to a misspelt one; NULL: none is near. `name(i)` is NULL past the last. */
const char *shell_nearest(asc_view word, const char *(*name)(void *self, size_t i), void *self);

#endif
