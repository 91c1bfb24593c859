/* runtime.c - makes a context complete: graph, device, mode; the cache of buffers. */
#include "debug.h"
#include "disk.h"
#include "runtime.h"
#include "cache.h"
#include "compiled.h"
#include "env.h"
#include "follow.h"
#include "passes.h"
#include "price.h"
#include "view.h"
#include <string.h>

/* Bounds of the cache of executables: a language model's gradient takes about 3 MB. */
enum { CACHE_ENTRIES = 256, CACHE_BYTES = 64 << 20 };

asc_runtime *asc_runtime_of(const asc_ctx *ctx) { return ctx->rt; }
asc_graph *asc_graph_of(const asc_ctx *ctx) { return &ctx->rt->graph; }
const asc_device *asc_exec_device(const asc_ctx *ctx) { return ctx->rt->device; }
void *asc_exec_device_state(const asc_ctx *ctx) { return ctx->rt->device_state; }

static void free_idle_buffers(asc_ctx *ctx) {
    asc_runtime *rt = ctx->rt;
    for (int c = 0; c < ASC_BUF_CLASSES; c++) {
        while (rt->free_bufs[c] != NULL) {
            asc_buffer *b = rt->free_bufs[c];
            rt->free_bufs[c] = b->next;
            asc_free(ctx, b->data);
            asc_free(ctx, b);
        }
    }
    rt->cached_bytes = 0;
}

static void free_idle_blocks(asc_ctx *ctx) {
    asc_runtime *rt = ctx->rt;
    if (rt->in_cut || rt->blocks_taken) return; /* in use */
    asc_free(ctx, rt->arena);
    asc_free(ctx, rt->scratch);
    rt->arena = rt->scratch = NULL;
    rt->arena_bytes = rt->scratch_bytes = 0;
}

/* What is idle, the cheapest to have again first: buffers, blocks, then programs. The newest program stays,
 * as it may be about to run; captures hold theirs. */
static void give_back(asc_ctx *ctx, size_t bytes) {
    const size_t had = ctx->mem.live_total;
    if (ctx->rt->pricing > 0) return; /* what is priced finds everything as it is, and counts it */
    free_idle_buffers(ctx);
    if (had - ctx->mem.live_total < bytes) free_idle_blocks(ctx);
    const size_t given = had - ctx->mem.live_total;
    if (given < bytes) asc_price_drop_programs(ctx, bytes - given);
}

static void runtime_destroy(asc_ctx *ctx) {
    asc_runtime *rt = ctx->rt;
    if (rt == NULL) return;
    asc_follow_deinit(ctx);
    asc_graph_deinit(&rt->graph);
    asc_level_free_all(ctx);
    asc_capture_forget(ctx, NULL);
    asc_cache_clear(ctx);
    asc_cut_room_deinit(ctx, &rt->room);
    asc_free(ctx, rt->capture_bounds);
    asc_queue_deinit(ctx);
    asc_exec_trim(ctx);
    if (rt->device != NULL && rt->device_state != NULL) rt->device->close(ctx, rt->device_state);
    ctx->rt = NULL;
    ctx->alloc(ctx->alloc_self, rt, sizeof *rt, 0, 16);
}

asc_status asc_exec_passes(asc_ctx *ctx, const char *text) {
    asc_capture_forget(ctx, NULL);
    return asc_passes_parse(ctx, text, &ctx->rt->passes_off);
}

void asc_exec_bound_arena(asc_ctx *ctx, size_t bytes) {
    if (ctx->rt->arena_bound != bytes) asc_capture_forget(ctx, NULL);
    ctx->rt->arena_bound = bytes;
}

/* What of the context is part of every key. */
static void describe(const asc_ctx *ctx, asc_runtime *rt) {
    size_t n, which = 0;
    const asc_device *const *all = asc_device_list(&n);
    for (size_t i = 0; i < n; i++) {
        if (all[i] == rt->device) which = i + 1;
    }
    rt->key_device = (uint32_t)ctx->n_threads | (uint64_t)ctx->isa << 32 | (uint64_t)which << 48;
    for (int op = 0; op < ASC_N_OPS; op++) {
        for (int k = 0; k < asc_ops[op]->n_attrs; k++) {
            const asc_attr_def *a = &asc_ops[op]->attrs[k];
            if (a->kind == ASC_ATTR_SCALAR) rt->scalar_slots[op] |= (uint8_t)(1u << a->slot);
        }
    }
}

asc_status asc_ctx_create(const asc_ctx_options *opts, asc_ctx **out_ctx) {
    asc_status st = asc_ctx_create_base(opts, out_ctx);
    asc_ctx *ctx = *out_ctx;
    if (ctx == NULL) return st;
    /* Part of the context, like the context itself: not counted, so that an idle context shows no live
     * blocks. */
    asc_runtime *rt = ctx->alloc(ctx->alloc_self, NULL, 0, sizeof *rt, 16);
    if (rt == NULL) {
        asc_ctx_destroy(ctx);
        *out_ctx = NULL;
        return ASC_RESOURCE_EXHAUSTED;
    }
    memset(rt, 0, sizeof *rt);
    ctx->rt = rt;
    ctx->rt_destroy = runtime_destroy;
    ctx->rt_give_back = give_back;
    asc_status st2 = asc_graph_init(&rt->graph, ctx);
    rt->device = asc_device_find(ctx->device_name);
    rt->eager = strcmp(ctx->mode_name, "eager") == 0;
    rt->compiled = strcmp(ctx->mode_name, "compiled") == 0;
    rt->graph.on_record = asc_exec_on_record;
    rt->graph.free_buffer = asc_buffer_free;
    rt->graph.on_scope_end = asc_follow_scope_end;
    asc_queue_init(ctx);
    if (st2 == ASC_OK && rt->device == NULL)
        st2 = ASC_FAIL(ctx, ASC_INTERNAL, "device '%s' is not built in", ctx->device_name);
    if (st2 == ASC_OK) st2 = rt->device->open(ctx, &rt->device_state);
    describe(ctx, rt);
    rt->cache.max_entries = CACHE_ENTRIES;
    rt->cache.max_bytes = CACHE_BYTES;
    rt->cache.frozen = asc_env_flag(ASC_ENV_FREEZE);
    if (st2 == ASC_OK) st2 = asc_exec_passes(ctx, asc_env_text(ASC_ENV_PASSES));
    if (st2 == ASC_OK) st2 = asc_debug_configure(ctx);
    if (st2 == ASC_OK) st2 = asc_disk_init(ctx);
    if (st2 == ASC_RESOURCE_EXHAUSTED) {
        asc_ctx_destroy(ctx);
        *out_ctx = NULL;
    }
    return st != ASC_OK ? st : st2;
}

