/* cpu_code.h - a program prepared for the cpu device: units in the order in which they run, each with its
 * kernel, its call and its number of threads decided once. Private to src/backends/cpu/. */
#ifndef ASC_CPU_CODE_H
#define ASC_CPU_CODE_H

#include "fused.h"
#include "profile_unit.h"

/* One node that runs, or one fused region. Where its arrays lie is told anew by every run; everything else is
 * settled. The attributes are read through the call's pointer into the program, so that run-time scalars may
 * change between runs. */
typedef struct asc_cpu_unit {
    void (*run)(
        const asc_kargs *a); /* of the kernel, or the fallback; NULL = a region that no product leads */
    asc_call call;           /* of the node, or of a region's first */
    int n_threads;
    int32_t node;
    int32_t in[ASC_MAX_IN];   /* nodes whose arrays it reads */
    asc_fused *fused;         /* the region's steps; NULL = one node */
    const asc_kernel *kernel; /* that run is of; NULL = the fallback */
    bool constant;            /* left out once folded */
    bool left_ready; /* the product before has left its cut rows in scratch, and they are this one's */
    bool left_keep;  /* a product that follows is left_ready because of this one */
    asc_prof_unit prof;
} asc_cpu_unit;

typedef struct asc_cpu_code {
    const asc_program *program; /* what it was made from; lent */
    size_t n_units;
    asc_cpu_unit units[];
} asc_cpu_code;

/* prepare and discard of asc_device_cpu. */
ASC_MUST_USE asc_status asc_cpu_prepare(asc_ctx *ctx, void *state, const asc_program *program,
                                        const asc_plan *plan, void **out_code);
void asc_cpu_discard(asc_ctx *ctx, void *state, void *code);
/* Runs prepared code. CANCELLED. */
ASC_MUST_USE asc_status asc_cpu_code_run(asc_ctx *ctx, const asc_cpu_state *state, const asc_cpu_code *code,
                                         const asc_run_args *a);

#endif
