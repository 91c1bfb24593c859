/* trace.c - the public switch of the profiler and its counters of duty; emptying the context's caches. */
#include "ascribe/profile.h"
#include "compiled.h"
#include "profile.h"

asc_status asc_profile_start(asc_ctx *ctx, const asc_profile_options *opts) {
    if (opts != NULL && opts->struct_size != sizeof *opts)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "profile: the options' struct_size is not that of this library");
    return asc_prof_start(ctx, opts != NULL ? opts->max_events : 0);
}

void asc_profile_stop(asc_ctx *ctx) { asc_prof_stop(ctx); }
void asc_profile_clear(asc_ctx *ctx) { asc_prof_free(ctx); }
int asc_profile_push(asc_ctx *ctx, const char *name, int64_t number) {
    return asc_prof_push(ctx, name, number);
}
void asc_profile_pop(asc_ctx *ctx, int depth) { asc_prof_pop(ctx, depth); }

const char *asc_label_set(asc_ctx *ctx, const char *label) {
    return asc_set_label(ctx, asc_label_intern(ctx, label));
}

asc_profile_summary asc_profile_summary_of(const asc_ctx *ctx) {
    asc_profile_summary s = {0};
    const asc_prof *p = ctx->prof_kept;
    if (p == NULL) return s;
    const bool on = ctx->prof != NULL;
    s.seconds = 1e-9 * (double)((on ? asc_now_ns() : p->stop_ns) - p->start_ns);
    s.cpu_seconds = on ? 0.0 : 1e-9 * (double)(p->stop_cpu_ns - p->start_cpu_ns);
    s.kernel_seconds = 1e-9 * (double)(p->ns[ASC_PROF_OP] + p->ns[ASC_PROF_REGION]);
    if (s.seconds > 0.0) {
        s.kernel_share = s.kernel_seconds / s.seconds;
        s.busy_share = 1e-9 * (double)p->busy_ns / (s.seconds * ctx->n_threads);
    }
    s.flops = p->flops;
    s.events = p->n;
    s.dropped = p->n - asc_prof_events(p);
    s.ops = p->count[ASC_PROF_OP];
    s.regions = p->count[ASC_PROF_REGION];
    s.cuts = p->count[ASC_PROF_CUT];
    s.compiles = p->count[ASC_PROF_COMPILE];
    s.peak_bytes = p->peak_bytes;
    return s;
}

size_t asc_cache_empty(asc_ctx *ctx) {
    const size_t before = ctx->mem.live_total;
    asc_capture_forget(ctx, NULL);
    asc_exec_cache_clear(ctx);
    asc_exec_trim(ctx);
    return before - ctx->mem.live_total;
}
