/* jinja_eval.c - runs statements: scopes, loops, assignment, and output with the record of where bytes came
 * from. */
#include "jinja_ast.h"
#include "plain.h"
#include <stdarg.h>

/* ---- errors ---- */

static void position(const asc_jinja *j, size_t off, size_t *line, size_t *col) {
    *line = *col = 1;
    for (size_t i = 0; i < off && i < j->src.len; i++) {
        if (j->src.ptr[i] == '\n') {
            ++*line;
            *col = 1;
        } else if (((unsigned char)j->src.ptr[i] & 0xC0) != 0x80) {
            ++*col;
        }
    }
}

asc_status asc_jinja_fail(asc_jinja *j, size_t off, asc_status code, const char *fmt, ...) {
    char text[768];
    size_t line, col;
    va_list ap;
    va_start(ap, fmt);
    asc_vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    position(j, off, &line, &col);
    return ASC_FAIL(j->ctx, code, "line %zu, column %zu: %s", line, col, text);
}

asc_status asc_jinja_refuse(asc_jinja *j, size_t off, const char *what, asc_view name) {
    name = asc_view_cut(name, 80);
    asc_jinja_fail(j, off, ASC_UNIMPLEMENTED, "the %s '" ASC_VIEW_FMT "' is not supported", what,
                   ASC_VIEW_ARG(name));
    return asc_hint(
        j->ctx,
        "docs/formats/chat.md lists what is; or render the prompt yourself and pass it as plain text");
}

/* ---- scopes ---- */

asc_status asc_jinja_scope_push(asc_jinja *j, asc_jinja_scope *up) {
    asc_jinja_scope *s = asc_jinja_alloc(j, 1, sizeof *s);
    if (s == NULL) return ASC_RESOURCE_EXHAUSTED;
    s->up = up;
    j->scope = s;
    return ASC_OK;
}

bool asc_jinja_lookup(const asc_jinja *j, asc_view name, asc_jinja_value *out) {
    for (const asc_jinja_scope *s = j->scope; s != NULL; s = s->up) {
        for (size_t i = s->n; i-- > 0;) {
            if (asc_view_eq(s->v[i].name, name)) {
                *out = s->v[i].value;
                return true;
            }
        }
    }
    return false;
}

asc_status asc_jinja_assign(asc_jinja *j, asc_view name, const asc_jinja_value *v) {
    asc_jinja_scope *s = j->scope;
    ASC_JINJA_DO(asc_jinja_charge(j, 1 + s->n / 16));
    for (size_t i = 0; i < s->n; i++) {
        if (asc_view_eq(s->v[i].name, name)) {
            s->v[i].value = *v;
            return ASC_OK;
        }
    }
    if (s->n == s->cap) {
        size_t cap = s->cap * 2 + 2;
        asc_jinja_var *grown = asc_jinja_alloc(j, cap, sizeof *grown);
        if (grown == NULL) return ASC_RESOURCE_EXHAUSTED;
        if (s->n > 0) memcpy(grown, s->v, s->n * sizeof *grown);
        s->v = grown;
        s->cap = cap;
    }
    s->v[s->n++] = (asc_jinja_var){name, *v};
    return ASC_OK;
}

static asc_status unpack(asc_jinja *j, const asc_jinja_node *target, const asc_jinja_value *v);

/* Assigns to a name, to namespace.attribute, or element by element to a tuple of them. */
static asc_status assign_target(asc_jinja *j, const asc_jinja_node *t, const asc_jinja_value *v) {
    if (t->kind == JN_NAME) return asc_jinja_assign(j, t->text, v);
    if (t->kind == JN_TUPLE) return unpack(j, t, v);
    asc_jinja_value ns, key;
    ASC_JINJA_DO(asc_jinja_eval(j, t->a, &ns));
    if (ns.type != ASC_JINJA_NAMESPACE)
        return asc_jinja_fail(j, t->off, ASC_INVALID_ARGUMENT,
                              "only a namespace() takes attributes, this is a %s", asc_jinja_type_name(&ns));
    ASC_JINJA_DO(asc_jinja_string(j, t->text, -1, ASC_JINJA_FROM_TEMPLATE, &key));
    ASC_JINJA_DO(asc_jinja_dict_set(j, ns.u.dict, &key, v, t->off));
    ns.u.dict->depth = 0; /* a namespace is a reference, not a nested value */
    return ASC_OK;
}

