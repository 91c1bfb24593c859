/* exe_fold.c - see exe_fold.h. */
#include "exe_fold.h"
#include <string.h>

enum { ALIGN = 64 };

/* Constants whose storage a node reads that is run each time: the root's, of which that one may be a view.
 * The plan lets nothing overwrite a constant. */
static void find_kept(const asc_program *p, const asc_plan *plan, bool *keep) {
    for (size_t k = 0; k < p->n_nodes; k++) {
        const asc_node *n = &p->nodes[k];
        for (int i = 0; i < n->n_in && !n->constant; i++) {
            const int32_t root = plan->slots[n->in[i]].root;
            if (p->nodes[n->in[i]].constant && plan->slots[root].place == ASC_PLACE_ARENA) keep[root] = true;
        }
    }
}

static size_t scalars_of(const asc_program *p, size_t k, asc_fold_scalar *out) {
    const asc_node *n = &p->nodes[k];
    size_t found = 0;
    for (int i = 0; n->constant && i < n->op->n_attrs; i++) {
        const int32_t slot = n->op->attrs[i].slot;
        if (n->op->attrs[i].kind != ASC_ATTR_SCALAR) continue;
        if (out != NULL) out[found] = (asc_fold_scalar){(int32_t)k, slot, n->attrs.f[slot]};
        found++;
    }
    return found;
}

asc_status asc_fold_init(asc_ctx *ctx, asc_program *p, const asc_plan *plan, asc_fold *out) {
    size_t bytes = 0, n_kept = 0, n_scalars = 0;
    asc_status st = ASC_OK;
    *out = (asc_fold){0};
    if (!asc_exec_device(ctx)->has_data) return ASC_OK;
    bool *keep = asc_calloc(ctx, ASC_MEM_PROGRAM, p->n_nodes + 1, sizeof *keep);
    if (keep == NULL) return ASC_RESOURCE_EXHAUSTED;
    find_kept(p, plan, keep);
    for (size_t k = 0; k < p->n_nodes; k++) {
        n_kept += keep[k];
        n_scalars += scalars_of(p, k, NULL);
    }
    if (n_kept == 0) goto done;
    out->kept = asc_arena_alloc(&p->arena, n_kept * sizeof *out->kept);
    out->scalars = asc_arena_alloc(&p->arena, (n_scalars + 1) * sizeof *out->scalars);
    if (out->kept == NULL || out->scalars == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t k = 0; k < p->n_nodes; k++) {
        out->n_scalars += scalars_of(p, k, out->scalars + out->n_scalars);
        if (!keep[k]) continue;
        out->kept[out->n_kept++] = (asc_fold_kept){(int32_t)k, bytes};
        bytes += (plan->slots[k].bytes + 2 * ALIGN - 1) & ~(size_t)(ALIGN - 1); /* slack as in an arena */
    }
    out->block = asc_alloc_buffer(ctx, ASC_MEM_PROGRAM, bytes);
    if (out->block == NULL) st = ASC_RESOURCE_EXHAUSTED;
done:
    asc_free(ctx, keep);
    return st;
}

void asc_fold_deinit(asc_ctx *ctx, asc_fold *f) { asc_free(ctx, f->block); }

void asc_fold_place(const asc_fold *f, void **data) {
    for (size_t i = 0; i < f->n_kept; i++) data[f->kept[i].node] = (char *)f->block + f->kept[i].offset;
}

bool asc_fold_ready(asc_fold *f, const asc_program *p) {
    for (size_t i = 0; i < f->n_scalars; i++) {
        asc_fold_scalar *s = &f->scalars[i];
        const double now = p->nodes[s->node].attrs.f[s->slot];
        if (memcmp(&now, &s->value, sizeof now) == 0)
            continue; /* bits: NaN is the same scalar, -0 is not 0 */
        s->value = now;
        f->filled = false;
    }
    return f->filled;
}
