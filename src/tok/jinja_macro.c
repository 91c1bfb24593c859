/* jinja_macro.c - macros: arguments to parameters, and the call. */
#include "jinja_ast.h"

asc_status asc_jinja_new_macro(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    struct asc_jinja_macro *m = asc_jinja_alloc(j, 1, sizeof *m);
    *out = (asc_jinja_value){.type = ASC_JINJA_MACRO};
    if (m == NULL) return ASC_RESOURCE_EXHAUSTED;
    *m = (struct asc_jinja_macro){n, j->scope};
    for (asc_jinja_scope *s = j->scope; s != NULL; s = s->up) s->kept = true;
    out->u.macro = m;
    return ASC_OK;
}

/* Arguments behind the parameters, as the tuple varargs. */
static asc_status bind_varargs(asc_jinja *j, const asc_jinja_call *c, size_t from) {
    asc_jinja_list *l;
    asc_jinja_value v;
    size_t n = c->n_pos > from ? c->n_pos - from : 0;
    ASC_JINJA_DO(asc_jinja_list_new(j, n, &l));
    for (size_t i = 0; i < n; i++) l->v[i] = c->pos[from + i];
    l->tuple = true;
    ASC_JINJA_DO(asc_jinja_list_done(j, l, &v));
    return asc_jinja_assign(j, asc_view_of("varargs"), &v);
}

static bool is_param(const struct asc_jinja_macro *m, asc_view name) {
    for (const asc_jinja_node *p = m->node->target; p != NULL; p = p->next) {
        if (asc_view_eq(p->text, name)) return true;
    }
    return false;
}

/* Keyword arguments that are no parameters, as the dict kwargs. */
static asc_status bind_kwargs(asc_jinja *j, const struct asc_jinja_macro *m, const asc_jinja_call *c) {
    asc_jinja_dict *d;
    asc_jinja_value v, key;
    ASC_JINJA_DO(asc_jinja_dict_new(j, c->n_kw, &d));
    for (size_t k = 0; k < c->n_kw; k++) {
        if (is_param(m, c->kw_name[k])) continue;
        ASC_JINJA_DO(asc_jinja_string(j, c->kw_name[k], -1, ASC_JINJA_FROM_TEMPLATE, &key));
        ASC_JINJA_DO(asc_jinja_dict_set(j, d, &key, &c->kw[k], c->off));
    }
    v = asc_jinja_from_dict(d);
    return asc_jinja_assign(j, asc_view_of("kwargs"), &v);
}

/* Names of parameters to values: given by position or by name, or the default; then what a macro may use
 * without naming it: caller, varargs, kwargs. */
static asc_status bind_params(asc_jinja *j, const struct asc_jinja_macro *m, const asc_jinja_call *c,
                              const asc_jinja_value *caller) {
    size_t i = 0, by_name = 0;
    for (const asc_jinja_node *p = m->node->target; p != NULL; p = p->next, i++) {
        asc_jinja_value v = asc_jinja_undefined(p->text, NULL);
        const asc_jinja_value *kw = NULL;
        for (size_t k = 0; k < c->n_kw; k++) {
            if (asc_view_eq(c->kw_name[k], p->text)) kw = &c->kw[k];
        }
        if (kw != NULL && i < c->n_pos)
            return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT,
                                  "argument '" ASC_VIEW_FMT "' is given twice",
                                  ASC_VIEW_ARG(asc_view_cut(p->text, 80)));
        if (i < c->n_pos)
            v = c->pos[i];
        else if (kw != NULL)
            v = *kw;
        else if (p->a != NULL)
            ASC_JINJA_DO(asc_jinja_eval(j, p->a, &v));
        by_name += kw != NULL;
        ASC_JINJA_DO(asc_jinja_assign(j, p->text, &v));
    }
    bool more = c->n_pos > i, others = by_name != c->n_kw;
    if (caller != NULL && (m->node->num.i & ASC_JINJA_USES_CALLER) == 0)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT,
                              "the macro '" ASC_VIEW_FMT "' does not use caller",
                              ASC_VIEW_ARG(asc_view_cut(m->node->text, 80)));
    if (caller != NULL) ASC_JINJA_DO(asc_jinja_assign(j, asc_view_of("caller"), caller));
    if ((m->node->num.i & ASC_JINJA_USES_VARARGS) != 0) {
        ASC_JINJA_DO(bind_varargs(j, c, i));
        more = false;
    }
    if ((m->node->num.i & ASC_JINJA_USES_KWARGS) != 0) {
        ASC_JINJA_DO(bind_kwargs(j, m, c));
        others = false;
    }
    if (more || others)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT,
                              "the macro '" ASC_VIEW_FMT "' takes %zu arguments, not these",
                              ASC_VIEW_ARG(asc_view_cut(m->node->text, 80)), i);
    return ASC_OK;
}

asc_status asc_jinja_call_macro(asc_jinja *j, const struct asc_jinja_macro *m, const asc_jinja_call *c,
                                const asc_jinja_value *caller, asc_jinja_value *out) {
    asc_jinja_scope *scope = j->scope;
    asc_jinja_str *capture = j->capture, text = {0};
    if (j->calls + m->node->depth > ASC_JINJA_MAX_CALLS)
        return asc_jinja_fail(j, c->off, ASC_RESOURCE_EXHAUSTED,
                              "macros nest deeper than the limit ASC_JINJA_MAX_CALLS = %d",
                              (int)ASC_JINJA_MAX_CALLS);
    j->calls += m->node->depth;
    j->capture = &text;
    asc_status st = asc_jinja_scope_push(j, m->scope);
    if (st == ASC_OK) st = bind_params(j, m, c, caller);
    if (st == ASC_OK) st = asc_jinja_exec(j, m->node->kids);
    j->capture = capture; /* also on failure: `text` ends here */
    j->scope = scope;
    j->calls -= m->node->depth;
    *out = asc_jinja_from_str(text);
    return st;
}
