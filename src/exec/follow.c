/* follow.c - see follow.h.
 * A value that has ended keeps its node, so a gradient may still be taken through it. Values lie in one block
 * that belongs to the follower while it follows: whatever else is cut meanwhile takes another one. */
#include "follow.h"
#include "ascribe/stats.h"
#include "profile_unit.h"
#include <string.h>

bool asc_follow_plans(const asc_ctx *ctx) {
    const asc_runtime *rt = asc_runtime_of(ctx);
    return rt->eager && !rt->emulates && rt->debug == 0 && rt->replay_cut == 0 &&
           rt->replay_path[0] == '\0' && rt->device->has_data;
}

static asc_status room(asc_ctx *ctx, asc_follow *f, size_t n) {
    asc_status st = ASC_OK;
    size_t cap = f->cap;
    if (n <= f->cap) return ASC_OK;
    ASC_TRY(asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&f->at, &cap, n, sizeof *f->at));
    cap = f->cap;
    ASC_TRY(asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&f->last, &cap, n, sizeof *f->last));
    f->cap = cap;
done:
    return st;
}

asc_status asc_follow_begin(asc_ctx *ctx, asc_exe *e) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_follow *f = &rt->follow;
    const asc_program *p = &e->program;
    asc_status st = room(ctx, f, p->n_nodes);
    if (st == ASC_OK) st = asc_exe_begin(ctx, e);
    if (st != ASC_OK) return st;
    memset(f->at, 0, p->n_nodes * sizeof *f->at);
    for (size_t i = 0; i < p->n_nodes; i++) {
        f->last[i] = (int32_t)i;
        for (int k = 0; k < p->nodes[i].n_in; k++) f->last[p->nodes[i].in[k]] = (int32_t)i;
    }
    for (size_t i = 0; i < p->n_outputs; i++) f->last[p->outputs[i]] = (int32_t)p->n_nodes;
    f->exe = e;
    f->next = 0;
    f->scratch = NULL;
    f->scope = rt->graph.n_scopes;
    f->block = rt->arena;
    f->block_bytes = rt->arena_bytes;
    rt->arena = NULL;
    rt->arena_bytes = 0;
    rt->blocks_taken = false; /* nodes reserve their scratch one by one */
    e->followed = true;
    return ASC_OK;
}

static bool same_attrs(const asc_runtime *rt, const asc_node *n, const asc_tensor *t) {
    const uint8_t scalars = rt->scalar_slots[n->op->opcode];
    if (memcmp(n->attrs.i, t->attrs.i, sizeof n->attrs.i) != 0) return false;
    for (int k = 0; k < ASC_N_FATTR; k++) {
        if ((scalars >> k & 1) == 0 && memcmp(&n->attrs.f[k], &t->attrs.f[k], sizeof(double)) != 0)
            return false;
    }
    return true;
}

static bool expected(const asc_runtime *rt, size_t i, const asc_tensor *t) {
    const asc_follow *f = &rt->follow;
    const asc_program *p = &f->exe->program;
    const asc_node *n = &p->nodes[i];
    if (n->op != t->op || n->n_in != t->n_in || n->dtype != t->dtype || !asc_shape_eq(&n->shape, &t->shape) ||
        !same_attrs(rt, n, t))
        return false;
    for (int k = 0; k < t->n_in; k++) {
        const asc_node *in = &p->nodes[n->in[k]];
        const asc_tensor *x = t->in[k];
        if (x->buf == NULL) return false;
        if (in->op != NULL || f->at[n->in[k]] != NULL
                ? f->at[n->in[k]] != x
                : in->dtype != x->dtype || !asc_shape_eq(&in->shape, &x->shape))
            return false;
    }
    return true;
}

