/* profile_trace.c - a profile in the Trace Event Format (JSON object form: traceEvents, displayTimeUnit,
 * otherData; complete events "X" with ts and dur in microseconds, counters "C", metadata "M"), as Perfetto
 * and chrome://tracing load it. One process, one thread: the context's; a kernel's threads are a number. */
#include "profile_parts.h"
#include <stdio.h>
#include <string.h>

/* Names are written often and escaped once. */
typedef struct names {
    asc_strbuf text;
    size_t *at; /* [n + 1] */
    size_t n;
} names;

static asc_status names_init(asc_ctx *ctx, const asc_prof *p, names *out) {
    *out = (names){.n = p->n_names};
    asc_strbuf_init(&out->text, ctx);
    out->at = asc_calloc(ctx, ASC_MEM_GENERAL, out->n + 1, sizeof *out->at);
    if (out->at == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < out->n; i++) {
        asc_jsonw w;
        out->at[i] = out->text.len;
        asc_jsonw_init(&w, &out->text, true);
        asc_jsonw_strz(&w, asc_prof_text(p, (uint32_t)i));
    }
    out->at[out->n] = out->text.len;
    return asc_strbuf_status(&out->text);
}

static void put_name(asc_text *t, const names *n, uint32_t name) {
    const size_t i = name < n->n ? name : 0;
    asc_strbuf_add(&t->b, n->text.ptr + n->at[i], n->at[i + 1] - n->at[i]);
}

static void put_json_text(asc_text *t, const char *s) {
    asc_jsonw w;
    asc_jsonw_init(&w, &t->b, true);
    asc_jsonw_strz(&w, s);
}

static void put_us(asc_text *t, const char *key, uint64_t ns) {
    asc_strbuf_addf(&t->b, ",\"%s\":%llu.%03u", key, (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

static void put_rate(asc_text *t, const char *key, double amount, uint64_t ns) {
    if (amount > 0.0 && ns > 0) asc_strbuf_addf(&t->b, ",\"%s\":%.4g", key, amount / (double)ns);
}

static void put_args(asc_text *t, const asc_prof *p, const names *n, const asc_prof_event *e) {
    char stack[200];
    asc_strbuf_addf(&t->b, ",\"args\":{\"threads\":%u", e->threads);
    if (e->label != 0) {
        asc_strbuf_adds(&t->b, ",\"label\":");
        put_name(t, n, e->label);
    }
    asc_prof_stack_text(p, e->frame, true, stack, sizeof stack);
    if (stack[0] != '\0') {
        asc_strbuf_adds(&t->b, ",\"stack\":");
        put_json_text(t, stack);
    }
    if (e->flops > 0.0) asc_strbuf_addf(&t->b, ",\"flop\":%.0f", e->flops);
    if (e->bytes_read > 0.0) asc_strbuf_addf(&t->b, ",\"bytes_read\":%.0f", e->bytes_read);
    if (e->bytes_written > 0.0) asc_strbuf_addf(&t->b, ",\"bytes_written\":%.0f", e->bytes_written);
    put_rate(t, "gflop_per_s", e->flops, e->ns);
    put_rate(t, "gb_per_s", e->bytes_read + e->bytes_written, e->ns);
    asc_strbuf_addc(&t->b, '}');
}

static void put_event(asc_text *t, const asc_prof *p, const names *n, const asc_prof_event *e) {
    const uint64_t ts = e->start_ns > p->start_ns ? e->start_ns - p->start_ns : 0;
    if (e->kind == ASC_PROF_PEAK) {
        asc_strbuf_adds(&t->b, ",\n{\"ph\":\"C\",\"pid\":1,\"tid\":1,\"name\":\"peak memory\"");
        put_us(t, "ts", ts);
        asc_strbuf_addf(&t->b, ",\"args\":{\"bytes\":%.0f}}", e->bytes_written);
        return;
    }
    asc_strbuf_adds(&t->b, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":");
    if (e->kind == ASC_PROF_SPAN || e->name == 0) {
        char name[200];
        asc_prof_event_name(p, e, name, sizeof name);
        put_json_text(t, name);
    } else {
        put_name(t, n, e->name);
    }
    asc_strbuf_addf(&t->b, ",\"cat\":\"%s\"", asc_prof_kind_name((asc_prof_kind)e->kind));
    put_us(t, "ts", ts);
    put_us(t, "dur", e->ns);
    put_args(t, p, n, e);
    asc_strbuf_addc(&t->b, '}');
}

static void put_head(asc_ctx *ctx, asc_text *t) {
    char process[200];
    snprintf(process, sizeof process, "ascribe %s (%s, %s, %d threads)", asc_version(), ctx->device_name,
             ctx->mode_name, ctx->n_threads);
    asc_strbuf_adds(
        &t->b, "{\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"process_name\",\"args\":"
               "{\"name\":");
    put_json_text(t, process);
    asc_strbuf_adds(&t->b, "}},\n{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":"
                           "{\"name\":\"context\"}}");
}

void asc_profile_trace(asc_ctx *ctx, asc_text *t) {
    const asc_prof *p = ctx->prof_kept;
    const asc_profile_summary s = asc_profile_summary_of(ctx);
    asc_prof_order o = {0};
    names n = {0};
    put_head(ctx, t);
    asc_status st = ASC_OK;
    if (p != NULL) {
        st = asc_prof_order_make(ctx, p, &o);
        if (st == ASC_OK) st = names_init(ctx, p, &n);
        for (size_t i = 0; st == ASC_OK && i < o.n; i++) put_event(t, p, &n, o.events[i]);
        asc_free(ctx, n.at);
        asc_strbuf_deinit(&n.text);
        asc_prof_order_free(ctx, &o);
    }
    if (st != ASC_OK) t->b.failed = true;
    asc_strbuf_addf(&t->b,
                    "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{\"events\":%llu,\"dropped\":%llu,"
                    "\"kernel_share\":%.4f,\"busy_share\":%.4f}}\n",
                    (unsigned long long)s.events, (unsigned long long)s.dropped, s.kernel_share,
                    s.busy_share);
}
