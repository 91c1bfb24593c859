/* queue.c - the bounds of the deferred queue and where it is cut when one is met.
 *
 * The queue is no list of its own: it is what asc_scope still owns, nobody consumed, and has no value, with
 * all that these values need. While recording, upper bounds of its four measures are kept; when one reaches
 * its limit the queue is counted exactly (nodes that died, or that reads computed meanwhile, are not in it
 * any more), and cut only if the limit is really met. The next count comes an eighth of the limit later at
 * the earliest, so counting costs a few nanoseconds an op.
 *
 * A cut runs a prefix of the queue, of at least half its nodes. Behind each node lies an edge; its price is
 * the bytes of the values that cross it, which are those the cut computes. Among edges within an eighth of
 * the cheapest, one that looks like the last cut's and lies as far from the start wins, then one that looks
 * like it, then the last: so the cuts of a long loop fall on the same place of its body, and their programs
 * are found again. */
#include "env.h"
#include "ops.h"
#include "runtime.h"
#include <math.h>

/* A cut this late still keeps keys short (a language model's gradient is about 3,000 nodes), and no
 * attribution of a net that fits the memory reaches the others. */
static const asc_queue_limits DEFAULTS = {
    .nodes = 1 << 13, .live_bytes = 4.0 * (1 << 30), .flops = 1e15, .seconds = 10.0};

enum { SIGNATURE_NODES = 8 };

/* What is queued, by id. */
typedef struct queued {
    asc_walk walk;
    size_t n_ops;
    int32_t *last; /* [walk.n] slot of the last consumer; walk.n = wanted by a scope */
    double *live;  /* [walk.n] bytes of the values that cross the edge behind a node */
    double peak, flops;
} queued;

static bool is_op(const asc_tensor *t) { return t->buf == NULL && t->op != NULL; }

static double bytes_of(const asc_tensor *t) { return 4.0 * (double)asc_shape_elems(&t->shape); }

static double flops_of(const asc_tensor *t) {
    asc_call c = {.op = t->op, .attrs = &t->attrs, .n_in = t->n_in, .dtype = t->dtype, .shape = t->shape};
    for (int i = 0; i < t->n_in; i++) {
        c.in_dtype[i] = t->in[i]->dtype;
        c.in_shape[i] = t->in[i]->shape;
    }
    asc_cost cost = {0};
    t->op->cost(&c, &cost);
    return cost.flops;
}

/* Values without a consumer: what must not get lost. */
static asc_status sinks(asc_ctx *ctx, asc_tensor ***out, size_t *n, size_t *cap) {
    asc_graph *g = asc_graph_of(ctx);
    for (size_t i = 0; i < g->n_owned; i++) {
        asc_tensor *t = g->owned[i];
        if (!is_op(t) || t->refs != 1) continue;
        asc_status st = asc_grow(ctx, ASC_MEM_PROGRAM, (void **)out, cap, *n + 1, sizeof **out);
        if (st != ASC_OK) return st;
        (*out)[(*n)++] = t;
    }
    return ASC_OK;
}

static void queued_free(asc_ctx *ctx, queued *q) {
    asc_walk_free(ctx, &q->walk);
    asc_free(ctx, q->last);
    asc_free(ctx, q->live);
}

static asc_status queued_collect(asc_ctx *ctx, asc_tensor *const *wanted, size_t n, queued *q) {
    *q = (queued){0};
    asc_status st = asc_walk_ancestors(ctx, wanted, n, true, 0, &q->walk);
    if (st != ASC_OK) return st;
    const asc_walk *w = &q->walk;
    q->last = asc_calloc(ctx, ASC_MEM_PROGRAM, w->n + 1, sizeof *q->last);
    q->live = asc_calloc(ctx, ASC_MEM_PROGRAM, w->n + 1, sizeof *q->live);
    if (q->last == NULL || q->live == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < w->n; k++) {
        const asc_tensor *t = w->nodes[k];
        q->last[k] = (int32_t)k;
        if (!is_op(t)) continue;
        q->n_ops++;
        q->flops += flops_of(t);
        for (int i = 0; i < t->n_in; i++) q->last[t->in[i]->slot] = (int32_t)k;
    }
    for (size_t i = 0; i < n; i++) q->last[wanted[i]->slot] = (int32_t)w->n;
    for (size_t k = 0; k < w->n; k++) { /* steps first, then their sum */
        if (!is_op(w->nodes[k])) continue;
        q->live[k] += bytes_of(w->nodes[k]);
        q->live[q->last[k]] -= bytes_of(w->nodes[k]); /* [walk.n] is never summed */
    }
    for (size_t k = 1; k < w->n; k++) q->live[k] += q->live[k - 1];
    for (size_t k = 0; k < w->n; k++) q->peak = fmax(q->peak, q->live[k]);
    return ASC_OK;
}

