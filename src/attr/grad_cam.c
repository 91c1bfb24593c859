/* grad_cam.c - class activation maps: a site's channels weighted by their mean gradients. */
#include "method.h"
#include "task.h"
#include <math.h>
#include <string.h>

/* Scores of one example: v's dimensions are [channels, positions..]; without positions plain gradient times
 * value. */
static void one_map(const asc_task *t, const asc_var *v, const double *y, const double *g, double *out) {
    size_t channels = v->shape.rank > 0 ? (size_t)v->shape.dims[0] : 1, positions = v->size / channels;
    for (size_t c = 0; c < channels; c++) {
        double w = 0.0;
        for (size_t i = 0; i < positions; i++) w += g[c * positions + i];
        w /= (double)positions;
        double *to = t->req->keep_channels ? out + c * positions : out;
        for (size_t i = 0; i < positions; i++) to[i] += w * y[c * positions + i];
    }
    size_t n = t->req->keep_channels ? v->size : positions;
    for (size_t i = 0; t->req->relu && i < n; i++) out[i] = fmax(out[i], 0.0);
}

static asc_status keep(void *self, size_t row, const asc_row_result *x) {
    asc_task *t = self;
    t->r->value[row] = x->f[0];
    for (size_t k = 0; k < t->n_at; k++) {
        asc_scores *s = &t->r->scores[k];
        size_t n = (size_t)asc_shape_elems(&s->shape) / t->n;
        one_map(t, &t->at[k], x->y[k], x->g[k], s->data + row * n);
    }
    asc_task_row_errors(t, row);
    return ASC_OK;
}

static asc_status attribute(asc_task *t) {
    asc_status st = asc_task_prepare(t, true);
    if (st != ASC_OK) return st;
    for (size_t k = 0; k < t->n_at && !t->req->keep_channels; k++) { /* the sum leaves one channel */
        int channel = t->batched ? 1 : 0;
        if (t->r->scores[k].shape.rank > channel) t->r->scores[k].shape.dims[channel] = 1;
    }
    return asc_task_at_input(t, NULL, NULL, t, keep);
}

const asc_method asc_method_grad_cam = {
    .info =
        {.name = "grad-cam",
         .captum = "LayerGradCam",
         .doc =
             "where a convolution layer's channels, weighted by their mean gradients, speak for the target",
         .formula = "score_p = sum_c (mean_q d f / d y_cq) y_cp",
         .paper = "Selvaraju et al., Grad-CAM: Visual Explanations from Deep Networks, ICCV 2017",
         .axioms = "none",
         .cost = "1 forward and 1 backward pass",
         .options = "at, relu, keep-channels, target",
         .differences =
             "sites of one dimension give gradient times value for each channel summed, as Captum does"},
    .by_gradient = true,
    .needs_site = true,
    .not_on_prompts = "needs the maps of a convolution",
    .attribute = attribute,
    .price_rows = asc_price_one_gradient,
};
