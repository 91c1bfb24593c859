/* runtime.h - the executor's own state; only files of src/exec include it. */
#ifndef ASC_RUNTIME_H
#define ASC_RUNTIME_H

#include "exec.h"

enum { ASC_BUF_CLASSES = 256 };

typedef struct asc_runtime {
    asc_graph graph;
    const asc_device *device;
    void *device_state;
    bool eager, profile;
    bool in_cut; /* a cut is running: recording inside it is a bug */
    /* queue bounds of the deferred mode, since the last cut */
    size_t pending_nodes;
    double pending_flops;
    asc_buffer *free_bufs[ASC_BUF_CLASSES]; /* cached, by size class */
    size_t cached_bytes;
    void *arena, *scratch; /* reused blocks of plans */
    size_t arena_bytes, scratch_bytes;
    asc_exec_stats stats;
} asc_runtime;

asc_runtime *asc_runtime_of(const asc_ctx *ctx);

/* A buffer for n elements, reference count 1; from the cache when one fits. NULL when out of memory. */
asc_buffer *asc_buffer_make(asc_ctx *ctx, asc_mem_tag tag, asc_dtype dtype, int64_t n);
void asc_buffer_free(asc_ctx *ctx, asc_buffer *b); /* hook of the graph: back to the cache */
/* Makes *block at least `bytes` large; contents are lost. */
ASC_MUST_USE asc_status asc_block_reserve(asc_ctx *ctx, asc_mem_tag tag, void **block, size_t *have,
                                          size_t bytes);

void asc_exec_on_record(asc_ctx *ctx, asc_tensor *t);

#endif
