/* jinja_filters_list.c - filters over lists: choosing, mapping, reversing. Jinja's are lazy: what they give
 * can be looped over once and has no length (`lazy` of the list), which templates do rely on in conditions.
 */
#include "jinja_ast.h"

static asc_status done_lazy(asc_jinja *j, asc_jinja_list *l, asc_jinja_value *out) {
    l->lazy = true;
    return asc_jinja_list_done(j, l, out);
}

/* What select and map go through: whatever is false counts as empty, none and 0 too. */
static asc_status elements(asc_jinja *j, const asc_jinja_call *c, const asc_jinja_list **out) {
    asc_jinja_value none = asc_jinja_undefined(asc_view_of(""), NULL);
    return asc_jinja_iterate(j, asc_jinja_truth(&c->self) ? &c->self : &none, c->off, out);
}

asc_status asc_jinja_path(asc_jinja *j, const asc_jinja_call *c, const asc_jinja_value *item,
                          const asc_jinja_value *attr, asc_jinja_value *out) {
    asc_view v;
    *out = *item;
    if (attr->type == ASC_JINJA_INT) return asc_jinja_get_item(j, item, attr, c->off, out);
    if (attr->type != ASC_JINJA_STRING)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "an attribute is named by a str, not a %s",
                              asc_jinja_type_name(attr));
    ASC_JINJA_DO(asc_jinja_str_flat(j, attr->u.s, &v));
    for (size_t i = 0; i <= v.len;) {
        const char *dot = i < v.len ? memchr(v.ptr + i, '.', v.len - i) : NULL;
        asc_view part = asc_view_make(v.ptr + i, dot != NULL ? (size_t)(dot - v.ptr) - i : v.len - i);
        asc_jinja_value key, from = *out;
        bool number = part.len > 0 && part.len < 10;
        int64_t index = 0;
        for (size_t k = 0; k < part.len && number; k++) {
            number = part.ptr[k] >= '0' && part.ptr[k] <= '9';
            index = index * 10 + (part.ptr[k] - '0');
        }
        if (number)
            key = asc_jinja_int(index);
        else
            ASC_JINJA_DO(asc_jinja_string(j, part, -1, ASC_JINJA_FROM_TEMPLATE, &key));
        ASC_JINJA_DO(asc_jinja_get_item(j, &from, &key, c->off, out));
        i += part.len + 1;
    }
    return ASC_OK;
}

/* Applies the filter or test named by argument number `at`, with the arguments behind it. */
static asc_status apply(asc_jinja *j, const asc_jinja_call *c, size_t at, bool test,
                        const asc_jinja_value *item, asc_jinja_value *out) {
    asc_view name;
    asc_jinja_call inner = {
        .off = c->off, .self = *item, .n_kw = c->n_kw, .kw = c->kw, .kw_name = c->kw_name};
    const char *what = test ? "test" : "filter";
    if (c->pos[at].type != ASC_JINJA_STRING)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "a %s is named by a str, not a %s", what,
                              asc_jinja_type_name(&c->pos[at]));
    ASC_JINJA_DO(asc_jinja_str_flat(j, c->pos[at].u.s, &name));
    inner.name = name;
    inner.pos = c->pos + at + 1;
    inner.n_pos = c->n_pos - at - 1;
    const asc_jinja_builtin *row = test ? asc_jinja_find_test(name) : asc_jinja_find_filter(name);
    if (row == NULL) return asc_jinja_refuse(j, c->off, what, name);
    if (strcmp(row->params, "*") == 0) return asc_jinja_refuse(j, c->off, "filter inside a filter", name);
    return asc_jinja_invoke(j, row, what, &inner, out);
}