/* A value in the block that somebody else holds as well gets storage of its own. */
static asc_status move_out(asc_ctx *ctx, asc_buffer *b) {
    asc_buffer *own = asc_buffer_make(ctx, ASC_MEM_ACTIVATIONS, b->dtype, b->elems);
    if (own == NULL) return ASC_RESOURCE_EXHAUSTED;
    memcpy(own->data, b->data, asc_exec_device(ctx)->storage_bytes(b->dtype, b->elems));
    b->data = own->data;
    b->bytes = own->bytes;
    b->cached = own->cached;
    b->placed = false;
    own->data = NULL;
    own->placed = true; /* its record is all that is left of it */
    asc_buffer_release(ctx, own);
    return ASC_OK;
}

static asc_status end_value(asc_ctx *ctx, asc_tensor *t) {
    asc_status st = ASC_OK;
    asc_buffer *b = t->buf;
    if (b == NULL || !b->placed) return ASC_OK; /* moved out before */
    if (b->refs > 1) st = move_out(ctx, b);
    if (st == ASC_OK) {
        asc_buffer_release(ctx, b);
        t->buf = NULL;
    }
    return st;
}

/* Ends inputs that are used for the last time by node i. */
static asc_status end_inputs(asc_ctx *ctx, asc_follow *f, size_t i) {
    const asc_node *n = &f->exe->program.nodes[i];
    for (int k = 0; k < n->n_in; k++) {
        const int32_t at = n->in[k];
        if (f->last[at] != (int32_t)i || f->at[at] == NULL) continue;
        asc_tensor *t = f->at[at];
        f->at[at] = NULL;
        asc_status st = end_value(ctx, t);
        asc_tensor_release(t);
        if (st != ASC_OK) return st;
    }
    return ASC_OK;
}

/* Where the value of node i is to lie. */
static asc_buffer *place(asc_ctx *ctx, asc_exe *e, size_t i) {
    const asc_slot *s = &e->plan.slots[i];
    const asc_node *n = &e->program.nodes[i];
    if (s->place == ASC_PLACE_OUTPUT) {
        asc_buffer *b = asc_buffer_make(ctx, ASC_MEM_ACTIVATIONS, n->dtype, asc_shape_elems(&n->shape));
        if (b != NULL) e->data[i] = b->data;
        return b;
    }
    if (s->place == ASC_PLACE_ALIAS) e->data[i] = (char *)e->data[s->root] + s->offset;
    return asc_buffer_placed(ctx, n->dtype, asc_shape_elems(&n->shape), e->data[i], s->bytes);
}

/* What somebody else holds of a value that node i is about to overwrite. */
static asc_status spare_overwritten(asc_ctx *ctx, const asc_follow *f, size_t i) {
    const asc_exe *e = f->exe;
    const asc_node *n = &e->program.nodes[i];
    if (e->plan.slots[i].place != ASC_PLACE_INPLACE) return ASC_OK;
    for (int k = 0; k < n->n_in; k++) {
        const asc_tensor *t = f->at[n->in[k]];
        if (t == NULL || t->buf == NULL || !t->buf->placed || t->buf->refs < 2) continue;
        asc_status st = move_out(ctx, t->buf);
        if (st != ASC_OK) return st;
    }
    return ASC_OK;
}

static asc_status run_node(asc_ctx *ctx, asc_exe *e, size_t i) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_follow *f = &rt->follow;
    asc_status st = asc_block_reserve(ctx, ASC_MEM_SCRATCH, &rt->scratch, &rt->scratch_bytes,
                                      e->plan.scratch_bytes); /* idle blocks may have been given back */
    if (st != ASC_OK) return st;
    const asc_run_args a = {.program = &e->program,
                            .plan = &e->plan,
                            .code = e->code,
                            .data = e->data,
                            .scratch = rt->scratch,
                            .only = i + 1,
                            .fresh = f->ran != rt->stats.nodes_run || f->scratch != rt->scratch};
    asc_prof_mark m = asc_prof_run_begin(ctx);
    const uint64_t t0 = asc_now_ns();
    rt->in_cut = true;
    st = rt->device->run(ctx, rt->device_state, &a);
    rt->in_cut = false;
    f->ran = ++rt->stats.nodes_run;
    f->scratch = rt->scratch;
    rt->stats.seconds += (double)(asc_now_ns() - t0) * 1e-9;
    asc_prof_run_end(ctx, m);
    return st;
}

