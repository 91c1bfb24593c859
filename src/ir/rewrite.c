/* rewrite.c - old list of nodes to new list; see rewrite.h. */
#include "rewrite.h"
#include "move.h"
#include <string.h>

asc_status asc_rewrite_begin(asc_ctx *ctx, asc_program *p, asc_rewrite *out) {
    *out = (asc_rewrite){.ctx = ctx, .p = p, .old = p->nodes, .n_old = p->n_nodes};
    p->nodes = NULL;
    p->n_nodes = p->cap_nodes = 0;
    out->to = asc_calloc(ctx, ASC_MEM_PROGRAM, out->n_old + 1, sizeof *out->to);
    out->is_output = asc_calloc(ctx, ASC_MEM_PROGRAM, out->n_old + 1, sizeof *out->is_output);
    if (out->to == NULL || out->is_output == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < out->n_old; k++) out->to[k] = -1;
    for (size_t i = 0; i < p->n_outputs; i++) out->is_output[p->outputs[i]] = true;
    return ASC_OK;
}

asc_node asc_rewrite_node(const asc_rewrite *rw, size_t k) {
    asc_node n = rw->old[k];
    for (int i = 0; i < n.n_in; i++) n.in[i] = rw->to[n.in[i]];
    return n;
}

bool asc_rewrite_infer(const asc_rewrite *rw, asc_node *n) {
    asc_call c;
    if (n->op == NULL) return true;
    asc_node_call(rw->p, n, &c);
    if (n->op->infer(rw->ctx, &c) != ASC_OK) return false;
    n->dtype = c.dtype;
    n->shape = c.shape;
    return true;
}

int32_t asc_rewrite_add(asc_rewrite *rw, asc_node *n) {
    return asc_rewrite_infer(rw, n) ? asc_program_add(rw->p, n) : -1;
}

static bool claim(asc_rewrite *rw, int32_t node) {
    size_t have = rw->n_claimed, need = (size_t)node + 1;
    if (need > have) {
        if (asc_grow(rw->ctx, ASC_MEM_PROGRAM, (void **)&rw->claimed, &rw->n_claimed, need,
                     sizeof *rw->claimed) != ASC_OK)
            return false;
        memset(rw->claimed + have, 0, (rw->n_claimed - have) * sizeof *rw->claimed);
    }
    rw->claimed[node] = true;
    return true;
}

bool asc_rewrite_map(asc_rewrite *rw, size_t k, int32_t to) {
    if (to < 0) return false;
    if (rw->is_output[k]) {
        bool taken = (size_t)to < rw->n_claimed && rw->claimed[to];
        if (rw->old[k].op != NULL && (rw->p->nodes[to].op == NULL || taken)) {
            asc_node copy = {.op = &asc_op_reshape, .n_in = 1, .in = {to}, .label = rw->old[k].label};
            copy.attrs = asc_attrs_of_shape(&rw->old[k].shape);
            copy.origin = rw->old[k].origin;
            to = asc_rewrite_add(rw, &copy);
            if (to < 0) return false;
        }
        if (!claim(rw, to)) return false;
    }
    rw->to[k] = to;
    return true;
}

asc_status asc_rewrite_end(asc_rewrite *rw, asc_status st) {
    asc_program *p = rw->p;
    if (st == ASC_OK) {
        for (size_t i = 0; i < p->n_outputs; i++) p->outputs[i] = rw->to[p->outputs[i]];
        asc_free(rw->ctx, rw->old);
    } else {
        asc_free(rw->ctx, p->nodes);
        p->nodes = rw->old;
        p->n_nodes = rw->n_old;
        p->cap_nodes = rw->n_old;
    }
    asc_free(rw->ctx, rw->to);
    asc_free(rw->ctx, rw->is_output);
    asc_free(rw->ctx, rw->claimed);
    rw->old = NULL;
    return st;
}

bool asc_op_has_scalars(const asc_op *op) {
    for (int i = 0; op != NULL && i < op->n_attrs; i++) {
        if (op->attrs[i].kind == ASC_ATTR_SCALAR) return true;
    }
    return false;
}
