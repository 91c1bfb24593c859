/* settings.c - from words to JSON values of keys, and back. */
#include "settings.h"
#include "ascribe/inputs.h"
#include "commands.h"
#include "line.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 48 << 20 }; /* bytes: with base64 around it still fits a question */

static bool same_name(const char *key, asc_view name) {
    if (strlen(key) != name.len) return false;
    for (size_t i = 0; i < name.len; i++) {
        if ((name.ptr[i] == '-' ? '_' : name.ptr[i]) != key[i]) return false;
    }
    return true;
}

const asc_question_key *settings_key(asc_view name, unsigned subjects) {
    const asc_question_key *k;
    for (size_t i = 0; (k = asc_question_key_at(i)) != NULL; i++) {
        if ((k->subjects & subjects) != 0 && same_name(k->name, name)) return k;
    }
    return NULL;
}

static const char *name_at(void *self, size_t i) {
    const unsigned *subjects = self;
    const asc_question_key *k;
    for (size_t at = 0; (k = asc_question_key_at(at)) != NULL; at++) {
        if ((k->subjects & *subjects) != 0 && i-- == 0) return k->name;
    }
    return NULL;
}

void settings_explain_unknown(asc_view name, unsigned subjects, char *why, size_t why_size) {
    int shown = name.len < 40 ? (int)name.len : 40;
    const asc_question_key *elsewhere = settings_key(name, ~0u);
    const char *near = shell_nearest(name, name_at, &subjects);
    if (elsewhere != NULL)
        snprintf(why, why_size, "'%s' means nothing for this kind of model", elsewhere->name);
    else if (near != NULL)
        snprintf(why, why_size, "there is no key '%.*s'; did you mean '%s'?", shown, name.ptr, near);
    else
        snprintf(why, why_size, "there is no key '%.*s'", shown, name.ptr);
}

static json_t *text_value(asc_view text, char *why, size_t why_size) {
    const char *reason;
    size_t n;
    char *s = line_value(text, &n, &reason);
    json_t *j = s != NULL ? json_stringn(s, n) : NULL;
    if (s == NULL) snprintf(why, why_size, "%s", reason);
    if (s != NULL && j == NULL) snprintf(why, why_size, "the value is not UTF-8 text");
    free(s);
    return j;
}

/* A word such as 12, 0.5 or 1e-3 as a number, NULL: it is none. */
static json_t *number(asc_view v) {
    char s[64], *end;
    if (v.len == 0 || v.len >= sizeof s || memchr(v.ptr, 'x', v.len) != NULL) return NULL;
    memcpy(s, v.ptr, v.len);
    s[v.len] = '\0';
    if (strspn(s, "0123456789+-.eE") != v.len) return NULL;
    if (strspn(s, "0123456789-") == v.len) {
        long long n = strtoll(s, &end, 10);
        if (*end == '\0' && end != s && v.len < 19) return json_integer(n);
    }
    double d = strtod(s, &end);
    return *end == '\0' && end != s ? json_real(d) : NULL;
}

static json_t *boolean(asc_view v) {
    static const char *const words[] = {"on", "off", "true", "false", "yes", "no"};
    for (size_t i = 0; i < 6; i++) {
        if (strlen(words[i]) == v.len && memcmp(words[i], v.ptr, v.len) == 0)
            return i % 2 == 0 ? json_true() : json_false();
    }
    return NULL;
}

/* "1,2 3" as [1, 2, 3]; parts that are no numbers are text. */
json_t *settings_ids(asc_view v) {
    json_t *out = json_array();
    for (size_t i = 0; out != NULL && i < v.len;) {
        size_t n = 0;
        while (i + n < v.len && strchr(", \t", v.ptr[i + n]) == NULL) n++;
        if (n > 0) {
            asc_view part = {v.ptr + i, n};
            json_t *item = number(part);
            if (item == NULL) item = json_stringn(part.ptr, part.len);
            if (item == NULL || json_array_append_new(out, item) != 0) {
                json_decref(out);
                return NULL;
            }
        }
        i += n + 1;
    }
    return out;
}

