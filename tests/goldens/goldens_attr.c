/* goldens_attr.c - attributions of the 135M model, computed in f64 by torch and Captum.
 * Tolerance on the cpu device: GOLDENS_FACTOR times the f32 noise recorded for that figure; where the
 * recorded noise is below a quarter of the file's largest for that method (a floor by luck), the file's
 * largest; in a file that recorded none, what f32 programs are off by on this model (USUAL_*, of the largest
 * score). On the reference device: 1e-8 of the largest score, plus the half unit of the 9 digits the file
 * keeps. */
#include "ascribe/attr.h"
#include "goldens.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX = 8192 };

/* The largest noise of transformers in f32 on four prompts, of the largest score. A layer's scores can all be
 * rounding (the last block's): of 0.05 at least. What a token's removal changes is a difference of two values
 * of some 10: of that at least. */
#define USUAL_VALUE 2e-5
#define USUAL_SALIENCY 1e-4
#define USUAL_TIMES 7e-5
#define USUAL_ABLATION 2e-6
#define USUAL_IG 6e-4
#define USUAL_LAYER 7e-5

/* Largest recorded noise per kind over the file; set by a first pass. */
static struct { double value, logits, saliency, times, ablation, ig, layer; } top;

void goldens_attr_reset(void) { memset(&top, 0, sizeof top); }

static double largest_of(const asc_json *list) {
    double m = 0.0;
    for (size_t i = 0; i < asc_json_len(list); i++) m = fmax(m, asc_json_num(asc_json_at(list, i), 0.0));
    return m;
}

void goldens_attr_floors(goldens *g, const asc_json *line) {
    const asc_json *d = asc_json_get(line, "f32_max_abs_diff");
    (void)g;
    top.value = fmax(top.value, asc_json_num(asc_json_get(d, "value"), 0.0));
    top.logits = fmax(top.logits, asc_json_num(asc_json_get(d, "logits"), 0.0));
    top.saliency = fmax(top.saliency, asc_json_num(asc_json_get(d, "saliency_l2"), 0.0));
    top.times = fmax(top.times, asc_json_num(asc_json_get(d, "input_x_gradient"), 0.0));
    top.ablation = fmax(top.ablation, asc_json_num(asc_json_get(d, "feature_ablation"), 0.0));
    top.ig = fmax(top.ig, largest_of(asc_json_get(d, "ig")));
    top.layer = fmax(top.layer, largest_of(asc_json_get(d, "layer_gradient_x_activation")));
}

static double tolerance(const goldens *g, double floor, double file_floor, double scale, double usual) {
    if (strcmp(g->device, "reference") == 0) return 1e-8 * fmax(scale, 1e-3) + 5e-9 * scale;
    if (!(file_floor > 0.0)) return GOLDENS_FACTOR * usual * fmax(scale, 0.05);
    return GOLDENS_FACTOR * (floor < 0.25 * file_floor ? file_floor : floor);
}

static double scale_of(const asc_json *list) {
    double m = 0.0;
    for (size_t i = 0; i < asc_json_len(list); i++)
        m = fmax(m, fabs(asc_json_num(asc_json_at(list, i), 0.0)));
    return m;
}

static void compare(goldens *g, const asc_json *want, const double *got, double tol, const char *what,
                    const char *name) {
    for (size_t i = 0; i < asc_json_len(want); i++) {
        double w = asc_json_num(asc_json_at(want, i), NAN);
        goldens_check(g, fabs(w - got[i]) / tol, "%s, %s, token %zu: %.9g, expected %.9g", name, what, i,
                      got[i], w);
    }
}

typedef struct row {
    asc_request req;
    int32_t ids[MAX], target[MAX];
    const char *name;
} row;

/* Explains and hands the result over; NULL counts as a failure. */
static asc_result *explain(goldens *g, row *r, const char *method) {
    asc_result *res = NULL;
    r->req.method = method;
    if (asc_explain(g->m, &r->req, &res) != ASC_OK)
        goldens_fail(g, "%s, %s: %s", r->name, method, asc_error_message(g->ctx));
    return res;
}

