/* profile_table.c - a profile and the use of memory as text. */
#include "profile_parts.h"
#include "plain.h"
#include <stdio.h>
#include <string.h>

enum { NAME_COLUMNS = 44, MOST_ROWS = 60 };

static void rate(char *out, size_t size, double amount, uint64_t ns) {
    if (amount > 0.0 && ns > 0)
        asc_snprintf(out, size, "%10.2f", amount / (double)ns);
    else
        snprintf(out, size, "%10s", "-");
}

static void put_rows(asc_text *t, const asc_prof_sums *s, bool rates) {
    for (size_t i = 0; i < s->n && i < MOST_ROWS; i++) {
        const asc_prof_sum *r = &s->rows[i];
        char flops[24], bytes[24];
        size_t columns = asc_text_shown(t, (asc_view){r->name, strlen(r->name)}, NAME_COLUMNS);
        asc_text_blanks(t, NAME_COLUMNS - columns);
        asc_text_addf(t, " %9llu %11.3f %6.1f %%", (unsigned long long)r->calls, (double)r->ns * 1e-6,
                      s->ns > 0 ? 100.0 * (double)r->ns / (double)s->ns : 0.0);
        if (rates) {
            rate(flops, sizeof flops, r->flops, r->ns);
            rate(bytes, sizeof bytes, r->bytes, r->ns);
            asc_text_addf(t, " %s %s %7.2f", flops, bytes,
                          r->ns > 0 ? (double)r->thread_ns / (double)r->ns : 0.0);
        }
        asc_text_adds(t, "\n");
    }
    if (s->n > MOST_ROWS) asc_text_addf(t, "... and %zu more\n", s->n - MOST_ROWS);
}

static asc_status put_table(asc_ctx *ctx, asc_text *t, const asc_prof *p, asc_prof_key key, const char *title,
                            bool rates) {
    asc_prof_sums s;
    asc_status st = asc_prof_sums_make(ctx, p, key, &s);
    if (st == ASC_OK && s.n > 0) {
        asc_text_addf(t, "\n%s", title);
        asc_text_blanks(t, strlen(title) < NAME_COLUMNS ? NAME_COLUMNS - strlen(title) : 0);
        asc_text_addf(t, " %9s %11s %8s", "calls", "ms", "share");
        if (rates) asc_text_addf(t, " %10s %10s %7s", "GFLOP/s", "GB/s", "threads");
        asc_text_adds(t, "\n");
        put_rows(t, &s, rates);
    }
    asc_prof_sums_free(ctx, &s);
    return st;
}

static void put_duty(asc_ctx *ctx, asc_text *t) {
    const asc_profile_summary s = asc_profile_summary_of(ctx);
    asc_text_addf(t,
                  "wall %.3f s, processor %.3f s; device %s, mode %s, %d threads\n"
                  "in kernels %.1f %% of the wall time; cores busy in kernels %.1f %%\n"
                  "%llu ops, %llu fused regions, %llu cuts, %llu compiles; %.4g GFLOP, %.4g GFLOP/s\n",
                  s.seconds, s.cpu_seconds, ctx->device_name, ctx->mode_name, ctx->n_threads,
                  100.0 * s.kernel_share, 100.0 * s.busy_share, (unsigned long long)s.ops,
                  (unsigned long long)s.regions, (unsigned long long)s.cuts, (unsigned long long)s.compiles,
                  s.flops * 1e-9, s.kernel_seconds > 0.0 ? s.flops * 1e-9 / s.kernel_seconds : 0.0);
    if (s.dropped > 0)
        asc_text_addf(t,
                      "the ring was full: the oldest %llu of %llu events are not in the tables below (the "
                      "lines above know them)\n",
                      (unsigned long long)s.dropped, (unsigned long long)s.events);
    if (ctx->prof_kept->lost)
        asc_text_adds(t, "too many names or labels: those that found no room read as nothing\n");
}

void asc_profile_table(asc_ctx *ctx, asc_text *t) {
    static const struct {
        asc_prof_key key;
        const char *title;
        bool rates;
    } tables[] = {
        {ASC_PROF_BY_OP, "by op and fused region", true},
        {ASC_PROF_BY_PLACE, "by place", true},
        {ASC_PROF_BY_STACK, "by method and step", true},
        {ASC_PROF_BY_RUNTIME, "around the kernels", false},
        {ASC_PROF_BY_LABEL, "by label", true},
    };
    const asc_prof *p = ctx->prof_kept;
    if (p == NULL) {
        asc_text_adds(t, "nothing was recorded\n");
        return;
    }
    put_duty(ctx, t);
    asc_status st = ASC_OK;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && st == ASC_OK; i++)
        st = put_table(ctx, t, p, tables[i].key, tables[i].title, tables[i].rates);
    if (st != ASC_OK) t->b.failed = true;
    asc_text_adds(t, "\n");
    asc_memory_report(ctx, t);
}

void asc_memory_report(asc_ctx *ctx, asc_text *t) {
    const asc_mem_stats m = asc_memory(ctx);
    const asc_prof *p = ctx->prof_kept;
    const bool at_peak = p != NULL && p->peak_bytes > 0;
    asc_text_addf(t, "%-14s %14s %14s%s\n", "memory", "live bytes", "peak bytes",
                  at_peak ? "    at the peak of all" : "");
    for (int k = 0; k < ASC_MEM_N_TAGS; k++) {
        asc_text_addf(t, "%-14s %14zu %14zu", asc_mem_tag_name((asc_mem_tag)k), m.live_bytes[k],
                      m.peak_bytes[k]);
        if (at_peak) asc_text_addf(t, " %21zu", p->peak_by_tag[k]);
        asc_text_adds(t, "\n");
    }
    asc_text_addf(t, "%-14s %14zu %14zu", "all", m.live_total, m.peak_total);
    if (at_peak) asc_text_addf(t, " %21zu", p->peak_bytes);
    asc_text_addf(t, "\nblocks live: %zu; files mapped: %zu bytes\n", m.live_allocs, m.mapped_bytes);
    if (!at_peak) return;
    char stack[200];
    asc_prof_stack_text(p, p->peak_frame, true, stack, sizeof stack);
    asc_text_adds(t, "the peak was reached in: ");
    asc_text_shown(t, (asc_view){stack, strlen(stack)}, 0);
    asc_text_adds(t, stack[0] == '\0' ? "no label\n" : "\n");
    if (p->arena_bytes == 0) return;
    asc_text_addf(t, "largest block of temporaries: %zu bytes, fullest (%zu bytes live) at op %s",
                  p->arena_bytes, p->arena_full_bytes, asc_prof_text(p, p->arena_op));
    const char *label = asc_prof_text(p, p->arena_label);
    if (label[0] != '\0') {
        asc_text_adds(t, " in ");
        asc_text_shown(t, (asc_view){label, strlen(label)}, 0);
    }
    asc_text_adds(t, "\n");
}
