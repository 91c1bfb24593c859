/* coalition_rows.h - the different prompts of a set of coalitions, on their way to the model. */
#ifndef ASC_COALITION_ROWS_H
#define ASC_COALITION_ROWS_H

#include "method.h"

typedef struct asc_coalition_row {
    const int32_t *ids, *positions; /* [len] */
    size_t len, which; /* which: its coalition; its numbers go to out + which * asc_job_n_values */
} asc_coalition_row;

/* coalition_trie.c: their numbers by prefix sharing; causal decoders only. Counts tokens. */
ASC_MUST_USE asc_status asc_coalition_by_trie(asc_job *j, const asc_coalition_row *rows, size_t n,
                                              double *out);

#endif
