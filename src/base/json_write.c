/* json_write.c - see json.h. Numbers are written with the fewest digits that read back to the same double. */
#include "json.h"
#include "plain.h"
#include "view.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void asc_jsonw_init(asc_jsonw *w, asc_strbuf *out, bool compact) {
    *w = (asc_jsonw){.out = out, .compact = compact};
    w->first[0] = true;
}

static void line_break(asc_jsonw *w) {
    if (w->compact) return;
    asc_strbuf_addc(w->out, '\n');
    for (int i = 0; i < w->depth; i++) asc_strbuf_adds(w->out, "  ");
}

static void before_value(asc_jsonw *w) {
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (w->depth == 0) return;
    if (!w->first[w->depth]) asc_strbuf_adds(w->out, w->in_array[w->depth] && !w->compact ? ", " : ",");
    w->first[w->depth] = false;
}

static void open(asc_jsonw *w, char c, bool array) {
    before_value(w);
    asc_strbuf_addc(w->out, c);
    if (w->depth >= 63) {
        w->out->failed = true;
        ASC_FAIL(w->out->ctx, ASC_INTERNAL, "JSON writer: nesting over 63");
        return;
    }
    w->depth++;
    w->first[w->depth] = true;
    w->in_array[w->depth] = array;
}

static void close(asc_jsonw *w, char c) {
    bool empty = w->first[w->depth], array = w->in_array[w->depth];
    w->depth--;
    if (!empty && !array) line_break(w);
    asc_strbuf_addc(w->out, c);
    if (w->depth == 0 && !w->compact) asc_strbuf_addc(w->out, '\n');
}

void asc_jsonw_begin_object(asc_jsonw *w) { open(w, '{', false); }
void asc_jsonw_end_object(asc_jsonw *w) { close(w, '}'); }
void asc_jsonw_begin_array(asc_jsonw *w) { open(w, '[', true); }
void asc_jsonw_end_array(asc_jsonw *w) { close(w, ']'); }

static void quoted(asc_strbuf *b, asc_view v) {
    asc_strbuf_addc(b, '"');
    for (size_t i = 0; i < v.len;) {
        uint32_t cp;
        bool ok;
        size_t n = asc_utf8_decode(v.ptr + i, v.len - i, &cp, &ok);
        if (!ok) {
            asc_strbuf_adds(b, "\\ufffd");
        } else if (cp == '"' || cp == '\\') {
            asc_strbuf_addc(b, '\\');
            asc_strbuf_addc(b, (char)cp);
        } else if (cp == '\n') {
            asc_strbuf_adds(b, "\\n");
        } else if (cp < 0x20 || cp == 0x7F || cp == 0x2028 || cp == 0x2029) {
            asc_strbuf_addf(b, "\\u%04x", (unsigned)cp);
        } else {
            asc_strbuf_add(b, v.ptr + i, n);
        }
        i += n;
    }
    asc_strbuf_addc(b, '"');
}

void asc_jsonw_key(asc_jsonw *w, const char *key) {
    if (!w->first[w->depth]) asc_strbuf_addc(w->out, ',');
    w->first[w->depth] = false;
    line_break(w);
    quoted(w->out, asc_view_of(key));
    asc_strbuf_adds(w->out, w->compact ? ":" : ": ");
    w->after_key = true;
}

void asc_jsonw_str(asc_jsonw *w, asc_view v) {
    before_value(w);
    quoted(w->out, v);
}
void asc_jsonw_strz(asc_jsonw *w, const char *s) { asc_jsonw_str(w, asc_view_of(s)); }

static bool reads_back(const char *t, double v) {
    const double back = asc_strtod(t, NULL);
    return !(back < v) && !(back > v);
}

/* A decimal of up to 15 digits survives being a double (IEEE 754; not among subnormal numbers), so if one
 * reads back as v, it is the one that 15 digits of v show, less the zeros at its end. */
int asc_json_digits(double v) {
    char t[40];
    int digits = 15;
    if (fabs(v) >= DBL_MIN) {
        asc_snprintf(t, sizeof t, "%.14e", v);
        if (reads_back(t, v)) {
            const char *last = strchr(t, 'e') - 1;
            for (; digits > 1 && *last == '0'; last--) digits--;
            return digits;
        }
    } else {
        digits = 0;
    }
    do {
        asc_snprintf(t, sizeof t, "%.*g", ++digits, v);
    } while (digits < 17 && !reads_back(t, v));
    return digits;
}

void asc_jsonw_num(asc_jsonw *w, double v) {
    if (!isfinite(v)) {
        asc_jsonw_null(w);
        return;
    }
    before_value(w);
    asc_strbuf_addf(w->out, "%.*g", asc_json_digits(v), v);
}

void asc_jsonw_int(asc_jsonw *w, int64_t v) {
    before_value(w);
    asc_strbuf_addf(w->out, "%lld", (long long)v);
}
void asc_jsonw_bool(asc_jsonw *w, bool v) {
    before_value(w);
    asc_strbuf_adds(w->out, v ? "true" : "false");
}
void asc_jsonw_null(asc_jsonw *w) {
    before_value(w);
    asc_strbuf_adds(w->out, "null");
}
