/* gradient_shap.c - gradients at random points between noisy inputs and random baselines, averaged. */
#include "method.h"
#include "path_integral.h"
#include "prompt_sweep.h"
#include <math.h>
#include <string.h>

enum { DEFAULT_SAMPLES = 5 };
static const size_t GROUP_ELEMS = (size_t)1 << 20;

/* Rows are sample by sample; draws depend on the sample only, so a row does not depend on its neighbours. */
typedef struct shap {
    asc_task *t;
    size_t first, group; /* samples of this group */
    enum { POINT, NOISY, BASE } kind;
    double **noisy, **base; /* values of at[] there, [n_at]: [group * n, size] */
    double *f_noisy, *f_base;
    double **sum, **squares;
} shap;

static void fill(void *self, size_t row, size_t var, double *out) {
    const shap *s = self;
    const asc_task *t = s->t;
    const asc_var *v = &t->in[var];
    size_t e = row % t->n;
    uint64_t sample = s->first + row / t->n, stream = sample * (2 * t->n_in + 1);
    double a = asc_task_uniform(t, stream, 0), sd = asc_task_stdev(t, var, 0.0);
    size_t base = v->x0 == NULL ? 0 : (size_t)(asc_task_uniform(t, stream + 1 + var, 0) * (double)v->n_x0);
    for (size_t i = 0; i < v->size; i++) {
        double x = v->x[e * v->size + i], b = v->x0 == NULL ? 0.0 : v->x0[base * v->size + i];
        if (sd > 0.0) x += sd * asc_task_normal(t, stream + 1 + t->n_in + var, i);
        out[i] = s->kind == NOISY ? x : s->kind == BASE ? b : a * x + (1.0 - a) * b;
    }
}

static asc_status keep_end(void *self, size_t row, const asc_row_result *x) {
    shap *s = self;
    double **y = s->kind == NOISY ? s->noisy : s->base, *f = s->kind == NOISY ? s->f_noisy : s->f_base;
    f[row] = x->f[0];
    for (size_t k = 0; k < s->t->n_at; k++) {
        size_t n = s->t->at[k].size;
        memcpy(y[k] + row * n, x->y[k], n * sizeof(double));
    }
    return ASC_OK;
}

static asc_status add(void *self, size_t row, const asc_row_result *x) {
    shap *s = self;
    asc_task *t = s->t;
    size_t e = row % t->n, samples = asc_task_samples(t);
    double total = 0.0;
    for (size_t k = 0; k < t->n_at; k++) {
        size_t n = t->at[k].size;
        for (size_t i = 0; i < n; i++) {
            double d = s->noisy[k][row * n + i] - s->base[k][row * n + i],
                   a = t->req->no_multiply ? x->g[k][i] : d * x->g[k][i];
            s->sum[k][e * n + i] += a;
            s->squares[k][e * n + i] += a * a;
            total += a;
        }
    }
    t->r->delta[e * samples + s->first + row / t->n] = total - (s->f_noisy[row] - s->f_base[row]);
    return ASC_OK;
}

static asc_status run_kind(shap *s, int kind) {
    asc_rows rows = {.n = s->group * s->t->n, .self = s, .fill = fill};
    asc_pass p = {.rows = &rows,
                  .want_values = kind != POINT,
                  .want_gradients = kind == POINT,
                  .what = "gradients",
                  .self = s,
                  .sink = kind == POINT ? add : keep_end};
    s->kind = kind == POINT ? POINT : kind == NOISY ? NOISY : BASE;
    return asc_task_run(s->t, &p);
}

