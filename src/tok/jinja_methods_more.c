/* jinja_methods_more.c - methods of strings that ask what they hold or fill them up, of lists, and of loops.
 */
#include "jinja_ast.h"
#include "unicode.h"
#include <utf8proc.h>

typedef enum kind { DIGIT, ALPHA, ALNUM, SPACE, UPPER, LOWER, NUMERIC } kind;

static bool is_kind(kind k, uint32_t cp, const char *p, size_t n) {
    utf8proc_category_t cat = utf8proc_category((utf8proc_int32_t)cp);
    asc_char_class cls = asc_char_classify(cp);
    bool decimal = cat == UTF8PROC_CATEGORY_ND;
    bool raised = cp == 0xB2 || cp == 0xB3 || cp == 0xB9 || cp == 0x2070 || (cp >= 0x2074 && cp <= 0x2079) ||
                  (cp >= 0x2080 && cp <= 0x2089);
    switch (k) {
    case DIGIT:
        return decimal || raised;
    case ALPHA:
        return cls == ASC_CHAR_LETTER;
    case ALNUM:
        return cls == ASC_CHAR_LETTER || cls == ASC_CHAR_NUMBER;
    case SPACE:
        return asc_jinja_space(p, n) > 0;
    case NUMERIC:
        return cls == ASC_CHAR_NUMBER;
    case UPPER:
        return cat == UTF8PROC_CATEGORY_LU;
    case LOWER:
        return cat == UTF8PROC_CATEGORY_LL;
    }
    return false;
}

/* All characters are of the kind and there is one; for the cases: letters of the other case do not occur. */
static asc_status all(asc_jinja *j, asc_jinja_call *c, kind k, asc_jinja_value *out) {
    asc_view v;
    bool yes = true, some = false;
    ASC_JINJA_DO(asc_jinja_str_flat(j, c->self.u.s, &v));
    for (size_t i = 0, n; i < v.len && yes; i += n) {
        uint32_t cp;
        n = asc_utf8_decode(v.ptr + i, v.len - i, &cp, NULL);
        bool is = is_kind(k, cp, v.ptr + i, v.len - i);
        some |= is;
        if (k == UPPER || k == LOWER)
            yes = !is_kind(k == UPPER ? LOWER : UPPER, cp, v.ptr + i, v.len - i) &&
                  utf8proc_category((utf8proc_int32_t)cp) != UTF8PROC_CATEGORY_LT;
        else
            yes = is;
    }
    *out = asc_jinja_bool(yes && some);
    return ASC_OK;
}
static asc_status m_isdigit(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return all(j, c, DIGIT, out);
}
static asc_status m_isalpha(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return all(j, c, ALPHA, out);
}
static asc_status m_isalnum(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return all(j, c, ALNUM, out);
}
static asc_status m_isspace(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return all(j, c, SPACE, out);
}
static asc_status m_isupper(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return all(j, c, UPPER, out);
}
static asc_status m_islower(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return all(j, c, LOWER, out);
}
static asc_status m_isnumeric(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return all(j, c, NUMERIC, out);
}

static asc_status m_splitlines(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return asc_jinja_lines(j, c->self.u.s, c->arg[0] != NULL && asc_jinja_truth(c->arg[0]), out);
}

/* A capital at the begin of every run of letters. */
static asc_status m_title(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str r = {0};
    asc_view v;
    bool inside = false;
    ASC_JINJA_DO(asc_jinja_str_flat(j, c->self.u.s, &v));
    for (size_t i = 0, n; i < v.len; i += n) {
        asc_jinja_str one = {0}, cased;
        uint32_t cp;
        n = asc_utf8_decode(v.ptr + i, v.len - i, &cp, NULL);
        ASC_JINJA_DO(asc_jinja_charge(j, 1));
        ASC_JINJA_DO(asc_jinja_str_slice(j, &one, c->self.u.s, i, i + n));
        ASC_JINJA_DO(asc_jinja_recase(j, one, !inside, &cased));
        ASC_JINJA_DO(asc_jinja_str_cat(j, &r, cased));
        inside = is_kind(UPPER, cp, v.ptr + i, n) || is_kind(LOWER, cp, v.ptr + i, n);
    }
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}

