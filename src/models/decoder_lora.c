/* decoder_lora.c - low-rank additions to projections. Weights stay as they are stored, and a run adds
 * scale B (A x); where weights are expanded to f32 anyway, scale B A is added to them once instead. */
#include "adapter.h"
#include "decoder_bind.h"
#include "exec.h"
#include "view.h"
#include <stdio.h>
#include <string.h>

/* W + scale B A as the projection's weight. */
static void merge(asc_binder *b, asc_proj *p, const asc_lora *l, size_t n) {
    asc_tensor *w = p->w;
    for (size_t i = 0; i < n; i++) {
        asc_tensor *add = p->transposed ? asc_matmul(b->ctx, l[i].a, l[i].b, true, true)
                                        : asc_matmul(b->ctx, l[i].b, l[i].a, false, false);
        w = asc_add(b->ctx, w, asc_scale(b->ctx, add, l[i].scale));
    }
    if ((b->st = asc_run(b->ctx, &w, 1)) != ASC_OK) return;
    asc_tensor_detach(w);
    p->w = asc_bind_own(b, w);
}

static void attach(asc_binder *b, asc_proj *p, const asc_lora *l, size_t n) {
    asc_decoder *d = b->d;
    b->st = asc_grow(b->ctx, ASC_MEM_WEIGHTS, (void **)&d->copies, &d->cap_copies, d->n_copies + 1,
                     sizeof *d->copies);
    asc_lora *mine = b->st == ASC_OK ? asc_calloc(b->ctx, ASC_MEM_WEIGHTS, n, sizeof *mine) : NULL;
    if (mine == NULL) {
        b->st = ASC_RESOURCE_EXHAUSTED;
        return;
    }
    d->copies[d->n_copies++] = mine;
    memcpy(mine, l, n * sizeof *mine);
    for (size_t i = 0; i < n && b->st == ASC_OK; i++) {
        (void)asc_bind_own(b, l[i].a);
        if (b->st == ASC_OK) (void)asc_bind_own(b, l[i].b);
    }
    p->lora = mine;
    p->n_lora = n;
}

void asc_bind_lora(asc_binder *b, const char *name, int64_t out, int64_t in, int64_t first, int64_t rows,
                   asc_proj *p) {
    asc_lora l[ASC_MAX_ADAPTERS];
    char full[160];
    size_t n = 0;
    if (b->lora == NULL || b->st != ASC_OK || p->w == NULL) return;
    if (b->layer >= 0) {
        snprintf(full, sizeof full, "blk.%lld.%s", (long long)b->layer, name);
    } else {
        snprintf(full, sizeof full, "%s", name);
    }
    for (size_t i = 0; i < b->lora->n; i++) {
        asc_lora_part *part = &b->lora->v[i];
        if (!asc_view_eqs(part->name, full)) continue;
        const char *path = b->lora->list[part->adapter].path;
        if (part->in != in || part->out != out) {
            asc_view source = asc_view_cut(part->source, 200);
            b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT,
                             "adapter '%s': " ASC_VIEW_FMT " adapts a matrix of [%lld,%lld]; that of '%s' is "
                             "[%lld,%lld]",
                             path, ASC_VIEW_ARG(source), (long long)part->out, (long long)part->in,
                             b->g->path, (long long)out, (long long)in);
            asc_hint(b->ctx, "the adapter was trained for a model of another size");
            return;
        }
        part->used = true;
        if (!(part->scale > 0.0) && !(part->scale < 0.0)) continue; /* the model alone, bit for bit */
        l[n++] =
            (asc_lora){.a = asc_from_f32(b->ctx, ASC_SHAPE(part->rank, in), part->a),
                       .b = asc_from_f32(b->ctx, ASC_SHAPE(rows, part->rank), part->b + first * part->rank),
                       .scale = part->scale};
    }
    if (n == 0) return;
    if (b->expand) {
        merge(b, p, l, n);
    } else {
        attach(b, p, l, n);
    }
}
