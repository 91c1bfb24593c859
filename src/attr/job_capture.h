/* job_capture.h - batches of prompts in compiled mode: recorded once for a shape, then run again with other
 * embeddings, points, ids and prefixes. A batch is known by its sizes and what is read; what it takes from
 * the job is listed as sources, in the order in which its leaves are made while it is recorded. */
#ifndef ASC_JOB_CAPTURE_H
#define ASC_JOB_CAPTURE_H

#include "compiled.h"
#include "method.h"

/* What a leaf of a batch holds: one of the three. */
typedef struct asc_job_source {
    asc_tensor *tensor; /* its storage is read in place */
    const int32_t *ids; /* [n], copied */
    const double *numbers;
    size_t n;
} asc_job_source;

typedef struct asc_job_batch_run {
    asc_job *j;
    asc_job_source *sources;
    size_t n_sources, cap_sources;
    int32_t *ids; /* target ids of every row, as the sources have them */
    size_t n_outs;
    asc_capture *capture;
} asc_job_batch_run;

/* sizes[1] is the number of tokens of a row.
 * ASC_OK with b->capture NULL: the mode is another one, or the batch cannot be kept; record it. kind and the
 * sizes say what is recorded; `first` are the batch's own sources, to which those of the target and the
 * prefix are added. record(self, outs) makes the leaves of `first` (asc_job_leaf, in that order) and the ops,
 * and lists n_outs values. */
ASC_MUST_USE asc_status asc_job_captured(asc_job_batch_run *b, asc_job *j, const int64_t *sizes,
                                         size_t n_sizes, size_t rows, const asc_job_source *first,
                                         size_t n_first, size_t n_outs,
                                         asc_status (*record)(void *self, asc_tensor **outs), void *self);
ASC_MUST_USE asc_status asc_job_captured_read(asc_job_batch_run *b, size_t out, double *to, size_t n);
void asc_job_captured_deinit(asc_job_batch_run *b);

#endif
