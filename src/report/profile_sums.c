/* profile_sums.c - events in order and sums by op, place, label, stack and kind. */
#include "profile_parts.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_start(const void *a, const void *b) {
    const asc_prof_event *x = *(const asc_prof_event *const *)a, *y = *(const asc_prof_event *const *)b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    return (y->kind > x->kind) - (y->kind < x->kind); /* spans hold cuts, cuts hold ops */
}

asc_status asc_prof_order_make(asc_ctx *ctx, const asc_prof *p, asc_prof_order *out) {
    *out = (asc_prof_order){.n = asc_prof_events(p)};
    out->events = asc_calloc(ctx, ASC_MEM_GENERAL, out->n + 1, sizeof(const asc_prof_event *));
    out->depth = asc_calloc(ctx, ASC_MEM_GENERAL, out->n + 1, sizeof *out->depth);
    if (out->events == NULL || out->depth == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < out->n; i++) out->events[i] = asc_prof_at(p, i);
    qsort(out->events, out->n, sizeof(const asc_prof_event *), by_start);
    uint64_t ends[ASC_PROF_DEPTH + 16]; /* of what surrounds the event at hand */
    int open = 0;
    for (size_t i = 0; i < out->n; i++) {
        const asc_prof_event *e = out->events[i];
        while (open > 0 && ends[open - 1] <= e->start_ns) open--;
        out->depth[i] = open;
        if (open > out->max_depth) out->max_depth = open;
        if (e->ns > 0 && open < (int)(sizeof ends / sizeof *ends)) ends[open++] = e->start_ns + e->ns;
    }
    return ASC_OK;
}

void asc_prof_order_free(asc_ctx *ctx, asc_prof_order *o) {
    asc_free(ctx, o->events);
    asc_free(ctx, o->depth);
    *o = (asc_prof_order){0};
}

void asc_prof_event_name(const asc_prof *p, const asc_prof_event *e, char *out, size_t size) {
    const asc_prof_frame *f = &p->frames[e->frame];
    const char *name = asc_prof_text(p, e->name);
    if (e->kind == ASC_PROF_SPAN && f->number >= 0) {
        snprintf(out, size, "%s %lld", name, (long long)f->number);
    } else {
        snprintf(out, size, "%s", name[0] != '\0' ? name : asc_prof_kind_name((asc_prof_kind)e->kind));
    }
}

void asc_prof_stack_text(const asc_prof *p, uint32_t frame, bool numbers, char *out, size_t size) {
    uint32_t path[ASC_PROF_DEPTH];
    int n = 0;
    size_t len = 0;
    for (; frame != 0 && n < ASC_PROF_DEPTH; frame = p->frames[frame].parent) path[n++] = frame;
    out[0] = '\0';
    while (n-- > 0 && len + 1 < size) {
        const asc_prof_frame *f = &p->frames[path[n]];
        len +=
            (size_t)snprintf(out + len, size - len, "%s%s", len > 0 ? " / " : "", asc_prof_text(p, f->name));
        if (numbers && f->number >= 0 && len + 1 < size)
            len += (size_t)snprintf(out + len, size - len, " %lld", (long long)f->number);
    }
}

/* "blocks.12.mlp" becomes "blocks.*.mlp". */
static void without_numbers(const char *label, char *out, size_t size) {
    size_t n = 0;
    for (const char *c = label; *c != '\0' && n + 1 < size;) {
        const bool starts = c == label || !isalnum((unsigned char)c[-1]);
        if (starts && isdigit((unsigned char)*c)) {
            const char *end = c;
            while (isdigit((unsigned char)*end)) end++;
            if (!isalnum((unsigned char)*end)) {
                out[n++] = '*';
                c = end;
                continue;
            }
        }
        out[n++] = *c++;
    }
    out[n] = '\0';
}

/* False: this event does not count under the key. */
static bool key_of(const asc_prof *p, const asc_prof_event *e, asc_prof_key key, char *out, size_t size) {
    const bool kernel = e->kind == ASC_PROF_OP || e->kind == ASC_PROF_REGION;
    const char *name = asc_prof_text(p, e->name), *label = asc_prof_text(p, e->label);
    if (key == ASC_PROF_BY_RUNTIME) {
        if (kernel || e->kind == ASC_PROF_SPAN || e->kind == ASC_PROF_PEAK) return false;
        snprintf(out, size, "%s%s%s", asc_prof_kind_name((asc_prof_kind)e->kind), name[0] != '\0' ? ": " : "",
                 name);
        return true;
    }
    if (!kernel) return false;
    if (key == ASC_PROF_BY_OP) {
        snprintf(out, size, "%s", name);
    } else if (key == ASC_PROF_BY_STACK) {
        asc_prof_stack_text(p, e->frame, false, out, size);
        if (out[0] == '\0') snprintf(out, size, "(outside any label)");
    } else if (label[0] == '\0') {
        snprintf(out, size, "(no label)");
    } else if (key == ASC_PROF_BY_PLACE) {
        without_numbers(label, out, size);
    } else {
        snprintf(out, size, "%s", label);
    }
    return true;
}

static int by_time(const void *a, const void *b) {
    const asc_prof_sum *x = a, *y = b;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

asc_status asc_prof_sums_make(asc_ctx *ctx, const asc_prof *p, asc_prof_key key, asc_prof_sums *out) {
    *out = (asc_prof_sums){0};
    size_t last = 0; /* neighbours often share their key */
    for (size_t i = 0; i < asc_prof_events(p); i++) {
        const asc_prof_event *e = asc_prof_at(p, i);
        char name[sizeof out->rows->name];
        if (!key_of(p, e, key, name, sizeof name)) continue;
        size_t k = last < out->n && strcmp(out->rows[last].name, name) == 0 ? last : 0;
        while (k < out->n && strcmp(out->rows[k].name, name) != 0) k++;
        if (k == out->n) {
            asc_status st =
                asc_grow(ctx, ASC_MEM_GENERAL, (void **)&out->rows, &out->cap, out->n + 1, sizeof *out->rows);
            if (st != ASC_OK) return st;
            out->rows[out->n] = (asc_prof_sum){0};
            memcpy(out->rows[out->n++].name, name, sizeof name);
        }
        asc_prof_sum *s = &out->rows[k];
        s->calls++;
        s->ns += e->ns;
        s->thread_ns += e->ns * e->threads;
        s->flops += e->flops;
        s->bytes += e->bytes_read + e->bytes_written;
        out->ns += e->ns;
        last = k;
    }
    if (out->n > 1) qsort(out->rows, out->n, sizeof *out->rows, by_time);
    return ASC_OK;
}

void asc_prof_sums_free(asc_ctx *ctx, asc_prof_sums *s) {
    asc_free(ctx, s->rows);
    *s = (asc_prof_sums){0};
}
