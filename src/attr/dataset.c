/* dataset.c - feature ablation over a data set: walks over its batches, several perturbations a walk, each
 * with a state that reduce builds up. Nothing of the set is kept but the collected outputs when the caller
 * gives no reduce. */
#include "ascribe/dataset.h"
#include "coalition.h"
#include "stretch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One attributed value. */
typedef struct column {
    size_t value;    /* which of a batch's arrays */
    asc_shape shape; /* of one example */
    size_t size;
    double *base;  /* [size] */
    int32_t *mask; /* [size] dense group numbers */
} column;

/* Outputs of one slot, one behind the other. */
typedef struct slot {
    double *values;
    size_t n, cap;
} slot;

typedef struct walk {
    asc_ctx *ctx;
    asc_net *net;
    const asc_dataset *data;
    const asc_dataset_request *req;
    column *columns;
    size_t n_columns, n_features, n_metrics;
    slot *slots;
    int64_t *features; /* [per_walk] */
    size_t per_walk;
    asc_array *given, *perturbed, *inputs; /* [n_values] each */
    double *metrics, *whole;               /* [n_metrics] */
    uint64_t n_forward;
} walk;

static asc_role role_of(const walk *w, size_t i) {
    return w->data->roles != NULL ? w->data->roles[i] : ASC_ROLE_ATTRIBUTE;
}

/* ---- the attributed values, from the first batch
 * ---------------------------------------------------------------- */

/* Stretches a (rank 0, the shape of an example, or with a first dimension of 1) to the elements of one
 * example. */
static asc_status stretch(walk *w, const column *c, const asc_array *a, const char *what, double *out) {
    asc_shape full = {.rank = c->shape.rank + 1, .dims = {1}}, fit;
    char got[128], want[128];
    memcpy(full.dims + 1, c->shape.dims, (size_t)c->shape.rank * sizeof *full.dims);
    int64_t n = asc_array_count(a);
    if (n < 1 || a->data == NULL || !asc_shape_broadcast(&a->shape, &full, &fit) ||
        !asc_shape_eq(&fit, &full)) {
        ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "%s of value %zu has shape %s; one example has %s", what,
                 c->value, asc_shape_text(&a->shape, got), asc_shape_text(&c->shape, want));
        return asc_hint(w->ctx, "its first dimension must be 1, so that it fits every batch");
    }
    return asc_array_stretch(w->ctx, a, &full, out);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Group ids of all values become 0, 1, 2, ... by size; without masks elements count on from value to value.
 */
static asc_status number_groups(walk *w) {
    size_t total = 0, n = 0;
    asc_status st = ASC_OK;
    for (size_t k = 0; k < w->n_columns; k++) total += w->columns[k].size;
    if (total > INT32_MAX) return ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "more than 2^31 features");
    double *ids = asc_calloc(w->ctx, ASC_MEM_GENERAL, 2 * total + 1, sizeof *ids), *sorted = ids + total;
    if (ids == NULL) return ASC_RESOURCE_EXHAUSTED;
    size_t at = 0;
    for (size_t k = 0; k < w->n_columns; k++) {
        column *c = &w->columns[k];
        for (size_t i = 0; i < c->size; i++) ids[at + i] = (double)(at + i);
        if (w->req->n_masks > 0) {
            if (asc_elem_is_float(w->req->masks[k].elem)) {
                st = ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "mask %zu must hold integers", k);
                goto done;
            }
            ASC_TRY(stretch(w, c, &w->req->masks[k], "the mask", ids + at));
        }
        at += c->size;
    }
    memcpy(sorted, ids, total * sizeof *ids);
    qsort(sorted, total, sizeof *sorted, by_value);
    for (size_t i = 0; i < total; i++) {
        if (n == 0 || sorted[i] > sorted[n - 1]) sorted[n++] = sorted[i];
    }
    w->n_features = n;
    at = 0;
    for (size_t k = 0; k < w->n_columns; k++) {
        for (size_t i = 0; i < w->columns[k].size; i++, at++) {
            const double *found = bsearch(&ids[at], sorted, n, sizeof *sorted, by_value);
            w->columns[k].mask[i] = (int32_t)(found - sorted);
        }
    }
done:
    asc_free(w->ctx, ids);
    return st;
}

