/* jinja_eval_expr.c - evaluates expressions. Depth is bounded by the parser, work by asc_jinja_charge. */
#include "jinja_ast.h"

static asc_status eval_items(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    asc_jinja_list *l;
    size_t count = 0;
    for (const asc_jinja_node *k = n->kids; k != NULL; k = k->next) count++;
    ASC_JINJA_DO(asc_jinja_list_new(j, count, &l));
    count = 0;
    for (const asc_jinja_node *k = n->kids; k != NULL; k = k->next)
        ASC_JINJA_DO(asc_jinja_eval(j, k, &l->v[count++]));
    l->tuple = n->kind == JN_TUPLE;
    return asc_jinja_list_done(j, l, out);
}

static asc_status eval_dict(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    asc_jinja_dict *d;
    ASC_JINJA_DO(asc_jinja_dict_new(j, 4, &d));
    for (const asc_jinja_node *k = n->kids; k != NULL; k = k->next->next) {
        asc_jinja_value key, value;
        ASC_JINJA_DO(asc_jinja_eval(j, k, &key));
        ASC_JINJA_DO(asc_jinja_eval(j, k->next, &value));
        ASC_JINJA_DO(asc_jinja_dict_set(j, d, &key, &value, k->off));
    }
    *out = asc_jinja_from_dict(d);
    return ASC_OK;
}

static asc_status loop_attr(asc_jinja *j, const struct asc_jinja_loop *l, asc_view name, size_t off,
                            asc_jinja_value *out) {
    size_t n = l->items->n, i = l->index0;
    const asc_view none = asc_view_of("neighbour");
    if (asc_view_eqs(name, "index0"))
        *out = asc_jinja_int((int64_t)i);
    else if (asc_view_eqs(name, "index"))
        *out = asc_jinja_int((int64_t)i + 1);
    else if (asc_view_eqs(name, "revindex0"))
        *out = asc_jinja_int((int64_t)(n - i) - 1);
    else if (asc_view_eqs(name, "revindex"))
        *out = asc_jinja_int((int64_t)(n - i));
    else if (asc_view_eqs(name, "first"))
        *out = asc_jinja_bool(i == 0);
    else if (asc_view_eqs(name, "last"))
        *out = asc_jinja_bool(i + 1 == n);
    else if (asc_view_eqs(name, "length"))
        *out = asc_jinja_int((int64_t)n);
    else if (asc_view_eqs(name, "depth"))
        *out = asc_jinja_int((int64_t)l->depth + 1);
    else if (asc_view_eqs(name, "depth0"))
        *out = asc_jinja_int((int64_t)l->depth);
    else if (asc_view_eqs(name, "previtem"))
        *out = i > 0 ? l->items->v[i - 1] : asc_jinja_undefined(none, "loop");
    else if (asc_view_eqs(name, "nextitem"))
        *out = i + 1 < n ? l->items->v[i + 1] : asc_jinja_undefined(none, "loop");
    else if (asc_view_eqs(name, "cycle") || asc_view_eqs(name, "changed"))
        return asc_jinja_refuse(j, off, "loop attribute", name);
    else
        *out = asc_jinja_undefined(name, "loop");
    return ASC_OK;
}

asc_status asc_jinja_get_attr(asc_jinja *j, const asc_jinja_value *v, asc_view name, size_t off,
                              asc_jinja_value *out) {
    if (v->type == ASC_JINJA_UNDEFINED) return asc_jinja_fail_undefined(j, v, off);
    if (v->type == ASC_JINJA_LOOP) return loop_attr(j, v->u.loop, name, off, out);
    if (v->type == ASC_JINJA_DICT || v->type == ASC_JINJA_NAMESPACE) {
        asc_jinja_value key;
        const asc_jinja_value *hit;
        /* A method's name means the method even when the dict has such a key; x['name'] reaches the key. */
        if (v->type == ASC_JINJA_DICT && asc_jinja_find_method(ASC_JINJA_DICT, name) != NULL)
            return asc_jinja_refuse(j, off, "method without a call", name);
        ASC_JINJA_DO(asc_jinja_string(j, name, -1, ASC_JINJA_FROM_TEMPLATE, &key));
        ASC_JINJA_DO(asc_jinja_dict_get(j, v->u.dict, &key, &hit));
        *out = hit != NULL ? *hit : asc_jinja_undefined(name, asc_jinja_type_name(v));
        return ASC_OK;
    }
    if (v->type == ASC_JINJA_LIST && v->u.list->group &&
        (asc_view_eqs(name, "grouper") || asc_view_eqs(name, "list"))) {
        *out = v->u.list->v[asc_view_eqs(name, "list")];
        return ASC_OK;
    }
    if (asc_jinja_find_method(v->type, name) != NULL)
        return asc_jinja_refuse(j, off, "method without a call", name);
    *out = asc_jinja_undefined(name, asc_jinja_type_name(v));
    return ASC_OK;
}

