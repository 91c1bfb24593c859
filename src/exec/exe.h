/* exe.h - an executable: a program after the passes, its plan, the device's code for it and where every value
 * lies. Made once from a recorded program and run many times, with other inputs, other run-time scalars and
 * other outputs.
 *
 * One run: asc_exe_begin; set data[input_node[k]] for every k, data[program.outputs[i]] for every output that
 * is no input, and the scalars; asc_exe_run. Nothing of an executable points at the tensors it was recorded
 * from. */
#ifndef ASC_EXE_H
#define ASC_EXE_H

#include "exe_fold.h"

/* A run-time scalar: attribute f[slot] of node `node` comes from node `from` of the recorded program. */
typedef struct asc_exe_scalar {
    int32_t node, from;
    int32_t slot;
} asc_exe_scalar;

/* A value that lies in another one's storage that moves from run to run. */
typedef struct asc_exe_alias {
    int32_t node, root;
    size_t offset;
} asc_exe_alias;

typedef struct asc_exe {
    asc_program program; /* after the passes */
    asc_plan plan;
    void *code; /* of device->prepare; made by the first run */
    bool prepared;
    void **data;             /* [n_nodes] */
    const void *arena_start; /* the block that data[] of temporaries lies in */
    bool placed;             /* data[] of temporaries is set */
    int32_t *input_node;     /* [n_inputs] in the program */
    int32_t *input_from;     /* [n_inputs] the node of the recorded program that it is */
    size_t n_inputs;
    int32_t *output_like; /* [n_outputs] an earlier output that is the same node; -1 = none */
    asc_exe_scalar *scalars;
    size_t n_scalars;
    asc_exe_alias *aliases;
    size_t n_aliases;
    asc_fold fold;
    bool followed, dropped; /* lent to a follower (follow.h); the cache let go of it meanwhile */
    size_t bytes; /* everything above, the device's code included */
    uint64_t compile_ns;
} asc_exe;

/* Optimises and plans a recorded program, checked here; its nodes' `origin` must be 0. take_recorded is
 * consumed, also when this fails. off: passes that do not run. Errors of the passes, the plan and the device;
 * RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_exe_make(asc_ctx *ctx, asc_program *take_recorded, uint64_t off, asc_exe **out);
/* The same for a program that has been through the passes, each node's `origin` set. take is consumed, also
 * when this fails. */
ASC_MUST_USE asc_status asc_exe_of_program(asc_ctx *ctx, asc_program *take, asc_exe **out);
void asc_exe_destroy(asc_ctx *ctx, asc_exe *e); /* NULL is accepted */

/* Makes the device's code, if that has not been done. */
ASC_MUST_USE asc_status asc_exe_prepare(asc_ctx *ctx, asc_exe *e);
/* Makes room for the temporaries and the device's code. */
ASC_MUST_USE asc_status asc_exe_begin(asc_ctx *ctx, asc_exe *e);
/* Runs it and counts it in the context's statistics. */
ASC_MUST_USE asc_status asc_exe_run(asc_ctx *ctx, asc_exe *e, asc_cut_reason why);

#endif
