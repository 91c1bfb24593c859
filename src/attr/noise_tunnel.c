/* noise_tunnel.c - any method averaged over noisy copies of the input: SmoothGrad, its square, and VarGrad.
 */
#include "method.h"
#include "prompt_sweep.h"
#include "path_integral.h"
#include <math.h>
#include <string.h>

enum { DEFAULT_SAMPLES = 5 };
/* Copies of an example that are run together: enough to fill passes, few enough to hold their scores. */
static const size_t GROUP_ELEMS = (size_t)1 << 20;

typedef struct tunnel {
    asc_task *t;
    const asc_method *base;
    asc_attr_request req; /* of the base method */
    size_t samples;
    double **sum, **squares; /* of a and a^2 over the samples, [scores] arrays */
    size_t *elems;           /* of one example's scores */
    double *delta;           /* [n * samples], example-major, if the base has any */
} tunnel;

static void draw(const tunnel *w, asc_task *sub, size_t first, size_t copies) {
    for (size_t k = 0; k < sub->n_in; k++) {
        asc_var *v = &sub->in[k];
        double sd = asc_task_stdev(w->t, k, 1.0);
        for (size_t e = 0; e < sub->n; e++) {
            uint64_t sample = first + e % copies, stream = sample * (w->t->n_in + 1) + k;
            for (size_t i = 0; sd > 0.0 && i < v->size; i++)
                v->x[e * v->size + i] += sd * asc_task_normal(w->t, stream, i);
        }
    }
}

/* A random row of the baselines for each sample, the same for all examples. */
static asc_status draw_baselines(const tunnel *w, asc_task *sub, size_t first, size_t copies) {
    asc_task *t = w->t;
    for (size_t k = 0; k < sub->n_in; k++) {
        const asc_var *from = &t->in[k];
        asc_var *v = &sub->in[k];
        if (from->x0 == NULL) continue;
        asc_free(t->ctx, v->x0);
        v->x0 = asc_calloc(t->ctx, ASC_MEM_GENERAL, sub->n * v->size, sizeof *v->x0);
        if (v->x0 == NULL) return ASC_RESOURCE_EXHAUSTED;
        v->n_x0 = sub->n;
        for (size_t e = 0; e < sub->n; e++) {
            uint64_t stream = (first + e % copies) * (t->n_in + 1) + t->n_in;
            size_t row = (size_t)(asc_task_uniform(t, stream, k) * (double)from->n_x0);
            memcpy(v->x0 + e * v->size, from->x0 + row * v->size, v->size * sizeof *v->x0);
        }
    }
    return ASC_OK;
}

/* The result's arrays look like the base method's. */
static asc_status take_shape(tunnel *w, const asc_task *sub) {
    asc_ctx *ctx = w->t->ctx;
    asc_attribution *r = w->t->r;
    const asc_attribution *b = sub->r;
    size_t n = b->n_scores;
    r->scores = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *r->scores);
    w->sum = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof(double *));
    w->squares = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof(double *));
    w->elems = asc_calloc(ctx, ASC_MEM_GENERAL, n + 1, sizeof *w->elems);
    if (r->scores == NULL || w->sum == NULL || w->squares == NULL || w->elems == NULL)
        return ASC_RESOURCE_EXHAUSTED;
    r->n_outputs = b->n_outputs;
    r->complete = false;
    for (size_t k = 0; k < n; k++) {
        asc_scores *s = &r->scores[k];
        s->shape = b->scores[k].shape;
        size_t total = (size_t)asc_shape_elems(&s->shape) / sub->n * w->t->n;
        if (w->t->batched) {
            s->shape.dims[0] = (int64_t)w->t->n;
        } else if (sub->n > 1) { /* copies of one example have a dimension of their own */
            s->shape.rank--;
            memmove(s->shape.dims, s->shape.dims + 1, (size_t)s->shape.rank * sizeof *s->shape.dims);
        }
        w->elems[k] = total / w->t->n;
        s->name = asc_strdup_view(ctx, ASC_MEM_GENERAL, asc_view_of(b->scores[k].name));
        s->data = asc_calloc(ctx, ASC_MEM_GENERAL, total + 1, sizeof(double));
        s->error = asc_calloc(ctx, ASC_MEM_GENERAL, total + 1, sizeof(double));
        w->sum[k] = asc_calloc(ctx, ASC_MEM_GENERAL, total + 1, sizeof(double));
        w->squares[k] = asc_calloc(ctx, ASC_MEM_GENERAL, total + 1, sizeof(double));
        r->n_scores = k + 1;
        if (s->name == NULL || s->data == NULL || s->error == NULL || w->sum[k] == NULL ||
            w->squares[k] == NULL)
            return ASC_RESOURCE_EXHAUSTED;
    }
    return ASC_OK;
}

