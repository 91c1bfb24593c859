/* ascribe/stats.h - what a context has done so far: programs launched and why, what they computed, what the
 * program cache held. Counters only grow; the work between two points is the difference of two readings.
 */
#ifndef ASCRIBE_STATS_H
#define ASCRIBE_STATS_H

#include "ascribe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ASC_STATS_MAX_CUTS = 24 };

typedef struct asc_stats {
    uint64_t cuts[ASC_STATS_MAX_CUTS]; /* programs launched, by the reason that ended their recording */
    uint64_t programs;                 /* sum of these */
    uint64_t nodes;                    /* ops and leaves of the programs that ran */
    double flops;                      /* by the ops' own cost */
    double device_seconds;             /* inside the device */
    size_t arena_bytes;                /* largest block of temporaries of one program */
    uint64_t hits, misses, evictions;  /* of the cache of programs */
    uint64_t captures;                 /* whole functions kept in compiled mode */
    double compile_seconds;            /* in passes, plans and preparing code */
} asc_stats;

ASC_API asc_stats asc_stats_of(const asc_ctx *ctx);
/* Name of a cut's reason ("read", "eager", ...); NULL when i is past the last. */
ASC_API const char *asc_cut_reason_name(size_t i);

/* Threads of the context's kernels. */
ASC_API int asc_ctx_threads(const asc_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