static asc_status unpack(asc_jinja *j, const asc_jinja_node *target, const asc_jinja_value *v) {
    const asc_jinja_list *l;
    size_t want = 0, i = 0;
    ASC_JINJA_DO(asc_jinja_iterate(j, v, target->off, &l));
    for (const asc_jinja_node *k = target->kids; k != NULL; k = k->next) want++;
    if (l->n != want)
        return asc_jinja_fail(j, target->off, ASC_INVALID_ARGUMENT, "%zu names for %zu values", want, l->n);
    for (const asc_jinja_node *k = target->kids; k != NULL; k = k->next)
        ASC_JINJA_DO(assign_target(j, k, &l->v[i++]));
    return ASC_OK;
}

/* ---- output ---- */

static asc_status emit_piece(asc_jinja *j, const asc_jinja_piece *p) {
    if (p->len == 0) return ASC_OK;
    size_t start = j->out.len;
    if (p->len > j->limits.output_bytes || start > j->limits.output_bytes - p->len) {
        ASC_FAIL(j->ctx, ASC_RESOURCE_EXHAUSTED,
                 "writes more than the limit ASC_JINJA_MAX_OUTPUT = %zu bytes", j->limits.output_bytes);
        return asc_hint(j->ctx, "shorten the messages");
    }
    asc_strbuf_add(&j->out, p->ptr, p->len);
    ASC_JINJA_DO(asc_strbuf_status(&j->out));
    int32_t message = p->kind == ASC_JINJA_FROM_TEMPLATE ? j->message : p->message;
    asc_jinja_span *last = j->n_spans > 0 ? &j->spans[j->n_spans - 1] : NULL;
    if (last != NULL && last->message == message && last->kind == p->kind) {
        last->end = j->out.len;
        return ASC_OK;
    }
    ASC_JINJA_DO(asc_grow(j->ctx, ASC_MEM_GENERAL, (void **)&j->spans, &j->cap_spans, j->n_spans + 1,
                          sizeof *j->spans));
    j->spans[j->n_spans++] = (asc_jinja_span){start, j->out.len, message, p->kind};
    return ASC_OK;
}

static asc_status emit(asc_jinja *j, asc_jinja_str s) {
    if (j->capture != NULL) return asc_jinja_str_cat(j, j->capture, s);
    ASC_JINJA_DO(asc_jinja_charge(j, s.n / 4 + s.len / 256));
    for (size_t i = 0; i < s.n; i++) ASC_JINJA_DO(emit_piece(j, &s.rope->v[i]));
    return ASC_OK;
}

static asc_status emit_text(asc_jinja *j, asc_view text) {
    asc_jinja_piece p = {text.ptr, text.len, -1, ASC_JINJA_FROM_TEMPLATE};
    return j->capture != NULL ? asc_jinja_str_add(j, j->capture, &p) : emit_piece(j, &p);
}

/* ---- statements ---- */

asc_status asc_jinja_iterate(asc_jinja *j, const asc_jinja_value *v, size_t off, const asc_jinja_list **out) {
    asc_jinja_list *l;
    asc_view text;
    switch (v->type) {
    case ASC_JINJA_LIST:
        *out = v->u.list;
        if (!v->u.list->lazy) return ASC_OK;
        ASC_JINJA_DO(asc_jinja_list_new(j, 0, &l)); /* the elements move out: a second loop finds none */
        *l = *v->u.list;
        v->u.list->n = 0;
        break;
    case ASC_JINJA_UNDEFINED:
        ASC_JINJA_DO(asc_jinja_list_new(j, 0, &l));
        break;
    case ASC_JINJA_DICT:
        ASC_JINJA_DO(asc_jinja_list_new(j, v->u.dict->n, &l));
        for (size_t i = 0; i < l->n; i++) l->v[i] = v->u.dict->v[i].key;
        break;
    case ASC_JINJA_STRING: {
        ASC_JINJA_DO(asc_jinja_str_flat(j, v->u.s, &text));
        ASC_JINJA_DO(asc_jinja_list_new(j, asc_jinja_chars(text), &l));
        size_t at = 0, piece = 0, piece_start = 0;
        for (size_t i = 0; i < l->n; i++) {
            uint32_t cp;
            size_t w = asc_utf8_decode(text.ptr + at, text.len - at, &cp, NULL);
            while (at >= piece_start + v->u.s.rope->v[piece].len) piece_start += v->u.s.rope->v[piece++].len;
            const asc_jinja_piece *p = &v->u.s.rope->v[piece];
            ASC_JINJA_DO(asc_jinja_string(j, asc_view_make(text.ptr + at, w), p->message, p->kind, &l->v[i]));
            at += w;
        }
        break;
    }
    default:
        return asc_jinja_fail(j, off, ASC_INVALID_ARGUMENT, "a %s cannot be looped over",
                              asc_jinja_type_name(v));
    }
    *out = l;
    return ASC_OK;
}

