/* cache.c - the table of a context's executables: open chains by hash, a list by last use, bounds on both the
 * number of entries and the bytes they hold. */
#include "cache.h"
#include "compiled.h"
#include <string.h>

static asc_cache_entry **chain_of(asc_runtime *rt, uint64_t hash) {
    return &rt->cache.table[hash % ASC_CACHE_CHAINS];
}

static void unlink_use(asc_cache *c, asc_cache_entry *e) {
    if (e->newer != NULL) e->newer->older = e->older;
    if (e->older != NULL) e->older->newer = e->newer;
    if (c->newest == e) c->newest = e->older;
    if (c->oldest == e) c->oldest = e->newer;
    e->newer = e->older = NULL;
}

static void make_newest(asc_cache *c, asc_cache_entry *e) {
    e->older = c->newest;
    if (c->newest != NULL) c->newest->newer = e;
    c->newest = e;
    if (c->oldest == NULL) c->oldest = e;
}

asc_cache_entry *asc_cache_find(asc_runtime *rt, const uint64_t *key, size_t n_key, uint64_t hash) {
    asc_cache *c = &rt->cache;
    for (asc_cache_entry *e = *chain_of(rt, hash); e != NULL; e = e->chain) {
        if (e->hash != hash || e->n_key != n_key || memcmp(e->key, key, n_key * sizeof *key) != 0) continue;
        if (c->newest != e) {
            unlink_use(c, e);
            make_newest(c, e);
        }
        e->hits++;
        rt->stats.cache_hits++;
        return e;
    }
    rt->stats.cache_misses++;
    return NULL;
}

/* The device's code is made by the first run, so an entry grows once. */
void asc_cache_recount(asc_ctx *ctx, asc_cache_entry *e) {
    asc_cache *c = &asc_runtime_of(ctx)->cache;
    c->bytes -= e->bytes;
    e->bytes = e->exe->bytes + sizeof *e + e->n_key * sizeof *e->key;
    c->bytes += e->bytes;
}

static void drop(asc_ctx *ctx, asc_cache_entry *e) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_cache_entry **at = chain_of(rt, e->hash);
    while (*at != e) at = &(*at)->chain;
    *at = e->chain;
    unlink_use(&rt->cache, e);
    rt->cache.n_entries--;
    rt->cache.bytes -= e->bytes;
    asc_exe_destroy(ctx, e->exe);
    asc_free(ctx, e->key);
    asc_free(ctx, e);
}

void asc_cache_shrink(asc_ctx *ctx, const asc_cache_entry *keep) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_cache *c = &rt->cache;
    while (c->oldest != NULL && (c->n_entries > c->max_entries || c->bytes > c->max_bytes)) {
        asc_cache_entry *e = c->oldest == keep ? c->oldest->newer : c->oldest;
        if (e == NULL) break;
        drop(ctx, e);
        rt->stats.cache_evictions++;
    }
}

void asc_cache_clear(asc_ctx *ctx) {
    asc_cache *c = &asc_runtime_of(ctx)->cache;
    while (c->oldest != NULL) drop(ctx, c->oldest);
}

asc_status asc_cache_add(asc_ctx *ctx, const uint64_t *key, size_t n_key, uint64_t hash, asc_exe *take_exe,
                         asc_cache_entry **out) {
    asc_runtime *rt = asc_runtime_of(ctx);
    asc_cache_entry *e = asc_calloc(ctx, ASC_MEM_PROGRAM, 1, sizeof *e);
    uint64_t *copy = asc_calloc(ctx, ASC_MEM_PROGRAM, n_key, sizeof *copy);
    *out = NULL;
    if (e == NULL || copy == NULL) {
        asc_free(ctx, e);
        asc_free(ctx, copy);
        asc_exe_destroy(ctx, take_exe);
        return ASC_RESOURCE_EXHAUSTED;
    }
    memcpy(copy, key, n_key * sizeof *copy);
    *e = (asc_cache_entry){.exe = take_exe, .key = copy, .n_key = n_key, .hash = hash};
    e->ops_hash = asc_key_ops_hash(key);
    asc_cache_entry **chain = chain_of(rt, hash);
    e->chain = *chain;
    *chain = e;
    make_newest(&rt->cache, e);
    rt->cache.n_entries++;
    asc_cache_recount(ctx, e);
    asc_cache_shrink(ctx, e);
    *out = e;
    return ASC_OK;
}

void asc_exec_cache_clear(asc_ctx *ctx) {
    asc_capture_forget(ctx, NULL);
    asc_cache_clear(ctx);
}

void asc_exec_cache_bound(asc_ctx *ctx, size_t entries, size_t bytes) {
    asc_cache *c = &asc_runtime_of(ctx)->cache;
    c->max_entries = entries;
    c->max_bytes = bytes;
    asc_cache_shrink(ctx, NULL);
}

void asc_exec_freeze(asc_ctx *ctx, bool on) { asc_runtime_of(ctx)->cache.frozen = on; }

bool asc_exec_cache_at(const asc_ctx *ctx, size_t i, asc_exec_program *out) {
    const asc_cache_entry *e = asc_runtime_of(ctx)->cache.newest;
    while (e != NULL && i-- > 0) e = e->older;
    *out = (asc_exec_program){0};
    if (e == NULL) return false;
    *out = (asc_exec_program){.program = &e->exe->program,
                              .plan = &e->exe->plan,
                              .hash = e->hash,
                              .hits = e->hits,
                              .bytes = e->bytes,
                              .compile_ns = e->exe->compile_ns};
    return true;
}

asc_exec_stats asc_exec_stats_of(const asc_ctx *ctx) {
    const asc_runtime *rt = asc_runtime_of(ctx);
    asc_exec_stats s = rt->stats;
    s.cache_entries = rt->cache.n_entries;
    s.cache_bytes = rt->cache.bytes;
    return s;
}
