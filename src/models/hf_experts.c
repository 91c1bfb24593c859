/* hf_experts.c - see hf_experts.h. */
#include "hf_experts.h"
#include "view.h"
#include <stdio.h>
#include <stdlib.h>

void asc_hf_experts_deinit(asc_hf_experts *x) {
    asc_free(x->folder->ctx, x->v);
    x->v = NULL;
}

asc_status asc_hf_experts_add(asc_hf_experts *x, asc_hf_tensor *t, const char *name, int64_t layer,
                              int64_t expert, const char *end) {
    bool stacked = strcmp(name, "gate_up_exps") == 0;
    if (strcmp(end, ".bias") == 0 || t->shape.rank != (stacked ? 3 : 2))
        return ASC_OK; /* refused as unused */
    asc_status st =
        asc_grow(x->folder->ctx, ASC_MEM_GENERAL, (void **)&x->v, &x->cap, x->n + 1, sizeof *x->v);
    if (st != ASC_OK) return st;
    x->v[x->n++] = (asc_hf_expert){name, layer, stacked ? 0 : expert, t};
    return ASC_OK;
}

static int by_place(const void *a, const void *b) {
    const asc_hf_expert *x = a, *y = b;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    int names = strcmp(x->name, y->name);
    if (names != 0) return names;
    return x->expert < y->expert ? -1 : x->expert > y->expert;
}

static asc_status put(asc_hf_experts *x, asc_hf_tensor *t, int64_t layer, const char *name, int64_t rows,
                      int64_t cols, const void *data) {
    char full[64];
    snprintf(full, sizeof full, "blk.%lld.%s_exps.weight", (long long)layer, name);
    asc_weight as = {.name = asc_view_of(full), .rank = 3, .dims = {x->c->n_experts, rows, cols}};
    asc_status st = asc_hf_put(x->folder, t, 0, &as, x->w);
    if (st == ASC_OK) x->w->v[x->w->n - 1].data = data;
    return st;
}

/* n experts of one layer and one projection, sorted. */
static asc_status stack(asc_hf_experts *x, asc_hf_expert *v, size_t n) {
    asc_ctx *ctx = x->folder->ctx;
    const asc_hf_tensor *first = v[0].t;
    bool whole = n == (size_t)x->c->n_experts, joined = true;
    for (size_t i = 0; i < n; i++) {
        const asc_hf_tensor *t = v[i].t;
        whole = whole && v[i].expert == (int64_t)i;
        joined = joined && t->data == first->data + i * first->bytes;
        if (t->elem == first->elem && t->shape.dims[0] == first->shape.dims[0] &&
            t->shape.dims[1] == first->shape.dims[1])
            continue;
        asc_view a = asc_view_cut(t->name, 200), b = asc_view_cut(first->name, 200);
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "'%s': tensor '" ASC_VIEW_FMT "' is not of the shape and type of '" ASC_VIEW_FMT "'",
                 x->folder->path, ASC_VIEW_ARG(a), ASC_VIEW_ARG(b));
        return asc_hint(ctx, "all experts of a layer are alike; fetch the files again");
    }
    if (!whole) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "'%s': layer %lld has %zu experts (%s), but config.json says %lld", x->folder->path,
                 (long long)v[0].layer, n, v[0].name, (long long)x->c->n_experts);
        return asc_hint(ctx, "the files are of different models, or some are missing; fetch them again");
    }
    const void *data = first->data;
    if (!joined) {
        size_t bytes;
        if (!asc_mul_size(n, first->bytes, &bytes))
            return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "experts too large");
        uint8_t *all = asc_arena_alloc(&x->w->arena, bytes + 1);
        if (all == NULL) return ASC_RESOURCE_EXHAUSTED;
        for (size_t i = 0; i < n; i++) memcpy(all + i * first->bytes, v[i].t->data, first->bytes);
        data = all;
    }
    for (size_t i = 1; i < n; i++) v[i].t->used = true;
    return put(x, v[0].t, v[0].layer, v[0].name, first->shape.dims[0], first->shape.dims[1], data);
}

/* [E,2F,D], in each expert the gate's rows first. */
static asc_status cut(asc_hf_experts *x, const asc_hf_expert *e) {
    asc_ctx *ctx = x->folder->ctx;
    const asc_shape *s = &e->t->shape;
    if (s->dims[0] != x->c->n_experts || s->dims[1] % 2 != 0) {
        asc_view name = asc_view_cut(e->t->name, 200);
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "'%s': tensor '" ASC_VIEW_FMT "' has shape [%lld,%lld,%lld]; expected the gate's and the up "
                 "projection's rows for each of %lld experts",
                 x->folder->path, ASC_VIEW_ARG(name), (long long)s->dims[0], (long long)s->dims[1],
                 (long long)s->dims[2], (long long)x->c->n_experts);
        return asc_hint(ctx, "config.json and the weights are of different models; fetch both again");
    }
    size_t half = e->t->bytes / (size_t)x->c->n_experts / 2;
    uint8_t *all = asc_arena_alloc(&x->w->arena, e->t->bytes + 1);
    if (all == NULL) return ASC_RESOURCE_EXHAUSTED;
    uint8_t *up = all + half * (size_t)x->c->n_experts;
    for (size_t i = 0; i < (size_t)x->c->n_experts; i++) {
        memcpy(all + i * half, e->t->data + 2 * i * half, half);
        memcpy(up + i * half, e->t->data + (2 * i + 1) * half, half);
    }
    asc_status st = put(x, e->t, e->layer, "ffn_gate", s->dims[1] / 2, s->dims[2], all);
    return st == ASC_OK ? put(x, e->t, e->layer, "ffn_up", s->dims[1] / 2, s->dims[2], up) : st;
}

asc_status asc_hf_experts_stack(asc_hf_experts *x) {
    asc_status st = ASC_OK;
    if (x->n > 0) qsort(x->v, x->n, sizeof *x->v, by_place);
    for (size_t i = 0, end; st == ASC_OK && i < x->n; i = end) {
        end = i + 1;
        if (strcmp(x->v[i].name, "gate_up_exps") == 0) {
            st = cut(x, &x->v[i]);
            continue;
        }
        while (end < x->n && x->v[end].layer == x->v[i].layer && strcmp(x->v[end].name, x->v[i].name) == 0)
            end++;
        st = stack(x, &x->v[i], end - i);
    }
    return st;
}
