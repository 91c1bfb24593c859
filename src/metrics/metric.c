/* metric.c - results, scores and blocks of perturbed examples for the metrics. */
#include "metric.h"
#include <string.h>

asc_status asc_metric_create(asc_ctx *ctx, size_t n, bool means, bool betas, asc_metric **out) {
    asc_metric *m = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *m);
    *out = m;
    if (m == NULL) return ASC_RESOURCE_EXHAUSTED;
    m->n = n;
    m->values = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof(double));
    m->means = means ? asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof(double)) : NULL;
    m->betas = betas ? asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof(double)) : NULL;
    if (m->values != NULL && (!means || m->means != NULL) && (!betas || m->betas != NULL)) return ASC_OK;
    asc_metric_destroy(ctx, m);
    *out = NULL;
    return ASC_RESOURCE_EXHAUSTED;
}

void asc_metric_destroy(asc_ctx *ctx, asc_metric *m) {
    if (m == NULL) return;
    asc_free(ctx, m->values);
    asc_free(ctx, m->means);
    asc_free(ctx, m->betas);
    asc_free(ctx, m);
}

static asc_status copy_given(asc_task *t, const asc_array *given, size_t n, double **scores) {
    if (n != t->n_at) {
        return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "scores: %zu arrays for %zu attributed values", n,
                        t->n_at);
    }
    for (size_t k = 0; k < n; k++) {
        const asc_var *v = &t->at[k];
        int64_t count = asc_array_count(&given[k]);
        if (count < 0 || (size_t)count != t->n * v->size || (count > 0 && given[k].data == NULL)) {
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                            "scores: %lld of '%s', which has %zu x %zu elements", (long long)count, v->name,
                            t->n, v->size);
        }
        asc_array_get(&given[k], 0, count, scores[k]);
    }
    return ASC_OK;
}

static asc_status run_method(asc_task *t, double **scores) {
    asc_attribution *r;
    asc_status st = asc_attribute(t->net, t->req, &r);
    if (st != ASC_OK) return st;
    for (size_t k = 0; st == ASC_OK && k < t->n_at; k++) {
        if (k >= r->n_scores || asc_shape_elems(&r->scores[k].shape) != (int64_t)(t->n * t->at[k].size)) {
            st = ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "%s does not give a score for every element of '%s'",
                          r->method, t->at[k].name);
        } else {
            memcpy(scores[k], r->scores[k].data, t->n * t->at[k].size * sizeof **scores);
        }
    }
    asc_attribution_destroy(t->ctx, r);
    return st;
}

asc_status asc_metric_scores(asc_task *t, const asc_array *given, size_t n_given, double ***out) {
    double **scores = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n_at + 1, sizeof *scores);
    asc_status st = scores != NULL ? ASC_OK : ASC_RESOURCE_EXHAUSTED;
    *out = NULL;
    for (size_t k = 0; st == ASC_OK && k < t->n_at; k++) {
        size_t n;
        bool fits = asc_mul_size(t->n, t->at[k].size, &n);
        scores[k] = fits ? asc_calloc(t->ctx, ASC_MEM_GENERAL, n + 1, sizeof **scores) : NULL;
        if (scores[k] == NULL) st = ASC_RESOURCE_EXHAUSTED;
    }
    if (st == ASC_OK) st = given != NULL ? copy_given(t, given, n_given, scores) : run_method(t, scores);
    if (st == ASC_OK) {
        *out = scores;
    } else {
        asc_metric_scores_free(t, scores);
    }
    return st;
}

void asc_metric_scores_free(asc_task *t, double **scores) {
    for (size_t k = 0; scores != NULL && k < t->n_at; k++) asc_free(t->ctx, scores[k]);
    if (scores != NULL) asc_free(t->ctx, scores);
}

asc_status asc_block_init(asc_task *t, size_t rows, asc_block *out) {
    size_t total = 0, cells;
    *out = (asc_block){0};
    for (size_t k = 0; k < t->n_at; k++) total += t->at[k].size;
    if (!asc_mul_size(total, rows, &cells) || cells > SIZE_MAX / 16) {
        return ASC_FAIL(t->ctx, ASC_RESOURCE_EXHAUSTED, "%zu rows of %zu elements are too many", rows, total);
    }
    out->rows = asc_calloc(t->ctx, ASC_MEM_GENERAL, rows * t->n_at + 1, sizeof *out->rows);
    out->store = asc_calloc(t->ctx, ASC_MEM_GENERAL, cells + 1, sizeof *out->store);
    if (out->rows == NULL || out->store == NULL) return ASC_RESOURCE_EXHAUSTED;
    size_t at = 0;
    for (size_t i = 0; i < rows * t->n_at; i++) {
        out->rows[i] = out->store + at;
        at += t->at[i % t->n_at].size;
    }
    return ASC_OK;
}

void asc_block_deinit(asc_task *t, asc_block *b) {
    asc_free(t->ctx, b->rows);
    asc_free(t->ctx, b->store);
    *b = (asc_block){0};
}

void asc_block_load(const asc_task *t, const asc_block *b, size_t i, size_t e) {
    for (size_t k = 0; k < t->n_at; k++) {
        memcpy(b->rows[i * t->n_at + k], asc_var_row(t, &t->at[k], e), t->at[k].size * sizeof(double));
    }
}

asc_status asc_metric_one_number(asc_task *t, const char *what) {
    size_t n_out;
    asc_status st = asc_task_n_out(t, &n_out);
    if (st != ASC_OK || n_out == 1) return st;
    ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "%s needs one number per example; the target leaves %zu", what,
             n_out);
    return asc_hint(t->ctx, "choose one with the target, or a weighted sum");
}
