/* jvp.c - forward mode: pushes tangents through recorded ops in recording order. See grad.h. */
#include "grad.h"
#include "ops.h"

/* Tangents by slot; a jvp may walk over these nodes itself, so slots are looked up by id. */
static size_t index_of(const asc_walk *w, const asc_tensor *t) {
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

static asc_status forward(asc_ctx *ctx, const asc_walk *w, asc_tensor **tangent, asc_tensor *const *xs,
                          asc_tensor *const *txs, size_t n) {
    for (size_t i = 0; i < w->n; i++) {
        asc_tensor *t = w->nodes[i];
        bool is_x = false;
        for (size_t k = 0; k < n; k++) {
            if (xs[k] == t) {
                tangent[i] = txs[k];
                is_x = true;
            }
        }
        if (is_x || t->op == NULL || (t->op->flags & ASC_OP_NO_GRAD) != 0) continue;
        asc_jvp_args a = {.ctx = ctx, .y = t, .in = t->in, .attrs = &t->attrs, .n_in = t->n_in};
        bool any = false;
        for (int k = 0; k < t->n_in; k++) {
            a.tin[k] = tangent[index_of(w, t->in[k])];
            any = any || a.tin[k] != NULL;
        }
        if (!any) continue;
        if (t->op->jvp == NULL)
            return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "%s has no forward derivative", t->op->name);
        tangent[i] = t->op->jvp(&a);
    }
    return ASC_OK;
}

asc_tensor *asc_jvp(asc_ctx *ctx, asc_tensor *y, asc_tensor *const *xs, asc_tensor *const *txs, size_t n) {
    asc_graph *g = asc_graph_of(ctx);
    asc_walk w = {0};
    asc_tensor **tangent = NULL, *out = NULL;
    if (y->poison != ASC_OK) return y;
    for (size_t i = 0; i < n; i++) {
        if (xs[i]->poison != ASC_OK || txs[i]->poison != ASC_OK)
            return xs[i]->poison != ASC_OK ? xs[i] : txs[i];
    }
    asc_status st = asc_walk_ancestors(ctx, &y, 1, false, 0, &w);
    if (st == ASC_OK) {
        tangent = asc_calloc(ctx, ASC_MEM_PROGRAM, w.n, sizeof(asc_tensor *));
        st = tangent == NULL ? ASC_RESOURCE_EXHAUSTED : forward(ctx, &w, tangent, xs, txs, n);
    }
    if (st == ASC_OK) out = tangent[w.n - 1];
    asc_walk_free(ctx, &w);
    asc_free(ctx, tangent);
    if (st != ASC_OK) return asc_graph_poison(g);
    return out != NULL ? out : asc_full(ctx, y->shape, 0.0);
}
