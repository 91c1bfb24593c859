/* tensor.h - the record behind asc_tensor, buffers, and the graph they are recorded in.
 * A node keeps its inputs alive (counted) until its scope ends, so a gradient can be taken through it and an
 * intermediate value that no cut kept can be computed again. Owned by the context's thread. */
#ifndef ASC_TENSOR_H
#define ASC_TENSOR_H

#include "alloc.h"
#include "ascribe/tensor.h"
#include "dtype.h"

enum { ASC_MAX_IN = 8, ASC_N_IATTR = 20, ASC_N_FATTR = 4 };

struct asc_op;
struct asc_call;

/* Attribute values; the op's descriptor names the slots. Unused slots are zero, so attributes compare
 * bytewise. */
typedef struct asc_attrs {
    int64_t i[ASC_N_IATTR];
    double f[ASC_N_FATTR];
} asc_attrs;

/* Storage of one value on the context's device. */
typedef struct asc_buffer {
    int refs;
    asc_dtype dtype; /* logical type of the elements */
    int64_t elems;
    void *data;              /* device storage; NULL on the null device */
    size_t bytes;            /* of data */
    bool borrowed;           /* data belongs to someone else (a mapped file) and outlives the buffer */
    bool cached;             /* goes back to the cache, not to the allocator */
    bool placed;             /* data lies in a block that others use once the value has ended */
    struct asc_buffer *next; /* free list of the cache */
} asc_buffer;

/* What the recorder zeroes for each node comes first; shape and attributes, the larger part, are written
 * anyway. */
struct asc_tensor {
    asc_ctx *ctx;
    const struct asc_op *op;    /* NULL = leaf */
    asc_tensor *in[ASC_MAX_IN]; /* counted references */
    int n_in;
    int refs; /* scope, consumers */
    asc_dtype dtype;
    asc_precision level; /* of matrix products */
    bool many_rows;      /* kernels as for many rows (asc_set_many_rows) */
    asc_status poison;   /* ASC_OK, or the error this value stands for */
    int mark;            /* scratch of graph walks (generation number) */
    int slot;            /* scratch: index in the program being built */
    bool keep;           /* asc_keep was called: survives the end of its scope */
    bool param;          /* a leaf whose value changes from run to run of what is being captured */
    asc_buffer *buf;     /* value, when computed; counted reference */
    uint64_t id;         /* creation order: inputs have smaller ids */
    const char *label;   /* innermost label when recorded; interned, lent by the graph */
    asc_tensor *next;    /* free list */
    asc_shape shape;
    asc_attrs attrs;
};

/* A failure and the value that stands for it. */
typedef struct asc_failure {
    asc_tensor tensor; /* first: what failing ops return; never freed */
    asc_error error;
} asc_failure;

enum { ASC_FAILURES_KEPT = 8 };

/* Told of each op as it is recorded, with the call that it was inferred from. Eager mode runs t here; false
 * means that t failed, with the error in ctx. */
typedef bool (*asc_record_fn)(asc_ctx *ctx, asc_tensor *t, const struct asc_call *c);

/* The graph of a context: node pool, scopes, labels, and the executor's hooks. */
typedef struct asc_graph {
    asc_ctx *ctx;
    asc_tensor *free_nodes;
    struct asc_node_slab *slabs;
    asc_tensor **owned; /* stack of scope-owned tensors; a scope is a range */
    size_t n_owned, cap_owned;
    size_t *scope_start;
    size_t n_scopes, cap_scopes;
    size_t n_scopes_lost; /* begins that found no memory */
    uint64_t next_id;
    int mark; /* last generation used by a walk */
    size_t live_nodes;
    asc_status error;                      /* first error since the outermost boundary */
    asc_error first;                       /* its full record */
    asc_failure failed[ASC_FAILURES_KEPT]; /* ring: what failing ops return */
    size_t n_failed;
    const char *label;
    struct asc_label **labels; /* interned, in label_chains chains; NULL = none yet */
    size_t n_labels, label_chains;
    asc_precision level;       /* of the ops recorded next */
    bool many_rows;            /* likewise */
    /* set by the executor */
    asc_record_fn on_record;                          /* NULL = nothing is computed while recording */
    void (*on_scope_end)(asc_ctx *ctx);               /* before a scope ends; NULL = nobody asks */
    void (*free_buffer)(asc_ctx *ctx, asc_buffer *b); /* last reference is gone */
} asc_graph;

