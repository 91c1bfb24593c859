/* jinja_methods.c - methods of strings and dicts, with Python's meaning. To add one: write `m_name`, give it
 * a row. */
#include "jinja_ast.h"

static asc_status need_str(asc_jinja *j, const asc_jinja_call *c, const asc_jinja_value *v, asc_view *out) {
    if (v->type == ASC_JINJA_UNDEFINED) return asc_jinja_fail_undefined(j, v, c->off);
    if (v->type != ASC_JINJA_STRING)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "'" ASC_VIEW_FMT "' needs a str, not a %s",
                              ASC_VIEW_ARG(asc_view_cut(c->name, 80)), asc_jinja_type_name(v));
    return asc_jinja_str_flat(j, v->u.s, out);
}

static asc_status strip(asc_jinja *j, asc_jinja_call *c, bool left, bool right, asc_jinja_value *out) {
    asc_jinja_str r;
    ASC_JINJA_DO(asc_jinja_strip(j, c->self.u.s, c->arg[0], left, right, &r));
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}
static asc_status m_strip(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return strip(j, c, true, true, out);
}
static asc_status m_lstrip(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return strip(j, c, true, false, out);
}
static asc_status m_rstrip(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return strip(j, c, false, true, out);
}

static asc_status m_upper(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str r;
    ASC_JINJA_DO(asc_jinja_recase(j, c->self.u.s, true, &r));
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}
static asc_status m_lower(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str r;
    ASC_JINJA_DO(asc_jinja_recase(j, c->self.u.s, false, &r));
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}
static asc_status m_capitalize(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return asc_jinja_capitalize(j, c->self.u.s, out);
}
static asc_status m_replace(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return asc_jinja_replace(j, c, c->self.u.s, out);
}

/* ---- begins, ends, is where ---- */

/* Whether the string begins (or ends) with `v`, or with one of a tuple of strings. */
static asc_status affix(asc_jinja *j, asc_jinja_call *c, const asc_jinja_value *v, bool end, bool *yes) {
    asc_view text, fix;
    *yes = false;
    if (v->type == ASC_JINJA_LIST && v->u.list->tuple) {
        for (size_t i = 0; i < v->u.list->n && !*yes; i++) {
            if (v->u.list->v[i].type == ASC_JINJA_LIST) return need_str(j, c, &v->u.list->v[i], &fix);
            ASC_JINJA_DO(affix(j, c, &v->u.list->v[i], end, yes));
        }
        return ASC_OK;
    }
    ASC_JINJA_DO(need_str(j, c, v, &fix));
    ASC_JINJA_DO(asc_jinja_str_flat(j, c->self.u.s, &text));
    if (fix.len > text.len) return ASC_OK;
    *yes = fix.len == 0 || memcmp(end ? text.ptr + text.len - fix.len : text.ptr, fix.ptr, fix.len) == 0;
    return ASC_OK;
}
static asc_status m_startswith(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    bool yes;
    ASC_JINJA_DO(affix(j, c, c->arg[0], false, &yes));
    *out = asc_jinja_bool(yes);
    return ASC_OK;
}
static asc_status m_endswith(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    bool yes;
    ASC_JINJA_DO(affix(j, c, c->arg[0], true, &yes));
    *out = asc_jinja_bool(yes);
    return ASC_OK;
}

static asc_status remove_affix(asc_jinja *j, asc_jinja_call *c, bool end, asc_jinja_value *out) {
    asc_view fix;
    asc_jinja_str r = {0}, s = c->self.u.s;
    bool yes;
    ASC_JINJA_DO(need_str(j, c, c->arg[0], &fix));
    ASC_JINJA_DO(affix(j, c, c->arg[0], end, &yes));
    size_t cut = yes ? fix.len : 0;
    ASC_JINJA_DO(asc_jinja_str_slice(j, &r, s, end ? 0 : cut, end ? s.len - cut : s.len));
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}
static asc_status m_removeprefix(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return remove_affix(j, c, false, out);
}
static asc_status m_removesuffix(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return remove_affix(j, c, true, out);
}

/* Byte offset of the last occurrence of `what` in v, or v.len + 1. */
static size_t last_of(asc_view v, asc_view what) {
    for (size_t i = v.len + 1; i-- > what.len;) {
        if (what.len == 0 || memcmp(v.ptr + i - what.len, what.ptr, what.len) == 0) return i - what.len;
    }
    return v.len + 1;
}

