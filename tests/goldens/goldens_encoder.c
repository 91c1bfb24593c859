/* goldens_encoder.c - text encoders of the zoo: scores of all classes, and attributions of one. Tolerances as
 * in goldens_attr.c: on the cpu device GOLDENS_FACTOR times the recorded f32 noise, or that of the file's
 * logits where a figure's own is smaller by luck; on the reference device 1e-8 of the largest score and the
 * file's 13 digits. */
#include "ascribe/attr.h"
#include "goldens.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX = 4096 };

typedef struct item {
    goldens *g;
    asc_model *m;
    asc_request req;
    int32_t ids[MAX], types[MAX];
    char label[24];
    size_t which; /* case */
    const asc_json *noise;
    double floor; /* largest noise of logits in the file */
} item;

static double scale_of(const asc_json *list) {
    double m = 0.0;
    for (size_t i = 0; i < asc_json_len(list); i++)
        m = fmax(m, fabs(asc_json_num(asc_json_at(list, i), 0.0)));
    return m;
}

static double tolerance(const item *t, const char *key, double scale) {
    if (strcmp(t->g->device, "reference") == 0) return 1e-8 * fmax(scale, 1e-3);
    double noise = asc_json_num(asc_json_get(t->noise, key), 0.0);
    return GOLDENS_FACTOR * fmax(noise, t->floor);
}

static void compare(item *t, const asc_json *want, const double *got, size_t n, const char *key) {
    double tol = tolerance(t, key, scale_of(want));
    if (asc_json_len(want) != n) {
        goldens_fail(t->g, "case %zu, %s: %zu figures, expected %zu", t->which, key, n, asc_json_len(want));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double w = asc_json_num(asc_json_at(want, i), NAN);
        goldens_check(t->g, fabs(w - got[i]) / tol, "case %zu, %s, %zu: %.9g, expected %.9g", t->which, key,
                      i, got[i], w);
    }
}

static void one(item *t, const char *key, double want, double got) {
    double tol = tolerance(t, key, fabs(want));
    goldens_check(t->g, fabs(want - got) / tol, "case %zu, %s: %.9g, expected %.9g", t->which, key, got,
                  want);
}

/* Explains with a method and compares the scores of all tokens. */
static void method(item *t, const char *name, const asc_json *want, const char *key, const asc_json *expected,
                   const char *base_key) {
    asc_result *r = NULL;
    if (want == NULL) return;
    t->req.method = name;
    if (asc_explain(t->m, &t->req, &r) != ASC_OK) {
        goldens_fail(t->g, "case %zu, %s: %s", t->which, name, asc_error_message(t->g->ctx));
        return;
    }
    compare(t, want, r->scores, r->n_prompt, key);
    one(t, "score", asc_json_num(asc_json_get(expected, "score"), NAN), r->value);
    if (base_key != NULL)
        one(t, base_key, asc_json_num(asc_json_get(expected, base_key), NAN), r->baseline_value);
    asc_result_destroy(t->g->ctx, r);
}

static void attributions(item *t, const asc_json *expected) {
    const asc_json *ig = asc_json_get(expected, "ig_gausslegendre_16");
    method(t, "saliency", asc_json_get(expected, "saliency_l2"), "saliency_l2", expected, NULL);
    method(t, "input-x-gradient", asc_json_get(expected, "input_x_gradient"), "input_x_gradient", expected,
           NULL);
    t->req.baseline = ASC_BASELINE_TOKEN;
    t->req.baseline_token = 2;
    method(t, "feature-ablation", asc_json_get(expected, "feature_ablation"), "feature_ablation", expected,
           NULL);
    t->req.rule = "gauss-legendre";
    t->req.steps = 16;
    method(t, "integrated-gradients", asc_json_get(ig, "token_2"), "ig_gausslegendre_16.token_2", expected,
           "score_token_2");
    t->req.baseline = ASC_BASELINE_ZERO;
    method(t, "integrated-gradients", asc_json_get(ig, "zero"), "ig_gausslegendre_16.zero", expected,
           "score_zero");
}

static void run_case(item *t, const asc_json *c) {
    goldens *g = t->g;
    const asc_json *expected = asc_json_get(c, "expected"),
                   *target = asc_json_get(asc_json_get(c, "targets"), "class");
    size_t n = goldens_ids(asc_json_get(c, "input_ids"), t->ids, MAX), n_classes = asc_model_n_classes(t->m);
    size_t n_types = goldens_ids(asc_json_get(c, "token_type_ids"), t->types, MAX);
    const int32_t *types = n_types == n ? t->types : NULL;
    float z[256];
    double logits[256];
    t->noise = asc_json_get(c, "f32_noise");
    if (n_classes > 256 || asc_model_classify(t->m, t->ids, types, n, z) != ASC_OK) {
        goldens_fail(g, "case %zu: %s", t->which, asc_error_message(g->ctx));
        return;
    }
    for (size_t i = 0; i < n_classes; i++) logits[i] = (double)z[i];
    if (strcmp(g->device, "reference") != 0) /* they are read in f32 */
        compare(t, asc_json_get(expected, "logits"), logits, n_classes, "logits");
    if (target == NULL) return;
    snprintf(t->label, sizeof t->label, "%lld", (long long)asc_json_int(target, -1));
    t->req = (asc_request){.struct_size = sizeof t->req,
                           .features = ASC_FEATURES_TOKEN,
                           .output = ASC_OUTPUT_LOGIT,
                           .prompt_ids = t->ids,
                           .n_prompt_ids = n,
                           .prompt_types = types,
                           .label = asc_view_of(t->label)};
    attributions(t, expected);
}

void goldens_encoder(goldens *g, asc_model *m, const asc_json *cases) {
    static item t; /* large; one runner, one thread */
    memset(&t, 0, sizeof t);
    t.g = g;
    t.m = m;
    for (size_t i = 0; i < asc_json_len(cases); i++) {
        double noise =
            asc_json_num(asc_json_get(asc_json_get(asc_json_at(cases, i), "f32_noise"), "logits"), 0.0);
        t.floor = fmax(t.floor, noise);
    }
    for (t.which = 0; t.which < asc_json_len(cases); t.which++) run_case(&t, asc_json_at(cases, t.which));
}
