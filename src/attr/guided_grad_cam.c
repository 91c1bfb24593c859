/* guided_grad_cam.c - Grad-CAM's map of a site, stretched to the input and multiplied with Guided Backprop.
 */
#include "method.h"
#include "ruled_pass.h"
#include <math.h>
#include <string.h>

/* The site's map, [n, positions]; its shape is known when the first row arrives. */
typedef struct map {
    asc_task *t;     /* attributes to the site */
    asc_shape shape; /* of the positions */
    size_t size;
    double *data;
} map;

static asc_shape positions(const asc_shape *s) {
    asc_shape p = {.rank = s->rank - 1};
    if (s->rank > 0) memcpy(p.dims, s->dims + 1, (size_t)p.rank * sizeof *p.dims);
    return p;
}

static asc_status make_map(map *m) {
    const asc_var *v = &m->t->at[0];
    if (v->shape.rank < 2)
        return ASC_FAIL(m->t->ctx, ASC_INVALID_ARGUMENT, "guided-grad-cam: site '%.60s' has no positions",
                        v->name);
    m->shape = positions(&v->shape);
    m->size = (size_t)asc_shape_elems(&m->shape);
    m->data = asc_calloc(m->t->ctx, ASC_MEM_GENERAL, m->t->n * m->size, sizeof *m->data);
    return m->data == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
}

/* relu(sum_c (mean_q d f / d y_cq) y_cp): the maps of grad-cam, of what speaks for the target. */
static asc_status keep_map(void *self, size_t row, const asc_row_result *x) {
    map *m = self;
    const asc_var *v = &m->t->at[0];
    asc_status st = m->data != NULL ? ASC_OK : make_map(m);
    if (st != ASC_OK) return st;
    const size_t channels = v->size / m->size;
    double *out = m->data + row * m->size;
    m->t->r->value[row] = x->f[0];
    for (size_t c = 0; c < channels; c++) {
        double w = 0.0;
        for (size_t i = 0; i < m->size; i++) w += x->g[0][c * m->size + i];
        for (size_t i = 0; i < m->size; i++) out[i] += w / (double)m->size * x->y[0][c * m->size + i];
    }
    for (size_t i = 0; i < m->size; i++) out[i] = fmax(out[i], 0.0);
    return ASC_OK;
}

/* Position o of `to` along an axis that has `from` values: the two neighbours and the weight of the second.
 * Nearest: the value whose cell begins at or before it; linear: cells are compared by their middles, the ends
 * are continued. */
static double neighbours(int64_t o, int64_t from, int64_t to, bool linear, int64_t *a, int64_t *b) {
    const double scale = (double)from / (double)to;
    double at = linear ? fmax(((double)o + 0.5) * scale - 0.5, 0.0) : floor((double)o * scale);
    *a = (int64_t)at < from - 1 ? (int64_t)at : from - 1;
    *b = *a < from - 1 ? *a + 1 : *a;
    return linear ? at - (double)*a : 0.0;
}

/* The map at position `at` of the input's positions. */
static double sample(const double *data, const asc_shape *from, const asc_shape *to, const int64_t *at,
                     bool linear) {
    double sum = 0.0;
    for (int corner = 0; corner < 1 << from->rank; corner++) {
        double w = 1.0;
        int64_t index = 0;
        for (int k = 0; k < from->rank; k++) {
            int64_t a, b;
            const double second = neighbours(at[k], from->dims[k], to->dims[k], linear, &a, &b);
            const bool far = (corner >> k & 1) != 0;
            w *= far ? second : 1.0 - second;
            index = index * from->dims[k] + (far ? b : a);
        }
        if (w != 0.0) sum += w * data[index];
    }
    return sum;
}

static void multiply(const map *m, const asc_var *v, asc_scores *s, bool linear) {
    const asc_shape to = positions(&v->shape);
    const size_t n = (size_t)asc_shape_elems(&to), channels = v->size / n;
    for (size_t e = 0; e < m->t->n; e++) {
        int64_t at[ASC_MAX_RANK] = {0};
        for (size_t i = 0; i < n; i++) {
            const double w = sample(m->data + e * m->size, &m->shape, &to, at, linear);
            for (size_t c = 0; c < channels; c++) {
                const size_t k = e * v->size + c * n + i;
                s->data[k] *= w;
                s->error[k] *= w;
            }
            for (int k = to.rank - 1; k >= 0 && ++at[k] == to.dims[k]; k--) at[k] = 0;
        }
    }
}

