/* profile.h - what happened when: a ring of fixed-size events, the names in them, a stack of labels, and
 * counters of duty. docs/profiling.md says what each number means.
 *
 * Off: `ctx->prof` is NULL and every hook is one branch. On: an event is one clock reading and one cache
 * line; nothing is allocated but for a name that is new. Full: the oldest events are dropped and counted, the
 * counters go on. Belongs to the context's thread, as the context does. */
#ifndef ASC_PROFILE_INTERNAL_H
#define ASC_PROFILE_INTERNAL_H

#include "alloc.h"

#define ASC_PROF_KIND_TABLE(X)                                                                               \
    X(OP, "op", "one op on the device")                                                                      \
    X(REGION, "region", "a fused region on the device")                                                      \
    X(CUT, "cut", "from the request for values to the values; its name is the reason")                       \
    X(COMPILE, "compile", "a program is optimised, planned and prepared")                                    \
    X(PASS, "pass", "one pass over a program")                                                               \
    X(PLAN, "plan", "the memory plan of a program")                                                          \
    X(COPY, "copy", "host memory to the device or back")                                                     \
    X(PEAK, "peak", "the largest live memory so far; bytes written = live bytes")                            \
    X(SPAN, "span", "what a label of the stack surrounds: method, step, chunk")

typedef enum asc_prof_kind {
#define KIND(e, text, doc) ASC_PROF_##e,
    ASC_PROF_KIND_TABLE(KIND)
#undef KIND
        ASC_N_PROF_KINDS
} asc_prof_kind;
const char *asc_prof_kind_name(asc_prof_kind k);

typedef struct asc_prof_event {
    uint64_t start_ns, ns; /* asc_now_ns */
    uint64_t cpu_ns;       /* processor time of the process, all threads; 0 = not measured */
    double flops, bytes_read, bytes_written;
    uint32_t name, label; /* asc_prof_name */
    uint32_t frame;       /* of the label stack */
    uint16_t kind, threads;
} asc_prof_event;
_Static_assert(sizeof(asc_prof_event) == 64, "an event is one cache line");

/* A label on the stack: what surrounds it, its name, and its number (-1 = none). Frame 0 is the bottom. */
typedef struct asc_prof_frame {
    uint32_t parent, name;
    int64_t number;
} asc_prof_frame;

enum { ASC_PROF_RECENT = 512 }; /* a power of two */
enum { ASC_PROF_DEPTH = 32, ASC_PROF_MAX_NAMES = 1 << 16, ASC_PROF_MAX_FRAMES = 1 << 16 };

typedef struct asc_prof {
    asc_ctx *ctx;
    asc_prof_event *ring;
    size_t cap;
    uint64_t n; /* ever written; the oldest n - cap are gone */
    struct {
        char *text;
        uint64_t hash;
    } * names; /* 0 is "" */
    size_t n_names, cap_names;
    uint32_t *index; /* open addressing, 1 + name; a power of two */
    size_t n_index;
    struct {
        const char *text;
        uint32_t name;
    } recent[ASC_PROF_RECENT]; /* by address; the text is compared all the same */
    uint32_t recent_frame[ASC_PROF_RECENT];
    asc_prof_frame *frames;
    size_t n_frames, cap_frames;
    uint32_t frame; /* current */
    int depth;
    uint64_t opened[ASC_PROF_DEPTH]; /* start of each open span */
    uint32_t outer[ASC_PROF_DEPTH];  /* the frame around it */
    bool lost;                       /* a name or frame found no room: it reads "" */
    bool busy;                       /* inside the profiler: its own allocations are no events */
    /* counters, which outlive dropped events */
    uint64_t start_ns, stop_ns, start_cpu_ns, stop_cpu_ns;
    uint64_t ns[ASC_N_PROF_KINDS], count[ASC_N_PROF_KINDS];
    double flops;
    uint64_t thread_ns;     /* sum over ops and regions of time x threads given to it */
    uint64_t busy_ns;       /* the same, no more than the processor time that the process got meanwhile */
    uint64_t run_thread_ns; /* thread_ns of the device run in progress */
    uint64_t cpu_read_ns;   /* when the processor clock was read last */
    /* memory */
    size_t peak_bytes, peak_event_bytes; /* largest live; the last that made an event */
    size_t peak_by_tag[ASC_MEM_N_TAGS];
    uint32_t peak_frame;
    size_t arena_bytes; /* largest plan that ran, and the op at which it is fullest */
    uint32_t arena_op, arena_label;
    size_t arena_full_bytes;
} asc_prof;

