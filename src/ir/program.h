/* program.h - everything that runs is a program: an SSA list of nodes in one arena, in execution order.
 * Text form, one line a node (docs/formats/program.md):
 *   %0 = input f32 [2,3]
 *   %1 = scale f32 [2,3] %0 {factor=0.5} ; blocks.0
 *   return %1
 * After the attributes may stand: level=medium (a matrix product's precision), rows=many (kernels as for many
 * rows), made=pieces (of what the level names, nothing finer), runs=once (a constant), @2 (the number of its
 * fused region).
 */
#ifndef ASC_PROGRAM_H
#define ASC_PROGRAM_H

#include "op.h"
#include "strbuf.h"

typedef struct asc_node {
    const asc_op *op; /* NULL = input */
    int n_in;
    int32_t in[ASC_MAX_IN]; /* indices of earlier nodes */
    asc_dtype dtype;
    asc_shape shape;
    asc_attrs attrs;
    const char *label;   /* may be NULL; lives as long as the program */
    asc_precision level; /* of matrix products; HIGHEST elsewhere */
    bool many_rows;      /* kernels are chosen as if there were many rows: set where a slice moved up */
    bool pieces;         /* the level's own products, not finer ones: emulation */
    bool constant; /* depends on no input: the same value in every run until a run-time scalar changes */
    int32_t group; /* 0, or the fused region it belongs to: its nodes stand together and run together, tile by
                      tile, and a value that only the region reads needs no storage */
    int32_t
        origin; /* 1 + the node of the program as recorded whose run-time scalars (ASC_ATTR_SCALAR) it takes;
                   0 = this very node. Passes keep it and never look at the values of such scalars */
} asc_node;

typedef struct asc_program {
    asc_arena arena;
    asc_node *nodes;
    size_t n_nodes, cap_nodes;
    int32_t *outputs; /* node indices */
    size_t n_outputs, cap_outputs;
} asc_program;

enum { ASC_PROGRAM_MAX_NODES = 1 << 24 };

void asc_program_init(asc_program *p, asc_ctx *ctx);
void asc_program_deinit(asc_program *p);
/* Adds a node and returns its index, -1 when out of memory. */
int32_t asc_program_input(asc_program *p, asc_dtype dtype, const asc_shape *shape);
int32_t asc_program_add(asc_program *p, const asc_node *node);
ASC_MUST_USE asc_status asc_program_output(asc_program *p, int32_t node);
/* The node as a call, with its recorded result. */
void asc_node_call(const asc_program *p, const asc_node *node, asc_call *out);

/* Inputs before use, arity, inferred dtype and shape equal to the recorded ones, outputs in range. INTERNAL
 * on failure. */
ASC_MUST_USE asc_status asc_program_verify(asc_ctx *ctx, const asc_program *p);
void asc_program_print(const asc_program *p, asc_strbuf *out);
/* Parses the text form. Errors: INVALID_ARGUMENT with line and column. *out is initialised in any case. */
ASC_MUST_USE asc_status asc_program_parse(asc_ctx *ctx, asc_view text, asc_program *out);
/* Structure only: ops, shapes, dtypes, hashed attributes; not labels, not ASC_ATTR_SCALAR values. */
uint64_t asc_program_hash(const asc_program *p);
asc_cost asc_program_cost(const asc_program *p);

/* Where each node's value lives during a run. */
typedef enum asc_place {
    ASC_PLACE_INPUT,
    ASC_PLACE_OUTPUT,
    ASC_PLACE_ARENA,
    ASC_PLACE_ALIAS,   /* a view: nothing to run */
    ASC_PLACE_INPLACE, /* runs, and overwrites an input that is not needed any more */
    ASC_PLACE_TILE     /* lives inside a fused region only: no storage */
} asc_place;
typedef struct asc_slot {
    asc_place place;
    int32_t root;  /* node whose storage is used (itself unless ALIAS or INPLACE) */
    size_t offset; /* bytes: in the arena for ARENA; from the root's start for ALIAS */
    size_t bytes;
    int32_t last_use; /* index of the last node that reads it (or an alias of it); n_nodes for outputs */
} asc_slot;
typedef struct asc_plan {
    asc_slot *slots;    /* one a node; in the program's arena */
    size_t arena_bytes; /* one block for all temporaries */
    size_t output_bytes;
    size_t scratch_bytes; /* the device's own need, largest over the nodes */
    asc_cost cost;
} asc_plan;
/* Lays the temporaries out by liveness; the peak is exact and known before anything runs.
 * storage_bytes(dtype, n) is the device's; with alias, views share the storage of their input
 * and pointwise ops may overwrite one. */
ASC_MUST_USE asc_status asc_plan_make(asc_ctx *ctx, asc_program *p,
                                      size_t (*storage_bytes)(asc_dtype, int64_t), bool alias, asc_plan *out);
/* The same, with alias, for a device that runs fused regions (region.h): what only its own region reads
 * gets no storage (ASC_PLACE_TILE), and a region counts as one step. A group that is no region is planned as
 * single nodes. */
ASC_MUST_USE asc_status asc_plan_make_fused(asc_ctx *ctx, asc_program *p,
                                            size_t (*storage_bytes)(asc_dtype, int64_t), asc_plan *out);

#endif
