/* pair.c - finds the partner of each value in a second recording of the same net. Only values that depend on
 * what is differentiated take part: weights and constants may be shared, or made again, or made once and
 * kept. */
#include "grad.h"
#include <string.h>

void asc_grad_mark_useful(const asc_walk *w, asc_tensor *const *xs, size_t n_xs, bool *useful) {
    /* Inputs have smaller ids, so one pass from old to new suffices. */
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

void asc_grad_restore(asc_ctx *ctx, asc_walk *w) {
    asc_graph *graph = asc_graph_of(ctx);
    if (graph->mark == w->mark) return;
    w->mark = ++graph->mark;
    for (size_t k = 0; k < w->n; k++) {
        w->nodes[k]->mark = w->mark;
        w->nodes[k]->slot = (int)k;
    }
}

static bool is_one_of(const asc_tensor *t, asc_tensor *const *xs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (xs[i] == t) return true;
    }
    return false;
}

static const char *name_of(const asc_tensor *t) { return t->op != NULL ? t->op->name : "a leaf"; }

static asc_status differ(asc_ctx *ctx, const asc_tensor *t, const asc_tensor *t0, const char *what) {
    const char *label = t->label != NULL ? t->label : "", *label0 = t0->label != NULL ? t0->label : "";
    return ASC_FAIL(ctx, ASC_INTERNAL,
                    "two recordings of a net differ in %s: %s at '%.60s' meets %s at '%.60s'", what,
                    name_of(t), label, name_of(t0), label0);
}

static asc_status check(asc_ctx *ctx, const asc_tensor *t, const asc_tensor *t0) {
    if (t->op != t0->op || t->n_in != t0->n_in) return differ(ctx, t, t0, "their ops");
    if (memcmp(&t->attrs, &t0->attrs, sizeof t->attrs) != 0) return differ(ctx, t, t0, "attributes");
    if (!asc_shape_eq(&t->shape, &t0->shape) || t->dtype != t0->dtype)
        return differ(ctx, t, t0, "shape or type");
    return ASC_OK;
}

/* Walks both lists of moving values in the order of recording. */
static asc_status match(asc_ctx *ctx, const asc_walk *w, const bool *useful, const asc_walk *w0,
                        const bool *useful0, asc_tensor *const *xs, asc_tensor *const *xs0, size_t n,
                        asc_tensor **partner) {
    size_t j = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (!useful[i] || is_one_of(w->nodes[i], xs, n)) continue;
        while (j < w0->n && (!useful0[j] || is_one_of(w0->nodes[j], xs0, n))) j++;
        if (j == w0->n)
            return ASC_FAIL(ctx, ASC_INTERNAL, "two recordings of a net differ: %s has no partner",
                            name_of(w->nodes[i]));
        asc_status st = check(ctx, w->nodes[i], w0->nodes[j]);
        if (st != ASC_OK) return st;
        partner[i] = w0->nodes[j++];
    }
    for (; j < w0->n; j++) {
        if (useful0[j] && !is_one_of(w0->nodes[j], xs0, n))
            return ASC_FAIL(ctx, ASC_INTERNAL, "two recordings of a net differ: %s has no partner",
                            name_of(w0->nodes[j]));
    }
    return ASC_OK;
}

/* Partners must also be connected alike: the order alone would let two ops of one kind change places. */
static asc_status check_edges(asc_ctx *ctx, const asc_walk *w, const bool *useful, asc_tensor *const *xs,
                              size_t n, asc_tensor *const *partner) {
    for (size_t i = 0; i < w->n; i++) {
        asc_tensor *t = w->nodes[i];
        if (!useful[i] || is_one_of(t, xs, n)) continue;
        for (int k = 0; k < t->n_in; k++) {
            bool moving = t->in[k]->mark == w->mark && useful[t->in[k]->slot];
            if (moving && partner[t->in[k]->slot] != partner[i]->in[k])
                return differ(ctx, t, partner[i], "their connections");
        }
    }
    return ASC_OK;
}

asc_status asc_grad_pair(asc_ctx *ctx, asc_walk *w, const bool *useful, asc_tensor *y0, asc_tensor *const *xs,
                         asc_tensor *const *xs0, size_t n, asc_tensor **partner) {
    asc_status st = ASC_OK;
    asc_walk w0 = {0};
    bool *useful0 = NULL;
    uint64_t oldest = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        if (xs0[i]->id < oldest) oldest = xs0[i]->id;
        if (!asc_shape_eq(&xs[i]->shape, &xs0[i]->shape))
            return differ(ctx, xs[i], xs0[i], "the shape of an input");
        if (xs[i]->mark == w->mark) partner[xs[i]->slot] = xs0[i];
    }
    ASC_TRY(asc_walk_ancestors(ctx, &y0, 1, false, oldest, &w0));
    useful0 = asc_calloc(ctx, ASC_MEM_PROGRAM, w0.n, sizeof *useful0);
    if (useful0 == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    asc_grad_mark_useful(&w0, xs0, n, useful0);
    ASC_TRY(match(ctx, w, useful, &w0, useful0, xs, xs0, n, partner));
    asc_grad_restore(ctx, w);
    ASC_TRY(check_edges(ctx, w, useful, xs, n, partner));
done:
    asc_walk_free(ctx, &w0);
    asc_free(ctx, useful0);
    return st;
}
