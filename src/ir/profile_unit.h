/* profile_unit.h - how devices and the executor tell the profiler of the nodes of a program (profile.h). */
#ifndef ASC_PROFILE_UNIT_H
#define ASC_PROFILE_UNIT_H

#include "profile.h"
#include "program.h"

/* What every run of a unit has in common, found once when code is prepared. */
typedef struct asc_prof_unit {
    const char *name; /* of the op, or of the region; interned */
    asc_cost cost;
    int32_t last; /* the node whose label counts */
    uint16_t kind, threads;
} asc_prof_unit;

/* Nodes first .. first+n-1 run together (n > 1: a fused region) on `threads` threads. */
asc_prof_unit asc_prof_unit_of(asc_ctx *ctx, const asc_program *p, const asc_plan *plan, size_t first,
                               size_t n, int threads);
/* The unit has run since start_ns. Returns the time now, which is the start of what follows: one clock
 * reading for each unit. Only with ctx->prof set:
 *     uint64_t t = ctx->prof != NULL ? asc_now_ns() : 0;
 *     for (each unit u) { run it; if (ctx->prof != NULL) t = asc_prof_ran(ctx, program, &u, t); } */
uint64_t asc_prof_ran(asc_ctx *ctx, const asc_program *p, const asc_prof_unit *u, uint64_t start_ns);

/* A plan is about to run: keeps the node at which the largest arena is fullest. One branch when off. */
void asc_prof_plan(asc_ctx *ctx, const asc_program *p, const asc_plan *plan);

#endif
