/* text_build.c - text as a public object: plain appending, files, JSON. See ascribe/text.h. */
#include "file.h"
#include "plain.h"
#include "text_parts.h"
#include "view.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

asc_status asc_text_create(asc_ctx *ctx, asc_text **out) {
    asc_text *t = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *t);
    *out = t;
    if (t == NULL) return ASC_RESOURCE_EXHAUSTED;
    t->ctx = ctx;
    asc_strbuf_init(&t->b, ctx);
    asc_jsonw_init(&t->w, &t->b, false);
    return ASC_OK;
}

void asc_text_destroy(asc_text *t) {
    if (t == NULL) return;
    asc_strbuf_deinit(&t->b);
    asc_free(t->ctx, t);
}

void asc_text_compact(asc_text *t) { t->w.compact = true; }

void asc_text_clear(asc_text *t) {
    asc_strbuf_clear(&t->b);
    asc_jsonw_init(&t->w, &t->b, t->w.compact);
    t->depth = 0;
}

asc_view asc_text_view(const asc_text *t) { return asc_strbuf_view(&t->b); }
asc_status asc_text_status(const asc_text *t) { return asc_strbuf_status(&t->b); }

void asc_text_add(asc_text *t, asc_view v) { asc_strbuf_addv(&t->b, v); }
void asc_text_adds(asc_text *t, const char *s) { asc_strbuf_adds(&t->b, s); }

void asc_text_addf(asc_text *t, const char *fmt, ...) {
    char small[512];
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = asc_vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof small) {
        asc_strbuf_add(&t->b, small, (size_t)n);
    } else if (n >= 0) {
        char *large = asc_alloc(t->ctx, ASC_MEM_GENERAL, (size_t)n + 1);
        if (large == NULL) {
            t->b.failed = true;
        } else {
            asc_vsnprintf(large, (size_t)n + 1, fmt, again);
            asc_strbuf_add(&t->b, large, (size_t)n);
            asc_free(t->ctx, large);
        }
    }
    va_end(again);
}

void asc_text_blanks(asc_text *t, size_t n) {
    while (n-- > 0) asc_strbuf_addc(&t->b, ' ');
}

void asc_text_wrap(asc_text *t, const char *s, size_t indent, size_t columns) {
    size_t at = 0;
    const char *line = strrchr(asc_strbuf_view(&t->b).ptr, '\n');
    at = asc_shown_columns(asc_view_of(line != NULL ? line + 1 : asc_strbuf_view(&t->b).ptr));
    bool first = true;
    while (*s != '\0') {
        size_t n = strcspn(s, " ");
        size_t w = asc_shown_columns(asc_view_make(s, n));
        if (!first && at + 1 + w > columns) {
            asc_strbuf_addc(&t->b, '\n');
            asc_text_blanks(t, indent);
            at = indent;
        } else if (!first) {
            asc_strbuf_addc(&t->b, ' ');
            at++;
        }
        at += asc_text_shown(t, asc_view_make(s, n), 0);
        first = false;
        s += n;
        while (*s == ' ') s++;
    }
    asc_strbuf_addc(&t->b, '\n');
}

/* JSON: the writer knows commas and depth; here is only which end belongs to which begin. */
static void put_key(asc_text *t, const char *key) {
    if (key != NULL) asc_jsonw_key(&t->w, key);
}

static void enter(asc_text *t, bool array) {
    if (t->depth < 63) t->is_array[t->depth] = array;
    t->depth++;
}

void asc_text_object(asc_text *t, const char *key) {
    put_key(t, key);
    asc_jsonw_begin_object(&t->w);
    enter(t, false);
}

void asc_text_array(asc_text *t, const char *key) {
    put_key(t, key);
    asc_jsonw_begin_array(&t->w);
    enter(t, true);
}

void asc_text_end(asc_text *t) {
    if (t->depth == 0 || t->b.failed) return;
    t->depth--;
    if (t->is_array[t->depth])
        asc_jsonw_end_array(&t->w);
    else
        asc_jsonw_end_object(&t->w);
}