/* What the nodes just before an edge are; not where they stand. */
static uint64_t signature(const queued *q, size_t edge) {
    uint64_t h = (uint64_t)q->live[edge];
    for (size_t k = edge + 1, seen = 0; k-- > 0 && seen < SIGNATURE_NODES;) {
        const asc_tensor *t = q->walk.nodes[k];
        if (!is_op(t)) continue;
        seen++;
        h = (h ^ (uint64_t)t->op->opcode) * 0x9E3779B97F4A7C15u;
        for (int i = 0; i < t->shape.rank; i++)
            h = ((h ^ (h >> 29)) + (uint64_t)t->shape.dims[i]) * 0xD6E8FEB86659FD93u;
    }
    return h;
}

/* The node behind which to cut; *ops of the queue stand before the edge. */
static size_t choose_edge(asc_queue *state, const queued *q, size_t *ops) {
    const asc_walk *w = &q->walk;
    const size_t least = q->n_ops / 2 > 0 ? q->n_ops / 2 : 1;
    double cheapest = INFINITY;
    size_t edge = w->n - 1, at = 0;
    for (size_t k = 0; k < w->n; k++) {
        at += is_op(w->nodes[k]);
        if (is_op(w->nodes[k]) && at >= least) cheapest = fmin(cheapest, q->live[k]);
    }
    int best = 0; /* 1 cheapest, 2 like the last cut, 3 and as long */
    *ops = at = q->n_ops;
    for (size_t k = w->n; k-- > 0 && at >= least && best < 3;) {
        if (!is_op(w->nodes[k])) continue;
        if (q->live[k] <= cheapest + cheapest / 8) {
            bool like = signature(q, k) == state->edge_signature;
            int rank = like ? at == state->edge_nodes ? 3 : 2 : q->live[k] <= cheapest ? 1 : 0;
            if (rank > best) best = rank, edge = k, *ops = at;
        }
        at--;
    }
    state->edge_signature = signature(q, edge);
    state->edge_nodes = *ops;
    return edge;
}

/* The values that cross the edge. */
static asc_status cut_at(asc_ctx *ctx, const queued *q, size_t edge, asc_cut_reason why) {
    const asc_walk *w = &q->walk;
    asc_tensor **out = asc_calloc(ctx, ASC_MEM_PROGRAM, edge + 1, sizeof(asc_tensor *));
    if (out == NULL) return ASC_RESOURCE_EXHAUSTED;
    size_t n = 0;
    for (size_t k = 0; k <= edge; k++) {
        if (is_op(w->nodes[k]) && q->last[k] > (int32_t)edge) out[n++] = w->nodes[k];
    }
    asc_status st = asc_exec_cut(ctx, out, n, why);
    asc_free(ctx, out);
    return st;
}

asc_status asc_queue_allows(asc_ctx *ctx, const asc_tensor *t, asc_cut_reason why) {
    if (!asc_runtime_of(ctx)->queue.limits.forbid) return ASC_OK;
    ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "%s%s%s would cut the queue (%s), and implicit cuts are forbidden",
             t->op != NULL ? t->op->name : "a leaf", t->label != NULL ? " in " : "",
             t->label != NULL ? t->label : "", asc_cut_reason_doc(why));
    return asc_hint(ctx, "call asc_run or asc_mark before, or do not set ASC_FORBID_CUTS");
}

/* The next exact count: at the limit, or an eighth of it from here. */
static double next_check(double now, double limit) { return fmax(limit, now + limit / 8); }

static void reset(asc_queue *q, size_t nodes, double bytes, double flops) {
    q->nodes = nodes;
    q->bytes = bytes;
    q->flops = flops;
    q->check_nodes = (size_t)next_check((double)nodes, (double)q->limits.nodes);
    if (q->check_nodes <= nodes) q->check_nodes = nodes + 1;
    q->check_bytes = next_check(bytes, q->limits.live_bytes);
    q->check_flops = next_check(flops, q->limits.flops);
}

static int limit_met(const asc_queue *q, const queued *now) {
    if (now->n_ops == 0) return -1;
    if (now->n_ops >= q->limits.nodes) return ASC_CUT_NODES;
    if (now->peak >= q->limits.live_bytes) return ASC_CUT_BYTES;
    if (now->flops >= q->limits.flops) return ASC_CUT_FLOPS;
    if ((double)(asc_now_ns() - q->since_ns) > q->limits.seconds * 1e9) return ASC_CUT_AGE;
    return -1;
}

