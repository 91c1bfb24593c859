/* cpu_code.c - makes and runs prepared code. What a run costs besides its kernels is this file's loop: a copy
 * of a few pointers, one test for a stop, one test for the profiler. */
#include "cpu_code.h"
#include "matmul_shape.h"
#include "rewrite.h"

/* Whether node i does anything in a run, and not inside a region that began before it. */
static bool runs(const asc_program *p, const asc_plan *plan, size_t i) {
    const asc_node *node = &p->nodes[i];
    return node->op != NULL && plan->slots[i].place != ASC_PLACE_ALIAS && asc_shape_elems(&node->shape) != 0;
}

static void make_unit(const asc_ctx *ctx, const asc_kernel_index *index, const asc_program *p, size_t i,
                      asc_cpu_unit *u) {
    const asc_node *node = &p->nodes[i];
    asc_node_call(p, node, &u->call);
    const asc_kernel *kernel = asc_kernel_index_pick(index, &u->call, (asc_isa)ctx->isa);
    u->kernel = kernel;
    u->run = kernel != NULL ? kernel->run : asc_cpu_fallback_run;
    u->n_threads = asc_cpu_threads_for(&u->call, ctx->n_threads);
    u->node = (int32_t)i;
    u->constant = node->constant;
    for (int k = 0; k < node->n_in; k++) u->in[k] = node->in[k];
}

/* Makes the tile storage of the context at least so large. */
static asc_status need_tiles(asc_ctx *ctx, asc_cpu_state *s, const asc_fused *f) {
    size_t bytes;
    if (!asc_mul_size(f->tile_bytes, (size_t)ctx->n_threads, &bytes)) bytes = SIZE_MAX;
    if (bytes <= s->tiles_bytes) return ASC_OK;
    void *tiles = bytes == SIZE_MAX ? NULL : asc_alloc_buffer(ctx, ASC_MEM_SCRATCH, bytes);
    if (tiles == NULL) {
        ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "out of memory: %zu bytes for the tiles of fused regions",
                 bytes);
        return asc_hint(ctx, "without the pass 'fuse' none are needed");
    }
    asc_free(ctx, s->tiles);
    s->tiles = tiles;
    s->tiles_bytes = bytes;
    return ASC_OK;
}

/* The units of nodes [i, last]: one region, or the nodes by themselves when they are none. */
static asc_status make_units(asc_ctx *ctx, asc_cpu_state *s, const asc_program *p, const asc_plan *plan,
                             size_t i, size_t last, asc_cpu_code *code) {
    asc_region region;
    if (last == i || !asc_region_of(p, i, last, &region)) {
        for (; i <= last; i++) {
            if (!runs(p, plan, i)) continue;
            if (plan->slots[i].place == ASC_PLACE_TILE)
                return ASC_FAIL(ctx, ASC_INTERNAL, "node %zu has no storage and is in no region", i);
            make_unit(ctx, &s->index, p, i, &code->units[code->n_units++]);
        }
        return ASC_OK;
    }
    asc_cpu_unit *u = &code->units[code->n_units++];
    make_unit(ctx, &s->index, p, i, u);
    if (!region.product) u->run = NULL;
    asc_status st = asc_fused_make(ctx, &s->index, p, plan, &region, &u->fused);
    return st == ASC_OK ? need_tiles(ctx, s, u->fused) : st;
}

/* The node whose elements `node` has, in the same order. */
static int32_t without_reshapes(const asc_program *p, int32_t node) {
    while (asc_node_is(&p->nodes[node], ASC_OPCODE_RESHAPE)) node = p->nodes[node].in[0];
    return node;
}

/* Marks products whose left rows an earlier one has left in scratch (asc_kernel.left_form). Between the two
 * nothing may use scratch: units without a product in front work in tiles. */
static void share_left(const asc_ctx *ctx, const asc_program *p, asc_cpu_code *code) {
    int form = 0; /* of what is in scratch: 0 = nothing to use */
    asc_cpu_unit *maker = NULL;
    int32_t left = -1;
    asc_matmul_shape shape = {0};
    for (asc_cpu_unit *u = code->units, *end = u + code->n_units; u < end; u++) {
        if (u->run == NULL) continue;
        const int its =
            u->kernel != NULL && u->kernel->left_form != NULL ? u->kernel->left_form(&u->call) : 0;
        if (its != 0 && !u->constant) { /* a constant is not always run */
            asc_matmul_shape s;
            const int32_t node = without_reshapes(p, u->in[0]);
            asc_matmul_shape_of(&u->call, &s);
            u->left_ready = form == its && left == node && s.m == shape.m && s.k == shape.k;
            if (u->left_ready)
                maker->left_keep = true;
            else
                maker = u;
            form = its;
            left = node;
            shape = s;
        } else if (u->kernel == NULL ||
                   (u->kernel->scratch != NULL && u->kernel->scratch(&u->call, ctx->n_threads) > 0)) {
            form = 0;
        }
    }
}

