/* byte_trie.c - see byte_trie.h. */
#include "byte_trie.h"

asc_status asc_byte_trie_init(asc_ctx *ctx, asc_byte_trie *t) {
    *t = (asc_byte_trie){.mask = 1023, .n_nodes = ASC_TRIE_ROOT + 1};
    t->edges = asc_calloc(ctx, ASC_MEM_TOKENIZER, t->mask + 1, sizeof *t->edges);
    if (t->edges == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st =
        asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&t->value, &t->cap_nodes, 256, sizeof *t->value);
    if (st != ASC_OK) return st;
    t->value[0] = t->value[ASC_TRIE_ROOT] = -1;
    return ASC_OK;
}

void asc_byte_trie_deinit(asc_ctx *ctx, asc_byte_trie *t) {
    asc_free(ctx, t->edges);
    asc_free(ctx, t->value);
    *t = (asc_byte_trie){0};
}

static void add_edge(asc_byte_trie *t, uint32_t key, uint32_t to) {
    size_t i = (size_t)((uint64_t)key * 0x9E3779B97F4A7C15u >> 32) & t->mask;
    while (t->edges[i].key != 0) i = (i + 1) & t->mask;
    t->edges[i] = (asc_trie_edge){key, to};
}

static asc_status grow_edges(asc_ctx *ctx, asc_byte_trie *t) {
    asc_trie_edge *old = t->edges;
    size_t n = t->mask + 1;
    t->edges = asc_calloc(ctx, ASC_MEM_TOKENIZER, 2 * n, sizeof *t->edges);
    if (t->edges == NULL) {
        t->edges = old;
        return ASC_RESOURCE_EXHAUSTED;
    }
    t->mask = 2 * n - 1;
    for (size_t i = 0; i < n; i++) {
        if (old[i].key != 0) add_edge(t, old[i].key, old[i].to);
    }
    asc_free(ctx, old);
    return ASC_OK;
}

asc_status asc_byte_trie_put(asc_ctx *ctx, asc_byte_trie *t, asc_view piece, int32_t value) {
    asc_status st = ASC_OK;
    uint32_t node = ASC_TRIE_ROOT;
    for (size_t i = 0; i < piece.len; i++) {
        unsigned char byte = (unsigned char)piece.ptr[i];
        uint32_t to = asc_byte_trie_step(t, node, byte);
        if (to == 0) {
            if (t->n_nodes >= ASC_TRIE_MAX_NODES) {
                return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "the vocabulary needs more than %d trie nodes",
                                ASC_TRIE_MAX_NODES);
            }
            if (t->n_nodes + 1 > (t->mask + 1) / 4 * 3) ASC_TRY(grow_edges(ctx, t));
            ASC_TRY(asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&t->value, &t->cap_nodes, t->n_nodes + 1,
                             sizeof *t->value));
            to = (uint32_t)t->n_nodes++;
            t->value[to] = -1;
            add_edge(t, node << 8 | byte, to);
        }
        node = to;
    }
    t->value[node] = value;
done:
    return st;
}

uint32_t asc_byte_trie_walk(const asc_byte_trie *t, uint32_t node, asc_view piece) {
    for (size_t i = 0; i < piece.len && node != 0; i++)
        node = asc_byte_trie_step(t, node, (unsigned char)piece.ptr[i]);
    return node;
}

int32_t asc_byte_trie_find(const asc_byte_trie *t, asc_view piece) {
    uint32_t node = asc_byte_trie_walk(t, ASC_TRIE_ROOT, piece);
    return node != 0 ? t->value[node] : -1;
}
