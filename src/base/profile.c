/* profile.c - records events; see profile.h. Writing them out is the business of src/report. */
#include "profile.h"
#include "cpu.h"
#include "hash.h"
#include <string.h>
#include <time.h>

enum { DEFAULT_EVENTS = 1 << 17, FIRST_INDEX = 1 << 10, CPU_EVERY_NS = 100000 };

static const char *const kinds[] = {
#define NAME(e, text, doc) text,
    ASC_PROF_KIND_TABLE(NAME)
#undef NAME
};

const char *asc_prof_kind_name(asc_prof_kind k) { return (unsigned)k < ASC_N_PROF_KINDS ? kinds[k] : "?"; }

static uint64_t cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

asc_status asc_prof_start(asc_ctx *ctx, size_t max_events) {
    asc_prof_free(ctx);
    size_t bytes, cap = max_events > 0 ? max_events : DEFAULT_EVENTS;
    asc_prof *p = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *p);
    if (p == NULL) return ASC_RESOURCE_EXHAUSTED;
    ctx->prof_kept = p;
    p->ctx = ctx;
    p->cap = cap;
    asc_status st = asc_mul_size(cap, sizeof *p->ring, &bytes)
                        ? ASC_OK
                        : ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "a profile of %zu events is too large", cap);
    /* Not counted, so that a report of memory is about the work; touched as it fills. */
    if (st == ASC_OK && (p->ring = ctx->alloc(ctx->alloc_self, NULL, 0, bytes, 64)) == NULL)
        st = ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "out of memory: a profile of %zu events", cap);
    p->index = st == ASC_OK ? asc_calloc(ctx, ASC_MEM_GENERAL, FIRST_INDEX, sizeof *p->index) : NULL;
    if (p->ring == NULL || p->index == NULL ||
        asc_grow(ctx, ASC_MEM_GENERAL, (void **)&p->names, &p->cap_names, 256, sizeof *p->names) != ASC_OK ||
        asc_grow(ctx, ASC_MEM_GENERAL, (void **)&p->frames, &p->cap_frames, 256, sizeof *p->frames) !=
            ASC_OK) {
        asc_prof_free(ctx);
        return ASC_RESOURCE_EXHAUSTED;
    }
    p->n_index = FIRST_INDEX;
    p->names[0].text = NULL;
    p->names[0].hash = 0;
    p->n_names = 1;
    p->frames[0] = (asc_prof_frame){.number = -1};
    p->n_frames = 1;
    p->start_cpu_ns = cpu_now();
    p->start_ns = asc_now_ns();
    ctx->prof = p;
    return ASC_OK;
}

void asc_prof_stop(asc_ctx *ctx) {
    asc_prof *p = ctx->prof;
    if (p == NULL) return;
    asc_prof_pop(ctx, 0);
    p->stop_ns = asc_now_ns();
    p->stop_cpu_ns = cpu_now();
    ctx->prof = NULL;
}

void asc_prof_free(asc_ctx *ctx) {
    asc_prof *p = ctx->prof_kept;
    ctx->prof = ctx->prof_kept = NULL;
    if (p == NULL) return;
    for (size_t i = 1; i < p->n_names; i++) asc_free(ctx, p->names[i].text);
    asc_free(ctx, p->names);
    asc_free(ctx, p->index);
    asc_free(ctx, p->frames);
    if (p->ring != NULL) ctx->alloc(ctx->alloc_self, p->ring, p->cap * sizeof *p->ring, 0, 64);
    asc_free(ctx, p);
}

/* Twice the index, every name put in anew. */
static bool grow_index(asc_prof *p) {
    size_t n = p->n_index * 2;
    uint32_t *index = asc_calloc(p->ctx, ASC_MEM_GENERAL, n, sizeof *index);
    if (index == NULL) return false;
    for (size_t i = 1; i < p->n_names; i++) {
        size_t at = p->names[i].hash & (n - 1);
        while (index[at] != 0) at = (at + 1) & (n - 1);
        index[at] = (uint32_t)i + 1;
    }
    asc_free(p->ctx, p->index);
    p->index = index;
    p->n_index = n;
    return true;
}

