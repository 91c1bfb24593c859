/* levels.c - levels of precision for chosen labels. The table is looked at once per recorded product: the
 * first entry puts a step before the executor's own hook, so that nobody pays for it who has none. */
#include "ascribe/precision.h"
#include "compiled.h"
#include "runtime.h"
#include <string.h>

struct asc_level_at {
    struct asc_level_at *next; /* longer sites first */
    asc_precision level;
    bool used;
    size_t len;
    char *site;
};

/* "blocks.3" stands for itself and for what is inside it, "blocks.3.attn", but not for "blocks.30". */
static bool covers(const struct asc_level_at *l, const char *label) {
    return strncmp(l->site, label, l->len) == 0 &&
           (label[l->len] == '\0' || strchr(".:/#", label[l->len]) != NULL);
}

/* Products belong to the longest site that their label fits. */
static bool on_record(asc_ctx *ctx, asc_tensor *t, const asc_call *c) {
    struct asc_level_at *l = asc_runtime_of(ctx)->levels;
    bool product = t->op->fuse == ASC_FUSE_GEMM && t->label != NULL;
    while (product && l != NULL && !covers(l, t->label)) l = l->next;
    if (product && l != NULL) {
        l->used = true;
        t->level = l->level;
    }
    return asc_exec_on_record(ctx, t, c);
}

asc_status asc_level_set_at(asc_ctx *ctx, const char *site, asc_precision level) {
    asc_runtime *rt = asc_runtime_of(ctx);
    struct asc_level_at **at = &rt->levels;
    size_t len = strlen(site);
    asc_capture_forget(ctx, NULL); /* they were recorded at other levels */
    for (; *at != NULL && (*at)->len >= len; at = &(*at)->next) {
        if (strcmp((*at)->site, site) != 0) continue;
        (*at)->level = level;
        return ASC_OK;
    }
    struct asc_level_at *l = asc_calloc(ctx, ASC_MEM_PROGRAM, 1, sizeof *l);
    char *copy = asc_alloc(ctx, ASC_MEM_PROGRAM, len + 1);
    if (l == NULL || copy == NULL) {
        asc_free(ctx, l);
        asc_free(ctx, copy);
        return ASC_RESOURCE_EXHAUSTED;
    }
    memcpy(copy, site, len + 1);
    *l = (struct asc_level_at){.next = *at, .level = level, .len = len, .site = copy};
    *at = l;
    rt->graph.on_record = on_record;
    return ASC_OK;
}

bool asc_precision_at(const asc_ctx *ctx, size_t i, const char **site, asc_precision *level, bool *used) {
    const struct asc_level_at *l = ctx->rt != NULL ? asc_runtime_of(ctx)->levels : NULL;
    for (; l != NULL && i > 0; i--) l = l->next;
    if (l == NULL) return false;
    *site = l->site;
    *level = l->level;
    *used = l->used;
    return true;
}

void asc_level_free_all(asc_ctx *ctx) {
    asc_runtime *rt = asc_runtime_of(ctx);
    while (rt->levels != NULL) {
        struct asc_level_at *l = rt->levels;
        rt->levels = l->next;
        asc_free(ctx, l->site);
        asc_free(ctx, l);
    }
}
