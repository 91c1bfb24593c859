/* ascribe/batch.h - many prompts: a file of requests in, a file of results out.
 *
 * Both are JSON Lines (docs/formats/batch.md). A line that fails becomes a result that says why; the others
 * go on. Results are appended whole, so a run that is stopped or killed at any point is continued by running
 * it again: nothing is lost and nothing is there twice.
 */
#ifndef ASCRIBE_BATCH_H
#define ASCRIBE_BATCH_H

#include "ascribe/attr.h"
#include "ascribe/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_batch_counts {
    size_t lines;   /* of the prompts file, empty ones not counted */
    size_t skipped; /* done by an earlier run */
    size_t done;    /* by this one, failed ones too */
    size_t failed;  /* of all */
    double seconds;
} asc_batch_counts;

/* Zero-initialise, then set struct_size. */
typedef struct asc_batch {
    size_t struct_size;
    const char *prompts, *results; /* paths; the second is made, or continued */
    const asc_request *request;    /* what lines do not say themselves; no prompt in it */
    asc_weights_mode weights;      /* as the model was opened; goes into the results */
    /* After each line; false stops as asc_cancel does. NULL = none. */
    bool (*on_line)(void *self, const asc_batch_counts *so_far);
    void *self;
} asc_batch;

/* Runs the lines that the results file does not hold yet: several at a time where each is small (and the
 * model holds no values, asc_model_hold), each in a thread and a context of its own, together under the
 * request's bound of memory (docs/formats/batch.md). The caller's callbacks are called from the caller's
 * thread; what the others would log is not. Errors that end the run (asc_batch_counts says how far it came):
 * NOT_FOUND, PERMISSION_DENIED; INVALID_ARGUMENT (the results file is none); FAILED_PRECONDITION (it was made
 * with other options, another model or other prompts; another process is writing it); RESOURCE_EXHAUSTED
 * (disk full); CANCELLED. */
ASC_API ASC_MUST_USE asc_status asc_batch_run(asc_model *m, const asc_batch *b, asc_batch_counts *out);

/* What asc_batch_run would cost, one line after the other (side by side they take less time). */
typedef struct asc_batch_cost {
    size_t lines, failed; /* of the prompts file; of these, those that cannot be read or do not fit */
    size_t priced;        /* lines whose price was asked: all of a small file; the others lie between these */
    double seconds,
        least_seconds; /* at most, where a line ends by itself once it is exact enough; at least */
    double n_forward, n_backward, flops;
    size_t peak_bytes, peak_line; /* the largest of a line, and which it is, from 1 (0: there is none) */
} asc_batch_cost;

/* Prices a file of prompts without doing anything but measuring rates of the machine; b->results is not
 * looked at and may be NULL. What is said goes to text and as JSON to json (each may be NULL). Errors:
 * NOT_FOUND, INVALID_ARGUMENT, CANCELLED; those of a line are counted, and the first ones said. */
ASC_API ASC_MUST_USE asc_status asc_batch_price(asc_model *m, const asc_batch *b, asc_batch_cost *out,
                                                asc_text *text, asc_text *json);

/* What a results file says as a whole: counts, and the words with the largest total score, over all prompts
 * and by class (an encoder's label, a language model's answer). Writes text, or JSON when `json`. `top`:
 * words of each table; 0 = 10. Errors: as above, INVALID_ARGUMENT. */
ASC_API ASC_MUST_USE asc_status asc_batch_summary(asc_ctx *ctx, const char *results, size_t top, bool json,
                                                  asc_text *out);

#ifdef __cplusplus
}
#endif
#endif