/* For the profiler: what the unit is called and costs. */
static void describe(asc_ctx *ctx, const asc_program *p, const asc_plan *plan, asc_cpu_unit *u) {
    const size_t first = (size_t)u->node;
    const size_t n = u->fused != NULL ? asc_region_end(p, first) - first + 1 : 1;
    int threads = u->n_threads;
    if (u->fused != NULL && u->fused->n_threads > threads) threads = u->fused->n_threads;
    u->prof = asc_prof_unit_of(ctx, p, plan, first, n, threads);
}

asc_status asc_cpu_prepare(asc_ctx *ctx, void *state, const asc_program *program, const asc_plan *plan,
                           void **out_code) {
    size_t bytes, last;
    *out_code = NULL;
    asc_cpu_code *code = NULL;
    size_t n = 0;
    for (size_t i = 0; i < program->n_nodes; i = asc_region_end(program, i) + 1) n++;
    for (size_t i = 0; i < program->n_nodes; i++) n += runs(program, plan, i) ? 1 : 0;
    if (asc_mul_size(n, sizeof(asc_cpu_unit), &bytes) && asc_add_size(bytes, sizeof *code, &bytes))
        code = asc_calloc(ctx, ASC_MEM_PROGRAM, 1, bytes);
    if (code == NULL)
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "out of memory: prepared code of %zu nodes",
                        program->n_nodes);
    code->program = program;
    asc_status st = ASC_OK;
    for (size_t i = 0; st == ASC_OK && i < program->n_nodes; i = last + 1) {
        last = asc_region_end(program, i);
        st = make_units(ctx, state, program, plan, i, last, code);
    }
    if (st != ASC_OK) {
        asc_cpu_discard(ctx, state, code);
        return st;
    }
    share_left(ctx, program, code);
    for (size_t i = 0; i < code->n_units; i++) describe(ctx, program, plan, &code->units[i]);
    *out_code = code;
    return ASC_OK;
}

void asc_cpu_discard(asc_ctx *ctx, void *state, void *code) {
    (void)state;
    asc_cpu_code *c = code;
    for (size_t i = 0; c != NULL && i < c->n_units; i++) asc_free(ctx, c->units[i].fused);
    asc_free(ctx, c);
}

static inline void fill_args(const asc_cpu_unit *u, const asc_run_args *a, asc_kargs *args) {
    args->call = &u->call;
    for (int k = 0; k < u->call.n_in; k++) args->in[k] = a->data[u->in[k]];
    args->out = a->data[u->node];
    args->scratch = a->scratch;
    args->n_threads = u->n_threads;
    args->post = NULL;
    args->left_ready = u->left_ready && !a->fresh;
    args->left_keep = u->left_keep;
}

static inline bool takes_post(const asc_cpu_unit *u) { return u->kernel != NULL && u->kernel->takes_post; }

static void run_region(const asc_cpu_unit *u, const asc_run_args *a, void *tiles) {
    if (u->run == NULL) {
        asc_fused_run(u->fused, a->data, tiles);
        return;
    }
    const asc_fused_post post = asc_fused_post_of(u->fused, a->data, tiles);
    asc_kargs args;
    fill_args(u, a, &args);
    if (takes_post(u)) args.post = &post.base;
    u->run(&args);
    if (!takes_post(u)) asc_fused_post_all(&post);
}

static inline void run_unit(const asc_cpu_unit *u, const asc_run_args *a, void *tiles) {
    asc_kargs args;
    if (u->fused != NULL) {
        run_region(u, a, tiles);
        return;
    }
    fill_args(u, a, &args);
    u->run(&args);
}

/* The unit of one node, by bisection; NULL: the node does not run. */
static const asc_cpu_unit *unit_of(const asc_cpu_code *code, int32_t node) {
    size_t low = 0, high = code->n_units;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (code->units[mid].node < node) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < code->n_units && code->units[low].node == node ? &code->units[low] : NULL;
}

asc_status asc_cpu_code_run(asc_ctx *ctx, const asc_cpu_state *state, const asc_cpu_code *code,
                            const asc_run_args *a) {
    if (code->program != a->program)
        return ASC_FAIL(ctx, ASC_INTERNAL, "prepared code belongs to another program");
    uint64_t t = ctx->prof != NULL ? asc_now_ns() : 0;
    const asc_cpu_unit *u = code->units, *end = u + code->n_units;
    if (a->only > 0) {
        u = unit_of(code, (int32_t)(a->only - 1));
        end = u != NULL ? u + 1 : NULL;
    }
    for (; u < end; u++) {
        if (u->constant && a->folded) continue;
        asc_status st = asc_poll_cancel(ctx);
        if (st != ASC_OK) return st;
        run_unit(u, a, state->tiles);
        if (ctx->prof != NULL) t = asc_prof_ran(ctx, a->program, &u->prof, t);
    }
    return ASC_OK;
}
