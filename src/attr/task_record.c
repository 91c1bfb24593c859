/* task_record.c - records the net for some rows: leaves for what the rows fill, everything else from the
 * request. */
#include "ops.h"
#include "task_parts.h"
#include <string.h>

/* The example of this task that a row belongs to; in an expanded task, one of the copies. */
static size_t own_example(const asc_task *t, const asc_rows *rows, size_t row) {
    return rows->example != NULL ? rows->example(rows->self, row) : row % t->n;
}

size_t asc_rows_example(const asc_task *t, const asc_rows *rows, size_t row) {
    return own_example(t, rows, row) / t->copies;
}

void asc_rows_own(void *self, size_t row, size_t var, double *out) {
    const asc_own_values *o = self;
    const asc_var *v = &o->t->in[var];
    memcpy(out, v->x + own_example(o->t, o->rows, row) * v->size, v->size * sizeof *out);
}

static asc_tensor *leaf(asc_task *t, const asc_var *v, asc_shape shape, const double *data) {
    asc_ctx *ctx = t->ctx;
    if (asc_elem_is_float(v->elem)) return asc_from_f64(ctx, shape, data);
    size_t n = (size_t)asc_shape_elems(&shape);
    int32_t *whole = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *whole);
    if (whole == NULL) return asc_graph_poison(asc_graph_of(ctx));
    for (size_t i = 0; i < n; i++) {
        if (data[i] < -2147483648.0 || data[i] > 2147483647.0) {
            ASC_FAIL(ctx, ASC_OUT_OF_RANGE, "input '%.60s': %.17g does not fit 32 bits", v->name, data[i]);
            asc_free(ctx, whole);
            return asc_graph_poison(asc_graph_of(ctx));
        }
        whole[i] = (int32_t)data[i];
    }
    asc_tensor *out = asc_from_i32(ctx, shape, whole);
    asc_free(ctx, whole);
    return out;
}

static asc_shape stacked(const asc_task *t, const asc_shape *example, size_t n) {
    if (!t->batched) return *example;
    asc_shape s = {.rank = example->rank + 1};
    s.dims[0] = (int64_t)n;
    memcpy(s.dims + 1, example->dims, (size_t)example->rank * sizeof *s.dims);
    return s;
}

/* Rows of a float variable in the device's own precision: one row in double at a time. */
static asc_tensor *filled_f32(asc_task *t, const asc_rows *rows, const asc_var *v, size_t k, size_t first,
                              size_t n) {
    asc_ctx *ctx = t->ctx;
    size_t total;
    double *row = asc_alloc(ctx, ASC_MEM_SCRATCH, (v->size + 1) * sizeof *row);
    float *data =
        asc_mul_size(v->size, n, &total) ? asc_alloc(ctx, ASC_MEM_SCRATCH, (total + 1) * sizeof *data) : NULL;
    asc_tensor *out = NULL;
    if (row != NULL && data != NULL) {
        for (size_t i = 0; i < n; i++) {
            float *to = data + i * v->size;
            rows->fill(rows->self, first + i, k, row);
            for (size_t e = 0; e < v->size; e++) to[e] = (float)row[e];
        }
        out = asc_from_f32(ctx, stacked(t, &v->shape, n), data);
    }
    asc_free(ctx, row);
    asc_free(ctx, data);
    return out != NULL ? out : asc_graph_poison(asc_graph_of(ctx));
}

/* Variable k of rows first .. first + n - 1 as one leaf. */
static asc_tensor *filled(asc_task *t, const asc_rows *rows, const asc_var *v, size_t k, size_t first,
                          size_t n) {
    asc_ctx *ctx = t->ctx;
    size_t total;
    if (asc_elem_is_float(v->elem) && strcmp(ctx->device_name, "reference") != 0)
        return filled_f32(t, rows, v, k, first, n);
    double *data =
        asc_mul_size(v->size, n, &total) ? asc_alloc(ctx, ASC_MEM_SCRATCH, (total + 1) * sizeof *data) : NULL;
    if (data == NULL) return asc_graph_poison(asc_graph_of(ctx));
    for (size_t i = 0; i < n; i++) rows->fill(rows->self, first + i, k, data + i * v->size);
    asc_tensor *out = leaf(t, v, stacked(t, &v->shape, n), data);
    asc_free(ctx, data);
    return out;
}

/* An input that rows leave alone: its example's own values. */
static asc_tensor *passed_on(asc_task *t, size_t input, const asc_rows *rows, size_t first, size_t n) {
    asc_ctx *ctx = t->ctx;
    const asc_array *a = &t->feeds[input].given;
    if (!t->batched || !t->net->inputs[input].batch) return asc_from_array(ctx, a);
    size_t each = (size_t)asc_array_count(a) / (t->n / t->copies) * asc_elem_bytes(a->elem), bytes;
    asc_array part = *a;
    part.shape.dims[0] = (int64_t)n;
    char *data = asc_mul_size(each, n, &bytes) ? asc_alloc(ctx, ASC_MEM_SCRATCH, bytes + 1) : NULL;
    if (data == NULL) return asc_graph_poison(asc_graph_of(ctx));
    for (size_t i = 0; i < n; i++)
        memcpy(data + i * each, (const char *)a->data + asc_rows_example(t, rows, first + i) * each, each);
    part.data = data;
    asc_tensor *out = asc_from_array(ctx, &part);
    asc_free(ctx, data);
    return out;
}

typedef struct tap_state {
    asc_task *t;
    const asc_pass *p;
    const asc_rows *rows;
    int64_t aim_site;
    size_t first, n;
    asc_recorded *out;
    asc_tensor *value;
} tap_state;