static asc_status find(asc_jinja *j, asc_jinja_call *c, bool last, asc_jinja_value *out) {
    asc_view v, what;
    ASC_JINJA_DO(asc_jinja_str_flat(j, c->self.u.s, &v));
    ASC_JINJA_DO(need_str(j, c, c->arg[0], &what));
    const char *hit = what.len == 0 ? v.ptr : memmem(v.ptr, v.len, what.ptr, what.len);
    size_t at = last ? last_of(v, what) : hit != NULL ? (size_t)(hit - v.ptr) : v.len + 1;
    *out = asc_jinja_int(at > v.len ? -1 : (int64_t)asc_jinja_chars(asc_view_make(v.ptr, at)));
    return ASC_OK;
}
static asc_status m_find(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return find(j, c, false, out);
}
static asc_status m_rfind(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return find(j, c, true, out);
}

static asc_status m_count(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_view v, what;
    int64_t n = 0;
    ASC_JINJA_DO(asc_jinja_str_flat(j, c->self.u.s, &v));
    ASC_JINJA_DO(need_str(j, c, c->arg[0], &what));
    if (what.len == 0) n = (int64_t)asc_jinja_chars(v) + 1;
    for (size_t i = 0; what.len > 0 && i < v.len; n++) {
        const char *hit = memmem(v.ptr + i, v.len - i, what.ptr, what.len);
        if (hit == NULL) break;
        i = (size_t)(hit - v.ptr) + what.len;
    }
    *out = asc_jinja_int(n);
    return ASC_OK;
}

/* ---- split and join ---- */

typedef struct cuts { /* start and end of every part */
    size_t *at;
    size_t n, cap;
} cuts;

static asc_status cut(asc_jinja *j, cuts *k, size_t a, size_t b) {
    if (k->n == k->cap) {
        size_t cap = k->cap * 2 + 4;
        size_t *at = asc_jinja_alloc(j, cap, 2 * sizeof *at);
        if (at == NULL) return ASC_RESOURCE_EXHAUSTED;
        if (k->n > 0) memcpy(at, k->at, k->n * 2 * sizeof *at);
        k->at = at;
        k->cap = cap;
    }
    k->at[2 * k->n] = a;
    k->at[2 * k->n++ + 1] = b;
    return asc_jinja_charge(j, 1);
}

/* Parts between runs of white space; at most `most` cuts, the rest keeps its inner and trailing white space.
 */
static asc_status split_blanks(asc_jinja *j, asc_view v, int64_t most, cuts *k) {
    size_t i = 0, w;
    for (;;) {
        while (i < v.len && (w = asc_jinja_space(v.ptr + i, v.len - i)) > 0) i += w;
        if (i == v.len) return ASC_OK;
        if (most == 0) return cut(j, k, i, v.len);
        size_t start = i;
        while (i < v.len && asc_jinja_space(v.ptr + i, v.len - i) == 0) i++;
        ASC_JINJA_DO(cut(j, k, start, i));
        most -= most > 0;
    }
}

static asc_status split_at(asc_jinja *j, asc_view v, asc_view sep, int64_t most, cuts *k) {
    size_t i = 0;
    for (;;) {
        const char *hit = most == 0 || i >= v.len ? NULL : memmem(v.ptr + i, v.len - i, sep.ptr, sep.len);
        size_t end = hit != NULL ? (size_t)(hit - v.ptr) : v.len;
        ASC_JINJA_DO(cut(j, k, i, end));
        if (hit == NULL) return ASC_OK;
        i = end + sep.len;
        most -= most > 0;
    }
}

/* From the end; the parts come out last first. */
static asc_status split_back(asc_jinja *j, asc_view v, asc_view sep, int64_t most, cuts *k) {
    for (size_t end = v.len;;) {
        size_t hit = most == 0 ? end + 1 : last_of(asc_view_make(v.ptr, end), sep);
        ASC_JINJA_DO(cut(j, k, hit > end ? 0 : hit + sep.len, end));
        if (hit > end) return ASC_OK;
        end = hit;
        most -= most > 0;
    }
}

