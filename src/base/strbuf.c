/* strbuf.c - see strbuf.h. */
#include "strbuf.h"
#include "plain.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void asc_strbuf_init(asc_strbuf *b, asc_ctx *ctx) { *b = (asc_strbuf){.ctx = ctx}; }

void asc_strbuf_deinit(asc_strbuf *b) {
    asc_free(b->ctx, b->ptr);
    b->ptr = NULL;
    b->len = b->cap = 0;
}

void asc_strbuf_clear(asc_strbuf *b) {
    b->len = 0;
    b->failed = false;
    if (b->ptr != NULL) b->ptr[0] = '\0';
}

static bool reserve(asc_strbuf *b, size_t n) {
    size_t need;
    if (b->failed) return false;
    if (b->limit != 0 && (n > b->limit || b->len > b->limit - n)) {
        ASC_FAIL(b->ctx, ASC_RESOURCE_EXHAUSTED, "text grows over its limit of %zu bytes", b->limit);
        b->failed = true;
        return false;
    }
    if (!asc_add_size(b->len, n, &need) || !asc_add_size(need, 1, &need) ||
        asc_grow(b->ctx, ASC_MEM_GENERAL, (void **)&b->ptr, &b->cap, need, 1) != ASC_OK) {
        b->failed = true;
        return false;
    }
    return true;
}

void asc_strbuf_add(asc_strbuf *b, const char *p, size_t n) {
    if (!reserve(b, n)) return;
    if (n > 0) memcpy(b->ptr + b->len, p, n);
    b->len += n;
    b->ptr[b->len] = '\0';
}

void asc_strbuf_addc(asc_strbuf *b, char c) { asc_strbuf_add(b, &c, 1); }
void asc_strbuf_adds(asc_strbuf *b, const char *s) { asc_strbuf_add(b, s, strlen(s)); }
void asc_strbuf_addv(asc_strbuf *b, asc_view v) { asc_strbuf_add(b, v.ptr, v.len); }

void asc_strbuf_addf(asc_strbuf *b, const char *fmt, ...) {
    va_list ap, ap2;
    va_start(ap, fmt);
    va_copy(ap2, ap);
    int n = asc_vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n >= 0 && reserve(b, (size_t)n)) {
        asc_vsnprintf(b->ptr + b->len, (size_t)n + 1, fmt, ap2);
        b->len += (size_t)n;
    }
    va_end(ap2);
}

asc_view asc_strbuf_view(const asc_strbuf *b) { return (asc_view){b->ptr != NULL ? b->ptr : "", b->len}; }

asc_status asc_strbuf_status(const asc_strbuf *b) { return b->failed ? b->ctx->error.code : ASC_OK; }

char *asc_strbuf_take(asc_strbuf *b, size_t *out_len) {
    if (out_len != NULL) *out_len = 0;
    if (!b->failed && b->ptr == NULL) asc_strbuf_add(b, "", 0);
    if (b->failed) return NULL;
    char *p = b->ptr;
    if (out_len != NULL) *out_len = b->len;
    b->ptr = NULL;
    b->len = b->cap = 0;
    return p;
}
