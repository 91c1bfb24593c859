/* goldens_vision.c - image classifiers of the zoo: scores of all classes, and attributions of one to every
 * pixel and to patches. Tolerances as in goldens_encoder.c; arrays of the file are f32, which the reference's
 * allows for. */
#include "ascribe/attribute.h"
#include "goldens.h"
#include "goldens_array.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct picture {
    goldens *g;
    asc_net *net;
    const asc_json *expected, *noise;
    size_t which;
    double floor; /* largest noise of logits in the file */
    asc_array x;  /* [1,C,H,W] */
    int64_t target[1];
} picture;

static double tolerance(const picture *p, const char *key, double scale) {
    if (strcmp(p->g->device, "reference") == 0) return 6.1e-8 * scale + 1e-11;
    return GOLDENS_FACTOR * fmax(asc_json_num(asc_json_get(p->noise, key), 0.0), p->floor * fmin(1.0, scale));
}

static asc_attribution *attribute(picture *p, const char *method, const double *level, asc_attr_request *q) {
    asc_array base = {.elem = ASC_ELEM_F64, .shape = {0}, .data = level};
    asc_attribution *r = NULL;
    q->struct_size = sizeof *q;
    q->method = method;
    q->inputs = &p->x;
    q->n_inputs = 1;
    q->target = (asc_target){.n_rows = 1, .rank = 1, .index = p->target};
    if (level != NULL) {
        q->baselines = &base;
        q->n_baselines = 1;
    }
    if (asc_attribute(p->net, q, &r) != ASC_OK)
        goldens_fail(p->g, "case %zu, %s: %s", p->which, method, asc_error_message(p->g->ctx));
    q->baselines = NULL;
    return r;
}

/* A method's scores of all pixels against an array of the file. */
static void pixels(picture *p, const char *method, const double *level, const asc_json *want, const char *key,
                   asc_attr_request q) {
    golden_array w;
    double scale = 0.0;
    if (want == NULL || !golden_array_read(want, &w)) return;
    asc_attribution *r = attribute(p, method, level, &q);
    int64_t n = asc_array_count(&w.a);
    for (int64_t i = 0; i < n; i++) {
        double v;
        asc_array_get(&w.a, i, 1, &v);
        scale = fmax(scale, fabs(v));
    }
    if (r != NULL && asc_shape_elems(&r->scores[0].shape) != n)
        goldens_fail(p->g, "%s: another number of scores", key);
    for (int64_t i = 0; r != NULL && i < n; i++) {
        double v;
        asc_array_get(&w.a, i, 1, &v);
        goldens_check(p->g, fabs(v - r->scores[0].data[i]) / tolerance(p, key, scale),
                      "case %zu, %s, element %lld: %.9g, expected %.9g", p->which, key, (long long)i,
                      r->scores[0].data[i], v);
    }
    asc_attribution_destroy(p->g->ctx, r);
    golden_array_free(&w);
}

/* Patches, all of whose pixels stand at 0 together. */
static void patches(picture *p) {
    const asc_json *want = asc_json_get(p->expected, "feature_ablation");
    int64_t rows = (int64_t)asc_json_len(want), cols = (int64_t)asc_json_len(asc_json_at(want, 0));
    int64_t h = p->x.shape.dims[2], w = p->x.shape.dims[3];
    int64_t *ids = calloc((size_t)(h * w), sizeof *ids);
    double zero = 0.0, scale = 0.0;
    if (ids == NULL) abort();
    if (rows > 0 && cols > 0) {
        for (int64_t i = 0; i < h * w; i++) ids[i] = i / w * rows / h * cols + i % w * cols / w;
        asc_array mask = {.elem = ASC_ELEM_I64, .shape = ASC_SHAPE(1, 1, h, w), .data = ids};
        asc_attr_request q = {.masks = &mask, .n_masks = 1};
        asc_attribution *r = attribute(p, "feature-ablation", &zero, &q);
        for (int64_t i = 0; i < rows * cols; i++)
            scale = fmax(scale,
                         fabs(asc_json_num(
                             asc_json_at(asc_json_at(want, (size_t)(i / cols)), (size_t)(i % cols)), 0.0)));
        for (int64_t i = 0; r != NULL && i < h * w; i++) {
            double v = asc_json_num(
                asc_json_at(asc_json_at(want, (size_t)(ids[i] / cols)), (size_t)(ids[i] % cols)), NAN);
            goldens_check(p->g, fabs(v - r->scores[0].data[i]) / tolerance(p, "feature_ablation", scale),
                          "case %zu, patch %lld: %.9g, expected %.9g", p->which, (long long)ids[i],
                          r->scores[0].data[i], v);
        }
        asc_attribution_destroy(p->g->ctx, r);
    }
    free(ids);
}

