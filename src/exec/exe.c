/* exe.c - makes executables and runs them; see exe.h.
 * What a run costs beside its kernels: one pointer for each input, output and value that lies in one of them.
 * All other pointers are set once, and again only when the context's block of temporaries has moved. */
#include "exe.h"
#include "debug.h"
#include "emulate.h"
#include "passes.h"
#include "profile_unit.h"
#include <string.h>

static asc_status optimise(asc_ctx *ctx, asc_exe *e, uint64_t off) {
    const asc_device *dev = asc_exec_device(ctx);
    for (size_t i = 0; i < e->program.n_nodes; i++) e->program.nodes[i].origin = (int32_t)i + 1;
    asc_status st = asc_program_verify(ctx, &e->program);
    if (st == ASC_OK && asc_runtime_of(ctx)->emulates)
        st = asc_program_emulate(ctx, &e->program, ctx->precision);
    else if (st == ASC_OK && strcmp(ctx->device_name, "reference") != 0)
        st = asc_program_keep_int8(ctx, &e->program);
    if (st != ASC_OK) return st;
    asc_pass_env env = {
        .storage_bytes = dev->storage_bytes, .alias = dev->aliases_views, .fuses = dev->fuses, .off = off};
    env.memory_bytes = asc_runtime_of(ctx)->arena_bound;
    env.rows_depend = dev->rows_depend != NULL && dev->rows_depend(ctx);
    const bool text = asc_runtime_of(ctx)->debug >= ASC_DEBUG_TEXT;
    size_t done[ASC_MOST_PASSES] = {0};
    env.done = done;
    if (text) asc_debug_text(ctx, "program as recorded", &e->program);
    st = asc_passes_run(ctx, &e->program, &env);
    if (text && st == ASC_OK) asc_debug_text(ctx, "program after the passes", &e->program);
    for (size_t i = 0; i < asc_n_passes && text; i++)
        if (done[i] > 0) asc_logf(ctx, ASC_LOG_DEBUG, "pass %s: %zu", asc_passes[i]->name, done[i]);
    return st;
}

static asc_status plan(asc_ctx *ctx, asc_exe *e) {
    const asc_device *dev = asc_exec_device(ctx);
    void *state = asc_exec_device_state(ctx);
    asc_prof_mark m = asc_prof_begin(ctx);
    asc_status st = dev->fuses
                        ? asc_plan_make_fused(ctx, &e->program, dev->storage_bytes, &e->plan)
                        : asc_plan_make(ctx, &e->program, dev->storage_bytes, dev->aliases_views, &e->plan);
    for (size_t i = 0; st == ASC_OK && i < e->program.n_nodes; i++) {
        const asc_node *n = &e->program.nodes[i];
        if (n->op == NULL || e->plan.slots[i].place == ASC_PLACE_ALIAS) continue;
        asc_call call;
        asc_node_call(&e->program, n, &call);
        st = dev->supports(ctx, state, &call);
        size_t s = st == ASC_OK ? dev->scratch_bytes(ctx, state, &call) : 0;
        if (s > e->plan.scratch_bytes) e->plan.scratch_bytes = s;
    }
    asc_prof_end(ctx, m, ASC_PROF_PLAN, NULL, NULL);
    return st;
}

/* Values whose place is not theirs: views, and results over an input. */
static bool follows(const asc_slot *s) {
    return s->place == ASC_PLACE_ALIAS || s->place == ASC_PLACE_INPLACE;
}

static bool moves(const asc_slot *s) { return s->place == ASC_PLACE_INPUT || s->place == ASC_PLACE_OUTPUT; }

static size_t count_scalars(const asc_node *n, asc_exe_scalar *out) {
    size_t k = 0;
    for (int i = 0; n->op != NULL && i < n->op->n_attrs; i++) {
        if (n->op->attrs[i].kind != ASC_ATTR_SCALAR) continue;
        if (out != NULL) out[k] = (asc_exe_scalar){.from = n->origin - 1, .slot = n->op->attrs[i].slot};
        k++;
    }
    return k;
}

