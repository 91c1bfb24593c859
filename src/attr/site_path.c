/* site_path.c - see site_path.h. */
#include "site_path.h"
#include "estimate.h"
#include "exec.h"
#include "neuron.h"
#include "profile.h"
#include "target.h"
#include <math.h>
#include <string.h>

size_t asc_job_site_width(const asc_job *j) {
    return (size_t)(j->site == ASC_SITE_EMBED ? j->m->info.d_model
                                              : asc_model_site_width(j->m, j->site, j->site_layer));
}

static bool between_sites(asc_pass_kind kind) {
    return kind == ASC_PASS_SITE || kind == ASC_PASS_SITE_VALUES;
}

size_t asc_site_leaves(const asc_job *j, asc_pass_kind kind, size_t len, size_t b, asc_shape *out) {
    const int64_t p = (int64_t)len;
    size_t n = 0;
    out[n++] = ASC_SHAPE(p, j->m->info.d_model);
    if (between_sites(kind)) {
        out[n++] = ASC_SHAPE(p, (int64_t)asc_job_site_width(j));
        out[n++] = ASC_SHAPE(p, (int64_t)asc_job_site_width(j));
    } else {
        out[n++] = ASC_SHAPE(p, j->m->info.d_model);
    }
    out[n++] = ASC_SHAPE((int64_t)b, 1, 1);
    return n;
}

/* ---- ops ---- */

/* What stands at the job's site instead of the prompt's own rows; rows of the answer stay. */
typedef struct swap {
    const asc_job *j;
    asc_tensor *points; /* [B,P,W] */
} swap;

static asc_tensor *put_points(void *self, asc_decoder_site site, int64_t layer, asc_tensor *v) {
    const swap *s = self;
    asc_ctx *ctx = s->j->ctx;
    if (site != s->j->site || layer != s->j->site_layer || asc_tensor_poisoned(v)) return v;
    const int64_t b = s->points->shape.dims[0], p = s->points->shape.dims[1], t = v->shape.dims[1];
    if (t == p) return s->points;
    asc_tensor *parts[2] = {s->points, asc_slice(ctx, v, 1, p, t - p)};
    if (v->shape.dims[0] != b) parts[1] = asc_broadcast(ctx, parts[1], ASC_SHAPE(b, t - p, v->shape.dims[2]));
    return asc_concat(ctx, parts, 2, 1);
}

/* Embeddings [P,D] as [B,P,D]. What comes before a decoder's site is the same for all points, so it is run
 * once. */
static asc_tensor *rows_of(const asc_job *j, asc_tensor *x, int64_t b) {
    asc_ctx *ctx = j->ctx;
    const int64_t p = x->shape.dims[0], d = x->shape.dims[1];
    asc_tensor *one = asc_reshape(ctx, x, ASC_SHAPE(1, p, d));
    return j->encoder == NULL ? one : asc_broadcast(ctx, one, ASC_SHAPE(b, p, d));
}

static size_t record_between(asc_job *j, asc_tensor *const *l, bool gradients, asc_tensor **outs) {
    asc_ctx *ctx = j->ctx;
    swap s = {.j = j, .points = asc_record_points(j, l[1], l[2], l[3])};
    asc_tensor *g = NULL;
    outs[0] = s.points;
    if (!asc_tensor_poisoned(s.points))
        outs[0] = asc_job_scalar(j, rows_of(j, l[0], s.points->shape.dims[0]), put_points, &s);
    if (!gradients) return 1;
    outs[1] = outs[0];
    if (asc_tensor_poisoned(outs[0])) return 2;
    asc_grad(ctx, outs[0], asc_full(ctx, outs[0]->shape, 1.0), &s.points, 1, &g);
    outs[1] = asc_record_parts(j, g, l[1], l[2]);
    return 2;
}

