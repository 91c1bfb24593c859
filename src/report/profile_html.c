/* profile_html.c - a profile as sections of a page, and as a page of its own: no script, nothing loaded;
 * names and labels are other people's text and go through html_put.h. */
#include "html_assets.h"
#include "html_put.h"
#include "profile_parts.h"
#include "view.h"
#include <stdio.h>
#include <string.h>

enum { MOST_ROWS = 40 };

/* Kinds by their number in profile.h; colours of both schemes keep 3:1 against the page. */
const char asc_profile_style[] =
    "svg.time{width:100%;height:auto;background:var(--box);border:1px solid var(--line)}\n"
    "svg.time text{font:9px ui-monospace,'DejaVu Sans Mono',monospace;fill:#111;pointer-events:none}\n"
    "svg.time text.tick{fill:var(--dim)}svg.time g:hover rect{stroke:var(--fg)}\n"
    ".k0{fill:#6aa9e0;background:#6aa9e0}.k1{fill:#3fa37c;background:#3fa37c}.k2{fill:#c9a23e;background:#"
    "c9a23e}"
    ".k3,.k4,.k5{fill:#d1704a;background:#d1704a}.k6{fill:#b07cc6;background:#b07cc6}"
    ".k8{fill:#93a1ae;background:#93a1ae}\n"
    ".key{display:inline-block;width:1rem;height:.8rem}\n";

static void put_z(asc_text *t, const char *s) { asc_put_html_text(t, asc_view_of(s)); }

static void put_rate(asc_text *t, double amount, uint64_t ns) {
    if (amount > 0.0 && ns > 0)
        asc_text_addf(t, "<td class=\"num\">%.2f</td>", amount / (double)ns);
    else
        asc_text_adds(t, "<td class=\"num\">-</td>");
}

static asc_status put_table(asc_ctx *ctx, asc_text *t, const asc_prof *p, asc_prof_key key, const char *title,
                            bool open) {
    asc_prof_sums s;
    asc_status st = asc_prof_sums_make(ctx, p, key, &s);
    if (st == ASC_OK && s.n > 0) {
        asc_text_addf(
            t,
            "<details%s>\n<summary>%s</summary>\n<table>\n<thead><tr><th scope=\"col\">name</th>"
            "<th scope=\"col\" class=\"num\">calls</th><th scope=\"col\" class=\"num\">ms</th>"
            "<th scope=\"col\" class=\"num\">share</th><th scope=\"col\" "
            "class=\"num\">GFLOP/s</th><th scope=\"col\" class=\"num\">GB/s</th></tr></thead>\n<tbody>\n",
            open ? " open" : "", title);
        for (size_t i = 0; i < s.n && i < MOST_ROWS; i++) {
            const asc_prof_sum *r = &s.rows[i];
            asc_text_adds(t, "<tr><td class=\"t\"><code>");
            put_z(t, r->name);
            asc_text_addf(t,
                          "</code></td><td class=\"num\">%llu</td><td class=\"num\">%.3f</td><td "
                          "class=\"num\">%.1f\xc2\xa0%%</td>",
                          (unsigned long long)r->calls, (double)r->ns * 1e-6,
                          s.ns > 0 ? 100.0 * (double)r->ns / (double)s.ns : 0.0);
            put_rate(t, r->flops, r->ns);
            put_rate(t, r->bytes, r->ns);
            asc_text_adds(t, "</tr>\n");
        }
        asc_text_adds(t, "</tbody>\n</table>\n");
        if (s.n > MOST_ROWS) asc_text_addf(t, "<p class=\"sub\">and %zu more</p>\n", s.n - MOST_ROWS);
        asc_text_adds(t, "</details>\n");
    }
    asc_prof_sums_free(ctx, &s);
    return st;
}

static void put_duty(asc_ctx *ctx, asc_text *t) {
    const asc_profile_summary s = asc_profile_summary_of(ctx);
    asc_text_addf(
        t,
        "<dl>\n<dt>Wall time</dt><dd>%.3f s</dd>\n<dt>Processor time</dt><dd>%.3f s</dd>\n"
        "<dt>In kernels</dt><dd>%.1f\xc2\xa0%% of the wall time</dd>\n<dt>Cores busy</dt><dd>%.1f\xc2\xa0%% "
        "of %d threads, in kernels</dd>\n<dt>Work</dt><dd>%llu ops, %llu fused regions, %llu cuts, %llu "
        "compiles; %.4g GFLOP</dd>\n<dt>Peak memory</dt><dd>%.1f MB</dd>\n",
        s.seconds, s.cpu_seconds, 100.0 * s.kernel_share, 100.0 * s.busy_share, ctx->n_threads,
        (unsigned long long)s.ops, (unsigned long long)s.regions, (unsigned long long)s.cuts,
        (unsigned long long)s.compiles, s.flops * 1e-9, (double)s.peak_bytes / 1e6);
    if (s.dropped > 0)
        asc_text_addf(t, "<dt>Dropped</dt><dd>the oldest %llu of %llu events</dd>\n",
                      (unsigned long long)s.dropped, (unsigned long long)s.events);
    asc_text_adds(t, "</dl>\n");
}