/* Starts (again: forgets what was recorded). max_events 0 = 131,072 (8 MB). RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_prof_start(asc_ctx *ctx, size_t max_events);
/* Ends the recording; what was recorded stays in ctx->prof_kept. */
void asc_prof_stop(asc_ctx *ctx);
/* Forgets it; called when the context ends. */
void asc_prof_free(asc_ctx *ctx);

/* The number of a text; equal texts have equal numbers. 0 for NULL, "" and when there is no room. */
uint32_t asc_prof_name(asc_prof *p, const char *text);
const char *asc_prof_text(const asc_prof *p, uint32_t name); /* never NULL */

/* Events that are still there, oldest first: i < asc_prof_events(p). */
size_t asc_prof_events(const asc_prof *p);
const asc_prof_event *asc_prof_at(const asc_prof *p, size_t i);

/* Adds an event (kind, start, ns and what is known are the caller's; frame is set here). */
void asc_prof_add(asc_prof *p, asc_prof_event e);

/* A stretch of time: `asc_prof_mark m = asc_prof_begin(ctx); ...; asc_prof_end(ctx, m, kind, name, label)`.
 * Nothing but one branch each when off. */
typedef struct asc_prof_mark {
    uint64_t ns; /* 0 = off */
    uint64_t cpu_ns;
} asc_prof_mark;
asc_prof_mark asc_prof_begin_on(asc_ctx *ctx);
void asc_prof_end_on(asc_ctx *ctx, asc_prof_mark m, asc_prof_kind kind, const char *name, const char *label);
static inline asc_prof_mark asc_prof_begin(asc_ctx *ctx) {
    return ctx->prof == NULL ? (asc_prof_mark){0} : asc_prof_begin_on(ctx);
}
static inline void asc_prof_end(asc_ctx *ctx, asc_prof_mark m, asc_prof_kind kind, const char *name,
                                const char *label) {
    if (ctx->prof != NULL && m.ns != 0) asc_prof_end_on(ctx, m, kind, name, label);
}

/* Around a run of the device: also reads the processor clock, for the counter of busy cores (at most every
 * 100 microseconds: a reading takes 0.2). */
asc_prof_mark asc_prof_run_begin_on(asc_ctx *ctx);
void asc_prof_run_end_on(asc_ctx *ctx, asc_prof_mark m);
static inline asc_prof_mark asc_prof_run_begin(asc_ctx *ctx) {
    return ctx->prof == NULL ? (asc_prof_mark){0} : asc_prof_run_begin_on(ctx);
}
static inline void asc_prof_run_end(asc_ctx *ctx, asc_prof_mark m) {
    if (ctx->prof != NULL && m.ns != 0) asc_prof_run_end_on(ctx, m);
}

/* A copy between host and device that started at `m`. */
void asc_prof_copy(asc_ctx *ctx, asc_prof_mark m, const char *name, size_t bytes);

/* The label stack: what runs until asc_prof_pop(ctx, depth) belongs to `name` (and number, -1 = none).
 * Returns the depth to pop to, so that an early return which skips inner pops leaves no mess. */
int asc_prof_push(asc_ctx *ctx, const char *name, int64_t number);
void asc_prof_pop(asc_ctx *ctx, int depth);

/* Of alloc.c: live memory has a new maximum. */
void asc_prof_peak(asc_ctx *ctx);

#endif
