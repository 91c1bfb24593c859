/* prompt_sweep.c - see prompt_sweep.h. Draws depend on the sample only: batches of any size give the same
 * numbers to rounding. */
#include "prompt_sweep.h"
#include "exec.h"
#include "hash.h"
#include "inner_table.h"
#include "target.h"
#include <math.h>
#include <string.h>

/* Of the answer's tokens, with request.per_token: each has sweeps of its own. */
typedef struct sweep_rows {
    size_t m;              /* 0: not asked for */
    double *f, *f0, *part; /* of one token and batch */
    double *sum, *squares; /* [m,P] */
} sweep_rows;

typedef struct sweeps {
    asc_job *j;
    asc_prompt_rows kind;
    size_t samples;
    asc_tensor *x, *start;  /* [P,D]: the prompt, and a baseline that is the same for all samples */
    double spread;          /* deviation of noise */
    int32_t *ids;           /* random baselines of a batch */
    double *f, *f0, *parts; /* of a batch */
    double *sum, *squares;  /* [P] */
    sweep_rows rows;
} sweeps;

/* ---- draws ---- */

void asc_prompt_random_ids(const asc_job *j, size_t first, size_t n, int32_t *out) {
    enum { TRIES = 64 }; /* so many tokens that are not ordinary are passed over */
    const asc_tokenizer *tk = asc_model_tokenizer(j->m);
    const size_t p = j->r->n_prompt;
    const double v = (double)j->m->info.n_vocab;
    for (size_t i = 0; i < n * p; i++) {
        const size_t s = first + i / p, t = i % p;
        out[i] = j->r->prompt_ids[t];
        for (uint64_t k = 0; j->active[t] && k < TRIES; k++) {
            out[i] = (int32_t)(v * asc_uniform(j->req->seed, s, t * TRIES + k));
            if (tk == NULL || asc_token_get_type(tk, out[i]) == ASC_TOKEN_NORMAL) break;
        }
    }
}

static double normal(uint64_t seed, uint64_t stream, uint64_t index) {
    static const double two_pi = 6.283185307179586476925;
    const double u = 1.0 - asc_uniform(seed, stream, 2 * index), w = asc_uniform(seed, stream, 2 * index + 1);
    return sqrt(-2.0 * log(u)) * cos(two_pi * w);
}

/* Noise [b,P,D] of samples from `first` on; nothing moves at tokens of no feature. */
static asc_tensor *noise(sweeps *s, size_t first, size_t b) {
    static const uint64_t STREAM = (uint64_t)1 << 40; /* apart from the tokens' */
    asc_job *j = s->j;
    const size_t p = j->r->n_prompt, d = (size_t)j->m->info.d_model;
    size_t n;
    float *v = asc_mul_size(b * p, d, &n) ? asc_calloc(j->ctx, ASC_MEM_SCRATCH, n, sizeof *v) : NULL;
    if (v == NULL) return asc_graph_poison(asc_graph_of(j->ctx));
    for (size_t i = 0; i < n; i++) {
        const size_t at = i % (p * d);
        if (j->active[at / d])
            v[i] = (float)(s->spread * normal(j->req->seed, STREAM + first + i / (p * d), at));
    }
    asc_tensor *t = asc_from_f32(j->ctx, ASC_SHAPE((int64_t)b, (int64_t)p, (int64_t)d), v);
    asc_free(j->ctx, v);
    return t;
}

/* The share `noise` of the embeddings' own size (root of their mean square). */
static asc_status find_spread(sweeps *s, double share) {
    asc_ctx *ctx = s->j->ctx;
    double square = 0.0;
    if (!(share > 0.0)) return ASC_OK;
    asc_scope_begin(ctx);
    asc_tensor *mean = asc_mean(ctx, asc_square(ctx, s->x), 2, (int[]){0, 1}, false);
    asc_status st = asc_scope_close(ctx, asc_read_f64(ctx, mean, &square, 1));
    s->spread = share * sqrt(square);
    return st;
}

/* ---- a batch ---- */

