/* task_aim.c - the explained number: an index, a contrast or a weighted sum of a value, for each row. */
#include "ops.h"
#include "task_parts.h"
#include <string.h>

asc_status asc_aim_init(asc_task *t, const asc_target *want, asc_aim *out) {
    asc_ctx *ctx = t->ctx;
    size_t n = t->n / t->copies; /* of the request: copies of an example share its target */
    *out = (asc_aim){.want = want};
    if (want->value == NULL) {
        out->site = (int64_t)t->net->output_site[0];
    } else {
        out->site = asc_net_find_site(t->net, asc_view_of(want->value));
        if (out->site < 0) return ASC_NOT_FOUND;
    }
    if ((int)want->transform < ASC_TRANSFORM_NONE || want->transform > ASC_TRANSFORM_LOG)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "target: no transform has number %d",
                        (int)want->transform);
    if (want->weights != NULL && want->n_rows > 0)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "target: give either indices or weights");
    if (want->weights == NULL && want->weight_rows > 0)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "target: weight_rows without weights");
    if (want->weights != NULL && want->weight_rows != 1 && want->weight_rows != n)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "target: %zu rows of weights for %zu examples",
                        want->weight_rows, n);
    if (want->n_rows > 1 && want->n_rows != n)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "target: %zu indices for %zu examples", want->n_rows, n);
    if (want->n_rows > 0 && (want->rank < 1 || want->rank > ASC_MAX_RANK || want->index == NULL))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "target: an index has 1 to %d numbers", ASC_MAX_RANK);
    if (want->n_rows == 0 && (want->index != NULL || want->versus != NULL))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "target: indices without n_rows");
    return ASC_OK;
}

/* Shape of one example's value. */
static asc_shape row_shape(const asc_task *t, const asc_aim *a, const asc_tensor *value) {
    asc_shape s = value->shape;
    bool drop = t->batched || (s.rank > 0 && s.dims[0] == 1 && a->want->rank < s.rank);
    if (!drop || s.rank == 0) return s;
    s.rank--;
    memmove(s.dims, value->shape.dims + 1, (size_t)s.rank * sizeof *s.dims);
    return s;
}

/* Offset of an index in a row, -1 after an error. */
static int64_t offset_of(asc_ctx *ctx, const asc_shape *s, const int64_t *index, int rank) {
    int64_t o = 0;
    for (int d = 0; d < s->rank; d++) {
        int64_t i = d < rank ? index[d] : 0;
        if (i < 0) i += s->dims[d];
        if (i < 0 || i >= s->dims[d]) {
            char text[128];
            ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "target: index %lld in dimension %d of a value of shape %s",
                     (long long)index[d], d, asc_shape_text(s, text));
            asc_hint(ctx, "it counts from 0 to %lld behind the batch", (long long)s->dims[d] - 1);
            return -1;
        }
        o = o * s->dims[d] + i;
    }
    return o;
}

asc_status asc_target_check(asc_ctx *ctx, const asc_target *w, const asc_shape *s) {
    char text[128];
    if (w->n_rows == 0) return ASC_OK;
    if (w->rank > s->rank)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "target: an index of %d numbers into a value of shape %s per example", w->rank,
                        asc_shape_text(s, text));
    for (size_t i = 0; i < w->n_rows * (w->versus != NULL ? 2u : 1u); i++) {
        const int64_t *from = i < w->n_rows ? w->index : w->versus;
        if (offset_of(ctx, s, from + (i % w->n_rows) * (size_t)w->rank, w->rank) < 0) return ASC_OUT_OF_RANGE;
    }
    return ASC_OK;
}

asc_status asc_aim_resolve(asc_task *t, asc_aim *a, const asc_shape *row) {
    asc_ctx *ctx = t->ctx;
    const asc_target *w = a->want;
    const asc_shape s = *row;
    a->row = s;
    a->row_elems = (size_t)asc_shape_elems(&s);
    a->n_out = a->row_elems;
    if (w->weights != NULL) a->n_out = 1;
    for (size_t i = 0; w->weights != NULL && i < w->weight_rows * a->row_elems; i++) {
        if (w->weights[i] - w->weights[i] != 0.0)
            return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "target: weights[%zu] is not finite", i);
    }
    if (w->n_rows > 0) {
        asc_status st = asc_target_check(ctx, w, &s);
        if (st != ASC_OK) return st;
        a->n_out = 1;
        for (int d = w->rank; d < s.rank; d++) a->n_out *= (size_t)s.dims[d];
    }
    if (a->n_out == 0)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the explained value '%.60s' is empty",
                        t->net->sites[a->site]);
    a->resolved = true;
    return ASC_OK;
}

static asc_status resolve(asc_task *t, asc_aim *a, asc_tensor *value, size_t n) {
    asc_ctx *ctx = t->ctx;
    char text[128];
    if (t->batched && (value->shape.rank == 0 || value->shape.dims[0] != (int64_t)n)) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "the explained value '%.60s' has shape %s for %zu examples: its first dimension does not "
                 "count them",
                 t->net->sites[a->site], asc_shape_text(&value->shape, text), n);
        return asc_hint(ctx, "if the net mixes examples, give them as one (no_batch)");
    }
    asc_shape s = row_shape(t, a, value);
    return asc_aim_resolve(t, a, &s);
}

static asc_tensor *transformed(asc_ctx *ctx, asc_tensor *v, asc_transform how) {
    switch (how) {
    case ASC_TRANSFORM_SOFTMAX:
        return asc_softmax(ctx, v);
    case ASC_TRANSFORM_LOG_SOFTMAX:
        return asc_log_softmax(ctx, v);
    case ASC_TRANSFORM_LOG:
        return asc_log(ctx, v);
    case ASC_TRANSFORM_NONE:
        break;
    }
    return v;
}

