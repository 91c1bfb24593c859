/* job_blocks.h - a job's model block by block, of whatever kind it is: what enters the first block, a block
 * with eyes inside, what is explained behind the last one. */
#ifndef ASC_JOB_BLOCKS_H
#define ASC_JOB_BLOCKS_H

#include "target.h"

/* Sees values of a block while it is recorded, and returns them or others of their shape. */
typedef struct asc_block_eyes {
    asc_site_fn site; /* NULL = none */
    /* What the heads hand to the output projection, [B,T,H,D]; with `probs` also attention's probabilities
     * before it, [B,H,T,T]. NULL = none */
    asc_tensor *(*inner)(void *self, int64_t layer, bool probs, asc_tensor *v);
    bool probs;
    void *self;
} asc_block_eyes;

int64_t asc_job_heads(const asc_job *j);
/* The target and, if there is one, the contrast, each of which walks through the blocks by itself; how many.
 * Of text encoders nothing follows the text: n = 1, and ids are NULL. */
size_t asc_job_walks(const asc_job *j, asc_answer out[2]);
/* What enters the first block for embeddings x [B,P,D] and an answer. */
asc_tensor *asc_job_entry(asc_job *j, asc_tensor *x, const asc_answer *s);
/* Block l on x [B,T,D]. eyes: NULL = none. */
asc_tensor *asc_job_block(asc_job *j, const asc_answer *s, int64_t l, const asc_block_eyes *eyes,
                          asc_tensor *x);
/* The score of the answer given what leaves the last block, -> [B]; `rival`: it is the contrast's. */
asc_tensor *asc_job_end(asc_job *j, asc_tensor *hidden, const asc_answer *s, bool rival);
/* How much of the answer is read from each of t rows of the last block: out [t] adds up to 1. A maximum over
 * rows counts as their mean. */
void asc_job_rows_read(const asc_job *j, const asc_answer *s, bool rival, int64_t t, double *out);

#endif