/* Fills up to a width: spaces or another character before and behind. */
static asc_status fill(asc_jinja *j, asc_jinja_call *c, bool before, bool behind, asc_jinja_value *out) {
    asc_jinja_str r = {0};
    asc_view v, with = asc_view_of(" ");
    char c4[5] = " ";
    if (c->arg[0]->type != ASC_JINJA_INT)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "a width is a whole number, not a %s",
                              asc_jinja_type_name(c->arg[0]));
    if (c->arg[1] != NULL && c->arg[1]->type == ASC_JINJA_STRING)
        ASC_JINJA_DO(asc_jinja_str_flat(j, c->arg[1]->u.s, &with));
    if (asc_jinja_chars(with) != 1 || with.len > 4)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "the character to fill with is not one");
    memcpy(c4, with.ptr, with.len);
    c4[with.len] = '\0';
    char *kept = asc_jinja_alloc(j, sizeof c4, 1);
    if (kept == NULL) return ASC_RESOURCE_EXHAUSTED;
    memcpy(kept, c4, sizeof c4);
    ASC_JINJA_DO(asc_jinja_str_flat(j, c->self.u.s, &v));
    int64_t width = c->arg[0]->u.i, pad = width - (int64_t)asc_jinja_chars(v);
    int64_t left = pad <= 0 || !before ? 0 : behind ? pad / 2 + (pad & width & 1) : pad;
    ASC_JINJA_DO(asc_jinja_pad(j, &r, kept, left));
    ASC_JINJA_DO(asc_jinja_str_cat(j, &r, c->self.u.s));
    if (behind) ASC_JINJA_DO(asc_jinja_pad(j, &r, kept, pad - left));
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}
static asc_status m_ljust(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return fill(j, c, false, true, out);
}
static asc_status m_rjust(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return fill(j, c, true, false, out);
}
static asc_status m_center(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return fill(j, c, true, true, out);
}

static asc_status m_zfill(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str r = {0}, s = c->self.u.s;
    asc_view v;
    if (c->arg[0]->type != ASC_JINJA_INT)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "a width is a whole number, not a %s",
                              asc_jinja_type_name(c->arg[0]));
    ASC_JINJA_DO(asc_jinja_str_flat(j, s, &v));
    size_t sign = v.len > 0 && (v.ptr[0] == '-' || v.ptr[0] == '+') ? 1 : 0;
    ASC_JINJA_DO(asc_jinja_str_slice(j, &r, s, 0, sign));
    ASC_JINJA_DO(asc_jinja_pad(j, &r, "0", c->arg[0]->u.i - (int64_t)asc_jinja_chars(v)));
    ASC_JINJA_DO(asc_jinja_str_slice(j, &r, s, sign, v.len));
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}

/* (before, separator, behind); without the separator all is before (from the end: behind). */
static asc_status partition(asc_jinja *j, asc_jinja_call *c, bool last, asc_jinja_value *out) {
    asc_view v, sep;
    asc_jinja_list *l;
    asc_jinja_str part[3] = {{0}, {0}, {0}}, s = c->self.u.s;
    if (c->arg[0]->type != ASC_JINJA_STRING)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "a separator is a str, not a %s",
                              asc_jinja_type_name(c->arg[0]));
    ASC_JINJA_DO(asc_jinja_str_flat(j, s, &v));
    ASC_JINJA_DO(asc_jinja_str_flat(j, c->arg[0]->u.s, &sep));
    if (sep.len == 0) return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "the separator is empty");
    size_t at = v.len + 1;
    for (size_t i = 0; i + sep.len <= v.len && (last || at > v.len); i++) {
        if (memcmp(v.ptr + i, sep.ptr, sep.len) == 0) at = i;
    }
    if (at > v.len) {
        part[last ? 2 : 0] = s;
    } else {
        ASC_JINJA_DO(asc_jinja_str_slice(j, &part[0], s, 0, at));
        part[1] = c->arg[0]->u.s;
        ASC_JINJA_DO(asc_jinja_str_slice(j, &part[2], s, at + sep.len, v.len));
    }
    ASC_JINJA_DO(asc_jinja_charge(j, v.len / 16));
    ASC_JINJA_DO(asc_jinja_list_new(j, 3, &l));
    for (size_t i = 0; i < 3; i++) l->v[i] = asc_jinja_from_str(part[i]);
    l->tuple = true;
    return asc_jinja_list_done(j, l, out);
}
static asc_status m_partition(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return partition(j, c, false, out);
}
static asc_status m_rpartition(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return partition(j, c, true, out);
}

