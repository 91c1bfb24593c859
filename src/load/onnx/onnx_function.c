/* onnx_function.c - functions that a model brings along: kept as bytes, read anew for every call, so that
 * each call has records (folded constants, attributes) of its own. */
#include "onnx_model.h"

asc_status asc_onnx_parse_functions(asc_onnx_model *m, asc_wire w) {
    size_t count = asc_wire_count(&w, 25);
    m->functions = asc_arena_alloc(&m->arena, (count + 1) * sizeof *m->functions);
    if (m->functions == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_wire_field f, e;
    while (m->n_functions < count && asc_wire_next(&w, &f)) {
        if (f.number != 25 || !asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) continue;
        asc_onnx_function *fn = &m->functions[m->n_functions];
        fn->body = asc_wire_sub(&w, &f, "FunctionProto");
        asc_wire s = fn->body;
        asc_status st = ASC_OK;
        while (st == ASC_OK && asc_wire_next(&s, &e)) {
            if (e.number == 1) st = asc_onnx_parse_name(&s, &e, &fn->name);
            if (e.number == 10) st = asc_onnx_parse_name(&s, &e, &fn->domain);
            if (e.number == 13) st = asc_onnx_parse_name(&s, &e, &fn->overload);
        }
        if (st == ASC_OK) st = s.st;
        if (st == ASC_OK) st = asc_onnx_parse_opsets(m, fn->body, 9, &fn->opsets, &fn->n_opsets);
        if (st != ASC_OK) return st;
        m->n_functions++;
    }
    return w.st;
}

const asc_onnx_function *asc_onnx_function_find(const asc_onnx_model *m, const asc_onnx_node *n) {
    for (size_t i = 0; i < m->n_functions; i++) {
        const asc_onnx_function *f = &m->functions[i];
        if (asc_view_eq(f->name, n->op_type) && asc_view_eq(f->domain, n->domain)) return f;
    }
    return NULL;
}

/* Default values of the function's attributes. */
static asc_status read_defaults(asc_onnx_model *m, asc_wire w, asc_onnx_attr **out, size_t *n) {
    size_t count = asc_wire_count(&w, 11);
    if (count > ASC_ONNX_MAX_ATTRS) return asc_wire_bad(&w, "%zu attributes", count);
    *out = asc_arena_alloc(&m->arena, (count + 1) * sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_wire_field f;
    while (*n < count && asc_wire_next(&w, &f)) {
        if (f.number != 11 || !asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) continue;
        asc_status st = asc_onnx_parse_attr(m, asc_wire_sub(&w, &f, "AttributeProto"), &(*out)[*n]);
        if (st != ASC_OK) return st;
        (*n)++;
    }
    return w.st;
}

typedef struct fill {
    asc_onnx_model *m;
    const asc_onnx_node *call;
    const asc_onnx_attr *defaults;
    size_t n_defaults;
} fill;

static const asc_onnx_attr *given(const fill *x, asc_view name) {
    for (size_t i = 0; i < x->call->n_attrs; i++) {
        if (asc_view_eq(x->call->attrs[i].name, name)) return &x->call->attrs[i];
    }
    for (size_t i = 0; i < x->n_defaults; i++) {
        if (asc_view_eq(x->defaults[i].name, name)) return &x->defaults[i];
    }
    return NULL;
}

/* Replaces attributes that stand for one of the call; drops those that the call leaves out. */
static asc_status fill_graph(const fill *x, asc_onnx_graph *g) {
    for (size_t i = 0; i < g->n_nodes; i++) {
        asc_onnx_node *n = &g->nodes[i];
        size_t kept = 0;
        for (size_t a = 0; a < n->n_attrs; a++) {
            asc_onnx_attr v = n->attrs[a];
            if (v.ref.len > 0) {
                const asc_onnx_attr *src = given(x, v.ref);
                asc_view name = v.name;
                if (src == NULL) continue;
                v = *src;
                v.name = name;
                if (v.g != NULL) {
                    ASC_FAIL(x->m->ctx, ASC_UNIMPLEMENTED, "'%s': a function that takes a graph", x->m->file);
                    return asc_hint(x->m->ctx, "inline the functions before exporting");
                }
            } else if (v.g != NULL) {
                asc_status st = fill_graph(x, v.g);
                if (st != ASC_OK) return st;
            }
            n->attrs[kept++] = v;
        }
        n->n_attrs = kept;
    }
    return ASC_OK;
}

static asc_status ports_of(asc_onnx_model *m, asc_wire w, uint32_t field, asc_onnx_port **out, size_t *n) {
    asc_view *names;
    asc_status st = asc_onnx_parse_names(m, w, field, &names, n);
    if (st != ASC_OK) return st;
    *out = asc_arena_alloc(&m->arena, (*n + 1) * sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < *n; i++) (*out)[i].name = names[i];
    return ASC_OK;
}

asc_status asc_onnx_function_body(asc_onnx_model *m, const asc_onnx_function *f, const asc_onnx_node *call,
                                  asc_onnx_graph **out) {
    asc_status st = ASC_OK;
    fill x = {.m = m, .call = call};
    asc_onnx_attr *defaults = NULL;
    if (++m->depth > ASC_ONNX_MAX_DEPTH) {
        ASC_FAIL(m->ctx, ASC_RESOURCE_EXHAUSTED, "'%s': functions nested deeper than %d", m->file,
                 ASC_ONNX_MAX_DEPTH);
        return asc_hint(m->ctx, "a function that calls itself is not ONNX");
    }
    asc_onnx_graph *g = asc_arena_alloc(&m->arena, sizeof *g);
    if (g == NULL) return ASC_RESOURCE_EXHAUSTED;
    g->name = f->name;
    ASC_TRY(ports_of(m, f->body, 4, &g->inputs, &g->n_inputs));
    ASC_TRY(ports_of(m, f->body, 5, &g->outputs, &g->n_outputs));
    ASC_TRY(asc_onnx_parse_nodes(m, f->body, 7, g));
    ASC_TRY(read_defaults(m, f->body, &defaults, &x.n_defaults));
    x.defaults = defaults;
    ASC_TRY(fill_graph(&x, g));
    ASC_TRY(asc_onnx_build(m, g, f->n_opsets > 0 ? f->opsets : m->opsets,
                           f->n_opsets > 0 ? f->n_opsets : m->n_opsets));
    *out = g;
done:
    m->depth--;
    return st;
}
