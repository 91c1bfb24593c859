/* runtime.h - the executor's own state; only files of src/exec include it. */
#ifndef ASC_RUNTIME_H
#define ASC_RUNTIME_H

#include "ascribe/cache.h"
#include "exec.h"

enum { ASC_BUF_CLASSES = 256, ASC_CACHE_CHAINS = 512, ASC_CACHE_WHYS = 8 };

/* Elements of a captured integer parameter lie in [0, n). */
typedef struct asc_capture_bound {
    const asc_tensor *leaf; /* while it is recorded */
    size_t param;           /* afterwards */
    int64_t n;
    bool read; /* by the one who asked for the check */
    char what[64];
} asc_capture_bound;

/* A value that a cut computes. */
typedef struct asc_cut_out {
    asc_tensor *tensor;
    asc_buffer *buf; /* counted until the run ended */
} asc_cut_out;

/* What a cut works with; kept so that cuts do not allocate. */
typedef struct asc_cut_room {
    asc_tensor **nodes, **stack; /* nodes: what is needed, by id */
    size_t n, cap_nodes, cap_stack;
    uint64_t *key;
    size_t n_key, cap_key;
    asc_cut_out *outs;
    size_t n_outs, cap_outs;
} asc_cut_room;
void asc_cut_room_deinit(asc_ctx *ctx, asc_cut_room *r);
/* cut.c: fills the context's room with what ts need and what they read, by id, each node's slot its index;
 * outs are those of ts that have no value, each once. */
ASC_MUST_USE asc_status asc_cut_collect(asc_ctx *ctx, asc_tensor *const *ts, size_t n);
/* The program of what was collected. out is initialised by the caller, who ends it in any case. */
ASC_MUST_USE asc_status asc_cut_build(asc_ctx *ctx, asc_program *out);

/* cut.c: the executable of all that the current scope owns, without passes: its nodes are those that were
 * recorded, its outputs ts. Prepared, lent by the cache. NULL: there is none, or it has other nodes. */
struct asc_exe;
ASC_MUST_USE asc_status asc_cut_rehearsed(asc_ctx *ctx, asc_tensor *const *ts, size_t n,
                                          struct asc_exe **out);

/* A rehearsed pass that runs (follow.h). */
typedef struct asc_follow {
    struct asc_exe *exe; /* NULL = none */
    asc_tensor **at;     /* [n_nodes] counted: what was recorded or read as this node and has not ended */
    int32_t *last;       /* [n_nodes] where it is used for the last time; n_nodes: behind the pass */
    size_t cap, next;    /* next: the node expected */
    size_t scope;        /* number of scopes open when it began */
    uint64_t ran;        /* nodes run in the context behind the last one of this pass */
    const void *scratch; /* in which that one ran; NULL = none did */
    void *block;         /* where values lie */
    size_t block_bytes;
} asc_follow;

/* Executables by key (cache.h). */
typedef struct asc_cache {
    struct asc_cache_entry *table[ASC_CACHE_CHAINS], *newest, *oldest;
    size_t n_entries, max_entries, bytes, max_bytes;
    bool frozen;
    char why[ASC_CACHE_WHYS][512]; /* ring */
    size_t n_why;
} asc_cache;

/* The ops seen last, for finding loops in them (queue_loops.c). */
enum { ASC_LOOP_WINDOW = 256, ASC_LOOP_SHORTEST = 3, ASC_LOOP_LONGEST = 127 };
typedef struct asc_loops {
    uint64_t hash[ASC_LOOP_WINDOW], prefix[ASC_LOOP_WINDOW], id[ASC_LOOP_WINDOW];
    uint32_t before[ASC_LOOP_WINDOW]; /* place where the same three ops ended before; 0 = nowhere */
    uint32_t place[ASC_LOOP_WINDOW];  /* by hash of three ops */
    uint32_t n;                       /* ops seen; op i is at i % ASC_LOOP_WINDOW, from 1 on */
    uint32_t last_length, pause;
} asc_loops;

/* The deferred queue. The counters are upper bounds: they grow with each op and are counted anew when one of
 * them reaches its check. */
typedef struct asc_queue {
    asc_queue_limits limits;
    size_t nodes, check_nodes;
    double bytes, check_bytes;
    double flops, check_flops;
    double exact_above; /* elements from which an op's arithmetic is counted */
    uint64_t since_ns;  /* of the first op behind the last cut */
    /* the last cut at a bound, to be repeated */
    uint64_t edge_signature;
    size_t edge_nodes;
    uint64_t mark_id; /* ids from here on are behind the last mark */
    asc_loops *loops; /* NULL = not looked for */
} asc_queue;

/* The folder of executables (disk.h). */
typedef struct asc_disk {
    char dir[1024]; /* "" = none */
    size_t max_bytes;
    uint64_t worth_ns; /* what takes less to make gets no file */
    bool complained, cleaned;
    asc_disk_stats stats;
} asc_disk;