static json_t *document(asc_view v, char *why, size_t why_size) {
    json_error_t e;
    json_t *j = json_loadb(v.ptr, v.len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &e);
    if (j == NULL) snprintf(why, why_size, "not JSON: column %d: %s", e.column, e.text);
    return j;
}

json_t *settings_base64(asc_ctx *ctx, const char *path, char *why, size_t why_size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    asc_text *file = NULL;
    json_t *j = NULL;
    asc_status st = asc_text_create(ctx, &file);
    if (st == ASC_OK) st = asc_text_read(file, path, FILE_MOST);
    if (st == ASC_OK) {
        asc_view v = asc_text_view(file);
        const unsigned char *p = (const unsigned char *)v.ptr;
        char *out = malloc((v.len + 2) / 3 * 4 + 1), *o = out;
        for (size_t i = 0; out != NULL && i < v.len; i += 3) {
            unsigned n = (unsigned)p[i] << 16 | (i + 1 < v.len ? (unsigned)p[i + 1] << 8 : 0) |
                         (i + 2 < v.len ? (unsigned)p[i + 2] : 0);
            *o++ = digits[n >> 18];
            *o++ = digits[n >> 12 & 63];
            *o++ = i + 1 < v.len ? digits[n >> 6 & 63] : '=';
            *o++ = i + 2 < v.len ? digits[n & 63] : '=';
        }
        if (out != NULL) j = json_stringn(out, (size_t)(o - out));
        free(out);
        if (j == NULL) snprintf(why, why_size, "out of memory");
    } else {
        snprintf(why, why_size, "%s", asc_error_message(ctx));
    }
    asc_text_destroy(file);
    return j;
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static json_t *csv(asc_ctx *ctx, const char *path, char *why, size_t why_size) {
    asc_table t = {0};
    if (asc_csv_read(ctx, path, NULL, 0, &t) != ASC_OK) {
        snprintf(why, why_size, "%s", asc_error_message(ctx));
        return NULL;
    }
    json_t *rows = json_array();
    for (int64_t r = 0; r < t.values.shape.dims[0]; r++) {
        json_t *row = json_array();
        for (size_t c = 0; c < t.n_columns; c++) {
            double x;
            asc_array_get(&t.values, r * (int64_t)t.n_columns + (int64_t)c, 1, &x);
            json_array_append_new(row, json_real(x));
        }
        json_array_append_new(rows, row);
    }
    asc_table_free(ctx, &t);
    return rows;
}

json_t *settings_array(asc_ctx *ctx, asc_view text, char *why, size_t why_size) {
    json_t *j = number(text);
    const char *reason;
    size_t n;
    if (j != NULL) return j;
    if (text.len > 0 && (text.ptr[0] == '[' || text.ptr[0] == '{')) return document(text, why, why_size);
    char *path = line_path(text, &n, &reason);
    if (path == NULL) {
        snprintf(why, why_size, "%s", reason);
    } else if (ends_with(path, ".csv")) {
        j = csv(ctx, path, why, why_size);
    } else if (ends_with(path, ".npy")) {
        json_t *bytes = settings_base64(ctx, path, why, why_size);
        j = bytes != NULL ? json_pack("{s:o}", "npy_b64", bytes) : NULL;
    } else {
        snprintf(why, why_size, "'%.200s' is neither a number nor a .npy or .csv file", path);
    }
    free(path);
    return j;
}

/* The lines of a file. */
static json_t *lines_of(asc_ctx *ctx, const char *path, char *why, size_t why_size) {
    asc_text *file = NULL;
    json_t *out = NULL;
    asc_status st = asc_text_create(ctx, &file);
    if (st == ASC_OK) st = asc_text_read(file, path, FILE_MOST);
    asc_view v = st == ASC_OK ? asc_text_view(file) : (asc_view){0};
    if (st == ASC_OK) out = json_array();
    for (size_t i = 0; out != NULL && i < v.len;) {
        const char *end = memchr(v.ptr + i, '\n', v.len - i);
        size_t n = end != NULL ? (size_t)(end - v.ptr) - i : v.len - i, shown = n;
        if (shown > 0 && v.ptr[i + shown - 1] == '\r') shown--;
        if (json_array_append_new(out, json_stringn(v.ptr + i, shown)) != 0) {
            json_decref(out);
            out = NULL;
        }
        i += n + 1;
    }
    if (out == NULL)
        snprintf(why, why_size, "%s", st != ASC_OK ? asc_error_message(ctx) : "a line is not UTF-8 text");
    asc_text_destroy(file);
    return out;
}

static json_t *of_file(asc_ctx *ctx, asc_view text, json_t *(*read)(asc_ctx *, const char *, char *, size_t),
                       char *why, size_t why_size) {
    const char *reason;
    size_t n;
    char *path = line_path(text, &n, &reason);
    if (path == NULL) snprintf(why, why_size, "%s", reason);
    json_t *j = path != NULL ? read(ctx, path, why, why_size) : NULL;
    free(path);
    return j;
}

bool settings_is_from_file(const asc_question_key *k) {
    switch (k->type) {
    case ASC_KEY_PICTURE:
    case ASC_KEY_BASE64:
    case ASC_KEY_ARRAY:
    case ASC_KEY_ARRAYS:
        return true;
    case ASC_KEY_TEXTS: /* names, one a line */
        return strcmp(k->name, "labels") == 0 || strcmp(k->name, "feature_names") == 0;
    default:
        return false;
    }
}

json_t *settings_value(asc_ctx *ctx, const asc_question_key *k, asc_view text, char *why, size_t why_size) {
    json_t *j = NULL;
    bool json = text.len > 0 && (text.ptr[0] == '[' || text.ptr[0] == '{');
    why[0] = '\0';
    switch (k->type) {
    case ASC_KEY_TEXT:
        return text_value(text, why, why_size);
    case ASC_KEY_PICTURE:
    case ASC_KEY_BASE64:
        return of_file(ctx, text, settings_base64, why, why_size);
    case ASC_KEY_TEXTS:
        if (!json && settings_is_from_file(k)) return of_file(ctx, text, lines_of, why, why_size);
        break;
    case ASC_KEY_BOOL:
        j = boolean(text);
        if (j == NULL) snprintf(why, why_size, "'%s' is on or off", k->name);
        return j;
    case ASC_KEY_ARRAY:
    case ASC_KEY_ARRAYS: {
        char name[64];
        snprintf(name, sizeof name, "%.*s", text.len < 60 ? (int)text.len : 60, text.ptr);
        if (k->choices[0] != '\0' && settings_is_choice(k->choices, name))
            return text_value(text, why, why_size);
        return settings_array(ctx, text, why, why_size);
    }
    case ASC_KEY_IDS:
        return json ? document(text, why, why_size) : settings_ids(text);
    default:
        break;
    }
    if (json) return document(text, why, why_size);
    j = number(text);
    return j != NULL ? j : text_value(text, why, why_size);
}

void settings_show_value(asc_text *t, const json_t *value, size_t columns) {
    if (json_is_string(value)) {
        const char *s = json_string_value(value);
        size_t n = json_string_length(value);
        bool quotes = n == 0 || isspace((unsigned char)s[0]) || isspace((unsigned char)s[n - 1]);
        if (quotes) asc_text_adds(t, "\"");
        asc_text_shown(t, (asc_view){s, n}, columns);
        if (quotes) asc_text_adds(t, "\"");
        return;
    }
    char *s = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    if (s != NULL) asc_text_shown(t, (asc_view){s, strlen(s)}, columns);
    free(s);
}

bool settings_is_choice(const char *choices, const char *value) {
    for (const char *p = choices; *p != '\0';) {
        size_t n = strcspn(p, "|"), fixed = 0;
        while (fixed < n && !isupper((unsigned char)p[fixed])) fixed++;
        if (fixed == n ? strlen(value) == n && strncmp(p, value, n) == 0
                       : fixed > 0 && strncmp(p, value, fixed) == 0)
            return true;
        p += n + (p[n] == '|');
    }
    return false;
}
