/* owned.c - see owned.h. */
#include "owned.h"
#include "exec.h"

asc_tensor *asc_owned_add(asc_ctx *ctx, asc_owned *o, asc_tensor *t, asc_status *st) {
    if (asc_tensor_poisoned(t)) {
        *st = asc_graph_take_error(asc_graph_of(ctx));
        return NULL;
    }
    *st = asc_grow(ctx, ASC_MEM_WEIGHTS, (void **)&o->v, &o->cap, o->n + 1, sizeof *o->v);
    if (*st != ASC_OK) return NULL;
    asc_tensor_retain(t);
    o->v[o->n++] = t;
    return t;
}

void asc_owned_release(asc_ctx *ctx, asc_owned *o) {
    for (size_t i = 0; i < o->n; i++) asc_tensor_release(o->v[i]);
    if (o->v != NULL) asc_free(ctx, o->v);
    *o = (asc_owned){0};
}