static void logits(picture *p) {
    const asc_json *want = asc_json_get(p->expected, "logits");
    asc_array got = {0};
    if (asc_net_run(p->net, &p->x, 1, NULL, 1, &got) != ASC_OK) {
        goldens_fail(p->g, "case %zu: %s", p->which, asc_error_message(p->g->ctx));
        return;
    }
    for (size_t i = 0; i < asc_json_len(want); i++) {
        double v = NAN, w = asc_json_num(asc_json_at(want, i), NAN);
        if ((int64_t)i < asc_array_count(&got)) asc_array_get(&got, (int64_t)i, 1, &v);
        goldens_check(p->g, fabs(v - w) / tolerance(p, "logits", 4.0),
                      "case %zu, logit %zu: %.9g, expected %.9g", p->which, i, v, w);
    }
    asc_array_free(p->g->ctx, &got);
}

static void run_case(picture *p, const asc_json *c) {
    golden_array x;
    double zero = 0.0, half = 0.5;
    p->expected = asc_json_get(c, "expected");
    p->noise = asc_json_get(c, "f32_noise");
    if (!golden_array_read(asc_json_get(c, "pixel_values"), &x) || x.a.shape.rank != 3) {
        goldens_fail(p->g, "case %zu: no picture", p->which);
        return;
    }
    p->x = x.a;
    p->x.shape = ASC_SHAPE(1, x.a.shape.dims[0], x.a.shape.dims[1], x.a.shape.dims[2]);
    logits(p);
    const asc_json *target = asc_json_get(asc_json_get(c, "targets"), "class"),
                   *ig = asc_json_get(p->expected, "ig_gausslegendre_16");
    if (target != NULL) {
        asc_attr_request plain = {0}, sign = {.norm = "signed"},
                         rule = {.rule = "gauss-legendre", .steps = 16};
        p->target[0] = asc_json_int(target, 0);
        pixels(p, "saliency", NULL, asc_json_get(p->expected, "gradient"), "gradient", sign);
        pixels(p, "input-x-gradient", NULL, asc_json_get(p->expected, "input_x_gradient"), "input_x_gradient",
               plain);
        pixels(p, "integrated-gradients", &zero, asc_json_get(ig, "zero"), "ig_gausslegendre_16.zero", rule);
        pixels(p, "integrated-gradients", &half, asc_json_get(ig, "half"), "ig_gausslegendre_16.half", rule);
        patches(p);
    }
    golden_array_free(&x);
}

void goldens_vision(goldens *g, asc_net *net, const asc_json *cases) {
    picture p = {.g = g, .net = net};
    for (size_t i = 0; i < asc_json_len(cases); i++) {
        double noise =
            asc_json_num(asc_json_get(asc_json_get(asc_json_at(cases, i), "f32_noise"), "logits"), 0.0);
        p.floor = fmax(p.floor, noise);
    }
    for (p.which = 0; p.which < asc_json_len(cases); p.which++) run_case(&p, asc_json_at(cases, p.which));
}
