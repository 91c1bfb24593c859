/* alloc.h - tagged allocation through the context's allocator; the only way to get memory in the library.
 * Every block knows its size and tag, so asc_free needs only the pointer. NULL on exhaustion, error recorded.
 * Call from the context's own thread only (kernels never allocate). */
#ifndef ASC_ALLOC_H
#define ASC_ALLOC_H

#include "ctx.h"

ASC_MUST_USE void *asc_alloc(asc_ctx *ctx, asc_mem_tag tag, size_t bytes); /* 16-byte aligned, not zeroed */
ASC_MUST_USE void *asc_calloc(asc_ctx *ctx, asc_mem_tag tag, size_t n,
                              size_t size); /* zeroed, checked n * size */
ASC_MUST_USE void *asc_realloc(asc_ctx *ctx, asc_mem_tag tag, void *ptr,
                               size_t bytes); /* on failure ptr stays valid */
/* 64-byte aligned with 64 readable bytes behind the end, for tensor data. */
ASC_MUST_USE void *asc_alloc_buffer(asc_ctx *ctx, asc_mem_tag tag, size_t bytes);
void asc_free(asc_ctx *ctx, void *ptr); /* NULL is accepted; for all of the above */
size_t asc_alloc_size(const void *ptr);

ASC_MUST_USE char *asc_strdup_view(asc_ctx *ctx, asc_mem_tag tag, asc_view v); /* NUL-terminated copy */

/* Checked size arithmetic: false on overflow. */
static inline bool asc_mul_size(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool asc_add_size(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

/* Makes room for `need` elements in a growable array: `ASC_TRY(asc_grow(ctx, tag, (void **)&v, &cap, n + 1,
 * sizeof *v))`. */
ASC_MUST_USE asc_status asc_grow(asc_ctx *ctx, asc_mem_tag tag, void **array, size_t *capacity, size_t need,
                                 size_t elem_size);

/* Bump allocator; everything is freed at once. Blocks grow geometrically. */
typedef struct asc_arena_block asc_arena_block;
typedef struct asc_arena {
    asc_ctx *ctx;
    asc_mem_tag tag;
    asc_arena_block *head;
} asc_arena;
void asc_arena_init(asc_arena *a, asc_ctx *ctx, asc_mem_tag tag);
void asc_arena_deinit(asc_arena *a);
void asc_arena_reset(asc_arena *a); /* keeps the largest block for reuse */
ASC_MUST_USE void *asc_arena_alloc(asc_arena *a,
                                   size_t bytes); /* 16-byte aligned, zeroed; NULL on exhaustion */
ASC_MUST_USE char *asc_arena_strdup(asc_arena *a, asc_view v);

#endif
