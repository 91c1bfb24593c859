/* view.h - helpers for borrowed strings, and UTF-8 decoding. */
#ifndef ASC_VIEW_H
#define ASC_VIEW_H

#include "ascribe/base.h"
#include <string.h>

#define ASC_VIEW_FMT "%.*s"
#define ASC_VIEW_ARG(v) (int)(v).len, (v).ptr /* for messages; cut long text first with asc_view_cut */

static inline asc_view asc_view_of(const char *s) { return (asc_view){s, s ? strlen(s) : 0}; }
static inline asc_view asc_view_make(const char *p, size_t n) { return (asc_view){p, n}; }
static inline bool asc_view_eq(asc_view a, asc_view b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
static inline bool asc_view_eqs(asc_view a, const char *s) { return asc_view_eq(a, asc_view_of(s)); }
static inline bool asc_view_ends(asc_view a, asc_view p) {
    return a.len >= p.len && (p.len == 0 || memcmp(a.ptr + a.len - p.len, p.ptr, p.len) == 0);
}
static inline bool asc_view_starts(asc_view a, asc_view p) {
    return a.len >= p.len && (p.len == 0 || memcmp(a.ptr, p.ptr, p.len) == 0);
}
static inline asc_view asc_view_cut(asc_view a, size_t most) {
    return (asc_view){a.ptr, a.len < most ? a.len : most};
}
int asc_view_cmp(asc_view a, asc_view b); /* bytewise order */

/* Decodes one code point at p[0..n), n >= 1. Returns its length in bytes and the code point.
 * On invalid UTF-8 returns the length of the maximal ill-formed subpart (Unicode 3.9, table 3-8; at least 1)
 * and sets *cp to 0xFFFD and *valid to false. valid may be NULL. */
size_t asc_utf8_decode(const char *p, size_t n, uint32_t *cp, bool *valid);
/* Writes cp as UTF-8 to out[0..4); returns the length. */
size_t asc_utf8_encode(uint32_t cp, char out[4]);
/* Offset of the first byte that is not valid UTF-8, or len when all is valid. */
size_t asc_utf8_check(asc_view v);

#endif