/* ---- calls ---- */

/* Evaluates the arguments of n into c. */
static asc_status eval_args(asc_jinja *j, const asc_jinja_node *n, asc_jinja_call *c) {
    size_t pos = 0, kw = 0;
    c->off = n->off;
    for (const asc_jinja_node *k = n->kids; k != NULL; k = k->next)
        *(k->kind == JN_KEYWORD ? &kw : &pos) += 1;
    if (pos + kw == 0) return ASC_OK;
    c->pos = asc_jinja_alloc(j, pos + kw, sizeof *c->pos);
    c->kw_name = asc_jinja_alloc(j, kw, sizeof *c->kw_name);
    if (c->pos == NULL || c->kw_name == NULL) return ASC_RESOURCE_EXHAUSTED;
    c->kw = c->pos + pos;
    for (const asc_jinja_node *k = n->kids; k != NULL; k = k->next) {
        if (k->kind == JN_KEYWORD) {
            c->kw_name[c->n_kw] = k->text;
            ASC_JINJA_DO(asc_jinja_eval(j, k->a, &c->kw[c->n_kw++]));
        } else {
            ASC_JINJA_DO(asc_jinja_eval(j, k, &c->pos[c->n_pos++]));
        }
    }
    return ASC_OK;
}

/* The parameter number of `name` in a comma-separated list, or -1. */
static int param_index(const char *params, asc_view name) {
    int i = 0;
    for (const char *p = params; *p != '\0'; i++) {
        size_t len = strcspn(p, ",");
        if (asc_view_eq(name, asc_view_make(p, len))) return i;
        p += len + (p[len] == ',');
    }
    return -1;
}

static int param_count(const char *params) {
    int n = params[0] != '\0';
    for (const char *p = params; *p != '\0'; p++) n += *p == ',';
    return n;
}

asc_status asc_jinja_invoke(asc_jinja *j, const asc_jinja_builtin *row, const char *what, asc_jinja_call *c,
                            asc_jinja_value *out) {
    asc_view name = c->name;
    if (strcmp(row->params, "*") == 0) return row->fn(j, c, out);
    int n = param_count(row->params);
    if (c->n_pos > (size_t)n)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT,
                              "the %s '%s' takes at most %d arguments, %zu given", what, row->name, n,
                              c->n_pos);
    for (size_t i = 0; i < c->n_pos; i++) c->arg[i] = &c->pos[i];
    for (size_t i = 0; i < c->n_kw; i++) {
        int at = param_index(row->params, c->kw_name[i]);
        if (at < 0 || c->arg[at] != NULL)
            return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT,
                                  "the %s '%s' cannot take an argument '" ASC_VIEW_FMT "' here", what,
                                  row->name, ASC_VIEW_ARG(asc_view_cut(c->kw_name[i], 80)));
        c->arg[at] = &c->kw[i];
    }
    for (int i = 0; i < row->required; i++) {
        if (c->arg[i] == NULL)
            return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT,
                                  "the %s '" ASC_VIEW_FMT "' needs %d arguments", what, ASC_VIEW_ARG(name),
                                  row->required);
    }
    return row->fn(j, c, out);
}

static asc_status eval_filter(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    bool test = n->kind == JN_TEST;
    const asc_jinja_builtin *row = test ? asc_jinja_find_test(n->text) : asc_jinja_find_filter(n->text);
    asc_jinja_call c = {.name = n->text};
    if (row == NULL) return asc_jinja_refuse(j, n->off, test ? "test" : "filter", n->text);
    ASC_JINJA_DO(asc_jinja_eval(j, n->a, &c.self));
    ASC_JINJA_DO(eval_args(j, n, &c));
    return asc_jinja_invoke(j, row, test ? "test" : "filter", &c, out);
}

