/* jinja_parse_literal.c - strings with their escapes, and numbers. */
#include "jinja_ast.h"
#include "plain.h"
#include <stdlib.h>

static asc_status hex_escape(asc_jinja *j, size_t off, const char *p, size_t left, size_t digits,
                             uint32_t *cp) {
    uint32_t v = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = i < left ? p[i] : '\0';
        uint32_t d = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                            : 16;
        if (d == 16)
            return asc_jinja_fail(j, off, ASC_INVALID_ARGUMENT, "escape needs %zu hexadecimal digits",
                                  digits);
        v = v * 16 + d;
    }
    if (v > 0x10FFFF || (v >= 0xD800 && v <= 0xDFFF))
        return asc_jinja_fail(j, off, ASC_INVALID_ARGUMENT, "U+%04X is no character", (unsigned)v);
    *cp = v;
    return ASC_OK;
}

/* One escape at p[0] == '\\' of n bytes; writes to dst, gives bytes read and written. Python's rules: an
 * unknown escape stays as it is written. */
static asc_status unescape(asc_jinja *j, size_t off, const char *p, size_t n, char *dst, size_t *rd,
                           size_t *wr) {
    static const char from[] = "ntr\\'\"abfv", to[] = "\n\t\r\\'\"\a\b\f\v";
    char c = p[1];
    const char *hit = c != '\0' ? strchr(from, c) : NULL;
    *rd = 2;
    *wr = 1;
    if (hit != NULL) {
        dst[0] = to[hit - from];
    } else if (c == '\n') {
        *wr = 0;
    } else if (c == 'x' || c == 'u' || c == 'U') {
        size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        uint32_t cp = 0;
        ASC_JINJA_DO(hex_escape(j, off, p + 2, n - 2, digits, &cp));
        *rd = 2 + digits;
        *wr = asc_utf8_encode(cp, dst);
    } else if (c >= '0' && c <= '7') {
        uint32_t cp = 0;
        size_t i = 1;
        while (i < 4 && i < n && p[i] >= '0' && p[i] <= '7') cp = cp * 8 + (uint32_t)(p[i++] - '0');
        *rd = i;
        *wr = asc_utf8_encode(cp, dst);
    } else if (c == 'N') {
        return asc_jinja_refuse(j, off, "escape", asc_view_of("\\N"));
    } else {
        dst[0] = '\\';
        *rd = 1;
    }
    return ASC_OK;
}

/* Adjacent string literals are one string. */
asc_status asc_jinja_parse_string(asc_jinja *j, asc_jinja_node **out) {
    size_t total = 0, n = 0;
    for (size_t k = 0; asc_jinja_peek(j, k)->type == JT_STRING; k++) total += asc_jinja_peek(j, k)->len;
    ASC_JINJA_DO(asc_jinja_node_new(j, JN_STRING, asc_jinja_peek(j, 0)->off, out));
    char *buf = asc_jinja_alloc(j, total, 1); /* no escape is longer than what it stands for */
    if (buf == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (; asc_jinja_peek(j, 0)->type == JT_STRING; j->at++) {
        const asc_jinja_token *t = asc_jinja_peek(j, 0);
        const char *p = j->src.ptr + t->off + 1;
        size_t len = t->len - 2;
        for (size_t i = 0; i < len;) {
            if (p[i] != '\\') {
                buf[n++] = p[i++];
                continue;
            }
            size_t rd = 0, wr = 0;
            ASC_JINJA_DO(unescape(j, t->off + 1 + i, p + i, len - i, buf + n, &rd, &wr));
            i += rd;
            n += wr;
        }
    }
    (*out)->text = asc_view_make(buf, n);
    return asc_jinja_node_done(j, *out);
}

asc_status asc_jinja_parse_number(asc_jinja *j, asc_jinja_node **out) {
    const asc_jinja_token *t = asc_jinja_peek(j, 0);
    asc_view v = asc_jinja_tok_text(j, t);
    char text[400];
    bool whole = t->type == JT_INT;
    ASC_JINJA_DO(asc_jinja_node_new(j, whole ? JN_INT : JN_FLOAT, t->off, out));
    if (v.len >= sizeof text)
        return asc_jinja_fail(j, t->off, ASC_OUT_OF_RANGE, "number with %zu digits", v.len);
    memcpy(text, v.ptr, v.len);
    text[v.len] = '\0';
    if (whole) {
        int64_t n = 0;
        for (size_t i = 0; i < v.len; i++) {
            if (__builtin_mul_overflow(n, (int64_t)10, &n) ||
                __builtin_add_overflow(n, (int64_t)(text[i] - '0'), &n))
                return asc_jinja_fail(j, t->off, ASC_OUT_OF_RANGE, "whole number over 64 bits");
        }
        (*out)->num.i = n;
    } else {
        (*out)->num.f = asc_strtod(text, NULL);
    }
    j->at++;
    return asc_jinja_node_done(j, *out);
}
