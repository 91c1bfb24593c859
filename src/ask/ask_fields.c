/* ask_fields.c - values of a question by type. Everything that is wrong names the key, what is wanted and
 * what was given. */
#include "ask_parts.h"
#include "plain.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_ELEMENTS = 1 << 24 }; /* of a list */

void *asc_ask_alloc(asc_question *q, size_t n, size_t size) {
    size_t bytes;
    if (!asc_mul_size(n > 0 ? n : 1, size, &bytes)) {
        ASC_FAIL(q->ctx, ASC_RESOURCE_EXHAUSTED, "%zu elements of %zu bytes", n, size);
        return NULL;
    }
    return asc_arena_alloc(&q->arena, bytes);
}

/* What was given, short: `"tex..."`, `-3`, `a list`. */
static const char *shown(const asc_json *v, char out[100]) {
    asc_view s;
    switch (asc_json_typeof(v)) {
    case ASC_JSON_STRING:
        s = asc_view_cut(asc_json_str(v), 60);
        while (s.len > 0 && asc_utf8_check(s) != s.len) s.len--; /* not in the middle of a character */
        snprintf(out, 100, "\"" ASC_VIEW_FMT "%s\"", ASC_VIEW_ARG(s),
                 s.len < asc_json_str(v).len ? "..." : "");
        break;
    case ASC_JSON_INT:
        snprintf(out, 100, "%lld", (long long)asc_json_int(v, 0));
        break;
    case ASC_JSON_REAL:
        asc_snprintf(out, 100, "%g", asc_json_num(v, 0));
        break;
    case ASC_JSON_BOOL:
        return asc_json_bool(v, false) ? "true" : "false";
    case ASC_JSON_ARRAY:
        return asc_json_len(v) == 0 ? "an empty list" : "a list";
    case ASC_JSON_OBJECT:
        return "an object";
    case ASC_JSON_NULL:
        return "null";
    }
    return out;
}

asc_status asc_ask_wrong(asc_question *q, asc_key_id id, const asc_json *v, const char *wanted) {
    char given[100];
    ASC_FAIL(q->ctx, ASC_INVALID_ARGUMENT, "\"%s\": %s is wanted, %s was given", asc_ask_name(id), wanted,
             shown(v, given));
    return asc_hint(q->ctx, "%s: %s", asc_ask_name(id), asc_question_key_at(id)->doc);
}

asc_status asc_ask_refuse(asc_question *q, const char *fmt, ...) {
    char message[700];
    va_list ap;
    va_start(ap, fmt);
    asc_vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    ASC_FAIL(q->ctx, ASC_INVALID_ARGUMENT, "%s", message);
    return asc_hint(q->ctx, "docs/formats/question.md says which keys go together");
}

asc_status asc_ask_one_of(asc_question *q, const asc_key_id *ids, size_t n, const char *what) {
    char names[300] = "";
    size_t given = 0, len = 0;
    for (size_t i = 0; i < n; i++) given += asc_ask_has(q, ids[i]);
    if (given < 2) return ASC_OK;
    for (size_t i = 0; i < n && len < sizeof names; i++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s\"%s\"",
                                i == 0      ? ""
                                : i + 1 < n ? ", "
                                            : " and ",
                                asc_ask_name(ids[i]));
    return asc_ask_refuse(q, "%s: give one of %s", what, names);
}

asc_status asc_ask_text(asc_question *q, asc_key_id id, asc_view *out) {
    const asc_json *v = q->values[id];
    if (v == NULL) return ASC_OK;
    if (asc_json_typeof(v) != ASC_JSON_STRING) return asc_ask_wrong(q, id, v, "a string");
    *out = asc_json_str(v);
    return ASC_OK;
}

/* As a C string. */
static asc_status string_of(asc_question *q, asc_key_id id, const asc_json *v, const char **out) {
    asc_view s = asc_json_str(v);
    if (s.ptr == NULL) return asc_ask_wrong(q, id, v, "a string");
    if (memchr(s.ptr, '\0', s.len) != NULL) return asc_ask_wrong(q, id, v, "a string without \\u0000");
    *out = s.ptr;
    return ASC_OK;
}

asc_status asc_ask_string(asc_question *q, asc_key_id id, const char **out) {
    const asc_json *v = q->values[id];
    if (v == NULL) return ASC_OK;
    if (asc_json_typeof(v) == ASC_JSON_STRING && asc_json_str(v).len == 0)
        return asc_ask_wrong(q, id, v, "a string that is not empty");
    return string_of(q, id, v, out);
}