static asc_status eval_method(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    const asc_jinja_node *attr = n->a;
    asc_jinja_call c = {.name = attr->text};
    ASC_JINJA_DO(asc_jinja_eval(j, attr->a, &c.self));
    if (c.self.type == ASC_JINJA_UNDEFINED) return asc_jinja_fail_undefined(j, &c.self, attr->off);
    const asc_jinja_builtin *row = asc_jinja_find_method(c.self.type, attr->text);
    if (row == NULL) {
        char what[40];
        snprintf(what, sizeof what, "method of %s", asc_jinja_type_name(&c.self));
        return asc_jinja_refuse(j, attr->off, what, attr->text);
    }
    ASC_JINJA_DO(eval_args(j, n, &c));
    c.off = attr->off;
    return asc_jinja_invoke(j, row, "method", &c, out);
}

asc_status asc_jinja_eval_call_with(asc_jinja *j, const asc_jinja_node *n, const asc_jinja_value *caller,
                                    asc_jinja_value *out) {
    asc_jinja_value f;
    asc_jinja_call c = {.name = n->a->text};
    if (n->a->kind == JN_ATTR) return eval_method(j, n, out);
    ASC_JINJA_DO(asc_jinja_eval(j, n->a, &f));
    if (f.type == ASC_JINJA_UNDEFINED && n->a->kind == JN_NAME && asc_view_eqs(n->a->text, "strftime_now")) {
        f.type = ASC_JINJA_FUNCTION;
        f.u.function = &asc_jinja_strftime;
    }
    if (f.type == ASC_JINJA_UNDEFINED) return asc_jinja_fail_undefined(j, &f, n->off);
    if (f.type == ASC_JINJA_MACRO) {
        ASC_JINJA_DO(eval_args(j, n, &c));
        return asc_jinja_call_macro(j, f.u.macro, &c, caller, out);
    }
    if (f.type == ASC_JINJA_LOOP) {
        ASC_JINJA_DO(eval_args(j, n, &c));
        if (c.n_pos != 1 || c.n_kw != 0)
            return asc_jinja_fail(j, n->off, ASC_INVALID_ARGUMENT, "loop(...) takes one argument");
        return asc_jinja_call_loop(j, f.u.loop, &c.pos[0], n->off, out);
    }
    if (f.type != ASC_JINJA_FUNCTION)
        return asc_jinja_fail(j, n->off, ASC_INVALID_ARGUMENT, "a %s cannot be called",
                              asc_jinja_type_name(&f));
    ASC_JINJA_DO(eval_args(j, n, &c));
    return asc_jinja_invoke(j, f.u.function, "function", &c, out);
}

/* ---- operators ---- */

static asc_status eval_sign(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    asc_jinja_value v, zero = asc_jinja_int(0);
    ASC_JINJA_DO(asc_jinja_eval(j, n->a, &v));
    if (v.type == ASC_JINJA_UNDEFINED) return asc_jinja_fail_undefined(j, &v, n->off);
    if (v.type != ASC_JINJA_INT && v.type != ASC_JINJA_FLOAT && v.type != ASC_JINJA_BOOL)
        return asc_jinja_fail(j, n->off, ASC_INVALID_ARGUMENT, "a %s has no sign", asc_jinja_type_name(&v));
    if (v.type == ASC_JINJA_FLOAT) {
        *out = asc_jinja_float(n->kind == JN_NEG ? -v.u.f : v.u.f);
        return ASC_OK;
    }
    return asc_jinja_arith(j, n->kind == JN_NEG ? JO_SUB : JO_ADD, &zero, &v, n->off, out);
}

static asc_status eval_compare(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    asc_jinja_value left, right;
    bool yes = true;
    ASC_JINJA_DO(asc_jinja_eval(j, n->a, &left));
    for (const asc_jinja_node *k = n->kids; k != NULL && yes; k = k->next) {
        ASC_JINJA_DO(asc_jinja_eval(j, k->a, &right));
        ASC_JINJA_DO(asc_jinja_compare(j, k->op, &left, &right, k->off, &yes));
        left = right;
    }
    *out = asc_jinja_bool(yes);
    return ASC_OK;
}

/* `and` and `or` give one of their operands, as in Python. */
static asc_status eval_logic(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    for (const asc_jinja_node *k = n->kids; k != NULL; k = k->next) {
        ASC_JINJA_DO(asc_jinja_eval(j, k, out));
        if (asc_jinja_truth(out) == (n->kind == JN_OR)) break;
    }
    return ASC_OK;
}

static asc_status eval_concat(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    asc_jinja_str all = {0};
    for (const asc_jinja_node *k = n->kids; k != NULL; k = k->next) {
        asc_jinja_value v;
        asc_jinja_str s;
        ASC_JINJA_DO(asc_jinja_eval(j, k, &v));
        ASC_JINJA_DO(asc_jinja_to_str(j, &v, &s));
        ASC_JINJA_DO(asc_jinja_str_cat(j, &all, s));
    }
    *out = (asc_jinja_value){.type = ASC_JINJA_STRING};
    out->u.s = all;
    return ASC_OK;
}