/* Learns shapes from batch 0. */
static asc_status learn(walk *w) {
    const asc_dataset_request *q = w->req;
    bool end = false;
    size_t k = 0;
    asc_status st = w->data->batch(w->data->self, 0, w->given, &end);
    if (st != ASC_OK) return st;
    if (end) return ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "the data set has no batch");
    for (size_t i = 0; i < w->data->n_values; i++) {
        if (role_of(w, i) != ASC_ROLE_ATTRIBUTE) continue;
        column *c = &w->columns[k++];
        const asc_array *a = &w->given[i];
        c->value = i;
        if (a->shape.rank < 1 || asc_array_count(a) < 0) {
            return ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "value %zu of a batch has no dimension of examples",
                            i);
        }
        c->shape.rank = a->shape.rank - 1;
        memcpy(c->shape.dims, a->shape.dims + 1, (size_t)c->shape.rank * sizeof *c->shape.dims);
        c->size = (size_t)asc_shape_elems(&c->shape);
        c->base = asc_calloc(w->ctx, ASC_MEM_GENERAL, c->size + 1, sizeof *c->base);
        c->mask = asc_calloc(w->ctx, ASC_MEM_GENERAL, c->size + 1, sizeof *c->mask);
        if (c->base == NULL || c->mask == NULL) return ASC_RESOURCE_EXHAUSTED;
        if (q->n_baselines == 0 || q->baselines[k - 1].data == NULL) continue;
        st = stretch(w, c, &q->baselines[k - 1], "the baseline", c->base);
        if (st != ASC_OK) return st;
    }
    return number_groups(w);
}

/* ---- a walk
 * ------------------------------------------------------------------------------------------------------ */

/* A copy of value c of the batch with feature g at its baseline (none if g < 0 or it is not there). */
static asc_status perturb(walk *w, const column *c, int64_t g, asc_array *out) {
    const asc_array *a = &w->given[c->value];
    bool here = false, is_float = asc_elem_is_float(a->elem);
    int64_t n = asc_array_count(a);
    for (size_t i = 0; i < c->size; i++) here = here || c->mask[i] == g;
    *out = *a;
    if (!here || n <= 0) return ASC_OK;
    double *v = asc_calloc(w->ctx, ASC_MEM_GENERAL, (size_t)n, sizeof *v);
    if (v == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_array_get(a, 0, n, v);
    for (int64_t i = 0; i < n; i++) {
        size_t e = (size_t)i % c->size;
        if (c->mask[e] == g) v[i] = c->base[e];
        if (!is_float) { /* in place: both are 8 bytes */
            int64_t whole = (int64_t)v[i];
            memcpy(&v[i], &whole, sizeof whole);
        }
    }
    out->elem = is_float ? ASC_ELEM_F64 : ASC_ELEM_I64;
    out->data = v;
    return ASC_OK;
}

static asc_status collect(walk *w, slot *s, size_t batch, const asc_array *y) {
    int64_t n = asc_array_count(y);
    if (batch == 0) s->n = 0;
    asc_status st =
        asc_grow(w->ctx, ASC_MEM_GENERAL, (void **)&s->values, &s->cap, s->n + (size_t)n, sizeof *s->values);
    if (st != ASC_OK) return st;
    asc_array_get(y, 0, n, s->values + s->n);
    s->n += (size_t)n;
    return ASC_OK;
}

static asc_status run_one(walk *w, size_t slot_number, size_t batch, int64_t feature) {
    asc_status st = ASC_OK;
    asc_array y = {0};
    size_t k = 0, n_in = 0;
    for (size_t i = 0; i < w->data->n_values; i++) w->perturbed[i] = w->given[i];
    for (; k < w->n_columns; k++) {
        ASC_TRY(perturb(w, &w->columns[k], feature, &w->perturbed[w->columns[k].value]));
    }
    for (size_t i = 0; i < w->data->n_values; i++) {
        if (role_of(w, i) != ASC_ROLE_LABEL) w->inputs[n_in++] = w->perturbed[i];
    }
    ASC_TRY(asc_net_run(w->net, w->inputs, n_in, w->req->output != NULL ? &w->req->output : NULL, 1, &y));
    w->n_forward += w->given[0].shape.rank > 0 ? (uint64_t)w->given[0].shape.dims[0] : 1;
    st = w->req->reduce != NULL ? w->req->reduce(w->req->self, slot_number, batch, &y, w->perturbed)
                                : collect(w, &w->slots[slot_number], batch, &y);
done:
    asc_array_free(w->ctx, &y);
    for (size_t c = 0; c < w->n_columns; c++) {
        size_t i = w->columns[c].value;
        if (w->perturbed[i].data != w->given[i].data)
            asc_free(w->ctx, (void *)(uintptr_t)w->perturbed[i].data);
        w->perturbed[i] = w->given[i];
    }
    return st;
}

static asc_status check_batch(const walk *w) {
    char got[128], want[128];
    for (size_t k = 0; k < w->n_columns; k++) {
        const asc_shape *s = &w->given[w->columns[k].value].shape, *own = &w->columns[k].shape;
        bool same = s->rank == own->rank + 1;
        for (int d = 0; same && d < own->rank; d++) same = s->dims[d + 1] == own->dims[d];
        if (same) continue;
        return ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT,
                        "value %zu of a batch has shape %s; an example had %s before", w->columns[k].value,
                        asc_shape_text(s, got), asc_shape_text(own, want));
    }
    return ASC_OK;
}