static asc_status m_list_index(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *l = c->self.u.list;
    for (size_t i = 0; i < l->n; i++) {
        bool same;
        ASC_JINJA_DO(asc_jinja_equal(j, &l->v[i], c->arg[0], &same));
        if (!same) continue;
        *out = asc_jinja_int((int64_t)i);
        return ASC_OK;
    }
    return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "the list has no such element");
}

static asc_status m_list_count(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *l = c->self.u.list;
    int64_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        bool same;
        ASC_JINJA_DO(asc_jinja_equal(j, &l->v[i], c->arg[0], &same));
        n += same;
    }
    *out = asc_jinja_int(n);
    return ASC_OK;
}

static asc_status m_copy(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    (void)j;
    *out = c->self; /* lists and dicts never change, so a copy is the same */
    return ASC_OK;
}

static asc_status m_cycle(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    if (c->n_pos == 0 || c->n_kw > 0)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "loop.cycle needs values to go through");
    *out = c->pos[c->self.u.loop->index0 % c->n_pos];
    return ASC_OK;
}

/* Whether the arguments are others than the last time. */
static asc_status m_changed(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_value now;
    asc_jinja_list *l;
    bool same = false;
    ASC_JINJA_DO(asc_jinja_list_new(j, c->n_pos, &l));
    for (size_t i = 0; i < c->n_pos; i++) l->v[i] = c->pos[i];
    ASC_JINJA_DO(asc_jinja_list_done(j, l, &now));
    if (c->self.u.loop->seen.type == ASC_JINJA_LIST)
        ASC_JINJA_DO(asc_jinja_equal(j, &c->self.u.loop->seen, &now, &same));
    c->self.u.loop->seen = now;
    *out = asc_jinja_bool(!same);
    return ASC_OK;
}

#define STR .self = ASC_JINJA_STRING
#define LIST .self = ASC_JINJA_LIST
const asc_jinja_builtin asc_jinja_more_methods[] = {
    {.name = "isdigit", .params = "", .fn = m_isdigit, STR},
    {.name = "isalpha", .params = "", .fn = m_isalpha, STR},
    {.name = "isalnum", .params = "", .fn = m_isalnum, STR},
    {.name = "isspace", .params = "", .fn = m_isspace, STR},
    {.name = "isupper", .params = "", .fn = m_isupper, STR},
    {.name = "islower", .params = "", .fn = m_islower, STR},
    {.name = "isnumeric", .params = "", .fn = m_isnumeric, STR},
    {.name = "splitlines", .params = "keepends", .fn = m_splitlines, STR},
    {.name = "title", .params = "", .fn = m_title, STR},
    {.name = "ljust", .params = "width,fillchar", .required = 1, .fn = m_ljust, STR},
    {.name = "rjust", .params = "width,fillchar", .required = 1, .fn = m_rjust, STR},
    {.name = "center", .params = "width,fillchar", .required = 1, .fn = m_center, STR},
    {.name = "zfill", .params = "width", .required = 1, .fn = m_zfill, STR},
    {.name = "partition", .params = "sep", .required = 1, .fn = m_partition, STR},
    {.name = "rpartition", .params = "sep", .required = 1, .fn = m_rpartition, STR},
    {.name = "index", .params = "value", .required = 1, .fn = m_list_index, LIST},
    {.name = "count", .params = "value", .required = 1, .fn = m_list_count, LIST},
    {.name = "copy", .params = "", .fn = m_copy, LIST},
    {.name = "copy", .params = "", .fn = m_copy, .self = ASC_JINJA_DICT},
    {.name = "cycle", .params = "*", .fn = m_cycle, .self = ASC_JINJA_LOOP},
    {.name = "changed", .params = "*", .fn = m_changed, .self = ASC_JINJA_LOOP},
    {0},
};