static asc_status step(asc_ctx *ctx, asc_follow *f, size_t i, asc_tensor *t) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_exe *e = f->exe;
    asc_node *n = &e->program.nodes[i];
    const uint8_t scalars = rt->scalar_slots[n->op->opcode];
    asc_status st = spare_overwritten(ctx, f, i);
    if (st != ASC_OK) return st;
    for (int k = 0; k < n->n_in; k++) {
        const int32_t in = n->in[k];
        if (e->program.nodes[in].op != NULL) continue;
        e->data[in] = t->in[k]->buf->data;
        if (f->at[in] == NULL) asc_tensor_retain(f->at[in] = t->in[k]);
    }
    for (int k = 0; k < ASC_N_FATTR; k++) {
        if ((scalars >> k & 1) != 0) n->attrs.f[k] = t->attrs.f[k];
    }
    asc_buffer *b = place(ctx, e, i);
    if (b == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (e->plan.slots[i].place != ASC_PLACE_ALIAS) st = run_node(ctx, e, i);
    if (st != ASC_OK) {
        asc_buffer_release(ctx, b);
        return st;
    }
    if (f->last[i] == (int32_t)i) { /* nobody needs it */
        asc_buffer_release(ctx, b);
    } else {
        t->buf = b;
        asc_tensor_retain(t);
        f->at[i] = t;
    }
    rt->stats.cuts[ASC_CUT_EAGER]++;
    return end_inputs(ctx, f, i);
}

bool asc_follow_step(asc_ctx *ctx, asc_tensor *t, asc_status *out_st) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_follow *f = &rt->follow;
    const asc_program *p = &f->exe->program;
    while (f->next < p->n_nodes && p->nodes[f->next].op == NULL) f->next++;
    if (f->next == p->n_nodes || !expected(rt, f->next, t)) return false;
    asc_prof_mark m = asc_prof_begin(ctx);
    *out_st = step(ctx, f, f->next++, t);
    asc_prof_end(ctx, m, ASC_PROF_CUT, asc_cut_reason_name(ASC_CUT_EAGER), NULL);
    return true;
}

void asc_follow_end(asc_ctx *ctx) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_follow *f = &rt->follow;
    asc_exe *e = f->exe;
    if (e == NULL) return;
    f->exe = NULL;
    for (size_t i = 0; i < e->program.n_nodes; i++) {
        asc_tensor *t = f->at[i];
        if (t == NULL) continue;
        f->at[i] = NULL;
        /* no memory for what others hold: they lose it, which is an error where they read it */
        if (end_value(ctx, t) != ASC_OK) asc_graph_poison(&rt->graph);
        asc_tensor_release(t);
    }
    if (f->next == e->program.n_nodes) rt->stats.flops += e->plan.cost.flops;
    asc_free(ctx, rt->arena);
    rt->arena = f->block;
    rt->arena_bytes = f->block_bytes;
    f->block = NULL;
    e->followed = false;
    if (e->dropped) asc_exe_destroy(ctx, e);
}

void asc_follow_scope_end(asc_ctx *ctx) {
    const asc_runtime *rt = asc_runtime_of(ctx);
    if (rt->follow.exe != NULL && rt->graph.n_scopes <= rt->follow.scope) asc_follow_end(ctx);
}

void asc_follow_deinit(asc_ctx *ctx) {
    asc_follow *f = &asc_runtime_of(ctx)->follow;
    asc_follow_end(ctx);
    asc_free(ctx, f->at);
    asc_free(ctx, f->last);
    *f = (asc_follow){0};
}
