/* cut.c - turns recorded ops into a program and runs it: the single end of every mode.
 * A cut computes the values asked for and nothing else; values in between are dropped after their last use
 * (the plan knows it) and would be computed again if someone asked later. */
#include "runtime.h"

typedef struct cut {
    asc_program prog;
    asc_walk walk; /* what the targets need and has no value yet, and the values it reads; by program index */
    void **data;
} cut;

static asc_status build(asc_ctx *ctx, cut *c, asc_tensor *const *ts, size_t n_ts) {
    asc_status st = asc_walk_ancestors(ctx, ts, n_ts, true, 0, &c->walk);
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < c->walk.n; i++) {
        asc_tensor *t = c->walk.nodes[i];
        asc_node n = {.dtype = t->dtype, .shape = t->shape, .label = t->label};
        if (t->buf == NULL) {
            n.op = t->op;
            n.attrs = t->attrs;
            n.level = t->level;
            n.n_in = t->n_in;
            for (int k = 0; k < t->n_in; k++) n.in[k] = t->in[k]->slot;
        }
        if (asc_program_add(&c->prog, &n) < 0) return ASC_RESOURCE_EXHAUSTED;
    }
    for (size_t i = 0; i < n_ts; i++) {
        bool seen = ts[i]->buf != NULL;
        for (size_t k = 0; k < c->prog.n_outputs && !seen; k++) seen = c->prog.outputs[k] == ts[i]->slot;
        if (!seen && (st = asc_program_output(&c->prog, ts[i]->slot)) != ASC_OK) return st;
    }
    return asc_program_verify(ctx, &c->prog);
}

static asc_status plan(asc_ctx *ctx, cut *c, asc_plan *out) {
    asc_runtime *rt = asc_runtime_of(ctx);
    const asc_device *dev = rt->device;
    asc_status st = asc_plan_make(ctx, &c->prog, dev->storage_bytes, dev->aliases_views, out);
    for (size_t i = 0; st == ASC_OK && i < c->prog.n_nodes; i++) {
        const asc_node *n = &c->prog.nodes[i];
        if (n->op == NULL || out->slots[i].place == ASC_PLACE_ALIAS) continue;
        asc_call call;
        asc_node_call(&c->prog, n, &call);
        st = dev->supports(ctx, rt->device_state, &call);
        size_t s = st == ASC_OK ? dev->scratch_bytes(ctx, rt->device_state, &call) : 0;
        if (s > out->scratch_bytes) out->scratch_bytes = s;
    }
    return st;
}

/* Storage of every node; buffers of outputs are made here and attached to their tensors only after the run.
 */
static asc_status place(asc_ctx *ctx, cut *c, const asc_plan *p, asc_buffer **outs) {
    asc_runtime *rt = asc_runtime_of(ctx);
    size_t n = c->prog.n_nodes;
    c->data = asc_calloc(ctx, ASC_MEM_PROGRAM, n + 1, sizeof *c->data);
    if (c->data == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < c->prog.n_outputs; i++) {
        const asc_node *node = &c->prog.nodes[c->prog.outputs[i]];
        outs[i] = asc_buffer_make(ctx, ASC_MEM_ACTIVATIONS, node->dtype, asc_shape_elems(&node->shape));
        if (outs[i] == NULL) return ASC_RESOURCE_EXHAUSTED;
        c->data[c->prog.outputs[i]] = outs[i]->data;
    }
    if (!rt->device->has_data) return ASC_OK;
    asc_status st = asc_block_reserve(ctx, ASC_MEM_ACTIVATIONS, &rt->arena, &rt->arena_bytes, p->arena_bytes);
    if (st == ASC_OK)
        st = asc_block_reserve(ctx, ASC_MEM_SCRATCH, &rt->scratch, &rt->scratch_bytes, p->scratch_bytes);
    if (st != ASC_OK) return st;
    for (size_t i = 0; i < n; i++) {
        const asc_slot *s = &p->slots[i];
        if (s->place == ASC_PLACE_INPUT) c->data[i] = c->walk.nodes[i]->buf->data;
        if (s->place == ASC_PLACE_ARENA) c->data[i] = (char *)rt->arena + s->offset;
        if (s->place == ASC_PLACE_ALIAS || s->place == ASC_PLACE_INPLACE)
            c->data[i] = (char *)c->data[s->root] + s->offset;
    }
    return ASC_OK;
}

static void count(asc_runtime *rt, const cut *c, const asc_plan *p, asc_cut_reason why, uint64_t ns) {
    asc_exec_stats *s = &rt->stats;
    s->cuts[why]++;
    s->nodes_run += c->prog.n_nodes;
    s->flops += p->cost.flops;
    s->last_arena_bytes = p->arena_bytes;
    if (p->arena_bytes > s->max_arena_bytes) s->max_arena_bytes = p->arena_bytes;
    s->seconds += (double)ns * 1e-9;
    rt->pending_nodes = 0;
    rt->pending_flops = 0.0;
}

static void cut_deinit(asc_ctx *ctx, cut *c) {
    asc_program_deinit(&c->prog);
    asc_walk_free(ctx, &c->walk);
    asc_free(ctx, c->data);
}

asc_status asc_exec_cut(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_cut_reason why) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_status st = ASC_OK;
    cut c = {0};
    asc_buffer **outs = NULL;
    asc_plan p;
    asc_program_init(&c.prog, ctx);
    ASC_TRY(build(ctx, &c, ts, n));
    if (c.prog.n_outputs == 0) goto done;
    ASC_TRY(plan(ctx, &c, &p));
    outs = asc_calloc(ctx, ASC_MEM_PROGRAM, c.prog.n_outputs, sizeof(asc_buffer *));
    if (outs == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(place(ctx, &c, &p, outs));
    asc_run_args a = {.program = &c.prog,
                      .plan = &p,
                      .data = c.data,
                      .scratch = rt->scratch,
                      .op_ns = rt->profile ? rt->stats.op_ns : NULL};
    uint64_t t0 = asc_now_ns();
    rt->in_cut = true;
    st = rt->device->run(ctx, rt->device_state, &a);
    rt->in_cut = false;
    count(rt, &c, &p, why, asc_now_ns() - t0);
    if (st != ASC_OK) goto done;
    for (size_t i = 0; i < c.prog.n_outputs; i++) {
        c.walk.nodes[c.prog.outputs[i]]->buf = outs[i];
        outs[i] = NULL;
    }
done:
    for (size_t i = 0; outs != NULL && i < c.prog.n_outputs; i++) asc_buffer_release(ctx, outs[i]);
    asc_free(ctx, outs);
    cut_deinit(ctx, &c);
    return st;
}

asc_status asc_exec_price(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_plan *out) {
    cut c = {0};
    *out = (asc_plan){0};
    asc_status st = asc_graph_take_error(asc_graph_of(ctx));
    asc_program_init(&c.prog, ctx);
    if (st == ASC_OK) st = build(ctx, &c, ts, n);
    if (st == ASC_OK) st = plan(ctx, &c, out);
    out->slots = NULL;
    cut_deinit(ctx, &c);
    return st;
}

asc_status asc_exec_text(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_strbuf *out) {
    cut c = {0};
    asc_program_init(&c.prog, ctx);
    asc_status st = build(ctx, &c, ts, n);
    if (st == ASC_OK) asc_program_print(&c.prog, out);
    cut_deinit(ctx, &c);
    return st != ASC_OK ? st : asc_strbuf_status(out);
}
