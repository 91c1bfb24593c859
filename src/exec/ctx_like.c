/* ctx_like.c - a second context that computes what a first one does. */
#include "ascribe/precision.h"
#include "cpu.h"
#include "ctx_alloc.h"
#include "ctx_like.h"
#include "runtime.h"

bool asc_ctx_may_share_work(const asc_ctx *ctx) {
    const asc_runtime *rt = asc_runtime_of(ctx);
    return asc_ctx_has_default_alloc(ctx) && ctx->prof == NULL && rt->debug == 0 && rt->replay_cut == 0 &&
           rt->replay_path[0] == '\0';
}

asc_status asc_ctx_create_like(const asc_ctx *like, int n_threads, asc_ctx **out) {
    const asc_runtime *from = asc_runtime_of(like);
    const asc_ctx_options o = {.struct_size = sizeof o,
                               .alloc = like->alloc,
                               .alloc_self = like->alloc_self,
                               .device = like->device_name,
                               .mode = like->mode_name,
                               .n_threads = n_threads,
                               .seed = like->seed,
                               .isa = asc_isa_name((asc_isa)like->isa),
                               .precision = asc_precision_name(like->precision)};
    const char *site;
    asc_precision level;
    bool used;
    asc_status st = asc_ctx_create(&o, out);
    for (size_t i = 0; st == ASC_OK && asc_precision_at(like, i, &site, &level, &used); i++)
        st = asc_level_set_at(*out, site, level);
    if (st != ASC_OK) {
        asc_ctx_destroy(*out);
        *out = NULL;
        return st;
    }
    asc_runtime *to = asc_runtime_of(*out);
    to->passes_off = from->passes_off;
    to->arena_bound = from->arena_bound;
    to->emulates = from->emulates;
    to->allow_int8 = from->allow_int8;
    to->cache.max_entries = from->cache.max_entries;
    to->cache.max_bytes = from->cache.max_bytes;
    to->cache.frozen = from->cache.frozen;
    to->disk = from->disk;
    to->disk.stats = (asc_disk_stats){0};
    return ASC_OK;
}