static asc_tensor *many(asc_ctx *ctx, asc_tensor *x, size_t b) {
    if (asc_tensor_poisoned(x)) return x;
    const int64_t *d = x->shape.dims;
    return asc_broadcast(ctx, asc_reshape(ctx, x, ASC_SHAPE(1, d[0], d[1])),
                         ASC_SHAPE((int64_t)b, d[0], d[1]));
}

/* Baselines [b,P,D] of samples from `first` on. */
static asc_tensor *baselines(sweeps *s, size_t first, size_t b) {
    asc_job *j = s->j;
    if (s->start != NULL) return many(j->ctx, s->start, b);
    asc_prompt_random_ids(j, first, b, s->ids);
    return asc_model_embed(j->m, s->ids, (int64_t)b, (int64_t)j->r->n_prompt);
}

static void record_ends(sweeps *s, asc_sweep *w, size_t first, size_t b) {
    asc_ctx *ctx = s->j->ctx;
    asc_tensor *x = many(ctx, s->x, b), *x0;
    if (s->spread > 0.0) x = asc_add(ctx, x, noise(s, first, b));
    w->x = x;
    if (s->kind == ASC_ROWS_PROMPT || s->kind == ASC_ROWS_NOISY) return;
    x0 = baselines(s, first, b);
    if (s->kind != ASC_ROWS_PATH) {
        w->x0 = x0;
        return;
    }
    double a[1024];
    for (size_t i = 0; i < b && i < 1024; i++)
        a[i] = asc_uniform(s->j->req->seed, ((uint64_t)2 << 40) + first + i, 0);
    w->by = asc_sub(ctx, x, x0);
    w->x = asc_add(ctx, x0, asc_mul(ctx, w->by, asc_from_f64(ctx, ASC_SHAPE((int64_t)b, 1, 1), a)));
}

/* Values, so that what made them is not looked at by passes behind them. */
static asc_status settle(asc_ctx *ctx, asc_sweep *w) {
    asc_tensor *ts[3];
    size_t n = 0;
    ts[n++] = w->x;
    if (w->paired) ts[n++] = w->x0;
    if (w->has_by) ts[n++] = w->by;
    asc_status st = asc_run(ctx, ts, n);
    for (size_t i = 0; st == ASC_OK && i < n; i++) asc_tensor_detach(ts[i]);
    return st;
}

static asc_status sink(void *self, const asc_sweep_block *block) {
    const sweeps *s = self;
    asc_inner_add(s->j, s->j->inner, block, 1.0 / (double)s->samples);
    return ASC_OK;
}

static asc_status add_up(sweeps *s, size_t b) {
    const size_t p = s->j->r->n_prompt;
    for (size_t i = 0; i < b * p; i++) {
        const double v = s->parts[i];
        if (!isfinite(v)) return asc_model_explain_nan(s->j->m, "a score");
        s->sum[i % p] += v;
        s->squares[i % p] += v * v;
    }
    return ASC_OK;
}

/* Under a bound, buffers that were kept for passes of one shape do not stand beside those of another. */
static void make_way(asc_job *j) {
    if (j->req->memory_bytes > 0 && j->estimate == NULL) asc_exec_trim(j->ctx);
}

/* The sweep for each token of the answer; the whole's numbers are their sums, since all of them are linear in
 * what the answer's tokens add up to. */
static asc_status run_rows(sweeps *s, asc_sweep *w, size_t b) {
    asc_job *j = s->j;
    sweep_rows *q = &s->rows;
    const size_t p = j->r->n_prompt, start = j->span_start, end = j->span_end;
    asc_status st = ASC_OK;
    memset(s->f, 0, 2 * b * sizeof *s->f);
    memset(s->parts, 0, b * p * sizeof *s->parts);
    w->f = q->f;
    w->f0 = q->f0;
    w->parts = q->part;
    for (size_t k = 0; st == ASC_OK && k < q->m; k++) {
        j->span_start = start + k;
        j->span_end = start + k + 1;
        if (k > 0) make_way(j); /* its passes have another length */
        st = asc_sweep_run(w);
        for (size_t i = 0; st == ASC_OK && i < b * p; i++) {
            const double v = q->part[i];
            s->parts[i] += v;
            q->sum[k * p + i % p] += v;
            q->squares[k * p + i % p] += v * v;
        }
        for (size_t i = 0; st == ASC_OK && i < b; i++) {
            s->f[i] += q->f[i];
            s->f0[i] += q->f0[i];
            j->r->token_values[k] = q->f[i];
        }
    }
    j->span_start = start;
    j->span_end = end;
    return st;
}

