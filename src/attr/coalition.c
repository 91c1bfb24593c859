/* coalition.c - rows with some features at the baseline, and scores per feature. */
#include "coalition.h"
#include <math.h>
#include <string.h>

const double *asc_var_row(const asc_task *t, const asc_var *v, size_t e) {
    (void)t;
    return v->x + e * v->size;
}

const double *asc_var_baseline_row(const asc_task *t, const asc_var *v, size_t e) {
    (void)t;
    if (v->x0 == NULL) return NULL;
    return v->x0 + (v->n_x0 > 1 ? e % v->n_x0 : 0) * v->size;
}

const int32_t *asc_var_mask_row(const asc_var *v, size_t e) {
    return v->mask == NULL ? NULL : v->mask + (v->mask_rows > 1 ? e % v->mask_rows : 0) * v->size;
}

void asc_coalition_fill(const asc_task *t, size_t e, size_t var, const int32_t *rank, int32_t level,
                        double *out) {
    const asc_var *v = &t->at[var];
    const double *x = asc_var_row(t, v, e), *x0 = asc_var_baseline_row(t, v, e);
    const int32_t *mask = asc_var_mask_row(v, e), *own = rank + v->first_feature;
    for (size_t i = 0; i < v->size; i++) {
        bool present = (mask != NULL ? rank[mask[i]] : own[i]) < level;
        out[i] = present ? x[i] : x0 != NULL ? x0[i] : 0.0;
    }
}

void asc_coalition_fill_set(const asc_task *t, size_t e, size_t var, const uint8_t *present, double *out) {
    const asc_var *v = &t->at[var];
    const double *x = asc_var_row(t, v, e), *x0 = asc_var_baseline_row(t, v, e);
    const int32_t *mask = asc_var_mask_row(v, e);
    const uint8_t *own = present + v->first_feature;
    for (size_t i = 0; i < v->size; i++) {
        bool on = (mask != NULL ? present[mask[i]] : own[i]) != 0;
        out[i] = on ? x[i] : x0 != NULL ? x0[i] : 0.0;
    }
}

void asc_coalition_fill_without(const asc_task *t, size_t e, size_t var, int32_t g, double *out) {
    const asc_var *v = &t->at[var];
    const double *x0 = asc_var_baseline_row(t, v, e);
    const int32_t *mask = asc_var_mask_row(v, e);
    memcpy(out, asc_var_row(t, v, e), v->size * sizeof *out);
    if (mask == NULL) { /* the feature is one element of one variable */
        int64_t i = (int64_t)g - v->first_feature;
        if (i >= 0 && (size_t)i < v->size) out[i] = x0 != NULL ? x0[i] : 0.0;
        return;
    }
    for (size_t i = 0; i < v->size; i++) {
        if (mask[i] == g) out[i] = x0 != NULL ? x0[i] : 0.0;
    }
}

asc_status asc_coalition_begin(asc_task *t, size_t *n_out) {
    asc_status st = asc_task_ends(t, false);
    return st == ASC_OK ? asc_task_n_out(t, n_out) : st;
}

double *asc_coalition_alloc(asc_task *t, size_t n_out) {
    size_t n;
    if (!asc_mul_size(t->n, n_out, &n) || !asc_mul_size(n, t->n_features, &n)) {
        ASC_FAIL(t->ctx, ASC_RESOURCE_EXHAUSTED, "%zu examples x %zu numbers x %zu features are too many",
                 t->n, n_out, t->n_features);
        return NULL;
    }
    return asc_calloc(t->ctx, ASC_MEM_GENERAL, n > 0 ? n : 1, sizeof(double));
}

static size_t own_example(void *self, size_t row) {
    (void)self;
    return row;
}

static void fill_baseline(void *self, size_t row, size_t var, double *out) {
    const asc_task *t = self;
    const asc_var *v = &t->at[var];
    const double *x0 = asc_var_baseline_row(t, v, row);
    for (size_t i = 0; i < v->size; i++) out[i] = x0 != NULL ? x0[i] : 0.0;
}

asc_status asc_coalition_empty(asc_task *t, size_t n_out) {
    if (t->r->baseline_value == NULL) {
        t->r->baseline_value = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n * n_out, sizeof(double));
        if (t->r->baseline_value == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    asc_rows rows = {.n = t->n, .self = t, .example = own_example, .fill = fill_baseline};
    return asc_task_values(t, &rows, t->at_sites, t->r->baseline_value);
}

asc_status asc_coalition_publish(asc_task *t, size_t n_out, const double *scores, const double *errors) {
    asc_status st = asc_task_make_scores(t, n_out, errors != NULL);
    if (st != ASC_OK) return st;
    for (size_t k = 0; k < t->n_at; k++) {
        const asc_var *v = &t->at[k];
        asc_scores *s = &t->r->scores[k];
        for (size_t eo = 0; eo < t->n * n_out; eo++) {
            const int32_t *mask = asc_var_mask_row(v, eo / n_out);
            for (size_t i = 0; i < v->size; i++) {
                size_t g = mask != NULL ? (size_t)mask[i] : (size_t)v->first_feature + i;
                s->data[eo * v->size + i] = scores[eo * t->n_features + g];
                if (errors != NULL) s->error[eo * v->size + i] = errors[eo * t->n_features + g];
            }
        }
    }
    t->r->error_bound = errors != NULL ? 0.0 : (double)NAN;
    for (size_t i = 0; errors != NULL && i < t->n * n_out * t->n_features; i++) {
        if (!(errors[i] <= t->r->error_bound)) t->r->error_bound = errors[i]; /* NAN stays */
    }
    return ASC_OK;
}

asc_status asc_coalition_delta(asc_task *t, size_t n_out, const double *scores) {
    asc_attribution *r = t->r;
    size_t n = t->n * n_out;
    double worst = 0.0, at_most = 0.0;
    asc_free(t->ctx, r->delta);
    r->delta = asc_calloc(t->ctx, ASC_MEM_GENERAL, n > 0 ? n : 1, sizeof(double));
    if (r->delta == NULL) return ASC_RESOURCE_EXHAUSTED;
    r->n_delta = n;
    for (size_t eo = 0; eo < n; eo++) {
        double sum = 0.0, size = fmax(fabs(r->value[eo]), fabs(r->baseline_value[eo]));
        for (size_t g = 0; g < t->n_features; g++) {
            sum += scores[eo * t->n_features + g];
            size = fmax(size, fabs(scores[eo * t->n_features + g]));
        }
        r->delta[eo] = sum - (r->value[eo] - r->baseline_value[eo]);
        worst = fmax(worst, fabs(r->delta[eo]));
        at_most = fmax(at_most, (double)(t->n_features + 1) * asc_task_value_noise(t, size));
    }
    if (worst > at_most) {
        return asc_task_note(t, "the scores miss value - baseline value by up to %.3g (rounding: %.3g)",
                             worst, at_most);
    }
    return ASC_OK;
}
