/* jinja_filters_text.c - filters over strings and numbers that templates use less: escaping, indenting,
 * titles, rounding. */
#include "jinja_ast.h"
#include "plain.h"
#include <math.h>
#include <stdlib.h>

asc_status asc_jinja_escape(asc_jinja *j, asc_jinja_str s, asc_jinja_str *out) {
    static const char from[] = "&<>\"'";
    static const char *const to[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
    asc_view v;
    size_t plain = 0;
    *out = (asc_jinja_str){0};
    ASC_JINJA_DO(asc_jinja_str_flat(j, s, &v));
    for (size_t i = 0; i < v.len; i++) {
        const char *hit = v.ptr[i] != '\0' ? strchr(from, v.ptr[i]) : NULL;
        if (hit == NULL) continue;
        ASC_JINJA_DO(asc_jinja_str_slice(j, out, s, plain, i));
        ASC_JINJA_DO(asc_jinja_str_addz(j, out, to[hit - from]));
        plain = i + 1;
    }
    return asc_jinja_str_slice(j, out, s, plain, v.len);
}

static asc_status f_escape(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str s, r;
    ASC_JINJA_DO(asc_jinja_to_str(j, &c->self, &s));
    bool done = c->self.type == ASC_JINJA_STRING && c->self.safe && !asc_view_eqs(c->name, "forceescape");
    if (done) {
        r = s;
    } else {
        ASC_JINJA_DO(asc_jinja_escape(j, s, &r));
    }
    *out = asc_jinja_from_str(r);
    out->safe = true;
    return ASC_OK;
}

/* Bytes of the line end at p, 0 when it is none; the set is Python's. */
static size_t line_end(const char *p, size_t n) {
    unsigned char c = (unsigned char)p[0];
    if (c == '\r') return n > 1 && p[1] == '\n' ? 2 : 1;
    if ((c >= 0x0A && c <= 0x0C) || (c >= 0x1C && c <= 0x1E)) return 1;
    if (n >= 2 && c == 0xC2 && (unsigned char)p[1] == 0x85) return 2;
    if (n >= 3 && c == 0xE2 && (unsigned char)p[1] == 0x80 && ((unsigned char)p[2] | 1) == 0xA9) return 3;
    return 0;
}

asc_status asc_jinja_lines(asc_jinja *j, asc_jinja_str s, bool keep_ends, asc_jinja_value *out) {
    asc_view v;
    asc_jinja_list *l;
    size_t n = 0, from = 0;
    ASC_JINJA_DO(asc_jinja_str_flat(j, s, &v));
    for (int pass = 0; pass < 2; pass++) {
        size_t k = 0;
        from = 0;
        if (pass == 1) ASC_JINJA_DO(asc_jinja_list_new(j, n, &l));
        for (size_t i = 0; i < v.len || from < v.len;) {
            size_t end = i < v.len ? line_end(v.ptr + i, v.len - i) : 0;
            if (i < v.len && end == 0) {
                i++;
                continue;
            }
            if (pass == 1) {
                asc_jinja_str line = {0};
                ASC_JINJA_DO(asc_jinja_str_slice(j, &line, s, from, keep_ends ? i + end : i));
                l->v[k] = asc_jinja_from_str(line);
            }
            k++;
            i += end;
            from = i;
        }
        n = k;
    }
    return asc_jinja_list_done(j, l, out);
}

asc_status asc_jinja_pad(asc_jinja *j, asc_jinja_str *s, const char *c, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        ASC_JINJA_DO(asc_jinja_charge(j, 1));
        ASC_JINJA_DO(asc_jinja_str_addz(j, s, c));
    }
    return ASC_OK;
}

/* Every line but the first (unless asked for), and no empty one (unless asked for), moves to the right. */
static asc_status f_indent(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str s, r = {0}, by = {0};
    asc_jinja_value lines;
    const asc_jinja_value *width = c->arg[0];
    bool first = c->arg[1] != NULL && asc_jinja_truth(c->arg[1]);
    bool blank = c->arg[2] != NULL && asc_jinja_truth(c->arg[2]);
    ASC_JINJA_DO(asc_jinja_to_str(j, &c->self, &s));
    if (width != NULL && width->type == ASC_JINJA_STRING) {
        by = width->u.s;
    } else {
        ASC_JINJA_DO(
            asc_jinja_pad(j, &by, " ", width != NULL && width->type == ASC_JINJA_INT ? width->u.i : 4));
    }
    ASC_JINJA_DO(asc_jinja_str_addz(j, &s, "\n")); /* so that a line feed at the end stays */
    ASC_JINJA_DO(asc_jinja_lines(j, s, false, &lines));
    const asc_jinja_list *l = lines.u.list;
    for (size_t i = 0; i < l->n; i++) {
        if (i > 0) ASC_JINJA_DO(asc_jinja_str_addz(j, &r, "\n"));
        bool moves = i == 0 ? first : blank || l->v[i].u.s.len > 0;
        if (moves) ASC_JINJA_DO(asc_jinja_str_cat(j, &r, by));
        ASC_JINJA_DO(asc_jinja_str_cat(j, &r, l->v[i].u.s));
    }
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}

