/* unicode_forms.c - see unicode_forms.h. Decompositions and compositions of single characters come from
 * utf8proc, what is decomposed at all from char_sets.h; the canonical order and the composition (Unicode
 * Standard, 3.11) are here because each character carries its change with it. */
#include "unicode_forms.h"
#include "char_sets.h"
#include <utf8proc.h>

static unsigned class_of(uint32_t cp) {
    if (cp < 0x300 || !asc_char_is_combining(cp)) return 0;
    return (unsigned)utf8proc_get_property((utf8proc_int32_t)cp)->combining_class;
}

/* Sorts the marks behind the last starter by class; equal ones keep their order. The new one is at the end.
 */
static void settle(asc_changes *out, size_t starter) {
    asc_change c = out->v[out->n - 1];
    unsigned k = class_of(c.cp);
    size_t i = out->n - 1;
    while (i > starter && class_of(out->v[i - 1].cp) > k) {
        out->v[i] = out->v[i - 1];
        i--;
    }
    out->v[i] = c;
}

/* A text of marks alone must not take quadratic time: after this many they stay where they are. */
enum { MOST_MARKS = 1 << 12, MOST_PARTS = 32 };

static asc_status decompose(asc_view text, bool compatible, asc_changes *out) {
    asc_status st = ASC_OK;
    size_t starter = 0; /* marks from here on may change places */
    out->n = 0;
    for (size_t i = 0; i < text.len;) {
        uint32_t cp;
        utf8proc_int32_t parts[MOST_PARTS] = {0};
        utf8proc_ssize_t n = 1;
        i += asc_utf8_decode(text.ptr + i, text.len - i, &cp, NULL);
        parts[0] = (utf8proc_int32_t)cp;
        if (cp >= 0xA0 && (compatible ? asc_char_is_compatible(cp) : asc_char_is_canonical(cp))) {
            int boundary = 0;
            n = utf8proc_decompose_char(
                (utf8proc_int32_t)cp, parts, MOST_PARTS,
                compatible ? UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT : UTF8PROC_DECOMPOSE, &boundary);
            if (n < 1 || n > MOST_PARTS) {
                n = 1;
                parts[0] = (utf8proc_int32_t)cp;
            }
        }
        for (utf8proc_ssize_t k = 0; k < n; k++) {
            ASC_TRY(asc_changes_add(out, (uint32_t)parts[k], k > 0));
            if (class_of((uint32_t)parts[k]) == 0) {
                starter = out->n;
            } else if (out->n - starter <= MOST_MARKS) {
                settle(out, starter);
            }
        }
    }
done:
    return st;
}

/* The character that a and b make together, or 0. */
static uint32_t compose(uint32_t a, uint32_t b) {
    if (b < 0x300) return 0; /* nothing below combines with what is before it */
    utf8proc_int32_t two[3] = {(utf8proc_int32_t)a, (utf8proc_int32_t)b, 0};
    if (utf8proc_normalize_utf32(two, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) != 1) return 0;
    uint32_t c = (uint32_t)two[0];
    return asc_char_is_canonical(c) ? c : 0;
}

/* Joins characters in place. A starter takes up the marks behind it, unless one of the same or a higher class
 * stands between. */
static void recompose(asc_changes *c) {
    size_t kept = 0, starter = 0;
    bool have = false, between = false; /* a starter to join; something is between it and here */
    unsigned last = 0;                  /* class of what is between */
    for (size_t i = 0; i < c->n; i++) {
        asc_change x = c->v[i];
        unsigned k = class_of(x.cp);
        if (have && (!between || (last < k && k != 0))) {
            uint32_t both = compose(c->v[starter].cp, x.cp);
            if (both != 0) {
                c->v[starter].cp = both;
                c->v[starter].change += x.change - 1;
                continue;
            }
        }
        if (k == 0) {
            starter = kept;
            have = true;
            between = false;
            last = 0;
        } else {
            between = true;
            last = k;
        }
        c->v[kept++] = x;
    }
    c->n = kept;
}

asc_status asc_unicode_changes(asc_view text, asc_unicode_form form, asc_changes *out) {
    asc_status st = decompose(text, form == ASC_NFKD || form == ASC_NFKC, out);
    if (st == ASC_OK && (form == ASC_NFC || form == ASC_NFKC)) recompose(out);
    return st;
}