static asc_status eval_slice(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    asc_jinja_value v,
        range[3] = {{.type = ASC_JINJA_NONE}, {.type = ASC_JINJA_NONE}, {.type = ASC_JINJA_NONE}};
    const asc_jinja_node *const parts[] = {n->b, n->c, n->target};
    ASC_JINJA_DO(asc_jinja_eval(j, n->a, &v));
    for (int i = 0; i < 3; i++) {
        if (parts[i] != NULL) ASC_JINJA_DO(asc_jinja_eval(j, parts[i], &range[i]));
    }
    return asc_jinja_slice(j, &v, range, n->off, out);
}

static asc_status eval_name(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    if (asc_jinja_lookup(j, n->text, out)) return ASC_OK;
    const asc_jinja_builtin *row = asc_jinja_find_function(n->text);
    *out = asc_jinja_undefined(n->text, NULL);
    if (row == NULL) return ASC_OK;
    out->type = ASC_JINJA_FUNCTION;
    out->u.function = row;
    return ASC_OK;
}

/* Nodes with one or two plain operands. */
static asc_status eval_simple(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    asc_jinja_value v, w;
    ASC_JINJA_DO(asc_jinja_eval(j, n->a, &v));
    if (n->kind == JN_NOT) {
        *out = asc_jinja_bool(!asc_jinja_truth(&v));
    } else if (n->kind == JN_ATTR) {
        return asc_jinja_get_attr(j, &v, n->text, n->off, out);
    } else if (n->kind == JN_INDEX) {
        ASC_JINJA_DO(asc_jinja_eval(j, n->b, &w));
        return asc_jinja_get_item(j, &v, &w, n->off, out);
    } else if (n->kind == JN_COND) {
        const asc_jinja_node *branch = asc_jinja_truth(&v) ? n->b : n->c;
        *out = asc_jinja_undefined(asc_view_of("else branch"), "inline if");
        return branch != NULL ? asc_jinja_eval(j, branch, out) : ASC_OK;
    } else { /* JN_CHAIN */
        for (const asc_jinja_node *k = n->kids; k != NULL; k = k->next) {
            asc_jinja_value left = v;
            ASC_JINJA_DO(asc_jinja_eval(j, k->a, &w));
            ASC_JINJA_DO(asc_jinja_arith(j, k->op, &left, &w, k->off, &v));
        }
        *out = v;
    }
    return ASC_OK;
}

asc_status asc_jinja_eval(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out) {
    ASC_JINJA_DO(asc_jinja_charge(j, 1));
    *out = (asc_jinja_value){.type = ASC_JINJA_NONE};
    switch (n->kind) {
    case JN_NONE:
        return ASC_OK;
    case JN_BOOL:
        *out = asc_jinja_bool(n->num.i != 0);
        return ASC_OK;
    case JN_INT:
        *out = asc_jinja_int(n->num.i);
        return ASC_OK;
    case JN_FLOAT:
        *out = asc_jinja_float(n->num.f);
        return ASC_OK;
    case JN_STRING:
        return asc_jinja_string(j, n->text, -1, ASC_JINJA_FROM_TEMPLATE, out);
    case JN_NAME:
        return eval_name(j, n, out);
    case JN_LIST:
    case JN_TUPLE:
        return eval_items(j, n, out);
    case JN_DICT:
        return eval_dict(j, n, out);
    case JN_SLICE:
        return eval_slice(j, n, out);
    case JN_CALL:
        return asc_jinja_eval_call_with(j, n, NULL, out);
    case JN_BODY:
        *out = *j->body;
        return ASC_OK;
    case JN_FILTER:
    case JN_TEST:
        return eval_filter(j, n, out);
    case JN_NEG:
    case JN_POS:
        return eval_sign(j, n, out);
    case JN_COMPARE:
        return eval_compare(j, n, out);
    case JN_AND:
    case JN_OR:
        return eval_logic(j, n, out);
    case JN_CONCAT:
        return eval_concat(j, n, out);
    case JN_ATTR:
    case JN_INDEX:
    case JN_NOT:
    case JN_CHAIN:
    case JN_COND:
        return eval_simple(j, n, out);
    default:
        return asc_jinja_fail(j, n->off, ASC_INTERNAL, "node %d is no expression", (int)n->kind);
    }
}
