/* jvp.c - forward mode: pushes tangents through recorded ops in recording order. See grad.h. */
#include "grad.h"
#include "ops.h"
#include <stdlib.h>

typedef struct walk {
    asc_tensor **nodes, **stack, **t; /* nodes by rising id; tangents */
    size_t n, cap, cap_stack;
} walk;

static int by_id(const void *a, const void *b) {
    const asc_tensor *x = *(asc_tensor *const *)a, *y = *(asc_tensor *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

static asc_status ancestors(asc_ctx *ctx, walk *w, asc_tensor *y) {
    asc_graph *g = asc_graph_of(ctx);
    asc_status st = ASC_OK;
    int mark = ++g->mark;
    size_t top = 0;
    ASC_TRY(asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&w->stack, &w->cap_stack, 1, sizeof *w->stack));
    y->mark = mark;
    w->stack[top++] = y;
    while (top > 0) {
        asc_tensor *t = w->stack[--top];
        ASC_TRY(asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&w->nodes, &w->cap, w->n + 1, sizeof *w->nodes));
        w->nodes[w->n++] = t;
        ASC_TRY(asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&w->stack, &w->cap_stack, top + ASC_MAX_IN,
                         sizeof *w->stack));
        for (int k = 0; k < t->n_in; k++) {
            if (t->in[k]->mark == mark) continue;
            t->in[k]->mark = mark;
            w->stack[top++] = t->in[k];
        }
    }
    qsort(w->nodes, w->n, sizeof *w->nodes, by_id);
done:
    return st;
}

/* Index of t among the nodes (sorted by id). */
static size_t index_of(const walk *w, const asc_tensor *t) {
    size_t lo = 0, hi = w->n;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (w->nodes[mid]->id <= t->id) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static asc_status forward(asc_ctx *ctx, walk *w, asc_tensor *const *xs, asc_tensor *const *txs, size_t n) {
    for (size_t i = 0; i < w->n; i++) {
        asc_tensor *t = w->nodes[i];
        bool is_x = false;
        for (size_t k = 0; k < n; k++) {
            if (xs[k] == t) {
                w->t[i] = txs[k];
                is_x = true;
            }
        }
        if (is_x || t->op == NULL || (t->op->flags & ASC_OP_NO_GRAD) != 0) continue;
        asc_jvp_args a = {.ctx = ctx, .y = t, .in = t->in, .attrs = &t->attrs, .n_in = t->n_in};
        bool any = false;
        for (int k = 0; k < t->n_in; k++) {
            a.tin[k] = w->t[index_of(w, t->in[k])];
            any = any || a.tin[k] != NULL;
        }
        if (!any) continue;
        if (t->op->jvp == NULL)
            return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "%s has no forward derivative", t->op->name);
        w->t[i] = t->op->jvp(&a);
    }
    return ASC_OK;
}

asc_tensor *asc_jvp(asc_ctx *ctx, asc_tensor *y, asc_tensor *const *xs, asc_tensor *const *txs, size_t n) {
    asc_graph *g = asc_graph_of(ctx);
    walk w = {0};
    asc_tensor *out = NULL;
    if (y->poison != ASC_OK) return y;
    for (size_t i = 0; i < n; i++) {
        if (xs[i]->poison != ASC_OK || txs[i]->poison != ASC_OK) return &g->poison;
    }
    asc_status st = ancestors(ctx, &w, y);
    if (st == ASC_OK) {
        w.t = asc_calloc(ctx, ASC_MEM_PROGRAM, w.n, sizeof(asc_tensor *));
        st = w.t == NULL ? ASC_RESOURCE_EXHAUSTED : forward(ctx, &w, xs, txs, n);
    }
    if (st == ASC_OK) out = w.t[w.n - 1];
    asc_free(ctx, w.nodes);
    asc_free(ctx, w.stack);
    asc_free(ctx, w.t);
    if (st != ASC_OK) return asc_graph_poison(g);
    return out != NULL ? out : asc_full(ctx, y->shape, 0.0);
}
