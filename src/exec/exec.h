/* exec.h - the executor: when recorded ops are cut into a program and run, and the buffers they use.
 * Cut policies: eager (after each op) and deferred (when a value is needed, or a bound of the queue is
 * reached). Both end in asc_exec_cut, which keeps what it made of a program for the next time (cache.h). */
#ifndef ASC_EXEC_H
#define ASC_EXEC_H

#include "device.h"

/* Why a program was cut: X(ENUM, name, what happened). */
#define ASC_CUT_TABLE(X)                                                                                     \
    X(EAGER, "eager", "eager mode: after each op")                                                           \
    X(READ, "read", "a value was read")                                                                      \
    X(RUN, "run", "asc_run was called")                                                                      \
    X(NODES, "nodes", "the queue held too many ops")                                                         \
    X(BYTES, "bytes", "the queue needed too many bytes at once")                                             \
    X(FLOPS, "flops", "the queue held too much arithmetic")                                                  \
    X(AGE, "age", "the queue had waited too long")                                                           \
    X(MARK, "mark", "asc_mark was called: the end of a step of a loop")                                      \
    X(LOOP, "loop", "the last ops repeat those before them")                                                 \
    X(CAPTURED, "captured", "a captured function ran")

typedef enum asc_cut_reason {
#define ASC_CUT_ENUM(E, name, doc) ASC_CUT_##E,
    ASC_CUT_TABLE(ASC_CUT_ENUM)
#undef ASC_CUT_ENUM
        ASC_N_CUT_REASONS
} asc_cut_reason;
const char *asc_cut_reason_doc(asc_cut_reason why);

typedef struct asc_exec_stats {
    uint64_t cuts[ASC_N_CUT_REASONS];
    uint64_t nodes_run;
    double flops; /* of everything run so far */
    size_t last_arena_bytes, max_arena_bytes;
    double seconds;            /* inside the device */
    /* the cache of executables */
    uint64_t cache_hits, cache_misses, cache_evictions;
    size_t cache_entries, cache_bytes; /* held now */
    uint64_t compile_ns;               /* spent on passes, plans and the device's code */
    uint64_t captures;                 /* made in compiled mode */
    uint64_t refused_captures;         /* passes that were recorded instead, since they cannot be captured */
} asc_exec_stats;

/* Computes ts in one cut, whatever the mode. */
ASC_MUST_USE asc_status asc_exec_cut(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_cut_reason why);
/* What a cut of ts would need, without running it; out->slots is NULL. */
ASC_MUST_USE asc_status asc_exec_price(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_plan *out);
/* Which passes run from here on, as asc_passes_parse reads it. INVALID_ARGUMENT. */
ASC_MUST_USE asc_status asc_exec_passes(asc_ctx *ctx, const char *text);

/* From here on, programs whose temporaries would be more than so many bytes compute values again instead of
 * keeping them (pass checkpoint); 0 = no bound, the default. One that cannot be met is met as nearly as
 * possible: compare the plan of asc_exec_price. */
void asc_exec_bound_arena(asc_ctx *ctx, size_t bytes);

/* The cache of executables: bounded by entries and bytes (256 and 64 MB unless set), oldest use dropped
 * first. */
void asc_exec_cache_bound(asc_ctx *ctx, size_t entries, size_t bytes);
void asc_exec_cache_clear(asc_ctx *ctx); /* and the captures of compiled mode */
/* From here on (or no longer) a program that is not in the cache is FAILED_PRECONDITION, with the reason. */
void asc_exec_freeze(asc_ctx *ctx, bool on);
/* Why the i-th last program looked for was not in the cache (0 = the last); NULL = no such miss, or too long
 * ago. */
const char *asc_exec_cache_why(const asc_ctx *ctx, size_t i);
/* Entry i, 0 = the one used last; false behind the oldest. Lent until the next cut. */
typedef struct asc_exec_program {
    const asc_program *program; /* after the passes */
    const asc_plan *plan;
    uint64_t hash, hits;
    size_t bytes;
    uint64_t compile_ns;
} asc_exec_program;
bool asc_exec_cache_at(const asc_ctx *ctx, size_t i, asc_exec_program *out);
/* Bounds of the deferred queue. When one is met, what the queue holds is cut by itself, at the edge where the
 * fewest bytes are alive: values that are still owned by a scope and that nothing consumed are computed. */
typedef struct asc_queue_limits {
    size_t nodes;      /* recorded ops without a value */
    double live_bytes; /* at once, by liveness of what is queued */
    double flops;
    double seconds;  /* since the first op behind the last cut */
    bool find_loops; /* also cut where the last 3 to 127 ops repeat those before them; off unless set */
    bool forbid;     /* a read or a bound that would cut is FAILED_PRECONDITION; asc_run and asc_mark may */
} asc_queue_limits;
asc_queue_limits asc_exec_limits(const asc_ctx *ctx);
void asc_exec_set_limits(asc_ctx *ctx, const asc_queue_limits *limits);
/* Ops that are recorded, still needed by a scope, and have no value. */
ASC_MUST_USE asc_status asc_exec_pending(asc_ctx *ctx, size_t *out_nodes);

asc_exec_stats asc_exec_stats_of(const asc_ctx *ctx);
/* Text of the program that a cut of ts would run, after the passes. */
ASC_MUST_USE asc_status asc_exec_text(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_strbuf *out);

/* A leaf over stored data that outlives every tensor made from it (a mapped file): no copy on devices that
 * read the format in place; otherwise expanded once, counted as weights. Owned by the current scope. */
asc_tensor *asc_from_stored(asc_ctx *ctx, asc_dtype dtype, asc_shape shape, const void *data);

/* Elements first .. first + n - 1 of a value, as doubles. INVALID_ARGUMENT outside of it. */
ASC_MUST_USE asc_status asc_exec_read_part(asc_ctx *ctx, asc_tensor *t, int64_t first, double *out, size_t n);

/* Overwrites elements at .. at + n - 1 of the leaf `to` with elements of a computed value of its type: the
 * one exception to "values never change", for stores of keys and values. What was recorded from `to` and has
 * no value yet reads the new ones. INVALID_ARGUMENT when either has no value or the range does not fit. */
ASC_MUST_USE asc_status asc_exec_copy_part(asc_ctx *ctx, asc_tensor *to, int64_t at, const asc_tensor *from,
                                           int64_t first, int64_t n);

/* Gives cached free buffers back to the allocator. */
void asc_exec_trim(asc_ctx *ctx);

const asc_device *asc_exec_device(const asc_ctx *ctx);
void *asc_exec_device_state(const asc_ctx *ctx);

#endif