static void put_legend(asc_text *t) {
    static const int shown[] = {ASC_PROF_OP,      ASC_PROF_REGION, ASC_PROF_CUT,
                                ASC_PROF_COMPILE, ASC_PROF_COPY,   ASC_PROF_SPAN};
    asc_text_adds(t, "<div class=\"legend\">");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        asc_text_addf(t, "<span><span class=\"key k%d\"></span> %s</span>", shown[i],
                      asc_prof_kind_name((asc_prof_kind)shown[i]));
    asc_text_adds(t, "</div>\n");
}

static const asc_prof_event *longest(const asc_prof_order *o, asc_prof_kind kind) {
    const asc_prof_event *best = NULL;
    for (size_t i = 0; i < o->n; i++) {
        if (o->events[i]->kind == kind && (best == NULL || o->events[i]->ns > best->ns)) best = o->events[i];
    }
    return best;
}

static asc_status put_timelines(asc_ctx *ctx, asc_text *t, const asc_prof *p) {
    asc_prof_order o;
    asc_status st = asc_prof_order_make(ctx, p, &o);
    if (st == ASC_OK && o.n > 0) {
        const uint64_t from = o.events[0]->start_ns, end = p->stop_ns > from ? p->stop_ns : asc_now_ns();
        asc_text_adds(t, "<h2>Timeline</h2>\n");
        put_legend(t);
        asc_put_timeline(t, p, &o, from, end, "everything that was recorded, over time");
        const asc_prof_event *cut = longest(&o, ASC_PROF_CUT);
        if (cut != NULL && cut->ns > 0) {
            asc_text_adds(t, "<h2>The longest cut</h2>\n");
            asc_put_timeline(t, p, &o, cut->start_ns, cut->start_ns + cut->ns, "the longest cut, over time");
        }
    }
    asc_prof_order_free(ctx, &o);
    return st;
}

void asc_put_profile_sections(asc_ctx *ctx, asc_text *t) {
    const asc_prof *p = ctx->prof_kept;
    if (p == NULL) return;
    asc_text_adds(t, "<section>\n<h2>Where the time went</h2>\n");
    put_duty(ctx, t);
    asc_status st = put_timelines(ctx, t, p);
    if (st == ASC_OK) st = put_table(ctx, t, p, ASC_PROF_BY_OP, "By op and fused region", true);
    if (st == ASC_OK) st = put_table(ctx, t, p, ASC_PROF_BY_PLACE, "By place", true);
    if (st == ASC_OK) st = put_table(ctx, t, p, ASC_PROF_BY_STACK, "By method and step", false);
    if (st == ASC_OK) st = put_table(ctx, t, p, ASC_PROF_BY_RUNTIME, "Around the kernels", false);
    if (st == ASC_OK) st = put_table(ctx, t, p, ASC_PROF_BY_LABEL, "By label", false);
    if (st != ASC_OK) t->b.failed = true;
    asc_text_adds(t, "</section>\n");
}

void asc_profile_page(asc_ctx *ctx, asc_text *t) {
    asc_text *style = NULL;
    if (asc_text_create(ctx, &style) != ASC_OK) {
        t->b.failed = true;
        return;
    }
    for (size_t i = 0; asc_html_style[i] != NULL; i++) asc_text_adds(style, asc_html_style[i]);
    asc_text_adds(style, asc_profile_style);
    asc_text_adds(style, "body{max-width:76rem}\n");
    if (asc_text_status(style) != ASC_OK) t->b.failed = true;
    asc_text_adds(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src ");
    asc_put_html_hash(t, asc_text_view(style));
    asc_text_adds(
        t, "; base-uri 'none'; form-action 'none'\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"referrer\" content=\"no-referrer\">\n<title>ascribe: profile</title>\n<style>");
    asc_text_add(t, asc_text_view(style));
    asc_text_destroy(style);
    asc_text_addf(
        t,
        "</style>\n</head>\n<body>\n<header>\n<h1>Profile</h1>\n<p class=\"sub\">device %s, mode %s</p>\n"
        "</header>\n<main>\n",
        ctx->device_name, ctx->mode_name);
    asc_put_profile_sections(ctx, t);
    asc_text_addf(t, "</main>\n<footer>ascribe %s</footer>\n</body>\n</html>\n", asc_version());
}
