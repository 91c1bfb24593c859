/* onnx_order.c - nodes in an order in which each follows what it needs: the file's own order where that is
 * one (exporters must write it so; not all do), otherwise the earliest ready node first. */
#include "onnx_model.h"

typedef struct order {
    asc_onnx_graph *g;
    uint8_t *state; /* per node: 0 = to do, 1 = on the stack, 2 = done */
    uint32_t *stack, *done;
    size_t n_stack, n_done;
} order;

/* Calls visit for every value of `g` that graph x, `depth` levels inside, refers to. False = stop. */
static bool each_inner(const asc_onnx_graph *x, int32_t depth, order *o, bool (*visit)(order *, uint32_t)) {
    for (size_t i = 0; i < x->n_nodes; i++) {
        const asc_onnx_node *n = &x->nodes[i];
        for (size_t k = 0; k < n->n_in; k++) {
            if (n->in[k].up == depth && !visit(o, n->in[k].index)) return false;
        }
        for (size_t a = 0; a < n->n_attrs; a++) {
            if (n->attrs[a].g != NULL && !each_inner(n->attrs[a].g, depth + 1, o, visit)) return false;
        }
    }
    for (size_t k = 0; k < x->n_outputs; k++) {
        if (x->output_ref[k].up == depth && !visit(o, x->output_ref[k].index)) return false;
    }
    return true;
}

/* True when the value is there; otherwise its node goes on the stack. */
static bool need(order *o, uint32_t value) {
    int64_t node = o->g->values[value].node;
    if (node < 0 || o->state[node] == 2) return true;
    o->stack[o->n_stack++] = (uint32_t)node;
    return false;
}

/* Pushes one missing node; true when nothing is missing. */
static bool ready(order *o, const asc_onnx_node *n) {
    for (size_t k = 0; k < n->n_in; k++) {
        if (n->in[k].up == 0 && !need(o, n->in[k].index)) return false;
    }
    for (size_t a = 0; a < n->n_attrs; a++) {
        if (n->attrs[a].g != NULL && !each_inner(n->attrs[a].g, 1, o, need)) return false;
    }
    return true;
}

static asc_status sort(asc_onnx_model *m, order *o) {
    char text[160];
    for (size_t i = 0; i < o->g->n_nodes; i++) {
        if (o->state[i] == 2) continue;
        o->n_stack = 0;
        o->stack[o->n_stack++] = (uint32_t)i;
        while (o->n_stack > 0) {
            uint32_t at = o->stack[o->n_stack - 1];
            size_t before = o->n_stack;
            o->state[at] = 1;
            if (ready(o, &o->g->nodes[at])) {
                o->state[at] = 2;
                o->done[o->n_done++] = at;
                o->n_stack--;
                continue;
            }
            if (o->n_stack > before && o->state[o->stack[o->n_stack - 1]] == 1) {
                ASC_FAIL(m->ctx, ASC_INVALID_ARGUMENT, "'%s': %s needs its own result: a cycle", m->file,
                         asc_onnx_node_text(&o->g->nodes[at], text));
                return asc_hint(m->ctx, "the file is not a valid ONNX graph; export it again");
            }
        }
    }
    return ASC_OK;
}

asc_status asc_onnx_order(asc_onnx_model *m, asc_onnx_graph *g) {
    asc_status st = ASC_OK;
    order o = {.g = g};
    asc_ctx *ctx = m->ctx;
    asc_onnx_node *sorted = NULL;
    o.state = asc_calloc(ctx, ASC_MEM_GENERAL, g->n_nodes + 1, sizeof *o.state);
    o.stack = asc_calloc(ctx, ASC_MEM_GENERAL, g->n_nodes + 2, sizeof *o.stack);
    o.done = asc_calloc(ctx, ASC_MEM_GENERAL, g->n_nodes + 1, sizeof *o.done);
    sorted = asc_calloc(ctx, ASC_MEM_GENERAL, g->n_nodes + 1, sizeof *sorted);
    if (o.state == NULL || o.stack == NULL || o.done == NULL || sorted == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(sort(m, &o));
    for (size_t i = 0; i < g->n_nodes; i++) sorted[i] = g->nodes[o.done[i]];
    memcpy(g->nodes, sorted, g->n_nodes * sizeof *sorted);
    for (size_t i = 0; i < g->n_nodes; i++) {
        for (size_t k = 0; k < g->nodes[i].n_out; k++) {
            if (g->nodes[i].out[k] != UINT32_MAX) g->values[g->nodes[i].out[k]].node = (int64_t)i;
        }
    }
done:
    asc_free(ctx, o.state);
    asc_free(ctx, o.stack);
    asc_free(ctx, o.done);
    asc_free(ctx, sorted);
    return st;
}