/* The lists of what changes from run to run. */
static asc_status list(asc_ctx *ctx, asc_exe *e) {
    asc_program *p = &e->program;
    const asc_slot *slots = e->plan.slots;
    for (size_t i = 0; i < p->n_nodes; i++) {
        const asc_node *n = &p->nodes[i];
        if (n->origin <= 0)
            return ASC_FAIL(ctx, ASC_INTERNAL, "program: %%%zu does not say which recorded node it was", i);
        e->n_inputs += n->op == NULL;
        e->n_scalars += count_scalars(n, NULL);
        e->n_aliases += follows(&slots[i]) && moves(&slots[slots[i].root]);
    }
    e->data = asc_arena_alloc(&p->arena, (p->n_nodes + 1) * sizeof *e->data);
    e->input_node = asc_arena_alloc(&p->arena, (e->n_inputs + 1) * sizeof *e->input_node);
    e->input_from = asc_arena_alloc(&p->arena, (e->n_inputs + 1) * sizeof *e->input_from);
    e->scalars = asc_arena_alloc(&p->arena, (e->n_scalars + 1) * sizeof *e->scalars);
    e->aliases = asc_arena_alloc(&p->arena, (e->n_aliases + 1) * sizeof *e->aliases);
    e->output_like = asc_arena_alloc(&p->arena, (p->n_outputs + 1) * sizeof *e->output_like);
    int32_t *first = asc_arena_alloc(&p->arena, (p->n_nodes + 1) * sizeof *first); /* output + 1 */
    if (e->data == NULL || e->input_node == NULL || e->input_from == NULL || e->scalars == NULL ||
        e->aliases == NULL || e->output_like == NULL || first == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < p->n_outputs; i++) {
        int32_t *f = &first[p->outputs[i]];
        e->output_like[i] = *f - 1;
        if (*f == 0) *f = (int32_t)i + 1;
    }
    size_t n_in = 0, n_s = 0, n_al = 0;
    for (size_t i = 0; i < p->n_nodes; i++) {
        const asc_node *n = &p->nodes[i];
        if (n->op == NULL) {
            e->input_node[n_in] = (int32_t)i;
            e->input_from[n_in++] = n->origin - 1;
        }
        size_t more = count_scalars(n, e->scalars + n_s);
        while (more-- > 0) e->scalars[n_s++].node = (int32_t)i;
        if (follows(&slots[i]) && moves(&slots[slots[i].root]))
            e->aliases[n_al++] = (asc_exe_alias){(int32_t)i, slots[i].root, slots[i].offset};
    }
    return ASC_OK;
}

static asc_status make(asc_ctx *ctx, asc_program *take, bool recorded, uint64_t off, asc_exe **out) {
    uint64_t t0 = asc_now_ns();
    size_t live = ctx->mem.live_total - asc_alloc_size(take->nodes);
    asc_status st = ASC_OK;
    *out = NULL;
    asc_exe *e = asc_calloc(ctx, ASC_MEM_PROGRAM, 1, sizeof *e);
    if (e == NULL) {
        asc_program_deinit(take);
        return ASC_RESOURCE_EXHAUSTED;
    }
    e->program = *take;
    asc_program_init(take, ctx);
    if (recorded) ASC_TRY(optimise(ctx, e, off));
    ASC_TRY(plan(ctx, e));
    ASC_TRY(list(ctx, e));
    ASC_TRY(asc_fold_init(ctx, &e->program, &e->plan, &e->fold));
    e->bytes = ctx->mem.live_total - live;
    e->compile_ns = asc_now_ns() - t0;
    asc_prof_end(ctx, (asc_prof_mark){.ns = t0}, ASC_PROF_COMPILE, "program", NULL);
    *out = e;
    e = NULL;
done:
    asc_exe_destroy(ctx, e);
    return st;
}

asc_status asc_exe_make(asc_ctx *ctx, asc_program *take_recorded, uint64_t off, asc_exe **out) {
    return make(ctx, take_recorded, true, off, out);
}

asc_status asc_exe_of_program(asc_ctx *ctx, asc_program *take, asc_exe **out) {
    return make(ctx, take, false, 0, out);
}

void asc_exe_destroy(asc_ctx *ctx, asc_exe *e) {
    if (e == NULL) return;
    if (e->followed) {
        e->dropped = true;
        return;
    }
    const asc_device *dev = asc_exec_device(ctx);
    if (e->code != NULL && dev->discard != NULL) dev->discard(ctx, asc_exec_device_state(ctx), e->code);
    asc_fold_deinit(ctx, &e->fold);
    asc_program_deinit(&e->program);
    asc_free(ctx, e);
}

