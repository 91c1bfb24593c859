/* lime_base.c - Lime with the caller's own perturbations, similarity and surrogate. Samples are drawn, run
 * and turned into rows of the fit block by block; only features, values and weights of all samples are kept.
 */
#include "ascribe/lime.h"
#include "coalition.h"
#include "lime_fit.h"
#include "surrogate.h"
#include <string.h>

enum { BLOCK = 64, DEFAULT_SAMPLES = 50 };

typedef struct base_job {
    asc_task *t;
    const asc_lime_def *def;
    size_t m, n_coef, samples, example, n; /* n: samples of this example so far */
    double *z, *y, *w;                     /* [samples, m], [samples], [samples] */
    double **block;                        /* [BLOCK * inputs]: perturbed inputs */
    double *store;
    const double **x; /* [inputs] of this example */
    uint8_t *present; /* [m] */
    size_t first;     /* sample of row 0 of the block */
    asc_surrogate kind;
    double penalty, width;
    bool euclidean, converged;
} base_job;

static double **row_of(const base_job *j, size_t i) { return j->block + i * j->t->n_at; }

static double default_similarity(const base_job *j, double *const *perturbed) {
    double xx = 0.0, xz = 0.0, zz = 0.0, dd = 0.0;
    for (size_t k = 0; k < j->t->n_at; k++) {
        for (size_t i = 0; i < j->t->at[k].size; i++) {
            double x = j->x[k][i], p = perturbed[k][i];
            xx += x * x;
            xz += x * p;
            zz += p * p;
            dd += (x - p) * (x - p);
        }
    }
    return asc_lime_kernel(j->euclidean ? sqrt(dd) : asc_lime_cosine_distance(xx, xz, zz), j->width);
}

/* Draws sample number `sample` into row i of the block. *more = false at the end. */
static asc_status draw(base_job *j, size_t i, bool *more) {
    const asc_lime_def *d = j->def;
    size_t sample = j->first + i;
    double **row = row_of(j, i), *z = j->z + sample * j->m;
    for (size_t k = 0; k < j->t->n_at; k++) memcpy(row[k], j->x[k], j->t->at[k].size * sizeof **row);
    *more = d->perturb(d->self, j->example, sample, j->x, z, row);
    if (!*more) return ASC_OK;
    const double *const *perturbed = (const double *const *)row;
    if (!d->in_features) {
        d->to_features(d->self, perturbed, j->x, z);
    } else if (d->from_features != NULL) {
        d->from_features(d->self, z, j->x, row);
    } else {
        for (size_t g = 0; g < j->m; g++) j->present[g] = z[g] != 0.0;
        for (size_t k = 0; k < j->t->n_at; k++)
            asc_coalition_fill_set(j->t, j->example, k, j->present, row[k]);
    }
    j->w[sample] =
        d->similarity != NULL ? d->similarity(d->self, j->x, perturbed, z) : default_similarity(j, row);
    bool finite = isfinite(j->w[sample]) && j->w[sample] >= 0.0;
    for (size_t g = 0; g < j->m; g++) finite = finite && isfinite(z[g]);
    if (finite) return ASC_OK;
    return ASC_FAIL(j->t->ctx, ASC_INVALID_ARGUMENT,
                    "lime: sample %zu has features that are not finite, or the weight %g", sample,
                    j->w[sample]);
}

static size_t example(void *self, size_t row) {
    (void)row;
    return ((base_job *)self)->example;
}

static void fill(void *self, size_t row, size_t var, double *out) {
    const base_job *j = self;
    memcpy(out, row_of(j, row)[var], j->t->at[var].size * sizeof *out);
}

static asc_status sink(void *self, size_t row, const asc_row_result *x) {
    base_job *j = self;
    j->y[j->first + row] = x->f[0];
    return ASC_OK;
}