static asc_status split(asc_jinja *j, asc_jinja_call *c, bool back, asc_jinja_value *out) {
    asc_view v, sep;
    cuts k = {0};
    asc_jinja_list *l;
    int64_t most = -1;
    bool blanks = c->arg[0] == NULL || c->arg[0]->type == ASC_JINJA_NONE;
    ASC_JINJA_DO(asc_jinja_str_flat(j, c->self.u.s, &v));
    if (c->arg[1] != NULL && c->arg[1]->type != ASC_JINJA_INT)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "maxsplit must be an int, not a %s",
                              asc_jinja_type_name(c->arg[1]));
    if (c->arg[1] != NULL) most = c->arg[1]->u.i;
    if (blanks && back && most >= 0)
        return asc_jinja_refuse(j, c->off, "argument of rsplit", asc_view_of("maxsplit"));
    if (blanks) {
        ASC_JINJA_DO(split_blanks(j, v, most, &k));
    } else {
        ASC_JINJA_DO(need_str(j, c, c->arg[0], &sep));
        if (sep.len == 0) return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "the separator is empty");
        ASC_JINJA_DO(back ? split_back(j, v, sep, most, &k) : split_at(j, v, sep, most, &k));
    }
    ASC_JINJA_DO(asc_jinja_list_new(j, k.n, &l));
    for (size_t i = 0; i < k.n; i++) {
        asc_jinja_str part = {0};
        size_t from = back && !blanks ? k.n - 1 - i : i;
        ASC_JINJA_DO(asc_jinja_str_slice(j, &part, c->self.u.s, k.at[2 * from], k.at[2 * from + 1]));
        l->v[i] = asc_jinja_from_str(part);
    }
    return asc_jinja_list_done(j, l, out);
}
static asc_status m_split(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return split(j, c, false, out);
}
static asc_status m_rsplit(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return split(j, c, true, out);
}

static asc_status m_join(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *l;
    asc_view v;
    ASC_JINJA_DO(asc_jinja_iterate(j, c->arg[0], c->off, &l));
    for (size_t i = 0; i < l->n; i++) ASC_JINJA_DO(need_str(j, c, &l->v[i], &v)); /* unlike the filter */
    return asc_jinja_join(j, c->self.u.s, l, out);
}

/* 'x {} {0} {name} {{'.format(...): plain fields only, without conversion or format after ':'. */
static asc_status format_field(asc_jinja *j, asc_jinja_call *c, asc_view field, size_t *next,
                               asc_jinja_str *r) {
    asc_jinja_str s;
    size_t index = 0;
    bool number = true;
    if (field.len > 0 &&
        (memchr(field.ptr, ':', field.len) != NULL || memchr(field.ptr, '!', field.len) != NULL ||
         memchr(field.ptr, '.', field.len) != NULL || memchr(field.ptr, '[', field.len) != NULL))
        return asc_jinja_refuse(j, c->off, "format field", field);
    for (size_t i = 0; i < field.len; i++) {
        number = number && i < 4 && field.ptr[i] >= '0' && field.ptr[i] <= '9';
        if (number) index = index * 10 + (size_t)(field.ptr[i] - '0');
    }
    if (field.len == 0) index = (*next)++;
    if (number && index < c->n_pos) {
        ASC_JINJA_DO(asc_jinja_to_str(j, &c->pos[index], &s));
        return asc_jinja_str_cat(j, r, s);
    }
    for (size_t i = 0; i < c->n_kw && !number; i++) {
        if (!asc_view_eq(c->kw_name[i], field)) continue;
        ASC_JINJA_DO(asc_jinja_to_str(j, &c->kw[i], &s));
        return asc_jinja_str_cat(j, r, s);
    }
    return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "format has no argument for {" ASC_VIEW_FMT "}",
                          ASC_VIEW_ARG(asc_view_cut(field, 80)));
}