typedef struct asc_runtime {
    asc_graph graph;
    const asc_device *device;
    void *device_state;
    bool eager, compiled;
    bool capturing, capture_strict;    /* compiled.h */
    asc_capture_bound *capture_bounds; /* of what is being captured */
    size_t n_capture_bounds, cap_capture_bounds;
    const char *capture_read; /* op whose value was read although a parameter decides it */
    bool in_cut;              /* a cut is running: recording inside it is a bug */
    int pricing;              /* price.h: > 0 = ops are recorded, never run */
    bool price_prepares;      /* price.h */
    size_t pending_nodes;     /* recorded since the last cut */
    asc_queue queue;
    asc_buffer *free_bufs[ASC_BUF_CLASSES]; /* cached, by size class */
    size_t cached_bytes;
    asc_buffer *free_records; /* of values in a follower's block */
    asc_follow follow;
    void *arena, *scratch; /* reused blocks of plans */
    size_t arena_bytes, scratch_bytes;
    bool blocks_taken; /* between asc_exe_begin and the end of asc_exe_run: the blocks stay where they are */
    asc_exec_stats stats;
    asc_cut_room room;
    asc_cache cache;
    asc_disk disk;
    struct asc_capture *captures;    /* compiled.h; by last use */
    uint64_t passes_off;             /* asc_pass_env.off */
    size_t arena_bound;              /* asc_pass_env.memory_bytes */
    uint64_t key_device;             /* device, instruction set and threads, as a word of keys */
    uint8_t scalar_slots[ASC_N_OPS]; /* bit k: float attribute k is a run-time scalar */
    int debug;                       /* ASC_DEBUG, see debug.h */
    bool replayed;                   /* a failing run has been saved */
    uint64_t replay_cut;             /* cuts until one is saved; 0 = none */
    char replay_path[1024];          /* ASC_REPLAY; "" = not set */
    struct asc_level_at *levels;     /* levels.c; longer sites first; NULL = none */
    bool emulates;                   /* products are made of their pieces (emulate.h) */
    bool allow_int8;                 /* final numbers may have int8 products in them */
} asc_runtime;

asc_runtime *asc_runtime_of(const asc_ctx *ctx);

/* compiled_record.c: whether one of ts depends on a parameter, computed or not. RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_capture_depends(asc_ctx *ctx, asc_tensor *const *ts, size_t n, bool *out);

/* A buffer for n elements, reference count 1; from the cache when one fits. NULL when out of memory. */
asc_buffer *asc_buffer_make(asc_ctx *ctx, asc_mem_tag tag, asc_dtype dtype, int64_t n);
/* One for a value that lies in a block of somebody else. NULL when out of memory. */
asc_buffer *asc_buffer_placed(asc_ctx *ctx, asc_dtype dtype, int64_t n, void *data, size_t bytes);
void asc_buffer_free(asc_ctx *ctx, asc_buffer *b); /* hook of the graph: back to the cache */
/* What a buffer of so many bytes takes, before headers. */
size_t asc_buffer_rounded(size_t bytes);
/* Makes *block at least `bytes` large; contents are lost. */
ASC_MUST_USE asc_status asc_block_reserve(asc_ctx *ctx, asc_mem_tag tag, void **block, size_t *have,
                                          size_t bytes);

bool asc_exec_on_record(asc_ctx *ctx, asc_tensor *t, const asc_call *c);
/* Computes t, or says why not. What asc_read_* call. */
ASC_MUST_USE asc_status asc_exec_need(asc_ctx *ctx, asc_tensor *t);

/* queue.c */
void asc_queue_init(asc_ctx *ctx);
void asc_queue_deinit(asc_ctx *ctx);
/* Counts anew and cuts when a bound is met. */
ASC_MUST_USE asc_status asc_queue_check(asc_ctx *ctx);
/* Computes what scopes still hold and nothing consumed, and what was recorded before `boundary` and is used
 * behind it. */
ASC_MUST_USE asc_status asc_queue_flush(asc_ctx *ctx, uint64_t boundary, asc_cut_reason why);
/* FAILED_PRECONDITION when implicit cuts are forbidden. */
ASC_MUST_USE asc_status asc_queue_allows(asc_ctx *ctx, const asc_tensor *t, asc_cut_reason why);

/* queue_loops.c: one more op; the length of the loop step that ends with it, 0 = none. */
uint32_t asc_loops_see(asc_loops *l, const asc_tensor *t);

/* levels.c: another level for products whose label is `site` or lies inside it ("blocks.3" holds
 * "blocks.3.attn"). RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_level_set_at(asc_ctx *ctx, const char *site, asc_precision level);
void asc_level_free_all(asc_ctx *ctx);

#endif