/* Size classes: eight steps to each power of two. Small buffers fill their class, so that the next one of it
 * fits; large ones, which come back with the same shape or not at all, are of whole pages. */
static int class_of(size_t bytes, size_t *rounded) {
    enum { PAGE = 4096, LARGE = 1 << 18 };
    if (bytes < 256) bytes = 256;
    int log = 63 - __builtin_clzll((unsigned long long)(bytes - 1));
    size_t step = (size_t)1 << (log - 3);
    *rounded = (bytes + step - 1) & ~(step - 1);
    int k = 63 - __builtin_clzll((unsigned long long)*rounded);
    int c = (k - 8) * 8 + (int)((*rounded >> (k - 3)) & 7);
    if (bytes >= LARGE) *rounded = (bytes + (PAGE - 1)) & ~(size_t)(PAGE - 1);
    return c < 0 ? 0 : c < ASC_BUF_CLASSES ? c : ASC_BUF_CLASSES - 1;
}

size_t asc_buffer_rounded(size_t bytes) {
    size_t rounded;
    (void)class_of(bytes, &rounded);
    return rounded;
}

asc_buffer *asc_buffer_make(asc_ctx *ctx, asc_mem_tag tag, asc_dtype dtype, int64_t n) {
    asc_runtime *rt = ctx->rt;
    size_t rounded = 0, bytes = rt->device->storage_bytes(dtype, n);
    int c = class_of(bytes, &rounded);
    if (rt->device->has_data && tag == ASC_MEM_ACTIVATIONS) {
        for (asc_buffer **p = &rt->free_bufs[c]; *p != NULL; p = &(*p)->next) {
            asc_buffer *b = *p;
            if (b->bytes < bytes) continue;
            *p = b->next;
            rt->cached_bytes -= b->bytes;
            b->next = NULL;
            b->refs = 1;
            b->dtype = dtype;
            b->elems = n;
            return b;
        }
    }
    asc_buffer *b = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *b);
    if (b == NULL) return NULL;
    *b = (asc_buffer){.refs = 1,
                      .dtype = dtype,
                      .elems = n,
                      .bytes = tag == ASC_MEM_ACTIVATIONS ? rounded : bytes,
                      .cached = tag == ASC_MEM_ACTIVATIONS};
    if (!rt->device->has_data) return b;
    b->data = asc_alloc_buffer(ctx, tag, b->bytes);
    if (b->data == NULL && rt->cached_bytes > 0) { /* give idle buffers back, then try again */
        asc_exec_trim(ctx);
        b->data = asc_alloc_buffer(ctx, tag, b->bytes);
    }
    if (b->data == NULL) {
        asc_free(ctx, b);
        return NULL;
    }
    return b;
}

asc_buffer *asc_buffer_placed(asc_ctx *ctx, asc_dtype dtype, int64_t n, void *data, size_t bytes) {
    asc_runtime *rt = ctx->rt;
    asc_buffer *b = rt->free_records;
    if (b != NULL) {
        rt->free_records = b->next;
    } else if ((b = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *b)) == NULL) {
        return NULL;
    }
    *b = (asc_buffer){.refs = 1, .dtype = dtype, .elems = n, .data = data, .bytes = bytes, .placed = true};
    return b;
}

void asc_buffer_free(asc_ctx *ctx, asc_buffer *b) {
    asc_runtime *rt = ctx->rt;
    if (b->placed) {
        b->next = rt->free_records;
        rt->free_records = b;
        return;
    }
    if (b->cached && b->data != NULL) {
        size_t rounded;
        int c = class_of(b->bytes, &rounded);
        b->next = rt->free_bufs[c];
        rt->free_bufs[c] = b;
        rt->cached_bytes += b->bytes;
        return;
    }
    if (!b->borrowed) asc_free(ctx, b->data);
    asc_free(ctx, b);
}

void asc_exec_trim(asc_ctx *ctx) {
    asc_runtime *rt = ctx->rt;
    free_idle_buffers(ctx);
    while (rt->free_records != NULL) {
        asc_buffer *b = rt->free_records;
        rt->free_records = b->next;
        asc_free(ctx, b);
    }
    free_idle_blocks(ctx);
}

asc_status asc_block_reserve(asc_ctx *ctx, asc_mem_tag tag, void **block, size_t *have, size_t bytes) {
    if (bytes <= *have) return ASC_OK;
    asc_free(ctx, *block);
    *block = NULL;
    *have = 0;
    *block = asc_alloc_buffer(ctx, tag, bytes);
    if (*block == NULL) return ASC_RESOURCE_EXHAUSTED;
    *have = bytes;
    return ASC_OK;
}
