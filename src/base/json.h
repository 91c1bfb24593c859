/* json.h - reading through jansson (strict: UTF-8 checked, duplicate keys refused, depth limited) and a small
 * writer with stable key order and shortest round-trip numbers. The only file pair that knows the JSON
 * library. */
#ifndef ASC_JSON_H
#define ASC_JSON_H

#include "strbuf.h"

typedef struct asc_json asc_json; /* a borrowed node of a document */

/* Parses text[0..len). Errors: INVALID_ARGUMENT with line and column. Free the root with asc_json_free. In a
 * document with an integer beyond 64 bits, all numbers are reals. */
ASC_MUST_USE asc_status asc_json_parse(asc_ctx *ctx, const char *text, size_t len, asc_json **out);
void asc_json_free(asc_json *root);

typedef enum asc_json_type {
    ASC_JSON_NULL,
    ASC_JSON_BOOL,
    ASC_JSON_INT,
    ASC_JSON_REAL,
    ASC_JSON_STRING,
    ASC_JSON_ARRAY,
    ASC_JSON_OBJECT
} asc_json_type;
asc_json_type asc_json_typeof(const asc_json *j);                   /* NULL pointer counts as ASC_JSON_NULL */
const asc_json *asc_json_get(const asc_json *obj, const char *key); /* NULL when absent or not an object */
size_t asc_json_len(const asc_json *j); /* elements of an array or object, else 0 */
const asc_json *asc_json_at(const asc_json *array, size_t i);
bool asc_json_bool(const asc_json *j, bool fallback);
int64_t asc_json_int(const asc_json *j, int64_t fallback);
double asc_json_num(const asc_json *j, double fallback); /* integers too */
asc_view asc_json_str(const asc_json *j);                /* {NULL,0} when not a string; may hold NUL bytes */
/* Walks an object in file order: start with *iter = NULL; false at the end. */
bool asc_json_next(const asc_json *obj, void **iter, asc_view *key, const asc_json **value);

/* The node as JSON text without layout, appended to out (errors stick there). */
void asc_json_dump(const asc_json *j, asc_strbuf *out);

/* Writer: `asc_jsonw_key(w, "a"); asc_jsonw_num(w, 1)`; commas and indentation are its business. */
typedef struct asc_jsonw {
    asc_strbuf *out;
    int depth;
    bool first[64], in_array[64], after_key;
    bool compact; /* no line breaks */
} asc_jsonw;
void asc_jsonw_init(asc_jsonw *w, asc_strbuf *out, bool compact);
void asc_jsonw_begin_object(asc_jsonw *w);
void asc_jsonw_end_object(asc_jsonw *w);
void asc_jsonw_begin_array(asc_jsonw *w);
void asc_jsonw_end_array(asc_jsonw *w);
void asc_jsonw_key(asc_jsonw *w, const char *key);
void asc_jsonw_str(asc_jsonw *w, asc_view v); /* invalid UTF-8 becomes U+FFFD */
void asc_jsonw_strz(asc_jsonw *w, const char *s);
void asc_jsonw_num(asc_jsonw *w, double v); /* NaN and infinities become null */
/* The fewest significant digits that read back as v, 1 to 17; v is finite. */
int asc_json_digits(double v);
void asc_jsonw_int(asc_jsonw *w, int64_t v);
void asc_jsonw_bool(asc_jsonw *w, bool v);
void asc_jsonw_null(asc_jsonw *w);

#endif
