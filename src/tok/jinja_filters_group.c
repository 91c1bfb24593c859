/* jinja_filters_group.c - filters that put lists together anew: sums, extremes, groups, batches. */
#include "jinja_ast.h"

static asc_status list_of(asc_jinja *j, asc_jinja_list *l, bool lazy, asc_jinja_value *out) {
    l->lazy = lazy;
    return asc_jinja_list_done(j, l, out);
}

/* What an element is compared by: its attribute, without case unless that is asked for. */
static asc_status key_of(asc_jinja *j, const asc_jinja_call *c, const asc_jinja_value *item,
                         const asc_jinja_value *attr, bool with_case, asc_jinja_value *out) {
    *out = *item;
    if (attr != NULL && attr->type != ASC_JINJA_NONE) ASC_JINJA_DO(asc_jinja_path(j, c, item, attr, out));
    if (with_case || out->type != ASC_JINJA_STRING) return ASC_OK;
    asc_jinja_str low;
    ASC_JINJA_DO(asc_jinja_recase(j, out->u.s, false, &low));
    *out = asc_jinja_from_str(low);
    return ASC_OK;
}

static bool flag(const asc_jinja_value *v) { return v != NULL && asc_jinja_truth(v); }

static asc_status f_unique(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *in;
    asc_jinja_list *l;
    asc_jinja_dict *seen;
    const asc_jinja_value yes = asc_jinja_bool(true), *hit;
    size_t n = 0;
    ASC_JINJA_DO(asc_jinja_iterate(j, &c->self, c->off, &in));
    ASC_JINJA_DO(asc_jinja_list_new(j, in->n, &l));
    ASC_JINJA_DO(asc_jinja_dict_new(j, in->n, &seen));
    for (size_t i = 0; i < in->n; i++) {
        asc_jinja_value key;
        ASC_JINJA_DO(key_of(j, c, &in->v[i], c->arg[1], flag(c->arg[0]), &key));
        ASC_JINJA_DO(asc_jinja_dict_get(j, seen, &key, &hit));
        if (hit != NULL) continue;
        ASC_JINJA_DO(asc_jinja_dict_set(j, seen, &key, &yes, c->off));
        l->v[n++] = in->v[i];
    }
    l->n = n;
    return list_of(j, l, true, out);
}

static asc_status extreme(asc_jinja *j, asc_jinja_call *c, asc_jinja_op op, asc_jinja_value *out) {
    const asc_jinja_list *in;
    asc_jinja_value best = {0}, key;
    ASC_JINJA_DO(asc_jinja_iterate(j, &c->self, c->off, &in));
    *out = asc_jinja_undefined(asc_view_of("element"), asc_jinja_type_name(&c->self));
    for (size_t i = 0; i < in->n; i++) {
        bool better = i == 0;
        ASC_JINJA_DO(key_of(j, c, &in->v[i], c->arg[1], flag(c->arg[0]), &key));
        if (i > 0) ASC_JINJA_DO(asc_jinja_compare(j, op, &key, &best, c->off, &better));
        if (!better) continue;
        best = key;
        *out = in->v[i];
    }
    return ASC_OK;
}
static asc_status f_min(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return extreme(j, c, JO_LT, out);
}
static asc_status f_max(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return extreme(j, c, JO_GT, out);
}

static asc_status f_sum(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *in;
    asc_jinja_value sum = c->arg[1] != NULL ? *c->arg[1] : asc_jinja_int(0), v;
    if (sum.type == ASC_JINJA_STRING)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "sum does not join strings");
    ASC_JINJA_DO(asc_jinja_iterate(j, &c->self, c->off, &in));
    for (size_t i = 0; i < in->n; i++) {
        asc_jinja_value left = sum;
        ASC_JINJA_DO(asc_jinja_charge(j, 1));
        ASC_JINJA_DO(key_of(j, c, &in->v[i], c->arg[0], true, &v));
        ASC_JINJA_DO(asc_jinja_arith(j, JO_ADD, &left, &v, c->off, &sum));
    }
    *out = sum;
    return ASC_OK;
}

static asc_status part(asc_jinja *j, const asc_jinja_list *in, size_t from, size_t n, size_t fill,
                       const asc_jinja_value *with, asc_jinja_value *out) {
    asc_jinja_list *l;
    ASC_JINJA_DO(asc_jinja_list_new(j, n + fill, &l));
    for (size_t i = 0; i < n; i++) l->v[i] = in->v[from + i];
    for (size_t i = 0; i < fill; i++) l->v[n + i] = *with;
    return list_of(j, l, false, out);
}

