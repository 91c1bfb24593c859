/* gradients.c - gradients of the scalar, at the prompt and at points between a baseline and the prompt, in
 * batches. */
#include "blockwise.h"
#include "estimate.h"
#include "exec.h"
#include "job_capture.h"
#include "profile.h"
#include "rehearse.h"
#include "target.h"
#include <math.h>
#include <string.h>

/* Mean row of the embedding table [1,D], in pieces so that the table is never expanded as a whole. */
static asc_tensor *mean_row(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    int64_t v = j->m->info.n_vocab;
    int axis[] = {0};
    int32_t ids[2048];
    asc_tensor *sum = NULL;
    for (int64_t at = 0; at < v; at += 2048) {
        int64_t n = v - at < 2048 ? v - at : 2048;
        for (int64_t i = 0; i < n; i++) ids[i] = (int32_t)(at + i);
        asc_scope_begin(ctx);
        asc_tensor *part =
            asc_sum(ctx, asc_model_rows(j->m, asc_from_i32(ctx, ASC_SHAPE(n), ids)), 1, axis, true);
        sum = sum == NULL ? part : asc_add(ctx, sum, part);
        asc_status st = asc_run(ctx, &sum, 1);
        if (st == ASC_OK) {
            asc_keep(ctx, sum);
            asc_tensor_detach(sum);
        }
        if (asc_scope_close(ctx, st) != ASC_OK) return asc_graph_poison(asc_graph_of(ctx));
    }
    return asc_scale(ctx, sum, 1.0 / (double)v);
}

asc_tensor *asc_job_path_start(asc_job *j, asc_tensor *x) {
    asc_ctx *ctx = j->ctx;
    size_t c = j->n_prefix, p = j->r->n_prompt - c;
    float *mask = asc_calloc(ctx, ASC_MEM_GENERAL, p, sizeof *mask);
    if (mask == NULL) return asc_graph_poison(asc_graph_of(ctx));
    for (size_t i = 0; i < p; i++) mask[i] = j->active[c + i] ? 0.0f : 1.0f;
    asc_tensor *keep = asc_from_f32(ctx, ASC_SHAPE((int64_t)p, 1), mask);
    asc_free(ctx, mask);
    asc_tensor *rest = asc_mul(ctx, x, keep);
    if (j->baseline == ASC_BASELINE_ZERO) return rest;
    int32_t id = j->baseline_id;
    int64_t d = j->m->info.d_model;
    asc_tensor *row = j->baseline == ASC_BASELINE_MEAN
                          ? mean_row(j)
                          : asc_model_rows(j->m, asc_from_i32(ctx, ASC_SHAPE(1), &id));
    asc_tensor *gone = asc_shift(ctx, asc_neg(ctx, keep), 1.0);
    return asc_add(ctx, rest, asc_mul(ctx, asc_reshape(ctx, row, ASC_SHAPE(1, d)), gone));
}

/* One batch of points on the path; x and x0 [P - C,D] have values already. */
typedef struct points {
    asc_job *j;
    asc_tensor *x, *x0;
    const double *alphas;
    size_t n;
    bool gradients;
} points;

/* f [n], and the directional parts [n, P - C] of the gradient. */
static asc_status record_points(void *self, asc_tensor **outs) {
    const points *p = self;
    asc_job *j = p->j;
    asc_tensor *a = asc_job_leaf(j, asc_from_f64(j->ctx, ASC_SHAPE((int64_t)p->n, 1, 1), p->alphas));
    asc_tensor *x = asc_job_leaf(j, p->x), *x0 = asc_job_leaf(j, p->x0), *grad = NULL, *act;
    outs[0] = asc_record_scalar(j, asc_record_points(j, x, x0, a), p->gradients ? &grad : NULL, &act);
    if (p->gradients) outs[1] = asc_record_parts(j, grad, x, x0);
    return ASC_OK;
}

/* The same values, one block of the model at a time. */
static asc_status points_by_blocks(const points *p, size_t keep_every, double *f, double *g) {
    asc_job *j = p->j;
    asc_ctx *ctx = j->ctx;
    asc_tensor *y = NULL, *grad = NULL;
    asc_scope_begin(ctx);
    asc_tensor *a = asc_from_f64(ctx, ASC_SHAPE((int64_t)p->n, 1, 1), p->alphas);
    asc_status st =
        asc_blockwise_gradient(j, asc_record_points(j, p->x, p->x0, a), keep_every, &y, &grad, NULL);
    if (st == ASC_OK) st = asc_read_f64(ctx, y, f, p->n);
    if (st == ASC_OK)
        st = asc_read_f64(ctx, asc_record_parts(j, grad, p->x, p->x0), g,
                          p->n * (j->r->n_prompt - j->n_prefix));
    asc_tensor_release(y);
    asc_tensor_release(grad);
    return asc_scope_close(ctx, st);
}

