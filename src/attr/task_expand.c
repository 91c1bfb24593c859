/* task_expand.c - a task over several copies of each example, and random draws. */
#include "hash.h"
#include "method.h"
#include "task_parts.h"
#include <math.h>
#include <string.h>

/* Copies rows example-major: row e of `rows` becomes rows e * copies .. of the result. */
static asc_status repeat(asc_ctx *ctx, const double *from, size_t rows, size_t size, size_t copies,
                         double **out) {
    size_t total;
    if (from == NULL) return ASC_OK;
    if (!asc_mul_size(rows * copies, size, &total)) return ASC_RESOURCE_EXHAUSTED;
    *out = asc_calloc(ctx, ASC_MEM_GENERAL, total + 1, sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t r = 0; r < rows * copies; r++)
        memcpy(*out + r * size, from + r / copies * size, size * sizeof **out);
    return ASC_OK;
}

static asc_status repeat_var(asc_task *t, const asc_var *from, size_t copies, asc_var *v) {
    *v = *from;
    v->x = v->x0 = NULL;
    v->mask = NULL;
    asc_status st = repeat(t->ctx, from->x, t->n, from->size, copies, &v->x);
    if (st != ASC_OK) return st;
    if (from->x0 != NULL) {
        bool each = from->n_x0 == t->n && t->n > 1;
        st = repeat(t->ctx, from->x0, from->n_x0, from->size, each ? copies : 1, &v->x0);
        v->n_x0 = each ? t->n * copies : from->n_x0;
    }
    if (st != ASC_OK || from->mask == NULL) return st;
    bool each = from->mask_rows > 1;
    size_t rows = each ? from->mask_rows * copies : 1;
    v->mask_rows = rows;
    v->mask = asc_calloc(t->ctx, ASC_MEM_GENERAL, rows * v->size + 1, sizeof *v->mask);
    if (v->mask == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t r = 0; r < rows; r++)
        memcpy(v->mask + r * v->size, from->mask + (each ? r / copies : 0) * v->size,
               v->size * sizeof *v->mask);
    return ASC_OK;
}

asc_status asc_task_expand(asc_task *t, size_t copies, asc_task *out) {
    asc_ctx *ctx = t->ctx;
    asc_status st = ASC_OK;
    *out = *t;
    out->in = out->at = NULL;
    out->feeds = NULL;
    out->r = NULL;
    out->n = t->n * copies;
    out->copies = t->copies * copies;
    out->in = asc_calloc(ctx, ASC_MEM_GENERAL, t->n_in + 1, sizeof *out->in);
    out->feeds = asc_calloc(ctx, ASC_MEM_GENERAL, t->net->n_inputs + 1, sizeof *out->feeds);
    out->r = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *out->r);
    if (t->at_sites) out->at = asc_calloc(ctx, ASC_MEM_GENERAL, t->n_at + 1, sizeof *out->at);
    if (out->in == NULL || out->feeds == NULL || out->r == NULL || (t->at_sites && out->at == NULL))
        return ASC_RESOURCE_EXHAUSTED;
    memcpy(out->feeds, t->feeds, t->net->n_inputs * sizeof *out->feeds);
    for (size_t k = 0; k < t->n_in; k++) ASC_TRY(repeat_var(t, &t->in[k], copies, &out->in[k]));
    if (!t->at_sites) out->at = out->in;
    for (size_t k = 0; t->at_sites && k < t->n_at; k++) { /* site values belong to the inputs: found again */
        out->at[k] = t->at[k];
        out->at[k].x = out->at[k].x0 = NULL;
        out->at[k].mask = NULL;
        if (t->req->n_at_baselines > 0 && t->at[k].x0 != NULL)
            ASC_TRY(repeat_var(t, &t->at[k], copies, &out->at[k]));
        asc_free(ctx, out->at[k].x);
        out->at[k].x = NULL;
    }
    if (t->at_sites) out->n_features = 0;
    out->r->method = t->r->method;
    out->r->n_examples = out->n;
    out->r->converged = true;
done:
    return st;
}

/* Streams of different methods do not overlap: the method's name is part of the key. */
uint64_t asc_task_key(const asc_task *t) {
    const char *name = t->method->info.name;
    return asc_hash64(name, strlen(name), t->req->seed);
}

double asc_task_uniform(const asc_task *t, uint64_t stream, uint64_t index) {
    return asc_uniform(asc_task_key(t), stream, index);
}

double asc_task_normal(const asc_task *t, uint64_t stream, uint64_t index) {
    static const double two_pi = 6.283185307179586476925;
    double u = 1.0 - asc_uniform(asc_task_key(t), stream, 2 * (index / 2)),
           v = asc_uniform(asc_task_key(t), stream, 2 * (index / 2) + 1), r = sqrt(-2.0 * log(u));
    return index % 2 == 0 ? r * cos(two_pi * v) : r * sin(two_pi * v);
}