static asc_status run_samples(base_job *j) {
    bool more = true;
    for (j->first = 0; more && j->first < j->samples;) {
        size_t n = 0;
        while (n < BLOCK && j->first + n < j->samples) {
            asc_status st = draw(j, n, &more);
            if (st != ASC_OK) return st;
            if (!more) break;
            n++;
        }
        asc_rows rows = {.n = n, .self = j, .example = example, .fill = fill};
        asc_pass pass = {.rows = &rows, .what = "samples", .self = j, .sink = sink};
        asc_status st = asc_task_run(j->t, &pass);
        if (st != ASC_OK) return st;
        j->first += n;
    }
    j->n = j->first;
    if (j->n == 0) return ASC_FAIL(j->t->ctx, ASC_INVALID_ARGUMENT, "lime: the perturbation gave no sample");
    if (j->n < j->samples)
        return asc_task_note(j->t, "the perturbation ended after %zu of %zu samples", j->n, j->samples);
    return ASC_OK;
}

static asc_status fit(base_job *j, double *coef) {
    const asc_lime_def *d = j->def;
    asc_status st = ASC_OK;
    if (d->fit == NULL) {
        asc_fit_data data = {.x = j->z, .y = j->y, .w = j->w, .n = j->n, .m = j->m};
        st = asc_surrogate_fit(j->t->ctx, j->kind, j->penalty, &data, coef, &j->converged);
    } else if (!d->fit(d->self, j->z, j->y, j->w, j->n, coef)) {
        return ASC_FAIL(j->t->ctx, ASC_ABORTED, "lime: the caller's surrogate failed on %zu samples", j->n);
    }
    for (size_t i = 0; st == ASC_OK && i < j->n_coef; i++) {
        if (!isfinite(coef[i])) {
            st = ASC_FAIL(j->t->ctx, ASC_DATA_LOSS, "lime: coefficient %zu is %g", i, coef[i]);
        }
    }
    return st;
}

static asc_status check(base_job *j) {
    const asc_lime_def *d = j->def;
    const asc_attr_request *q = j->t->req;
    asc_ctx *ctx = j->t->ctx;
    int kind = asc_surrogate_from_name(q->surrogate);
    if (d->struct_size != sizeof *d || d->perturb == NULL || d->n_features == 0) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "lime: struct_size, perturb and n_features must be set");
    }
    if (!d->in_features && d->to_features == NULL) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "lime: perturb writes inputs, so to_features must be set");
    }
    if (d->fit == NULL && d->n_coef != 0 && d->n_coef != d->n_features) {
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                        "lime: n_coef is %zu, but the surrogate has %zu coefficients", d->n_coef,
                        d->n_features);
    }
    if (j->t->at_sites)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "lime: at: only inputs can be perturbed here");
    if (d->in_features && d->from_features == NULL && d->n_features != j->t->n_features) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "lime: n_features is %zu, the masks make %zu groups",
                 d->n_features, j->t->n_features);
        return asc_hint(ctx, "set from_features, or masks with as many groups");
    }
    if (kind < 0) return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "surrogate: no '%.60s'", q->surrogate);
    j->kind = (asc_surrogate)kind;
    j->euclidean = q->distance != NULL && strcmp(q->distance, "euclidean") == 0;
    j->penalty = q->penalty > 0.0 ? q->penalty : 0.01;
    j->width = q->kernel_width > 0.0 ? q->kernel_width : 1.0;
    j->m = d->n_features;
    j->n_coef = d->n_coef > 0 ? d->n_coef : j->m;
    j->samples = q->samples > 0 ? q->samples : DEFAULT_SAMPLES;
    return ASC_OK;
}

