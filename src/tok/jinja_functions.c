/* jinja_functions.c - functions and methods a template may call. There is none that reads the clock, so
 * rendering is reproducible: `strftime_now is defined` is false, so that templates which ask take their own
 * fixed date; those that call it without asking get 26 July 2024, the date that Llama's template falls back
 * to. */
#include "jinja_ast.h"
#include "plain.h"
#include <time.h>

static asc_status fn_raise(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_str s;
    asc_view v;
    (void)out;
    ASC_JINJA_DO(asc_jinja_to_str(j, c->arg[0], &s));
    ASC_JINJA_DO(asc_jinja_str_flat(j, s, &v));
    v = asc_view_cut(v, 500);
    asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "the template refuses these messages: " ASC_VIEW_FMT,
                   ASC_VIEW_ARG(v));
    return asc_hint(j->ctx, "change the roles or their order as the message says");
}

static asc_status fn_strftime(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    struct tm date = {.tm_year = 124, .tm_mon = 6, .tm_mday = 26, .tm_wday = 5, .tm_yday = 207};
    char format[256], text[1024];
    asc_jinja_str s = {0};
    asc_view v;
    if (c->arg[0]->type != ASC_JINJA_STRING)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "strftime_now needs a str, not a %s",
                              asc_jinja_type_name(c->arg[0]));
    ASC_JINJA_DO(asc_jinja_str_flat(j, c->arg[0]->u.s, &v));
    if (v.len >= sizeof format || memchr(v.ptr, '\0', v.len) != NULL)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "a date format of %zu bytes", v.len);
    if (v.len > 0) memcpy(format, v.ptr, v.len);
    format[v.len] = '\0';
    size_t n = v.len > 0 ? asc_strftime(text, sizeof text, format, &date) : 0;
    ASC_JINJA_DO(asc_jinja_own(j, &s, asc_view_make(text, n)));
    *out = asc_jinja_from_str(s);
    return ASC_OK;
}

static bool whole(const asc_jinja_value *v, int64_t *out) {
    if (v->type == ASC_JINJA_INT)
        *out = v->u.i;
    else if (v->type == ASC_JINJA_BOOL)
        *out = v->u.b ? 1 : 0;
    else
        return false;
    return true;
}

static asc_status fn_range(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    int64_t v[3] = {0, 0, 1}, len = 0;
    size_t given = 0;
    asc_jinja_list *l;
    for (; given < 3 && c->arg[given] != NULL; given++) {
        if (!whole(c->arg[given], &v[given]))
            return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "range needs whole numbers, not a %s",
                                  asc_jinja_type_name(c->arg[given]));
    }
    int64_t start = given > 1 ? v[0] : 0, stop = given > 1 ? v[1] : v[0], step = v[2], gap;
    if (step == 0) return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "the step of range is 0");
    bool up = step > 0;
    if (__builtin_sub_overflow(up ? stop : start, up ? start : stop, &gap) || step == INT64_MIN)
        return asc_jinja_fail(j, c->off, ASC_OUT_OF_RANGE, "range over 64 bits");
    if (gap > 0) len = (gap - 1) / (up ? step : -step) + 1;
    ASC_JINJA_DO(asc_jinja_list_new(j, (size_t)len, &l));
    for (int64_t i = 0; i < len; i++) l->v[i] = asc_jinja_int(start + i * step);
    return asc_jinja_list_done(j, l, out);
}

/* A dict from keyword arguments, after the entries of a dict given first. */
static asc_status new_dict(asc_jinja *j, asc_jinja_call *c, asc_jinja_dict **d) {
    ASC_JINJA_DO(asc_jinja_dict_new(j, c->n_kw, d));
    if (c->n_pos > 1 || (c->n_pos == 1 && c->pos[0].type != ASC_JINJA_DICT))
        return asc_jinja_refuse(j, c->off, "positional argument of", c->name);
    for (size_t i = 0; c->n_pos == 1 && i < c->pos[0].u.dict->n; i++) {
        const asc_jinja_pair *p = &c->pos[0].u.dict->v[i];
        ASC_JINJA_DO(asc_jinja_dict_set(j, *d, &p->key, &p->value, c->off));
    }
    for (size_t i = 0; i < c->n_kw; i++) {
        asc_jinja_value key;
        ASC_JINJA_DO(asc_jinja_string(j, c->kw_name[i], -1, ASC_JINJA_FROM_TEMPLATE, &key));
        ASC_JINJA_DO(asc_jinja_dict_set(j, *d, &key, &c->kw[i], c->off));
    }
    return ASC_OK;
}

static asc_status fn_dict(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_dict *d;
    ASC_JINJA_DO(new_dict(j, c, &d));
    *out = asc_jinja_from_dict(d);
    return ASC_OK;
}

/* The one thing a template can change: {% set ns.x = ... %} reaches out of loops. */
static asc_status fn_namespace(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    ASC_JINJA_DO(fn_dict(j, c, out));
    out->type = ASC_JINJA_NAMESPACE;
    return ASC_OK;
}

static const asc_jinja_builtin functions[] = {
    {.name = "namespace", .params = "*", .fn = fn_namespace},
    {.name = "dict", .params = "*", .fn = fn_dict},
    {.name = "raise_exception", .params = "message", .required = 1, .fn = fn_raise},
    {.name = "range", .params = "start,stop,step", .required = 1, .fn = fn_range},
    {0},
};

const asc_jinja_builtin asc_jinja_strftime = {
    .name = "strftime_now", .params = "format", .required = 1, .fn = fn_strftime};

const asc_jinja_builtin *asc_jinja_find_function(asc_view name) { return asc_jinja_find(functions, name); }

const asc_jinja_builtin *asc_jinja_find_method(asc_jinja_type self, asc_view name) {
    for (const asc_jinja_builtin *m = asc_jinja_methods; m->name != NULL; m++) {
        if (m->self == self && asc_view_eqs(name, m->name)) return m;
    }
    for (const asc_jinja_builtin *m = asc_jinja_more_methods; m->name != NULL; m++) {
        if (m->self == self && asc_view_eqs(name, m->name)) return m;
    }
    return NULL;
}
