/* edit.h - a line from somebody who types: editing, history and completion by libedit; where the cursor
 * cannot be moved, a plain line. Several lines pasted at once are one line with breaks in it.
 */
#ifndef SHELL_EDIT_H
#define SHELL_EDIT_H

#include "shell_parts.h"

typedef struct editor editor;

typedef enum edited {
    EDITED_LINE,
    EDITED_END,       /* Ctrl-D on an empty line, the terminal is gone, a signal ends the program */
    EDITED_INTERRUPT, /* Ctrl-C; the line holds what was given up */
    EDITED_SELECT     /* Tab on an empty line */
} edited;

editor *editor_create(shell *s); /* NULL: no memory */
void editor_destroy(editor *e);  /* NULL is accepted */
/* Shows `prompt` and reads a line into `line` (without the break at its end). */
edited editor_read(editor *e, const char *prompt, asc_text *line);
/* Adds to the history, of this session and in the file. */
void editor_remember(editor *e, asc_view line);

#endif
