/* aligned_text.c - see aligned_text.h. */
#include "aligned_text.h"

void asc_aligned_deinit(asc_aligned *a) {
    asc_free(a->ctx, a->bytes);
    asc_free(a->ctx, a->from);
    asc_free(a->ctx, a->to);
    *a = (asc_aligned){.ctx = a->ctx, .limit = a->limit};
}

static asc_status reserve(asc_aligned *a, size_t more) {
    asc_status st = ASC_OK;
    size_t need = a->len + more;
    if (need <= a->cap) return ASC_OK;
    size_t limit = a->limit > 0 && a->limit < ASC_ALIGNED_MAX ? a->limit : ASC_ALIGNED_MAX;
    if (more > limit || need > limit) {
        return ASC_FAIL(a->ctx, ASC_RESOURCE_EXHAUSTED, "the normalised text has more than %zu bytes", limit);
    }
    size_t cap_bytes = a->cap, cap_from = a->cap, cap_to = a->cap;
    ASC_TRY(asc_grow(a->ctx, ASC_MEM_TOKENIZER, (void **)&a->from, &cap_from, need, sizeof *a->from));
    ASC_TRY(asc_grow(a->ctx, ASC_MEM_TOKENIZER, (void **)&a->to, &cap_to, need, sizeof *a->to));
    ASC_TRY(asc_grow(a->ctx, ASC_MEM_TOKENIZER, (void **)&a->bytes, &cap_bytes, need, 1));
    a->cap = cap_bytes;
    if (cap_from < a->cap) a->cap = cap_from;
    if (cap_to < a->cap) a->cap = cap_to;
    st = asc_poll_cancel(a->ctx);
done:
    return st;
}

/* Room has been made. */
static void put(asc_aligned *a, const char *p, size_t n, uint32_t from, uint32_t to) {
    for (size_t i = 0; i < n; i++) {
        a->bytes[a->len] = p[i];
        a->from[a->len] = from;
        a->to[a->len++] = to;
    }
}

asc_status asc_aligned_add(asc_aligned *a, asc_view bytes, uint32_t from, uint32_t to) {
    asc_status st = reserve(a, bytes.len);
    if (st == ASC_OK) put(a, bytes.ptr, bytes.len, from, to);
    return st;
}

asc_status asc_aligned_load(asc_aligned *a, asc_view text, size_t at) {
    asc_status st = reserve(a, text.len);
    for (size_t i = 0; i < text.len && st == ASC_OK;) {
        uint32_t cp, from = (uint32_t)(at + i);
        bool valid;
        size_t n = asc_utf8_decode(text.ptr + i, text.len - i, &cp, &valid);
        if (valid) {
            put(a, text.ptr + i, n, from, from + (uint32_t)n);
        } else {
            st = reserve(a, text.len - i + 3);
            if (st == ASC_OK) put(a, "\xEF\xBF\xBD", 3, from, from + (uint32_t)n);
        }
        i += n;
    }
    return st;
}

asc_status asc_aligned_copy(asc_aligned *a, const asc_aligned *src, size_t start, size_t end) {
    size_t n = end - start;
    asc_status st = reserve(a, n);
    if (st != ASC_OK || n == 0) return st;
    memcpy(a->bytes + a->len, src->bytes + start, n);
    memcpy(a->from + a->len, src->from + start, n * sizeof *a->from);
    memcpy(a->to + a->len, src->to + start, n * sizeof *a->to);
    a->len += n;
    return ASC_OK;
}

static size_t char_len(const asc_aligned *a, size_t at, size_t end) {
    uint32_t cp;
    return at < end ? asc_utf8_decode(a->bytes + at, end - at, &cp, NULL) : 0;
}

asc_status asc_aligned_change(asc_aligned *a, const asc_aligned *src, size_t start, size_t end, size_t base,
                              const asc_changes *changes, size_t removed) {
    asc_status st = ASC_OK;
    /* The program that defines this addresses the text by the whole original: bytes without one at the begin
     * are not part of that, and stay. */
    size_t first = start;
    while (first < end && src->from[first] == src->to[first]) first++;
    ASC_TRY(asc_aligned_copy(a, src, start, first));
    size_t at = first;
    for (size_t i = 0; i < removed; i++) at += char_len(src, at, end);
    for (size_t i = 0; i < changes->n; i++) {
        asc_change c = changes->v[i];
        char utf8[4];
        size_t n = asc_utf8_encode(c.cp, utf8);
        uint32_t from = (uint32_t)base, to = (uint32_t)base;
        size_t look = c.change > 0 ? at - 1 : at; /* at >= 1 is checked below */
        if ((c.change <= 0 || at > start) && end > start) {
            if (look >= end) look = end - 1;
            from = src->from[look];
            to = src->to[look];
        }
        ASC_TRY(reserve(a, n));
        put(a, utf8, n, from, to);
        if (c.change > 0) continue;
        for (int32_t k = 0; k <= -c.change; k++) at += char_len(src, at, end);
    }
done:
    return st;
}