static asc_status count_arg(asc_jinja *j, asc_jinja_call *c, size_t *out) {
    const asc_jinja_value *v = c->arg[0];
    if (v->type != ASC_JINJA_INT || v->u.i < 1 || v->u.i > INT32_MAX)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT,
                              "'" ASC_VIEW_FMT "' needs a whole number from 1 on",
                              ASC_VIEW_ARG(asc_view_cut(c->name, 80)));
    *out = (size_t)v->u.i;
    return ASC_OK;
}

static asc_status f_batch(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *in;
    asc_jinja_list *l;
    size_t n = 0;
    ASC_JINJA_DO(count_arg(j, c, &n));
    ASC_JINJA_DO(asc_jinja_iterate(j, &c->self, c->off, &in));
    size_t rows = in->n / n + (in->n % n != 0);
    ASC_JINJA_DO(asc_jinja_list_new(j, rows, &l));
    for (size_t i = 0; i < rows; i++) {
        size_t left = in->n - i * n, have = left < n ? left : n;
        bool fill = c->arg[1] != NULL && c->arg[1]->type != ASC_JINJA_NONE;
        ASC_JINJA_DO(part(j, in, i * n, have, fill ? n - have : 0, c->arg[1], &l->v[i]));
    }
    return list_of(j, l, true, out);
}

/* n columns, the first ones one longer where it does not divide. */
static asc_status f_slice(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *in;
    asc_jinja_list *l;
    size_t n = 0, at = 0;
    ASC_JINJA_DO(count_arg(j, c, &n));
    ASC_JINJA_DO(asc_jinja_iterate(j, &c->self, c->off, &in));
    size_t each = in->n / n, more = in->n % n;
    ASC_JINJA_DO(asc_jinja_list_new(j, n, &l));
    for (size_t i = 0; i < n; i++) {
        size_t len = each + (i < more);
        bool fill = c->arg[1] != NULL && c->arg[1]->type != ASC_JINJA_NONE && i >= more;
        ASC_JINJA_DO(part(j, in, at, len, fill ? 1 : 0, c->arg[1], &l->v[i]));
        at += len;
    }
    return list_of(j, l, true, out);
}

/* Neighbours with the same key after a sort by it: (grouper, list) each. */
static asc_status f_groupby(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_value sorted, key;
    asc_jinja_list *l, *pair;
    const bool with_case = flag(c->arg[2]);
    const asc_jinja_value cased = asc_jinja_bool(with_case);
    asc_jinja_call by = {.name = c->name, .off = c->off, .self = c->self, .arg = {NULL, &cased, c->arg[0]}};
    size_t n = 0, from = 0;
    if (c->arg[1] != NULL) return asc_jinja_refuse(j, c->off, "argument of groupby", asc_view_of("default"));
    ASC_JINJA_DO(asc_jinja_sort(j, &by, &sorted));
    const asc_jinja_list *in = sorted.u.list;
    ASC_JINJA_DO(asc_jinja_list_new(j, in->n, &l));
    for (size_t i = 0; i < in->n; i++) {
        asc_jinja_value next, first;
        bool same = false;
        ASC_JINJA_DO(key_of(j, c, &in->v[i], c->arg[0], with_case, &key));
        if (i + 1 < in->n) {
            ASC_JINJA_DO(key_of(j, c, &in->v[i + 1], c->arg[0], with_case, &next));
            ASC_JINJA_DO(asc_jinja_equal(j, &key, &next, &same));
        }
        if (same) continue;
        ASC_JINJA_DO(asc_jinja_list_new(j, 2, &pair));
        pair->tuple = pair->group = true;
        ASC_JINJA_DO(asc_jinja_path(j, c, &in->v[from], c->arg[0], &first));
        pair->v[0] = first;
        ASC_JINJA_DO(part(j, in, from, i + 1 - from, 0, NULL, &pair->v[1]));
        ASC_JINJA_DO(asc_jinja_list_done(j, pair, &l->v[n++]));
        from = i + 1;
    }
    l->n = n;
    return list_of(j, l, false, out);
}

const asc_jinja_builtin asc_jinja_group_filters[] = {
    {.name = "unique", .params = "case_sensitive,attribute", .fn = f_unique},
    {.name = "min", .params = "case_sensitive,attribute", .fn = f_min},
    {.name = "max", .params = "case_sensitive,attribute", .fn = f_max},
    {.name = "sum", .params = "attribute,start", .fn = f_sum},
    {.name = "batch", .params = "linecount,fill_with", .required = 1, .fn = f_batch},
    {.name = "slice", .params = "slices,fill_with", .required = 1, .fn = f_slice},
    {.name = "groupby", .params = "attribute,default,case_sensitive", .required = 1, .fn = f_groupby},
    {0},
};
