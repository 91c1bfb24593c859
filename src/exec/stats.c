/* stats.c - the executor's counters as the public header has them. */
#include "ascribe/stats.h"
#include "exec.h"

static const char *const reasons[ASC_N_CUT_REASONS] = {
#define ROW(E, name, doc) name,
    ASC_CUT_TABLE(ROW)
#undef ROW
};

_Static_assert((int)ASC_N_CUT_REASONS <= (int)ASC_STATS_MAX_CUTS, "asc_stats.cuts is too short");

const char *asc_cut_reason_name(size_t i) { return i < ASC_N_CUT_REASONS ? reasons[i] : NULL; }

asc_stats asc_stats_of(const asc_ctx *ctx) {
    asc_exec_stats s = asc_exec_stats_of(ctx);
    asc_stats out = {.nodes = s.nodes_run,
                     .flops = s.flops,
                     .device_seconds = s.seconds,
                     .arena_bytes = s.max_arena_bytes,
                     .hits = s.cache_hits,
                     .misses = s.cache_misses,
                     .evictions = s.cache_evictions,
                     .captures = s.captures,
                     .compile_seconds = (double)s.compile_ns * 1e-9};
    for (size_t i = 0; i < ASC_N_CUT_REASONS; i++) {
        out.cuts[i] = s.cuts[i];
        out.programs += s.cuts[i];
    }
    return out;
}

int asc_ctx_threads(const asc_ctx *ctx) { return ctx->n_threads; }
