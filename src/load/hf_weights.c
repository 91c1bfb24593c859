/* hf_weights.c - the weight files of a model folder: headers, the index of shards, and the way of a tensor
 * into a table of weights. */
#include "hf_parts.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct reading {
    asc_hf_folder *f;
    asc_view file;
    const asc_json *weight_map;
} reading;

static asc_status contradicts(asc_hf_folder *f) {
    return asc_hint(f->ctx, "the files of '%s' are of different models or downloads; fetch them again",
                    f->path);
}

static asc_status keep(void *self, const asc_safetensor *t) {
    reading *r = self;
    asc_hf_folder *f = r->f;
    asc_status st = asc_grow(f->ctx, ASC_MEM_GENERAL, (void **)&f->v, &f->cap, f->n + 1, sizeof *f->v);
    if (st != ASC_OK) return st;
    if (f->n >= ASC_HF_MAX_TENSORS)
        return ASC_FAIL(f->ctx, ASC_RESOURCE_EXHAUSTED, "more than %d tensors", ASC_HF_MAX_TENSORS);
    const char *name = asc_arena_strdup(&f->arena, t->name);
    if (name == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (r->weight_map != NULL) {
        asc_view where = asc_json_str(asc_json_get(r->weight_map, name)), cut = asc_view_cut(where, 100);
        if (!asc_view_eq(where, r->file)) {
            ASC_FAIL(f->ctx, ASC_INVALID_ARGUMENT,
                     where.ptr == NULL ? "the index does not list it" ASC_VIEW_FMT
                                       : "the index places it in " ASC_VIEW_FMT,
                     ASC_VIEW_ARG(cut));
            return contradicts(f);
        }
    }
    f->v[f->n++] = (asc_hf_tensor){.name = asc_view_make(name, t->name.len),
                                   .elem = t->elem,
                                   .shape = t->shape,
                                   .data = t->data,
                                   .bytes = t->bytes,
                                   .file = f->n_maps > 0 ? f->n_maps - 1 : 0};
    return ASC_OK;
}

asc_status asc_hf_add_bytes(asc_hf_folder *f, asc_view file, const void *data, size_t size,
                            const asc_json *weight_map) {
    reading r = {f, file, weight_map};
    asc_view cut = asc_view_cut(file, 255);
    f->file_bytes += size;
    asc_status st = asc_safetensors_each(f->ctx, data, size, keep, &r);
    return st == ASC_OK ? st : asc_fail_context(f->ctx, "'%s/" ASC_VIEW_FMT "'", f->path, ASC_VIEW_ARG(cut));
}

asc_status asc_hf_add_file(asc_hf_folder *f, asc_view file, const asc_json *weight_map) {
    asc_ctx *ctx = f->ctx;
    asc_status st =
        asc_grow(ctx, ASC_MEM_GENERAL, (void **)&f->maps, &f->cap_maps, f->n_maps + 1, sizeof *f->maps);
    if (st != ASC_OK) return st;
    char *path = asc_hf_path(f, file);
    if (path == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_map *m = &f->maps[f->n_maps];
    st = asc_map_open(ctx, path, m);
    asc_free(ctx, path);
    if (st == ASC_NOT_FOUND && weight_map != NULL)
        asc_hint(ctx, "model.safetensors.index.json lists this shard; fetch it");
    if (st != ASC_OK) return st;
    f->n_maps++;
    return asc_hf_add_bytes(f, file, m->data, m->size, weight_map);
}

static int by_name(const void *a, const void *b) {
    const asc_view *x = a, *y = b;
    return asc_view_cmp(*x, *y);
}

/* A plain file name: nothing that leads out of the folder. */
static bool is_plain(asc_view v) {
    if (v.len < 13 || v.len > 255 || v.ptr[0] == '.') return false;
    for (size_t i = 0; i < v.len; i++) {
        if (v.ptr[i] == '/' || v.ptr[i] == '\\' || v.ptr[i] == '\0') return false;
    }
    return memcmp(v.ptr + v.len - 12, ".safetensors", 12) == 0;
}

/* The files that weight_map names, each once, sorted. */
static asc_status shard_names(asc_hf_folder *f, const asc_json *map, asc_view **out, size_t *n) {
    void *iter = NULL;
    asc_view tensor;
    const asc_json *where;
    asc_view *v = asc_arena_alloc(&f->arena, (asc_json_len(map) + 1) * sizeof *v);
    size_t all = 0;
    *n = 0;
    *out = v;
    if (v == NULL) return ASC_RESOURCE_EXHAUSTED;
    while (asc_json_next(map, &iter, &tensor, &where)) {
        asc_view file = asc_json_str(where), cut = asc_view_cut(tensor, 100), shown = asc_view_cut(file, 100);
        if (!is_plain(file)) {
            ASC_FAIL(f->ctx, ASC_INVALID_ARGUMENT,
                     "'%s/model.safetensors.index.json': " ASC_VIEW_FMT " is placed in '" ASC_VIEW_FMT
                     "', which is not the name of a safetensors file in the folder",
                     f->path, ASC_VIEW_ARG(cut), ASC_VIEW_ARG(shown));
            return asc_hint(f->ctx, "the index is damaged or hostile; fetch it again");
        }
        v[all++] = file;
    }
    if (all > 0) qsort(v, all, sizeof *v, by_name);
    for (size_t i = 0; i < all; i++) {
        if (i == 0 || !asc_view_eq(v[i], v[*n - 1])) v[(*n)++] = v[i];
    }
    return ASC_OK;
}

asc_status asc_hf_add_index(asc_hf_folder *f) {
    asc_json *index;
    asc_status st = asc_hf_json(f, "model.safetensors.index.json", &index);
    if (st == ASC_OK) st = asc_hf_add_shards(f, index, NULL, 0);
    asc_json_free(index);
    return st;
}

asc_status asc_hf_add_shards(asc_hf_folder *f, const asc_json *index, const void *data, size_t size) {
    asc_status st = ASC_OK;
    asc_view *files;
    size_t n;
    const asc_json *map = asc_json_get(index, "weight_map");
    if (asc_json_typeof(map) != ASC_JSON_OBJECT || asc_json_len(map) == 0) {
        ASC_FAIL(
            f->ctx, ASC_INVALID_ARGUMENT,
            "'%s/model.safetensors.index.json' has no weight_map, which says in which file each tensor is",
            f->path);
        st = asc_hint(f->ctx, "fetch the file again");
        goto done;
    }
    ASC_TRY(shard_names(f, map, &files, &n));
    if (n > ASC_HF_MAX_SHARDS) {
        st = ASC_FAIL(f->ctx, ASC_RESOURCE_EXHAUSTED, "'%s': %zu shards; the limit is %d", f->path, n,
                      ASC_HF_MAX_SHARDS);
        goto done;
    }
    for (size_t i = 0; i < n; i++)
        ASC_TRY(data != NULL ? asc_hf_add_bytes(f, files[i], data, size, map)
                             : asc_hf_add_file(f, files[i], map));
    /* Each file held only tensors that the index places there, so equal counts mean equal sets; otherwise
     * the look-up below finds the one that is missing. */
    if (f->n == asc_json_len(map)) goto done;
    ASC_TRY(asc_hf_seal(f));
    void *iter = NULL;
    asc_view name;
    const asc_json *where;
    while (asc_json_next(map, &iter, &name, &where)) {
        if (asc_name_index_find(&f->index, name) >= 0) continue;
        asc_view cut = asc_view_cut(name, 200), file = asc_json_str(where);
        ASC_FAIL(f->ctx, ASC_INVALID_ARGUMENT,
                 "'%s/" ASC_VIEW_FMT "' lacks tensor '" ASC_VIEW_FMT "', which the index places there",
                 f->path, ASC_VIEW_ARG(file), ASC_VIEW_ARG(cut));
        st = contradicts(f);
        goto done;
    }
done:
    return st;
}

asc_status asc_hf_seal(asc_hf_folder *f) {
    asc_status st = asc_name_index_init(&f->arena, &f->index, f->v, sizeof *f->v, f->n);
    for (size_t i = 0; st == ASC_OK && i < f->n; i++) {
        if (asc_name_index_add(&f->index, (uint32_t)i)) continue;
        asc_view cut = asc_view_cut(f->v[i].name, 200);
        ASC_FAIL(f->ctx, ASC_INVALID_ARGUMENT, "'%s': tensor '" ASC_VIEW_FMT "' is in two files", f->path,
                 ASC_VIEW_ARG(cut));
        st = contradicts(f);
    }
    return st;
}

asc_status asc_hf_weight_of(const asc_hf_folder *f, const asc_hf_tensor *t, asc_view name, asc_weight *out) {
    asc_view cut = asc_view_cut(t->name, 200);
    *out = (asc_weight){.name = name, .rank = t->shape.rank};
    if (t->shape.rank > 4) {
        ASC_FAIL(f->ctx, ASC_UNIMPLEMENTED, "'%s': tensor '" ASC_VIEW_FMT "' has %d dimensions", f->path,
                 ASC_VIEW_ARG(cut), t->shape.rank);
        return asc_hint(f->ctx, "weights have at most four");
    }
    for (int i = 0; i < out->rank; i++) out->dims[i] = t->shape.dims[i];
    if (out->rank == 0) { /* one number */
        out->rank = 1;
        out->dims[0] = 1;
    }
    return ASC_OK;
}

/* n values from `first` on as f32, in a copy that belongs to the table. Kernels and devices know no wider
 * weights; what f32 rounds is below their rounding anyway, but what it cannot hold is said. */
static asc_status narrow(const asc_hf_folder *f, const asc_hf_tensor *t, int64_t first, size_t n,
                         asc_weights *w, const void **out) {
    asc_status st = asc_grow(f->ctx, ASC_MEM_WEIGHTS, (void **)&w->copies, &w->cap_copies, w->n_copies + 1,
                             sizeof *w->copies);
    float *copy = st == ASC_OK ? asc_alloc_buffer(f->ctx, ASC_MEM_WEIGHTS, n * sizeof *copy + 1) : NULL;
    if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
    size_t beyond = 0;
    for (size_t i = 0; i < n; i++) {
        double v;
        memcpy(&v, t->data + ((size_t)first + i) * sizeof v, sizeof v);
        copy[i] = (float)v;
        beyond += isfinite(v) && (!isfinite(copy[i]) || (fabs(v) > 0.0 && fabsf(copy[i]) < FLT_MIN)) ? 1 : 0;
    }
    asc_view cut = asc_view_cut(t->name, 200);
    if (beyond > 0)
        asc_logf(f->ctx, ASC_LOG_WARN,
                 "'%s': %zu values of tensor '" ASC_VIEW_FMT "' (float64) are beyond the range of float32",
                 f->path, beyond, ASC_VIEW_ARG(cut));
    w->copies[w->n_copies++] = copy;
    *out = copy;
    return ASC_OK;
}

asc_status asc_hf_put(const asc_hf_folder *f, asc_hf_tensor *t, int64_t first, const asc_weight *as,
                      asc_weights *w) {
    asc_view cut = asc_view_cut(t->name, 200);
    const bool wide = t->elem == ASC_ELEM_F64;
    int dtype = wide ? ASC_DTYPE_F32 : asc_safetensors_dtype(t->elem);
    t->used = true;
    if (dtype < 0) {
        ASC_FAIL(f->ctx, ASC_UNIMPLEMENTED, "'%s': tensor '" ASC_VIEW_FMT "' is stored as %s", f->path,
                 ASC_VIEW_ARG(cut), asc_elem_name((asc_elem)t->elem));
        return asc_hint(
            f->ctx,
            "weights are float64, float32, float16 or bfloat16; convert the model (torch_dtype) first");
    }
    size_t width = dtype == ASC_DTYPE_F32 ? 4 : 2;
    asc_weight mine = *as;
    mine.source = t->name;
    mine.dtype = (asc_dtype)dtype;
    mine.data = t->data + (size_t)first * width;
    if (wide) {
        size_t n = 1;
        for (int i = 0; i < as->rank; i++) n *= (size_t)as->dims[i]; /* no more than the file has */
        asc_status st = narrow(f, t, first, n, w, &mine.data);
        if (st != ASC_OK) return st;
    }
    return asc_weights_add(w, &mine);
}

void asc_hf_folder_give(asc_hf_folder *f, asc_weights *w) {
    w->maps = f->maps;
    w->n_maps = f->n_maps;
    w->cap_maps = f->cap_maps;
    w->file_bytes = f->file_bytes;
    f->maps = NULL;
    f->n_maps = f->cap_maps = 0;
}

asc_status asc_hf_all_used(const asc_hf_folder *f, const char *what) {
    for (size_t i = 0; i < f->n; i++) {
        if (f->v[i].used) continue;
        asc_view cut = asc_view_cut(f->v[i].name, 200);
        ASC_FAIL(f->ctx, ASC_UNIMPLEMENTED, "'%s': tensor '" ASC_VIEW_FMT "' has no place in %s here",
                 f->path, ASC_VIEW_ARG(cut), what);
        return asc_hint(f->ctx, "ignoring it could change the numbers; this variant is not supported");
    }
    return ASC_OK;
}
