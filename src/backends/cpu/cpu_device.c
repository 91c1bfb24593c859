/* cpu_device.c - the cpu device: native f32, i32 and bool storage, weights used as the file stores them, one
 * kernel per node.
 *
 * A run walks prepared code (cpu_code.c) or, without it, the program. Each node goes to the first kernel of
 * kernels.def that takes it, or to the op's reference kernel (cpu_fallback.c), so every program runs. The
 * device's state is the index of its kernels and the storage of tiles: all other memory belongs to the
 * executor, threads to OpenMP. Kernels cannot fail; the only failure of a run is a request to stop. */
#include "cpu_code.h"
#include <string.h>

static asc_status device_open(asc_ctx *ctx, void **out_state) {
    /* Part of the context, like its runtime: not counted, so that an idle context shows no live blocks. */
    asc_cpu_state *s = ctx->alloc(ctx->alloc_self, NULL, 0, sizeof *s, 16);
    *out_state = s;
    if (s == NULL) return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "out of memory: the index of kernels");
    asc_kernel_index_init(&s->index);
    s->tiles = NULL;
    s->tiles_bytes = 0;
    return ASC_OK;
}

static void device_close(asc_ctx *ctx, void *state) {
    asc_cpu_state *s = state;
    asc_free(ctx, s->tiles);
    ctx->alloc(ctx->alloc_self, s, sizeof *s, 0, 16);
}

static size_t storage_bytes(asc_dtype dtype, int64_t n) {
    size_t bytes = 0;
    return asc_dtype_bytes(dtype, n, &bytes) ? bytes : SIZE_MAX;
}

size_t asc_cpu_array_bytes(asc_dtype t, int64_t elems) {
    size_t bytes = storage_bytes(t, elems);
    return bytes > SIZE_MAX - 63 ? SIZE_MAX : (bytes + 63) & ~(size_t)63;
}

static void upload(asc_dtype dtype, void *dst, asc_dtype host_dtype, const void *host, int64_t n) {
    size_t bytes = 0;
    if (dtype != host_dtype) {
        asc_cpu_convert(host_dtype, host, dtype, dst, n);
    } else if (asc_dtype_bytes(dtype, n, &bytes)) {
        memcpy(dst, host, bytes);
    }
}

static void download(asc_dtype dtype, const void *src, asc_dtype host_dtype, void *host, int64_t n) {
    upload(host_dtype, host, dtype, src, n);
}

static asc_status supports(asc_ctx *ctx, void *state, const asc_call *c) {
    (void)state;
    for (int k = 0; k < c->n_in; k++) {
        if (asc_dtype_of(c->in_dtype[k])->is_weight_only && asc_dtype_expand(c->in_dtype[k]) == NULL) {
            return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "%s: the cpu device cannot compute with %s", c->op->name,
                            asc_dtype_of(c->in_dtype[k])->name);
        }
    }
    return ASC_OK;
}

/* oneDNN may divide the work by the number of rows; the kernels of AVX-512 do not. */
static bool rows_depend(const asc_ctx *ctx) { return ctx->isa < ASC_ISA_AVX512; }

static size_t scratch_bytes(asc_ctx *ctx, void *state, const asc_call *c) {
    const asc_cpu_state *s = state;
    const asc_kernel *k = asc_kernel_index_pick(&s->index, c, (asc_isa)ctx->isa);
    if (k == NULL) return asc_cpu_fallback_scratch(c);
    return k->scratch != NULL ? k->scratch(c, ctx->n_threads) : 0;
}

double asc_cpu_call_ns(const asc_call *c) {
    if (c->op->cost == NULL) return ASC_CPU_SMALL_NS;
    asc_cost cost = {0};
    c->op->cost(c, &cost);
    const int op = c->op->opcode;
    const bool dense = op == ASC_OPCODE_MATMUL || op == ASC_OPCODE_MATMUL_BIAS ||
                       op == ASC_OPCODE_EXPERT_MATMUL || op == ASC_OPCODE_SDPA ||
                       op == ASC_OPCODE_SDPA_GRAD || op == ASC_OPCODE_SDPA_TREE || op == ASC_OPCODE_CONV ||
                       op == ASC_OPCODE_CONV_GRAD_INPUT || op == ASC_OPCODE_CONV_GRAD_WEIGHT;
    return cost.flops / (dense ? 100 : 4) + (cost.bytes_read + cost.bytes_written) / 10;
}

int asc_cpu_threads_for(const asc_call *c, int n_threads) {
    return n_threads <= 1 || asc_cpu_call_ns(c) < ASC_CPU_SMALL_NS ? 1 : n_threads;
}

static void run_node(asc_ctx *ctx, const asc_kernel_index *index, const asc_run_args *a, size_t i) {
    const asc_node *node = &a->program->nodes[i];
    asc_call call;
    asc_node_call(a->program, node, &call);
    asc_kargs args = {.call = &call, .out = a->data[i], .scratch = a->scratch};
    args.n_threads = asc_cpu_threads_for(&call, ctx->n_threads);
    for (int k = 0; k < node->n_in; k++) args.in[k] = a->data[node->in[k]];
    const asc_kernel *kernel = asc_kernel_index_pick(index, &call, (asc_isa)ctx->isa);
    if (kernel != NULL) {
        kernel->run(&args);
    } else {
        asc_cpu_fallback_run(&args);
    }
}

static bool has_regions(const asc_run_args *a) {
    for (size_t i = 0; i < a->program->n_nodes; i++) {
        if (a->plan->slots[i].place == ASC_PLACE_TILE) return true;
    }
    return false;
}

static asc_status run(asc_ctx *ctx, void *state, const asc_run_args *a) {
    if (a->code != NULL) return asc_cpu_code_run(ctx, state, a->code, a);
    if (has_regions(a)) { /* they run as prepared code only */
        void *code = NULL;
        asc_status st = asc_cpu_prepare(ctx, state, a->program, a->plan, &code);
        if (st == ASC_OK) st = asc_cpu_code_run(ctx, state, code, a);
        asc_cpu_discard(ctx, state, code);
        return st;
    }
    const size_t first = a->only > 0 ? a->only - 1 : 0, end = a->only > 0 ? a->only : a->program->n_nodes;
    for (size_t i = first; i < end; i++) {
        const asc_node *node = &a->program->nodes[i];
        if (node->op == NULL || a->plan->slots[i].place == ASC_PLACE_ALIAS) continue;
        if (asc_shape_elems(&node->shape) == 0 || (node->constant && a->folded)) continue;
        asc_status st = asc_poll_cancel(ctx);
        if (st != ASC_OK) return st;
        const asc_cpu_state *s = state;
        run_node(ctx, &s->index, a, i);
    }
    return ASC_OK;
}

const asc_device asc_device_cpu = {
    .name = "cpu",
    .doc = "this machine's cores: vectorised kernels and oneDNN in f32",
    .has_data = true,
    .open = device_open,
    .close = device_close,
    .storage_bytes = storage_bytes,
    .upload = upload,
    .download = download,
    .borrows_weights = true,
    .aliases_views = true,
    .fuses = true,
    .supports = supports,
    .rows_depend = rows_depend,
    .scratch_bytes = scratch_bytes,
    .prepare = asc_cpu_prepare,
    .discard = asc_cpu_discard,
    .run = run,
};
