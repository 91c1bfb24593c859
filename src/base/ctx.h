/* ctx.h - the context: allocator, error record, log, progress, cancel flag, and slots for higher layers.
 * Not for users of the library; they see the opaque type in ascribe/base.h. */
#ifndef ASC_CTX_H
#define ASC_CTX_H

#include "ascribe/base.h"
#include <stdatomic.h>

typedef struct asc_error {
    asc_status code;
    char message[1024]; /* NUL-terminated, one line */
    char hint[512];     /* what to do; may be "" */
    const char *file;   /* source place that raised it, for debugging */
    int line;
} asc_error;

struct asc_prof;    /* profile.h */
struct asc_runtime; /* src/exec: device, mode, recorded graph, buffer cache */

struct asc_ctx {
    asc_alloc_fn alloc;
    void *alloc_self;
    asc_log_fn log;
    void *log_self;
    asc_progress_fn progress;
    void *progress_self;
    asc_mem_stats mem;
    asc_error error;
    atomic_int cancel;
    int n_threads;
    uint64_t seed;
    int isa; /* asc_isa, see cpu.h */
    char device_name[32];
    char mode_name[32];
    asc_precision precision;                 /* of ops recorded where no override says otherwise */
    struct asc_prof *prof, *prof_kept;       /* what is being recorded, NULL = off; and what was, owned */
    struct asc_runtime *rt;                  /* owned; NULL until the first tensor */
    void (*rt_destroy)(struct asc_ctx *ctx); /* set with rt */
    /* While a job with a bound runs: an allocation beyond it first asks rt to give back what is idle. */
    size_t bound;                                            /* bytes of everything; 0 = none */
    void (*rt_give_back)(struct asc_ctx *ctx, size_t bytes); /* so many, if there are; set with rt */
};

/* The part of asc_ctx_create that needs nothing above base: allocator, names, threads. Same contract. */
ASC_MUST_USE asc_status asc_ctx_create_base(const asc_ctx_options *opts, asc_ctx **out_ctx);

/* Records an error and returns its code: `return ASC_FAIL(ctx, ASC_NOT_FOUND, "no tensor '%s'", name);`
 * Keeps the first error of a chain when the code is the same and the new message is empty. */
#define ASC_FAIL(ctx, code, ...) asc_fail_at((ctx), (code), __FILE__, __LINE__, __VA_ARGS__)
asc_status asc_fail_at(asc_ctx *ctx, asc_status code, const char *file, int line, const char *fmt, ...)
    ASC_PRINTF(5, 6);
/* Adds the remedy to the error just recorded; returns its code. */
asc_status asc_hint(asc_ctx *ctx, const char *fmt, ...) ASC_PRINTF(2, 3);
/* Puts "<context>: " before the recorded message (file name, tensor name); returns its code. */
asc_status asc_fail_context(asc_ctx *ctx, const char *fmt, ...) ASC_PRINTF(2, 3);

/* `ASC_TRY(call());` jumps to the function's `done:` label with `st` set when the call fails. */
#define ASC_TRY(expr)                                                                                        \
    do {                                                                                                     \
        st = (expr);                                                                                         \
        if (st != ASC_OK) goto done;                                                                         \
    } while (0)

void asc_logf(asc_ctx *ctx, asc_log_level level, const char *fmt, ...) ASC_PRINTF(3, 4);

/* Reports progress and polls for a stop: ASC_OK, or ASC_CANCELLED with the error recorded. */
asc_status asc_progress(asc_ctx *ctx, const char *what, double done, double total);
/* Polls only. */
asc_status asc_poll_cancel(asc_ctx *ctx);

uint64_t asc_now_ns(void); /* monotonic clock */

#endif