static asc_status one_batch(sweeps *s, asc_sweep *w, size_t first, size_t b) {
    asc_job *j = s->j;
    asc_ctx *ctx = j->ctx;
    asc_result *r = j->r;
    asc_status st = ASC_OK;
    w->b = b;
    asc_scope_begin(ctx);
    if (j->estimate == NULL) {
        record_ends(s, w, first, b);
        st = settle(ctx, w);
    }
    if (st == ASC_OK) st = s->rows.m > 0 ? run_rows(s, w, b) : asc_sweep_run(w);
    if (st == ASC_OK) st = add_up(s, b);
    for (size_t i = 0; st == ASC_OK && i < b; i++) {
        if (s->kind != ASC_ROWS_PATH && s->kind != ASC_ROWS_NOISY) r->value = s->f[i];
        if (w->paired) r->baseline_value += s->f0[i] / (double)s->samples;
    }
    return asc_scope_close(ctx, st);
}

/* ---- values that no sweep has ---- */

static asc_status own_values(sweeps *s) {
    asc_job *j = s->j;
    asc_result *r = j->r;
    const double zero = 0.0;
    asc_status st = ASC_OK;
    if (s->kind == ASC_ROWS_PATH || s->kind == ASC_ROWS_NOISY)
        st = s->rows.m > 0 ? asc_job_whole_value(j)
                           : asc_job_values(j, r->prompt_ids, 1, r->n_prompt, &r->value);
    if (st != ASC_OK || s->kind != ASC_ROWS_PATH) return st;
    if (j->baseline != ASC_BASELINE_AUTO) return asc_job_path(j, &zero, 1, &r->baseline_value, NULL);
    size_t n;
    if (!asc_mul_size(s->samples, r->n_prompt, &n)) return ASC_RESOURCE_EXHAUSTED;
    int32_t *ids = asc_calloc(j->ctx, ASC_MEM_GENERAL, n, sizeof *ids);
    double *f = asc_calloc(j->ctx, ASC_MEM_GENERAL, s->samples, sizeof *f);
    if (ids == NULL || f == NULL) st = ASC_RESOURCE_EXHAUSTED;
    if (st == ASC_OK) {
        asc_prompt_random_ids(j, 0, s->samples, ids);
        st = asc_job_values(j, ids, s->samples, r->n_prompt, f);
    }
    for (size_t i = 0; st == ASC_OK && i < s->samples; i++) r->baseline_value += f[i] / (double)s->samples;
    asc_free(j->ctx, ids);
    asc_free(j->ctx, f);
    return st;
}

double asc_prompt_sweep_values(asc_prompt_rows kind, size_t samples) {
    return kind == ASC_ROWS_PATH ? 1.0 + (double)samples : kind == ASC_ROWS_NOISY ? 1.0 : 0.0;
}

/* ---- all of it ---- */

static asc_status make_ends(sweeps *s) {
    asc_job *j = s->j;
    asc_ctx *ctx = j->ctx;
    const int64_t p = (int64_t)j->r->n_prompt;
    asc_tensor *x = asc_model_embed(j->m, j->r->prompt_ids, 1, p);
    x = asc_reshape(ctx, x, ASC_SHAPE(p, j->m->info.d_model));
    const bool paired = s->kind == ASC_ROWS_PAIRS || s->kind == ASC_ROWS_PATH;
    const bool fixed = s->kind == ASC_ROWS_OTHER || (paired && j->baseline != ASC_BASELINE_AUTO);
    asc_tensor *ends[2] = {x, x};
    if (s->kind == ASC_ROWS_OTHER)
        ends[1] = asc_reshape(ctx, asc_model_embed(j->m, j->other, 1, p), ASC_SHAPE(p, j->m->info.d_model));
    else if (fixed)
        ends[1] = asc_job_path_start(j, x);
    asc_status st = asc_run(ctx, ends, fixed ? 2 : 1);
    for (int i = 0; st == ASC_OK && i < (fixed ? 2 : 1); i++) asc_tensor_detach(ends[i]);
    s->x = ends[0];
    s->start = fixed ? ends[1] : NULL;
    return st;
}

