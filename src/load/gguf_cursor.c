/* gguf_cursor.c - bounded reads of the header, and the messages when a read cannot be served. */
#include "gguf_parts.h"
#include "plain.h"
#include <stdarg.h>
#include <stdio.h>

asc_status asc_gguf_bad(asc_ctx *ctx, const asc_gguf *g, size_t at, const char *fmt, ...) {
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    asc_vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s': at byte %zu: %s", g->name, at, text);
    return asc_hint(ctx, "the file is damaged or was written wrongly; fetch or convert it again");
}

asc_status asc_gguf_need(asc_ctx *ctx, const asc_gguf *g, uint64_t bytes, const char *what, asc_view of) {
    if (bytes <= g->size - g->pos) return ASC_OK;
    of = asc_view_cut(of, 128);
    unsigned long long n = bytes;
    if (of.len > 0) {
        ASC_FAIL(ctx, ASC_DATA_LOSS,
                 "'%s': %s of '" ASC_VIEW_FMT "' at byte %zu needs %llu bytes, the file ends at byte %zu",
                 g->name, what, ASC_VIEW_ARG(of), g->pos, n, g->size);
    } else {
        ASC_FAIL(ctx, ASC_DATA_LOSS, "'%s': %s at byte %zu needs %llu bytes, the file ends at byte %zu",
                 g->name, what, g->pos, n, g->size);
    }
    return asc_hint(ctx, "the file is cut short or damaged; fetch it again");
}

asc_status asc_gguf_read_u32(asc_ctx *ctx, asc_gguf *g, const char *what, asc_view of, uint32_t *out) {
    asc_status st = asc_gguf_need(ctx, g, 4, what, of);
    if (st != ASC_OK) return st;
    *out = asc_le32(g->data + g->pos);
    g->pos += 4;
    return ASC_OK;
}

asc_status asc_gguf_read_u64(asc_ctx *ctx, asc_gguf *g, const char *what, asc_view of, uint64_t *out) {
    asc_status st = asc_gguf_need(ctx, g, 8, what, of);
    if (st != ASC_OK) return st;
    *out = asc_le64(g->data + g->pos);
    g->pos += 8;
    return ASC_OK;
}

asc_status asc_gguf_read_name(asc_ctx *ctx, asc_gguf *g, const char *what, size_t limit, asc_view *out) {
    asc_status st = ASC_OK;
    size_t at = g->pos;
    uint64_t len;
    ASC_TRY(asc_gguf_read_u64(ctx, g, what, (asc_view){0}, &len));
    if (len == 0) return asc_gguf_bad(ctx, g, at, "%s is empty", what);
    ASC_TRY(asc_gguf_need(ctx, g, len, what, (asc_view){0}));
    if (len > limit) {
        ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "'%s': at byte %zu: %s of %llu bytes, at most %zu", g->name, at,
                 what, (unsigned long long)len, limit);
        return asc_hint(ctx,
                        "the file is damaged, or its writer breaks the format's limit; convert it again");
    }
    *out = asc_view_make((const char *)g->data + g->pos, (size_t)len);
    bool clean = asc_utf8_check(*out) == out->len;
    for (size_t i = 0; i < out->len; i++) clean &= (unsigned char)out->ptr[i] >= 0x20 && out->ptr[i] != 0x7F;
    if (!clean) return asc_gguf_bad(ctx, g, at, "%s is not printable UTF-8 text", what);
    g->pos += (size_t)len;
done:
    return st;
}

asc_status asc_gguf_check_count(asc_ctx *ctx, const asc_gguf *g, const char *what, uint64_t n,
                                size_t min_bytes, size_t limit) {
    if (n > (g->size - g->pos) / min_bytes) {
        ASC_FAIL(ctx, ASC_DATA_LOSS, "'%s': %s is %llu, more than the %zu bytes from byte %zu on can hold",
                 g->name, what, (unsigned long long)n, g->size - g->pos, g->pos);
        return asc_hint(ctx, "the file is cut short or damaged; fetch it again");
    }
    if (n > limit) {
        ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "'%s': %s is %llu, at most %zu are read", g->name, what,
                 (unsigned long long)n, limit);
        return asc_hint(ctx, "the file is damaged, or not a model that this program can run");
    }
    return ASC_OK;
}
