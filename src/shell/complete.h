/* complete.h - what a line that is being typed may go on with: commands, keys, values, methods, files. */
#ifndef SHELL_COMPLETE_H
#define SHELL_COMPLETE_H

#include "commands.h"

enum { COMPLETE_MOST = 512 };

typedef struct completion {
    size_t start;           /* of the part of the line that is replaced; it ends at the cursor */
    char *v[COMPLETE_MOST]; /* whole words that begin with that part, in order; malloc */
    size_t n;
    bool file; /* they are names of files: after a folder no blank follows */
} completion;

/* line: up to the cursor. subjects: ASC_KEY_* bits of the model. */
void complete_line(asc_view line, unsigned subjects, completion *out);
void completion_free(completion *c);
/* Bytes that all of them begin with. */
size_t completion_common(const completion *c);

#endif
