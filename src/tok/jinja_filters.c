/* jinja_filters.c - the filters. To add one: write `f_name`, give it a row with its parameter names. Strings
 * keep the record of where their bytes came from, so build results from slices of the input
 * (asc_jinja_str_slice). */
#include "jinja_json.h"
#include "plain.h"
#include <math.h>
#include <stdlib.h>

static asc_status f_trim(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str s, r;
    ASC_JINJA_DO(asc_jinja_to_str(j, &c->self, &s));
    ASC_JINJA_DO(asc_jinja_strip(j, s, c->arg[0], true, true, &r));
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}

static asc_status f_capitalize(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str s;
    ASC_JINJA_DO(asc_jinja_to_str(j, &c->self, &s));
    return asc_jinja_capitalize(j, s, out);
}

static asc_status f_replace(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str s;
    ASC_JINJA_DO(asc_jinja_to_str(j, &c->self, &s));
    return asc_jinja_replace(j, c, s, out);
}

static asc_status recase(asc_jinja *j, asc_jinja_call *c, bool upper, asc_jinja_value *out) {
    asc_jinja_str s, r;
    ASC_JINJA_DO(asc_jinja_to_str(j, &c->self, &s));
    ASC_JINJA_DO(asc_jinja_recase(j, s, upper, &r));
    *out = asc_jinja_from_str(r);
    return ASC_OK;
}

static asc_status f_upper(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return recase(j, c, true, out);
}
static asc_status f_lower(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return recase(j, c, false, out);
}

static asc_status f_length(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_view v;
    size_t n = 0;
    switch (c->self.type) {
    case ASC_JINJA_UNDEFINED:
        break;
    case ASC_JINJA_STRING:
        ASC_JINJA_DO(asc_jinja_str_flat(j, c->self.u.s, &v));
        n = asc_jinja_chars(v);
        break;
    case ASC_JINJA_LIST:
        if (c->self.u.list->lazy)
            return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT,
                                  "a generator has no length; use |list first");
        n = c->self.u.list->n;
        break;
    case ASC_JINJA_DICT:
        n = c->self.u.dict->n;
        break;
    default:
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "a %s has no length",
                              asc_jinja_type_name(&c->self));
    }
    *out = asc_jinja_int((int64_t)n);
    return ASC_OK;
}

static asc_status f_default(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    bool also_false = c->arg[1] != NULL && asc_jinja_truth(c->arg[1]);
    bool missing = c->self.type == ASC_JINJA_UNDEFINED || (also_false && !asc_jinja_truth(&c->self));
    if (!missing)
        *out = c->self;
    else if (c->arg[0] != NULL)
        *out = *c->arg[0];
    else
        *out = asc_jinja_from_str((asc_jinja_str){0});
    (void)j;
    return ASC_OK;
}

static asc_status f_string(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str s;
    ASC_JINJA_DO(asc_jinja_to_str(j, &c->self, &s));
    *out = asc_jinja_from_str(s);
    out->safe = c->self.type == ASC_JINJA_STRING && c->self.safe;
    return ASC_OK;
}

static asc_status f_safe(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    ASC_JINJA_DO(f_string(j, c, out));
    out->safe = true;
    return ASC_OK;
}

static asc_status f_first(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *l;
    ASC_JINJA_DO(asc_jinja_iterate(j, &c->self, c->off, &l));
    *out =
        l->n > 0 ? l->v[0] : asc_jinja_undefined(asc_view_of("first element"), asc_jinja_type_name(&c->self));
    return ASC_OK;
}

static asc_status f_last(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *l;
    ASC_JINJA_DO(asc_jinja_iterate(j, &c->self, c->off, &l));
    *out = l->n > 0 ? l->v[l->n - 1]
                    : asc_jinja_undefined(asc_view_of("last element"), asc_jinja_type_name(&c->self));
    return ASC_OK;
}

static asc_status f_list(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *l;
    asc_jinja_list *copy;
    ASC_JINJA_DO(asc_jinja_iterate(j, &c->self, c->off, &l));
    ASC_JINJA_DO(asc_jinja_list_new(j, l->n, &copy));
    for (size_t i = 0; i < l->n; i++) copy->v[i] = l->v[i];
    return asc_jinja_list_done(j, copy, out);
}

static asc_status f_join(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *l;
    asc_jinja_list *parts;
    asc_jinja_str sep = {0};
    ASC_JINJA_DO(asc_jinja_iterate(j, &c->self, c->off, &l));
    if (c->arg[1] != NULL && c->arg[1]->type != ASC_JINJA_NONE) {
        ASC_JINJA_DO(asc_jinja_list_new(j, l->n, &parts));
        for (size_t i = 0; i < l->n; i++)
            ASC_JINJA_DO(asc_jinja_path(j, c, &l->v[i], c->arg[1], &parts->v[i]));
        l = parts;
    }
    if (c->arg[0] != NULL) ASC_JINJA_DO(asc_jinja_to_str(j, c->arg[0], &sep));
    return asc_jinja_join(j, sep, l, out);
}

