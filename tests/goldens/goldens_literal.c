/* goldens_literal.c - Python values to JSON: one pass over the text that writes JSON, which is then parsed.
 */
#include "goldens_literal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 8 };

typedef struct out {
    char *text;
    size_t len, room;
} out;

static void put(out *o, const char *s, size_t n) {
    if (o->len + n + 1 > o->room) {
        o->room = 2 * (o->len + n) + 256;
        o->text = realloc(o->text, o->room);
        if (o->text == NULL) abort();
    }
    memcpy(o->text + o->len, s, n);
    o->len += n;
    o->text[o->len] = '\0';
}
static void puts_(out *o, const char *s) { put(o, s, strlen(s)); }
static void number(out *o, double v) {
    char b[40];
    snprintf(b, sizeof b, "%.17g", v);
    puts_(o, b);
}

typedef struct scan {
    const char *p, *end;
    const char *why;
} scan;

static void blanks(scan *s) {
    while (s->p < s->end && *s->p == ' ') s->p++;
}
static bool take(scan *s, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0) return false;
    s->p += n;
    return true;
}
static bool no(scan *s, const char *why) {
    if (s->why == NULL) s->why = why;
    return false;
}

/* A number: the text behind s may go on. */
static bool real(scan *s, double *v) {
    char b[48], *end;
    size_t n = 0;
    while (s->p + n < s->end && n < sizeof b - 1 && strchr("+-.0123456789einfa", s->p[n]) != NULL) n++;
    memcpy(b, s->p, n);
    b[n] = '\0';
    *v = strtod(b, &end);
    if (end == b) return false;
    s->p += end - b;
    return true;
}

static bool shape(scan *s, long long *dims, int *rank, size_t *count) {
    *rank = 0;
    *count = 1;
    if (!take(s, "[")) return no(s, "not a value");
    while (!take(s, "]")) {
        double v;
        blanks(s);
        if (*rank == DEPTH || !real(s, &v)) return no(s, "not a value");
        dims[(*rank)++] = (long long)v;
        *count *= (size_t)v;
        take(s, ",");
        blanks(s);
    }
    return *count < 1u << 20 || no(s, "too large");
}

static void open_array(out *o, const long long *dims, int rank, const char *dtype) {
    puts_(o, "{\"shape\":[");
    for (int d = 0; d < rank; d++) {
        if (d > 0) puts_(o, ",");
        number(o, (double)dims[d]);
    }
    puts_(o, "],\"dtype\":\"");
    puts_(o, dtype);
    puts_(o, "\",\"data\":[");
}

static bool made(scan *s, out *o) {
    long long dims[DEPTH];
    int rank = 0;
    size_t n = 0;
    double from = 0.0, step = 0.0;
    if (take(s, "arange(")) {
        if (!real(s, &from) || !take(s, ",step=") || !real(s, &step) || !take(s, ").view(") ||
            !shape(s, dims, &rank, &n) || !take(s, ")"))
            return no(s, "not a value");
    } else if (take(s, "full(")) {
        if (!shape(s, dims, &rank, &n) || !take(s, ",") || !real(s, &from) || !take(s, ")"))
            return no(s, "not a value");
    } else if (!take(s, "empty") || !shape(s, dims, &rank, &n)) {
        return no(s, "not a value");
    }
    open_array(o, dims, rank, "float32");
    for (size_t i = 0; i < n; i++) {
        if (i > 0) puts_(o, ",");
        number(o, from + step * (double)i);
    }
    puts_(o, "]}");
    return true;
}

/* A nested list of numbers or truth values; false (and s as it was) when there is anything else in it. */
static bool numbers(scan *s, out *data, long long *dims, int depth, int *rank, bool *truth) {
    long long n = 0;
    if (depth == DEPTH || !take(s, "[")) return false;
    for (blanks(s); !take(s, "]"); n++) {
        if (s->p >= s->end) return false;
        if (*s->p == '[') {
            if (!numbers(s, data, dims, depth + 1, rank, truth)) return false;
        } else {
            double v;
            bool yes = take(s, "True"), is = yes || take(s, "False");
            *truth = *truth || is;
            if (is) v = yes ? 1.0 : 0.0;
            if (!is && !real(s, &v)) return false;
            if (data->len > 0) puts_(data, ",");
            number(data, v);
            *rank = depth + 1;
        }
        blanks(s);
        take(s, ",");
        blanks(s);
    }
    dims[depth] = n;
    if (n == 0) *rank = depth + 1;
    return true;
}

static bool value(scan *s, out *o);