/* The elements for which the loop's `if` holds. */
static asc_status filter_items(asc_jinja *j, const asc_jinja_node *n, const asc_jinja_list **io) {
    asc_jinja_scope *outer = j->scope;
    asc_jinja_list *kept;
    size_t count = 0;
    ASC_JINJA_DO(asc_jinja_list_new(j, (*io)->n, &kept));
    for (size_t i = 0; i < (*io)->n; i++) {
        asc_jinja_value yes;
        ASC_JINJA_DO(asc_jinja_scope_push(j, outer));
        ASC_JINJA_DO(assign_target(j, n->target, &(*io)->v[i]));
        ASC_JINJA_DO(asc_jinja_eval(j, n->b, &yes));
        if (asc_jinja_truth(&yes)) kept->v[count++] = (*io)->v[i];
        j->scope = outer;
    }
    kept->n = count;
    *io = kept;
    return ASC_OK;
}

/* The loop n over the elements of v; depth: of loops that called it. */
static asc_status run_loop(asc_jinja *j, const asc_jinja_node *n, const asc_jinja_value *v, size_t depth) {
    asc_jinja_value loop = {.type = ASC_JINJA_LOOP};
    const asc_jinja_list *items;
    asc_jinja_scope *outer = j->scope, *inner = NULL;
    int32_t message = j->message;
    ASC_JINJA_DO(asc_jinja_iterate(j, v, n->off, &items));
    if (n->b != NULL) ASC_JINJA_DO(filter_items(j, n, &items));
    if (items->n == 0) return n->c != NULL ? asc_jinja_exec(j, n->c) : ASC_OK;
    struct asc_jinja_loop *state = asc_jinja_alloc(j, 1, sizeof *state);
    if (state == NULL) return ASC_RESOURCE_EXHAUSTED;
    state->items = items;
    state->depth = depth;
    state->node = n->num.i != 0 ? n : NULL;
    state->scope = outer;
    loop.u.loop = state;
    for (size_t i = 0; i < items->n && j->flow != ASC_JINJA_BREAK; i++) {
        const asc_jinja_value *item = &items->v[i];
        j->flow = ASC_JINJA_GO;
        state->index0 = i;
        if (item->type == ASC_JINJA_DICT && item->u.dict->message >= 0) j->message = item->u.dict->message;
        ASC_JINJA_DO(asc_jinja_charge(j, 1));
        if (inner == NULL || inner->kept) {
            ASC_JINJA_DO(asc_jinja_scope_push(j, outer));
            inner = j->scope;
        }
        inner->n = 0; /* every iteration starts without variables of its own */
        ASC_JINJA_DO(asc_jinja_assign(j, asc_view_of("loop"), &loop));
        ASC_JINJA_DO(assign_target(j, n->target, item));
        ASC_JINJA_DO(asc_jinja_exec(j, n->kids));
        j->message = message;
    }
    j->flow = ASC_JINJA_GO;
    j->scope = outer;
    return ASC_OK;
}

static asc_status exec_for(asc_jinja *j, const asc_jinja_node *n) {
    asc_jinja_value v;
    ASC_JINJA_DO(asc_jinja_eval(j, n->a, &v));
    return run_loop(j, n, &v, 0);
}

