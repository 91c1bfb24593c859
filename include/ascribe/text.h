/* ascribe/text.h - text that grows: plain, made safe to look at, or JSON; read from and written to files
 * whole.
 *
 * Guarantees: an error sticks (memory, a limit), later calls do nothing and asc_text_status tells it, so text
 * is built freely and checked once. Files are written to a temporary beside them and renamed: nobody ever
 * sees half a file. Threads: as the context.
 */
#ifndef ASCRIBE_TEXT_H
#define ASCRIBE_TEXT_H

#include "ascribe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_text asc_text;

/* RESOURCE_EXHAUSTED. Ended by asc_text_destroy, before the context. */
ASC_API ASC_MUST_USE asc_status asc_text_create(asc_ctx *ctx, asc_text **out);
ASC_API void asc_text_destroy(asc_text *t); /* NULL is accepted */
ASC_API void asc_text_clear(asc_text *t);   /* empty again, a JSON document in the making is forgotten */

/* What was built so far; NUL-terminated, valid until the next call that changes t. */
ASC_API asc_view asc_text_view(const asc_text *t);
/* ASC_OK, or the first error. */
ASC_API ASC_MUST_USE asc_status asc_text_status(const asc_text *t);

ASC_API void asc_text_add(asc_text *t, asc_view v);
ASC_API void asc_text_adds(asc_text *t, const char *s);
ASC_API void asc_text_addf(asc_text *t, const char *fmt, ...) ASC_PRINTF(2, 3);
/* v so that a terminal shows what is there: line breaks as \n, control characters, invalid bytes, invisible
 * characters and changes of writing direction as escapes. At most `columns` columns (0 = no limit), then
 * "...". Returns the columns taken. */
ASC_API size_t asc_text_shown(asc_text *t, asc_view v, size_t columns);
/* An error for a terminal: the message and, unless it is empty, on a second line what to try; both as
 * asc_text_shown. */
ASC_API void asc_text_complaint(asc_text *t, const char *message, const char *hint);
/* n blanks. */
ASC_API void asc_text_blanks(asc_text *t, size_t n);
/* v in lines of at most `columns`, broken at blanks; lines after the first start with `indent` blanks. Ends
 * the line. */
ASC_API void asc_text_wrap(asc_text *t, const char *s, size_t indent, size_t columns);

/* JSON. A key is given inside objects and NULL inside arrays; commas and indentation are not the caller's
 * business. */
ASC_API void asc_text_object(asc_text *t, const char *key);
ASC_API void asc_text_array(asc_text *t, const char *key);
ASC_API void asc_text_end(asc_text *t);                              /* of the innermost object or array */
ASC_API void asc_text_str(asc_text *t, const char *key, asc_view v); /* invalid UTF-8 becomes U+FFFD */
/* The same; bytes that are not UTF-8 are kept as base64 under "bytes_b64" beside it. Inside objects only. */
ASC_API void asc_text_bytes(asc_text *t, const char *key, asc_view v);
ASC_API void asc_text_strz(asc_text *t, const char *key, const char *s); /* NULL is null */
ASC_API void asc_text_num(asc_text *t, const char *key, double v);       /* null unless finite */
ASC_API void asc_text_int(asc_text *t, const char *key, int64_t v);
ASC_API void asc_text_bool(asc_text *t, const char *key, bool v);
ASC_API void asc_text_null(asc_text *t, const char *key);

/* Appends the whole of `path` ("-" = standard input), at most `limit` bytes. Errors name the path. */
ASC_API ASC_MUST_USE asc_status asc_text_read(asc_text *t, const char *path, size_t limit);
/* Writes all of it to `path`; "-" is standard output. Errors name the path and the reason. */
ASC_API ASC_MUST_USE asc_status asc_text_write(asc_text *t, const char *path);

#ifdef __cplusplus
}
#endif
#endif
