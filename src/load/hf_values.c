/* hf_values.c - see hf_values.h. */
#include "hf_values.h"
#include "plain.h"
#include "view.h"
#include <math.h>
#include <stdio.h>

const asc_json *asc_hf_key(const asc_hf_keys *k, const char *key) {
    const asc_json *v = asc_json_get(k->obj, key);
    return asc_json_typeof(v) == ASC_JSON_NULL ? NULL : v;
}

/* A short text of any value. */
static const char *text_of(const asc_json *v, char out[96]) {
    asc_view s;
    switch (asc_json_typeof(v)) {
    case ASC_JSON_NULL:
        return v == NULL ? "missing" : "null";
    case ASC_JSON_BOOL:
        return asc_json_bool(v, false) ? "true" : "false";
    case ASC_JSON_INT:
        snprintf(out, 96, "%lld", (long long)asc_json_int(v, 0));
        return out;
    case ASC_JSON_REAL:
        asc_snprintf(out, 96, "%g", asc_json_num(v, 0.0));
        return out;
    case ASC_JSON_STRING:
        s = asc_view_cut(asc_json_str(v), 80);
        snprintf(out, 96, "\"" ASC_VIEW_FMT "\"", ASC_VIEW_ARG(s));
        return out;
    case ASC_JSON_ARRAY:
        snprintf(out, 96, "a list of %zu", asc_json_len(v));
        return out;
    case ASC_JSON_OBJECT:
        break;
    }
    snprintf(out, 96, "an object of %zu keys", asc_json_len(v));
    return out;
}

asc_status asc_hf_refuse(const asc_hf_keys *k, const char *key, const char *hint) {
    char text[96];
    ASC_FAIL(k->ctx, ASC_UNIMPLEMENTED, "'%s': %s%s is %s, which is not supported", k->file, k->prefix, key,
             text_of(asc_json_get(k->obj, key), text));
    return asc_hint(k->ctx, "%s", hint);
}

asc_status asc_hf_invalid(const asc_hf_keys *k, const char *key, const char *expected) {
    char text[96];
    ASC_FAIL(k->ctx, ASC_INVALID_ARGUMENT, "'%s': %s%s is %s; expected %s", k->file, k->prefix, key,
             text_of(asc_json_get(k->obj, key), text), expected);
    return asc_hint(k->ctx, "the file is damaged or was written by a faulty program; fetch it again");
}

asc_status asc_hf_count(const asc_hf_keys *k, const char *key, int64_t fallback, int64_t most, int64_t *out) {
    const asc_json *v = asc_hf_key(k, key);
    double d = asc_json_num(v, -1.0);
    if (v == NULL && fallback != 0) {
        if (fallback > 0) *out = fallback;
        return ASC_OK;
    }
    if (!(d >= 1.0) || d > (double)most || d > 9e15 || d > floor(d)) {
        char text[96];
        snprintf(text, sizeof text, "a whole number from 1 to %lld", (long long)most);
        return asc_hf_invalid(k, key, text);
    }
    *out = (int64_t)d;
    return ASC_OK;
}

asc_status asc_hf_number(const asc_hf_keys *k, const char *key, double fallback, double lo, double hi,
                         double *out) {
    const asc_json *v = asc_hf_key(k, key);
    *out = v == NULL ? fallback : asc_json_num(v, (double)NAN);
    if (v == NULL && !isnan(fallback)) return ASC_OK;
    if (*out >= lo && *out <= hi) return ASC_OK;
    char text[96];
    asc_snprintf(text, sizeof text, "a number from %g to %g", lo, hi);
    return asc_hf_invalid(k, key, text);
}

asc_status asc_hf_flag(const asc_hf_keys *k, const char *key, bool fallback, bool *out) {
    const asc_json *v = asc_hf_key(k, key);
    *out = asc_json_bool(v, fallback);
    if (v == NULL || asc_json_typeof(v) == ASC_JSON_BOOL) return ASC_OK;
    return asc_hf_invalid(k, key, "true or false");
}

asc_status asc_hf_word(const asc_hf_keys *k, const char *key, const char *fallback, asc_view *out) {
    const asc_json *v = asc_hf_key(k, key);
    *out = v == NULL ? asc_view_of(fallback) : asc_json_str(v);
    return v == NULL || out->ptr != NULL ? ASC_OK : asc_hf_invalid(k, key, "a text");
}

asc_status asc_hf_numbers(const asc_hf_keys *k, const char *key, size_t n, asc_arena *arena,
                          const double **out) {
    const asc_json *v = asc_hf_key(k, key);
    char text[96];
    *out = NULL;
    snprintf(text, sizeof text, "a list of %zu numbers above 0", n);
    if (asc_json_typeof(v) != ASC_JSON_ARRAY || asc_json_len(v) != n) return asc_hf_invalid(k, key, text);
    double *d = asc_arena_alloc(arena, (n + 1) * sizeof *d);
    if (d == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        d[i] = asc_json_num(asc_json_at(v, i), 0.0);
        if (!(d[i] > 0.0) || !(d[i] < 1e30)) return asc_hf_invalid(k, key, text);
    }
    *out = d;
    return ASC_OK;
}
