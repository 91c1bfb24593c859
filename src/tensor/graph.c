/* graph.c - node pool, reference counts and scopes of the recorded computation; see tensor.h.
 * Guarantees: a node lives while its scope or a consumer holds it; freeing a long chain does not recurse. */
#include "tensor.h"
#include <stddef.h>
#include <string.h>

enum { NODES_PER_SLAB = 256 };

struct asc_node_slab {
    struct asc_node_slab *next;
    asc_tensor nodes[NODES_PER_SLAB];
};

asc_status asc_graph_init(asc_graph *g, asc_ctx *ctx) {
    *g = (asc_graph){.ctx = ctx, .next_id = 1, .level = ctx->precision};
    return ASC_OK;
}

void asc_graph_deinit(asc_graph *g) {
    for (size_t i = g->n_owned; i-- > 0;) asc_tensor_release(g->owned[i]);
    asc_free(g->ctx, g->owned);
    asc_free(g->ctx, g->scope_start);
    asc_label_free_all(g);
    while (g->slabs != NULL) {
        struct asc_node_slab *s = g->slabs;
        g->slabs = s->next;
        asc_free(g->ctx, s);
    }
}

static bool add_slab(asc_graph *g) {
    struct asc_node_slab *s = asc_alloc(g->ctx, ASC_MEM_PROGRAM, sizeof *s);
    if (s == NULL) return false;
    s->next = g->slabs;
    g->slabs = s;
    for (int i = NODES_PER_SLAB - 1; i >= 0; i--) {
        s->nodes[i].next = g->free_nodes;
        g->free_nodes = &s->nodes[i];
    }
    return true;
}

asc_tensor *asc_graph_node_bare(asc_graph *g) {
    /* Between a begin that found no memory and its end nothing is recorded: it would belong to the scope
     * around it, and outlive the labels and weights that it points at. */
    if (g->n_scopes_lost > 0) {
        g->ctx->error = g->first;
        return NULL;
    }
    if (g->n_owned == g->cap_owned && asc_grow(g->ctx, ASC_MEM_PROGRAM, (void **)&g->owned, &g->cap_owned,
                                               g->n_owned + 1, sizeof *g->owned) != ASC_OK)
        return NULL;
    if (g->free_nodes == NULL && !add_slab(g)) return NULL;
    asc_tensor *t = g->free_nodes;
    g->free_nodes = t->next;
    memset(t, 0, offsetof(asc_tensor, shape));
    t->ctx = g->ctx;
    t->refs = 1;
    t->id = g->next_id++;
    t->label = g->label;
    g->owned[g->n_owned++] = t;
    g->live_nodes++;
    return t;
}

asc_tensor *asc_graph_node(asc_graph *g) {
    asc_tensor *t = asc_graph_node_bare(g);
    if (t == NULL) return NULL;
    t->shape = (asc_shape){0};
    t->attrs = (asc_attrs){0};
    return t;
}

void asc_graph_drop_last(asc_graph *g) { asc_tensor_release(g->owned[--g->n_owned]); }

/* An op that fails on a poisoned input does not come here; one that fails while a message is still the
 * context's last (a helper that poisons on the way out) does, and stands for the same failure. */
asc_tensor *asc_graph_stand_in(asc_graph *g) {
    const asc_error *e = &g->ctx->error;
    const asc_status code = e->code != ASC_OK ? e->code : ASC_INTERNAL;
    asc_failure *f = &g->failed[(g->n_failed + ASC_FAILURES_KEPT - 1) % ASC_FAILURES_KEPT];
    if (g->n_failed > 0 && f->tensor.poison == code && strcmp(f->error.message, e->message) == 0)
        return &f->tensor;
    f = &g->failed[g->n_failed++ % ASC_FAILURES_KEPT];
    f->tensor = (asc_tensor){.ctx = g->ctx, .refs = 1, .poison = code, .dtype = ASC_DTYPE_F32};
    f->error = *e;
    return &f->tensor;
}

asc_tensor *asc_graph_poison(asc_graph *g) {
    asc_tensor *t = asc_graph_stand_in(g);
    if (g->error == ASC_OK) {
        g->error = t->poison;
        g->first = g->ctx->error;
    }
    return t;
}