/* The layer: neuron.value, with scores of the inputs anyway; or `at`. */
static asc_status find_site(asc_task *t, asc_var *out) {
    const char *name = t->req->neuron.value;
    if (name == NULL && t->at_sites && t->n_at == 1) name = t->at[0].name;
    if (name == NULL) {
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "guided-grad-cam needs one site, a convolution's values");
        return asc_hint(t->ctx, "name it (at, or the unit's value); ascribe inspect lists the sites");
    }
    const int64_t s = asc_net_find_site(t->net, asc_view_of(name));
    if (s < 0) return ASC_NOT_FOUND;
    *out = (asc_var){.name = t->net->sites[s], .input = -1, .site = s, .elem = ASC_ELEM_F32};
    return ASC_OK;
}

static asc_status check(asc_task *t, bool *linear) {
    const char *resize = t->req->resize;
    *linear = resize != NULL && strcmp(resize, "bilinear") == 0;
    if (resize != NULL && !*linear && strcmp(resize, "nearest") != 0) {
        ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "guided-grad-cam: no resize '%.40s'", resize);
        return asc_hint(t->ctx, "nearest (the default) or bilinear");
    }
    return t->n_in > 0 ? ASC_OK
                       : ASC_FAIL(t->ctx, ASC_INVALID_ARGUMENT, "guided-grad-cam: no input takes part");
}

/* An input that is no picture of the site's kind: an error; an empty array where Captum's numbers are wanted.
 */
static asc_status no_picture(asc_task *t, const asc_var *v, const asc_var *site, asc_scores *s) {
    if (!t->req->compat_captum)
        return ASC_FAIL(
            t->ctx, ASC_INVALID_ARGUMENT,
            "guided-grad-cam: input '%.60s' and site '%.60s' have different numbers of dimensions", v->name,
            site->name);
    s->shape = ASC_SHAPE(0);
    return asc_task_note(t, "input '%.60s' has no scores: its positions are not those of the site", v->name);
}

static asc_status attribute(asc_task *t) {
    asc_status st = ASC_OK;
    asc_var site = {0};
    asc_task outer = *t, inner = *t; /* the same examples, attributed to the site, and to the inputs */
    map m = {.t = &outer};
    bool linear;
    asc_rule_options o;
    asc_rules rules = {0};
    ASC_TRY(check(t, &linear));
    ASC_TRY(find_site(t, &site));
    outer.at = &site;
    inner.at = t->in;
    outer.n_at = 1;
    inner.n_at = t->n_in;
    outer.at_sites = true;
    inner.at_sites = false;
    ASC_TRY(asc_task_rule_options(t, &o));
    ASC_TRY(asc_rules_init_guided(t->ctx, &o, &rules));
    ASC_TRY(asc_task_ruled_gradient(&inner, &rules)); /* both fill this task's result */
    ASC_TRY(asc_task_at_input(&outer, NULL, NULL, &m, keep_map));
    for (size_t k = 0; k < t->n_in && st == ASC_OK; k++) {
        if (t->in[k].shape.rank == site.shape.rank) {
            multiply(&m, &t->in[k], &t->r->scores[k], linear);
        } else {
            st = no_picture(t, &t->in[k], &site, &t->r->scores[k]);
        }
    }
done:
    asc_free(t->ctx, m.data);
    asc_rules_deinit(&rules);
    return st;
}

static void price_rows(const asc_task *t, double *n_forward, double *n_gradient) {
    (void)t;
    *n_forward = 0.0;
    *n_gradient = 2.0;
}

const asc_method asc_method_guided_grad_cam = {
    .info = {.name = "guided-grad-cam",
             .captum = "GuidedGradCam",
             .doc = "Guided Backprop where a layer's Grad-CAM map says it matters",
             .formula = "score_cp = guided_cp * max(0, grad-cam stretched to the input)_p",
             .paper = "Selvaraju et al., Grad-CAM: Visual Explanations from Deep Networks, ICCV 2017",
             .axioms = "none",
             .cost = "2 forward and 2 backward passes",
             .options = "at or neuron (the layer), resize, target, compat",
             .differences =
                 "an input that is no picture of the site's kind is an error, not an empty result"},
    .by_gradient = true,
    .not_on_prompts = "needs the maps of a convolution",
    .attribute = attribute,
    .price_rows = price_rows,
};
