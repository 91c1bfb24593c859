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
} shell_options;

/* Runs in ctx, whose progress and cancellation the caller arranged. Returns a program's exit code. */
int shell_run(asc_ctx *ctx, const shell_options *o);

#endif
