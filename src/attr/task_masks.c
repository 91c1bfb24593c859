/* task_masks.c - groups of elements that count as one feature: ids of any kind become 0, 1, 2, ... */
#include "stretch.h"
#include "task_parts.h"
#include <stdlib.h>
#include <string.h>

/* Ids are compared as doubles, which hold smaller integers exactly. */
static const double MOST_ID = 9007199254740992.0;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Stretches a mask to [rows, shape of one example]. */
static asc_status stretch(asc_task *t, asc_var *v, const asc_array *a, double **out, size_t *out_rows) {
    asc_ctx *ctx = t->ctx;
    char got[128], want[128];
    asc_shape full = {.rank = v->shape.rank + 1}, fit;
    memcpy(full.dims + 1, v->shape.dims, (size_t)v->shape.rank * sizeof *full.dims);
    bool per_example = t->batched && a->shape.rank == full.rank && a->shape.dims[0] > 1;
    full.dims[0] = per_example ? (int64_t)t->n : 1;
    const int64_t n = asc_array_count(a), elems = asc_shape_elems(&full);
    if (asc_elem_is_float(a->elem))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the mask of '%.60s' holds %s; it must hold integers",
                        v->name, asc_elem_name(a->elem));
    if (n <= 0 || !asc_shape_broadcast(&a->shape, &full, &fit) || !asc_shape_eq(&fit, &full))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the mask of '%.60s' has shape %s; one example has %s",
                        v->name, asc_shape_text(&a->shape, got), asc_shape_text(&v->shape, want));
    double *ids = *out = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)elems, sizeof *ids);
    *out_rows = (size_t)full.dims[0];
    if (ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_status st = asc_array_stretch(ctx, a, &full, ids);
    for (int64_t e = 0; st == ASC_OK && e < elems; e++) {
        if (ids[e] >= MOST_ID || ids[e] <= -MOST_ID) /* neighbours would become one feature */
            st = ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "the mask of '%.60s': id %.17g is not below 2^53", v->name,
                          ids[e]);
    }
    return st;
}

static asc_status number(asc_task *t, double *const *ids, const size_t *rows) {
    asc_ctx *ctx = t->ctx;
    size_t total = 0, unique = 0;
    for (size_t k = 0; k < t->n_at; k++) total += rows[k] * t->at[k].size;
    double *all = asc_calloc(ctx, ASC_MEM_GENERAL, total + 1, sizeof *all);
    if (all == NULL) return ASC_RESOURCE_EXHAUSTED;
    total = 0;
    for (size_t k = 0; k < t->n_at; k++) {
        memcpy(all + total, ids[k], rows[k] * t->at[k].size * sizeof *all);
        total += rows[k] * t->at[k].size;
    }
    qsort(all, total, sizeof *all, by_value);
    for (size_t i = 0; i < total; i++) {
        if (i == 0 || all[i] != all[unique - 1]) all[unique++] = all[i];
    }
    t->n_features = unique;
    asc_status st = ASC_OK;
    for (size_t k = 0; st == ASC_OK && k < t->n_at; k++) {
        asc_var *v = &t->at[k];
        v->mask_rows = rows[k];
        v->mask = asc_calloc(ctx, ASC_MEM_GENERAL, rows[k] * v->size + 1, sizeof *v->mask);
        if (v->mask == NULL) st = ASC_RESOURCE_EXHAUSTED;
        for (size_t i = 0; st == ASC_OK && i < rows[k] * v->size; i++) {
            const double *at = bsearch(&ids[k][i], all, unique, sizeof *all, by_value);
            v->mask[i] = (int32_t)(at - all);
        }
    }
    asc_free(ctx, all);
    return st;
}

asc_status asc_task_masks(asc_task *t) {
    asc_ctx *ctx = t->ctx;
    const asc_attr_request *q = t->req;
    asc_status st = ASC_OK;
    if (t->n_features > 0) return ASC_OK;
    if (q->n_masks == 0) {
        for (size_t k = 0; k < t->n_at; k++) {
            if (t->n_features + t->at[k].size > INT32_MAX)
                return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "more than 2^31 features; group them with masks");
            t->at[k].first_feature = (int32_t)t->n_features;
            t->n_features += t->at[k].size;
        }
        return ASC_OK;
    }
    if (q->n_masks != t->n_at)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%zu masks for %zu attributed values", q->n_masks,
                        t->n_at);
    double **ids = asc_calloc(ctx, ASC_MEM_GENERAL, t->n_at, sizeof(double *));
    size_t *rows = asc_calloc(ctx, ASC_MEM_GENERAL, t->n_at, sizeof *rows);
    if (ids == NULL || rows == NULL) st = ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; st == ASC_OK && k < t->n_at; k++)
        st = stretch(t, &t->at[k], &q->masks[k], &ids[k], &rows[k]);
    if (st == ASC_OK) st = number(t, ids, rows);
    for (size_t k = 0; ids != NULL && k < t->n_at; k++) asc_free(ctx, ids[k]);
    asc_free(ctx, ids);
    asc_free(ctx, rows);
    return st;
}

int32_t asc_var_feature(const asc_var *v, size_t e, size_t i) {
    if (v->mask == NULL) return v->first_feature + (int32_t)i;
    return v->mask[(v->mask_rows == 1 ? 0 : e % v->mask_rows) * v->size + i];
}
