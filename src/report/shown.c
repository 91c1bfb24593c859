/* shown.c - text of others made safe to look at: nothing invisible, nothing that moves the cursor or turns
 * the writing round. What stays as it is: printable characters, joiners inside emoji and scripts that need
 * them, combining marks. */
#include "text_parts.h"
#include "view.h"
#include <stdio.h>
#include <utf8proc.h>

/* Code points that show nothing or change how others are shown (Unicode 15, general categories Cc, Cf, Zl, Zp
 * and unassigned), except the two joiners and the variation selectors, which belong to what is written. */
static bool must_escape(uint32_t cp) {
    if (cp == 0x200C || cp == 0x200D) return false;
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS:
        return true;
    default:
        return false;
    }
}

size_t asc_shown_char(const char *p, size_t n, bool *plain, size_t *columns) {
    uint32_t cp;
    bool ok;
    size_t len = asc_utf8_decode(p, n, &cp, &ok);
    *plain = ok && !must_escape(cp);
    if (*plain) {
        int w = utf8proc_charwidth((utf8proc_int32_t)cp);
        *columns = w > 0 ? (size_t)w : 0;
    } else {
        char e[16];
        asc_shown_escape(p, ok ? len : 1, e);
        *columns = strlen(e) * (ok ? 1 : len);
    }
    return len;
}

void asc_shown_escape(const char *p, size_t n, char out[16]) {
    uint32_t cp;
    bool ok;
    asc_utf8_decode(p, n, &cp, &ok);
    if (!ok)
        snprintf(out, 16, "\\x%02x", (unsigned)(unsigned char)p[0]);
    else if (cp == '\n')
        snprintf(out, 16, "\\n");
    else if (cp == '\t')
        snprintf(out, 16, "\\t");
    else if (cp == '\r')
        snprintf(out, 16, "\\r");
    else if (cp < 0x80)
        snprintf(out, 16, "\\x%02x", (unsigned)cp);
    else
        snprintf(out, 16, "\\u{%04X}", (unsigned)cp);
}

size_t asc_shown_columns(asc_view v) {
    size_t total = 0;
    for (size_t i = 0; i < v.len;) {
        bool plain;
        size_t w;
        i += asc_shown_char(v.ptr + i, v.len - i, &plain, &w);
        total += w;
    }
    return total;
}

size_t asc_text_shown(asc_text *t, asc_view v, size_t columns) {
    size_t at = 0;
    bool cut = columns > 0 && asc_shown_columns(v) > columns;
    size_t room = cut ? (columns > 3 ? columns - 3 : 0) : SIZE_MAX;
    for (size_t i = 0; i < v.len;) {
        bool plain;
        size_t w, len = asc_shown_char(v.ptr + i, v.len - i, &plain, &w);
        if (at + w > room) break;
        if (plain) {
            asc_strbuf_add(&t->b, v.ptr + i, len);
        } else {
            uint32_t cp;
            bool ok;
            asc_utf8_decode(v.ptr + i, len, &cp, &ok);
            for (size_t k = 0; k < (ok ? 1 : len); k++) {
                char e[16];
                asc_shown_escape(v.ptr + i + k, ok ? len : 1, e);
                asc_strbuf_adds(&t->b, e);
            }
        }
        at += w;
        i += len;
    }
    if (cut) {
        asc_strbuf_adds(&t->b, "...");
        at += 3;
    }
    return at;
}

void asc_text_complaint(asc_text *t, const char *message, const char *hint) {
    asc_text_shown(t, (asc_view){message, strlen(message)}, 0);
    if (hint[0] == '\0') return;
    asc_text_adds(t, "\n  try: ");
    asc_text_shown(t, (asc_view){hint, strlen(hint)}, 0);
}
