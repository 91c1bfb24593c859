/* json_want.h - fields of a tokenizer file, checked: each call names the section and the key when something
 * is missing or of another type. */
#ifndef ASC_JSON_WANT_H
#define ASC_JSON_WANT_H

#include "json.h"
#include "view.h"

/* Sections inside sections; a file that goes deeper is refused. */
enum { ASC_WANT_MAX_DEPTH = 32 };

/* "null", "a number", ... for messages. */
const char *asc_want_type_name(const asc_json *j);
ASC_MUST_USE asc_status asc_want_object(asc_ctx *ctx, const asc_json *j, const char *where);
ASC_MUST_USE asc_status asc_want_list(asc_ctx *ctx, const asc_json *obj, const char *key, const char *where,
                                      const asc_json **out);
ASC_MUST_USE asc_status asc_want_str(asc_ctx *ctx, const asc_json *obj, const char *key, const char *where,
                                     asc_view *out);
/* Absent or null: {NULL, 0}. */
ASC_MUST_USE asc_status asc_want_str_or(asc_ctx *ctx, const asc_json *obj, const char *key, const char *where,
                                        asc_view *out);
/* Absent or null: fallback. */
ASC_MUST_USE asc_status asc_want_bool(asc_ctx *ctx, const asc_json *obj, const char *key, const char *where,
                                      bool fallback, bool *out);
/* fallback < lo: the key must be there. */
ASC_MUST_USE asc_status asc_want_int(asc_ctx *ctx, const asc_json *obj, const char *key, const char *where,
                                     int64_t lo, int64_t hi, int64_t fallback, int64_t *out);
/* Calls fn with every component of j and its "type": j itself, or in order those of {"type": "Sequence", KEY:
 * [...]}, which may hold sequences again. Where a type is not said, the other keys say it if they can. */
typedef asc_status (*asc_want_fn)(asc_ctx *ctx, void *self, asc_view type, const asc_json *component);
ASC_MUST_USE asc_status asc_want_each(asc_ctx *ctx, const asc_json *j, const char *where, const char *key,
                                      asc_want_fn fn, void *self);
/* UNIMPLEMENTED: "where: type 'X' is not known", with the known ones as a hint. */
asc_status asc_want_unknown(asc_ctx *ctx, const char *where, asc_view type, const char *known);
/* A component's type as its place in a table: its number, or -1 and asc_want_unknown's error. */
typedef struct asc_want_kind {
    const char *type;
    int kind;
} asc_want_kind;
ASC_MUST_USE asc_status asc_want_kind_of(asc_ctx *ctx, const char *where, asc_view type,
                                         const asc_want_kind *kinds, size_t n, const char *known, int *out);
/* A section whose components become steps of a list. */
typedef struct asc_want_steps {
    const char *where; /* the section's name */
    const asc_want_kind *kinds;
    size_t n_kinds;
    const char *known;
    size_t step_bytes;
} asc_want_steps;
/* A component's kind, and room for its step behind the n that *steps holds, of zeros. The caller counts it.
 */
ASC_MUST_USE asc_status asc_want_step(asc_ctx *ctx, const asc_want_steps *section, asc_view type,
                                      void **steps, size_t n, size_t *cap, int *kind);
/* {"String": ...} or {"Regex": ...}. */
ASC_MUST_USE asc_status asc_want_pattern(asc_ctx *ctx, const asc_json *obj, const char *where, asc_view *text,
                                         bool *regex);
/* A string that is one character. */
ASC_MUST_USE asc_status asc_want_char(asc_ctx *ctx, const asc_json *obj, const char *key, const char *where,
                                      asc_view *out);

#endif