/* Learns a site's shape, or checks that it stayed. */
static asc_status know_site(asc_task *t, asc_var *v, const asc_tensor *value, size_t n) {
    asc_shape s = value->shape;
    char a[128], b[128];
    if (t->batched) {
        if (s.rank == 0 || s.dims[0] != (int64_t)n) {
            ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                     "site '%.60s' has shape %s for %zu examples: its first dimension does not count them",
                     v->name, asc_shape_text(&s, a), n);
            return asc_hint(t->ctx, "pick another site, or give the inputs as one example (no_batch)");
        }
        s.rank--;
        memmove(s.dims, s.dims + 1, (size_t)s.rank * sizeof *s.dims);
    }
    if (v->size == 0) {
        v->shape = s;
        v->size = (size_t)asc_shape_elems(&s);
        if (value->dtype != ASC_DTYPE_F32)
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "site '%.60s' holds integers: it has no gradient",
                            v->name);
    }
    if (v->size == 0) return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "site '%.60s' is empty", v->name);
    if (!asc_shape_eq(&v->shape, &s))
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "site '%.60s' changes its shape between passes: %s, %s",
                        v->name, asc_shape_text(&v->shape, a), asc_shape_text(&s, b));
    return ASC_OK;
}

static asc_tensor *at_site(void *self, size_t site, asc_tensor *value) {
    tap_state *s = self;
    asc_task *t = s->t;
    if (value->poison != ASC_OK) return value;
    for (size_t k = 0; t->at_sites && k < t->n_at; k++) {
        if (t->at[k].site != (int64_t)site || s->out->y[k] != NULL) continue;
        if (know_site(t, &t->at[k], value, s->n) != ASC_OK) return asc_graph_poison(asc_graph_of(t->ctx));
        if (s->p->replace_sites) {
            value = asc_task_leaf(t, filled(t, s->rows, &t->at[k], k, s->first, s->n), ASC_LEAF_ROWS, k);
            s->out->moved[k] = value;
        }
        s->out->y[k] = value;
    }
    if (s->aim_site == (int64_t)site && s->value == NULL) s->value = value;
    return value;
}

/* The net's inputs; moved[] and y[] of those that rows fill. */
static asc_status feed(asc_task *t, const asc_pass *p, const asc_rows *rows, size_t first, size_t n,
                       asc_recorded *out, asc_tensor **inputs) {
    for (size_t i = 0; i < t->net->n_inputs; i++) {
        const asc_feed *f = &t->feeds[i];
        bool fill = f->moving && !p->replace_sites;
        if (!fill && f->moving && t->copies > 1) { /* an expanded task's own values */
            asc_own_values own = {.t = t, .rows = rows};
            asc_rows copies = {.n = rows->n, .self = &own, .fill = asc_rows_own};
            inputs[i] =
                asc_task_leaf(t, filled(t, &copies, &t->in[f->var], f->var, first, n), ASC_LEAF_OWN, f->var);
            continue;
        }
        inputs[i] =
            fill ? filled(t, rows, &t->in[f->var], f->var, first, n) : passed_on(t, i, rows, first, n);
        asc_task_leaf(t, inputs[i], fill ? ASC_LEAF_ROWS : ASC_LEAF_INPUT, fill ? f->var : i);
        if (fill) {
            out->moved[f->var] = inputs[i];
            if (!t->at_sites) out->y[f->var] = inputs[i];
        }
    }
    return ASC_OK;
}

asc_status asc_task_record(asc_task *t, const asc_pass *p, const asc_rows *rows, asc_aim *a, size_t first,
                           size_t n, asc_recorded *out) {
    asc_ctx *ctx = t->ctx;
    asc_net *net = t->net;
    asc_status st = ASC_OK;
    tap_state s = {.t = t, .p = p, .rows = rows, .aim_site = a->site, .first = first, .n = n, .out = out};
    asc_tap tap = {.at = at_site, .self = &s};
    asc_tensor **inputs = asc_calloc(ctx, ASC_MEM_PROGRAM, net->n_inputs + 1, sizeof(asc_tensor *)),
               **outputs = asc_calloc(ctx, ASC_MEM_PROGRAM, net->n_outputs + 1, sizeof(asc_tensor *));
    if (inputs == NULL || outputs == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (size_t k = 0; k < t->n_at; k++) out->y[k] = NULL;
    ASC_TRY(feed(t, p, rows, first, n, out, inputs));
    ASC_TRY(asc_net_forward(net, inputs, &tap, outputs));
    if (s.value == NULL) {
        for (size_t i = 0; i < net->n_outputs; i++) {
            if ((int64_t)net->output_site[i] == a->site) s.value = outputs[i];
        }
    }
    for (size_t k = 0; t->at_sites && k < t->n_at; k++) {
        if (out->y[k] == NULL && asc_graph_of(ctx)->error == ASC_OK) {
            st = ASC_FAIL(ctx, ASC_FAILED_PRECONDITION, "site '%.60s' was not reached in this run",
                          t->at[k].name);
            goto done;
        }
    }
    if (s.value == NULL) {
        st = asc_graph_of(ctx)->error != ASC_OK
                 ? asc_graph_take_error(asc_graph_of(ctx))
                 : ASC_FAIL(ctx, ASC_FAILED_PRECONDITION,
                            "the explained value '%.60s' was not reached in this run", net->sites[a->site]);
        goto done;
    }
    out->f = asc_aim_select(t, a, s.value, rows, first, n);
done:
    asc_free(ctx, inputs);
    asc_free(ctx, outputs);
    return st;
}
