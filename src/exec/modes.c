/* modes.c - when recorded ops are cut: eager after each op; deferred at a read, at asc_run, at asc_mark, or
 * when a bound of the queue is met (queue.c). The compiled mode runs captured functions without recording
 * (compiled.h); what is recorded in it is cut as in the deferred one. */
#include "compiled.h"
#include "follow.h"
#include "runtime.h"

const char *asc_cut_reason_doc(asc_cut_reason why) {
    static const char *const docs[] = {
#define ROW(E, name, doc) doc,
        ASC_CUT_TABLE(ROW)
#undef ROW
    };
    return docs[why];
}

static bool run_now(asc_ctx *ctx, asc_tensor *t) {
    asc_status st = ASC_OK;
    if (asc_runtime_of(ctx)->follow.exe == NULL || !asc_follow_step(ctx, t, &st))
        st = asc_exec_cut(ctx, &t, 1, ASC_CUT_EAGER);
    if (st == ASC_OK) return true;
    asc_fail_context(ctx, "%s%s%s", t->op->name, t->label != NULL ? " in " : "",
                     t->label != NULL ? t->label : "");
    return false;
}

/* Small ops count as no arithmetic: 2 n^2 is more than any op does with n elements, and as many of them as
 * the queue may hold stay far below its bound. */
static double flops_of(const asc_queue *q, const asc_call *c, int64_t n) {
    double elems = (double)n;
    if (c->op->fuse == ASC_FUSE_POINTWISE) return elems;
    if (c->op->fuse == ASC_FUSE_VIEW) return 0.0;
    for (int i = 0; i < c->n_in; i++) elems += (double)asc_shape_elems(&c->in_shape[i]);
    if (elems <= q->exact_above) return 0.0;
    asc_cost cost = {0};
    c->op->cost(c, &cost);
    return cost.flops;
}

static bool too_old(asc_queue *q, size_t pending) {
    enum { LOOK_EVERY = 64 }; /* the clock takes as long as half an op */
    if (pending == 0) q->since_ns = asc_now_ns();
    return pending % LOOK_EVERY == LOOK_EVERY - 1 &&
           (double)(asc_now_ns() - q->since_ns) > q->limits.seconds * 1e9;
}

bool asc_exec_on_record(asc_ctx *ctx, asc_tensor *t, const asc_call *c) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_queue *q = &rt->queue;
    if (rt->capturing || rt->pricing > 0)
        return true; /* what a capture computed on the way would be fixed in it */
    if (rt->eager) return run_now(ctx, t);
    int64_t n = asc_shape_elems(&t->shape);
    q->nodes++;
    q->bytes += 4.0 * (double)n;
    q->flops += flops_of(q, c, n);
    asc_status st = ASC_OK;
    if (too_old(q, rt->pending_nodes++) || q->nodes >= q->check_nodes || q->bytes >= q->check_bytes ||
        q->flops >= q->check_flops)
        st = asc_queue_check(ctx);
    if (q->loops != NULL && st == ASC_OK) {
        uint32_t length = asc_loops_see(q->loops, t);
        asc_loops *l = q->loops;
        if (length > 0) st = asc_queue_flush(ctx, l->id[(l->n - length + 1) % ASC_LOOP_WINDOW], ASC_CUT_LOOP);
    }
    if (st != ASC_OK) asc_graph_poison(&rt->graph); /* t itself is well; the next boundary tells */
    return true;
}

/* The graph's first error, or that t stands for one. */
static asc_status well(asc_ctx *ctx, asc_tensor *const *ts, size_t n) {
    asc_status st = asc_graph_take_error(asc_graph_of(ctx));
    for (size_t i = 0; st == ASC_OK && i < n; i++) {
        if (ts[i]->poison == ASC_OK) continue;
        const asc_error *e = asc_tensor_failure(ts[i]);
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "value of a computation that failed before: %.900s",
                 e->message);
        st = e->hint[0] != '\0' ? asc_hint(ctx, "%s", e->hint) : ASC_FAILED_PRECONDITION;
    }
    return st;
}

asc_status asc_run(asc_ctx *ctx, asc_tensor *const *ts, size_t n) {
    asc_status st = well(ctx, ts, n);
    if (st == ASC_OK && asc_runtime_of(ctx)->capturing) st = asc_capture_reading(ctx, ts, n);
    return st != ASC_OK ? st : asc_exec_cut(ctx, ts, n, ASC_CUT_RUN);
}

asc_status asc_exec_need(asc_ctx *ctx, asc_tensor *t) {
    asc_status st = well(ctx, &t, 1);
    if (st == ASC_OK && asc_runtime_of(ctx)->capturing) st = asc_capture_reading(ctx, &t, 1);
    if (st != ASC_OK || t->buf != NULL) return st;
    st = asc_queue_allows(ctx, t, ASC_CUT_READ);
    return st != ASC_OK ? st : asc_exec_cut(ctx, &t, 1, ASC_CUT_READ);
}

asc_status asc_mark(asc_ctx *ctx, const char *name) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_queue *q = &rt->queue;
    if (rt->eager || rt->capturing || rt->pricing > 0) return ASC_OK;
    asc_status st = ASC_OK;
    if (q->nodes > 0) st = asc_queue_flush(ctx, q->mark_id, ASC_CUT_MARK);
    if (st != ASC_OK) return asc_fail_context(ctx, "at the mark %s", name);
    q->mark_id = rt->graph.next_id;
    if (q->loops != NULL) q->loops->n = q->loops->pause = 0; /* who marks needs no guessing */
    return ASC_OK;
}