static asc_status m_format(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_view v;
    asc_jinja_str r = {0};
    size_t plain = 0, next = 0;
    ASC_JINJA_DO(asc_jinja_str_flat(j, c->self.u.s, &v));
    for (size_t i = 0; i < v.len; i++) {
        if (v.ptr[i] != '{' && v.ptr[i] != '}') continue;
        if (i + 1 < v.len && v.ptr[i + 1] == v.ptr[i]) { /* a doubled brace is one */
            ASC_JINJA_DO(asc_jinja_str_slice(j, &r, c->self.u.s, plain, i + 1));
            plain = ++i + 1;
            continue;
        }
        const char *end = v.ptr[i] == '{' ? memchr(v.ptr + i, '}', v.len - i) : NULL;
        if (end == NULL)
            return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "format: a single '%c'", v.ptr[i]);
        ASC_JINJA_DO(asc_jinja_str_slice(j, &r, c->self.u.s, plain, i));
        size_t close = (size_t)(end - v.ptr);
        ASC_JINJA_DO(format_field(j, c, asc_view_make(v.ptr + i + 1, close - i - 1), &next, &r));
        i = close;
        plain = close + 1;
    }
    ASC_JINJA_DO(asc_jinja_str_slice(j, &r, c->self.u.s, plain, v.len));
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}

/* ---- dicts ---- */

asc_status asc_jinja_dict_part(asc_jinja *j, const asc_jinja_dict *d, bool keys, bool values,
                               asc_jinja_value *out) {
    asc_jinja_list *l, *pair;
    ASC_JINJA_DO(asc_jinja_list_new(j, d->n, &l));
    for (size_t i = 0; i < d->n; i++) {
        l->v[i] = keys ? d->v[i].key : d->v[i].value;
        if (!keys || !values) continue;
        ASC_JINJA_DO(asc_jinja_list_new(j, 2, &pair));
        pair->tuple = true;
        pair->v[0] = d->v[i].key;
        pair->v[1] = d->v[i].value;
        ASC_JINJA_DO(asc_jinja_list_done(j, pair, &l->v[i]));
    }
    return asc_jinja_list_done(j, l, out);
}
static asc_status m_items(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return asc_jinja_dict_part(j, c->self.u.dict, true, true, out);
}
static asc_status m_keys(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return asc_jinja_dict_part(j, c->self.u.dict, true, false, out);
}
static asc_status m_values(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return asc_jinja_dict_part(j, c->self.u.dict, false, true, out);
}
static asc_status m_get(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_value *hit;
    ASC_JINJA_DO(asc_jinja_dict_get(j, c->self.u.dict, c->arg[0], &hit));
    if (hit != NULL)
        *out = *hit;
    else if (c->arg[1] != NULL)
        *out = *c->arg[1];
    else
        *out = (asc_jinja_value){.type = ASC_JINJA_NONE};
    return ASC_OK;
}

#define STR .self = ASC_JINJA_STRING
#define DICT .self = ASC_JINJA_DICT
const asc_jinja_builtin asc_jinja_methods[] = {
    {.name = "strip", .params = "chars", .fn = m_strip, STR},
    {.name = "lstrip", .params = "chars", .fn = m_lstrip, STR},
    {.name = "rstrip", .params = "chars", .fn = m_rstrip, STR},
    {.name = "split", .params = "sep,maxsplit", .fn = m_split, STR},
    {.name = "rsplit", .params = "sep,maxsplit", .fn = m_rsplit, STR},
    {.name = "startswith", .params = "prefix", .required = 1, .fn = m_startswith, STR},
    {.name = "endswith", .params = "suffix", .required = 1, .fn = m_endswith, STR},
    {.name = "removeprefix", .params = "prefix", .required = 1, .fn = m_removeprefix, STR},
    {.name = "removesuffix", .params = "suffix", .required = 1, .fn = m_removesuffix, STR},
    {.name = "replace", .params = "old,new,count", .required = 2, .fn = m_replace, STR},
    {.name = "find", .params = "sub", .required = 1, .fn = m_find, STR},
    {.name = "rfind", .params = "sub", .required = 1, .fn = m_rfind, STR},
    {.name = "count", .params = "sub", .required = 1, .fn = m_count, STR},
    {.name = "format", .params = "*", .fn = m_format, STR},
    {.name = "upper", .params = "", .fn = m_upper, STR},
    {.name = "lower", .params = "", .fn = m_lower, STR},
    {.name = "capitalize", .params = "", .fn = m_capitalize, STR},
    {.name = "join", .params = "iterable", .required = 1, .fn = m_join, STR},
    {.name = "items", .params = "", .fn = m_items, DICT},
    {.name = "keys", .params = "", .fn = m_keys, DICT},
    {.name = "values", .params = "", .fn = m_values, DICT},
    {.name = "get", .params = "key,default", .required = 1, .fn = m_get, DICT},
    {0},
};