/* One walk over the set with n perturbations side by side: w->features[i] in slot i. */
static asc_status go(walk *w, size_t n) {
    for (size_t batch = 0;; batch++) {
        bool end = false;
        asc_status st = w->data->batch(w->data->self, batch, w->given, &end);
        if (st == ASC_OK && end && batch > 0) return ASC_OK;
        if (st == ASC_OK && end) st = ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "the data set has no batch");
        if (st == ASC_OK) st = check_batch(w);
        for (size_t i = 0; st == ASC_OK && i < n; i++) st = run_one(w, i, batch, w->features[i]);
        if (st != ASC_OK) return st;
    }
}

/* The metrics of a slot after a walk, into w->metrics. */
static asc_status measure(walk *w, size_t slot_number) {
    slot *s = &w->slots[slot_number];
    if (w->req->metric != NULL) {
        return w->req->metric(w->req->self, slot_number, w->req->reduce == NULL ? s->values : NULL, s->n,
                              w->metrics);
    }
    if (s->n != w->n_metrics) {
        return ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "a walk gave %zu numbers, the first one %zu", s->n,
                        w->n_metrics);
    }
    memcpy(w->metrics, s->values, s->n * sizeof *s->values);
    return ASC_OK;
}

/* ---- the result
 * -------------------------------------------------------------------------------------------------- */

static asc_status make_result(walk *w, asc_attribution *r) {
    r->scores = asc_calloc(w->ctx, ASC_MEM_GENERAL, w->n_columns + 1, sizeof *r->scores);
    if (r->scores == NULL) return ASC_RESOURCE_EXHAUSTED;
    size_t input = 0, k = 0;
    for (size_t i = 0; i < w->data->n_values; i++) {
        if (role_of(w, i) == ASC_ROLE_LABEL) continue;
        const char *name = w->net->inputs[input++].name;
        if (role_of(w, i) == ASC_ROLE_FORWARD) continue;
        const column *c = &w->columns[k];
        asc_scores *s = &r->scores[k++];
        size_t cells;
        s->shape = (asc_shape){.rank = c->shape.rank + 1, .dims = {(int64_t)w->n_metrics}};
        memcpy(s->shape.dims + 1, c->shape.dims, (size_t)c->shape.rank * sizeof *c->shape.dims);
        s->name = asc_strdup_view(w->ctx, ASC_MEM_GENERAL, (asc_view){name, strlen(name)});
        s->data = asc_mul_size(w->n_metrics, c->size, &cells)
                      ? asc_calloc(w->ctx, ASC_MEM_GENERAL, cells + 1, sizeof *s->data)
                      : NULL;
        r->n_scores = k;
        if (s->name == NULL || s->data == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    r->method = "feature-ablation";
    r->options = asc_strdup_view(w->ctx, ASC_MEM_GENERAL, (asc_view){"{}", 2});
    r->value = asc_calloc(w->ctx, ASC_MEM_GENERAL, w->n_metrics, sizeof *r->value);
    r->n_examples = w->n_metrics;
    r->n_outputs = 1;
    r->error_bound = (double)NAN;
    r->converged = true;
    if (r->options == NULL || r->value == NULL) return ASC_RESOURCE_EXHAUSTED;
    memcpy(r->value, w->whole, w->n_metrics * sizeof *r->value);
    return ASC_OK;
}

static void keep(const walk *w, asc_attribution *r, int64_t feature) {
    for (size_t k = 0; k < w->n_columns; k++) {
        const column *c = &w->columns[k];
        for (size_t i = 0; i < c->size; i++) {
            if (c->mask[i] != feature) continue;
            for (size_t m = 0; m < w->n_metrics; m++)
                r->scores[k].data[m * c->size + i] = w->whole[m] - w->metrics[m];
        }
    }
}

/* The set as it is: how many numbers are explained, and their values. */
static asc_status first_walk(walk *w) {
    w->features[0] = -1;
    asc_status st = go(w, 1);
    if (st != ASC_OK) return st;
    w->n_metrics = w->req->metric == NULL ? w->slots[0].n : w->req->n_metrics > 0 ? w->req->n_metrics : 1;
    w->metrics = asc_calloc(w->ctx, ASC_MEM_GENERAL, w->n_metrics + 1, sizeof *w->metrics);
    w->whole = asc_calloc(w->ctx, ASC_MEM_GENERAL, w->n_metrics + 1, sizeof *w->whole);
    if (w->metrics == NULL || w->whole == NULL) return ASC_RESOURCE_EXHAUSTED;
    if ((st = measure(w, 0)) != ASC_OK) return st;
    memcpy(w->whole, w->metrics, w->n_metrics * sizeof *w->whole);
    return ASC_OK;
}

static asc_status check(const walk *w) {
    size_t n_in = 0, n_at = 0;
    if (w->data->struct_size != sizeof *w->data || w->req->struct_size != sizeof *w->req ||
        w->data->batch == NULL) {
        return ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "data set: struct_size and batch must be set");
    }
    for (size_t i = 0; i < w->data->n_values; i++) {
        n_in += role_of(w, i) != ASC_ROLE_LABEL;
        n_at += role_of(w, i) == ASC_ROLE_ATTRIBUTE;
    }
    if (n_in != w->net->n_inputs) {
        return ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT,
                        "roles: %zu values go into the net, which has %zu inputs", n_in, w->net->n_inputs);
    }
    if (n_at == 0) return ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "roles: no value is attributed to");
    if ((w->req->n_masks > 0 && w->req->n_masks != n_at) ||
        (w->req->n_baselines > 0 && w->req->n_baselines != n_at)) {
        return ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "%zu masks and %zu baselines for %zu attributed values",
                        w->req->n_masks, w->req->n_baselines, n_at);
    }
    if (w->req->reduce != NULL && w->req->metric == NULL) {
        return ASC_FAIL(w->ctx, ASC_INVALID_ARGUMENT, "a data set with reduce needs metric as well");
    }
    return ASC_OK;
}

