/* charsmap.c - see charsmap.h. Layout of a unit as Darts-clone writes it: bit 31 marks a leaf's value, bit 8
 * a node with a leaf, bits 0-7 the label, bits 10-30 the offset, shifted by 8 when bit 9 is set. */
#include "charsmap.h"
#include <utf8proc.h>

static int base64_value(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool base64_decode(asc_view v, char *out, size_t *out_len) {
    uint32_t bits = 0;
    int have = 0;
    size_t n = 0;
    while (v.len > 0 && v.ptr[v.len - 1] == '=') v.len--;
    for (size_t i = 0; i < v.len; i++) {
        int x = base64_value(v.ptr[i]);
        if (x < 0) return false;
        bits = bits << 6 | (uint32_t)x;
        have += 6;
        if (have < 8) continue;
        have -= 8;
        out[n++] = (char)(bits >> have & 0xFF);
    }
    *out_len = n;
    return true;
}

static uint32_t unit_at(const asc_charsmap *m, size_t i) {
    const unsigned char *p = (const unsigned char *)m->bytes + 4 + 4 * i;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

asc_status asc_charsmap_init(asc_ctx *ctx, asc_charsmap *m, asc_view base64) {
    *m = (asc_charsmap){0};
    if (base64.len > ASC_CHARSMAP_MAX) {
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "precompiled_charsmap has more than %d bytes",
                        ASC_CHARSMAP_MAX);
    }
    m->bytes = asc_alloc(ctx, ASC_MEM_TOKENIZER, base64.len + 1);
    if (m->bytes == NULL) return ASC_RESOURCE_EXHAUSTED;
    uint32_t size = 0;
    bool ok = base64_decode(base64, m->bytes, &m->len) && m->len >= 4;
    if (ok) {
        const unsigned char *p = (const unsigned char *)m->bytes;
        size = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        ok = size % 4 == 0 && size >= 4 && size <= m->len - 4;
    }
    if (!ok) {
        asc_charsmap_deinit(ctx, m);
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "precompiled_charsmap is not base64 of a trie with its size in front");
    }
    m->n_units = size / 4;
    return ASC_OK;
}

void asc_charsmap_deinit(asc_ctx *ctx, asc_charsmap *m) {
    asc_free(ctx, m->bytes);
    *m = (asc_charsmap){0};
}

static size_t offset_of(uint32_t unit) { return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6); }

/* The replacement for the shortest rule that is a prefix of text; false when there is none. */
static bool replacement(const asc_charsmap *m, asc_view text, asc_view *out) {
    size_t node = offset_of(unit_at(m, 0));
    for (size_t i = 0; i < text.len && text.ptr[i] != '\0'; i++) {
        unsigned byte = (unsigned char)text.ptr[i];
        node ^= byte;
        if (node >= m->n_units) return false;
        uint32_t unit = unit_at(m, node);
        if ((unit & (1u << 31 | 0xFF)) != byte) return false;
        node ^= offset_of(unit);
        if (node >= m->n_units) return false;
        if ((unit >> 8 & 1) == 0) continue;
        size_t at = (size_t)(unit_at(m, node) & 0x7FFFFFFFu), texts = 4 + 4 * m->n_units;
        if (at >= m->len - texts) return false;
        const char *p = m->bytes + texts + at, *end = memchr(p, '\0', m->len - texts - at);
        *out = (asc_view){p, end != NULL ? (size_t)(end - p) : m->len - texts - at};
        return asc_utf8_check(*out) == out->len;
    }
    return false;
}

static size_t count_chars(asc_view v) {
    size_t n = 0;
    for (size_t i = 0; i < v.len; i++) n += ((unsigned char)v.ptr[i] & 0xC0) != 0x80;
    return n;
}

/* Puts `with` in the place of `part`: what is too much counts as added, what is missing as gone. */
static asc_status exchange(asc_view part, asc_view with, asc_changes *out) {
    asc_status st = ASC_OK;
    size_t old = count_chars(part), now = count_chars(with), k = 0;
    for (size_t i = 0; i < with.len; k++) {
        uint32_t cp;
        i += asc_utf8_decode(with.ptr + i, with.len - i, &cp, NULL);
        ASC_TRY(asc_changes_add(out, cp, k >= old));
    }
    if (now < old && out->n > 0) out->v[out->n - 1].change -= (int32_t)(old - now);
done:
    return st;
}

asc_status asc_charsmap_changes(const asc_charsmap *m, asc_view text, asc_changes *out, bool *changed) {
    asc_status st = ASC_OK;
    out->n = 0;
    *changed = false;
    for (size_t start = 0, end = 0; start < text.len; start = end) {
        uint32_t cp, next;
        utf8proc_int32_t state = 0;
        asc_view with;
        end = start + asc_utf8_decode(text.ptr + start, text.len - start, &cp, NULL);
        while (end < text.len) { /* to the end of the grapheme cluster */
            size_t n = asc_utf8_decode(text.ptr + end, text.len - end, &next, NULL);
            if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)cp, (utf8proc_int32_t)next, &state)) break;
            cp = next;
            end += n;
        }
        asc_view cluster = {text.ptr + start, end - start};
        if (cluster.len < 6 && replacement(m, cluster, &with)) {
            *changed = true;
            ASC_TRY(exchange(cluster, with, out));
            continue;
        }
        for (size_t i = start; i < end;) {
            size_t n = asc_utf8_decode(text.ptr + i, end - i, &cp, NULL);
            asc_view one = {text.ptr + i, n};
            i += n;
            if (replacement(m, one, &with)) {
                *changed = true;
                ASC_TRY(exchange(one, with, out));
            } else {
                ASC_TRY(asc_changes_add(out, cp, 0));
            }
        }
    }
done:
    return st;
}