static bool list(scan *s, out *o) {
    const char *start = s->p;
    long long dims[DEPTH] = {0};
    int rank = 0;
    bool truth = false;
    out data = {0};
    if (numbers(s, &data, dims, 0, &rank, &truth)) {
        truth = take(s, ":bool") || truth;
        take(s, ":float64");
        open_array(o, dims, rank, truth ? "bool" : "float32");
        if (data.len > 0) put(o, data.text, data.len);
        puts_(o, "]}");
        free(data.text);
        return true;
    }
    free(data.text);
    s->p = start + 1;
    puts_(o, "[");
    for (bool first = true; blanks(s), !take(s, "]"); first = false) {
        if (!first) puts_(o, ",");
        if (!value(s, o)) return false;
        blanks(s);
        take(s, ",");
    }
    puts_(o, "]");
    return true;
}

static bool tuple(scan *s, out *o) {
    puts_(o, "{\"tuple\":[");
    for (bool first = true; blanks(s), !take(s, ")"); first = false) {
        if (!first) puts_(o, ",");
        if (!value(s, o)) return false;
        blanks(s);
        take(s, ",");
    }
    puts_(o, "]}");
    return true;
}

static bool value(scan *s, out *o) {
    double v;
    blanks(s);
    if (s->p >= s->end) return no(s, "not a value");
    if (take(s, "(")) return tuple(s, o);
    if (*s->p == '[') return list(s, o);
    if (take(s, "None")) return puts_(o, "null"), true;
    if (take(s, "True")) return puts_(o, "true"), true;
    if (take(s, "False")) return puts_(o, "false"), true;
    if (*s->p == '\'') {
        const char *end = memchr(s->p + 1, '\'', (size_t)(s->end - s->p - 1));
        if (end == NULL) return no(s, "not a value");
        puts_(o, "\"");
        put(o, s->p + 1, (size_t)(end - s->p - 1));
        puts_(o, "\"");
        s->p = end + 1;
        return true;
    }
    if (strncmp(s->p, "tensor", 6) == 0) return no(s, "only a summary of the tensor was recorded");
    if (strncmp(s->p, "callable:", 9) == 0) return no(s, "a function defined in the test");
    if (*s->p == 'a' || *s->p == 'f' || *s->p == 'e') return made(s, o);
    if (!real(s, &v)) return no(s, "not a value");
    if (take(s, ":float64")) return number(o, v), true;
    return number(o, v), true;
}

asc_json *golden_literal(asc_ctx *ctx, asc_view text, const char **why) {
    scan s = {text.ptr, text.ptr + text.len, NULL};
    out o = {0};
    asc_json *j = NULL;
    bool ok = value(&s, &o);
    blanks(&s);
    *why = s.why;
    if (ok && s.p != s.end) *why = "not a value", ok = false;
    if (ok && asc_json_parse(ctx, o.text, o.len, &j) != ASC_OK) *why = "not a value";
    free(o.text);
    return j;
}

/* Length of the text up to a separator outside all brackets. */
static size_t piece(asc_view t) {
    int depth = 0;
    for (size_t i = 0; i < t.len; i++) {
        if (strchr("([{", t.ptr[i]) != NULL) depth++;
        if (strchr(")]}", t.ptr[i]) != NULL) depth--;
        if (depth == 0 && (t.ptr[i] == ',' || t.ptr[i] == ';')) return i;
    }
    return t.len;
}

static void arguments(asc_view t, out *o) {
    while (t.len > 0) {
        size_t n = piece(t);
        asc_view one = {t.ptr, n};
        t.ptr += n < t.len ? n + 1 : n;
        t.len -= n < t.len ? n + 1 : n;
        while (one.len > 0 && *one.ptr == ' ') one.ptr++, one.len--;
        if (one.len > 6 && memcmp(one.ptr, "ctor{", 5) == 0) {
            arguments((asc_view){one.ptr + 5, one.len - 6}, o);
            continue;
        }
        const char *eq = memchr(one.ptr, '=', one.len);
        if (eq == NULL) continue;
        if (o->len > 1) puts_(o, ",");
        puts_(o, "\"");
        put(o, one.ptr, (size_t)(eq - one.ptr));
        puts_(o, "\":");
        scan s = {eq + 1, one.ptr + one.len, NULL};
        size_t before = o->len;
        if (value(&s, o) && s.p == s.end) continue;
        o->len = before;
        puts_(o, "\"");
        put(o, eq + 1, (size_t)(one.ptr + one.len - eq - 1));
        puts_(o, "\"");
    }
}

asc_json *golden_arguments(asc_ctx *ctx, asc_view text) {
    out o = {0};
    asc_json *j = NULL;
    puts_(&o, "{");
    arguments(text, &o);
    puts_(&o, "}");
    if (asc_json_parse(ctx, o.text, o.len, &j) != ASC_OK) j = NULL;
    free(o.text);
    return j;
}