asc_graph *asc_graph_of(const asc_ctx *ctx); /* never NULL in a context made by asc_ctx_create */

ASC_MUST_USE asc_status asc_graph_init(asc_graph *g, asc_ctx *ctx);
void asc_graph_deinit(asc_graph *g);

/* A node owned by the current scope, all fields zero but ctx, id, label; NULL when out of memory (error noted
 * in g). */
asc_tensor *asc_graph_node(asc_graph *g);
/* The same with shape and attrs left for the caller to write. */
asc_tensor *asc_graph_node_bare(asc_graph *g);
/* Takes back the node made last, which nothing refers to yet. */
void asc_graph_drop_last(asc_graph *g);
/* Notes the context's error as the graph's first error (unless there is one) and returns a poisoned tensor
 * that stands for this error; the graph knows the last ASC_FAILURES_KEPT apart. */
asc_tensor *asc_graph_poison(asc_graph *g);
/* Such a tensor for the context's error without noting it: where the caller returns the error itself. */
asc_tensor *asc_graph_stand_in(asc_graph *g);
/* What a poisoned tensor stands for. Lent until so many more failures. */
const asc_error *asc_tensor_failure(const asc_tensor *poisoned);
/* Ends the current scope behind work that ended with st: returns st with its message intact, or the scope's
 * own first error when st is ASC_OK. */
ASC_MUST_USE asc_status asc_scope_close(asc_ctx *ctx, asc_status st);
/* First error since the last call; clears it and restores its message in the context. */
asc_status asc_graph_take_error(asc_graph *g);

void asc_tensor_retain(asc_tensor *t);
void asc_tensor_release(asc_tensor *t); /* NULL is accepted */
void asc_buffer_retain(asc_buffer *b);
void asc_buffer_release(asc_ctx *ctx, asc_buffer *b);

/* Drops everything recorded behind a computed tensor: it becomes a leaf. */
void asc_tensor_detach(asc_tensor *t);

/* The values that `roots` were recorded from, roots included, by rising id (inputs before uses). Each node's
 * mark is set to `mark` and its slot to its index; another walk re-uses both fields. */
typedef struct asc_walk {
    asc_tensor **nodes; /* not counted references */
    size_t n, cap;
    int mark;
} asc_walk;
/* stop_at_values: what has a value is not looked behind. Nodes with an id below `oldest` are left out.
 * RESOURCE_EXHAUSTED; *out is to be freed in any case. */
ASC_MUST_USE asc_status asc_walk_ancestors(asc_ctx *ctx, asc_tensor *const *roots, size_t n_roots,
                                           bool stop_at_values, uint64_t oldest, asc_walk *out);
void asc_walk_free(asc_ctx *ctx, asc_walk *w);

/* Label of ops recorded until the next call ("blocks.3.attn"); `label` must outlive the graph or be interned;
 * NULL = none. Returns the previous one. */
const char *asc_set_label(asc_ctx *ctx, const char *label);

/* A copy of text that lives as long as the graph; equal texts give the same pointer. NULL when out of memory
 * (error recorded) and for NULL. */
const char *asc_label_intern(asc_ctx *ctx, const char *text);
void asc_label_free_all(asc_graph *g); /* of asc_graph_deinit */

/* Precision of matrix products recorded until the next call; returns the previous one. Gradients take the
 * level of the op that they belong to. */
asc_precision asc_set_level(asc_ctx *ctx, asc_precision level);

/* From here on (or no longer) ops use the kernels for many rows, however few theirs are: then the
 * bits of a row do not depend on how many rows there are (but see asc_device.rows_depend). Returns what was.
 */
bool asc_set_many_rows(asc_ctx *ctx, bool on);

/* Shape helpers. Elements: -1 on overflow or a negative dimension. */
int64_t asc_shape_elems(const asc_shape *s);
bool asc_shape_eq(const asc_shape *a, const asc_shape *b);
/* "[2,3]" into out; returns out. */
const char *asc_shape_text(const asc_shape *s, char out[128]);
/* NumPy broadcasting of a and b into *out; false if they do not fit. */
bool asc_shape_broadcast(const asc_shape *a, const asc_shape *b, asc_shape *out);
/* Row-major strides in elements. */
void asc_shape_strides(const asc_shape *s, int64_t strides[ASC_MAX_RANK]);

#endif
