/* price.c - see price.h. */
#include "price.h"
#include "cache.h"
#include "follow.h"

enum {
    BLOCK_OVERHEAD = 256, /* headers of a buffer: the block's, its record's */
    NODE_CODE = 1100      /* what the cpu device keeps of a node that runs by itself, about */
};

void asc_price_begin(asc_ctx *ctx) { asc_runtime_of(ctx)->pricing++; }
void asc_price_end(asc_ctx *ctx) { asc_runtime_of(ctx)->pricing--; }

bool asc_price_prepares(asc_ctx *ctx, bool on) {
    asc_runtime *rt = asc_runtime_of(ctx);
    bool was = rt->price_prepares;
    rt->price_prepares = on;
    return was;
}

asc_tensor *asc_price_leaf(asc_ctx *ctx, asc_dtype dtype, asc_shape shape) {
    asc_graph *g = asc_graph_of(ctx);
    asc_buffer *b = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *b);
    asc_tensor *t = b != NULL ? asc_graph_node(g) : NULL;
    if (t == NULL) {
        asc_free(ctx, b);
        return asc_graph_poison(g);
    }
    *b = (asc_buffer){.refs = 1, .dtype = dtype, .elems = asc_shape_elems(&shape), .borrowed = true};
    t->dtype = dtype;
    t->shape = shape;
    t->buf = b;
    return t;
}

size_t asc_price_buffer(const asc_ctx *ctx, asc_dtype dtype, const asc_shape *shape) {
    const asc_device *dev = asc_exec_device(ctx);
    if (!dev->has_data) return 0;
    size_t bytes = asc_buffer_rounded(dev->storage_bytes(dtype, asc_shape_elems(shape)));
    return bytes > SIZE_MAX - BLOCK_OVERHEAD ? SIZE_MAX : bytes + BLOCK_OVERHEAD;
}

size_t asc_price_plus(size_t a, size_t b) {
    size_t sum;
    return asc_add_size(a, b, &sum) ? sum : SIZE_MAX;
}

size_t asc_price_total(const asc_price *p) {
    return asc_price_plus(asc_price_plus(p->arena_bytes, p->scratch_bytes),
                          asc_price_plus(p->output_bytes, p->code_bytes));
}

asc_status asc_price_of(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_price *out) {
    asc_runtime *rt = asc_runtime_of(ctx);
    const asc_cut_room *r = &rt->room;
    asc_plan plan;
    *out = (asc_price){0};
    asc_status st = asc_exec_price(ctx, ts, n, &plan);
    if (st != ASC_OK || r->n == 0) return st;
    asc_cache_entry *entry = rt->cache.newest; /* what was just found or made */
    if (rt->price_prepares) {
        st = asc_exe_prepare(ctx, entry->exe);
        if (st != ASC_OK) return st;
        asc_cache_recount(ctx, entry);
    }
    out->program_bytes = entry->bytes;
    if (!entry->exe->prepared && rt->device->prepare != NULL) /* regions are smaller than their nodes */
        out->code_bytes = asc_follow_plans(ctx) ? r->n * NODE_CODE : entry->bytes / 2;
    out->cost = plan.cost;
    out->scratch_bytes = rt->device->has_data ? plan.scratch_bytes : 0;
    if (!rt->eager || asc_follow_plans(ctx)) {
        out->arena_bytes = rt->device->has_data ? plan.arena_bytes : 0;
        for (size_t i = 0; i < r->n_outs; i++) {
            const asc_tensor *t = r->outs[i].tensor;
            if (t->buf == NULL)
                out->output_bytes =
                    asc_price_plus(out->output_bytes, asc_price_buffer(ctx, t->dtype, &t->shape));
        }
        return ASC_OK;
    }
    for (size_t i = 0; i < r->n; i++) {
        const asc_tensor *t = r->nodes[i];
        if (t->buf == NULL)
            out->output_bytes = asc_price_plus(out->output_bytes, asc_price_buffer(ctx, t->dtype, &t->shape));
    }
    return ASC_OK;
}

size_t asc_price_base(const asc_ctx *ctx) {
    const asc_runtime *rt = asc_runtime_of(ctx);
    size_t idle = rt->cached_bytes + rt->arena_bytes + rt->scratch_bytes, live = ctx->mem.live_total;
    return live > idle ? live - idle : 0;
}

asc_price_idle asc_price_left(const asc_ctx *ctx) {
    const asc_runtime *rt = asc_runtime_of(ctx);
    return (asc_price_idle){
        .arena_bytes = rt->arena_bytes, .scratch_bytes = rt->scratch_bytes, .buffer_bytes = rt->cached_bytes};
}

void asc_price_drop_programs(asc_ctx *ctx, size_t bytes) {
    asc_cache *c = &asc_runtime_of(ctx)->cache;
    const size_t most = c->max_bytes;
    c->max_bytes = c->bytes > bytes ? c->bytes - bytes : 0;
    asc_cache_shrink(ctx, c->newest);
    c->max_bytes = most;
}
