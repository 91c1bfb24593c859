/* view.c - see view.h. UTF-8 by the table of well-formed sequences (Unicode 15, table 3-7). */
#include "view.h"

int asc_view_cmp(asc_view a, asc_view b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n == 0 ? 0 : memcmp(a.ptr, b.ptr, n);
    return c != 0 ? c : (a.len > b.len) - (a.len < b.len);
}

size_t asc_utf8_decode(const char *p, size_t n, uint32_t *cp, bool *valid) {
    const unsigned char *s = (const unsigned char *)p;
    unsigned char lead = s[0], low = 0x80, high = 0xBF; /* range of the second byte */
    size_t need;
    uint32_t c;
    if (valid != NULL) *valid = true;
    if (lead < 0x80) {
        *cp = lead;
        return 1;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
        need = 1;
        c = lead & 0x1Fu;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        need = 2;
        c = lead & 0x0Fu;
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        need = 3;
        c = lead & 0x07u;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
    } else {
        need = 0;
        c = 0;
    }
    size_t i = 1;
    for (; i <= need && i < n; i++) {
        if (s[i] < low || s[i] > high) break;
        c = (c << 6) | (s[i] & 0x3Fu);
        low = 0x80;
        high = 0xBF;
    }
    if (need == 0 || i <= need) {
        *cp = 0xFFFD;
        if (valid != NULL) *valid = false;
        return i; /* bytes of the maximal subpart that were good, at least the lead */
    }
    *cp = c;
    return need + 1;
}

size_t asc_utf8_encode(uint32_t cp, char out[4]) {
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0u | (cp >> 6));
        out[1] = (char)(0x80u | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0u | (cp >> 12));
        out[1] = (char)(0x80u | ((cp >> 6) & 0x3F));
        out[2] = (char)(0x80u | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0u | (cp >> 18));
    out[1] = (char)(0x80u | ((cp >> 12) & 0x3F));
    out[2] = (char)(0x80u | ((cp >> 6) & 0x3F));
    out[3] = (char)(0x80u | (cp & 0x3F));
    return 4;
}

size_t asc_utf8_check(asc_view v) {
    size_t i = 0;
    while (i < v.len) {
        uint32_t cp;
        bool ok;
        size_t n = asc_utf8_decode(v.ptr + i, v.len - i, &cp, &ok);
        if (!ok) return i;
        i += n;
    }
    return v.len;
}
