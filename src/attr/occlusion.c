/* occlusion.c - a window of the baseline slides over each input; an element's score is the mean fall of the
 * value over the windows that cover it. The last window of a dimension is cropped at the border. */
#include "coalition.h"
#include <math.h>
#include <string.h>

/* Windows over one attributed value. */
typedef struct slide {
    int rank;
    int64_t dims[ASC_MAX_RANK], window[ASC_MAX_RANK], stride[ASC_MAX_RANK], count[ASC_MAX_RANK];
    size_t n, first; /* windows, and those of the values before */
    int32_t *cover;  /* [size]: windows over each element */
} slide;

typedef struct slide_job {
    asc_task *t;
    size_t n_out, n; /* windows of all values */
    slide *slides;   /* [n_at] */
} slide_job;

/* Calls do_run(self, first element, length) for every run of elements along the last dimension in window w.
 */
static void each_run(const slide *s, size_t w, void (*do_run)(void *self, size_t first, size_t n),
                     void *self) {
    int64_t lo[ASC_MAX_RANK], hi[ASC_MAX_RANK], at[ASC_MAX_RANK];
    for (int d = 0; d < s->rank;
         d++) { /* the first dimension moves fastest, as in Captum; order does not matter */
        int64_t k = (int64_t)(w % (size_t)s->count[d]);
        w /= (size_t)s->count[d];
        lo[d] = at[d] = k * s->stride[d];
        hi[d] = lo[d] + s->window[d] < s->dims[d] ? lo[d] + s->window[d] : s->dims[d];
    }
    int last = s->rank - 1;
    for (;;) {
        size_t first = 0;
        for (int d = 0; d < s->rank; d++) first = first * (size_t)s->dims[d] + (size_t)at[d];
        do_run(self, first, last >= 0 ? (size_t)(hi[last] - lo[last]) : 1);
        int d = last - 1;
        for (; d >= 0; d--) {
            if (++at[d] < hi[d]) break;
            at[d] = lo[d];
        }
        if (d < 0) return;
    }
}

typedef struct hide {
    const double *x0;
    double *out;
} hide;

static void do_hide(void *self, size_t first, size_t n) {
    const hide *h = self;
    for (size_t i = first; i < first + n; i++) h->out[i] = h->x0 != NULL ? h->x0[i] : 0.0;
}

typedef struct add {
    double by, *to;
} add;

static void do_add(void *self, size_t first, size_t n) {
    const add *a = self;
    for (size_t i = first; i < first + n; i++) a->to[i] += a->by;
}

static void do_count(void *self, size_t first, size_t n) {
    int32_t *cover = self;
    for (size_t i = first; i < first + n; i++) cover[i]++;
}

static size_t slide_of(const slide_job *j, size_t window) {
    size_t k = j->t->n_at - 1;
    while (window < j->slides[k].first) k--;
    return k;
}

static size_t example(void *self, size_t row) { return row / ((slide_job *)self)->n; }

static void fill(void *self, size_t row, size_t var, double *out) {
    const slide_job *j = self;
    const asc_var *v = &j->t->at[var];
    size_t e = row / j->n, w = row % j->n;
    memcpy(out, asc_var_row(j->t, v, e), v->size * sizeof *out);
    if (slide_of(j, w) != var) return;
    hide h = {.x0 = asc_var_baseline_row(j->t, v, e), .out = out};
    each_run(&j->slides[var], w - j->slides[var].first, do_hide, &h);
}

static asc_status sink(void *self, size_t row, const asc_row_result *x) {
    slide_job *j = self;
    size_t e = row / j->n, w = row % j->n, k = slide_of(j, w), size = j->t->at[k].size;
    asc_scores *s = &j->t->r->scores[k];
    for (size_t o = 0; o < j->n_out; o++) {
        size_t eo = e * j->n_out + o;
        double value = j->t->r->value[eo];
        add sum = {.by = value - x->f[o], .to = s->data + eo * size};
        add noise = {.by = asc_task_value_noise(j->t, fmax(fabs(value), fabs(x->f[o]))),
                     .to = s->error + eo * size};
        each_run(&j->slides[k], w - j->slides[k].first, do_add, &sum);
        each_run(&j->slides[k], w - j->slides[k].first, do_add, &noise);
    }
    return ASC_OK;
}

/* Windows of attributed value k; `at` is where its entries of window and stride begin. */
static asc_status plan(const asc_task *t, size_t k, size_t at, slide *s) {
    const asc_var *v = &t->at[k];
    s->rank = v->shape.rank;
    s->n = 1;
    for (int d = 0; d < s->rank; d++) {
        int64_t size = v->shape.dims[d], w = t->req->window[at + (size_t)d];
        int64_t step = t->req->stride != NULL ? t->req->stride[at + (size_t)d] : 1;
        if (w < 1 || w > size) {
            return ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                            "window: %lld in dimension %d of '%s', which has %lld elements", (long long)w, d,
                            v->name, (long long)size);
        }
        if (step < 1 || (step > w && w != size)) {
            ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                     "stride: %lld in dimension %d of '%s', where the window is %lld", (long long)step, d,
                     v->name, (long long)w);
            return asc_hint(t->ctx,
                            "a stride is at least 1 and at most the window, or elements would be skipped");
        }
        s->dims[d] = size;
        s->window[d] = w;
        s->stride[d] = step;
        s->count[d] = (size - w + step - 1) / step + 1;
        if (!asc_mul_size(s->n, (size_t)s->count[d], &s->n)) {
            return ASC_FAIL(t->ctx, ASC_RESOURCE_EXHAUSTED, "window: too many positions over '%s'", v->name);
        }
    }
    if (v->size == 0) s->n = 0;
    return ASC_OK;
}

