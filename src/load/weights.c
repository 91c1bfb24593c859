/* weights.c - the table of a model's tensors; see weights.h. */
#include "weights.h"
#include "hash.h"
#include "strbuf.h"
#include "view.h"

asc_status asc_weights_create(asc_ctx *ctx, const char *path, asc_weights **out) {
    *out = NULL;
    asc_weights *w = asc_calloc(ctx, ASC_MEM_WEIGHTS, 1, sizeof *w);
    if (w == NULL) return ASC_RESOURCE_EXHAUSTED;
    w->ctx = ctx;
    asc_arena_init(&w->arena, ctx, ASC_MEM_WEIGHTS);
    w->path = asc_strdup_view(ctx, ASC_MEM_WEIGHTS, asc_view_of(path));
    if (w->path == NULL) {
        asc_weights_close(w);
        return ASC_RESOURCE_EXHAUSTED;
    }
    *out = w;
    return ASC_OK;
}

static asc_status keep_name(asc_weights *w, asc_view *name) {
    name->ptr = asc_arena_strdup(&w->arena, *name);
    return name->ptr != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

asc_status asc_weights_add(asc_weights *w, const asc_weight *weight) {
    asc_status st = asc_grow(w->ctx, ASC_MEM_WEIGHTS, (void **)&w->v, &w->cap, w->n + 1, sizeof *w->v);
    if (st != ASC_OK) return st;
    asc_weight *mine = &w->v[w->n];
    *mine = *weight;
    st = keep_name(w, &mine->name);
    if (st == ASC_OK) st = keep_name(w, &mine->source);
    if (st == ASC_OK) w->n++;
    return st;
}

asc_status asc_weights_seal(asc_weights *w) {
    asc_status st = asc_name_index_init(&w->arena, &w->index, w->v, sizeof *w->v, w->n);
    for (size_t i = 0; st == ASC_OK && i < w->n; i++) {
        if (asc_name_index_add(&w->index, (uint32_t)i)) continue;
        asc_view name = asc_view_cut(w->v[i].source, 100);
        ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "'%s': tensor " ASC_VIEW_FMT " is there twice", w->path,
                 ASC_VIEW_ARG(name));
        st = asc_hint(w->ctx, "the files contradict each other; fetch the model again");
    }
    return st;
}

asc_status asc_weights_from_gguf(asc_ctx *ctx, asc_gguf *take_gguf, asc_weights **out) {
    asc_weights *w = NULL;
    asc_status st = asc_weights_create(ctx, asc_gguf_name(take_gguf), &w);
    *out = NULL;
    if (st != ASC_OK) {
        asc_gguf_close(ctx, take_gguf);
        return st;
    }
    w->gguf = take_gguf;
    w->file_bytes = asc_gguf_size(take_gguf);
    for (size_t i = 0; st == ASC_OK && i < asc_gguf_tensor_count(take_gguf); i++) {
        const asc_gguf_tensor *t = asc_gguf_tensor_at(take_gguf, i);
        asc_weight mine = {
            .name = t->name, .source = t->name, .dtype = t->dtype, .rank = t->rank, .data = t->data};
        for (int k = 0; k < t->rank; k++) mine.dims[k] = t->dims[k];
        st = asc_weights_add(w, &mine);
    }
    if (st == ASC_OK) st = asc_weights_seal(w);
    if (st == ASC_OK) {
        *out = w;
    } else {
        asc_weights_close(w);
    }
    return st;
}

void asc_weights_close(asc_weights *w) {
    if (w == NULL) return;
    asc_ctx *ctx = w->ctx;
    asc_gguf_close(ctx, w->gguf);
    for (size_t i = 0; i < w->n_maps; i++) asc_map_close(ctx, &w->maps[i]);
    asc_free(ctx, w->maps);
    for (size_t i = 0; i < w->n_copies; i++) asc_free(ctx, w->copies[i]);
    asc_free(ctx, w->copies);
    asc_free(ctx, w->v);
    asc_free(ctx, w->path);
    asc_arena_deinit(&w->arena);
    asc_free(ctx, w);
}

const asc_weight *asc_weights_find(const asc_weights *w, const char *name) {
    int64_t i = asc_name_index_find(&w->index, asc_view_of(name));
    return i < 0 ? NULL : &w->v[i];
}

asc_status asc_weights_check(const asc_weights *w) {
    asc_status st = w->gguf != NULL ? asc_gguf_check(w->ctx, w->gguf) : ASC_OK;
    for (size_t i = 0; st == ASC_OK && i < w->n_maps; i++) st = asc_map_check(w->ctx, &w->maps[i]);
    return st;
}

asc_status asc_weights_sha256(const asc_weights *w, char hex[65]) {
    if (w->gguf != NULL) return asc_gguf_sha256(w->ctx, w->gguf, hex);
    asc_strbuf all;
    asc_strbuf_init(&all, w->ctx);
    asc_status st = asc_weights_check(w);
    for (size_t i = 0; st == ASC_OK && i < w->n_maps; i++) {
        char one[65];
        asc_sha256_hex(w->maps[i].data, w->maps[i].size, one);
        asc_strbuf_adds(&all, one);
        st = asc_strbuf_status(&all);
    }
    asc_view v = asc_strbuf_view(&all);
    if (st == ASC_OK) asc_sha256_hex(v.ptr, v.len, hex);
    asc_strbuf_deinit(&all);
    return st;
}
