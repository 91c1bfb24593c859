/* onnx_census.c - which operators a model has, how often, and which of them make gradients that are no
 * derivatives. Bodies and functions count at each place where they stand. */
#include "onnx_run.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct census {
    asc_onnx_net *on;
    asc_net_op *ops;
    size_t n, cap;
} census;

static asc_status count(census *x, const asc_onnx_node *n) {
    for (size_t i = 0; i < x->n; i++) {
        if (!asc_view_eqs(n->op_type, x->ops[i].name)) continue;
        x->ops[i].count++;
        return ASC_OK;
    }
    if (x->n == x->cap) {
        size_t cap = x->cap == 0 ? 64 : 2 * x->cap;
        asc_net_op *ops = asc_arena_alloc(&x->on->arena, cap * sizeof *ops);
        if (ops == NULL) return ASC_RESOURCE_EXHAUSTED;
        if (x->n > 0) memcpy(ops, x->ops, x->n * sizeof *ops);
        x->ops = ops;
        x->cap = cap;
    }
    char *name = asc_arena_strdup(&x->on->arena, n->op_type);
    if (name == NULL) return ASC_RESOURCE_EXHAUSTED;
    x->ops[x->n++] = (asc_net_op){.name = name, .count = 1};
    return ASC_OK;
}

static asc_status walk(census *x, const asc_onnx_graph *g) {
    asc_status st = ASC_OK;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const asc_onnx_node *n = &g->nodes[i];
        if (n->function != NULL) {
            ASC_TRY(walk(x, n->function));
            continue;
        }
        ASC_TRY(count(x, n));
        for (size_t a = 0; a < n->n_attrs; a++) {
            if (n->attrs[a].g != NULL) ASC_TRY(walk(x, n->attrs[a].g));
        }
    }
done:
    return st;
}

static bool rounds(const char *op) {
    for (size_t i = 0; i < asc_onnx_n_ops; i++) {
        if (strcmp(asc_onnx_ops[i].name, op) == 0 && (asc_onnx_ops[i].flags & ASC_ONNX_OP_ROUNDS) != 0)
            return true;
    }
    return false;
}

static int by_name(const void *a, const void *b) {
    const asc_net_op *x = a, *y = b;
    return strcmp(x->name, y->name);
}

asc_status asc_onnx_census(asc_onnx_net *on) {
    census x = {.on = on};
    asc_net *net = on->net;
    asc_status st = walk(&x, on->model->graph);
    if (st != ASC_OK) return st;
    if (x.n > 0) qsort(x.ops, x.n, sizeof *x.ops, by_name);
    net->ops = x.ops;
    net->n_ops = x.n;
    for (size_t i = 0; i < on->model->n_opsets; i++) {
        const asc_onnx_opset *o = &on->model->opsets[i];
        if (o->domain.len == 0 || asc_view_eqs(o->domain, "ai.onnx")) net->opset = o->version;
    }
    net->notes = asc_arena_alloc(&on->arena, (x.n + 1) * sizeof *net->notes);
    if (net->notes == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < x.n; i++) {
        char text[256];
        if (!rounds(x.ops[i].name)) continue;
        snprintf(text, sizeof text,
                 "%.100s (%zu nodes) rounds to a grid; its gradient is a straight-through one", x.ops[i].name,
                 x.ops[i].count);
        net->notes[net->n_notes] = asc_arena_strdup(&on->arena, asc_view_of(text));
        if (net->notes[net->n_notes++] == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    return ASC_OK;
}
