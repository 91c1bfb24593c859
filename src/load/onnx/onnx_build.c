/* onnx_build.c - a graph put together: every name found, operators and functions looked up, nodes sorted,
 * constants marked. */
#include "onnx_call.h"

static asc_status fail(asc_onnx_model *m, asc_status code, const char *what, asc_view name) {
    ASC_FAIL(m->ctx, code, "'%s': %s '" ASC_VIEW_FMT "'", m->file, what,
             ASC_VIEW_ARG(asc_view_cut(name, 200)));
    return asc_hint(m->ctx,
                    "the file is not a valid ONNX graph; check it with onnx.checker, export it again");
}

static asc_status add_value(asc_onnx_model *m, asc_onnx_graph *g, asc_onnx_def def) {
    g->values[g->n_values] = def;
    if (!asc_name_index_add(&g->index, (uint32_t)g->n_values))
        return fail(m, ASC_INVALID_ARGUMENT, "defined twice: value", def.name);
    g->n_values++;
    return ASC_OK;
}

/* Initialisers, then inputs that are none, then what nodes make. */
static asc_status collect(asc_onnx_model *m, asc_onnx_graph *g) {
    asc_status st = ASC_OK;
    size_t n = g->n_inits + g->n_inputs;
    for (size_t i = 0; i < g->n_nodes; i++) n += g->nodes[i].n_out;
    if (n > ASC_ONNX_MAX_VALUES) return fail(m, ASC_RESOURCE_EXHAUSTED, "too many values: graph", g->name);
    g->values = asc_arena_alloc(&m->arena, (n + 1) * sizeof *g->values);
    if (g->values == NULL) return ASC_RESOURCE_EXHAUSTED;
    ASC_TRY(asc_name_index_init(&m->arena, &g->index, g->values, sizeof *g->values, n + 1));
    for (size_t i = 0; i < g->n_inits; i++) {
        asc_onnx_def d = {.name = g->inits[i].name, .init = &g->inits[i], .constant = true};
        d.node = d.port = -1;
        ASC_TRY(add_value(m, g, d));
    }
    size_t kept = 0;
    for (size_t i = 0; i < g->n_inputs; i++) {
        if (asc_name_index_find(&g->index, g->inputs[i].name) >= 0 && kept + g->n_inits == g->n_values) {
            int64_t at = asc_name_index_find(&g->index, g->inputs[i].name);
            if (g->values[at].init != NULL) continue; /* an input with a default is a constant */
        }
        g->inputs[kept] = g->inputs[i];
        asc_onnx_def d = {.name = g->inputs[kept].name, .node = -1, .port = (int64_t)kept};
        ASC_TRY(add_value(m, g, d));
        kept++;
    }
    g->n_inputs = kept;
    for (size_t i = 0; i < g->n_nodes; i++) {
        asc_onnx_node *node = &g->nodes[i];
        for (size_t k = 0; k < node->n_out; k++) {
            node->out[k] = UINT32_MAX;
            if (node->out_name[k].len == 0) continue;
            node->out[k] = (uint32_t)g->n_values;
            asc_onnx_def d = {.name = node->out_name[k], .node = (int64_t)i, .port = -1};
            ASC_TRY(add_value(m, g, d));
        }
    }
done:
    return st;
}

static bool find(asc_onnx_graph *g, asc_view name, asc_onnx_ref *out) {
    int32_t up = 0;
    for (asc_onnx_graph *x = g; x != NULL; x = x->outer, up++) {
        int64_t at = asc_name_index_find(&x->index, name);
        if (at < 0) continue;
        *out = (asc_onnx_ref){.up = up, .index = (uint32_t)at};
        return true;
    }
    return false;
}

static asc_status find_inputs(asc_onnx_model *m, asc_onnx_graph *g, asc_onnx_node *n) {
    char text[160];
    for (size_t i = 0; i < n->n_in; i++) {
        n->in[i] = (asc_onnx_ref){.up = -1};
        if (n->in_name[i].len == 0 || find(g, n->in_name[i], &n->in[i])) continue;
        ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT,
                 "'%s': %s: input '" ASC_VIEW_FMT "' is neither an initialiser nor made by a node", m->file,
                 asc_onnx_node_text(n, text), ASC_VIEW_ARG(asc_view_cut(n->in_name[i], 200)));
        return asc_hint(m->ctx, "weights stored outside may be missing; export the model again");
    }
    return ASC_OK;
}

static int opset_of(const asc_onnx_opset *o, size_t n, asc_view domain) {
    for (size_t i = 0; i < n; i++) {
        if (asc_view_eq(o[i].domain, domain)) return o[i].version;
    }
    return domain.len == 0 ? 1 : -1;
}