/* The neuron's column of a value [B,T,W] at its token -> [B]. */
static asc_tensor *neuron_of(const asc_job *j, asc_tensor *v) {
    asc_ctx *ctx = j->ctx;
    if (asc_tensor_poisoned(v)) return v;
    const int64_t b = v->shape.dims[0];
    v = asc_slice(ctx, asc_slice(ctx, v, 1, j->neuron.token, 1), 2, j->neuron.index, 1);
    return asc_reshape(ctx, v, ASC_SHAPE(b));
}

size_t asc_record_site_pass(asc_job *j, asc_pass_kind kind, asc_tensor *const *l, asc_tensor **outs) {
    asc_ctx *ctx = j->ctx;
    if (between_sites(kind)) return record_between(j, l, kind == ASC_PASS_SITE, outs);
    asc_tensor *x = asc_record_points(j, l[0], l[1], l[2]), *g = NULL;
    outs[0] = asc_record_scalar(j, x, &outs[1], &outs[2]);
    if (kind == ASC_PASS_FLOW) return 3;
    asc_tensor *y = neuron_of(j, outs[2]), *slope = neuron_of(j, outs[1]);
    outs[1] = y;
    if (asc_tensor_poisoned(y) || asc_tensor_poisoned(slope)) return 2;
    asc_grad(ctx, y, slope, &x, 1, &g);
    outs[1] = asc_record_parts(j, g, l[0], l[1]);
    return 2;
}

/* ---- the site's two values ---- */

/* Rows of the prompt's tokens at the site, for embeddings x [P,D]. */
static asc_tensor *at_site(asc_job *j, asc_tensor *x) {
    asc_site_catcher c = {.site = j->site, .layer = j->site_layer};
    asc_tensor *y = asc_job_scalar(j, rows_of(j, x, 1), asc_catch_site, &c);
    const int64_t p = (int64_t)j->r->n_prompt;
    if (asc_tensor_poisoned(y) || c.value == NULL) return y;
    return c.value->shape.dims[1] == p ? c.value : asc_slice(j->ctx, c.value, 1, 0, p);
}

static void ends_of_path(asc_job *j, asc_tensor *ends[2]) {
    asc_tensor *x = asc_model_embed(j->m, j->r->prompt_ids, 1, (int64_t)j->r->n_prompt);
    ends[0] = asc_reshape(j->ctx, x, ASC_SHAPE((int64_t)j->r->n_prompt, j->m->info.d_model));
    ends[1] = asc_job_path_start(j, ends[0]);
}

/* Both, once a job: j->site_ends [2,P,W]. What does not move (tokens of no feature, other heads' columns)
 * has the prompt's value in both. */
