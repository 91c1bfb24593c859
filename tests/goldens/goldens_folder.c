/* goldens_folder.c - tiny models as Hugging Face folders, with logits, continuations and attributions that
 * transformers, torch and Captum computed in f64. Tolerances: on the cpu device GOLDENS_FACTOR times the f32
 * noise that the file recorded, the largest of its cases for each kind of figure, and no less than that of
 * the logits (single ones are small by luck); on the reference device the rounding of logits to f32, and 1e-8
 * of the largest score. */
#include "ascribe/attr.h"
#include "file.h"
#include "goldens.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 8192 };

static double tolerance(const goldens *g, const asc_json *cases, const char *key, double scale) {
    if (strcmp(g->device, "reference") == 0) return 1e-8 * scale + 1e-11;
    return GOLDENS_FACTOR * fmax(goldens_noise(cases, key), goldens_noise(cases, "logits"));
}

static double largest(const asc_json *list) {
    double m = 0.0;
    for (size_t i = 0; i < asc_json_len(list); i++)
        m = fmax(m, fabs(asc_json_num(asc_json_at(list, i), 0.0)));
    return m;
}

static void scores(goldens *g, const asc_json *cases, size_t c, asc_model *m, asc_request *r,
                   const char *method, const asc_json *want, const char *key, const asc_json *at_base) {
    asc_result *res = NULL;
    if (want == NULL) return;
    r->method = method;
    if (asc_explain(m, r, &res) != ASC_OK) {
        goldens_fail(g, "case %zu, %s: %s", c, key, asc_error_message(g->ctx));
        return;
    }
    double tol = tolerance(g, cases, key, largest(want));
    goldens_check(g, res->n_features == asc_json_len(want) ? 0.0 : 2.0, "case %zu, %s: %zu scores", c, key,
                  res->n_features);
    for (size_t i = 0; i < asc_json_len(want) && i < res->n_features; i++) {
        double w = asc_json_num(asc_json_at(want, i), NAN);
        goldens_check(g, fabs(w - res->scores[i]) / tol, "case %zu, %s, token %zu: %.10g, expected %.10g", c,
                      key, i, res->scores[i], w);
    }
    double base = asc_json_num(at_base, NAN);
    if (at_base != NULL)
        goldens_check(g, fabs(base - res->baseline_value) / tolerance(g, cases, "score", fabs(base)),
                      "case %zu, %s, value at the baseline: %.10g, expected %.10g", c, key,
                      res->baseline_value, base);
    asc_result_destroy(g->ctx, res);
}

static void attributions(goldens *g, const asc_json *cases, size_t c, asc_model *m) {
    static int32_t ids[MAX], target[MAX];
    const asc_json *k = asc_json_at(cases, c), *e = asc_json_get(k, "expected");
    const asc_json *ig = asc_json_get(e, "ig_gausslegendre_16");
    asc_request r = {.struct_size = sizeof r,
                     .features = ASC_FEATURES_TOKEN,
                     .prompt_ids = ids,
                     .target_ids = target,
                     .output = ASC_OUTPUT_LOGPROB};
    r.n_prompt_ids = goldens_ids(asc_json_get(k, "input_ids"), ids, MAX);
    r.n_target_ids = goldens_ids(asc_json_get(asc_json_get(k, "targets"), "token_ids"), target, MAX);
    if (r.n_target_ids == 0) return;
    asc_result *res = NULL;
    r.method = "saliency";
    double want = asc_json_num(asc_json_get(e, "score"), NAN);
    if (asc_explain(m, &r, &res) == ASC_OK)
        goldens_check(g, fabs(want - res->value) / tolerance(g, cases, "score", fabs(want)),
                      "case %zu, score: %.10g, expected %.10g", c, res->value, want);
    asc_result_destroy(g->ctx, res);
    scores(g, cases, c, m, &r, "saliency", asc_json_get(e, "saliency_l2"), "saliency_l2", NULL);
    scores(g, cases, c, m, &r, "input-x-gradient", asc_json_get(e, "input_x_gradient"), "input_x_gradient",
           NULL);
    r.rule = "gausslegendre";
    r.steps = 16;
    r.baseline = ASC_BASELINE_ZERO;
    scores(g, cases, c, m, &r, "integrated-gradients", asc_json_get(ig, "zero"), "ig_gausslegendre_16.zero",
           asc_json_get(e, "score_zero"));
    r.baseline = ASC_BASELINE_TOKEN;
    r.baseline_token = 2;
    scores(g, cases, c, m, &r, "integrated-gradients", asc_json_get(ig, "token_2"),
           "ig_gausslegendre_16.token_2", asc_json_get(e, "score_token_2"));
    r.rule = NULL;
    r.steps = 0;
    scores(g, cases, c, m, &r, "feature-ablation", asc_json_get(e, "feature_ablation"), "feature_ablation",
           NULL);
}

