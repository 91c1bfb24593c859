/* cache.h - a context's executables, by what they compute.
 * The key of a program is its whole structure as words: what was recorded, without the values of inputs and
 * run-time scalars. A hit compares every word; the hash only finds the candidates. */
#ifndef ASC_CACHE_H
#define ASC_CACHE_H

#include "exe.h"

/* ---- keys ----
 * Head: passes that are off; device, instruction set and threads; number of nodes and outputs; bound of
 * temporaries. A node: one word of small numbers (below), its inputs two to a word, its shape, its integer
 * attributes up to the last one that is not 0, the bits of its hashed float attributes likewise. Then the
 * outputs. */
enum { ASC_KEY_HEAD = 4 };
typedef struct asc_key_node {
    int opcode; /* -1 = input */
    int n_in;
    int32_t in[ASC_MAX_IN];
    asc_dtype dtype;
    asc_precision level;
    bool many_rows;
    asc_shape shape;
    int n_i, n_f;
    int64_t i[ASC_N_IATTR];
    double f[ASC_N_FATTR];
} asc_key_node;

/* Words that one node takes at most. */
enum { ASC_KEY_NODE_MOST = 1 + ASC_MAX_IN / 2 + ASC_MAX_RANK + ASC_N_IATTR + ASC_N_FATTR };
/* Writes tensor t (whose inputs' slots are set) to `to`, which has room for ASC_KEY_NODE_MOST words; returns
 * how many. */
size_t asc_key_write(const asc_runtime *rt, const asc_tensor *t, uint64_t *to);
/* Reads the node at `at` and returns the next one's place. Keys are this process's own: they are not checked.
 */
const uint64_t *asc_key_read(const uint64_t *at, asc_key_node *out);
uint64_t asc_key_hash(const uint64_t *key, size_t n);

/* ---- the cache ---- */
typedef struct asc_cache_entry {
    asc_exe *exe;
    uint64_t *key;
    size_t n_key;
    uint64_t hash;
    uint64_t ops_hash; /* of the sequence of ops alone, for `why` */
    uint64_t hits;
    size_t bytes;
    bool stored;                           /* on disk, or not worth it */
    struct asc_cache_entry *chain;         /* of the hash table */
    struct asc_cache_entry *newer, *older; /* by last use */
} asc_cache_entry;

/* NULL = not there. Counts a hit or a miss, and makes the entry the newest. */
asc_cache_entry *asc_cache_find(asc_runtime *rt, const uint64_t *key, size_t n_key, uint64_t hash);
/* Adds an executable under a copy of the key. take_exe is consumed, also when this fails. */
ASC_MUST_USE asc_status asc_cache_add(asc_ctx *ctx, const uint64_t *key, size_t n_key, uint64_t hash,
                                      asc_exe *take_exe, asc_cache_entry **out);
/* Counts the bytes of an entry anew. */
void asc_cache_recount(asc_ctx *ctx, asc_cache_entry *e);
/* Drops the oldest until the bounds hold. `keep` stays; NULL = none. */
void asc_cache_shrink(asc_ctx *ctx, const asc_cache_entry *keep);
void asc_cache_clear(asc_ctx *ctx);

/* Notes why this key was not found: the first difference to the nearest entry. nodes: what the key was made
 * of. */
void asc_cache_explain(asc_ctx *ctx, const uint64_t *key, asc_tensor *const *nodes);
uint64_t asc_key_ops_hash(const uint64_t *key);
/* Whether `a` is nearer to key than `b` is: more ops in common from the start, then more nodes. */
bool asc_key_nearer(const uint64_t *key, const uint64_t *a, const uint64_t *b);

#endif
