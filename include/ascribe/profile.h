/* ascribe/profile.h - where the time and the memory of a context go.
 *
 * A profile is a ring of events (one op, one fused region, one cut, one compile, one copy, ...) with time,
 * bytes, FLOP, the label of the layer and the stack of labels around it, and counters of duty. Off it costs
 * one branch at each place; on, less than 2 % (docs/profiling.md has the measurement and what every column
 * means). When the ring is full the oldest events are dropped and counted; the counters still know them.
 *
 *     asc_profile_start(ctx, NULL);
 *     ... work ...
 *     asc_profile_stop(ctx);
 *     st = asc_profile_write(ctx, "profile");   // profile/trace.json, profile.txt, profile.html
 */
#ifndef ASCRIBE_PROFILE_H
#define ASCRIBE_PROFILE_H

#include "ascribe/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialise, then set struct_size = sizeof(asc_profile_options). */
typedef struct asc_profile_options {
    size_t struct_size;
    size_t max_events; /* of the ring, 64 bytes each; 0 = 131,072 */
} asc_profile_options;

/* Starts recording; forgets an earlier profile. NULL = the defaults. RESOURCE_EXHAUSTED, INVALID_ARGUMENT. */
ASC_API ASC_MUST_USE asc_status asc_profile_start(asc_ctx *ctx, const asc_profile_options *opts);
/* Ends recording; what was recorded stays until asc_profile_clear, the next start or the context's end. */
ASC_API void asc_profile_stop(asc_ctx *ctx);
ASC_API void asc_profile_clear(asc_ctx *ctx);

/* A label around what follows, until asc_profile_pop of what the push returned: "fold", 3 reads "fold 3";
 * number -1 = none. Labels nest; without a profile this is one branch. */
ASC_API int asc_profile_push(asc_ctx *ctx, const char *name, int64_t number);
ASC_API void asc_profile_pop(asc_ctx *ctx, int depth);

/* Label of the ops recorded from here on, in profiles and in messages (docs/debugging.md): a layer's name, or
 * ASC_HERE for the place in the source. Copied; NULL = none. Returns the label before, to be set again. */
ASC_API const char *asc_label_set(asc_ctx *ctx, const char *label);
#define ASC_HERE_TEXT(line) #line
#define ASC_HERE_LINE(line) ASC_HERE_TEXT(line)
#define ASC_HERE __FILE__ ":" ASC_HERE_LINE(__LINE__)

/* Counters of duty; all 0 when nothing was recorded. */
typedef struct asc_profile_summary {
    double seconds;        /* wall time from start to stop (or to now) */
    double cpu_seconds;    /* processor time of the process in it, all threads */
    double kernel_seconds; /* wall time in ops and fused regions */
    double kernel_share;   /* kernel_seconds / seconds */
    double busy_share;     /* (sum over kernels of time x threads, no more than the processor time that the
                              process got meanwhile) / (seconds x threads of the context) */
    double flops;          /* of the kernels, by the ops' own cost */
    uint64_t events;       /* ever recorded */
    uint64_t dropped;      /* of them: no longer in the ring */
    uint64_t ops, regions, cuts, compiles;
    size_t peak_bytes; /* largest live memory while recording */
} asc_profile_summary;
ASC_API asc_profile_summary asc_profile_summary_of(const asc_ctx *ctx);

/* The same profile in three forms. Trace: JSON in the Trace Event Format, for ui.perfetto.dev and
 * chrome://tracing. Table: text, sorted by time. Page: HTML with a timeline; loads nothing. */
ASC_API void asc_profile_trace(asc_ctx *ctx, asc_text *t);
ASC_API void asc_profile_table(asc_ctx *ctx, asc_text *t);
ASC_API void asc_profile_page(asc_ctx *ctx, asc_text *t);
/* All three as trace.json, profile.txt and profile.html in `folder`, which is made when it is not there.
 * FAILED_PRECONDITION when nothing was recorded; file errors name the path. */
ASC_API ASC_MUST_USE asc_status asc_profile_write(asc_ctx *ctx, const char *folder);

/* Live and peak bytes by tag as text; with a profile also where the peak was. */
ASC_API void asc_memory_report(asc_ctx *ctx, asc_text *t);
/* Empties what a context keeps for reuse: free buffers, blocks of temporaries, compiled programs. Values of
 * tensors stay. Returns the bytes that went back to the allocator. */
ASC_API size_t asc_cache_empty(asc_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