void asc_text_str(asc_text *t, const char *key, asc_view v) {
    put_key(t, key);
    asc_jsonw_str(&t->w, v);
}

void asc_base64(asc_strbuf *out, asc_view v) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char four[4];
    for (size_t i = 0; i < v.len; i += 3) {
        size_t n = v.len - i < 3 ? v.len - i : 3;
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++) bits = bits << 8 | (k < n ? (unsigned char)v.ptr[i + k] : 0);
        for (size_t k = 0; k < 4; k++) four[k] = '=';
        for (size_t k = 0; k <= n; k++) four[k] = digits[bits >> (18 - 6 * k) & 63];
        asc_strbuf_add(out, four, 4);
    }
}

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_white(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

size_t asc_base64_read(asc_view v, char *out) {
    uint32_t bits = 0;
    int have = 0;
    size_t n = 0, digits = 0;
    while (v.len > 0 && (v.ptr[v.len - 1] == '=' || is_white(v.ptr[v.len - 1]))) v.len--;
    for (size_t i = 0; i < v.len; i++) {
        int d = base64_digit(v.ptr[i]);
        if (d < 0 && is_white(v.ptr[i])) continue;
        if (d < 0) return SIZE_MAX;
        bits = bits << 6 | (uint32_t)d;
        have += 6;
        digits++;
        if (have >= 8) out[n++] = (char)(bits >> (have -= 8) & 255);
    }
    return digits % 4 == 1 ? SIZE_MAX : n; /* one digit alone is no byte */
}

static void put_base64(asc_text *t, asc_view v) {
    asc_strbuf s;
    asc_strbuf_init(&s, t->ctx);
    asc_base64(&s, v);
    if (s.failed) t->b.failed = true;
    asc_jsonw_key(&t->w, "bytes_b64");
    asc_jsonw_str(&t->w, asc_strbuf_view(&s));
    asc_strbuf_deinit(&s);
}

void asc_text_bytes(asc_text *t, const char *key, asc_view v) {
    asc_text_str(t, key, v);
    if (asc_utf8_check(v) != v.len) put_base64(t, v);
}

void asc_text_strz(asc_text *t, const char *key, const char *s) {
    if (s == NULL)
        asc_text_null(t, key);
    else
        asc_text_str(t, key, asc_view_of(s));
}

void asc_text_num(asc_text *t, const char *key, double v) {
    put_key(t, key);
    asc_jsonw_num(&t->w, v);
}

void asc_text_int(asc_text *t, const char *key, int64_t v) {
    put_key(t, key);
    asc_jsonw_int(&t->w, v);
}

void asc_text_bool(asc_text *t, const char *key, bool v) {
    put_key(t, key);
    asc_jsonw_bool(&t->w, v);
}

void asc_text_null(asc_text *t, const char *key) {
    put_key(t, key);
    asc_jsonw_null(&t->w);
}

asc_status asc_text_read(asc_text *t, const char *path, size_t limit) {
    char *data = NULL;
    size_t n = 0;
    asc_status st = asc_file_read(t->ctx, path, limit, &data, &n);
    if (st != ASC_OK) return st;
    asc_strbuf_add(&t->b, data, n);
    asc_free(t->ctx, data);
    return asc_text_status(t);
}

asc_status asc_text_write(asc_text *t, const char *path) {
    asc_status st = asc_text_status(t);
    if (st != ASC_OK) return st;
    asc_view v = asc_text_view(t);
    if (strcmp(path, "-") != 0) return asc_file_write(t->ctx, path, v.ptr, v.len);
    while (v.len > 0) {
        ssize_t n = write(STDOUT_FILENO, v.ptr, v.len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            st = errno == ENOSPC ? ASC_RESOURCE_EXHAUSTED : ASC_UNAVAILABLE;
            ASC_FAIL(t->ctx, st, "cannot write standard output: %s", strerror(errno));
            return asc_hint(t->ctx, st == ASC_RESOURCE_EXHAUSTED
                                        ? "free disk space or write elsewhere"
                                        : "give standard output a place, or name a file");
        }
        v.ptr += n;
        v.len -= (size_t)n;
    }
    return ASC_OK;
}