static asc_status find_operator(asc_onnx_model *m, asc_onnx_node *n, const asc_onnx_opset *o, size_t n_o) {
    char text[160];
    const asc_onnx_function *f = asc_onnx_function_find(m, n);
    n->opset = opset_of(o, n_o, n->domain);
    if (f != NULL) return asc_onnx_function_body(m, f, n, &n->function);
    if (n->opset >= 0) n->op = asc_onnx_op_find(n->op_type, n->domain, n->opset);
    if (n->op != NULL) return ASC_OK;
    asc_view op = asc_view_cut(n->op_type, 100), domain = asc_view_cut(n->domain, 100);
    if (n->opset < 0) {
        ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT,
                 "'%s': %s: domain '" ASC_VIEW_FMT "' is not among the file's operator sets", m->file,
                 asc_onnx_node_text(n, text), ASC_VIEW_ARG(domain));
    } else {
        ASC_FAIL(m->ctx, ASC_UNIMPLEMENTED,
                 "'%s': %s: operator " ASC_VIEW_FMT " of domain '" ASC_VIEW_FMT
                 "', version %d, is not implemented",
                 m->file, asc_onnx_node_text(n, text), ASC_VIEW_ARG(op),
                 ASC_VIEW_ARG(domain.len > 0 ? domain : asc_view_of("ai.onnx")), n->opset);
    }
    return asc_hint(m->ctx, "export with another opset (7 to %d), or without this operator",
                    ASC_ONNX_MAX_OPSET);
}

static bool is_constant(const asc_onnx_graph *g, const asc_onnx_node *n) {
    if (n->op == NULL || (n->op->flags & ASC_ONNX_OP_RANDOM) != 0) return false;
    for (size_t i = 0; i < n->n_attrs; i++) {
        if (n->attrs[i].g != NULL) return false;
    }
    for (size_t i = 0; i < n->n_in; i++) {
        if (n->in[i].up < 0) continue;
        const asc_onnx_graph *x = g;
        for (int32_t up = 0; up < n->in[i].up; up++) x = x->outer;
        if (!x->values[n->in[i].index].constant) return false;
    }
    return true;
}

/* Names of outputs (and of inputs, which are here). */
static asc_status find_ports(asc_onnx_model *m, asc_onnx_graph *g) {
    g->input_ref = asc_arena_alloc(&m->arena, (g->n_inputs + 1) * sizeof *g->input_ref);
    g->output_ref = asc_arena_alloc(&m->arena, (g->n_outputs + 1) * sizeof *g->output_ref);
    if (g->input_ref == NULL || g->output_ref == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < g->n_inputs; i++) (void)find(g, g->inputs[i].name, &g->input_ref[i]);
    for (size_t i = 0; i < g->n_outputs; i++) {
        if (!find(g, g->outputs[i].name, &g->output_ref[i]))
            return fail(m, ASC_INVALID_ARGUMENT, "nothing makes output", g->outputs[i].name);
    }
    return ASC_OK;
}

asc_status asc_onnx_build(asc_onnx_model *m, asc_onnx_graph *g, const asc_onnx_opset *opsets,
                          size_t n_opsets) {
    asc_status st = ASC_OK;
    ASC_TRY(collect(m, g));
    ASC_TRY(find_ports(m, g));
    for (size_t i = 0; i < g->n_nodes; i++) {
        asc_onnx_node *n = &g->nodes[i];
        ASC_TRY(find_inputs(m, g, n));
        ASC_TRY(find_operator(m, n, opsets, n_opsets));
        asc_view label = n->n_out > 0 ? n->out_name[0] : n->name;
        n->label = asc_arena_strdup(&m->arena, label);
        if (n->label == NULL) return ASC_RESOURCE_EXHAUSTED;
        for (size_t a = 0; a < n->n_attrs; a++) {
            if (n->attrs[a].g == NULL) continue;
            n->attrs[a].g->outer = g;
            ASC_TRY(asc_onnx_build(m, n->attrs[a].g, opsets, n_opsets));
        }
    }
    ASC_TRY(asc_onnx_order(m, g));
    for (size_t i = 0; i < g->n_nodes; i++) {
        asc_onnx_node *n = &g->nodes[i];
        n->constant = is_constant(g, n);
        for (size_t k = 0; k < n->n_out; k++) {
            if (n->out[k] != UINT32_MAX) g->values[n->out[k]].constant = n->constant;
        }
    }
done:
    return st;
}
