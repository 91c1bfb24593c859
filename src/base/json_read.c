/* json_read.c - reading JSON through jansson. jansson keeps its own memory (its hooks are process-wide, and
 * this library has no globals), so a document is not counted in the context's tags; callers bound its size
 * instead. */
#include "json.h"
#include "view.h"
#include <jansson.h>

static const json_t *in(const asc_json *j) { return (const json_t *)(const void *)j; }
static const asc_json *wrap(const json_t *j) { return (const asc_json *)(const void *)j; }

asc_status asc_json_parse(asc_ctx *ctx, const char *text, size_t len, asc_json **out) {
    json_error_t e;
    *out = NULL;
    size_t bad = asc_utf8_check(asc_view_make(text, len));
    if (bad != len) return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "JSON: byte %zu is not valid UTF-8", bad);
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY;
    json_t *root = json_loadb(text, len, flags, &e);
    /* "model_max_length": 1000000000000000019884624838656 is common in tokenizer_config.json */
    if (root == NULL && json_error_code(&e) == json_error_numeric_overflow)
        root = json_loadb(text, len, flags | JSON_DECODE_INT_AS_REAL, &e);
    if (root == NULL) {
        if (json_error_code(&e) == json_error_out_of_memory)
            return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "JSON: out of memory");
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "JSON: line %d, column %d: %s", e.line, e.column, e.text);
    }
    *out = (asc_json *)(void *)root;
    return ASC_OK;
}

void asc_json_free(asc_json *root) {
    if (root != NULL) json_decref((json_t *)(void *)root);
}

asc_json_type asc_json_typeof(const asc_json *j) {
    if (j == NULL) return ASC_JSON_NULL;
    switch (json_typeof(in(j))) {
    case JSON_OBJECT:
        return ASC_JSON_OBJECT;
    case JSON_ARRAY:
        return ASC_JSON_ARRAY;
    case JSON_STRING:
        return ASC_JSON_STRING;
    case JSON_INTEGER:
        return ASC_JSON_INT;
    case JSON_REAL:
        return ASC_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return ASC_JSON_BOOL;
    case JSON_NULL:
        break;
    }
    return ASC_JSON_NULL;
}

const asc_json *asc_json_get(const asc_json *obj, const char *key) {
    return obj == NULL ? NULL : wrap(json_object_get(in(obj), key));
}

size_t asc_json_len(const asc_json *j) {
    if (j == NULL) return 0;
    return json_is_array(in(j))    ? json_array_size(in(j))
           : json_is_object(in(j)) ? json_object_size(in(j))
                                   : 0;
}

const asc_json *asc_json_at(const asc_json *array, size_t i) {
    return array == NULL ? NULL : wrap(json_array_get(in(array), i));
}

bool asc_json_bool(const asc_json *j, bool fallback) {
    return j != NULL && json_is_boolean(in(j)) ? json_is_true(in(j)) : fallback;
}

int64_t asc_json_int(const asc_json *j, int64_t fallback) {
    return j != NULL && json_is_integer(in(j)) ? (int64_t)json_integer_value(in(j)) : fallback;
}

double asc_json_num(const asc_json *j, double fallback) {
    return j != NULL && json_is_number(in(j)) ? json_number_value(in(j)) : fallback;
}

asc_view asc_json_str(const asc_json *j) {
    if (j == NULL || !json_is_string(in(j))) return (asc_view){NULL, 0};
    return (asc_view){json_string_value(in(j)), json_string_length(in(j))};
}

bool asc_json_next(const asc_json *obj, void **iter, asc_view *key, const asc_json **value) {
    if (obj == NULL || !json_is_object(in(obj))) return false;
    json_t *o = (json_t *)(uintptr_t)(const void *)obj; /* the iterator API lacks const */
    *iter = *iter == NULL ? json_object_iter(o) : json_object_iter_next(o, *iter);
    if (*iter == NULL) return false;
    *key = asc_view_of(json_object_iter_key(*iter));
    *value = wrap(json_object_iter_value(*iter));
    return true;
}

static int add_text(const char *p, size_t n, void *out) {
    asc_strbuf_add(out, p, n);
    return 0;
}

void asc_json_dump(const asc_json *j, asc_strbuf *out) {
    if (j == NULL)
        asc_strbuf_adds(out, "null");
    else
        json_dump_callback(in(j), add_text, out, JSON_COMPACT | JSON_ENCODE_ANY);
}
