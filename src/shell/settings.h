/* settings.h - the keys of a question that stay until they are changed, as one JSON object. Names and types
 * come from the table of keys (ascribe/ask.h); here words become JSON values.
 */
#ifndef SHELL_SETTINGS_H
#define SHELL_SETTINGS_H

#include "ascribe/ask.h"
#include <jansson.h>

/* The key of that name for these subjects (bits); - and _ are the same. NULL: there is none, or it is for
 * others. */
const asc_question_key *settings_key(asc_view name, unsigned subjects);
/* Says why settings_key found none, with the nearest name. */
void settings_explain_unknown(asc_view name, unsigned subjects, char *why, size_t why_size);

/* Is its value in a file, whose name the words are (and the command line's option takes)? */
bool settings_is_from_file(const asc_question_key *k);

/* What the words `text` say as a value of key k: files are read (pictures, arrays), numbers, lists and JSON
 * are understood, else it is text. Whether the value makes sense is for asc_question_parse to say. NULL with
 * `why` when the words cannot be a value at all; the context's error when a file cannot be read. */
json_t *settings_value(asc_ctx *ctx, const asc_question_key *k, asc_view text, char *why, size_t why_size);

/* "1,2 3" as a list; parts that are no numbers are text in it. NULL: no memory, or not UTF-8. */
json_t *settings_ids(asc_view text);
/* An array as JSON: a number, or the contents of a .npy or .csv file. NULL as settings_value. */
json_t *settings_array(asc_ctx *ctx, asc_view text, char *why, size_t why_size);
/* The bytes of a file as base64. */
json_t *settings_base64(asc_ctx *ctx, const char *path, char *why, size_t why_size);

/* A value as somebody would type it, at most `columns` wide (0 = no limit). */
void settings_show_value(asc_text *t, const json_t *value, size_t columns);
/* Does choice list "a|b|token:ID" have a part that `value` is, parts in capitals standing for any text? */
bool settings_is_choice(const char *choices, const char *value);

#endif
