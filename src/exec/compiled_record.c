/* compiled_record.c - recording what is to be captured: what is read on the way, and whether a parameter
 * decides it. */
#include "compiled.h"
#include "runtime.h"
#include <string.h>

void asc_capture_begin(asc_ctx *ctx, bool strict) {
    asc_runtime *rt = asc_runtime_of(ctx);
    rt->capturing = true;
    rt->capture_strict = strict;
    rt->capture_read = NULL;
    rt->n_capture_bounds = 0;
}

const char *asc_capture_end(asc_ctx *ctx) {
    asc_runtime *rt = asc_runtime_of(ctx);
    rt->capturing = false;
    return rt->capture_read;
}

void asc_capture_param(asc_tensor *leaf) { leaf->param = leaf->poison == ASC_OK; }

bool asc_exec_compiles(const asc_ctx *ctx) {
    return asc_runtime_of(ctx)->compiled && !asc_runtime_of(ctx)->capturing;
}

bool asc_capture_check_below(asc_ctx *ctx, asc_tensor *leaf, int64_t n, const char *what) {
    asc_runtime *rt = asc_runtime_of(ctx);
    if (!rt->capturing || !leaf->param) return false;
    if (asc_grow(ctx, ASC_MEM_PROGRAM, (void **)&rt->capture_bounds, &rt->cap_capture_bounds,
                 rt->n_capture_bounds + 1, sizeof *rt->capture_bounds) != ASC_OK)
        return false; /* then reading it says that this cannot be kept */
    asc_capture_bound *b = &rt->capture_bounds[rt->n_capture_bounds++];
    *b = (asc_capture_bound){.leaf = leaf, .n = n};
    strncpy(b->what, what, sizeof b->what - 1);
    return true;
}

/* The check's own reading, once for each: whoever reads the leaf otherwise depends on its values. */
static bool is_check(asc_runtime *rt, const asc_tensor *t) {
    for (size_t i = 0; i < rt->n_capture_bounds; i++) {
        asc_capture_bound *b = &rt->capture_bounds[i];
        if (b->leaf != t || b->read) continue;
        b->read = true;
        return true;
    }
    return false;
}

/* Whether one of ts depends on a parameter, computed or not. */
asc_status asc_capture_depends(asc_ctx *ctx, asc_tensor *const *ts, size_t n, bool *out) {
    asc_walk w;
    asc_status st = asc_walk_ancestors(ctx, ts, n, false, 0, &w);
    *out = false;
    for (size_t i = 0; i < w.n; i++) *out = *out || w.nodes[i]->param;
    asc_walk_free(ctx, &w);
    return st;
}

asc_status asc_capture_reading(asc_ctx *ctx, asc_tensor *const *ts, size_t n) {
    asc_runtime *rt = asc_runtime_of(ctx);
    bool found = false;
    asc_status st = ASC_OK;
    for (size_t i = 0; i < n && st == ASC_OK && rt->capture_read == NULL; i++) {
        if (is_check(rt, ts[i])) continue;
        st = asc_capture_depends(ctx, ts + i, 1, &found);
        if (found) rt->capture_read = ts[i]->op != NULL ? ts[i]->op->name : "input";
        if (found && rt->capture_strict) {
            const char *label = ts[i]->label;
            ASC_FAIL(ctx, ASC_FAILED_PRECONDITION,
                     "compile: the function reads the value of '%s'%s%.60s, which its "
                     "inputs decide",
                     rt->capture_read, label != NULL ? " at " : "", label != NULL ? label : "");
            st = asc_hint(ctx, "what is read while a function is compiled would be fixed for ever: use ops "
                               "(asc_where, comparisons), or another function for each case");
        }
    }
    return st;
}
