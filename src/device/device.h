/* device.h - what a device must offer. In-tree devices: cpu, reference (f64), null (no arithmetic: shapes and
 * cost). All functions run on the context's thread; every failure is decided before kernels start. */
#ifndef ASC_DEVICE_H
#define ASC_DEVICE_H

#include "program.h"

/* One run: data[i] is the storage of node i (NULL on the null device), contiguous, row-major. */
typedef struct asc_run_args {
    const asc_program *program;
    const asc_plan *plan;
    const void *code; /* what prepare made of program and plan; NULL = nothing */
    void *const *data;
    void *scratch; /* plan->scratch_bytes, 64-byte aligned */
    bool folded;   /* constants (asc_node.constant) have run, and what other nodes read of them is in data[]:
                      they   are left out */
    size_t only;   /* 1 + the one node that runs, of a program without fused regions; 0 = all of them */
    bool fresh;    /* with `only`: what the node before left in scratch is lost */
} asc_run_args;

typedef struct asc_device {
    const char *name;
    const char *doc; /* one line */
    bool has_data;   /* false: no storage at all */
    ASC_MUST_USE asc_status (*open)(asc_ctx *ctx, void **out_state);
    void (*close)(asc_ctx *ctx, void *state);
    size_t (*storage_bytes)(asc_dtype dtype, int64_t n); /* of n elements */
    /* Host <-> device. `host` is f32, f64 or i32 as told (upload also any stored weight type); dtype is the
     * logical type. */
    void (*upload)(asc_dtype dtype, void *dst, asc_dtype host_dtype, const void *host, int64_t n);
    void (*download)(asc_dtype dtype, const void *src, asc_dtype host_dtype, void *host, int64_t n);
    bool borrows_weights; /* stored weights are used where they lie; otherwise they are uploaded (expanded) as
                             f32 leaves */
    bool aliases_views;   /* the plan may let reshape and leading slices share storage */
    bool fuses;           /* runs fused regions: plans may be made by asc_plan_make_fused */
    /* UNIMPLEMENTED naming the op if this application cannot run here. */
    ASC_MUST_USE asc_status (*supports)(asc_ctx *ctx, void *state, const asc_call *c);
    /* Whether the bits of a row of a matrix product may depend on how many rows there are, even where a call
     * asks for the kernels of many rows. NULL = no. */
    bool (*rows_depend)(const asc_ctx *ctx);
    size_t (*scratch_bytes)(asc_ctx *ctx, void *state, const asc_call *c);
    /* Decides once what every run of a program would decide anew (kernels, threads, tiles). NULL = nothing to
     * prepare. The values of run-time scalars in the program's attributes and data[] change from run to run;
     * shapes and all other attributes do not. *out_code belongs to the caller, who ends it with discard
     * before program and plan. */
    ASC_MUST_USE asc_status (*prepare)(asc_ctx *ctx, void *state, const asc_program *program,
                                       const asc_plan *plan, void **out_code);
    void (*discard)(asc_ctx *ctx, void *state, void *code);
    ASC_MUST_USE asc_status (*run)(asc_ctx *ctx, void *state, const asc_run_args *a);
} asc_device;

extern const asc_device asc_device_cpu, asc_device_reference, asc_device_null;
const asc_device *asc_device_find(const char *name); /* NULL = unknown */
/* All in-tree devices; *n of them. */
const asc_device *const *asc_device_list(size_t *n);

#endif