static asc_status make_room(shap *s, size_t group) {
    asc_task *t = s->t;
    asc_ctx *ctx = t->ctx;
    s->noisy = asc_calloc(ctx, ASC_MEM_GENERAL, t->n_at + 1, sizeof(double *));
    s->base = asc_calloc(ctx, ASC_MEM_GENERAL, t->n_at + 1, sizeof(double *));
    s->f_noisy = asc_calloc(ctx, ASC_MEM_GENERAL, group * t->n, sizeof(double));
    s->f_base = asc_calloc(ctx, ASC_MEM_GENERAL, group * t->n, sizeof(double));
    s->sum = asc_path_sums_make(t);
    s->squares = asc_path_sums_make(t);
    if (s->noisy == NULL || s->base == NULL || s->f_noisy == NULL || s->f_base == NULL || s->sum == NULL ||
        s->squares == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    for (size_t k = 0; k < t->n_at; k++) {
        s->noisy[k] = asc_calloc(ctx, ASC_MEM_GENERAL, group * t->n * t->at[k].size, sizeof(double));
        s->base[k] = asc_calloc(ctx, ASC_MEM_GENERAL, group * t->n * t->at[k].size, sizeof(double));
        if (s->noisy[k] == NULL || s->base[k] == NULL) return ASC_RESOURCE_EXHAUSTED;
    }
    return ASC_OK;
}

static void free_room(shap *s) {
    asc_ctx *ctx = s->t->ctx;
    for (size_t k = 0; s->noisy != NULL && s->base != NULL && k < s->t->n_at; k++) {
        asc_free(ctx, s->noisy[k]);
        asc_free(ctx, s->base[k]);
    }
    asc_free(ctx, s->noisy);
    asc_free(ctx, s->base);
    asc_free(ctx, s->f_noisy);
    asc_free(ctx, s->f_base);
    asc_path_sums_free(s->t, s->sum);
    asc_path_sums_free(s->t, s->squares);
}

static asc_status attribute(asc_task *t) {
    asc_ctx *ctx = t->ctx;
    asc_status st = ASC_OK;
    shap s = {.t = t};
    size_t samples = asc_task_samples(t), size = 1;
    ASC_TRY(asc_task_check_stdevs(t));
    ASC_TRY(asc_task_need_path(t));
    ASC_TRY(asc_task_prepare(t, true));
    ASC_TRY(asc_task_ends(t, false));
    t->r->delta = asc_calloc(ctx, ASC_MEM_GENERAL, samples, t->n * sizeof(double));
    if (t->r->delta == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    t->r->n_delta = t->n * samples;
    for (size_t k = 0; k < t->n_at; k++) size += t->n * t->at[k].size;
    size_t most = GROUP_ELEMS / size < 1 ? 1 : GROUP_ELEMS / size;
    if (most > samples) most = samples;
    ASC_TRY(make_room(&s, most));
    for (; s.first < samples; s.first += s.group) {
        s.group = samples - s.first < most ? samples - s.first : most;
        ASC_TRY(run_kind(&s, NOISY));
        ASC_TRY(run_kind(&s, BASE));
        ASC_TRY(run_kind(&s, POINT));
    }
    for (size_t k = 0; k < t->n_at; k++) {
        for (size_t i = 0; i < t->n * t->at[k].size; i++) {
            double n = (double)samples, mean = s.sum[k][i] / n,
                   spread = fmax(s.squares[k][i] / n - mean * mean, 0.0);
            t->r->scores[k].data[i] = mean;
            t->r->scores[k].error[i] = samples < 2 ? NAN : sqrt(spread / (n - 1.0));
        }
    }
done:
    free_room(&s);
    return st;
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    double n = (double)asc_task_samples(t);
    *n_forward = 2.0 * n + 1.0;
    *n_gradient = n;
}

/* ---- prompts ---- */

enum { PROMPT_SAMPLES = 32 };

static size_t prompt_samples(const asc_job *j) {
    return j->req->samples > 0 ? j->req->samples : PROMPT_SAMPLES;
}

static asc_status run(asc_job *j) { return asc_prompt_sweeps(j, ASC_ROWS_PATH, NULL, prompt_samples(j)); }

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    *n_gradient = (double)prompt_samples(j);
    *n_forward = asc_prompt_sweep_values(ASC_ROWS_PATH, prompt_samples(j));
}

const asc_method asc_method_gradient_shap = {
    .info = {.name = "gradient-shap",
             .captum = "GradientShap (at a site: LayerGradientShap; of a unit: NeuronGradientShap)",
             .doc = "expected gradients: slopes at random points between noisy inputs and random baselines",
             .formula = "score_i = mean_s (x_i + n_si - b_si) d f / d x_i at b_s + r_s (x + n_s - b_s)",
             .paper = "Erion et al., Improving performance of deep learning models with axiomatic "
                      "attribution priors, 2021",
             .axioms = "completeness in expectation",
             .cost = "samples forward and backward passes and 2 x samples forward",
             .options =
                 "features, baseline (default: random tokens; eos, pad, zero, mean, token:ID), samples, "
                 "stdevs, seed, output, per-token; nets: baselines (any number of rows), samples, stdevs, "
                 "no-multiply",
             .differences =
                 "one standard error per score; all examples see the same draws; no baselines: zeros"},
    .by_gradient = true,
    .per_token = true,
    .needs_baseline = true,
    .takes_rows = true,
    .stochastic = true,
    .samples = DEFAULT_SAMPLES,
    .attribute = attribute,
    .price_rows = price_rows,
    .run = run,
    .price = price,
};