static asc_status make_rows(sweeps *s, size_t batch) {
    asc_ctx *ctx = s->j->ctx;
    sweep_rows *q = &s->rows;
    const size_t p = s->j->r->n_prompt;
    size_t cells;
    if (!asc_mul_size(2 * q->m, p, &cells)) return ASC_RESOURCE_EXHAUSTED;
    q->f = asc_calloc(ctx, ASC_MEM_GENERAL, 2 * batch, sizeof *q->f);
    q->part = asc_calloc(ctx, ASC_MEM_GENERAL, batch * p + 1, sizeof *q->part);
    q->sum = asc_calloc(ctx, ASC_MEM_GENERAL, cells + 1, sizeof *q->sum);
    if (q->f == NULL || q->part == NULL || q->sum == NULL) return ASC_RESOURCE_EXHAUSTED;
    q->f0 = q->f + batch;
    q->squares = q->sum + q->m * p;
    return ASC_OK;
}

static asc_status make_room(sweeps *s, size_t batch) {
    asc_ctx *ctx = s->j->ctx;
    const size_t p = s->j->r->n_prompt;
    s->ids = asc_calloc(ctx, ASC_MEM_GENERAL, batch * p + 1, sizeof *s->ids);
    s->f = asc_calloc(ctx, ASC_MEM_GENERAL, 2 * batch, sizeof *s->f);
    s->parts = asc_calloc(ctx, ASC_MEM_GENERAL, batch * p + 1, sizeof *s->parts);
    s->sum = asc_calloc(ctx, ASC_MEM_GENERAL, 2 * p + 1, sizeof *s->sum);
    if (s->ids == NULL || s->f == NULL || s->parts == NULL || s->sum == NULL) return ASC_RESOURCE_EXHAUSTED;
    s->f0 = s->f + batch;
    s->squares = s->sum + p;
    return s->rows.m > 0 ? make_rows(s, batch) : ASC_OK;
}

/* Means of the samples and their errors, per token of the prompt. */
static void means(const sweeps *s, const double *sum, const double *squares, double *scores, double *errors) {
    const size_t p = s->j->r->n_prompt;
    const double n = (double)s->samples;
    double largest = 0.0;
    for (size_t t = 0; t < p; t++) {
        scores[t] = sum[t] / n;
        largest = fmax(largest, fabs(scores[t]));
    }
    const double rounding = asc_job_gradient_noise(s->j, largest);
    for (size_t t = 0; t < p; t++) {
        const double spread = fmax(squares[t] / n - scores[t] * scores[t], 0.0);
        errors[t] = rounding + (s->samples > 1 ? sqrt(spread / (n - 1.0)) : 0.0);
    }
}

/* The matrix: scores and errors of the tokens of a feature add up. The sums are used up. */
static void publish_rows(sweeps *s) {
    asc_job *j = s->j;
    asc_result *r = j->r;
    const size_t p = r->n_prompt;
    for (size_t k = 0; k < s->rows.m; k++) {
        double *scores = s->rows.sum + k * p, *errors = s->rows.squares + k * p;
        means(s, scores, errors, scores, errors);
        for (size_t i = 0; i < j->n_parts; i++) {
            const size_t at = k * r->n_features + (size_t)j->parts[i].feature;
            for (size_t t = j->parts[i].first; t < j->parts[i].last; t++) {
                r->matrix[at] += scores[t];
                r->matrix_errors[at] += errors[t];
            }
        }
    }
}

