/* task_scores.c - the arrays of a result, the completeness check, and the rounding error model. */
#include "task_parts.h"
#include "ascribe/precision.h"
#include "method.h"
#include <math.h>
#include <string.h>

asc_status asc_task_make_scores(asc_task *t, size_t n_out, bool with_errors) {
    asc_ctx *ctx = t->ctx;
    asc_attribution *r = t->r;
    r->n_outputs = n_out;
    r->scores = asc_calloc(ctx, ASC_MEM_GENERAL, t->n_at + 1, sizeof *r->scores);
    if (r->scores == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < t->n_at; k++) {
        const asc_var *v = &t->at[k];
        asc_scores *s = &r->scores[k];
        size_t total;
        if (v->shape.rank + 1 + (n_out > 1) > ASC_MAX_RANK)
            return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "scores of '%.60s' would have more than %d dimensions",
                            v->name, ASC_MAX_RANK);
        s->name = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of(v->name));
        s->shape.dims[s->shape.rank++] = (int64_t)t->n;
        if (n_out > 1) s->shape.dims[s->shape.rank++] = (int64_t)n_out;
        for (int d = 0; d < v->shape.rank; d++) s->shape.dims[s->shape.rank++] = v->shape.dims[d];
        if (!t->batched && t->n == 1) { /* as the input stands: no example dimension of its own */
            s->shape.rank--;
            memmove(s->shape.dims, s->shape.dims + 1, (size_t)s->shape.rank * sizeof *s->shape.dims);
        }
        if (!asc_mul_size(t->n * n_out, v->size, &total)) return ASC_RESOURCE_EXHAUSTED;
        s->data = asc_calloc(ctx, ASC_MEM_GENERAL, total + 1, sizeof *s->data);
        if (with_errors) s->error = asc_calloc(ctx, ASC_MEM_GENERAL, total + 1, sizeof *s->error);
        r->n_scores = k + 1;
        if (s->name == NULL || s->data == NULL || (with_errors && s->error == NULL))
            return ASC_RESOURCE_EXHAUSTED;
    }
    return ASC_OK;
}

/* Rounding errors of a chain of products and sums are about those of its longest sums, with random signs; 64
 * roundings is what the nets of the test suite stay under (docs/errors.md). */
enum { ROUNDINGS = 64 };

double asc_task_gradient_noise(const asc_task *t, double largest) {
    return ROUNDINGS * asc_ctx_roundoff(t->ctx) * largest;
}
double asc_task_value_noise(const asc_task *t, double value) {
    return ROUNDINGS * asc_ctx_roundoff(t->ctx) * fabs(value);
}

void asc_task_row_errors(asc_task *t, size_t row) {
    for (size_t k = 0; k < t->n_at; k++) {
        asc_scores *s = &t->r->scores[k];
        size_t n = (size_t)asc_shape_elems(&s->shape) / t->n;
        double largest = 0.0;
        for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(s->data[row * n + i]));
        for (size_t i = 0; i < n; i++) s->error[row * n + i] = asc_task_gradient_noise(t, largest);
    }
}

asc_status asc_task_delta(asc_task *t, double tolerance) {
    asc_ctx *ctx = t->ctx;
    asc_attribution *r = t->r;
    double worst = 0.0, at_worst = 0.0;
    if (r->n_outputs != 1 || r->value == NULL) return ASC_OK;
    asc_free(ctx, r->delta);
    r->delta = asc_calloc(ctx, ASC_MEM_GENERAL, t->n + 1, sizeof *r->delta);
    if (r->delta == NULL) return ASC_RESOURCE_EXHAUSTED;
    r->n_delta = t->n;
    for (size_t e = 0; e < t->n; e++) {
        double sum = 0.0, largest = 0.0, abs_sum = 0.0;
        for (size_t k = 0; k < r->n_scores && k < t->n_at; k++) {
            const double *s = r->scores[k].data + e * t->at[k].size;
            for (size_t i = 0; i < t->at[k].size; i++) {
                sum += s[i];
                abs_sum += fabs(s[i]);
                largest = fmax(largest, fabs(s[i]));
            }
        }
        double f0 = r->baseline_value != NULL ? r->baseline_value[e] : 0.0;
        r->delta[e] = sum - (r->value[e] - f0);
        double allowed = tolerance * largest + asc_task_gradient_noise(t, abs_sum) +
                         asc_task_value_noise(t, fabs(r->value[e]) + fabs(f0));
        if (fabs(r->delta[e]) > allowed && fabs(r->delta[e]) > fabs(worst)) {
            worst = r->delta[e];
            at_worst = r->value[e] - f0;
        }
    }
    if (worst == 0.0 || !t->method->complete || t->req->no_multiply || tolerance <= 0.0) return ASC_OK;
    r->converged = false;
    return asc_task_note(
        t,
        "not complete: the scores of an example add up to %.6g more than the change %.6g of the "
        "explained value",
        worst, at_worst);
}
