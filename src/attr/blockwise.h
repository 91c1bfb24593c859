/* blockwise.h - the gradient of the explained scalar, one block of the model at a time.
 *
 * The plain way records the whole model forwards and backwards as one program, which holds every inner value
 * of every block until its gradient has passed. Here only what enters a block is kept; the block is recorded
 * again when the gradient arrives there. Same ops on same values: the same bits, for a third more arithmetic.
 * With keep_every = k only every k-th of those is kept, and the blocks between are run once more. */
#ifndef ASC_BLOCKWISE_H
#define ASC_BLOCKWISE_H

#include "method.h"
#include "price.h"

/* Prompts x [B,P,D], a leaf with a value, behind the job's prefix -> scalar *out_f [B], gradient *out_g at x,
 * or at the job's site when that is an inner value; out_act (may be NULL) the value there. The results are
 * retained: the caller releases them, also after an error (NULL then). */
ASC_MUST_USE asc_status asc_blockwise_gradient(asc_job *j, asc_tensor *x, size_t keep_every,
                                               asc_tensor **out_f, asc_tensor **out_g, asc_tensor **out_act);

/* What that takes for b prompts of p tokens, without running it; x itself is not counted. */
ASC_MUST_USE asc_status asc_blockwise_price(asc_job *j, size_t b, size_t p, size_t keep_every,
                                            asc_price *out);

#endif
