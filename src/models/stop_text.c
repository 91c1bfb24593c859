/* stop_text.c - see stop_text.h. What waits is shorter than the longest stop string, so looking for all of
 * them anew at every token costs little. */
#include "stop_text.h"
#include <string.h>

asc_status asc_stop_text_init(asc_ctx *ctx, const asc_view *stop, size_t n_stop, asc_stop_text *out) {
    *out = (asc_stop_text){.stop = stop, .n_stop = n_stop};
    asc_strbuf_init(&out->held, ctx);
    if (n_stop > ASC_MAX_STOPS)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "generate: %zu stop strings; at most %d", n_stop,
                        ASC_MAX_STOPS);
    for (size_t i = 0; i < n_stop; i++) {
        if (stop[i].len == 0)
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "generate: stop string %zu is empty", i + 1);
        if (stop[i].len > ASC_MAX_STOP_BYTES)
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "generate: stop string %zu has %zu bytes; at most %d",
                            i + 1, stop[i].len, ASC_MAX_STOP_BYTES);
    }
    return ASC_OK;
}

void asc_stop_text_deinit(asc_stop_text *t) {
    asc_strbuf_deinit(&t->held);
    *t = (asc_stop_text){0};
}

/* Bytes at the end of v that may be the beginning of a character whose rest comes later. */
static size_t unfinished(const char *p, size_t n) {
    for (size_t k = 1; k <= 3 && k <= n; k++) {
        const unsigned char b = (unsigned char)p[n - k];
        if (b < 0x80) return 0;
        if (b >= 0xC0) return (b >= 0xF0 ? 4u : b >= 0xE0 ? 3u : 2u) > k ? k : 0;
    }
    return 0;
}

/* Where the first stop string begins; n when there is none. */
static size_t find_stop(const asc_stop_text *t, const char *p, size_t n) {
    size_t first = n;
    for (size_t i = 0; i < t->n_stop; i++) {
        const char *at = n > 0 ? memmem(p, n, t->stop[i].ptr, t->stop[i].len) : NULL;
        if (at != NULL && (size_t)(at - p) < first) first = (size_t)(at - p);
    }
    return first;
}

/* Bytes at the end that may be the beginning of a stop string. */
static size_t begun_stop(const asc_stop_text *t, const char *p, size_t n) {
    size_t most = 0;
    for (size_t i = 0; i < t->n_stop; i++) {
        for (size_t k = t->stop[i].len - 1; k > most; k--) {
            if (k <= n && memcmp(p + n - k, t->stop[i].ptr, k) == 0) most = k;
        }
    }
    return most;
}

asc_status asc_stop_text_add(asc_stop_text *t, asc_view piece, bool last, asc_view *out, bool *stopped) {
    asc_strbuf *b = &t->held;
    if (t->ready > 0) {
        memmove(b->ptr, b->ptr + t->ready, b->len - t->ready + 1);
        b->len -= t->ready;
        t->ready = 0;
    }
    asc_strbuf_addv(b, piece);
    *out = (asc_view){0};
    *stopped = false;
    asc_status st = asc_strbuf_status(b);
    if (st != ASC_OK || b->len == 0) return st;
    size_t n = find_stop(t, b->ptr, b->len);
    *stopped = n < b->len;
    if (!*stopped && !last) {
        n -= begun_stop(t, b->ptr, n);
        n -= unfinished(b->ptr, n);
    }
    t->ready = n;
    *out = (asc_view){b->ptr, n};
    return ASC_OK;
}
