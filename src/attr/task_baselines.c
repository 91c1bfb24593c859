/* task_baselines.c - baselines of inputs and sites, in every form a request may give them. */
#include "method.h"
#include "task_parts.h"
#include <string.h>

/* Reads array a as rows of v: one number, one row, a row per example, or (rows_ok) any number of rows. */
static asc_status read_rows(asc_task *t, asc_var *v, const asc_array *a, const char *what, bool rows_ok) {
    asc_ctx *ctx = t->ctx;
    char got[128], want[128];
    int64_t n = asc_array_count(a);
    if (a->data == NULL) return ASC_OK;
    if (n < 0) return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s of '%.60s': bad shape", what, v->name);
    asc_shape s = a->shape, row = s;
    size_t rows = 1;
    if (s.rank > 0 && !asc_shape_eq(&s, &v->shape)) {
        rows = (size_t)s.dims[0];
        row.rank--;
        memmove(row.dims, s.dims + 1, (size_t)row.rank * sizeof *row.dims);
    }
    bool fits =
        s.rank == 0 || (asc_shape_eq(&row, &v->shape) && rows > 0 && (rows == 1 || rows == t->n || rows_ok));
    if (!fits) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s of '%.60s' has shape %s; one example has %s", what, v->name,
                 asc_shape_text(&s, got), asc_shape_text(&v->shape, want));
        return asc_hint(ctx, "give one number, one example, or one row for each of the %zu examples", t->n);
    }
    v->n_x0 = rows;
    v->x0 = asc_calloc(ctx, ASC_MEM_GENERAL, rows * v->size + 1, sizeof *v->x0);
    if (v->x0 == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (s.rank > 0) {
        asc_array_get(a, 0, n, v->x0);
    } else {
        asc_array_get(a, 0, 1, v->x0);
        for (size_t i = 1; i < v->size; i++) v->x0[i] = v->x0[0];
    }
    for (size_t i = 0; i < rows * v->size; i++) {
        if (v->x0[i] - v->x0[i] != 0.0)
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s of '%.60s': element %zu is not finite", what,
                            v->name, i);
    }
    return ASC_OK;
}

asc_status asc_task_baselines(asc_task *t) {
    const asc_attr_request *q = t->req;
    bool rows_ok = t->method->takes_rows || q->draw_baselines;
    if (q->n_baselines != 0 && q->n_baselines != t->net->n_inputs)
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "%zu baselines for %zu inputs", q->n_baselines,
                        t->net->n_inputs);
    if (q->n_at_baselines != 0 && q->n_at_baselines != q->n_at)
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "%zu baselines for %zu sites", q->n_at_baselines,
                        q->n_at);
    for (size_t k = 0; k < t->n_in && q->n_baselines > 0; k++) {
        asc_status st = read_rows(t, &t->in[k], &q->baselines[t->in[k].input], "the baseline", rows_ok);
        if (st != ASC_OK) return st;
    }
    return ASC_OK;
}

asc_status asc_task_at_baselines(asc_task *t) {
    for (size_t k = 0; k < t->n_at && t->req->n_at_baselines > 0; k++) {
        if (t->at[k].x0 != NULL) continue;
        asc_status st =
            read_rows(t, &t->at[k], &t->req->at_baselines[k], "the baseline of site", t->method->takes_rows);
        if (st != ASC_OK) return st;
    }
    return ASC_OK;
}

double asc_var_baseline(const asc_var *v, size_t e, size_t i) {
    if (v->x0 == NULL) return 0.0;
    return v->x0[(v->n_x0 == 1 ? 0 : e % v->n_x0) * v->size + i];
}