static void accumulate(tunnel *w, const asc_task *sub, size_t first, size_t copies) {
    for (size_t k = 0; k < w->t->r->n_scores; k++) {
        size_t m = w->elems[k];
        for (size_t e = 0; e < sub->n; e++) {
            const double *a = sub->r->scores[k].data + e * m;
            double *s = w->sum[k] + e / copies * m, *q = w->squares[k] + e / copies * m;
            for (size_t i = 0; i < m; i++) {
                s[i] += a[i];
                q[i] += a[i] * a[i];
            }
        }
    }
    for (size_t e = 0; w->delta != NULL && e < sub->r->n_delta && sub->r->n_delta == sub->n; e++)
        w->delta[e / copies * w->samples + first + e % copies] = sub->r->delta[e];
}

static asc_status one_group(tunnel *w, size_t first, size_t copies) {
    asc_task *t = w->t, sub = {0};
    asc_ctx *ctx = t->ctx;
    asc_status st = ASC_OK;
    ASC_TRY(asc_task_expand(t, copies, &sub));
    sub.method = w->base;
    sub.req = &w->req;
    draw(w, &sub, first, copies);
    if (t->req->draw_baselines) ASC_TRY(draw_baselines(w, &sub, first, copies));
    ASC_TRY(w->base->attribute(&sub));
    if (t->r->scores == NULL) ASC_TRY(take_shape(w, &sub));
    if (sub.r->n_delta == sub.n && w->delta == NULL &&
        (w->delta = asc_calloc(ctx, ASC_MEM_GENERAL, w->samples, t->n * sizeof(double))) == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    accumulate(w, &sub, first, copies);
    t->r->n_forward += sub.r->n_forward;
    t->r->n_backward += sub.r->n_backward;
    t->r->converged = t->r->converged && sub.r->converged;
    for (size_t i = 0; i < sub.r->n_notes; i++) ASC_TRY(asc_task_note(t, "%s", sub.r->notes[i]));
done:
    asc_task_deinit(&sub);
    return st;
}

static asc_status finish(tunnel *w, const char *noise) {
    asc_attribution *r = w->t->r;
    double n = (double)w->samples;
    bool square = strcmp(noise, "smoothgrad-sq") == 0, variance = strcmp(noise, "vargrad") == 0;
    for (size_t k = 0; k < r->n_scores; k++) {
        for (size_t i = 0; i < w->elems[k] * w->t->n; i++) {
            double mean = w->sum[k][i] / n, mean_sq = w->squares[k][i] / n,
                   spread = fmax(mean_sq - mean * mean, 0.0);
            r->scores[k].data[i] = square ? mean_sq : variance ? mean_sq - mean * mean : mean;
            /* one standard error of the mean; of the two squares it is not estimated */
            r->scores[k].error[i] = square || variance || w->samples < 2 ? NAN : sqrt(spread / (n - 1.0));
        }
    }
    if (w->delta == NULL) return ASC_OK;
    r->delta = w->delta;
    r->n_delta = w->t->n * w->samples;
    w->delta = NULL;
    return ASC_OK;
}

static asc_status choose_base(tunnel *w) {
    asc_ctx *ctx = w->t->ctx;
    const char *name = w->t->req->base;
    int found = asc_method_find(name);
    if (found >= 0) w->base = asc_methods[found];
    if (w->base == NULL || w->base->attribute == NULL || w->base == w->t->method) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "noise-tunnel: no method '%.60s' to run inside",
                 name != NULL ? name : "");
        return asc_hint(ctx, "name one with base (--base), for example saliency");
    }
    w->req = *w->t->req;
    w->req.method = name;
    if (w->base->needs_site && !w->t->at_sites)
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "%s speaks of inner values: no site was given", name);
    return ASC_OK;
}