static uint32_t new_name(asc_prof *p, const char *text, size_t len, uint64_t hash, size_t at) {
    asc_ctx *ctx = p->ctx;
    asc_error saved = ctx->error; /* running out of room for names is no error of the caller's */
    uint32_t name = 0;
    p->busy = true;
    if (p->n_names < ASC_PROF_MAX_NAMES && asc_grow(ctx, ASC_MEM_GENERAL, (void **)&p->names, &p->cap_names,
                                                    p->n_names + 1, sizeof *p->names) == ASC_OK) {
        char *copy = asc_strdup_view(ctx, ASC_MEM_GENERAL, (asc_view){text, len});
        if (copy != NULL) {
            name = (uint32_t)p->n_names++;
            p->names[name].text = copy;
            p->names[name].hash = hash;
            p->index[at] = name + 1;
            if (p->n_names * 2 > p->n_index && !grow_index(p) && p->n_names + 1 >= p->n_index) {
                p->lost = true; /* a full table would be searched for ever */
                p->index[at] = 0;
                asc_free(ctx, p->names[--p->n_names].text);
                name = 0;
            }
        }
    }
    if (name == 0) {
        p->lost = true;
        ctx->error = saved;
    }
    p->busy = false;
    return name;
}

static uint32_t find_name(asc_prof *p, const char *text) {
    size_t len = strlen(text);
    uint64_t hash = asc_hash64(text, len, 0);
    size_t at = hash & (p->n_index - 1);
    while (p->index[at] != 0) {
        uint32_t name = p->index[at] - 1;
        if (p->names[name].hash == hash && strcmp(p->names[name].text, text) == 0) return name;
        at = (at + 1) & (p->n_index - 1);
    }
    return new_name(p, text, len, hash, at);
}

/* Nearly all texts are constants or interned, so where one lies says which it is; its contents are compared,
 * as memory may have been used again. */
uint32_t asc_prof_name(asc_prof *p, const char *text) {
    if (text == NULL || text[0] == '\0') return 0;
    const size_t at = ((uintptr_t)text >> 3 ^ (uintptr_t)text >> 12) & (ASC_PROF_RECENT - 1);
    if (p->recent[at].text == text && strcmp(p->names[p->recent[at].name].text, text) == 0)
        return p->recent[at].name;
    const uint32_t name = find_name(p, text);
    if (name != 0) {
        p->recent[at].text = text;
        p->recent[at].name = name;
    }
    return name;
}

const char *asc_prof_text(const asc_prof *p, uint32_t name) {
    return name == 0 || name >= p->n_names ? "" : p->names[name].text;
}

size_t asc_prof_events(const asc_prof *p) { return p->n < p->cap ? (size_t)p->n : p->cap; }

const asc_prof_event *asc_prof_at(const asc_prof *p, size_t i) {
    return &p->ring[p->n <= p->cap ? i : (size_t)((p->n + i) % p->cap)];
}

void asc_prof_add(asc_prof *p, asc_prof_event e) {
    e.frame = p->frame;
    p->ns[e.kind] += e.ns;
    p->count[e.kind]++;
    if (e.kind == ASC_PROF_OP || e.kind == ASC_PROF_REGION) {
        const uint64_t t = e.ns * (e.threads > 0 ? e.threads : 1u);
        p->thread_ns += t;
        p->run_thread_ns += t;
        p->flops += e.flops;
    }
    p->ring[p->n % p->cap] = e;
    p->n++;
}

asc_prof_mark asc_prof_begin_on(asc_ctx *ctx) {
    (void)ctx;
    return (asc_prof_mark){.ns = asc_now_ns()};
}

void asc_prof_end_on(asc_ctx *ctx, asc_prof_mark m, asc_prof_kind kind, const char *name, const char *label) {
    asc_prof *p = ctx->prof;
    asc_prof_add(p, (asc_prof_event){.start_ns = m.ns,
                                     .ns = asc_now_ns() - m.ns,
                                     .name = asc_prof_name(p, name),
                                     .label = asc_prof_name(p, label),
                                     .kind = (uint16_t)kind,
                                     .threads = 1});
}

asc_prof_mark asc_prof_run_begin_on(asc_ctx *ctx) {
    asc_prof *p = ctx->prof;
    asc_prof_mark m = {.ns = asc_now_ns()};
    p->run_thread_ns = 0;
    if (m.ns - p->cpu_read_ns > CPU_EVERY_NS) {
        m.cpu_ns = cpu_now();
        p->cpu_read_ns = m.ns;
    }
    return m;
}