static asc_status find_site_ends(asc_job *j) {
    asc_ctx *ctx = j->ctx;
    const size_t p = j->r->n_prompt, w = asc_job_site_width(j);
    asc_tensor *ends[2], *at[2];
    size_t cells;
    if (j->site_ends != NULL) return ASC_OK;
    if (!asc_mul_size(2 * p, w, &cells)) return ASC_RESOURCE_EXHAUSTED;
    double *v = asc_calloc(ctx, ASC_MEM_GENERAL, cells, sizeof *v);
    if (v == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_scope_begin(ctx);
    ends_of_path(j, ends);
    for (int k = 0; k < 2; k++) at[k] = at_site(j, ends[k]);
    asc_status st = asc_run(ctx, at, 2);
    for (size_t k = 0; st == ASC_OK && k < 2; k++) st = asc_read_f64(ctx, at[k], v + k * p * w, p * w);
    for (size_t i = 0; st == ASC_OK && i < p * w; i++) {
        const size_t c = i % w, first = (size_t)j->site_first;
        const bool column = j->site_columns == 0 || (c >= first && c < first + (size_t)j->site_columns);
        if (!j->active[i / w] || !column) v[p * w + i] = v[i];
        if (!isfinite(v[i]) || !isfinite(v[p * w + i])) st = asc_model_explain_nan(j->m, "an inner value");
    }
    j->r->n_forward += 2;
    if (st == ASC_OK)
        j->site_ends = v;
    else
        asc_free(ctx, v);
    return asc_scope_close(ctx, st);
}

/* All leaves but the points, with values. */
static asc_status make_leaves(asc_job *j, asc_pass_kind kind, asc_tensor **leaves) {
    asc_ctx *ctx = j->ctx;
    asc_tensor *ends[2];
    ends_of_path(j, ends);
    leaves[0] = ends[0];
    leaves[1] = ends[1];
    if (between_sites(kind)) {
        const asc_shape s = ASC_SHAPE((int64_t)j->r->n_prompt, (int64_t)asc_job_site_width(j));
        leaves[1] = asc_from_f64(ctx, s, j->site_ends);
        leaves[2] = asc_from_f64(ctx, s, j->site_ends + asc_shape_elems(&s));
    }
    asc_status st = asc_run(ctx, leaves, 2);
    for (int i = 0; st == ASC_OK && i < 2; i++) asc_tensor_detach(leaves[i]);
    return st;
}

/* ---- all points ---- */

typedef asc_status (*batch_sink)(void *self, size_t first, size_t b, asc_tensor *const *outs);

static asc_status price_points(asc_job *j, asc_pass_kind kind, size_t n, const asc_way *way) {
    const size_t p = j->r->n_prompt;
    asc_status st = ASC_OK;
    if (between_sites(kind) && !j->site_priced) { /* its two values */
        asc_way ends;
        st = asc_job_batch(j, ASC_PASS_POINTS, p, 2, &ends);
        if (st == ASC_OK) st = asc_estimate_passes(j, ASC_PASS_POINTS, p, 2, &ends);
        j->site_priced = true;
    }
    return st == ASC_OK ? asc_estimate_passes(j, kind, p, n, way) : st;
}

static asc_status run_points(asc_job *j, asc_pass_kind kind, const double *alphas, size_t n, batch_sink sink,
                             void *self) {
    asc_ctx *ctx = j->ctx;
    asc_way way;
    asc_tensor *leaves[ASC_SITE_LEAVES], *outs[ASC_SITE_OUTS];
    asc_status st = asc_job_batch(j, kind, j->r->n_prompt, n, &way);
    if (st != ASC_OK) return st;
    if (j->estimate != NULL) return price_points(j, kind, n, &way);
    if (between_sites(kind)) st = find_site_ends(j);
    if (st != ASC_OK) return st;
    asc_scope_begin(ctx);
    st = make_leaves(j, kind, leaves);
    for (size_t done = 0; st == ASC_OK && done < n;) {
        const size_t b = n - done < way.batch ? n - done : way.batch;
        const int depth = asc_prof_push(ctx, "step", (int64_t)done);
        asc_scope_begin(ctx);
        leaves[between_sites(kind) ? 3 : 2] = asc_from_f64(ctx, ASC_SHAPE((int64_t)b, 1, 1), alphas + done);
        const size_t n_outs = asc_record_site_pass(j, kind, leaves, outs);
        st = asc_run(ctx, outs, n_outs);
        if (st == ASC_OK) st = sink(self, done, b, outs);
        st = asc_scope_close(ctx, st);
        asc_prof_pop(ctx, depth);
        done += b;
        j->r->n_forward += b;
        j->r->n_backward += kind == ASC_PASS_SITE_VALUES ? 0 : b * (kind == ASC_PASS_THROUGH ? 2 : 1);
        if (st == ASC_OK) st = asc_progress(ctx, "gradients", (double)j->r->n_forward, 0.0);
    }
    return asc_scope_close(ctx, st);
}

typedef struct numbers {
    asc_job *j;
    double *f, *g; /* [n], [n,P]; either may be NULL */
} numbers;

static asc_status read_numbers(void *self, size_t first, size_t b, asc_tensor *const *outs) {
    const numbers *s = self;
    asc_ctx *ctx = s->j->ctx;
    const size_t p = s->j->r->n_prompt;
    asc_status st = s->f != NULL ? asc_read_f64(ctx, outs[0], s->f + first, b) : ASC_OK;
    if (st == ASC_OK && s->g != NULL) st = asc_read_f64(ctx, outs[1], s->g + first * p, b * p);
    for (size_t i = 0; st == ASC_OK && i < b * (p + 1); i++) {
        const double v =
            i < b ? (s->f != NULL ? s->f[first + i] : 0.0) : (s->g != NULL ? s->g[first * p + i - b] : 0.0);
        if (!isfinite(v)) st = asc_model_explain_nan(s->j->m, "a gradient");
    }
    return st;
}

asc_status asc_site_path(asc_job *j, const double *alphas, size_t n, double *f, double *g) {
    numbers s = {.j = j, .f = f, .g = g};
    return run_points(j, g != NULL ? ASC_PASS_SITE : ASC_PASS_SITE_VALUES, alphas, n, read_numbers, &s);
}

asc_status asc_site_through(asc_job *j, const double *alphas, size_t n, double *g) {
    numbers s = {.j = j, .g = g};
    return run_points(j, ASC_PASS_THROUGH, alphas, n, read_numbers, &s);
}

typedef struct flow {
    asc_job *j;
    double *y, *g; /* [P,W] of a point */
    asc_flow_sink sink;
    void *self;
} flow;

static asc_status read_flow(void *self, size_t first, size_t b, asc_tensor *const *outs) {
    flow *s = self;
    asc_ctx *ctx = s->j->ctx;
    const size_t p = s->j->r->n_prompt, w = asc_job_site_width(s->j);
    asc_status st = ASC_OK;
    for (size_t i = 0; i < b; i++) {
        const int64_t t_g = outs[1]->shape.dims[1], t_y = outs[2]->shape.dims[1];
        ASC_TRY(asc_exec_read_part(ctx, outs[1], (int64_t)(i * w) * t_g, s->g, p * w));
        ASC_TRY(asc_exec_read_part(ctx, outs[2], (int64_t)(i * w) * t_y, s->y, p * w));
        for (size_t k = 0; k < p * w; k++)
            if (!isfinite(s->g[k]) || !isfinite(s->y[k]))
                ASC_TRY(asc_model_explain_nan(s->j->m, "a gradient"));
        ASC_TRY(s->sink(s->self, first + i, s->y, s->g));
    }
done:
    return st;
}

asc_status asc_site_flow(asc_job *j, const double *alphas, size_t n, asc_flow_sink sink, void *self) {
    asc_ctx *ctx = j->ctx;
    flow s = {.j = j, .sink = sink, .self = self};
    size_t cells;
    if (!asc_mul_size(j->r->n_prompt, asc_job_site_width(j), &cells)) return ASC_RESOURCE_EXHAUSTED;
    s.y = asc_calloc(ctx, ASC_MEM_SCRATCH, cells + 1, sizeof *s.y);
    s.g = asc_calloc(ctx, ASC_MEM_SCRATCH, cells + 1, sizeof *s.g);
    asc_status st = s.y == NULL || s.g == NULL ? ASC_RESOURCE_EXHAUSTED
                                               : run_points(j, ASC_PASS_FLOW, alphas, n, read_flow, &s);
    asc_free(ctx, s.y);
    asc_free(ctx, s.g);
    return st;
}

asc_status asc_site_publish(asc_job *j, const double *scores, const double *coarser, const char *unknown) {
    asc_result *r = j->r;
    const double tolerance = j->req->tolerance > 0.0 ? j->req->tolerance : 0.02;
    double largest = 0.0, error = 0.0;
    for (size_t t = 0; t < r->n_prompt; t++) largest = fmax(largest, fabs(scores[t]));
    for (size_t t = 0; t < r->n_prompt; t++) {
        r->scores[t] = scores[t];
        r->score_errors[t] =
            coarser != NULL ? fabs(scores[t] - coarser[t]) + asc_job_gradient_noise(j, largest) : NAN;
        error = fmax(error, r->score_errors[t]);
    }
    r->converged = coarser != NULL && error <= tolerance * largest;
    if (coarser == NULL) return asc_job_warn(j, "%s", unknown);
    if (r->converged) return ASC_OK;
    return asc_job_warn(j, "not converged: errors up to %.3g of largest score %.3g; more --steps", error,
                        largest);
}
