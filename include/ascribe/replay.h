/* ascribe/replay.h - a computation as one file: the program's text, its inputs and what it gave, to be run
 * again elsewhere, on any device, in any mode, at any precision (docs/formats/replay.md).
 *
 * A failing run leaves one by itself when ASC_DEBUG is 1 or more, at the path in ASC_REPLAY (default
 * "ascribe.replay"); asc_replay_save makes one of any recorded values.
 */
#ifndef ASCRIBE_REPLAY_H
#define ASCRIBE_REPLAY_H

#include "ascribe/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_replay asc_replay;

/* What is inside; text is lent by the replay. */
typedef struct asc_replay_info {
    asc_view program; /* text form (docs/formats/program.md) */
    asc_view device;  /* where it ran: "cpu" */
    asc_view mode;    /* "deferred" */
    asc_view error;   /* the message of the run that failed; empty = it did not */
    size_t n_nodes, n_inputs, n_outputs;
    bool has_outputs; /* what the run gave is stored */
} asc_replay_info;

/* An output of a run, beside the stored one. */
typedef struct asc_replay_output {
    asc_shape shape;
    int64_t n;           /* elements */
    int64_t n_different; /* elements whose values are not the same (NaN is the same as NaN) */
    int64_t n_nan;       /* of this run */
    int64_t n_stored_nan;
    double max_abs;   /* largest difference of finite elements; 0 when nothing is stored */
    double max_rel;   /* that, relative to the largest stored magnitude */
    double low, high; /* range of this run's finite elements */
} asc_replay_output;

/* Reads and checks a file. NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT (not such a file, or a part makes
 * no sense), DATA_LOSS (cut short, or the checksum differs), all with the place. Ended by asc_replay_close.
 */
ASC_API ASC_MUST_USE asc_status asc_replay_open(asc_ctx *ctx, const char *path, asc_replay **out);
/* The same from memory, which starts at a multiple of 8 and outlives the replay. */
ASC_API ASC_MUST_USE asc_status asc_replay_parse(asc_ctx *ctx, const void *data, size_t size,
                                                 asc_replay **out);
ASC_API void asc_replay_close(asc_replay *r); /* NULL is accepted */
ASC_API asc_replay_info asc_replay_info_of(const asc_replay *r);

/* Records the program anew in the replay's context and runs it there, in the context's mode, with its passes.
 * precision: of all matrix products; NULL = as stored. outs receives one record an output (n_outputs of
 * them). Errors: those of the run itself, which is what a replay is for. */
ASC_API ASC_MUST_USE asc_status asc_replay_run(asc_replay *r, const char *precision, asc_replay_output *outs);

/* Writes what computing ts from what has values takes, and what it gives, if `compute`. */
ASC_API ASC_MUST_USE asc_status asc_replay_save(asc_ctx *ctx, asc_tensor *const *ts, size_t n, bool compute,
                                                const char *path);

#ifdef __cplusplus
}
#endif
#endif
