/* history_file.h - lines kept from session to session: one a line (line breaks as \n, backslashes doubled),
 * the newest last. The file is its owner's alone (0600) and replaced whole: nobody ever sees half of it.
 */
#ifndef SHELL_HISTORY_FILE_H
#define SHELL_HISTORY_FILE_H

#include "ascribe/text.h"

enum {
    HISTORY_LINES = 1000,    /* that are kept */
    HISTORY_LONGEST = 16384, /* bytes; longer lines are not kept */
    HISTORY_BYTES = 4 << 20  /* of a file that is read */
};

/* Calls `take` with each line, oldest first. A file that is not there is empty. */
ASC_MUST_USE asc_status history_read(asc_ctx *ctx, const char *path, void (*take)(void *self, asc_view line),
                                     void *self);
/* Adds a line to the file, making its folder. Lines that begin with a blank and repetitions of the last one
 * are not kept. */
ASC_MUST_USE asc_status history_add(asc_ctx *ctx, const char *path, asc_view line);

/* A line as the file has it, and back; appended to out. */
void history_escape(asc_text *out, asc_view line);
void history_unescape(asc_text *out, asc_view line);

#endif
