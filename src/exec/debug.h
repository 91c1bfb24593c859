/* debug.h - what ASC_DEBUG switches on (docs/debugging.md): runs a program op by op, looks at every value,
 * and names the first op that went wrong. Only files of src/exec include it. */
#ifndef ASC_DEBUG_H
#define ASC_DEBUG_H

#include "runtime.h"

enum {
    ASC_DEBUG_LOG = 1,    /* cuts and cache misses are logged; a failing run leaves a replay file */
    ASC_DEBUG_TRAP = 2,   /* indices outside and NaN results are errors that name the op */
    ASC_DEBUG_TEXT = 3,   /* programs are logged before and after the passes */
    ASC_DEBUG_STEPS = 4,  /* every program runs op by op, each result looked at */
    ASC_DEBUG_VALUES = 5, /* and each result's range is logged */
    ASC_DEBUG_MOST = 5
};

/* Reads ASC_DEBUG, ASC_REPLAY and ASC_REPLAY_CUT. INVALID_ARGUMENT. */
ASC_MUST_USE asc_status asc_debug_configure(asc_ctx *ctx);
/* Runs p on the context's device op by op and looks at each index before and each result behind its op. data:
 * storage by node; those of inputs are read, those of outputs written if not NULL (all others are this
 * function's own). OUT_OF_RANGE names the op, its label, its node, the element and what its inputs hold. */
ASC_MUST_USE asc_status asc_debug_steps(asc_ctx *ctx, const asc_program *p, void *const *data,
                                        bool log_values);
/* The device's run with what the level asks for around it; instead of device->run from ASC_DEBUG_TRAP on. */
ASC_MUST_USE asc_status asc_debug_run(asc_ctx *ctx, const asc_run_args *a);
/* Logs the program's text, a line at a time, under a heading. */
void asc_debug_text(asc_ctx *ctx, const char *heading, const asc_program *p);

#endif
