/* alloc.c - tagged blocks with a header before the data, and the arena.
 * Layout of a block: padding, header (32 bytes), data, slack. The header lies right before the data, so one
 * free serves both alignments. Not thread-safe by design: kernels never allocate. */
#include "alloc.h"
#include "profile.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct header {
    size_t size;  /* bytes the caller asked for */
    size_t total; /* bytes of the whole block */
    uint32_t tag;
    uint32_t lead; /* bytes from the start of the block to the data */
    uint64_t align;
} header;
_Static_assert(sizeof(header) == 32, "header keeps 16-byte alignment");

enum { BUFFER_ALIGN = 64, BUFFER_SLACK = 64 };

static header *header_of(const void *ptr) { return (header *)((uintptr_t)ptr - sizeof(header)); }

static void count(asc_ctx *ctx, asc_mem_tag tag, size_t add, size_t sub) {
    asc_mem_stats *m = &ctx->mem;
    m->live_bytes[tag] += add;
    m->live_bytes[tag] -= sub;
    m->live_total += add;
    m->live_total -= sub;
    if (m->live_bytes[tag] > m->peak_bytes[tag]) m->peak_bytes[tag] = m->live_bytes[tag];
    if (m->live_total > m->peak_total) m->peak_total = m->live_total;
    if (ctx->prof != NULL && add > 0) asc_prof_peak(ctx);
}

static void *no_memory(asc_ctx *ctx, asc_mem_tag tag, size_t bytes) {
    ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "out of memory: %zu bytes for %s (%zu live)", bytes,
             asc_mem_tag_name(tag), ctx->mem.live_total);
    asc_hint(ctx, "free memory, or lower --memory so that smaller chunks are planned");
    return NULL;
}

/* Bytes that the machine has, or its control group (cgroup v2) may use; SIZE_MAX where nobody says. Without
 * this a size that a model or an input asks for is granted and ends the process when it is touched. */
static size_t system_bytes(void) {
    static _Atomic size_t known;
    size_t n = atomic_load(&known);
    if (n > 0) return n;
    n = SIZE_MAX;
#ifdef _SC_PHYS_PAGES
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0 || !asc_mul_size((size_t)pages, (size_t)page, &n)) n = SIZE_MAX;
#endif
    unsigned long long most;
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "r"); /* "max": no number */
    if (file != NULL && fscanf(file, "%llu", &most) == 1 && most > 0 && most < n) n = (size_t)most;
    if (file != NULL) (void)fclose(file);
    atomic_store(&known, n);
    return n;
}

/* Whether a block of `total` bytes can be had at all. */
static bool possible(asc_ctx *ctx, asc_mem_tag tag, size_t total) {
    const size_t live = ctx->mem.live_total, most = system_bytes();
    if (live <= most && total <= most - live) return true;
    ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED,
             "%zu bytes for %s, with %zu live, are more than the machine has (%zu)", total,
             asc_mem_tag_name(tag), live, most);
    asc_hint(ctx, "a size that the model or an input asks for is too large; or bound the job with --memory");
    return false;
}

/* Before `more` bytes on top of what is live: a bound is held as long as idle blocks and programs can go. */
static void keep_bound(asc_ctx *ctx, size_t more) {
    size_t all;
    if (ctx->bound == 0 || ctx->rt_give_back == NULL) return;
    if (!asc_add_size(ctx->mem.live_total, more, &all)) all = SIZE_MAX;
    if (all > ctx->bound) ctx->rt_give_back(ctx, all - ctx->bound);
}

static void *alloc_block(asc_ctx *ctx, asc_mem_tag tag, size_t bytes, size_t align, size_t slack) {
    size_t lead = align > sizeof(header) ? align : sizeof(header), total;
    if (!asc_add_size(bytes, lead + slack, &total)) return no_memory(ctx, tag, bytes);
    if (!possible(ctx, tag, total)) return NULL;
    keep_bound(ctx, total);
    char *p = ctx->alloc(ctx->alloc_self, NULL, 0, total, align);
    if (p == NULL) return no_memory(ctx, tag, bytes);
    header *h = header_of(p + lead);
    *h =
        (header){.size = bytes, .total = total, .tag = (uint32_t)tag, .lead = (uint32_t)lead, .align = align};
    count(ctx, tag, total, 0);
    ctx->mem.live_allocs++;
    return p + lead;
}

void *asc_alloc(asc_ctx *ctx, asc_mem_tag tag, size_t bytes) { return alloc_block(ctx, tag, bytes, 16, 0); }

void *asc_alloc_buffer(asc_ctx *ctx, asc_mem_tag tag, size_t bytes) {
    return alloc_block(ctx, tag, bytes, BUFFER_ALIGN, BUFFER_SLACK);
}

void *asc_calloc(asc_ctx *ctx, asc_mem_tag tag, size_t n, size_t size) {
    size_t bytes;
    if (!asc_mul_size(n, size, &bytes)) return no_memory(ctx, tag, SIZE_MAX);
    void *p = asc_alloc(ctx, tag, bytes);
    if (p != NULL) memset(p, 0, bytes);
    return p;
}

