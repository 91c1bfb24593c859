/* merge_heap.h - what both merging algorithms work on: symbols in a linked list, and a heap of candidate
 * merges. */
#ifndef ASC_MERGE_HEAP_H
#define ASC_MERGE_HEAP_H

#include "alloc.h"

/* Every so many steps of a loop over a text ask whether to stop: a text may be long. */
enum { ASC_TOK_POLL_MASK = 1023 };

typedef struct asc_symbol {
    int32_t id;         /* BPE: token; SPM: not used */
    int32_t prev, next; /* index, -1 = none */
    uint32_t start;     /* first byte in the original text */
    uint32_t off,
        len; /* SPM: bytes in the normalised text; BPE: len 1, or 0 once merged into its left neighbour */
} asc_symbol;

typedef struct asc_candidate {
    uint64_t key;     /* the smallest goes first: priority in the upper half, place in the lower */
    uint32_t payload; /* tells whether the candidate still holds when its turn comes */
} asc_candidate;

/* Memory of one call, reused from word to word. */
typedef struct asc_merge_scratch {
    asc_symbol *sym;
    size_t n_sym, cap_sym;
    asc_candidate *heap;
    size_t n_heap, cap_heap;
    char *bytes; /* the word as valid UTF-8 */
    size_t n_bytes, cap_bytes;
} asc_merge_scratch;

void asc_merge_scratch_deinit(asc_ctx *ctx, asc_merge_scratch *s);
/* Appends a symbol behind the last one. */
ASC_MUST_USE asc_status asc_symbol_add(asc_ctx *ctx, asc_merge_scratch *s, asc_symbol sym);
/* Takes symbol `right` out of the list; its left neighbour stays where it was. */
void asc_symbol_unlink(asc_merge_scratch *s, int32_t right);
ASC_MUST_USE asc_status asc_heap_push(asc_ctx *ctx, asc_merge_scratch *s, asc_candidate c);
asc_candidate asc_heap_pop(asc_merge_scratch *s); /* n_heap > 0 */
ASC_MUST_USE asc_status asc_scratch_bytes(asc_ctx *ctx, asc_merge_scratch *s, const char *p, size_t n);

#endif
