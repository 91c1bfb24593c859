/* exe_fold.h - the constants of an executable (what the pass fold-constants marked): they run in its first
 * run, what other nodes read of them stays in a block of its own, and later runs leave them out, until a
 * run-time scalar of one changes. */
#ifndef ASC_EXE_FOLD_H
#define ASC_EXE_FOLD_H

#include "runtime.h"

/* Where a constant's value lies in the block. */
typedef struct asc_fold_kept {
    int32_t node;
    size_t offset;
} asc_fold_kept;

/* A run-time scalar of a constant, as it was when the constants ran. */
typedef struct asc_fold_scalar {
    int32_t node, slot;
    double value;
} asc_fold_scalar;

/* Lists lie in the program's arena. */
typedef struct asc_fold {
    void *block; /* NULL = nothing is kept */
    asc_fold_kept *kept;
    size_t n_kept;
    asc_fold_scalar *scalars;
    size_t n_scalars;
    bool filled; /* by a run with these scalars */
} asc_fold;

/* Finds what of p, as planned, is to be kept and makes its block, if the device has data. RESOURCE_EXHAUSTED.
 */
ASC_MUST_USE asc_status asc_fold_init(asc_ctx *ctx, asc_program *p, const asc_plan *plan, asc_fold *out);
void asc_fold_deinit(asc_ctx *ctx, asc_fold *f);
/* Points data[] of what is kept into the block. */
void asc_fold_place(const asc_fold *f, void **data);
/* Whether a run may leave the constants out. */
bool asc_fold_ready(asc_fold *f, const asc_program *p);

#endif
