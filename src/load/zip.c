/* zip.c - see zip.h. */
#include "zip.h"
#define ZLIB_CONST
#include <zlib.h>

static uint64_t le(const uint8_t *p, int bytes) {
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--) v = v << 8 | p[i];
    return v;
}

static asc_status damaged(asc_ctx *ctx, const char *what) {
    ASC_FAIL(ctx, ASC_DATA_LOSS, "zip: %s", what);
    return asc_hint(ctx, "the file was cut or changed; make or fetch it again");
}

/* The last record of the file, behind which only its comment comes. */
static bool find_end(const uint8_t *p, size_t size, size_t *out) {
    enum { RECORD = 22, MAX_COMMENT = 65535 };
    if (size < RECORD) return false;
    size_t most = size - RECORD < MAX_COMMENT ? size - RECORD : MAX_COMMENT;
    for (size_t back = 0; back <= most; back++) {
        size_t at = size - RECORD - back;
        if (memcmp(p + at, "PK\5\6", 4) == 0 && le(p + at + 20, 2) == back) {
            *out = at;
            return true;
        }
    }
    return false;
}

asc_status asc_zip_open(asc_ctx *ctx, const void *data, size_t size, asc_zip *out) {
    enum { LOCATOR = 20, END64 = 56 };
    const uint8_t *p = data;
    size_t end;
    *out = (asc_zip){.data = p, .size = size};
    if (!find_end(p, size, &end)) return damaged(ctx, "there is no directory at its end");
    uint64_t n = le(p + end + 10, 2), bytes = le(p + end + 12, 4), at = le(p + end + 16, 4);
    if ((n == 0xFFFF || bytes == 0xFFFFFFFF || at == 0xFFFFFFFF) && end >= LOCATOR &&
        memcmp(p + end - LOCATOR, "PK\6\7", 4) == 0) {
        uint64_t where = le(p + end - LOCATOR + 8, 8);
        if (where > size || size - where < END64 || memcmp(p + where, "PK\6\6", 4) != 0)
            return damaged(ctx, "its zip64 directory is not where it should be");
        n = le(p + where + 32, 8);
        bytes = le(p + where + 40, 8);
        at = le(p + where + 48, 8);
    }
    if (at > end || bytes > end - at) return damaged(ctx, "its directory lies outside the file");
    if (n > ASC_ZIP_MAX_MEMBERS) {
        ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "zip: %llu members; the limit is %d", (unsigned long long)n,
                 ASC_ZIP_MAX_MEMBERS);
        return asc_hint(ctx, "split the file");
    }
    out->at = (size_t)at;
    out->end = (size_t)(at + bytes);
    out->left = (size_t)n;
    return ASC_OK;
}

/* Sizes and place that do not fit 32 bits stand in extra field 1, in this order, only where they are needed.
 */
static bool read_zip64(const uint8_t *p, size_t n, uint64_t *v[3]) {
    while (n >= 4) {
        size_t id = (size_t)le(p, 2), len = (size_t)le(p + 2, 2), at = 0;
        if (len > n - 4) return false;
        for (int i = 0; id == 1 && i < 3; i++) {
            if (*v[i] != 0xFFFFFFFF) continue;
            if (len - at < 8) return false;
            *v[i] = le(p + 4 + at, 8);
            at += 8;
        }
        p += 4 + len;
        n -= 4 + len;
    }
    return true;
}

static asc_status refuse(asc_ctx *ctx, asc_view name, const char *what) {
    asc_view cut = asc_view_cut(name, 100);
    ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "zip: member '" ASC_VIEW_FMT "' is %s", ASC_VIEW_ARG(cut), what);
    return asc_hint(ctx, "only stored and deflated members are read; pack the file again");
}