asc_status asc_queue_check(asc_ctx *ctx) {
    asc_queue *q = &asc_runtime_of(ctx)->queue;
    asc_tensor **wanted = NULL;
    size_t n = 0, cap = 0, ops = 0;
    queued now = {0};
    asc_status st = ASC_OK;
    ASC_TRY(sinks(ctx, &wanted, &n, &cap));
    ASC_TRY(queued_collect(ctx, wanted, n, &now));
    int why = limit_met(q, &now);
    if (why < 0) {
        reset(q, now.n_ops, now.peak, now.flops);
        goto done;
    }
    ASC_TRY(asc_queue_allows(ctx, now.walk.nodes[now.walk.n - 1], (asc_cut_reason)why));
    size_t edge = choose_edge(q, &now, &ops);
    double bytes = 0.0, flops = 0.0;
    for (size_t k = edge + 1; k < now.walk.n; k++) {
        if (!is_op(now.walk.nodes[k])) continue;
        bytes += bytes_of(now.walk.nodes[k]);
        flops += flops_of(now.walk.nodes[k]);
    }
    ASC_TRY(cut_at(ctx, &now, edge, (asc_cut_reason)why));
    reset(q, now.n_ops - ops, bytes, flops);
done:
    if (st != ASC_OK) reset(q, 0, 0.0, 0.0); /* one message a limit's worth of ops, not one an op */
    queued_free(ctx, &now);
    asc_free(ctx, wanted);
    return st;
}

asc_status asc_queue_flush(asc_ctx *ctx, uint64_t boundary, asc_cut_reason why) {
    asc_queue *q = &asc_runtime_of(ctx)->queue;
    asc_tensor **wanted = NULL;
    size_t n = 0, cap = 0;
    queued now = {0};
    asc_status st = ASC_OK;
    ASC_TRY(sinks(ctx, &wanted, &n, &cap));
    if (n == 0) {
        reset(q, 0, 0.0, 0.0);
        goto done;
    }
    ASC_TRY(queued_collect(ctx, wanted, n, &now));
    if (why != ASC_CUT_MARK) ASC_TRY(asc_queue_allows(ctx, wanted[n - 1], why));
    /* what every step uses and none makes would be computed in each of them */
    for (size_t k = 0; k < now.walk.n; k++) {
        asc_tensor *t = now.walk.nodes[k];
        int32_t last = now.last[k];
        if (!is_op(t) || t->id >= boundary || last == (int32_t)now.walk.n) continue;
        if (now.walk.nodes[last]->id < boundary) continue;
        ASC_TRY(asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&wanted, &cap, n + 1, sizeof(asc_tensor *)));
        wanted[n++] = t;
    }
    ASC_TRY(asc_exec_cut(ctx, wanted, n, why));
    reset(q, 0, 0.0, 0.0);
done:
    q->edge_signature = q->edge_nodes = 0; /* each step of a loop starts alike */
    queued_free(ctx, &now);
    asc_free(ctx, wanted);
    return st;
}

asc_status asc_exec_pending(asc_ctx *ctx, size_t *out_nodes) {
    asc_tensor **wanted = NULL;
    size_t n = 0, cap = 0;
    queued now = {0};
    *out_nodes = 0;
    asc_status st = sinks(ctx, &wanted, &n, &cap);
    if (st == ASC_OK) st = queued_collect(ctx, wanted, n, &now);
    if (st == ASC_OK) *out_nodes = now.n_ops;
    queued_free(ctx, &now);
    asc_free(ctx, wanted);
    return st;
}

asc_queue_limits asc_exec_limits(const asc_ctx *ctx) { return ctx->rt->queue.limits; }

void asc_exec_set_limits(asc_ctx *ctx, const asc_queue_limits *limits) {
    asc_queue *q = &ctx->rt->queue;
    q->limits = *limits;
    if (q->limits.nodes == 0) q->limits.nodes = 1;
    q->exact_above = sqrt(q->limits.flops * 0.5e-6);
    reset(q, q->nodes, q->bytes, q->flops);
    if (!limits->find_loops) {
        asc_free(ctx, q->loops);
        q->loops = NULL;
    } else if (q->loops == NULL) {
        q->loops = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *q->loops); /* none: loops are not looked for */
    }
}

void asc_queue_init(asc_ctx *ctx) {
    asc_queue_limits limits = DEFAULTS;
    limits.forbid = asc_env_flag(ASC_ENV_FORBID_CUTS);
    limits.find_loops = asc_env_flag(ASC_ENV_FIND_LOOPS);
    asc_exec_set_limits(ctx, &limits);
}

void asc_queue_deinit(asc_ctx *ctx) {
    asc_free(ctx, ctx->rt->queue.loops);
    ctx->rt->queue.loops = NULL;
}