asc_status asc_jinja_call_loop(asc_jinja *j, const struct asc_jinja_loop *l, const asc_jinja_value *items,
                               size_t off, asc_jinja_value *out) {
    asc_jinja_scope *scope = j->scope;
    asc_jinja_str *capture = j->capture, text = {0};
    if (l->node == NULL) return asc_jinja_fail(j, off, ASC_INVALID_ARGUMENT, "this loop is not recursive");
    if (j->calls + l->node->depth > ASC_JINJA_MAX_CALLS)
        return asc_jinja_fail(j, off, ASC_RESOURCE_EXHAUSTED,
                              "loops nest deeper than the limit ASC_JINJA_MAX_CALLS = %d",
                              (int)ASC_JINJA_MAX_CALLS);
    j->calls += l->node->depth;
    j->capture = &text;
    j->scope = l->scope;
    l->scope->kept = true;
    asc_status st = run_loop(j, l->node, items, l->depth + 1);
    j->capture = capture; /* also on failure: `text` ends here */
    j->scope = scope;
    j->calls -= l->node->depth;
    *out = asc_jinja_from_str(text);
    return st;
}

static asc_status exec_if(asc_jinja *j, const asc_jinja_node *n) {
    for (const asc_jinja_node *br = n->kids; br != NULL; br = br->next) {
        asc_jinja_value v = asc_jinja_bool(true);
        if (br->a != NULL) ASC_JINJA_DO(asc_jinja_eval(j, br->a, &v));
        if (asc_jinja_truth(&v)) return asc_jinja_exec(j, br->kids);
    }
    return ASC_OK;
}

/* What the statements write, as a string, sent through the filters when there are some. */
static asc_status body_text(asc_jinja *j, const asc_jinja_node *kids, const asc_jinja_node *filters,
                            asc_jinja_value *out) {
    asc_jinja_str *outer = j->capture, text = {0};
    asc_jinja_scope *scope = j->scope;
    const asc_jinja_value *body = j->body;
    j->capture = &text;
    ASC_JINJA_DO(asc_jinja_scope_push(j, scope));
    asc_status st = asc_jinja_exec(j, kids);
    j->capture = outer; /* also on failure: `text` ends here */
    j->scope = scope;
    if (st != ASC_OK) return st;
    asc_jinja_value v = asc_jinja_from_str(text);
    *out = v;
    if (filters == NULL) return ASC_OK;
    j->body = &v;
    st = asc_jinja_eval(j, filters, out);
    j->body = body;
    return st;
}

static asc_status exec_set(asc_jinja *j, const asc_jinja_node *n) {
    asc_jinja_value v = {.type = ASC_JINJA_STRING};
    if (n->a != NULL) {
        ASC_JINJA_DO(asc_jinja_eval(j, n->a, &v));
        return assign_target(j, n->target, &v);
    }
    ASC_JINJA_DO(body_text(j, n->kids, n->b, &v));
    return assign_target(j, n->target, &v);
}

static asc_status exec_filter_block(asc_jinja *j, const asc_jinja_node *n) {
    asc_jinja_value v;
    asc_jinja_str s;
    ASC_JINJA_DO(body_text(j, n->kids, n->a, &v));
    ASC_JINJA_DO(asc_jinja_to_str(j, &v, &s));
    return emit(j, s);
}

