/* jinja_text.c - values as text: what Python's str() and repr() print, characters, upper and lower case. */
#include "jinja_ast.h"
#include "plain.h"
#include <math.h>
#include <stdlib.h>
#include <utf8proc.h>

size_t asc_jinja_chars(asc_view v) {
    size_t n = 0;
    for (size_t i = 0; i < v.len; n++) {
        uint32_t cp;
        i += asc_utf8_decode(v.ptr + i, v.len - i, &cp, NULL);
    }
    return n;
}

/* The fewest digits that read back to the same double; exponent form below 1e-4 and from 1e16 on, else with
 * at least one digit after the point. */
static void float_text(double f, char out[40]) {
    if (f != f || isinf(f)) {
        snprintf(out, 40, "%s", f != f ? "nan" : f > 0 ? "inf" : "-inf");
        return;
    }
    int digits = 1;
    for (; digits < 17; digits++) {
        asc_snprintf(out, 40, "%.*e", digits - 1, f);
        double back = asc_strtod(out, NULL);
        if (!(back < f) && !(back > f)) break;
    }
    asc_snprintf(out, 40, "%.*e", digits - 1, f);
    const char *e = strchr(out, 'e');
    int exponent = e != NULL ? atoi(e + 1) : 0;
    if (exponent < -4 || exponent >= 16) return;
    int decimals = digits - 1 - exponent;
    asc_snprintf(out, 40, "%.*f", decimals > 1 ? decimals : 1, f);
}

static bool printable(uint32_t cp) {
    if (cp == ' ') return true;
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
        return false;
    default:
        return true;
    }
}

/* The escape repr() writes for cp inside `quote`, or false when it stands for itself. */
static bool repr_escape(uint32_t cp, char quote, bool valid, char out[16]) {
    if (cp == (uint32_t)(unsigned char)quote || cp == '\\')
        snprintf(out, 16, "\\%c", (char)cp);
    else if (cp == '\n')
        snprintf(out, 16, "\\n");
    else if (cp == '\r')
        snprintf(out, 16, "\\r");
    else if (cp == '\t')
        snprintf(out, 16, "\\t");
    else if (!valid || printable(cp))
        return false;
    else
        snprintf(out, 16, cp < 0x100 ? "\\x%02x" : cp < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)cp);
    return true;
}

static asc_status repr_string(asc_jinja *j, asc_jinja_str s, asc_jinja_str *out) {
    asc_view v;
    ASC_JINJA_DO(asc_jinja_str_flat(j, s, &v));
    bool single = v.len > 0 && memchr(v.ptr, '\'', v.len) != NULL,
         dbl = v.len > 0 && memchr(v.ptr, '"', v.len) != NULL;
    char quote = single && !dbl ? '"' : '\'';
    size_t plain = 0;
    ASC_JINJA_DO(asc_jinja_str_addz(j, out, quote == '"' ? "\"" : "'"));
    for (size_t i = 0; i < v.len;) {
        uint32_t cp;
        bool ok;
        char esc[16];
        size_t n = asc_utf8_decode(v.ptr + i, v.len - i, &cp, &ok);
        if (repr_escape(cp, quote, ok, esc)) {
            ASC_JINJA_DO(asc_jinja_str_slice(j, out, s, plain, i));
            ASC_JINJA_DO(asc_jinja_own(j, out, asc_view_of(esc)));
            plain = i + n;
        }
        i += n;
    }
    ASC_JINJA_DO(asc_jinja_str_slice(j, out, s, plain, v.len));
    return asc_jinja_str_addz(j, out, quote == '"' ? "\"" : "'");
}

