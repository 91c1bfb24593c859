/* html_put.c - see html_put.h. */
#include "html_put.h"
#include "hash.h"
#include "view.h"
#include <stdlib.h>

static void put_plain(asc_text *t, const char *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        switch (p[i]) {
        case '<':
            asc_text_adds(t, "&lt;");
            break;
        case '>':
            asc_text_adds(t, "&gt;");
            break;
        case '&':
            asc_text_adds(t, "&amp;");
            break;
        case '"':
            asc_text_adds(t, "&quot;");
            break;
        case '\'':
            asc_text_adds(t, "&#39;");
            break;
        default:
            asc_strbuf_addc(&t->b, p[i]);
        }
    }
}

void asc_put_html(asc_text *t, asc_view v, bool lines, bool marked) {
    for (size_t i = 0; i < v.len;) {
        bool plain, valid;
        uint32_t cp;
        size_t w, n = asc_shown_char(v.ptr + i, v.len - i, &plain, &w);
        asc_utf8_decode(v.ptr + i, n, &cp, &valid);
        if (plain || (lines && cp == '\t')) {
            put_plain(t, v.ptr + i, n);
        } else if (lines && cp == '\n') {
            asc_text_adds(t, "<span class=\"esc\" aria-hidden=\"true\">\xe2\x86\xb5</span>\n");
        } else {
            for (size_t k = 0; k < (valid ? 1 : n); k++) {
                char e[16];
                asc_shown_escape(v.ptr + i + k, valid ? n : 1, e);
                asc_text_addf(t, marked ? "<span class=\"esc\">%s</span>" : "%s", e);
            }
        }
        i += n;
    }
}

void asc_put_html_text(asc_text *t, asc_view v) { asc_put_html(t, v, false, true); }
void asc_put_html_attribute(asc_text *t, asc_view v) { asc_put_html(t, v, false, false); }

void asc_put_html_hash(asc_text *t, asc_view v) {
    char hex[65], raw[32];
    asc_sha256_hex(v.ptr, v.len, hex);
    for (size_t i = 0; i < sizeof raw; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        raw[i] = (char)strtoul(two, NULL, 16);
    }
    asc_text_adds(t, "'sha256-");
    asc_base64(&t->b, asc_view_make(raw, sizeof raw));
    asc_text_adds(t, "'");
}

/* Only "</script" and "<!--" could end or change the data; no angle bracket is left at all. */
void asc_put_html_json(asc_text *t, asc_view v) {
    for (size_t i = 0; i < v.len;) {
        uint32_t cp;
        bool plain;
        size_t w, n = asc_shown_char(v.ptr + i, v.len - i, &plain, &w);
        asc_utf8_decode(v.ptr + i, n, &cp, NULL);
        if (cp == '<' || cp == '>' || cp == '&' || (!plain && cp >= 0x80 && cp < 0x10000))
            asc_text_addf(t, "\\u%04x", (unsigned)cp);
        else if (!plain && cp >= 0x10000) /* two halves, as JSON has it */
            asc_text_addf(t, "\\u%04x\\u%04x", 0xD7C0u + (unsigned)(cp >> 10),
                          0xDC00u + (unsigned)(cp & 0x3FF));
        else
            asc_text_add(t, asc_view_make(v.ptr + i, n));
        i += n;
    }
}
