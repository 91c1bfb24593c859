/* modes.c - when recorded ops are cut: eager after each op; deferred at a read, at asc_run, or when the queue
 * is full. The compiled mode runs captured functions without recording (compiled.h); what is recorded in it
 * is cut as in the deferred one. */
#include "compiled.h"
#include "runtime.h"

/* Bounds of the deferred queue: so much unread work is cut by itself, computing the values nobody has
 * consumed yet. */
enum { MAX_PENDING_NODES = 1 << 13 };
static const double MAX_PENDING_FLOPS = 1e15;

static asc_status flush_sinks(asc_ctx *ctx) {
    asc_graph *g = asc_graph_of(ctx);
    asc_tensor **sinks = NULL;
    size_t n = 0, cap = 0;
    asc_status st = ASC_OK;
    for (size_t i = 0; i < g->n_owned; i++) {
        asc_tensor *t = g->owned[i];
        if (t->buf != NULL || t->refs != 1) continue; /* computed, or a later op holds it */
        ASC_TRY(asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&sinks, &cap, n + 1, sizeof *sinks));
        sinks[n++] = t;
    }
    if (n > 0) ASC_TRY(asc_exec_cut(ctx, sinks, n, ASC_CUT_BOUND));
done:
    asc_free(ctx, sinks);
    return st;
}

void asc_exec_on_record(asc_ctx *ctx, asc_tensor *t) {
    asc_runtime *rt = asc_runtime_of(ctx);
    if (rt->capturing) return; /* what is computed on the way would be fixed in the capture */
    if (rt->pricing > 0) return;
    if (rt->eager) {
        if (asc_exec_cut(ctx, &t, 1, ASC_CUT_EAGER) != ASC_OK) {
            asc_fail_context(ctx, "%s%s%s", t->op->name, t->label != NULL ? " in " : "",
                             t->label != NULL ? t->label : "");
            asc_graph_poison(&rt->graph);
        }
        return;
    }
    asc_call c = {.op = t->op, .attrs = &t->attrs, .n_in = t->n_in, .dtype = t->dtype, .shape = t->shape};
    for (int i = 0; i < t->n_in; i++) {
        c.in_dtype[i] = t->in[i]->dtype;
        c.in_shape[i] = t->in[i]->shape;
    }
    asc_cost cost = {0};
    t->op->cost(&c, &cost);
    rt->pending_nodes++;
    rt->pending_flops += cost.flops;
    if (rt->pending_nodes > MAX_PENDING_NODES || rt->pending_flops > MAX_PENDING_FLOPS) {
        if (flush_sinks(ctx) != ASC_OK) asc_graph_poison(&rt->graph);
        rt->pending_nodes = 0;
        rt->pending_flops = 0.0;
    }
}

asc_status asc_run(asc_ctx *ctx, asc_tensor *const *ts, size_t n) {
    asc_status st = asc_graph_take_error(asc_graph_of(ctx));
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < n; i++) {
        if (ts[i]->poison != ASC_OK)
            return ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "value of a computation that failed before");
    }
    if (asc_runtime_of(ctx)->capturing) st = asc_capture_reading(ctx, ts, n);
    return st != ASC_OK ? st : asc_exec_cut(ctx, ts, n, n == 1 ? ASC_CUT_READ : ASC_CUT_RUN);
}