static asc_status f_abs(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_value *v = &c->self;
    asc_jinja_value zero = asc_jinja_int(0);
    if (v->type == ASC_JINJA_FLOAT) {
        *out = asc_jinja_float(fabs(v->u.f));
        return ASC_OK;
    }
    if (v->type != ASC_JINJA_INT && v->type != ASC_JINJA_BOOL)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "a %s has no absolute value",
                              asc_jinja_type_name(v));
    bool negative = v->type == ASC_JINJA_INT && v->u.i < 0;
    return asc_jinja_arith(j, negative ? JO_SUB : JO_ADD, &zero, v, c->off, out);
}

/* Whole text as a number: white space around, an optional sign; false when it is none. */
static bool read_number(asc_view v, bool *whole, int64_t *i, double *f) {
    char text[64];
    v = asc_jinja_rstrip(v);
    while (v.len > 0 && asc_jinja_space(v.ptr, v.len) == 1) v = asc_view_make(v.ptr + 1, v.len - 1);
    if (v.len == 0 || v.len >= sizeof text || memchr(v.ptr, '\0', v.len) != NULL) return false;
    memcpy(text, v.ptr, v.len);
    text[v.len] = '\0';
    size_t digits = strspn(text + (text[0] == '-' || text[0] == '+'), "0123456789");
    *whole = digits > 0 && text[digits + (text[0] == '-' || text[0] == '+')] == '\0';
    if (*whole && digits > 18) return false;
    if (*whole) *i = strtoll(text, NULL, 10);
    char *end;
    if (strspn(text, "0123456789+-.eE") != v.len) return false;
    *f = asc_strtod(text, &end);
    return *end == '\0';
}

static asc_status number(asc_jinja *j, asc_jinja_call *c, bool want_int, asc_jinja_value *out) {
    const asc_jinja_value *v = &c->self;
    bool ok = true, whole = true;
    int64_t i = 0;
    double f = 0;
    asc_view text;
    if (v->type == ASC_JINJA_INT)
        f = (double)(i = v->u.i);
    else if (v->type == ASC_JINJA_BOOL)
        f = (double)(i = v->u.b ? 1 : 0);
    else if (v->type == ASC_JINJA_FLOAT) {
        f = v->u.f;
        whole = false;
    } else if (v->type == ASC_JINJA_STRING) {
        ASC_JINJA_DO(asc_jinja_str_flat(j, v->u.s, &text));
        ok = read_number(text, &whole, &i, &f);
    } else {
        if (v->type == ASC_JINJA_UNDEFINED) return asc_jinja_fail_undefined(j, v, c->off);
        ok = false;
    }
    if (want_int && ok && !whole) {
        ok = f > -9.2e18 && f < 9.2e18;
        if (ok) i = (int64_t)f;
    }
    if (ok)
        *out = want_int ? asc_jinja_int(i) : asc_jinja_float(f);
    else if (c->arg[0] != NULL)
        *out = *c->arg[0];
    else
        *out = want_int ? asc_jinja_int(0) : asc_jinja_float(0);
    return ASC_OK;
}

static asc_status f_int(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    if (c->arg[1] != NULL) return asc_jinja_refuse(j, c->off, "argument of int", asc_view_of("base"));
    return number(j, c, true, out);
}
static asc_status f_float(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    return number(j, c, false, out);
}

static const asc_jinja_builtin filters[] = {
    {.name = "trim", .params = "chars", .fn = f_trim},
    {.name = "upper", .params = "", .fn = f_upper},
    {.name = "lower", .params = "", .fn = f_lower},
    {.name = "capitalize", .params = "", .fn = f_capitalize},
    {.name = "replace", .params = "old,new,count", .required = 2, .fn = f_replace},
    {.name = "length", .params = "", .fn = f_length},
    {.name = "count", .params = "", .fn = f_length},
    {.name = "default", .params = "default_value,boolean", .fn = f_default},
    {.name = "d", .params = "default_value,boolean", .fn = f_default},
    {.name = "string", .params = "", .fn = f_string},
    {.name = "safe", .params = "", .fn = f_safe},
    {.name = "first", .params = "", .fn = f_first},
    {.name = "last", .params = "", .fn = f_last},
    {.name = "list", .params = "", .fn = f_list},
    {.name = "join", .params = "d,attribute", .fn = f_join},
    {.name = "abs", .params = "", .fn = f_abs},
    {.name = "tojson", .params = "ensure_ascii,indent,separators,sort_keys", .fn = asc_jinja_tojson},
    {.name = "int", .params = "default,base", .fn = f_int},
    {.name = "float", .params = "default", .fn = f_float},
    {0},
};

const asc_jinja_builtin *asc_jinja_find(const asc_jinja_builtin *table, asc_view name) {
    for (; table->name != NULL; table++) {
        if (asc_view_eqs(name, table->name)) return table;
    }
    return NULL;
}

const asc_jinja_builtin *asc_jinja_find_filter(asc_view name) {
    const asc_jinja_builtin *row = asc_jinja_find(filters, name);
    if (row == NULL) row = asc_jinja_find(asc_jinja_list_filters, name);
    if (row == NULL) row = asc_jinja_find(asc_jinja_group_filters, name);
    return row != NULL ? row : asc_jinja_find(asc_jinja_text_filters, name);
}