const asc_error *asc_tensor_failure(const asc_tensor *poisoned) {
    return &((const asc_failure *)(const void *)poisoned)->error;
}

asc_status asc_graph_take_error(asc_graph *g) {
    asc_status st = g->error;
    if (st != ASC_OK) g->ctx->error = g->first;
    g->error = ASC_OK;
    return st;
}

void asc_tensor_retain(asc_tensor *t) { t->refs++; }

void asc_buffer_retain(asc_buffer *b) { b->refs++; }

void asc_buffer_release(asc_ctx *ctx, asc_buffer *b) {
    if (b != NULL && --b->refs == 0) asc_graph_of(ctx)->free_buffer(ctx, b);
}

/* Frees t and whatever only it kept alive; a work list through `next` instead of recursion. */
static void free_chain(asc_tensor *t) {
    asc_graph *g = asc_graph_of(t->ctx);
    t->next = NULL;
    while (t != NULL) {
        asc_tensor *rest = t->next;
        for (int i = 0; i < t->n_in; i++) {
            asc_tensor *in = t->in[i];
            if (--in->refs == 0) {
                in->next = rest;
                rest = in;
            }
        }
        asc_buffer_release(t->ctx, t->buf);
        t->buf = NULL;
        t->next = g->free_nodes;
        g->free_nodes = t;
        g->live_nodes--;
        t = rest;
    }
}

void asc_tensor_release(asc_tensor *t) {
    if (t == NULL || t->poison != ASC_OK) return;
    if (--t->refs == 0) free_chain(t);
}

void asc_tensor_detach(asc_tensor *t) {
    int n = t->n_in;
    t->n_in = 0;
    t->op = NULL;
    for (int i = 0; i < n; i++) asc_tensor_release(t->in[i]);
}

const char *asc_set_label(asc_ctx *ctx, const char *label) {
    asc_graph *g = asc_graph_of(ctx);
    const char *old = g->label;
    g->label = label;
    return old;
}

asc_precision asc_set_level(asc_ctx *ctx, asc_precision level) {
    asc_graph *g = asc_graph_of(ctx);
    asc_precision old = g->level;
    g->level = level;
    return old;
}

bool asc_set_many_rows(asc_ctx *ctx, bool on) {
    asc_graph *g = asc_graph_of(ctx);
    bool old = g->many_rows;
    g->many_rows = on;
    return old;
}

void asc_scope_begin(asc_ctx *ctx) {
    asc_graph *g = asc_graph_of(ctx);
    if (asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&g->scope_start, &g->cap_scopes, g->n_scopes + 1,
                 sizeof *g->scope_start) != ASC_OK) {
        asc_graph_poison(g); /* the matching end returns it; the scope then is the surrounding one */
        g->n_scopes_lost++;
        return;
    }
    g->scope_start[g->n_scopes++] = g->n_owned;
}

asc_status asc_scope_end(asc_ctx *ctx) {
    asc_graph *g = asc_graph_of(ctx);
    if (g->n_scopes_lost > 0) {
        g->n_scopes_lost--;
        return asc_graph_take_error(g);
    }
    if (g->n_scopes == 0) return ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "scope end without a begin");
    if (g->on_scope_end != NULL) g->on_scope_end(ctx);
    size_t start = g->scope_start[--g->n_scopes], kept = start;
    for (size_t i = start; i < g->n_owned; i++) {
        if (g->owned[i]->keep) {
            g->owned[i]->keep = false;
            asc_tensor *t = g->owned[i];
            g->owned[i] = g->owned[kept];
            g->owned[kept++] = t;
        }
    }
    for (size_t i = g->n_owned; i-- > kept;) asc_tensor_release(g->owned[i]);
    g->n_owned = kept;
    return asc_graph_take_error(g);
}

asc_status asc_scope_close(asc_ctx *ctx, asc_status st) {
    asc_error saved = ctx->error;
    asc_status own = asc_scope_end(ctx);
    if (st == ASC_OK) return own;
    ctx->error = saved;
    return st;
}

asc_tensor *asc_keep(asc_ctx *ctx, asc_tensor *t) {
    (void)ctx;
    if (t->poison == ASC_OK) t->keep = true;
    return t;
}
