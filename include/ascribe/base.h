/* ascribe/base.h - context, status codes, memory and callbacks.
 *
 * Guarantees: no global state; everything lives in an asc_ctx. The library never prints and never
 * aborts on bad input, bad shapes or exhausted memory: it returns a status and keeps a message.
 * Threads: a context belongs to one thread at a time; two contexts are independent.
 */
#ifndef ASCRIBE_BASE_H
#define ASCRIBE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ASC_API __attribute__((visibility("default")))
#define ASC_MUST_USE __attribute__((warn_unused_result))
#define ASC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define ASC_API
#define ASC_MUST_USE
#define ASC_PRINTF(fmt, args)
#endif

/* Status codes; the numbers are gRPC's, so that plug-ins map without a table. */
#define ASC_STATUS_TABLE(X)                                                                                  \
    X(OK, 0, "ok")                                                                                           \
    X(CANCELLED, 1, "cancelled")                                                                             \
    X(UNKNOWN, 2, "unknown error")                                                                           \
    X(INVALID_ARGUMENT, 3, "invalid argument")                                                               \
    X(DEADLINE_EXCEEDED, 4, "deadline exceeded")                                                             \
    X(NOT_FOUND, 5, "not found")                                                                             \
    X(ALREADY_EXISTS, 6, "already exists")                                                                   \
    X(PERMISSION_DENIED, 7, "permission denied")                                                             \
    X(RESOURCE_EXHAUSTED, 8, "out of memory or over a limit")                                                \
    X(FAILED_PRECONDITION, 9, "failed precondition")                                                         \
    X(ABORTED, 10, "aborted")                                                                                \
    X(OUT_OF_RANGE, 11, "out of range")                                                                      \
    X(UNIMPLEMENTED, 12, "not supported")                                                                    \
    X(INTERNAL, 13, "internal error")                                                                        \
    X(UNAVAILABLE, 14, "unavailable")                                                                        \
    X(DATA_LOSS, 15, "damaged data")

typedef enum asc_status {
#define ASC_STATUS_ENUM(name, number, text) ASC_##name = number,
    ASC_STATUS_TABLE(ASC_STATUS_ENUM)
#undef ASC_STATUS_ENUM
} asc_status;

/* Name of a code ("INVALID_ARGUMENT"); never NULL. */
ASC_API const char *asc_status_name(asc_status st);

/* A borrowed run of bytes; not NUL-terminated, may hold any byte. */
typedef struct asc_view {
    const char *ptr;
    size_t len;
} asc_view;

/* How matrix products and convolutions multiply; sums are f32 at every level. The level is part of each op,
 * of every cache key and of every result. Pieces: x = h + m + l, each rounded to bf16 (8 significant bits).
 */
#define ASC_PRECISION_TABLE(X)                                                                               \
    X(HIGHEST, "highest", "f32 products")                                                                    \
    X(BF16X6, "bf16x6", "six bf16 products (hh hm mh mm hl lh): what matrix units call highest")             \
    X(HIGH, "high", "three bf16 products (hh hm mh)")                                                        \
    X(MEDIUM, "medium", "one bf16 product (hh)")                                                             \
    X(INT8, "int8", "8-bit products with a scale per row: good for rankings only")

typedef enum asc_precision {
#define ASC_PRECISION_ENUM(name, text, doc) ASC_PRECISION_##name,
    ASC_PRECISION_TABLE(ASC_PRECISION_ENUM)
#undef ASC_PRECISION_ENUM
        ASC_N_PRECISIONS
} asc_precision;

/* Name of a level ("highest"); NULL = unknown. And back; -1 = unknown. */
ASC_API const char *asc_precision_name(asc_precision p);
ASC_API const char *asc_precision_doc(asc_precision p);
ASC_API int asc_precision_from_name(const char *name);

/* What memory is for; live and peak bytes are kept per tag. */
#define ASC_MEM_TABLE(X)                                                                                     \
    X(GENERAL, "general")                                                                                    \
    X(WEIGHTS, "weights")                                                                                    \
    X(ACTIVATIONS, "activations")                                                                            \
    X(SCRATCH, "scratch")                                                                                    \
    X(CACHE, "cache")                                                                                        \
    X(TOKENIZER, "tokenizer")                                                                                \
    X(PROGRAM, "program")

typedef enum asc_mem_tag {
#define ASC_MEM_ENUM(name, text) ASC_MEM_##name,
    ASC_MEM_TABLE(ASC_MEM_ENUM)
#undef ASC_MEM_ENUM
        ASC_MEM_N_TAGS
} asc_mem_tag;