static asc_status captured_points(points *p, double *f, double *g, bool *ran) {
    asc_job *j = p->j;
    const int64_t sizes[] = {1, p->x->shape.dims[0], p->gradients};
    const asc_job_source first[] = {{.numbers = p->alphas, .n = p->n}, {.tensor = p->x}, {.tensor = p->x0}};
    asc_job_batch_run b;
    asc_status st = asc_job_captured(&b, j, sizes, 3, p->n, first, 3, p->gradients ? 2 : 1, record_points, p);
    *ran = b.capture != NULL;
    if (st == ASC_OK && *ran) st = asc_job_captured_read(&b, 0, f, p->n);
    if (st == ASC_OK && *ran && p->gradients)
        st = asc_job_captured_read(&b, 1, g, p->n * (size_t)p->x->shape.dims[0]);
    asc_job_captured_deinit(&b);
    return st;
}

static asc_status batch_at(asc_job *j, asc_tensor *x, asc_tensor *x0, const double *alphas, size_t n,
                           const asc_way *way, double *f, double *g) {
    asc_ctx *ctx = j->ctx;
    points p = {.j = j, .x = x, .x0 = x0, .alphas = alphas, .n = n, .gradients = g != NULL};
    asc_tensor *ts[2] = {NULL, NULL};
    bool ran;
    if (g != NULL && way->keep_every > 0) return points_by_blocks(&p, way->keep_every, f, g);
    asc_status st = captured_points(&p, f, g, &ran);
    if (st != ASC_OK || ran) return st;
    const size_t n_ts = g != NULL ? 2 : 1;
    asc_scope_begin(ctx);
    bool again = asc_rehearse_begin(ctx);
    do {
        st = record_points(&p, ts);
    } while (asc_rehearsed(ctx, st, &again, ts, n_ts));
    if (st == ASC_OK) st = asc_run(ctx, ts, n_ts);
    if (st == ASC_OK) st = asc_read_f64(ctx, ts[0], f, n);
    if (st == ASC_OK && g != NULL) st = asc_read_f64(ctx, ts[1], g, n * (j->r->n_prompt - j->n_prefix));
    return asc_scope_close(ctx, st);
}