bool asc_choice_fits(const char *list, const char *value) {
    for (const char *p = list; *p != '\0';) {
        size_t n = strcspn(p, "|"), fixed = 0;
        while (fixed < n && !isupper((unsigned char)p[fixed])) fixed++;
        if (fixed == n ? strlen(value) == n && strncmp(p, value, n) == 0 : strncmp(p, value, fixed) == 0)
            return true;
        p += n + (p[n] == '|');
    }
    return false;
}

asc_status asc_ask_choice(asc_question *q, asc_key_id id, const char **out) {
    const asc_json *v = q->values[id];
    const char *list = asc_question_key_at(id)->choices, *s = NULL;
    char wanted[300];
    if (v == NULL) return ASC_OK;
    snprintf(wanted, sizeof wanted, strchr(list, '|') != NULL ? "one of %s" : "\"%s\"", list);
    if (asc_json_typeof(v) != ASC_JSON_STRING) return asc_ask_wrong(q, id, v, wanted);
    asc_status st = string_of(q, id, v, &s);
    if (st == ASC_OK && !asc_choice_fits(list, s)) st = asc_ask_wrong(q, id, v, wanted);
    if (st == ASC_OK) *out = s;
    return st;
}

static asc_status whole_from(asc_question *q, asc_key_id id, int64_t least, const char *wanted,
                             uint64_t *out) {
    const asc_json *v = q->values[id];
    int64_t n = asc_json_int(v, -1);
    if (v == NULL) return ASC_OK;
    if (asc_json_typeof(v) != ASC_JSON_INT || n < least) return asc_ask_wrong(q, id, v, wanted);
    *out = (uint64_t)n;
    return ASC_OK;
}

asc_status asc_ask_count(asc_question *q, asc_key_id id, size_t *out) {
    uint64_t n = 0;
    asc_status st = whole_from(q, id, 1, "a whole number from 1 on", &n);
    if (st == ASC_OK && asc_ask_has(q, id)) *out = (size_t)n;
    return st;
}

asc_status asc_ask_whole(asc_question *q, asc_key_id id, uint64_t *out) {
    return whole_from(q, id, 0, "a whole number from 0 on", out);
}

asc_status asc_ask_number(asc_question *q, asc_key_id id, double *out) {
    const asc_json *v = q->values[id];
    if (v == NULL) return ASC_OK;
    double x = asc_json_num(v, NAN);
    if (asc_json_typeof(v) == ASC_JSON_STRING) { /* "1%", as options have it; never "0x1p3", "inf" */
        const char *s = asc_json_str(v).ptr;
        char *end = NULL;
        if (strlen(s) == asc_json_str(v).len && s[0] != '\0' && strspn(s, "0123456789.") > 0)
            x = asc_strtod(s, &end);
        if (end == NULL || *end != '%' || end[1] != '\0')
            return asc_ask_wrong(q, id, v, "a number from 0 on");
        x /= 100;
    }
    if (!isfinite(x) || x < 0) return asc_ask_wrong(q, id, v, "a number from 0 on");
    *out = x;
    return ASC_OK;
}

asc_status asc_ask_positive(asc_question *q, asc_key_id id, double *out) {
    double x = 1;
    asc_status st = asc_ask_number(q, id, &x);
    if (st == ASC_OK && !(x > 0)) return asc_ask_wrong(q, id, q->values[id], "a number larger than 0");
    if (st == ASC_OK && asc_ask_has(q, id)) *out = x;
    return st;
}

asc_status asc_ask_size(asc_question *q, asc_key_id id, size_t *out) {
    static const char units[] = "KMGT", wanted[] = "a number of bytes from 1 on, or a text as \"512M\"";
    const asc_json *v = q->values[id];
    if (v == NULL) return ASC_OK;
    if (asc_json_typeof(v) != ASC_JSON_STRING) {
        int64_t n = asc_json_int(v, -1);
        if (asc_json_typeof(v) != ASC_JSON_INT || n < 1) return asc_ask_wrong(q, id, v, wanted);
        *out = (size_t)n;
        return ASC_OK;
    }
    const char *s = asc_json_str(v).ptr, *unit;
    size_t n = 0, k = strspn(s, "0123456789");
    bool ok = k > 0 && k < 19 && strlen(s) == asc_json_str(v).len;
    if (ok) n = (size_t)strtoull(s, NULL, 10);
    ok = ok && n > 0;
    s += k;
    unit = ok && *s != '\0' ? strchr(units, toupper((unsigned char)*s)) : NULL;
    if (unit != NULL) {
        for (const char *u = units; ok && u <= unit; u++) ok = asc_mul_size(n, 1024, &n);
        s++;
        if (*s == 'i') s++;
        if (*s == 'B') s++;
    }
    if (!ok || *s != '\0') return asc_ask_wrong(q, id, v, wanted);
    *out = n;
    return ASC_OK;
}