static asc_status alloc(base_job *j) {
    asc_ctx *ctx = j->t->ctx;
    size_t total = 0, cells, at = 0;
    for (size_t k = 0; k < j->t->n_at; k++) total += j->t->at[k].size;
    if (!asc_mul_size(j->samples, j->m, &cells) || cells > SIZE_MAX / 32 || total > SIZE_MAX / (8 * BLOCK)) {
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "lime: %zu samples of %zu features are too many",
                        j->samples, j->m);
    }
    j->z = asc_calloc(ctx, ASC_MEM_GENERAL, cells + 2 * j->samples, sizeof *j->z);
    j->store = asc_calloc(ctx, ASC_MEM_GENERAL, total * BLOCK + 1, sizeof *j->store);
    j->block = asc_calloc(ctx, ASC_MEM_GENERAL, j->t->n_at * BLOCK + 1, sizeof *j->block);
    j->x = asc_calloc(ctx, ASC_MEM_GENERAL, j->t->n_at + 1, sizeof *j->x);
    j->present = asc_calloc(ctx, ASC_MEM_GENERAL, j->m + 1, sizeof *j->present);
    if (j->z == NULL || j->store == NULL || j->block == NULL || j->x == NULL || j->present == NULL) {
        return ASC_RESOURCE_EXHAUSTED;
    }
    j->y = j->z + cells;
    j->w = j->y + j->samples;
    for (size_t i = 0; i < BLOCK; i++) {
        for (size_t k = 0; k < j->t->n_at; k++) {
            row_of(j, i)[k] = j->store + at;
            at += j->t->at[k].size;
        }
    }
    return ASC_OK;
}

static asc_status make_result(base_job *j) {
    asc_ctx *ctx = j->t->ctx;
    asc_attribution *r = j->t->r;
    r->scores = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *r->scores);
    if (r->scores == NULL) return ASC_RESOURCE_EXHAUSTED;
    r->n_scores = 1;
    r->n_outputs = 1;
    r->scores[0].shape = ASC_SHAPE((int64_t)j->t->n, (int64_t)j->n_coef);
    r->scores[0].name = asc_strdup_view(ctx, ASC_MEM_GENERAL, (asc_view){"coefficients", 12});
    r->scores[0].data = asc_calloc(ctx, ASC_MEM_GENERAL, j->t->n * j->n_coef, sizeof(double));
    r->options = asc_strdup_view(ctx, ASC_MEM_GENERAL, (asc_view){"{}", 2});
    r->error_bound = (double)NAN;
    return r->scores[0].name != NULL && r->scores[0].data != NULL && r->options != NULL
               ? ASC_OK
               : ASC_RESOURCE_EXHAUSTED;
}

asc_status asc_lime_base(asc_net *net, const asc_attr_request *req, const asc_lime_def *def,
                         asc_attribution **out) {
    asc_task t;
    asc_attr_request q = *req;
    base_job j = {.t = &t, .def = def, .converged = true};
    asc_status st;
    size_t n_out;
    uint64_t start = asc_now_ns();
    *out = NULL;
    q.method = "lime";
    ASC_TRY(asc_task_init(&t, net, &q));
    ASC_TRY(check(&j));
    ASC_TRY(asc_coalition_begin(&t, &n_out));
    if (n_out != 1) {
        ASC_FAIL(t.ctx, ASC_INVALID_ARGUMENT, "lime: the target leaves %zu numbers per example", n_out);
        st = asc_hint(t.ctx, "choose one, or a weighted sum");
        goto done;
    }
    ASC_TRY(alloc(&j));
    ASC_TRY(make_result(&j));
    for (j.example = 0; j.example < t.n; j.example++) {
        for (size_t k = 0; k < t.n_at; k++) j.x[k] = asc_var_row(&t, &t.at[k], j.example);
        ASC_TRY(run_samples(&j));
        ASC_TRY(fit(&j, t.r->scores[0].data + j.example * j.n_coef));
    }
    t.r->converged = j.converged;
    t.r->seconds = (double)(asc_now_ns() - start) * 1e-9;
    *out = t.r;
    t.r = NULL;
done:
    asc_free(net->ctx, j.z);
    asc_free(net->ctx, j.store);
    asc_free(net->ctx, j.block);
    asc_free(net->ctx, j.x);
    asc_free(net->ctx, j.present);
    asc_task_deinit(&t);
    return st;
}
