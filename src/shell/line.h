/* line.h - what somebody typed: a prompt, or a command with its words; and lines that go on in the next one.
 * Bytes in, no terminal, no model.
 */
#ifndef SHELL_LINE_H
#define SHELL_LINE_H

#include "ascribe/text.h"

enum { LINE_MOST = 64 << 20 }; /* bytes of one prompt or command */

typedef enum line_kind { LINE_EMPTY, LINE_PROMPT, LINE_COMMAND } line_kind;

typedef struct line_parts {
    line_kind kind;
    asc_view text; /* the prompt, as it is ("::" at the start stands for one colon) */
    asc_view name; /* of the command, without the colon */
    asc_view rest; /* behind it, without the blanks around */
} line_parts;

/* `literal` text is a prompt whatever it begins with. All views are of `line`. */
line_parts line_parse(asc_view line, bool literal);

/* The next word of *rest, which is shortened: blanks separate words; a word in double quotes may hold them.
 * False: there is none. The quotes stay: line_value takes them off. */
bool line_word(asc_view *rest, asc_view *word);

/* What a value means: "..." is a JSON string, everything else stands for itself. *out is made with malloc and
 * ends with a NUL that *len does not count; NULL: bad quotes (why, in a few words), or no memory. */
char *line_value(asc_view value, size_t *len, const char **why);

/* The same for the name of a file: ~/ at its beginning is the home folder. */
char *line_path(asc_view value, size_t *len, const char **why);

/* ---- lines that go on ------------------------------------------------------------------------------------
 * A line that ends in a backslash goes on in the next one (a line break stands between them; two backslashes
 * are one, and the end). A line that begins with """ goes on until one ends with """; between them everything
 * is a prompt. */

typedef struct line_joiner {
    asc_text *text; /* of what came so far */
    bool open;      /* the next line belongs to it */
    bool block;     /* it began with """ */
} line_joiner;

typedef enum line_joined { LINE_DONE, LINE_MORE, LINE_TOO_LONG } line_joined;

/* Takes in a line without its line break. LINE_DONE: asc_text_view(j->text) is all of it, and j->block says
 * that it is literal. Before the next one: line_restart. */
line_joined line_feed(line_joiner *j, asc_view line);
void line_restart(line_joiner *j);

#endif
