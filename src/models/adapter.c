/* adapter.c - see adapter.h: the set of matrices, whatever files they come from. */
#include "adapter.h"
#include "view.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>

asc_status asc_lora_part_of(asc_lora_set *s, size_t adapter, asc_view name, asc_view source,
                            asc_lora_part **out) {
    *out = NULL;
    for (size_t i = 0; i < s->n; i++) {
        if (s->v[i].adapter == adapter && asc_view_eq(s->v[i].name, name)) {
            *out = &s->v[i];
            return ASC_OK;
        }
    }
    asc_status st = asc_grow(s->ctx, ASC_MEM_WEIGHTS, (void **)&s->v, &s->cap, s->n + 1, sizeof *s->v);
    if (st != ASC_OK) return st;
    asc_lora_part p = {.adapter = adapter, .name = name, .source = source};
    p.name.ptr = asc_arena_strdup(&s->arena, name);
    p.source.ptr = asc_arena_strdup(&s->arena, source);
    if (p.name.ptr == NULL || p.source.ptr == NULL) return ASC_RESOURCE_EXHAUSTED;
    s->v[s->n] = p;
    *out = &s->v[s->n++];
    return ASC_OK;
}

asc_status asc_lora_copy(asc_lora_set *s, asc_view source, asc_dtype type, const void *data, int64_t rows,
                         int64_t cols, const float **out) {
    size_t n, bytes;
    asc_view name = asc_view_cut(source, 200);
    *out = NULL;
    if (asc_dtype_expand(type) == NULL || asc_dtype_of(type)->block_elems > 1)
        return ASC_FAIL(s->ctx, ASC_UNIMPLEMENTED,
                        "tensor " ASC_VIEW_FMT " is stored as %s; expected f32, f16 or "
                        "bf16",
                        ASC_VIEW_ARG(name), asc_dtype_of(type)->name);
    if (!asc_mul_size((size_t)rows, (size_t)cols, &n) || !asc_mul_size(n, sizeof(float), &bytes))
        return ASC_FAIL(s->ctx, ASC_INVALID_ARGUMENT, "tensor " ASC_VIEW_FMT " is too large",
                        ASC_VIEW_ARG(name));
    float *copy = asc_arena_alloc(&s->arena, bytes);
    if (copy == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_dtype_expand(type)(data, copy, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        if (isfinite(copy[i])) continue;
        return ASC_FAIL(s->ctx, ASC_DATA_LOSS, "tensor " ASC_VIEW_FMT " holds NaN or infinity at element %zu",
                        ASC_VIEW_ARG(name), i);
    }
    *out = copy;
    return ASC_OK;
}

static asc_status complete(const asc_lora_set *s, size_t adapter) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const asc_lora_part *p = &s->v[i];
        if (p->adapter != adapter) continue;
        n++;
        if (p->a != NULL && p->b != NULL) continue;
        asc_view name = asc_view_cut(p->source, 200);
        return ASC_FAIL(s->ctx, ASC_INVALID_ARGUMENT,
                        "'%s': " ASC_VIEW_FMT " has only one of its two matrices", s->list[adapter].path,
                        ASC_VIEW_ARG(name));
    }
    if (n > 0) return ASC_OK;
    return ASC_FAIL(s->ctx, ASC_INVALID_ARGUMENT, "'%s' holds no matrices of an adapter",
                    s->list[adapter].path);
}

static asc_status read_one(asc_lora_set *s, size_t i, const asc_lora_base *base) {
    struct stat info;
    const char *path = s->list[i].path;
    if (!isfinite(s->list[i].scale))
        return ASC_FAIL(s->ctx, ASC_INVALID_ARGUMENT, "adapter '%s': the factor is not a number", path);
    if (stat(path, &info) != 0) {
        ASC_FAIL(s->ctx, ASC_NOT_FOUND, "adapter '%s' does not exist", path);
        return asc_hint(s->ctx, "give a folder with adapter_config.json, or a GGUF file");
    }
    asc_status st = S_ISDIR(info.st_mode) ? asc_lora_read_peft(s, i, base) : asc_lora_read_gguf(s, i, base);
    if (st == ASC_OK) st = complete(s, i);
    if (st != ASC_OK && s->ctx->error.code == st && s->ctx->error.hint[0] == '\0')
        st = asc_hint(s->ctx,
                      "an adapter works on the model it was trained for; fetch both again if that is this "
                      "one");
    return st;
}

asc_status asc_lora_open(asc_ctx *ctx, const asc_adapter *list, size_t n, const asc_lora_base *base,
                         asc_lora_set **out) {
    asc_status st = ASC_OK;
    *out = NULL;
    if (n == 0) return ASC_OK;
    if (n > ASC_MAX_ADAPTERS)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%zu adapters; at most %d", n, ASC_MAX_ADAPTERS);
    asc_lora_set *s = asc_calloc(ctx, ASC_MEM_WEIGHTS, 1, sizeof *s);
    if (s == NULL) return ASC_RESOURCE_EXHAUSTED;
    s->ctx = ctx;
    asc_arena_init(&s->arena, ctx, ASC_MEM_WEIGHTS);
    s->list = asc_calloc(ctx, ASC_MEM_WEIGHTS, n, sizeof *s->list);
    if (s->list == NULL) st = ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n && st == ASC_OK; i++) {
        s->list[i] = (asc_adapter){.path = asc_arena_strdup(&s->arena, asc_view_of(list[i].path)),
                                   .scale = list[i].scale};
        s->n_list++;
        st = s->list[i].path == NULL ? ASC_RESOURCE_EXHAUSTED : read_one(s, i, base);
    }
    if (st == ASC_OK) {
        *out = s;
    } else {
        asc_lora_close(s);
    }
    return st;
}

void asc_lora_close(asc_lora_set *s) {
    if (s == NULL) return;
    asc_ctx *ctx = s->ctx;
    asc_free(ctx, s->v);
    asc_free(ctx, s->list);
    asc_arena_deinit(&s->arena);
    asc_free(ctx, s);
}

asc_status asc_lora_all_used(const asc_lora_set *s, const char *model_path) {
    for (size_t i = 0; s != NULL && i < s->n; i++) {
        const asc_lora_part *p = &s->v[i];
        if (p->used) continue;
        asc_view name = asc_view_cut(p->source, 200);
        ASC_FAIL(s->ctx, ASC_INVALID_ARGUMENT,
                 "adapter '%s': '%s' has no matrix that " ASC_VIEW_FMT " could adapt",
                 s->list[p->adapter].path, model_path, ASC_VIEW_ARG(name));
        return asc_hint(s->ctx, "the adapter is for another model, or adapts parts that are not supported "
                                "(embeddings, experts, norms)");
    }
    return ASC_OK;
}