static void simple(goldens *g, row *r, const asc_json *methods, const asc_json *noise) {
    asc_ctx *ctx = g->ctx;
    const asc_json *want = asc_json_get(methods, "saliency_l2");
    asc_result *res = want != NULL ? explain(g, r, "saliency") : NULL;
    if (res != NULL)
        compare(g, want, res->scores,
                tolerance(g, asc_json_num(asc_json_get(noise, "saliency_l2"), 0.0), top.saliency,
                          scale_of(want), USUAL_SALIENCY),
                "saliency_l2", r->name);
    asc_result_destroy(ctx, res);
    want = asc_json_get(methods, "input_x_gradient");
    res = want != NULL ? explain(g, r, "input-x-gradient") : NULL;
    if (res != NULL)
        compare(g, want, res->scores,
                tolerance(g, asc_json_num(asc_json_get(noise, "input_x_gradient"), 0.0), top.times,
                          scale_of(want), USUAL_TIMES),
                "input_x_gradient", r->name);
    asc_result_destroy(ctx, res);
    want = asc_json_get(methods, "feature_ablation");
    r->req.baseline = ASC_BASELINE_TOKEN;
    r->req.baseline_token = 2;
    res = want != NULL ? explain(g, r, "feature-ablation") : NULL;
    if (res != NULL)
        compare(g, want, res->scores,
                tolerance(g, asc_json_num(asc_json_get(noise, "feature_ablation"), 0.0), top.ablation,
                          top.ablation > 0.0 ? scale_of(want) : fmax(scale_of(want), 10.0), USUAL_ABLATION),
                "feature_ablation", r->name);
    asc_result_destroy(ctx, res);
    r->req.baseline = ASC_BASELINE_AUTO;
}

static void layers(goldens *g, row *r, const asc_json *methods, const asc_json *noise) {
    const asc_json *list = asc_json_get(methods, "layer_gradient_x_activation");
    const asc_json *floors = asc_json_get(noise, "layer_gradient_x_activation");
    for (size_t i = 0; i < asc_json_len(list); i++) {
        const asc_json *one = asc_json_at(list, i), *want = asc_json_get(one, "scores");
        char site[64];
        snprintf(site, sizeof site, "blocks.%lld.out",
                 (long long)asc_json_int(asc_json_get(one, "layer"), 0));
        r->req.site = site;
        asc_result *res = explain(g, r, "input-x-gradient");
        /* the last block's scores are about 1e-8, rounding of a difference: only their own floor makes sense
         */
        if (res != NULL)
            compare(g, want, res->scores,
                    tolerance(g, asc_json_num(asc_json_at(floors, i), 0.0), top.layer, scale_of(want),
                              USUAL_LAYER),
                    site, r->name);
        asc_result_destroy(g->ctx, res);
        r->req.site = NULL;
    }
}

static void rules(goldens *g, row *r, const asc_json *methods, const asc_json *noise) {
    const asc_json *list = asc_json_get(methods, "ig"), *floors = asc_json_get(noise, "ig");
    for (size_t i = 0; i < asc_json_len(list); i++) {
        const asc_json *one = asc_json_at(list, i);
        char rule[64], what[96];
        asc_view name = asc_json_str(asc_json_get(one, "rule")),
                 base = asc_json_str(asc_json_get(one, "baseline"));
        snprintf(rule, sizeof rule, ASC_VIEW_FMT, ASC_VIEW_ARG(name));
        r->req.rule = rule;
        r->req.steps = (size_t)asc_json_int(asc_json_get(one, "n"), 0);
        r->req.baseline = asc_view_eqs(base, "zero") ? ASC_BASELINE_ZERO : ASC_BASELINE_TOKEN;
        r->req.baseline_token = 2;
        for (int compat = 0; compat < 2; compat++) {
            const asc_json *want = asc_json_get(one, compat != 0 ? "captum" : "scores");
            r->req.compat_captum = compat != 0;
            if (want == NULL || (compat != 0 && !asc_view_eqs(name, "riemann_trapezoid") && g->quick))
                continue;
            asc_result *res = explain(g, r, "integrated-gradients");
            double tol =
                tolerance(g, asc_json_num(asc_json_at(floors, i), 0.0), top.ig, scale_of(want), USUAL_IG);
            if (compat != 0)
                tol += 1.4e-5 *
                       scale_of(want); /* Captum rounds its alphas to f32: up to that much of the largest */
            snprintf(what, sizeof what, "ig " ASC_VIEW_FMT " %s%s", ASC_VIEW_ARG(base), rule,
                     compat != 0 ? " (captum)" : "");
            if (res != NULL) compare(g, want, res->scores, tol, what, r->name);
            asc_result_destroy(g->ctx, res);
        }
    }
    r->req.compat_captum = false;
    r->req.rule = NULL;
    r->req.steps = 0;
}