void asc_aim_index(const asc_task *t, const asc_aim *a, bool versus, const asc_rows *rows, size_t first,
                   size_t n, int32_t *out) {
    int64_t k = (int64_t)a->n_out, per = (int64_t)a->row_elems / k;
    const int64_t *index = versus ? a->want->versus : a->want->index;
    int rank = a->want->rank;
    for (size_t i = 0; i < n; i++) {
        size_t e = asc_rows_example(t, rows, first + i);
        out[i] = (int32_t)((int64_t)i * per + offset_of(t->ctx, &a->row, index + e * (size_t)rank, rank) / k);
    }
}

/* Rows of [n, k, n_out] by an index each. */
static asc_tensor *pick(asc_task *t, const asc_aim *a, asc_tensor *flat, bool versus, const asc_rows *rows,
                        size_t first, size_t n) {
    asc_ctx *ctx = t->ctx;
    int64_t k = (int64_t)a->n_out, per = (int64_t)a->row_elems / k;
    const int64_t *index = versus ? a->want->versus : a->want->index;
    if (a->want->n_rows == 1)
        return asc_slice(ctx, flat, 1, offset_of(ctx, &a->row, index, a->want->rank), k);
    int32_t *at = asc_calloc(ctx, ASC_MEM_GENERAL, n, sizeof *at);
    if (at == NULL) return asc_graph_poison(asc_graph_of(ctx));
    asc_aim_index(t, a, versus, rows, first, n, at);
    asc_tensor *table = asc_reshape(ctx, flat, ASC_SHAPE((int64_t)n * per, k));
    asc_tensor *which = asc_from_i32(ctx, ASC_SHAPE((int64_t)n), at);
    asc_free(ctx, at);
    return asc_gather(ctx, table, asc_task_leaf(t, which, versus ? ASC_LEAF_VERSUS : ASC_LEAF_INDEX, 0));
}

void asc_aim_weights(const asc_task *t, const asc_aim *a, const asc_rows *rows, size_t row, double *out) {
    const asc_target *w = a->want;
    size_t e = w->weight_rows == 1 ? 0 : asc_rows_example(t, rows, row);
    memcpy(out, w->weights + e * a->row_elems, a->row_elems * sizeof *out);
}

static asc_tensor *weighted(asc_task *t, const asc_aim *a, asc_tensor *flat, const asc_rows *rows,
                            size_t first, size_t n) {
    asc_ctx *ctx = t->ctx;
    size_t m = a->row_elems, total, k = a->want->weight_rows == 1 ? 1 : n;
    double *copy = asc_mul_size(k, m, &total) ? asc_calloc(ctx, ASC_MEM_GENERAL, total, sizeof *copy) : NULL;
    if (copy == NULL) return asc_graph_poison(asc_graph_of(ctx));
    for (size_t i = 0; i < k; i++) asc_aim_weights(t, a, rows, first + i, copy + i * m);
    int axis[] = {1};
    asc_tensor *c = asc_from_f64(ctx, ASC_SHAPE((int64_t)k, (int64_t)m), copy);
    asc_free(ctx, copy);
    return asc_sum(ctx, asc_mul(ctx, flat, asc_task_leaf(t, c, ASC_LEAF_WEIGHTS, 0)), 1, axis, true);
}

asc_tensor *asc_aim_select(asc_task *t, asc_aim *a, asc_tensor *value, const asc_rows *rows, size_t first,
                           size_t n) {
    asc_ctx *ctx = t->ctx;
    if (value->poison != ASC_OK) return value;
    if (value->dtype != ASC_DTYPE_F32) value = asc_cast(ctx, value, ASC_DTYPE_F32);
    if (!a->resolved && resolve(t, a, value, n) != ASC_OK) return asc_graph_poison(asc_graph_of(ctx));
    if (asc_tensor_elems(value) != (int64_t)(n * a->row_elems)) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "the explained value changes its size between passes");
        return asc_graph_poison(asc_graph_of(ctx));
    }
    value = transformed(ctx, value, a->want->transform);
    asc_tensor *flat = asc_reshape(ctx, value, ASC_SHAPE((int64_t)n, (int64_t)a->row_elems));
    if (a->want->weights != NULL) return weighted(t, a, flat, rows, first, n);
    if (a->want->n_rows == 0) return flat;
    asc_tensor *out = pick(t, a, flat, false, rows, first, n);
    if (a->want->versus == NULL) return out;
    return asc_sub(ctx, out, pick(t, a, flat, true, rows, first, n));
}

double asc_target_sum(const asc_target *target, const asc_shape *shape, size_t example,
                      const double *values) {
    size_t n = (size_t)asc_shape_elems(shape), first = 0, count = n;
    double sum = 0.0;
    if (target->weights != NULL) {
        const double *w = target->weights + (target->weight_rows > 1 ? example * n : 0);
        for (size_t i = 0; i < n; i++) sum += w[i] * values[i];
        return sum;
    }
    if (target->n_rows > 0) {
        const int64_t *index = target->index + (target->n_rows > 1 ? example * (size_t)target->rank : 0);
        for (int d = 0; d < target->rank && d < shape->rank; d++) { /* checked when the target was resolved */
            int64_t i = index[d] < 0 ? index[d] + shape->dims[d] : index[d];
            count /= (size_t)shape->dims[d];
            first += (size_t)i * count;
        }
    }
    for (size_t i = 0; i < count; i++) sum += values[first + i];
    return sum;
}