asc_status asc_ask_bool(asc_question *q, asc_key_id id, bool *out) {
    const asc_json *v = q->values[id];
    if (v == NULL) return ASC_OK;
    if (asc_json_typeof(v) != ASC_JSON_BOOL) return asc_ask_wrong(q, id, v, "true or false");
    *out = asc_json_bool(v, false);
    return ASC_OK;
}

static asc_status too_long(asc_question *q, asc_key_id id, size_t n) {
    return ASC_FAIL(q->ctx, ASC_RESOURCE_EXHAUSTED, "\"%s\": %zu elements; at most %d are taken",
                    asc_ask_name(id), n, (int)MOST_ELEMENTS);
}

asc_status asc_ask_ids(asc_question *q, asc_key_id id, const int32_t **out, size_t *out_n) {
    const asc_json *v = q->values[id];
    if (v == NULL) return ASC_OK;
    size_t n = asc_json_len(v);
    if (asc_json_typeof(v) != ASC_JSON_ARRAY) return asc_ask_wrong(q, id, v, "a list of token ids");
    if (n > MOST_ELEMENTS) return too_long(q, id, n);
    int32_t *ids = asc_ask_alloc(q, n, sizeof *ids);
    if (ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        const asc_json *e = asc_json_at(v, i);
        int64_t k = asc_json_int(e, -1);
        if (asc_json_typeof(e) != ASC_JSON_INT || k < 0 || k > INT32_MAX)
            return asc_ask_wrong(q, id, e, "a list of token ids (whole numbers from 0 on)");
        ids[i] = (int32_t)k;
    }
    *out = ids;
    *out_n = n;
    return ASC_OK;
}

asc_status asc_ask_texts(asc_question *q, asc_key_id id, const asc_view **out, size_t *out_n) {
    const asc_json *v = q->values[id];
    if (v == NULL) return ASC_OK;
    bool list = asc_json_typeof(v) == ASC_JSON_ARRAY;
    size_t n = list ? asc_json_len(v) : 1;
    if (n > MOST_ELEMENTS) return too_long(q, id, n);
    asc_view *texts = asc_ask_alloc(q, n, sizeof *texts);
    if (texts == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        const asc_json *e = list ? asc_json_at(v, i) : v;
        if (asc_json_typeof(e) != ASC_JSON_STRING)
            return asc_ask_wrong(q, id, e, "a string or a list of strings");
        texts[i] = asc_json_str(e);
    }
    *out = texts;
    *out_n = n;
    return ASC_OK;
}

asc_status asc_ask_strings(asc_question *q, asc_key_id id, const char *const **out, size_t *out_n) {
    const asc_json *v = q->values[id];
    const asc_view *texts = NULL;
    size_t n = 0;
    asc_status st = asc_ask_texts(q, id, &texts, &n);
    if (st != ASC_OK || v == NULL) return st;
    const char **s = asc_ask_alloc(q, n, sizeof *s);
    if (s == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        const asc_json *e = asc_json_typeof(v) == ASC_JSON_ARRAY ? asc_json_at(v, i) : v;
        if ((st = string_of(q, id, e, &s[i])) != ASC_OK) return st;
    }
    *out = s;
    *out_n = n;
    return ASC_OK;
}

asc_status asc_ask_sizes(asc_question *q, asc_key_id id, int64_t *out, size_t most, size_t *out_n) {
    const asc_json *v = q->values[id];
    asc_json_type t = asc_json_typeof(v);
    size_t n = 0;
    if (v == NULL) return ASC_OK;
    char wanted[120];
    snprintf(wanted, sizeof wanted, "a list of 1 to %zu whole numbers from 1 on, or a text as \"3x16x16\"",
             most);
    if (t == ASC_JSON_STRING) {
        asc_view s = asc_json_str(v);
        for (size_t i = 0; i <= s.len; n++) {
            int64_t k = 0;
            size_t from = i;
            while (i < s.len && i - from < 18 && s.ptr[i] >= '0' && s.ptr[i] <= '9')
                k = 10 * k + (s.ptr[i++] - '0');
            if (i == from || n == most || k < 1 || (i < s.len && s.ptr[i] != 'x'))
                return asc_ask_wrong(q, id, v, wanted);
            out[n] = k;
            i++;
        }
    } else {
        size_t len = t == ASC_JSON_ARRAY ? asc_json_len(v) : 1;
        if (len == 0 || len > most) return asc_ask_wrong(q, id, v, wanted);
        for (; n < len; n++) {
            const asc_json *e = t == ASC_JSON_ARRAY ? asc_json_at(v, n) : v;
            if (asc_json_typeof(e) != ASC_JSON_INT || asc_json_int(e, 0) < 1)
                return asc_ask_wrong(q, id, e, wanted);
            out[n] = asc_json_int(e, 0);
        }
    }
    *out_n = n;
    return ASC_OK;
}