/* The adaptive rule against the integral itself: true error under 1 % of the largest score, and under the
 * error it claims for at least 95 % of the scores. Only baselines that f32 can follow. */
static void limit(goldens *g, row *r, const asc_json *methods) {
    const asc_json *list = asc_json_get(methods, "ig_limit");
    for (size_t i = 0; i < asc_json_len(list); i++) {
        const asc_json *one = asc_json_at(list, i), *want = asc_json_get(one, "scores");
        if (!asc_view_eqs(asc_json_str(asc_json_get(one, "baseline")), "eos")) continue;
        r->req.baseline = ASC_BASELINE_TOKEN;
        r->req.baseline_token = 2;
        asc_result *res = explain(g, r, "integrated-gradients");
        if (res == NULL) continue;
        size_t n = asc_json_len(want), covered = 0;
        for (size_t k = 0; k < n; k++)
            covered += fabs(asc_json_num(asc_json_at(want, k), NAN) - res->scores[k]) <= res->score_errors[k]
                           ? 1
                           : 0;
        compare(g, want, res->scores, 0.01 * scale_of(want), "adaptive integrated gradients", r->name);
        goldens_check(g, (double)covered >= 0.95 * (double)n ? 0.0 : 2.0,
                      "%s: %zu of %zu true errors under the claimed ones", r->name, covered, n);
        goldens_check(g, res->converged ? 0.0 : 2.0, "%s: adaptive integrated gradients did not converge",
                      r->name);
        asc_result_destroy(g->ctx, res);
    }
    r->req.baseline = ASC_BASELINE_AUTO;
}

void goldens_attr(goldens *g, const asc_json *line) {
    static row r; /* large; one runner, one thread */
    char name[64];
    asc_view nv = asc_json_str(asc_json_get(line, "name"));
    const asc_json *methods = asc_json_get(line, "methods"), *noise = asc_json_get(line, "f32_max_abs_diff");
    snprintf(name, sizeof name, ASC_VIEW_FMT, ASC_VIEW_ARG(nv));
    memset(&r, 0, sizeof r);
    r.name = name;
    r.req = (asc_request){.struct_size = sizeof r.req,
                          .features = ASC_FEATURES_TOKEN,
                          .prompt_ids = r.ids,
                          .target_ids = r.target};
    r.req.n_prompt_ids = goldens_ids(asc_json_get(line, "ids"), r.ids, MAX);
    r.req.n_target_ids = goldens_ids(asc_json_get(line, "target_ids"), r.target, MAX);
    r.req.output = asc_view_eqs(asc_json_str(asc_json_get(line, "output")), "logit") ? ASC_OUTPUT_LOGIT
                                                                                     : ASC_OUTPUT_LOGPROB;
    if (asc_json_len(asc_json_get(line, "ids")) > MAX ||
        asc_json_len(asc_json_get(line, "target_ids")) > MAX) {
        goldens_fail(g, "%s: more than %d tokens", name, (int)MAX);
        return;
    }
    asc_result *res = explain(g, &r, "saliency");
    if (res == NULL) return;
    double want = asc_json_num(asc_json_get(line, "value"), NAN);
    double tol =
        tolerance(g, asc_json_num(asc_json_get(noise, "value"), 0.0), top.value, fabs(want), USUAL_VALUE);
    goldens_check(g, fabs(want - res->value) / tol, "%s: value %.9g, expected %.9g", name, res->value, want);
    const asc_json *t5 = asc_json_get(line, "top5");
    for (size_t i = 0; i < asc_json_len(t5) && i < res->n_top; i++)
        goldens_check(g, asc_json_int(asc_json_at(asc_json_at(t5, i), 0), -1) == res->top[i].id ? 0.0 : 2.0,
                      "%s: next token %zu is %d", name, i, res->top[i].id);
    asc_result_destroy(g->ctx, res);
    simple(g, &r, methods, noise);
    layers(g, &r, methods, noise);
    rules(g, &r, methods, noise);
    limit(g, &r, methods);
}