asc_status asc_zip_next(asc_ctx *ctx, asc_zip *z, asc_zip_member *out) {
    enum { ENTRY = 46, LOCAL = 30 };
    *out = (asc_zip_member){0};
    if (z->left == 0) return ASC_OK;
    const uint8_t *p = z->data + z->at;
    size_t room = z->end - z->at;
    if (room < ENTRY || memcmp(p, "PK\1\2", 4) != 0) return damaged(ctx, "its directory ends too early");
    size_t name = (size_t)le(p + 28, 2), extra = (size_t)le(p + 30, 2), comment = (size_t)le(p + 32, 2);
    if (name + extra + comment > room - ENTRY) return damaged(ctx, "its directory ends too early");
    uint64_t packed = le(p + 20, 4), bytes = le(p + 24, 4), local = le(p + 42, 4);
    uint64_t *wide[3] = {&bytes, &packed, &local};
    if (!read_zip64(p + ENTRY + name, extra, wide)) return damaged(ctx, "an extra field is malformed");
    out->name = asc_view_make((const char *)p + ENTRY, name);
    out->method = (int)le(p + 10, 2);
    out->crc = (uint32_t)le(p + 16, 4);
    if ((le(p + 8, 2) & 1) != 0) return refuse(ctx, out->name, "encrypted");
    if (out->method != 0 && out->method != 8) return refuse(ctx, out->name, "packed by another method");
    if (local > z->size || z->size - local < LOCAL || memcmp(z->data + local, "PK\3\4", 4) != 0)
        return damaged(ctx, "a member is not where the directory says");
    const uint8_t *h = z->data + local;
    size_t skip = LOCAL + (size_t)le(h + 26, 2) + (size_t)le(h + 28, 2), rest = z->size - (size_t)local;
    if (skip > rest || packed > rest - skip) return damaged(ctx, "a member ends behind the file");
    if (out->method == 0 ? bytes != packed : bytes / ASC_ZIP_MAX_RATIO > packed)
        return damaged(ctx, "the sizes of a member cannot be");
    out->packed = h + skip;
    out->packed_bytes = (size_t)packed;
    out->bytes = (size_t)bytes;
    z->at += ENTRY + name + extra + comment;
    z->left--;
    return ASC_OK;
}

static voidpf z_alloc(voidpf self, uInt n, uInt size) { return asc_calloc(self, ASC_MEM_GENERAL, n, size); }
static void z_free(voidpf self, voidpf p) { asc_free(self, p); }

/* Inflates all of it in pieces that fit zlib's 32-bit counters; Z_OK when it fills `out` exactly. */
static int inflate_all(z_stream *s, const asc_zip_member *m, uint8_t *out) {
    const size_t piece = (size_t)1 << 30;
    size_t in_left = m->packed_bytes, out_left = m->bytes;
    int r = Z_OK;
    s->next_in = m->packed;
    s->next_out = out;
    while (r == Z_OK) {
        uInt in_now = (uInt)(in_left < piece ? in_left : piece),
             out_now = (uInt)(out_left < piece ? out_left : piece);
        s->avail_in = in_now;
        s->avail_out = out_now;
        r = inflate(s, Z_NO_FLUSH);
        in_left -= in_now - s->avail_in;
        out_left -= out_now - s->avail_out;
        if (r == Z_OK && in_now == s->avail_in && out_now == s->avail_out) return Z_DATA_ERROR;
    }
    if (r == Z_MEM_ERROR) return r;
    return r == Z_STREAM_END && in_left == 0 && out_left == 0 ? Z_OK : Z_DATA_ERROR;
}

asc_status asc_zip_unpack(asc_ctx *ctx, const asc_zip_member *m, const uint8_t **out, uint8_t **out_owned) {
    *out = m->packed;
    *out_owned = NULL;
    asc_status st = ASC_OK;
    if (m->method == 8) {
        uint8_t *p = asc_alloc_buffer(ctx, ASC_MEM_GENERAL, m->bytes + 1);
        if (p == NULL) return ASC_RESOURCE_EXHAUSTED;
        z_stream s = {.zalloc = z_alloc, .zfree = z_free, .opaque = ctx};
        if (inflateInit2(&s, -MAX_WBITS) != Z_OK) {
            asc_free(ctx, p);
            return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "zip: no memory to inflate a member");
        }
        int r = inflate_all(&s, m, p);
        if (r == Z_MEM_ERROR)
            st = ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "zip: no memory to inflate a member");
        if (r == Z_DATA_ERROR) st = damaged(ctx, "a member does not inflate to its size");
        (void)inflateEnd(&s);
        *out = *out_owned = p;
    }
    uLong crc = crc32_z(0, NULL, 0);
    if (st == ASC_OK && m->bytes > 0 && crc32_z(crc, *out, m->bytes) != m->crc)
        st = damaged(ctx, "the checksum of a member is wrong");
    if (st != ASC_OK) {
        asc_free(ctx, *out_owned);
        *out_owned = NULL;
    }
    return st;
}
