/* walk.c - collects what a value was recorded from; see tensor.h. */
#include "tensor.h"
#include <stdlib.h>

static int by_id(const void *a, const void *b) {
    const asc_tensor *x = *(asc_tensor *const *)a, *y = *(asc_tensor *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

asc_status asc_walk_ancestors(asc_ctx *ctx, asc_tensor *const *roots, size_t n_roots, bool stop_at_values,
                              uint64_t oldest, asc_walk *out) {
    asc_graph *g = asc_graph_of(ctx);
    asc_status st = ASC_OK;
    asc_tensor **stack = NULL;
    size_t cap = 0, top = 0;
    int mark = ++g->mark;
    *out = (asc_walk){.mark = mark};
    for (size_t i = 0; i < n_roots; i++) {
        if (roots[i]->mark == mark) continue;
        ASC_TRY(asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&stack, &cap, top + 1, sizeof *stack));
        roots[i]->mark = mark;
        stack[top++] = roots[i];
    }
    while (top > 0) {
        asc_tensor *t = stack[--top];
        ASC_TRY(
            asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&out->nodes, &out->cap, out->n + 1, sizeof *out->nodes));
        out->nodes[out->n++] = t;
        if (stop_at_values && t->buf != NULL) continue;
        ASC_TRY(asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&stack, &cap, top + ASC_MAX_IN, sizeof *stack));
        for (int k = 0; k < t->n_in; k++) {
            asc_tensor *in = t->in[k];
            if (in->mark == mark || in->id < oldest) continue;
            in->mark = mark;
            stack[top++] = in;
        }
    }
    if (out->n > 1) qsort(out->nodes, out->n, sizeof(asc_tensor *), by_id);
    for (size_t i = 0; i < out->n; i++) out->nodes[i]->slot = (int)i;
done:
    asc_free(ctx, stack);
    return st;
}

void asc_walk_free(asc_ctx *ctx, asc_walk *w) {
    asc_free(ctx, w->nodes);
    *w = (asc_walk){0};
}