static asc_status alloc(walk *w) {
    size_t n = w->data->n_values;
    w->per_walk = w->req->per_walk > 0 ? w->req->per_walk : 1;
    for (size_t i = 0; i < n; i++) w->n_columns += role_of(w, i) == ASC_ROLE_ATTRIBUTE;
    w->columns = asc_calloc(w->ctx, ASC_MEM_GENERAL, w->n_columns, sizeof *w->columns);
    w->slots = asc_calloc(w->ctx, ASC_MEM_GENERAL, w->per_walk, sizeof *w->slots);
    w->features = asc_calloc(w->ctx, ASC_MEM_GENERAL, w->per_walk, sizeof *w->features);
    w->given = asc_calloc(w->ctx, ASC_MEM_GENERAL, n, sizeof *w->given);
    w->perturbed = asc_calloc(w->ctx, ASC_MEM_GENERAL, n, sizeof *w->perturbed);
    w->inputs = asc_calloc(w->ctx, ASC_MEM_GENERAL, n, sizeof *w->inputs);
    bool all = w->columns != NULL && w->slots != NULL && w->features != NULL && w->given != NULL &&
               w->perturbed != NULL && w->inputs != NULL;
    return all ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
}

static void deinit(walk *w) {
    for (size_t k = 0; w->columns != NULL && k < w->n_columns; k++) {
        asc_free(w->ctx, w->columns[k].base);
        asc_free(w->ctx, w->columns[k].mask);
    }
    for (size_t i = 0; w->slots != NULL && i < w->per_walk; i++) asc_free(w->ctx, w->slots[i].values);
    asc_free(w->ctx, w->columns);
    asc_free(w->ctx, w->slots);
    asc_free(w->ctx, w->features);
    asc_free(w->ctx, w->given);
    asc_free(w->ctx, w->perturbed);
    asc_free(w->ctx, w->inputs);
    asc_free(w->ctx, w->metrics);
    asc_free(w->ctx, w->whole);
}

asc_status asc_dataset_attribute(asc_net *net, const asc_dataset *data, const asc_dataset_request *req,
                                 asc_attribution **out) {
    walk w = {.ctx = net->ctx, .net = net, .data = data, .req = req};
    asc_attribution *r = NULL;
    asc_status st;
    uint64_t start = asc_now_ns();
    *out = NULL;
    ASC_TRY(check(&w));
    ASC_TRY(alloc(&w));
    ASC_TRY(learn(&w));
    ASC_TRY(first_walk(&w));
    r = asc_calloc(w.ctx, ASC_MEM_GENERAL, 1, sizeof *r);
    if (r == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    ASC_TRY(make_result(&w, r));
    for (size_t g = 0; g < w.n_features; g += w.per_walk) {
        size_t n = w.n_features - g < w.per_walk ? w.n_features - g : w.per_walk;
        for (size_t i = 0; i < n; i++) w.features[i] = (int64_t)(g + i);
        ASC_TRY(go(&w, n));
        for (size_t i = 0; i < n; i++) {
            ASC_TRY(measure(&w, i));
            keep(&w, r, (int64_t)(g + i));
        }
        ASC_TRY(asc_progress(w.ctx, "walks over the data set", (double)(g + n), (double)w.n_features));
    }
    r->n_forward = w.n_forward;
    r->seconds = (double)(asc_now_ns() - start) * 1e-9;
    *out = r;
    r = NULL;
done:
    asc_attribution_destroy(w.ctx, r);
    deinit(&w);
    return st;
}
