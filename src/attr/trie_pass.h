/* trie_pass.h - a pass of a prompt trie as ops: its tokens as one row [1,n] of the model, without padding,
 * each seeing its own sequence only (asc_sdpa_tree). Products choose the kernels for many rows, so a number's
 * bits are those of its sequence run by itself, wherever asc_device.rows_depend is false. */
#ifndef ASC_TRIE_PASS_H
#define ASC_TRIE_PASS_H

#include "method.h"
#include "prompt_trie.h"

/* What a pass is recorded from; all but the store are leaves of one pass, made by asc_packed_leaves. */
typedef struct asc_packed {
    asc_job *j;
    size_t n, tail, past, n_layers; /* as in asc_trie_pass */
    size_t whole;                   /* length of the sequences, for models whose frequencies depend on it */
    bool keep;                      /* keys and values are wanted */
    asc_tensor *ids, *positions, *parent, *key_positions;
    size_t part, n_parts; /* made: rows of the tail whose logits are there at once; how many such parts */
    asc_tensor **takes;   /* [n_parts,n_layers], i32 [1,rows] */
    asc_tensor *whole_p, *whole_log_p; /* [V], for divergences */
    const asc_kv *store;               /* per block [1,past,G,D]; NULL when past is 0 */
    asc_kv *kv;                        /* made: per block [1,n,G,D] */
    asc_tensor *
        *results; /* made: [n_parts,n_layers] numbers [1,rows], then with keep k and v of every block */
    size_t n_results;
} asc_packed;

/* p NULL: stand-ins for pricing, of the sizes that are set. asc_packed_deinit in any case. */
ASC_MUST_USE asc_status asc_packed_leaves(asc_packed *x, const asc_trie_pass *p);
ASC_MUST_USE asc_status asc_packed_record(asc_packed *x);
void asc_packed_deinit(asc_packed *x);

/* Sets x->results to what blocks first .. end - 1 alone make of the residual stream [1,n,D], for measuring.
 */
void asc_packed_blocks(asc_packed *x, int64_t first, int64_t end, asc_tensor *stream);
/* Sets x->results to the numbers behind hidden [1,tail,D] alone. */
void asc_packed_numbers(asc_packed *x, asc_tensor *hidden);

/* Operations of one pair of a query and a key in one block; and what a pass's price has for attention in all
 * blocks, where each of its n tokens (in the last block, of its tail) counts as if it saw every key. */
double asc_packed_pair_flops(const asc_job *j);
double asc_packed_priced_flops(const asc_job *j, size_t n, size_t tail, size_t past);

/* The store of blocks first .. end - 1: zeros, in the current scope; `dry`: stand-ins. Free the array, the
 * tensors are the scope's. NULL when past is 0. */
ASC_MUST_USE asc_status asc_packed_store(asc_job *j, size_t past, int64_t first, int64_t end, bool dry,
                                         asc_kv **out);
/* Copies what the pass keeps into the store. */
ASC_MUST_USE asc_status asc_packed_keep(asc_packed *x, const asc_trie_pass *p);

#endif
