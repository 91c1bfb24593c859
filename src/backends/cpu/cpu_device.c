/* cpu_device.c - the cpu device: native f32, i32 and bool storage, weights used as the file stores them, one
 * kernel per node.
 *
 * A run walks the program once. Each node goes to the first kernel of kernels.def that takes it, or to the
 * op's reference kernel (cpu_fallback.c), so every program runs. The device's only state is the index of its
 * kernels: memory belongs to the executor, threads to OpenMP. Kernels cannot fail; the only failure of a run
 * is a request to stop. */
#include "cpu_device.h"
#include <string.h>

static asc_status device_open(asc_ctx *ctx, void **out_state) {
    /* Part of the context, like its runtime: not counted, so that an idle context shows no live blocks. */
    asc_kernel_index *x = ctx->alloc(ctx->alloc_self, NULL, 0, sizeof *x, 16);
    *out_state = x;
    if (x == NULL) return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "out of memory: the index of kernels");
    asc_kernel_index_init(x);
    return ASC_OK;
}

static void device_close(asc_ctx *ctx, void *state) {
    ctx->alloc(ctx->alloc_self, state, sizeof(asc_kernel_index), 0, 16);
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

static size_t scratch_bytes(asc_ctx *ctx, void *state, const asc_call *c) {
    const asc_kernel *k = asc_kernel_index_pick(state, c, (asc_isa)ctx->isa);
    if (k == NULL) return asc_cpu_fallback_scratch(c);
    return k->scratch != NULL ? k->scratch(c, ctx->n_threads) : 0;
}

int asc_cpu_threads_for(const asc_call *c, int n_threads) {
    if (n_threads <= 1 || c->op->cost == NULL) return n_threads;
    asc_cost cost = {0};
    c->op->cost(c, &cost);
    const int op = c->op->opcode;
    const bool dense = op == ASC_OPCODE_MATMUL || op == ASC_OPCODE_MATMUL_BIAS || op == ASC_OPCODE_SDPA ||
                       op == ASC_OPCODE_SDPA_GRAD || op == ASC_OPCODE_CONV ||
                       op == ASC_OPCODE_CONV_GRAD_INPUT || op == ASC_OPCODE_CONV_GRAD_WEIGHT;
    const double ns = cost.flops / (dense ? 100 : 4) + (cost.bytes_read + cost.bytes_written) / 10;
    return ns < ASC_CPU_SMALL_NS ? 1 : n_threads;
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

static asc_status run(asc_ctx *ctx, void *state, const asc_run_args *a) {
    for (size_t i = 0; i < a->program->n_nodes; i++) {
        const asc_node *node = &a->program->nodes[i];
        if (node->op == NULL || a->plan->slots[i].place == ASC_PLACE_ALIAS) continue;
        if (asc_shape_elems(&node->shape) == 0) continue;
        asc_status st = asc_poll_cancel(ctx);
        if (st != ASC_OK) return st;
        if (a->op_ns == NULL) {
            run_node(ctx, state, a, i);
        } else {
            uint64_t start = asc_now_ns();
            run_node(ctx, state, a, i);
            a->op_ns[node->op->opcode] += asc_now_ns() - start;
        }
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
    .supports = supports,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
