/* passes.h - what improves a program before it runs. One pass is one file with a const descriptor, listed
 * once in passes.def in the order in which they run; every pass can be switched off by name, and
 * asc_program_verify runs after each.
 *
 * Every pass keeps the bits of every output at precision `highest`. Passes never look at the values of
 * ASC_ATTR_SCALAR attributes (they change from run to run) and keep asc_node.origin, level and label. Inputs
 * keep their number and order; outputs stay distinct nodes that are no inputs.
 *
 * fold-constants marks (asc_node.constant) what depends on no input: it has the same value in every run of
 * this program until one of its run-time scalars changes. Executables run the marked nodes in their first
 * run, keep the values that others read (everything marked is small and no output), and leave them out of
 * later runs; when a scalar of a marked node changes, they run again (src/exec/exe_fold.h). Executors that
 * ignore the mark are right too. */
#ifndef ASC_PASSES_H
#define ASC_PASSES_H

#include "program.h"

/* Matrix products of up to so many rows (attention: queries times query heads a key head) have kernels of
 * their own; asc_node.many_rows asks for those of larger products. */
enum { ASC_FEW_ROWS = 8 };

/* What a pass may know besides the program. */
typedef struct asc_pass_env {
    size_t (*storage_bytes)(asc_dtype, int64_t); /* the device's */
    bool alias;                                  /* views cost nothing (device.aliases_views) */
    bool rows_depend;    /* the bits of a matrix product's row depend on the number of rows */
    bool fuses;          /* the device runs fused regions */
    size_t memory_bytes; /* bound of the plan's arena for checkpointing; 0 = none */
    size_t *arena_bytes; /* NULL, or set by checkpoint to the arena of what it made: above memory_bytes when
                            that cannot be met, and then the least that can be reached */
    uint64_t off;        /* bit i: pass i of the table does not run */
    /* How much each pass did, for reports: nodes removed, moved or fused. NULL = not wanted; else
     * [asc_n_passes] */
    size_t *done;
} asc_pass_env;

typedef struct asc_pass {
    const char *name; /* "fold-constants" */
    const char *doc;  /* one line */
    /* Rewrites p; *n_done is the number of nodes changed. */
    asc_status (*run)(asc_ctx *ctx, asc_program *p, const asc_pass_env *env, size_t *n_done);
} asc_pass;

#define PASS(name) extern const asc_pass asc_pass_##name;
#include "passes.def"
#undef PASS
enum { ASC_MOST_PASSES = 32 };
extern const asc_pass *const asc_passes[]; /* at most ASC_MOST_PASSES */
extern const size_t asc_n_passes;

/* Runs every pass that is on, in the order of the table, verifying after each. INTERNAL names the pass. */
ASC_MUST_USE asc_status asc_passes_run(asc_ctx *ctx, asc_program *p, const asc_pass_env *env);
/* "-fuse,-common" -> bits of asc_pass_env.off; "none" = all off, "" = all on. INVALID_ARGUMENT names the
 * unknown pass and the known ones. */
ASC_MUST_USE asc_status asc_passes_parse(asc_ctx *ctx, const char *text, uint64_t *off);

#endif