static void publish(sweeps *s) {
    asc_result *r = s->j->r;
    means(s, s->sum, s->squares, r->scores, r->score_errors);
    publish_rows(s);
    asc_inner_errors(s->j);
    for (size_t t = 0; r->n_inner > 0 && t < r->n_prompt; t++)
        r->score_errors[t] = fmax(r->score_errors[t], r->inner[0].error); /* parts cancel there, too */
    r->converged = true;
}

static asc_status refuse_products(asc_job *j) {
    ASC_FAIL(j->ctx, ASC_UNIMPLEMENTED, "%s gives scores of answer tokens for log-probabilities and logits",
             j->method->info.name);
    return asc_hint(j->ctx, "leave --output prob out");
}

asc_status asc_prompt_sweeps(asc_job *j, asc_prompt_rows kind, asc_rules *rules, size_t samples) {
    asc_ctx *ctx = j->ctx;
    sweeps s = {.j = j, .kind = kind, .samples = samples, .rows.m = asc_job_width(j) - 1};
    if (s.rows.m > 0 && j->req->output == ASC_OUTPUT_PROB) return refuse_products(j);
    asc_sweep w = {.j = j,
                   .rules = rules,
                   .paired = kind == ASC_ROWS_PAIRS || kind == ASC_ROWS_OTHER,
                   .has_by = kind == ASC_ROWS_PATH,
                   .want = j->inner,
                   .sink = sink,
                   .self = &s};
    size_t batch;
    asc_status st = ASC_OK;
    asc_scope_begin(ctx);
    ASC_TRY(asc_inner_begin(j, j->inner));
    if (j->estimate == NULL) ASC_TRY(make_ends(&s));
    make_way(j);
    ASC_TRY(asc_sweep_batch(&w, samples, &batch));
    ASC_TRY(make_room(&s, batch));
    w.f = s.f;
    w.f0 = s.f0;
    w.parts = s.parts;
    if (j->estimate == NULL)
        ASC_TRY(find_spread(&s, kind == ASC_ROWS_NOISY && !(j->req->stdev > 0.0) ? 0.1 : j->req->stdev));
    for (size_t done = 0; done < samples; done += batch) {
        const size_t b = samples - done < batch ? samples - done : batch;
        if (b < batch) make_way(j);
        ASC_TRY(one_batch(&s, &w, done, b));
    }
    make_way(j);
    ASC_TRY(own_values(&s));
    publish(&s);
    if (samples > 1 || kind == ASC_ROWS_PATH || kind == ASC_ROWS_NOISY) {
        j->r->samples = samples;
        j->r->stochastic = true;
    }
done:
    asc_free(ctx, s.ids);
    asc_free(ctx, s.f);
    asc_free(ctx, s.parts);
    asc_free(ctx, s.sum);
    asc_free(ctx, s.rows.f);
    asc_free(ctx, s.rows.part);
    asc_free(ctx, s.rows.sum);
    return asc_scope_close(ctx, st);
}

asc_status asc_prompt_pairs(asc_job *j, size_t samples) {
    const asc_rule_options o = {0};
    asc_rules rules = {0};
    asc_status st = asc_rules_init_deep_lift(j->ctx, &o, &rules);
    if (st == ASC_OK) st = asc_prompt_sweeps(j, ASC_ROWS_PAIRS, &rules, samples);
    asc_rules_deinit(&rules);
    return st == ASC_OK ? asc_prompt_check_sum(j) : st;
}

asc_status asc_prompt_check_sum(asc_job *j) {
    asc_result *r = j->r;
    double sum = 0.0, size = fabs(r->value) + fabs(r->baseline_value);
    if (j->estimate != NULL) return ASC_OK;
    for (size_t t = 0; t < r->n_prompt; t++) {
        sum += r->scores[t];
        size += fabs(r->scores[t]);
    }
    const double gap = fabs(sum - (r->value - r->baseline_value));
    if (gap <= asc_job_gradient_noise(j, size) + 2.0 * asc_job_value_noise(j)) return ASC_OK;
    r->converged = false;
    return asc_job_warn(j, "not complete: the scores miss the change of the value by %.3g of %.3g", gap,
                        fabs(r->value - r->baseline_value));
}