typedef struct asc_mem_stats {
    size_t live_bytes[ASC_MEM_N_TAGS];
    size_t peak_bytes[ASC_MEM_N_TAGS];
    size_t live_total, peak_total; /* bytes */
    size_t live_allocs;            /* blocks handed out and not yet freed */
    size_t mapped_bytes;           /* read-only file mappings now open; not part of live_total */
} asc_mem_stats;

/* One function does all: ptr NULL = allocate new_size; new_size 0 = free; otherwise grow or shrink.
 * `align` is a power of two. Returns NULL when memory is exhausted (then ptr stays valid). */
typedef void *(*asc_alloc_fn)(void *self, void *ptr, size_t old_size, size_t new_size, size_t align);

typedef enum asc_log_level { ASC_LOG_ERROR, ASC_LOG_WARN, ASC_LOG_INFO, ASC_LOG_DEBUG } asc_log_level;
typedef void (*asc_log_fn)(void *self, asc_log_level level, const char *message);

/* Called between pieces of long work: `done` of `total` units (total 0 = unknown) of `what`.
 * A return of false asks for a clean stop (the call then returns ASC_CANCELLED). */
typedef bool (*asc_progress_fn)(void *self, const char *what, double done, double total);

/* Options of asc_ctx_create; zero-initialise, then set struct_size = sizeof(asc_ctx_options). */
typedef struct asc_ctx_options {
    size_t struct_size;
    asc_alloc_fn alloc; /* NULL = malloc family */
    void *alloc_self;
    asc_log_fn log; /* NULL = silent */
    void *log_self;
    asc_progress_fn progress; /* NULL = none */
    void *progress_self;
    const char *device; /* "cpu" (default), "reference", "null" */
    const char *mode;   /* "deferred" (default), "eager", "compiled" */
    int n_threads;      /* 0 = all cores the process may use */
    uint64_t seed;      /* of every random draw */
    const char *isa;    /* "auto" (default), "amx", "avx512", "avx2", "baseline": kernels of cpu */
    /* ---- since 0.2 ---- */
    const char *precision; /* level of matrix products: "highest" (default), "high", "medium", ... */
} asc_ctx_options;

typedef struct asc_ctx asc_ctx;

/* Makes a context. The caller owns it and ends it with asc_ctx_destroy after everything made in it.
 * Errors: INVALID_ARGUMENT (unknown device, mode or isa: out_ctx still receives a context, only good for
 * reading the message), RESOURCE_EXHAUSTED (out_ctx is NULL). */
ASC_API ASC_MUST_USE asc_status asc_ctx_create(const asc_ctx_options *opts, asc_ctx **out_ctx);
ASC_API void asc_ctx_destroy(asc_ctx *ctx); /* NULL is accepted */

/* The last error of this context: code, one-line message, and what to do about it ("" if nothing is known).
 * The strings live in the context and change with the next error. */
ASC_API asc_status asc_error_code(const asc_ctx *ctx);
ASC_API const char *asc_error_message(const asc_ctx *ctx);
ASC_API const char *asc_error_hint(const asc_ctx *ctx);
ASC_API void asc_error_clear(asc_ctx *ctx);

/* Asks long work in this context to stop at the next safe place; also for signal handlers (below). */
ASC_API void asc_cancel(asc_ctx *ctx);
/* Takes the request back: after a call returned ASC_CANCELLED, the context's next call would stop at once
 * too. */
ASC_API void asc_cancel_reset(asc_ctx *ctx);

ASC_API asc_mem_stats asc_memory(const asc_ctx *ctx);
/* The peaks begin anew at what is live: a context that answers many questions says of each what it took, and
 * what the next is predicted to take does not begin at the largest of those before. */
ASC_API void asc_memory_forget_peaks(asc_ctx *ctx);
ASC_API const char *asc_mem_tag_name(asc_mem_tag tag);

/* Version of the library, "MAJOR.MINOR.PATCH". */
ASC_API const char *asc_version(void);

/* Signal handlers, of programs that have any, need a stack of their own (sigaltstack, then SA_ONSTACK in
 * sigaction's flags): where oneDNN makes the products (processors without AVX-512, isa "avx2" or "baseline")
 * its code keeps values below the stack pointer, farther than the 128 bytes that a signal spares, and a
 * handler on that stack, whatever it calls, writes over them. */

#ifdef __cplusplus
}
#endif
#endif
