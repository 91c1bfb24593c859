/* text_parts.h - what a text is inside: a growing string and the state of a JSON document in it. */
#ifndef ASC_TEXT_PARTS_H
#define ASC_TEXT_PARTS_H

#include "ascribe/text.h"
#include "json.h"

struct asc_text {
    asc_ctx *ctx;
    asc_strbuf b;
    asc_jsonw w;
    bool is_array[64]; /* by depth of w */
    int depth;
};

/* From now on JSON is written without layout, on one line; asc_text_clear keeps to it. */
void asc_text_compact(asc_text *t);
/* Length in bytes of the character at p[0..n) and whether it can be shown as it is. `columns` is its width.
 */
size_t asc_shown_char(const char *p, size_t n, bool *plain, size_t *columns);
/* Its escape, NUL-terminated: "\n", "\x1b", "\u{202E}". */
void asc_shown_escape(const char *p, size_t n, char out[16]);
/* Appends base64, padded (RFC 4648). */
void asc_base64(asc_strbuf *out, asc_view v);
/* The bytes of base64, with or without padding, white space between passed over, to out[0 .. v.len / 4 * 3 +
 * 2]; their count, SIZE_MAX when it is none. */
size_t asc_base64_read(asc_view v, char *out);
/* Width of v as asc_text_shown writes it. */
size_t asc_shown_columns(asc_view v);

#endif