/* All points in batches. The prefix does not move along the path: its parts of g are 0. */
static asc_status all_points(asc_job *j, const double *alphas, size_t n, double *f, double *g) {
    asc_ctx *ctx = j->ctx;
    size_t p = j->r->n_prompt, c = j->n_prefix, rest = p - c, done = 0;
    double *part = NULL;
    asc_way way;
    asc_status st = asc_job_batch(j, g != NULL ? ASC_PASS_PATH : ASC_PASS_POINTS, rest, n, &way);
    if (st != ASC_OK) return st;
    if (j->estimate != NULL)
        return asc_estimate_passes(j, g != NULL ? ASC_PASS_PATH : ASC_PASS_POINTS, rest, n, &way);
    if (g != NULL && (part = asc_calloc(ctx, ASC_MEM_SCRATCH, way.batch * rest, sizeof *part)) == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    asc_scope_begin(ctx); /* in eager mode what makes the ends would stay beside every pass */
    asc_tensor *x = asc_model_embed(j->m, j->r->prompt_ids + c, 1, (int64_t)rest);
    x = asc_reshape(ctx, x, ASC_SHAPE((int64_t)rest, j->m->info.d_model));
    asc_tensor *ends[2] = {x, asc_job_path_start(j, x)};
    st = asc_run(ctx, ends, 2);
    for (int i = 0; st == ASC_OK && i < 2; i++) {
        asc_keep(ctx, ends[i]);
        asc_tensor_detach(ends[i]);
    }
    st = asc_scope_close(ctx, st);
    while (st == ASC_OK && done < n) {
        size_t b = n - done < way.batch ? n - done : way.batch;
        const int depth = asc_prof_push(ctx, "step", (int64_t)done);
        st = batch_at(j, ends[0], ends[1], alphas + done, b, &way, f + done, part);
        if (st == ASC_OK) st = asc_mark(ctx, "ig.chunk");
        asc_prof_pop(ctx, depth);
        for (size_t i = 0; st == ASC_OK && i < b; i++) {
            bool finite = isfinite(f[done + i]);
            for (size_t t = 0; g != NULL && t < p; t++) {
                double v = t < c ? 0.0 : part[i * rest + t - c];
                g[(done + i) * p + t] = v;
                finite = finite && isfinite(v);
            }
            if (!finite) st = asc_model_explain_nan(j->m, "a gradient");
        }
        if (st != ASC_OK) break;
        done += b;
        j->r->n_forward += b;
        j->r->n_backward += g != NULL ? b : 0;
        st = asc_progress(ctx, "gradients", (double)j->r->n_forward, 0.0);
    }
    asc_free(ctx, part);
    return st;
}

asc_status asc_job_path(asc_job *j, const double *alphas, size_t n, double *f, double *g) {
    enum { WORTH_IT = 8 };
    asc_ctx *ctx = j->ctx;
    size_t c = 0;
    while (c + 1 < j->r->n_prompt && !j->active[c]) c++;
    asc_scope_begin(ctx);
    asc_status st = ASC_OK;
    const bool shares = !j->no_sharing && !j->neuron.on; /* its token may lie in what is shared */
    if (c >= WORTH_IT && n > 1 && shares && asc_model_shares_prefixes(j->m))
        st = asc_job_prefix_begin(j, j->r->prompt_ids, c, j->r->n_prompt);
    if (st == ASC_OK) st = all_points(j, alphas, n, f, g);
    asc_job_prefix_end(j);
    return asc_scope_close(ctx, st);
}

/* Per-row reduction of a [T,D] array kept on the host in f64. */
static double reduce(const double *row, int64_t d, const char *norm) {
    double s = 0.0;
    for (int64_t i = 0; i < d; i++)
        s += strcmp(norm, "l2") == 0 ? row[i] * row[i] : strcmp(norm, "abs") == 0 ? fabs(row[i]) : row[i];
    return strcmp(norm, "l2") == 0 ? sqrt(s) : s;
}

/* Reads some rows at a time: the whole in double would be twice what the gradient itself takes. */
static asc_status reduce_all(asc_job *j, asc_tensor *grad, asc_tensor *act, const char *norm,
                             double *saliency, double *times, double *parts) {
    enum { ROWS = ASC_REDUCED_ROWS };
    asc_ctx *ctx = j->ctx;
    int64_t t = grad->shape.dims[1], d = grad->shape.dims[2], p = (int64_t)j->r->n_prompt;
    const int64_t from = j->site_first, end = j->site_columns > 0 ? from + j->site_columns : d;
    size_t n = (size_t)(ROWS * d);
    asc_status st = ASC_OK;
    double *g = asc_calloc(ctx, ASC_MEM_SCRATCH, n, sizeof *g),
           *a = asc_calloc(ctx, ASC_MEM_SCRATCH, n, sizeof *a);
    if (g == NULL || a == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (int64_t first = 0; first < t && first < p; first += ROWS) {
        int64_t rows = t - first < ROWS ? t - first : ROWS;
        n = (size_t)(rows * d);
        ASC_TRY(asc_exec_read_part(ctx, grad, first * d, g, n));
        ASC_TRY(asc_exec_read_part(ctx, act, first * d, a, n));
        for (size_t i = 0; i < n; i++) {
            if (!isfinite(g[i]) || !isfinite(a[i])) {
                st = asc_model_explain_nan(j->m, "a gradient");
                goto done;
            }
        }
        for (int64_t i = 0; i < rows && first + i < p; i++) {
            if (saliency != NULL) saliency[first + i] = reduce(g + i * d + from, end - from, norm);
            double s = 0.0, size = 0.0;
            for (int64_t k = from; k < end; k++) {
                s += g[i * d + k] * a[i * d + k];
                size += g[i * d + k] * a[i * d + k] * g[i * d + k] * a[i * d + k];
            }
            if (times == NULL) continue;
            times[first + i] = s;
            *parts = fmax(*parts, fmax(fabs(s), sqrt(size)));
        }
    }
done:
    asc_free(ctx, g);
    asc_free(ctx, a);
    return st;
}

asc_status asc_job_gradient(asc_job *j, const char *norm, double *saliency, double *times_input,
                            double *largest) {
    asc_ctx *ctx = j->ctx;
    size_t p = j->r->n_prompt;
    asc_way way;
    asc_status st = asc_job_batch(j, ASC_PASS_GRADIENT, p, 1, &way);
    if (st != ASC_OK) return st;
    if (j->estimate != NULL) return asc_estimate_passes(j, ASC_PASS_GRADIENT, p, 1, &way);
    asc_tensor *ts[3] = {NULL, NULL, NULL}; /* scalar, gradient, activation */
    asc_scope_begin(ctx);
    asc_tensor *x = asc_model_embed(j->m, j->r->prompt_ids, 1, (int64_t)p);
    if (way.keep_every > 0) {
        st = asc_blockwise_gradient(j, x, way.keep_every, &ts[0], &ts[1], &ts[2]);
    } else {
        bool again = asc_rehearse_begin(ctx);
        do {
            ts[0] = asc_record_scalar(j, x, &ts[1], &ts[2]);
        } while (asc_rehearsed(ctx, ASC_OK, &again, ts, 3));
        st = asc_run(ctx, ts, 3);
    }
    if (st == ASC_OK) st = asc_read_f64(ctx, ts[0], &j->r->value, 1);
    if (st == ASC_OK) st = reduce_all(j, ts[1], ts[2], norm, saliency, times_input, largest);
    for (int i = 0; i < 3 && way.keep_every > 0; i++) asc_tensor_release(ts[i]);
    j->r->n_forward++;
    j->r->n_backward++;
    return asc_scope_close(ctx, st);
}

void asc_job_price_one_gradient(const asc_job *j, double *n_forward, double *n_gradient) {
    (void)j;
    *n_forward = 0.0;
    *n_gradient = 1.0;
}