void *asc_realloc(asc_ctx *ctx, asc_mem_tag tag, void *ptr, size_t bytes) {
    if (ptr == NULL) return asc_alloc(ctx, tag, bytes);
    header *h = header_of(ptr);
    size_t total, old_total = h->total;
    if (h->align > 16 || !asc_add_size(bytes, sizeof(header), &total)) return no_memory(ctx, tag, bytes);
    if (total > old_total && !possible(ctx, tag, total - old_total)) return NULL;
    keep_bound(ctx, total > old_total ? total - old_total : 0);
    char *p = ctx->alloc(ctx->alloc_self, (char *)ptr - h->lead, old_total, total, 16);
    if (p == NULL) return no_memory(ctx, tag, bytes);
    h = header_of(p + sizeof(header));
    h->size = bytes;
    h->total = total;
    count(ctx, (asc_mem_tag)h->tag, total, old_total);
    return p + sizeof(header);
}

void asc_free(asc_ctx *ctx, void *ptr) {
    if (ptr == NULL) return;
    header h = *header_of(ptr);
    count(ctx, (asc_mem_tag)h.tag, 0, h.total);
    ctx->mem.live_allocs--;
    ctx->alloc(ctx->alloc_self, (char *)ptr - h.lead, h.total, 0, (size_t)h.align);
}

size_t asc_alloc_size(const void *ptr) { return ptr == NULL ? 0 : header_of(ptr)->size; }

char *asc_strdup_view(asc_ctx *ctx, asc_mem_tag tag, asc_view v) {
    char *p = asc_alloc(ctx, tag, v.len + 1);
    if (p == NULL) return NULL;
    if (v.len > 0) memcpy(p, v.ptr, v.len);
    p[v.len] = '\0';
    return p;
}

asc_status asc_grow(asc_ctx *ctx, asc_mem_tag tag, void **array, size_t *capacity, size_t need,
                    size_t elem_size) {
    if (need <= *capacity) return ASC_OK;
    size_t cap = *capacity + *capacity / 2 + 8, bytes;
    if (cap < need) cap = need;
    if (!asc_mul_size(cap, elem_size, &bytes)) {
        no_memory(ctx, tag, SIZE_MAX);
        return ASC_RESOURCE_EXHAUSTED;
    }
    void *p = asc_realloc(ctx, tag, *array, bytes);
    if (p == NULL) return ASC_RESOURCE_EXHAUSTED;
    *array = p;
    *capacity = cap;
    return ASC_OK;
}

asc_mem_stats asc_memory(const asc_ctx *ctx) { return ctx->mem; }

void asc_memory_forget_peaks(asc_ctx *ctx) {
    asc_mem_stats *m = &ctx->mem;
    for (int i = 0; i < ASC_MEM_N_TAGS; i++) m->peak_bytes[i] = m->live_bytes[i];
    m->peak_total = m->live_total;
}

const char *asc_mem_tag_name(asc_mem_tag tag) {
    static const char *const names[] = {
#define NAME(name, text) text,
        ASC_MEM_TABLE(NAME)
#undef NAME
    };
    return (unsigned)tag < ASC_MEM_N_TAGS ? names[tag] : "?";
}

struct asc_arena_block {
    asc_arena_block *next;
    size_t used, cap; /* bytes of data, which follows the struct */
    size_t pad;
};

void asc_arena_init(asc_arena *a, asc_ctx *ctx, asc_mem_tag tag) { *a = (asc_arena){.ctx = ctx, .tag = tag}; }

void asc_arena_deinit(asc_arena *a) {
    while (a->head != NULL) {
        asc_arena_block *b = a->head;
        a->head = b->next;
        asc_free(a->ctx, b);
    }
}

void asc_arena_reset(asc_arena *a) {
    if (a->head == NULL) return;
    asc_arena_block *keep = a->head,
                    *b = keep->next; /* blocks grow, so the head is the largest or nearly so */
    while (b != NULL) {
        asc_arena_block *next = b->next;
        asc_free(a->ctx, b);
        b = next;
    }
    keep->next = NULL;
    keep->used = 0;
}

void *asc_arena_alloc(asc_arena *a, size_t bytes) {
    size_t need;
    if (!asc_add_size(bytes, 15, &need)) return no_memory(a->ctx, a->tag, bytes);
    need &= ~(size_t)15;
    asc_arena_block *b = a->head;
    if (b == NULL || b->cap - b->used < need) {
        size_t cap = b == NULL ? 4096 : b->cap * 2, total;
        if (cap > ((size_t)1 << 22)) cap = (size_t)1 << 22;
        if (cap < need) cap = need;
        if (!asc_add_size(cap, sizeof *b, &total)) return no_memory(a->ctx, a->tag, bytes);
        b = asc_alloc(a->ctx, a->tag, total);
        if (b == NULL) return NULL;
        *b = (asc_arena_block){.next = a->head, .cap = cap};
        a->head = b;
    }
    void *p = (char *)(b + 1) + b->used;
    b->used += need;
    memset(p, 0, need);
    return p;
}

char *asc_arena_strdup(asc_arena *a, asc_view v) {
    char *p = asc_arena_alloc(a, v.len + 1);
    if (p != NULL && v.len > 0) memcpy(p, v.ptr, v.len);
    return p;
}