static asc_status attribute(asc_task *t) {
    asc_ctx *ctx = t->ctx;
    asc_status st = ASC_OK;
    const char *noise = t->req->noise != NULL ? t->req->noise : "smoothgrad";
    tunnel w = {.t = t, .samples = asc_task_samples(t)};
    size_t size = 1;
    if (strcmp(noise, "smoothgrad") != 0 && strcmp(noise, "smoothgrad-sq") != 0 &&
        strcmp(noise, "vargrad") != 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "noise-tunnel: no kind of average is called '%.40s'", noise);
        return asc_hint(ctx, "smoothgrad, smoothgrad-sq or vargrad");
    }
    ASC_TRY(asc_task_check_stdevs(t));
    ASC_TRY(choose_base(&w));
    ASC_TRY(asc_task_ends(t, false));
    for (size_t k = 0; k < t->n_at; k++) size += t->n * t->at[k].size;
    size_t group = GROUP_ELEMS / size;
    if (group < 1) group = 1;
    for (size_t done = 0; done < w.samples;) {
        size_t b = w.samples - done < group ? w.samples - done : group;
        ASC_TRY(one_group(&w, done, b));
        done += b;
    }
    st = finish(&w, noise);
done:
    for (size_t k = 0; w.sum != NULL && w.squares != NULL && k < t->r->n_scores; k++) {
        asc_free(ctx, w.sum[k]);
        asc_free(ctx, w.squares[k]);
    }
    asc_free(ctx, w.sum);
    asc_free(ctx, w.squares);
    asc_free(ctx, w.elems);
    asc_free(ctx, w.delta);
    return st;
}

/* ---- prompts: around input x gradient, whose noisy copies go together ---- */

enum { PROMPT_SAMPLES = 32 };

static size_t prompt_samples(const asc_job *j) {
    return j->req->samples > 0 ? j->req->samples : PROMPT_SAMPLES;
}

static asc_status run(asc_job *j) { return asc_prompt_sweeps(j, ASC_ROWS_NOISY, NULL, prompt_samples(j)); }

static void price(const asc_job *j, double *n_forward, double *n_gradient) {
    *n_gradient = (double)prompt_samples(j);
    *n_forward = asc_prompt_sweep_values(ASC_ROWS_NOISY, prompt_samples(j));
}

const asc_method asc_method_noise_tunnel = {
    .info =
        {.name = "noise-tunnel",
         .captum = "NoiseTunnel",
         .doc = "another method's scores averaged over noisy copies of the input",
         .formula = "smoothgrad: mean_s a(x + n_s); smoothgrad-sq: mean of a^2; vargrad: mean of a^2 "
                    "minus square of "
                    "the mean",
         .paper = "Smilkov et al., SmoothGrad: removing noise by adding noise, 2017; Adebayo et al., 2018",
         .axioms = "those of the base method that survive an average",
         .cost = "samples times the base method",
         .options = "features, samples, stdevs, seed, layers, output, per-token; nets: base, noise, samples, "
                    "stdevs, "
                    "draw-baselines, and the base method's",
         .differences =
             "all examples see the same noise, so a row does not depend on its neighbours; one standard "
             "error per score; prompts: smoothgrad of input x gradient, noise as a share of the embeddings"},
    .by_gradient = true,
    .per_token = true,
    .stochastic = true,
    .samples = DEFAULT_SAMPLES,
    .attribute = attribute,
    .run = run,
    .price = price,
};
