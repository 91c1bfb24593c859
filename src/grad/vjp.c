/* vjp.c - reverse mode: walks recorded ops from y back to xs and asks each op's VJP for more ops. See grad.h.
 */
#include "grad.h"
#include "ops.h"

/* Keeps in `useful` those nodes that depend on an x. Inputs have smaller ids, so one pass from old to new
 * suffices. */
static void mark_useful(const asc_walk *w, asc_tensor *const *xs, size_t n_xs, bool *useful) {
    for (size_t i = 0; i < n_xs; i++) {
        if (xs[i]->mark == w->mark) useful[xs[i]->slot] = true;
    }
    for (size_t i = 0; i < w->n; i++) {
        asc_tensor *t = w->nodes[i];
        for (int k = 0; k < t->n_in && !useful[i]; k++) {
            if (t->in[k]->mark == w->mark && useful[t->in[k]->slot]) useful[i] = true;
        }
    }
}

static void add_to(asc_ctx *ctx, asc_tensor **g, asc_tensor *more) {
    if (more == NULL) return;
    *g = *g == NULL ? more : asc_add(ctx, *g, more);
}

static asc_status one_step(asc_ctx *ctx, const asc_grad_rules *rules, const asc_walk *w, asc_tensor **g,
                           const bool *useful, size_t i, asc_tensor *const *xs, size_t n_xs) {
    asc_tensor *t = w->nodes[i];
    for (size_t k = 0; k < n_xs; k++) {
        if (xs[k] == t) return ASC_OK; /* derivatives stop at xs: they are taken as independent */
    }
    if (t->op == NULL || (t->op->flags & ASC_OP_NO_GRAD) != 0) return ASC_OK;
    asc_vjp_args a = {.ctx = ctx, .y = t, .g = g[i], .in = t->in, .attrs = &t->attrs, .n_in = t->n_in};
    bool any = false;
    int slots[ASC_MAX_IN]; /* a VJP may cut or take gradients itself, which walks over these nodes again */
    for (int k = 0; k < t->n_in; k++) {
        slots[k] = t->in[k]->slot;
        a.need[k] = t->in[k]->mark == w->mark && useful[t->in[k]->slot] && t->in[k]->dtype == ASC_DTYPE_F32;
        any = any || a.need[k];
    }
    if (!any) return ASC_OK;
    asc_vjp_fn fn =
        rules != NULL && rules->vjp[t->op->opcode] != NULL ? rules->vjp[t->op->opcode] : t->op->vjp;
    if (fn == NULL) return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "%s has no gradient", t->op->name);
    const char *label = asc_set_label(ctx, t->label);
    fn(&a);
    asc_set_label(ctx, label);
    for (int k = 0; k < t->n_in; k++) {
        if (a.need[k]) add_to(ctx, &g[slots[k]], a.gin[k]);
    }
    return ASC_OK;
}

static asc_status backward(asc_ctx *ctx, const asc_grad_rules *rules, asc_tensor *y, asc_tensor *seed,
                           asc_tensor *const *xs, size_t n, asc_tensor **out) {
    asc_graph *graph = asc_graph_of(ctx);
    asc_status st = ASC_OK;
    asc_walk w = {0};
    asc_tensor **g = NULL; /* cotangents so far, by slot; NULL = zero */
    bool *useful = NULL;
    uint64_t oldest = UINT64_MAX;
    if (y->poison != ASC_OK || (seed != NULL && seed->poison != ASC_OK)) return graph->error;
    for (size_t i = 0; i < n; i++) {
        if (xs[i]->poison != ASC_OK) return graph->error;
        if (xs[i]->id < oldest) oldest = xs[i]->id;
    }
    if (seed == NULL && asc_tensor_elems(y) != 1)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "gradient of a value with %lld elements needs a seed",
                        (long long)asc_tensor_elems(y));
    if (seed == NULL) seed = asc_full(ctx, y->shape, 1.0);
    if (!asc_shape_eq(&seed->shape, &y->shape))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "gradient: the seed has another shape than the value");
    ASC_TRY(asc_walk_ancestors(ctx, &y, 1, false, oldest, &w));
    useful = asc_calloc(ctx, ASC_MEM_PROGRAM, w.n, sizeof *useful);
    g = asc_calloc(ctx, ASC_MEM_PROGRAM, w.n, sizeof(asc_tensor *));
    if (useful == NULL || g == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    mark_useful(&w, xs, n, useful);
    g[w.n - 1] = seed; /* y has the largest id */
    for (size_t i = w.n; i-- > 0;) {
        if (!useful[i] || g[i] == NULL) continue;
        ASC_TRY(one_step(ctx, rules, &w, g, useful, i, xs, n));
        if (graph->mark != w.mark) { /* marks and slots were re-used: restore ours */
            w.mark = ++graph->mark;
            for (size_t k = 0; k < w.n; k++) {
                w.nodes[k]->mark = w.mark;
                w.nodes[k]->slot = (int)k;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (xs[i]->mark == w.mark) out[i] = g[xs[i]->slot];
    }
done:
    asc_walk_free(ctx, &w);
    asc_free(ctx, g);
    asc_free(ctx, useful);
    return st;
}

void asc_grad_with_rules(asc_ctx *ctx, const asc_grad_rules *rules, asc_tensor *y, asc_tensor *seed,
                         asc_tensor *const *xs, size_t n, asc_tensor **out_grads) {
    asc_graph *g = asc_graph_of(ctx);
    for (size_t i = 0; i < n; i++) out_grads[i] = NULL;
    asc_status st = backward(ctx, rules, y, seed, xs, n, out_grads);
    for (size_t i = 0; i < n; i++) {
        if (st != ASC_OK || xs[i]->poison != ASC_OK || y->poison != ASC_OK) {
            out_grads[i] = asc_graph_poison(g);
        } else if (out_grads[i] == NULL) {
            out_grads[i] = asc_full(ctx, xs[i]->shape, 0.0);
        }
    }
}

void asc_grad(asc_ctx *ctx, asc_tensor *y, asc_tensor *seed, asc_tensor *const *xs, size_t n,
              asc_tensor **out_grads) {
    asc_grad_with_rules(ctx, NULL, y, seed, xs, n, out_grads);
}

void asc_vjp_decomposed(asc_vjp_args *a) {
    asc_graph *g = asc_graph_of(a->ctx);
    asc_tensor *xs[ASC_MAX_IN], *grads[ASC_MAX_IN], *fresh[ASC_MAX_IN];
    int where[ASC_MAX_IN];
    size_t n = 0;
    bool whole = true;
    /* Shadow each wanted input by a no-op so that derivatives stop there, also when inputs depend on each
     * other. */
    for (int k = 0; k < a->n_in; k++) {
        fresh[k] = a->in[k];
        if (!a->need[k]) continue;
        fresh[k] = asc_reshape(a->ctx, a->in[k], a->in[k]->shape);
        whole = whole && fresh[k]->poison == ASC_OK; /* a decomposition reads shapes: real inputs only */
        xs[n] = fresh[k];
        where[n++] = k;
    }
    asc_tensor *y = whole ? a->y->op->decompose(a->ctx, a->attrs, fresh, a->n_in) : NULL;
    if (y == NULL || y->poison != ASC_OK) {
        for (size_t i = 0; i < n; i++) a->gin[where[i]] = asc_graph_poison(g);
        return;
    }
    asc_grad(a->ctx, y, a->g, xs, n, grads);
    for (size_t i = 0; i < n; i++) a->gin[where[i]] = grads[i];
}