/* Keeps the elements whose test (or truth) is `want`; with `attr` of their attribute named first. */
static asc_status choose(asc_jinja *j, asc_jinja_call *c, bool attr, bool want, asc_jinja_value *out) {
    const asc_jinja_list *in;
    asc_jinja_list *l;
    size_t n = 0, first = attr ? 1 : 0;
    if (c->n_pos < first)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT,
                              "'" ASC_VIEW_FMT "' needs the name of an attribute", ASC_VIEW_ARG(c->name));
    ASC_JINJA_DO(elements(j, c, &in));
    ASC_JINJA_DO(asc_jinja_list_new(j, in->n, &l));
    for (size_t i = 0; i < in->n; i++) {
        asc_jinja_value v = in->v[i], yes;
        ASC_JINJA_DO(asc_jinja_charge(j, 1));
        if (attr) ASC_JINJA_DO(asc_jinja_path(j, c, &in->v[i], &c->pos[0], &v));
        yes = v;
        if (c->n_pos > first) ASC_JINJA_DO(apply(j, c, first, true, &v, &yes));
        if (asc_jinja_truth(&yes) == want) l->v[n++] = in->v[i];
    }
    l->n = n;
    return done_lazy(j, l, out);
}
static asc_status f_select(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return choose(j, c, false, true, out);
}
static asc_status f_reject(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return choose(j, c, false, false, out);
}
static asc_status f_selectattr(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return choose(j, c, true, true, out);
}
static asc_status f_rejectattr(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return choose(j, c, true, false, out);
}

/* map('filter', ...) or map(attribute='name', default=...). */
static asc_status f_map(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *in;
    asc_jinja_list *l;
    const asc_jinja_value *attr = NULL, *fallback = NULL;
    for (size_t i = 0; c->n_pos == 0 && i < c->n_kw; i++) {
        if (asc_view_eqs(c->kw_name[i], "attribute"))
            attr = &c->kw[i];
        else if (asc_view_eqs(c->kw_name[i], "default"))
            fallback = &c->kw[i];
        else
            return asc_jinja_refuse(j, c->off, "argument of map", c->kw_name[i]);
    }
    if (attr == NULL && c->n_pos == 0)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT,
                              "map needs the name of a filter or attribute=");
    ASC_JINJA_DO(elements(j, c, &in));
    ASC_JINJA_DO(asc_jinja_list_new(j, in->n, &l));
    for (size_t i = 0; i < in->n; i++) {
        ASC_JINJA_DO(asc_jinja_charge(j, 1));
        if (attr == NULL) {
            ASC_JINJA_DO(apply(j, c, 0, false, &in->v[i], &l->v[i]));
            continue;
        }
        ASC_JINJA_DO(asc_jinja_path(j, c, &in->v[i], attr, &l->v[i]));
        if (fallback != NULL && l->v[i].type == ASC_JINJA_UNDEFINED) l->v[i] = *fallback;
    }
    return done_lazy(j, l, out);
}

static asc_status f_reverse(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *in;
    asc_jinja_list *l;
    if (c->self.type == ASC_JINJA_STRING) {
        const asc_jinja_value range[3] = {
            {.type = ASC_JINJA_NONE}, {.type = ASC_JINJA_NONE}, asc_jinja_int(-1)};
        return asc_jinja_slice(j, &c->self, range, c->off, out);
    }
    ASC_JINJA_DO(asc_jinja_iterate(j, &c->self, c->off, &in));
    ASC_JINJA_DO(asc_jinja_list_new(j, in->n, &l));
    for (size_t i = 0; i < in->n; i++) l->v[i] = in->v[in->n - 1 - i];
    return done_lazy(j, l, out);
}

static asc_status f_items(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_list *l;
    if (c->self.type == ASC_JINJA_UNDEFINED) {
        ASC_JINJA_DO(asc_jinja_list_new(j, 0, &l));
        return done_lazy(j, l, out);
    }
    if (c->self.type != ASC_JINJA_DICT)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "items needs a dict, not a %s",
                              asc_jinja_type_name(&c->self));
    ASC_JINJA_DO(asc_jinja_dict_part(j, c->self.u.dict, true, true, out));
    out->u.list->lazy = true;
    return ASC_OK;
}

const asc_jinja_builtin asc_jinja_list_filters[] = {
    {.name = "select", .params = "*", .fn = f_select},
    {.name = "reject", .params = "*", .fn = f_reject},
    {.name = "selectattr", .params = "*", .fn = f_selectattr},
    {.name = "rejectattr", .params = "*", .fn = f_rejectattr},
    {.name = "map", .params = "*", .fn = f_map},
    {.name = "sort", .params = "reverse,case_sensitive,attribute", .fn = asc_jinja_sort},
    {.name = "dictsort", .params = "case_sensitive,by,reverse", .fn = asc_jinja_dictsort},
    {.name = "reverse", .params = "", .fn = f_reverse},
    {.name = "items", .params = "", .fn = f_items},
    {0},
};