static asc_status plan_all(slide_job *j) {
    asc_task *t = j->t;
    size_t want = 0, at = 0;
    for (size_t k = 0; k < t->n_at; k++) want += (size_t)t->at[k].shape.rank;
    if (t->req->window == NULL || t->req->n_window != want) {
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT,
                 "window: %zu entries, but the attributed values have %zu dimensions",
                 t->req->window != NULL ? t->req->n_window : 0, want);
        return asc_hint(t->ctx, "give the size of the window in every dimension behind the batch");
    }
    for (size_t k = 0; k < t->n_at; k++) {
        slide *s = &j->slides[k];
        asc_status st = plan(t, k, at, s);
        if (st != ASC_OK) return st;
        at += (size_t)s->rank;
        s->first = j->n;
        if (!asc_add_size(j->n, s->n, &j->n)) {
            return ASC_FAIL(t->ctx, ASC_RESOURCE_EXHAUSTED, "window: too many positions");
        }
        s->cover = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->at[k].size + 1, sizeof *s->cover);
        if (s->cover == NULL) return ASC_RESOURCE_EXHAUSTED;
        for (size_t w = 0; w < s->n; w++) each_run(s, w, do_count, s->cover);
    }
    return ASC_OK;
}

/* Sums over windows become means; each window's rounding error is bounded, and so is their mean. */
static void divide(slide_job *j) {
    asc_attribution *r = j->t->r;
    r->error_bound = 0.0;
    for (size_t k = 0; k < j->t->n_at; k++) {
        size_t size = j->t->at[k].size;
        for (size_t i = 0; i < j->t->n * j->n_out * size; i++) {
            double by = (double)j->slides[k].cover[i % size];
            r->scores[k].data[i] /= by;
            r->scores[k].error[i] /= by;
            r->error_bound = fmax(r->error_bound, r->scores[k].error[i]);
        }
    }
}

static asc_status attribute(asc_task *t) {
    slide_job j = {.t = t};
    asc_status st;
    j.slides = asc_calloc(t->ctx, ASC_MEM_GENERAL, t->n_at > 0 ? t->n_at : 1, sizeof *j.slides);
    if (j.slides == NULL) return ASC_RESOURCE_EXHAUSTED;
    ASC_TRY(asc_coalition_begin(t, &j.n_out)); /* sites learn their shapes here */
    ASC_TRY(plan_all(&j));
    ASC_TRY(asc_task_make_scores(t, j.n_out, true));
    size_t n_rows;
    if (!asc_mul_size(t->n, j.n, &n_rows)) {
        st = ASC_FAIL(t->ctx, ASC_RESOURCE_EXHAUSTED, "window: too many positions");
        goto done;
    }
    asc_rows rows = {.n = n_rows, .self = &j, .example = example, .fill = fill};
    asc_pass pass = {
        .rows = &rows, .replace_sites = t->at_sites, .what = "windows", .self = &j, .sink = sink};
    ASC_TRY(asc_task_run(t, &pass));
    divide(&j);
    t->r->converged = true;
done:
    for (size_t k = 0; k < t->n_at; k++) asc_free(t->ctx, j.slides[k].cover);
    asc_free(t->ctx, j.slides);
    return st;
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    double total = 0.0;
    size_t at = 0;
    for (size_t k = 0; k < t->n_at; k++) {
        double n = 1.0;
        for (int d = 0; d < t->at[k].shape.rank; d++, at++) {
            if (t->req->window == NULL || at >= t->req->n_window) continue;
            int64_t step = t->req->stride != NULL ? t->req->stride[at] : 1, size = t->at[k].shape.dims[d];
            if (step > 0 && t->req->window[at] <= size) {
                n *= (double)((size - t->req->window[at] + step - 1) / step + 1);
            }
        }
        total += n;
    }
    *n_forward = total + 1.0;
    *n_gradient = 0.0;
}

const asc_method asc_method_occlusion = {
    .info = {.name = "occlusion",
             .captum = "Occlusion",
             .doc =
                 "a window of the baseline slides over the input; how much the output falls where it covers",
             .formula = "score_i = mean over windows w that cover i of f(x) - f(x with w at the baseline)",
             .paper = "Zeiler and Fergus, Visualizing and Understanding Convolutional Networks, ECCV 2014",
             .axioms = "dummy (an element no window of which changes the output scores 0)",
             .cost = "windows + 1 forward passes",
             .options = "window, stride (default 1), baselines, at",
             .differences = "works at layers too; several explained numbers keep their dimension"},
    .takes_integers = true,
    .attribute = attribute,
    .price_rows = price_rows,
};
