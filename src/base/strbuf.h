/* strbuf.h - growable byte string with a sticky error: append freely, check `failed` once. */
#ifndef ASC_STRBUF_H
#define ASC_STRBUF_H

#include "alloc.h"

typedef struct asc_strbuf {
    asc_ctx *ctx;
    char *ptr; /* always NUL-terminated once anything was added; owned */
    size_t len, cap;
    size_t limit; /* 0 = none; going over it sets failed with RESOURCE_EXHAUSTED */
    bool failed;
} asc_strbuf;

void asc_strbuf_init(asc_strbuf *b, asc_ctx *ctx);
void asc_strbuf_deinit(asc_strbuf *b);
void asc_strbuf_clear(asc_strbuf *b);
void asc_strbuf_add(asc_strbuf *b, const char *p, size_t n);
void asc_strbuf_addc(asc_strbuf *b, char c);
void asc_strbuf_adds(asc_strbuf *b, const char *s);
void asc_strbuf_addv(asc_strbuf *b, asc_view v);
void asc_strbuf_addf(asc_strbuf *b, const char *fmt, ...) ASC_PRINTF(2, 3);
asc_view asc_strbuf_view(const asc_strbuf *b);
/* ASC_OK, or the error that made it fail (recorded in the context). */
ASC_MUST_USE asc_status asc_strbuf_status(const asc_strbuf *b);
/* Hands the string over (free with asc_free); the buffer is empty afterwards. NULL if failed. */
ASC_MUST_USE char *asc_strbuf_take(asc_strbuf *b, size_t *out_len);

#endif
