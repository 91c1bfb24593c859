/* model_like.c - see model_like.h. */
#include "model_like.h"
#include "gguf_parts.h"
#include <string.h>
#include <sys/stat.h>

static bool same_file(const asc_map *a, const asc_map *b) {
    struct stat s, t;
    return a->size == b->size && fstat(a->fd, &s) == 0 && fstat(b->fd, &t) == 0 && s.st_dev == t.st_dev &&
           s.st_ino == t.st_ino;
}

static bool same_weights(const asc_weights *a, const asc_weights *b) {
    if ((a->gguf != NULL) != (b->gguf != NULL) || a->n_maps != b->n_maps) return false;
    bool same = a->gguf == NULL || same_file(&a->gguf->map, &b->gguf->map);
    for (size_t i = 0; same && i < a->n_maps; i++) same = same_file(&a->maps[i], &b->maps[i]);
    return same;
}

asc_status asc_model_open_like(const asc_model *m, asc_ctx *ctx, asc_weights_mode weights, asc_model **out) {
    const asc_model_options o = {.struct_size = sizeof o,
                                 .weights = weights,
                                 .adapters = m->info.adapters,
                                 .n_adapters = m->info.n_adapters,
                                 .shuffle_seed = m->shuffle_seed};
    asc_status st = asc_model_open(ctx, m->path, &o, out);
    if (st != ASC_OK) return st;
    if (!same_weights(m->weights, (*out)->weights)) {
        ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "'%s' was replaced since it was opened", m->path);
        st = asc_hint(ctx, "leave the file alone while it is in use, then run again");
        asc_model_close(*out);
        *out = NULL;
        return st;
    }
    memcpy((*out)->sha256, m->sha256, sizeof m->sha256); /* not read for that again */
    return ASC_OK;
}