void asc_prof_run_end_on(asc_ctx *ctx, asc_prof_mark m) {
    asc_prof *p = ctx->prof;
    uint64_t busy = p->run_thread_ns;
    if (m.cpu_ns != 0) {
        const uint64_t cpu = cpu_now() - m.cpu_ns;
        if (cpu < busy) busy = cpu;
    }
    p->busy_ns += busy;
    p->run_thread_ns = 0;
}

void asc_prof_copy(asc_ctx *ctx, asc_prof_mark m, const char *name, size_t bytes) {
    asc_prof *p = ctx->prof;
    if (p == NULL || m.ns == 0) return;
    asc_prof_add(p, (asc_prof_event){.start_ns = m.ns,
                                     .ns = asc_now_ns() - m.ns,
                                     .bytes_read = (double)bytes,
                                     .bytes_written = (double)bytes,
                                     .name = asc_prof_name(p, name),
                                     .kind = ASC_PROF_COPY,
                                     .threads = 1});
}

/* The frame (parent, name, number); the parent when there is no room. */
static uint32_t frame_of(asc_prof *p, uint32_t parent, uint32_t name, int64_t number) {
    asc_ctx *ctx = p->ctx;
    const size_t at = (parent * 31u + name * 7u + (uint32_t)number) & (ASC_PROF_RECENT - 1);
    const uint32_t last = p->recent_frame[at];
    if (last != 0 && p->frames[last].parent == parent && p->frames[last].name == name &&
        p->frames[last].number == number)
        return last;
    asc_error saved = ctx->error;
    p->busy = true;
    bool room = p->n_frames < ASC_PROF_MAX_FRAMES &&
                asc_grow(ctx, ASC_MEM_GENERAL, (void **)&p->frames, &p->cap_frames, p->n_frames + 1,
                         sizeof *p->frames) == ASC_OK;
    p->busy = false;
    if (!room) {
        p->lost = true;
        ctx->error = saved;
        return parent;
    }
    p->frames[p->n_frames] = (asc_prof_frame){.parent = parent, .name = name, .number = number};
    p->recent_frame[at] = (uint32_t)p->n_frames;
    return (uint32_t)p->n_frames++;
}

int asc_prof_push(asc_ctx *ctx, const char *name, int64_t number) {
    asc_prof *p = ctx->prof;
    if (p == NULL) return -1;
    const int depth = p->depth;
    if (depth >= ASC_PROF_DEPTH) return depth; /* deeper labels are not told apart */
    p->opened[depth] = asc_now_ns();
    p->outer[depth] = p->frame;
    p->frame = frame_of(p, p->frame, asc_prof_name(p, name), number);
    p->depth++;
    return depth;
}

void asc_prof_pop(asc_ctx *ctx, int depth) {
    asc_prof *p = ctx->prof;
    if (p == NULL || depth < 0) return;
    while (p->depth > depth) {
        const uint32_t name = p->frames[p->frame].name;
        const uint64_t start = p->opened[--p->depth];
        asc_prof_add(p, (asc_prof_event){.start_ns = start,
                                         .ns = asc_now_ns() - start,
                                         .name = name,
                                         .kind = ASC_PROF_SPAN,
                                         .threads = 1});
        p->frame = p->outer[p->depth];
    }
}

void asc_prof_peak(asc_ctx *ctx) {
    asc_prof *p = ctx->prof;
    const size_t live = ctx->mem.live_total;
    if (p->busy || live <= p->peak_bytes) return;
    p->peak_bytes = live;
    memcpy(p->peak_by_tag, ctx->mem.live_bytes, sizeof p->peak_by_tag);
    if (live < p->peak_event_bytes + p->peak_event_bytes / 64) return; /* no event for every small step */
    p->peak_event_bytes = live;
    p->peak_frame = p->frame; /* of what made it large, not of the last crumb */
    asc_prof_add(
        p, (asc_prof_event){
               .start_ns = asc_now_ns(), .bytes_written = (double)live, .kind = ASC_PROF_PEAK, .threads = 1});
}
