/* shell.h - the interactive shell: a model stays loaded, questions and answers go on. Sees the public headers
 * only.
 */
#ifndef ASC_SHELL_H
#define ASC_SHELL_H

#include "ascribe/ask.h"

/* Zero-initialise. Strings are borrowed until shell_run returns. */
typedef struct shell_options {
    const char *model_path;
    asc_model_options model;
    asc_report_style style; /* of the terminal */
    const char *history;    /* file; NULL = none is kept */
    bool interactive;       /* a terminal on both sides; else lines are read until the end of input */
    bool quiet;             /* only what was asked for: no greeting, no notes */
    const char *const *set; /* [n_set] "KEY=VALUE" that hold from the beginning */
    size_t n_set;
    void (*clear_progress)(void); /* takes a progress line away before something is said; NULL = none */
} shell_options;

/* Runs in ctx, whose progress the caller arranged; stops of work (Ctrl-C) are the shell's own business.
 * Returns a program's exit code: 0; 1 when a line that was not typed failed, or a signal ended it; 2 a
 * setting in `set` that makes no sense; 3 and 4 a model that cannot be opened. */
int shell_run(asc_ctx *ctx, const shell_options *o);

/* Row i of the table of the shell's commands, for help pages; false past the last. */
typedef struct shell_help {
    const char *name, *args, *doc; /* "method" (without the colon), "[NAME]", one line */
} shell_help;
bool shell_help_at(size_t i, shell_help *out);

/* $XDG_STATE_HOME/ascribe/history, else ~/.local/state/ascribe/history. False: no home is known. */
bool shell_history_path(char *out, size_t size);

#endif
