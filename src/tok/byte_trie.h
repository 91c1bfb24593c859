/* byte_trie.h - pieces by their bytes, one step per byte: finds all pieces that a text begins with in time of
 * the longest. Nodes are numbers; their edges stand in one hash table. */
#ifndef ASC_BYTE_TRIE_H
#define ASC_BYTE_TRIE_H

#include "alloc.h"
#include "view.h"

enum { ASC_TRIE_ROOT = 1, ASC_TRIE_MAX_NODES = 1 << 24 };

typedef struct asc_trie_edge {
    uint32_t key; /* node << 8 | byte; 0 = empty */
    uint32_t to;
} asc_trie_edge;
typedef struct asc_byte_trie {
    asc_trie_edge *edges;
    size_t mask;
    int32_t *value; /* of every node, -1 = none */
    size_t n_nodes, cap_nodes;
} asc_byte_trie;

ASC_MUST_USE asc_status asc_byte_trie_init(asc_ctx *ctx, asc_byte_trie *t);
void asc_byte_trie_deinit(asc_ctx *ctx, asc_byte_trie *t);
/* Of equal pieces the last one stays. Errors: RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_byte_trie_put(asc_ctx *ctx, asc_byte_trie *t, asc_view piece, int32_t value);
/* The node behind `byte`, or 0. */
static inline uint32_t asc_byte_trie_step(const asc_byte_trie *t, uint32_t node, unsigned char byte) {
    uint32_t key = node << 8 | byte;
    size_t i = (size_t)((uint64_t)key * 0x9E3779B97F4A7C15u >> 32) & t->mask;
    while (t->edges[i].key != 0) {
        if (t->edges[i].key == key) return t->edges[i].to;
        i = (i + 1) & t->mask;
    }
    return 0;
}
/* The node behind all bytes of a piece, from `node` on, or 0. */
uint32_t asc_byte_trie_walk(const asc_byte_trie *t, uint32_t node, asc_view piece);
/* The value of exactly this piece, or -1. */
int32_t asc_byte_trie_find(const asc_byte_trie *t, asc_view piece);

#endif