/* The values are computed before any of the names is set. */
static asc_status exec_with(asc_jinja *j, const asc_jinja_node *n) {
    asc_jinja_scope *outer = j->scope;
    asc_jinja_value *v;
    size_t count = 0, i = 0;
    for (const asc_jinja_node *k = n->target; k != NULL; k = k->next) count++;
    v = asc_jinja_alloc(j, count, sizeof *v);
    if (v == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (const asc_jinja_node *k = n->target; k != NULL; k = k->next)
        ASC_JINJA_DO(asc_jinja_eval(j, k->a, &v[i++]));
    ASC_JINJA_DO(asc_jinja_scope_push(j, outer));
    i = 0;
    for (const asc_jinja_node *k = n->target; k != NULL; k = k->next)
        ASC_JINJA_DO(asc_jinja_assign(j, k->text, &v[i++]));
    ASC_JINJA_DO(asc_jinja_exec(j, n->kids));
    j->scope = outer;
    return ASC_OK;
}

static asc_status exec_scope(asc_jinja *j, const asc_jinja_node *n) {
    asc_jinja_scope *outer = j->scope;
    ASC_JINJA_DO(asc_jinja_scope_push(j, outer));
    ASC_JINJA_DO(asc_jinja_exec(j, n->kids));
    j->scope = outer;
    return ASC_OK;
}

static asc_status exec_macro(asc_jinja *j, const asc_jinja_node *n) {
    asc_jinja_value v;
    ASC_JINJA_DO(asc_jinja_new_macro(j, n, &v));
    return asc_jinja_assign(j, n->text, &v);
}

/* The macro that is called takes the body as `caller`. */
static asc_status exec_call_block(asc_jinja *j, const asc_jinja_node *n) {
    asc_jinja_value caller, v;
    asc_jinja_str s;
    ASC_JINJA_DO(asc_jinja_new_macro(j, n, &caller));
    ASC_JINJA_DO(asc_jinja_eval_call_with(j, n->a, &caller, &v));
    ASC_JINJA_DO(asc_jinja_to_str(j, &v, &s));
    return emit(j, s);
}

static asc_status exec_output(asc_jinja *j, const asc_jinja_node *n) {
    asc_jinja_value v;
    asc_jinja_str s;
    ASC_JINJA_DO(asc_jinja_eval(j, n->a, &v));
    ASC_JINJA_DO(asc_jinja_to_str(j, &v, &s));
    return emit(j, s);
}

asc_status asc_jinja_exec(asc_jinja *j, const asc_jinja_node *first) {
    for (const asc_jinja_node *n = first; n != NULL && j->flow == ASC_JINJA_GO; n = n->next) {
        ASC_JINJA_DO(asc_jinja_charge(j, 1));
        switch (n->kind) {
        case JN_TEXT:
            ASC_JINJA_DO(emit_text(j, n->text));
            break;
        case JN_OUTPUT:
            ASC_JINJA_DO(exec_output(j, n));
            break;
        case JN_IF:
            ASC_JINJA_DO(exec_if(j, n));
            break;
        case JN_FOR:
            ASC_JINJA_DO(exec_for(j, n));
            break;
        case JN_SET:
            ASC_JINJA_DO(exec_set(j, n));
            break;
        case JN_MACRO:
            ASC_JINJA_DO(exec_macro(j, n));
            break;
        case JN_SCOPE:
            ASC_JINJA_DO(exec_scope(j, n));
            break;
        case JN_WITH:
            ASC_JINJA_DO(exec_with(j, n));
            break;
        case JN_FILTER_BLOCK:
            ASC_JINJA_DO(exec_filter_block(j, n));
            break;
        case JN_CALL_BLOCK:
            ASC_JINJA_DO(exec_call_block(j, n));
            break;
        case JN_BREAK:
            j->flow = ASC_JINJA_BREAK;
            break;
        case JN_CONTINUE:
            j->flow = ASC_JINJA_CONTINUE;
            break;
        default:
            return asc_jinja_fail(j, n->off, ASC_INTERNAL, "node %d is no statement", (int)n->kind);
        }
    }
    return ASC_OK;
}

asc_status asc_jinja_set_global(asc_jinja *j, const char *name, const asc_jinja_value *v) {
    if (j->globals == NULL) {
        ASC_JINJA_DO(asc_jinja_scope_push(j, NULL));
        j->globals = j->scope;
    }
    j->scope = j->globals;
    return asc_jinja_assign(j, asc_view_of(name), v);
}

asc_status asc_jinja_check(asc_jinja *j, asc_view source) {
    asc_jinja_node *first;
    ASC_JINJA_DO(asc_jinja_lex(j, source));
    return asc_jinja_parse(j, &first);
}

asc_status asc_jinja_render(asc_jinja *j, asc_view source) {
    asc_jinja_node *first;
    ASC_JINJA_DO(asc_poll_cancel(j->ctx));
    ASC_JINJA_DO(asc_jinja_lex(j, source));
    ASC_JINJA_DO(asc_jinja_parse(j, &first));
    ASC_JINJA_DO(asc_jinja_scope_push(j, j->globals));
    return asc_jinja_exec(j, first);
}