/* A capital behind white space and - ( { [ <, all else small. */
static asc_status f_title(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str s, r = {0};
    asc_view v;
    bool begins = true;
    ASC_JINJA_DO(asc_jinja_to_str(j, &c->self, &s));
    ASC_JINJA_DO(asc_jinja_str_flat(j, s, &v));
    for (size_t i = 0, n; i < v.len; i += n) {
        asc_jinja_str one = {0}, cased;
        uint32_t cp;
        n = asc_utf8_decode(v.ptr + i, v.len - i, &cp, NULL);
        bool gap =
            asc_jinja_space(v.ptr + i, v.len - i) > 0 || (cp < 0x80 && cp != 0 && strchr("-({[<", (int)cp));
        ASC_JINJA_DO(asc_jinja_charge(j, 1));
        ASC_JINJA_DO(asc_jinja_str_slice(j, &one, s, i, i + n));
        ASC_JINJA_DO(asc_jinja_recase(j, one, begins, &cased));
        ASC_JINJA_DO(asc_jinja_str_cat(j, &r, cased));
        begins = gap;
    }
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}

static asc_status f_center(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str s, r = {0};
    asc_view v;
    int64_t width = c->arg[0] != NULL && c->arg[0]->type == ASC_JINJA_INT ? c->arg[0]->u.i : 80;
    ASC_JINJA_DO(asc_jinja_to_str(j, &c->self, &s));
    ASC_JINJA_DO(asc_jinja_str_flat(j, s, &v));
    int64_t pad = width - (int64_t)asc_jinja_chars(v), left = pad > 0 ? pad / 2 + (pad & width & 1) : 0;
    ASC_JINJA_DO(asc_jinja_pad(j, &r, " ", left));
    ASC_JINJA_DO(asc_jinja_str_cat(j, &r, s));
    ASC_JINJA_DO(asc_jinja_pad(j, &r, " ", pad - left));
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}

static asc_status f_round(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_value *v = &c->self;
    asc_view method = asc_view_of("common");
    int64_t digits = c->arg[0] != NULL && c->arg[0]->type == ASC_JINJA_INT ? c->arg[0]->u.i : 0;
    bool whole = v->type == ASC_JINJA_INT || v->type == ASC_JINJA_BOOL;
    if (!whole && v->type != ASC_JINJA_FLOAT)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "a %s cannot be rounded",
                              asc_jinja_type_name(v));
    if (c->arg[1] != NULL && c->arg[1]->type == ASC_JINJA_STRING)
        ASC_JINJA_DO(asc_jinja_str_flat(j, c->arg[1]->u.s, &method));
    bool up = asc_view_eqs(method, "ceil"), down = asc_view_eqs(method, "floor");
    if (!up && !down && !asc_view_eqs(method, "common"))
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "round goes by 'common', 'ceil' or 'floor'");
    if (digits < 0 || digits > 17)
        return asc_jinja_refuse(j, c->off, "argument of round", asc_view_of("precision"));
    double x = v->type == ASC_JINJA_INT ? (double)v->u.i : v->type == ASC_JINJA_BOOL ? v->u.b : v->u.f;
    if (up || down) {
        double scale = pow(10.0, (double)digits);
        *out = asc_jinja_float((up ? ceil(x * scale) : floor(x * scale)) / scale);
    } else if (whole) {
        *out = asc_jinja_int(v->type == ASC_JINJA_INT ? v->u.i : v->u.b);
    } else {
        char text[400]; /* printf rounds the exact value, halves to even, as Python's round does */
        asc_snprintf(text, sizeof text, "%.*f", (int)digits, x);
        *out = asc_jinja_float(asc_strtod(text, NULL));
    }
    return ASC_OK;
}

const asc_jinja_builtin asc_jinja_text_filters[] = {
    {.name = "escape", .params = "", .fn = f_escape},
    {.name = "e", .params = "", .fn = f_escape},
    {.name = "forceescape", .params = "", .fn = f_escape},
    {.name = "indent", .params = "width,first,blank", .fn = f_indent},
    {.name = "title", .params = "", .fn = f_title},
    {.name = "center", .params = "width", .fn = f_center},
    {.name = "round", .params = "precision,method", .fn = f_round},
    {0},
};
