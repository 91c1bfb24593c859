/* onnx_graph.c - GraphProto and NodeProto as records; names are resolved by onnx_build.c. */
#include "onnx_model.h"
#include <stdio.h>

const char *asc_onnx_node_text(const asc_onnx_node *n, char out[160]) {
    asc_view op = asc_view_cut(n->op_type, 40), name = asc_view_cut(n->name, 90);
    if (n->name.len > 0) {
        snprintf(out, 160, "node '" ASC_VIEW_FMT "' (" ASC_VIEW_FMT ")", ASC_VIEW_ARG(name),
                 ASC_VIEW_ARG(op));
    } else {
        snprintf(out, 160, "node %zu (" ASC_VIEW_FMT ")", n->index, ASC_VIEW_ARG(op));
    }
    return out;
}

const asc_onnx_attr *asc_onnx_node_attr(const asc_onnx_node *n, const char *name) {
    for (size_t i = 0; i < n->n_attrs; i++) {
        if (asc_view_eqs(n->attrs[i].name, name)) return &n->attrs[i];
    }
    return NULL;
}

asc_status asc_onnx_parse_names(asc_onnx_model *m, asc_wire w, uint32_t number, asc_view **out, size_t *n) {
    size_t count = asc_wire_count(&w, number);
    *out = asc_arena_alloc(&m->arena, (count + 1) * sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_wire_field f;
    *n = 0;
    while (*n < count && asc_wire_next(&w, &f)) {
        if (f.number != number) continue;
        asc_status st = asc_onnx_parse_name(&w, &f, &(*out)[*n]);
        if (st != ASC_OK) return st;
        (*n)++;
    }
    return w.st;
}

static asc_status read_node(asc_onnx_model *m, asc_wire w, asc_onnx_node *n) {
    asc_status st = ASC_OK;
    asc_wire all = w;
    asc_wire_field f;
    if (++m->n_nodes > ASC_ONNX_MAX_NODES) {
        ASC_FAIL(m->ctx, ASC_RESOURCE_EXHAUSTED, "'%s': more than %d nodes", m->file, ASC_ONNX_MAX_NODES);
        return asc_hint(m->ctx, "functions count at each call; split the model");
    }
    ASC_TRY(asc_onnx_parse_names(m, w, 1, &n->in_name, &n->n_in));
    ASC_TRY(asc_onnx_parse_names(m, w, 2, &n->out_name, &n->n_out));
    n->in = asc_arena_alloc(&m->arena, (n->n_in + 1) * sizeof *n->in);
    n->out = asc_arena_alloc(&m->arena, (n->n_out + 1) * sizeof *n->out);
    size_t count = asc_wire_count(&w, 5);
    if (count > ASC_ONNX_MAX_ATTRS) return asc_wire_bad(&w, "%zu attributes", count);
    n->attrs = asc_arena_alloc(&m->arena, (count + 1) * sizeof *n->attrs);
    if (n->in == NULL || n->out == NULL || n->attrs == NULL) return ASC_RESOURCE_EXHAUSTED;
    while (asc_wire_next(&all, &f)) {
        if (f.number == 3) ASC_TRY(asc_onnx_parse_name(&all, &f, &n->name));
        if (f.number == 4) ASC_TRY(asc_onnx_parse_name(&all, &f, &n->op_type));
        if (f.number == 7) ASC_TRY(asc_onnx_parse_name(&all, &f, &n->domain));
    }
    ASC_TRY(all.st);
    if (asc_view_eqs(n->domain, "ai.onnx")) n->domain = (asc_view){0};
    all = w;
    while (asc_wire_next(&all, &f)) {
        if (f.number != 5 || !asc_wire_expect(&all, &f, ASC_WIRE_BYTES)) continue;
        ASC_TRY(asc_onnx_parse_attr(m, asc_wire_sub(&all, &f, "AttributeProto"), &n->attrs[n->n_attrs]));
        n->n_attrs++;
    }
    st = all.st;
done:
    return st;
}

asc_status asc_onnx_parse_nodes(asc_onnx_model *m, asc_wire w, uint32_t field, asc_onnx_graph *g) {
    size_t count = asc_wire_count(&w, field);
    if (count > ASC_ONNX_MAX_NODES) return asc_wire_bad(&w, "%zu nodes", count);
    g->nodes = asc_arena_alloc(&m->arena, (count + 1) * sizeof *g->nodes);
    if (g->nodes == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_wire_field f;
    while (g->n_nodes < count && asc_wire_next(&w, &f)) {
        if (f.number != field || !asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) continue;
        asc_onnx_node *n = &g->nodes[g->n_nodes];
        n->index = g->n_nodes;
        asc_status st = read_node(m, asc_wire_sub(&w, &f, "NodeProto"), n);
        if (st != ASC_OK) return st;
        g->n_nodes++;
    }
    return w.st;
}

static asc_status read_inits(asc_onnx_model *m, asc_wire w, asc_onnx_graph *g) {
    size_t count = asc_wire_count(&w, 5);
    if (count > ASC_ONNX_MAX_VALUES) return asc_wire_bad(&w, "%zu initialisers", count);
    g->inits = asc_arena_alloc(&m->arena, (count + 1) * sizeof *g->inits);
    if (g->inits == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_wire_field f;
    while (g->n_inits < count && asc_wire_next(&w, &f)) {
        if (f.number != 5 || !asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) continue;
        asc_status st = asc_onnx_parse_tensor(m, asc_wire_sub(&w, &f, "TensorProto"), &g->inits[g->n_inits]);
        if (st != ASC_OK) return st;
        g->n_inits++;
    }
    return w.st;
}

static asc_status read_ports(asc_onnx_model *m, asc_wire w, uint32_t field, asc_onnx_port **out, size_t *n) {
    size_t count = asc_wire_count(&w, field);
    if (count > ASC_ONNX_MAX_VALUES) return asc_wire_bad(&w, "%zu inputs or outputs", count);
    *out = asc_arena_alloc(&m->arena, (count + 1) * sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_wire_field f;
    while (*n < count && asc_wire_next(&w, &f)) {
        if (f.number != field || !asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) continue;
        asc_status st = asc_onnx_parse_port(m, asc_wire_sub(&w, &f, "ValueInfoProto"), &(*out)[*n]);
        if (st != ASC_OK) return st;
        (*n)++;
    }
    return w.st;
}

asc_status asc_onnx_parse_graph(asc_onnx_model *m, asc_wire w, asc_onnx_graph **out) {
    asc_status st = ASC_OK;
    asc_wire all = w;
    asc_wire_field f;
    *out = NULL;
    if (++m->depth > ASC_ONNX_MAX_DEPTH) {
        ASC_FAIL(m->ctx, ASC_RESOURCE_EXHAUSTED, "'%s': graphs nested deeper than %d", m->file,
                 ASC_ONNX_MAX_DEPTH);
        return asc_hint(m->ctx, "the file is damaged, or not a model that this program can run");
    }
    asc_onnx_graph *g = asc_arena_alloc(&m->arena, sizeof *g);
    if (g == NULL) return ASC_RESOURCE_EXHAUSTED;
    while (asc_wire_next(&w, &f)) {
        if (f.number == 2) ASC_TRY(asc_onnx_parse_name(&w, &f, &g->name));
        if (f.number == 15) {
            st = ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED, "'%s': a sparse initialiser", m->file);
            asc_hint(m->ctx, "store the tensor densely and export the model again");
            goto done;
        }
    }
    ASC_TRY(w.st);
    ASC_TRY(read_inits(m, all, g));
    ASC_TRY(read_ports(m, all, 11, &g->inputs, &g->n_inputs));
    ASC_TRY(read_ports(m, all, 12, &g->outputs, &g->n_outputs));
    ASC_TRY(asc_onnx_parse_nodes(m, all, 1, g));
    *out = g;
done:
    m->depth--;
    return st;
}

asc_status asc_onnx_parse_opsets(asc_onnx_model *m, asc_wire w, uint32_t field, asc_onnx_opset **out,
                                 size_t *n) {
    size_t count = asc_wire_count(&w, field);
    if (count > 1024) return asc_wire_bad(&w, "%zu operator sets", count);
    *out = asc_arena_alloc(&m->arena, (count + 1) * sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_wire_field f, e;
    while (*n < count && asc_wire_next(&w, &f)) {
        if (f.number != field || !asc_wire_expect(&w, &f, ASC_WIRE_BYTES)) continue;
        asc_wire s = asc_wire_sub(&w, &f, "OperatorSetIdProto");
        asc_onnx_opset *o = &(*out)[(*n)++];
        while (asc_wire_next(&s, &e)) {
            if (e.number == 1 && asc_onnx_parse_name(&s, &e, &o->domain) != ASC_OK) return s.st;
            if (e.number == 2 && asc_wire_expect(&s, &e, ASC_WIRE_VARINT)) {
                if (e.value > 1000000) return asc_wire_bad(&s, "a version of %lld", (long long)e.value);
                o->version = (int)e.value;
            }
        }
        if (s.st != ASC_OK) return s.st;
        if (asc_view_eqs(o->domain, "ai.onnx")) o->domain = (asc_view){0};
    }
    return w.st;
}
