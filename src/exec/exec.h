/* exec.h - the executor: when recorded ops are cut into a program and run, and the buffers they use.
 * Cut policies: eager (after each op) and deferred (when a value is needed, or a bound of the queue is
 * reached). Both end in asc_exec_cut; a compiled mode becomes a third caller of the same function. */
#ifndef ASC_EXEC_H
#define ASC_EXEC_H

#include "device.h"

typedef enum asc_cut_reason {
    ASC_CUT_EAGER,
    ASC_CUT_READ,
    ASC_CUT_RUN,
    ASC_CUT_BOUND,
    ASC_N_CUT_REASONS
} asc_cut_reason;

typedef struct asc_exec_stats {
    uint64_t cuts[ASC_N_CUT_REASONS];
    uint64_t nodes_run;
    double flops; /* of everything run so far */
    size_t last_arena_bytes, max_arena_bytes;
    double seconds;            /* inside the device */
    uint64_t op_ns[ASC_N_OPS]; /* by op, when profiling is on */
} asc_exec_stats;

/* Computes ts in one cut, whatever the mode. */
ASC_MUST_USE asc_status asc_exec_cut(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_cut_reason why);
/* What a cut of ts would need, without running it; out->slots is NULL. */
ASC_MUST_USE asc_status asc_exec_price(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_plan *out);
asc_exec_stats asc_exec_stats_of(const asc_ctx *ctx);
void asc_exec_profile(asc_ctx *ctx, bool on);
/* Text of the program that a cut of ts would run. */
ASC_MUST_USE asc_status asc_exec_text(asc_ctx *ctx, asc_tensor *const *ts, size_t n, asc_strbuf *out);

/* A leaf over stored data that outlives every tensor made from it (a mapped file): no copy on devices that
 * read the format in place; otherwise expanded once, counted as weights. Owned by the current scope. */
asc_tensor *asc_from_stored(asc_ctx *ctx, asc_dtype dtype, asc_shape shape, const void *data);

/* Gives cached free buffers back to the allocator. */
void asc_exec_trim(asc_ctx *ctx);

const asc_device *asc_exec_device(const asc_ctx *ctx);
void *asc_exec_device_state(const asc_ctx *ctx);

#endif