asc_status asc_aligned_prepend(asc_aligned *a, const asc_aligned *src, size_t start, size_t end, size_t base,
                               asc_view text) {
    asc_status st = ASC_OK;
    if (start == end) return ASC_OK;
    size_t at = a->len, n = char_len(src, start, end);
    ASC_TRY(asc_aligned_add(a, text, src->from[start], src->to[start]));
    ASC_TRY(asc_aligned_copy(a, src, start, end));
    for (size_t i = 0; text.len == 0 && i < n;
         i++) { /* an oddity of the original: the first character loses its range */
        a->from[at + i] = a->to[at + i] = (uint32_t)base;
    }
done:
    return st;
}

asc_status asc_aligned_replace(asc_aligned *a, const asc_aligned *src, size_t start, size_t end, size_t base,
                               const asc_cuts *cuts, asc_view text) {
    asc_status st = ASC_OK;
    for (size_t i = 0; i < cuts->n; i++) {
        asc_cut c = cuts->v[i];
        if (!c.match) {
            ASC_TRY(asc_aligned_copy(a, src, start + c.start, start + c.end));
            continue;
        }
        uint32_t from = (uint32_t)base, to = (uint32_t)base;
        if (c.end > 0 && start + c.end <= end) { /* the range of the last byte that goes */
            from = src->from[start + c.end - 1];
            to = src->to[start + c.end - 1];
        }
        ASC_TRY(asc_aligned_add(a, text, from, to));
    }
done:
    return st;
}

/* The 68 bytes without a printable character of their own, in order, are U+0100, U+0101, ... */
static uint32_t byte_char(unsigned b) {
    if (b <= 0x20) return 0x100 + b;
    if (b >= 0x7F && b <= 0xA0) return 0x121 + (b - 0x7F);
    return b == 0xAD ? 0x143 : b;
}

/* The slow way, which has all the rules of asc_aligned_change. */
static asc_status bytes_as_changes(asc_aligned *a, const asc_aligned *src, size_t start, size_t end,
                                   size_t base) {
    asc_status st = ASC_OK;
    asc_changes c = {.ctx = a->ctx};
    if (src->from[start] ==
        src->to[end - 1]) { /* a section of nothing: what is made of it goes in front of it */
        for (size_t i = start; i < end; i++) {
            char utf8[4];
            size_t n = asc_utf8_encode(byte_char((unsigned char)src->bytes[i]), utf8);
            ASC_TRY(asc_aligned_add(a, (asc_view){utf8, n}, (uint32_t)base, (uint32_t)base));
        }
        return asc_aligned_copy(a, src, start, end);
    }
    for (size_t i = start; i < end; i++) {
        unsigned b = (unsigned char)src->bytes[i];
        ASC_TRY(asc_changes_add(&c, byte_char(b), (b & 0xC0) == 0x80));
    }
    ASC_TRY(asc_aligned_change(a, src, start, end, base, &c, 0));
done:
    asc_free(c.ctx, c.v);
    return st;
}

asc_status asc_aligned_bytes(asc_aligned *a, const asc_aligned *src, size_t start, size_t end, size_t base) {
    asc_status st = ASC_OK;
    if (start < end && src->from[start] == src->to[start]) return bytes_as_changes(a, src, start, end, base);
    ASC_TRY(reserve(a, 2 * (end - start)));
    for (size_t i = start; i < end; i++) {
        char utf8[4];
        size_t n = asc_utf8_encode(byte_char((unsigned char)src->bytes[i]), utf8);
        put(a, utf8, n, src->from[i], src->to[i]);
    }
done:
    return st;
}

asc_status asc_changes_add(asc_changes *c, uint32_t cp, int32_t change) {
    asc_status st = asc_grow(c->ctx, ASC_MEM_TOKENIZER, (void **)&c->v, &c->cap, c->n + 1, sizeof *c->v);
    if (st == ASC_OK) c->v[c->n++] = (asc_change){cp, change};
    return st;
}

asc_status asc_cuts_add(asc_cuts *c, size_t start, size_t end, bool match) {
    asc_status st = asc_grow(c->ctx, ASC_MEM_TOKENIZER, (void **)&c->v, &c->cap, c->n + 1, sizeof *c->v);
    if (st == ASC_OK) c->v[c->n++] = (asc_cut){start, end, match};
    return st;
}
