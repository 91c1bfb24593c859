/* trie_values.h - numbers of many token sequences by the passes of a trie, under the memory bound. */
#ifndef ASC_TRIE_VALUES_H
#define ASC_TRIE_VALUES_H

#include "budget.h"
#include "trie_pass.h"

/* How a trie is run. */
typedef struct asc_trie_plan {
    size_t most, whole; /* tokens of a pass; of a whole sequence, as asc_packed has it */
    bool store;         /* passes share; otherwise each begins its sequences from their start */
    asc_trie_survey look;
    asc_price need; /* of the largest pass */
    size_t store_bytes;
} asc_trie_plan;

/* out[row.out ..]: log-probabilities (logits) of the answers' tokens. Sorts the rows. Counts r->tokens_run
 * and r->tokens_plain, not r->n_forward. In a dry run nothing is run and out stays. whole: the longest
 * sequence. Errors: of asc_job_values. */
ASC_MUST_USE asc_status asc_trie_values(asc_job *j, asc_trie_row *rows, size_t n, size_t whole, double *out);

/* About what a trie of prompts of len tokens takes at least: passes of the fewest tokens, and programs. */
ASC_MUST_USE asc_status asc_trie_least(asc_job *j, size_t len, size_t *bytes);

/* trie_estimate.c: prices the trie for a dry run. */
ASC_MUST_USE asc_status asc_trie_estimate(asc_job *j, const asc_trie *t, const asc_trie_plan *plan);

#endif