asc_status asc_exe_prepare(asc_ctx *ctx, asc_exe *e) {
    if (e->prepared) return ASC_OK;
    const asc_device *dev = asc_exec_device(ctx);
    uint64_t t0 = asc_now_ns();
    size_t live = ctx->mem.live_total;
    if (dev->prepare != NULL) {
        asc_status st = dev->prepare(ctx, asc_exec_device_state(ctx), &e->program, &e->plan, &e->code);
        if (st != ASC_OK) return st;
    }
    e->prepared = true;
    e->bytes += ctx->mem.live_total > live ? ctx->mem.live_total - live : 0;
    e->compile_ns += asc_now_ns() - t0;
    asc_prof_end(ctx, (asc_prof_mark){.ns = t0}, ASC_PROF_COMPILE, "device code", NULL);
    return ASC_OK;
}

asc_status asc_exe_begin(asc_ctx *ctx, asc_exe *e) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_status st = asc_exe_prepare(ctx, e);
    if (st != ASC_OK || !rt->device->has_data) return st;
    rt->blocks_taken = true;
    st = asc_block_reserve(ctx, ASC_MEM_ACTIVATIONS, &rt->arena, &rt->arena_bytes, e->plan.arena_bytes);
    if (st == ASC_OK)
        st = asc_block_reserve(ctx, ASC_MEM_SCRATCH, &rt->scratch, &rt->scratch_bytes, e->plan.scratch_bytes);
    if (st != ASC_OK) rt->blocks_taken = false;
    if (st != ASC_OK || (e->placed && rt->arena == e->arena_start)) return st;
    const asc_slot *slots = e->plan.slots;
    for (size_t i = 0; i < e->program.n_nodes; i++) {
        if (slots[i].place == ASC_PLACE_ARENA) e->data[i] = (char *)rt->arena + slots[i].offset;
    }
    asc_fold_place(&e->fold, e->data);
    for (size_t i = 0; i < e->program.n_nodes; i++) {
        if (follows(&slots[i]) && slots[slots[i].root].place == ASC_PLACE_ARENA)
            e->data[i] = (char *)e->data[slots[i].root] + slots[i].offset;
    }
    e->arena_start = rt->arena;
    e->placed = true;
    return ASC_OK;
}

static void count(asc_runtime *rt, const asc_exe *e, asc_cut_reason why, uint64_t ns) {
    asc_exec_stats *s = &rt->stats;
    s->cuts[why]++;
    s->nodes_run += e->program.n_nodes;
    s->flops += e->plan.cost.flops;
    s->last_arena_bytes = e->plan.arena_bytes;
    if (e->plan.arena_bytes > s->max_arena_bytes) s->max_arena_bytes = e->plan.arena_bytes;
    s->seconds += (double)ns * 1e-9;
}

asc_status asc_exe_run(asc_ctx *ctx, asc_exe *e, asc_cut_reason why) {
    asc_runtime *rt = asc_runtime_of(ctx);
    for (size_t i = 0; i < e->n_aliases && rt->device->has_data; i++) {
        const asc_exe_alias *a = &e->aliases[i];
        e->data[a->node] = (char *)e->data[a->root] + a->offset;
    }
    asc_run_args a = {
        .program = &e->program, .plan = &e->plan, .code = e->code, .data = e->data, .scratch = rt->scratch};
    a.folded = asc_fold_ready(&e->fold, &e->program);
    asc_prof_plan(ctx, &e->program, &e->plan);
    asc_prof_mark m = asc_prof_run_begin(ctx);
    uint64_t t0 = asc_now_ns();
    rt->in_cut = true;
    asc_status st =
        rt->debug < ASC_DEBUG_TRAP ? rt->device->run(ctx, rt->device_state, &a) : asc_debug_run(ctx, &a);
    rt->in_cut = false;
    /* steps of the debugger have storage of their own */
    e->fold.filled = a.folded || (st == ASC_OK && e->fold.block != NULL && rt->debug < ASC_DEBUG_TRAP);
    asc_prof_run_end(ctx, m);
    rt->blocks_taken = false;
    count(rt, e, why, asc_now_ns() - t0);
    return st;
}
