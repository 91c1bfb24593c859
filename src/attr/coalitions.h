/* coalitions.h - values of prompts in which some features are absent: the one function behind every
 * perturbation method and faithfulness metric on prompts.
 *
 * A coalition says for each feature whether it is there. What stands where an absent one was is written in
 * the job's parts (method.h): nothing (remove), other tokens (replacement), or nothing with the others
 * staying at their positions (mask: nothing attends to it). Causal models: prompts are run as a trie over
 * keys and values, so that what several have in common is computed once, and what is left of different length
 * is packed without padding. */
#ifndef ASC_COALITIONS_H
#define ASC_COALITIONS_H

#include "method.h"

/* Numbers explained of each prompt: 1, or 1 + the explained target tokens with request.per_token: [0] is the
 * whole answer's, the others each token's own. */
size_t asc_job_n_values(const asc_job *j);

/* present [n, n_groups]: 1 = there. out [n, asc_job_n_values]. Equal rows are run once. Counts r->n_forward,
 * r->tokens_run and r->tokens_plain. In a dry run nothing is run and out is 0. Random slot baselines are
 * drawn by (seed, trial, row's content). Errors: those of asc_job_values. */
ASC_MUST_USE asc_status asc_job_coalition_values(asc_job *j, const uint8_t *present, size_t n, double *out);

/* The tokens of one coalition (ids and, for masks, their positions), for tests and messages; both of at least
 * asc_job_max_tokens entries. Returns their number. Nothing left: one begin or end token. */
size_t asc_job_coalition_ids(const asc_job *j, const uint8_t *present, int32_t *ids, int32_t *positions);
size_t asc_job_max_tokens(const asc_job *j);
/* Coalitions that are written down, and share what they have in common, at a time. */
size_t asc_job_lot(const asc_job *j);

#endif