/* Whether the case file lets the folder be refused, and whether it must be. */
static bool may_fail(asc_view e) {
    return e.ptr != NULL &&
           (asc_view_starts(e, asc_view_of("error")) || asc_view_eqs(e, "match-or-unsupported"));
}

/* A folder that should be refused may also be refused when it is first run: weights are read no sooner. */
static asc_status try_to_run(asc_model *m, const asc_json *cases) {
    static int32_t ids[MAX];
    size_t n = goldens_ids(asc_json_get(asc_json_at(cases, 0), "input_ids"), ids, MAX);
    if (n == 0) ids[n++] = 1;
    float *out = calloc((size_t)asc_model_get_info(m).n_vocab + 1, sizeof *out);
    if (out == NULL) abort();
    asc_status st = asc_model_logits(m, ids, n, 1, out);
    free(out);
    return st;
}

bool goldens_folder(goldens *g, const char *folder) {
    const asc_tokenize_options o = {.struct_size = sizeof o, .add_bos_eos = true, .parse_special = true};
    char path[4200];
    char *text = NULL;
    size_t len = 0;
    asc_json *root = NULL;
    asc_model *m = NULL;
    snprintf(path, sizeof path, "%s/case.json", folder);
    if (asc_file_read(g->ctx, path, (size_t)1 << 28, &text, &len) != ASC_OK ||
        goldens_parse(g->ctx, text, len, &root) != ASC_OK) {
        goldens_fail(g, "%s", asc_error_message(g->ctx));
        asc_free(g->ctx, text);
        return true;
    }
    asc_view expect = asc_json_str(asc_json_get(root, "expect"));
    const asc_json *cases = asc_json_get(root, "cases");
    bool causal = asc_view_eqs(asc_json_str(asc_json_get(root, "task")), "causal-lm");
    bool texts_in = asc_view_eqs(asc_json_str(asc_json_get(root, "task")), "sequence-classification");
    bool images = asc_view_eqs(asc_json_str(asc_json_get(root, "task")), "image-classification");
    asc_net *net = NULL;
    long warnings = g->warnings;
    asc_status st = images ? asc_vision_open(g->ctx, folder, &net) : asc_model_open(g->ctx, folder, NULL, &m);
    if (st == ASC_OK && causal && may_fail(expect)) st = try_to_run(m, cases);
    if (st != ASC_OK && may_fail(expect)) {
        goldens_check(g, asc_error_message(g->ctx)[0] != '\0' ? 0.0 : 2.0, "refused without a reason");
    } else if (st != ASC_OK) {
        goldens_fail(g, "%s", asc_error_message(g->ctx));
    } else if (asc_view_eqs(expect, "error")) {
        goldens_fail(g, "opens and runs, though it should be refused");
    } else if (asc_view_eqs(expect, "error-or-warning")) {
        goldens_check(g, g->warnings != warnings ? 0.0 : 2.0, "opens without a warning");
    } else if (causal) {
        for (size_t i = 0; i < asc_json_len(cases); i++) {
            goldens_logits(g, m, cases, i);
            attributions(g, cases, i, m);
        }
        goldens_texts(g, m, asc_json_get(root, "text_cases"), "input_ids", &o);
    } else if (texts_in) {
        goldens_encoder(g, m, cases);
        goldens_texts(g, m, asc_json_get(root, "text_cases"), "input_ids", &o);
    } else if (images) {
        goldens_vision(g, net, cases);
    }
    asc_net_close(net);
    asc_model_close(m);
    asc_json_free(root);
    asc_free(g->ctx, text);
    return causal || texts_in || images || may_fail(expect);
}