static asc_status repr_items(asc_jinja *j, const asc_jinja_value *v, asc_jinja_str *out) {
    bool dict = v->type == ASC_JINJA_DICT, tuple = !dict && v->u.list->tuple;
    size_t n = dict ? v->u.dict->n : v->u.list->n;
    ASC_JINJA_DO(asc_jinja_str_addz(j, out, dict ? "{" : tuple ? "(" : "["));
    for (size_t i = 0; i < n; i++) {
        if (i > 0) ASC_JINJA_DO(asc_jinja_str_addz(j, out, ", "));
        if (dict) {
            ASC_JINJA_DO(asc_jinja_repr(j, &v->u.dict->v[i].key, out));
            ASC_JINJA_DO(asc_jinja_str_addz(j, out, ": "));
        }
        ASC_JINJA_DO(asc_jinja_repr(j, dict ? &v->u.dict->v[i].value : &v->u.list->v[i], out));
    }
    if (tuple && n == 1) ASC_JINJA_DO(asc_jinja_str_addz(j, out, ","));
    return asc_jinja_str_addz(j, out, dict ? "}" : tuple ? ")" : "]");
}

asc_status asc_jinja_repr(asc_jinja *j, const asc_jinja_value *v, asc_jinja_str *out) {
    char text[40];
    ASC_JINJA_DO(asc_jinja_charge(j, 1));
    switch (v->type) {
    case ASC_JINJA_UNDEFINED:
        return asc_jinja_str_addz(j, out, "Undefined");
    case ASC_JINJA_NONE:
        return asc_jinja_str_addz(j, out, "None");
    case ASC_JINJA_BOOL:
        return asc_jinja_str_addz(j, out, v->u.b ? "True" : "False");
    case ASC_JINJA_INT:
        snprintf(text, sizeof text, "%lld", (long long)v->u.i);
        return asc_jinja_own(j, out, asc_view_of(text));
    case ASC_JINJA_FLOAT:
        float_text(v->u.f, text);
        return asc_jinja_own(j, out, asc_view_of(text));
    case ASC_JINJA_STRING:
        return repr_string(j, v->u.s, out);
    case ASC_JINJA_LIST:
        if (v->u.list->lazy) break;
        return repr_items(j, v, out);
    case ASC_JINJA_DICT:
        return repr_items(j, v, out);
    case ASC_JINJA_LOOP:
    case ASC_JINJA_FUNCTION:
    case ASC_JINJA_MACRO:
    case ASC_JINJA_NAMESPACE:
        break;
    }
    return ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "printing a %s is not supported", asc_jinja_type_name(v));
}

asc_status asc_jinja_to_str(asc_jinja *j, const asc_jinja_value *v, asc_jinja_str *out) {
    *out = (asc_jinja_str){0};
    if (v->type == ASC_JINJA_UNDEFINED) return ASC_OK;
    if (v->type != ASC_JINJA_STRING) return asc_jinja_repr(j, v, out);
    *out = v->u.s;
    return ASC_OK;
}

/* Simple case mappings, and the one to two letters that matter: sharp s. */
asc_status asc_jinja_recase(asc_jinja *j, asc_jinja_str s, bool upper, asc_jinja_str *out) {
    *out = (asc_jinja_str){0};
    ASC_JINJA_DO(asc_jinja_charge(j, s.len / 16));
    for (size_t k = 0; k < s.n; k++) {
        asc_jinja_piece p = s.rope->v[k];
        size_t cap, n = 0;
        if (!asc_mul_size(p.len, 2, &cap))
            return ASC_FAIL(j->ctx, ASC_RESOURCE_EXHAUSTED, "string of %zu bytes", p.len);
        char *buf = asc_jinja_alloc(j, cap + 4,
                                    1); /* U+0250 and such grow from 2 to 3 bytes, none more than doubles */
        if (buf == NULL) return ASC_RESOURCE_EXHAUSTED;
        for (size_t i = 0; i < p.len;) {
            uint32_t cp;
            bool ok;
            size_t w = asc_utf8_decode(p.ptr + i, p.len - i, &cp, &ok);
            if (!ok) {
                memcpy(buf + n, p.ptr + i, w);
                n += w;
            } else if (upper && cp == 0xDF) {
                memcpy(buf + n, "SS", 2);
                n += 2;
            } else {
                utf8proc_int32_t c = (utf8proc_int32_t)cp;
                n += asc_utf8_encode((uint32_t)(upper ? utf8proc_toupper(c) : utf8proc_tolower(c)), buf + n);
            }
            i += w;
        }
        p.ptr = buf;
        p.len = n;
        ASC_JINJA_DO(asc_jinja_str_add(j, out, &p));
    }
    return ASC_OK;
}
