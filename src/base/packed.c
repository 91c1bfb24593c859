/* packed.c - see packed.h. */
#include "packed.h"
#include "alloc.h"
#include "hash.h"
#include "view.h"
#include <stdio.h>
#include <string.h>

void asc_pack_u32(asc_strbuf *b, uint32_t v) {
    const unsigned char c[4] = {(unsigned char)v, (unsigned char)(v >> 8), (unsigned char)(v >> 16),
                                (unsigned char)(v >> 24)};
    asc_strbuf_add(b, (const char *)c, sizeof c);
}

void asc_pack_u64(asc_strbuf *b, uint64_t v) {
    asc_pack_u32(b, (uint32_t)v);
    asc_pack_u32(b, (uint32_t)(v >> 32));
}

void asc_pack_fill(asc_strbuf *b) {
    while (b->len % 8 != 0 && !b->failed) asc_strbuf_addc(b, '\0');
}

asc_status asc_pack_sum(asc_strbuf *b) {
    char hex[ASC_PACKED_SUM + 1];
    asc_status st = asc_strbuf_status(b);
    if (st != ASC_OK) return st;
    asc_sha256_hex(b->ptr, b->len, hex);
    asc_strbuf_add(b, hex, ASC_PACKED_SUM);
    return asc_strbuf_status(b);
}

uint32_t asc_unpack_u32_at(const char *p) {
    const unsigned char *c = (const unsigned char *)p;
    return (uint32_t)c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24;
}

uint64_t asc_unpack_u64_at(const char *p) {
    return asc_unpack_u32_at(p) | (uint64_t)asc_unpack_u32_at(p + 4) << 32;
}

bool asc_unpack_sum_fits(const void *data, size_t size) {
    char hex[ASC_PACKED_SUM + 1];
    asc_sha256_hex(data, size - ASC_PACKED_SUM, hex);
    return memcmp(hex, (const char *)data + size - ASC_PACKED_SUM, ASC_PACKED_SUM) == 0;
}

asc_status asc_unpack_bad(asc_unpack *r, asc_status code, const char *problem) {
    return ASC_FAIL(r->ctx, code, "%s: %s, at byte %zu", r->what, problem, (size_t)(r->p - r->start));
}

size_t asc_unpack_left(const asc_unpack *r) { return (size_t)(r->end - r->p); }

uint32_t asc_unpack_u32(asc_unpack *r) {
    r->p += 4;
    return asc_unpack_u32_at(r->p - 4);
}

uint64_t asc_unpack_u64(asc_unpack *r) {
    r->p += 8;
    return asc_unpack_u64_at(r->p - 8);
}

asc_status asc_unpack_text(asc_unpack *r, uint64_t len, uint64_t most, const char *name, asc_view *out) {
    char problem[80];
    if (len <= most && len <= asc_unpack_left(r)) {
        *out = asc_view_make(r->p, (size_t)len);
        r->p += len;
        return ASC_OK;
    }
    snprintf(problem, sizeof problem, "%s of %llu bytes is %s", name, (unsigned long long)len,
             len > most ? "longer than allowed" : "cut short");
    return asc_unpack_bad(r, len > most ? ASC_INVALID_ARGUMENT : ASC_DATA_LOSS, problem);
}

asc_status asc_unpack_fill(asc_unpack *r) {
    while ((size_t)(r->p - r->start) % 8 != 0) {
        if (asc_unpack_left(r) == 0) return asc_unpack_bad(r, ASC_DATA_LOSS, "cut short");
        if (*r->p != '\0') return asc_unpack_bad(r, ASC_INVALID_ARGUMENT, "filling that is not zero");
        r->p++;
    }
    return ASC_OK;
}

asc_status asc_unpack_sum(const asc_unpack *r) {
    if (asc_unpack_sum_fits(r->start, (size_t)(r->end - r->start) + ASC_PACKED_SUM)) return ASC_OK;
    ASC_FAIL(r->ctx, ASC_DATA_LOSS, "%s: the checksum is not that of the contents", r->what);
    return asc_hint(r->ctx, "the file is damaged: copy it again");
}

asc_status asc_unpack_opened(asc_ctx *ctx, asc_status parsed, const char *path, char *take_bytes,
                             char **owned) {
    if (parsed == ASC_OK) {
        *owned = take_bytes;
        return ASC_OK;
    }
    asc_free(ctx, take_bytes);
    return asc_fail_context(ctx, "'%.300s'", path);
}
