/* goldens_minilm.c - attributions of a cosine on all-MiniLM-L6-v2, computed in f64 by torch and Captum.
 * Tolerances as in goldens_attr.c: on the cpu device GOLDENS_FACTOR times the recorded f32 noise, or the
 * file's largest of that figure where a line's own is small by luck; on the reference device 1e-8 of the
 * largest score and the half unit of the file's 9 digits. The model is the folder that fetch-minilm.sh makes
 * (ASC_MINILM). */
#include "ascribe/attr.h"
#include "goldens.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 1024, WIDTH = 384 };

static struct { double cosine, embedding, saliency, times, ablation, ig; } top;

static double largest_of(const asc_json *list) {
    double m = asc_json_typeof(list) == ASC_JSON_ARRAY ? 0.0 : asc_json_num(list, 0.0);
    for (size_t i = 0; i < asc_json_len(list); i++)
        m = fmax(m, fabs(asc_json_num(asc_json_at(list, i), 0.0)));
    return m;
}

void goldens_minilm_reset(void) { memset(&top, 0, sizeof top); }

void goldens_minilm_floors(goldens *g, const asc_json *line) {
    const asc_json *d = asc_json_get(line, "f32_max_abs_diff");
    (void)g;
    top.cosine = fmax(top.cosine, largest_of(asc_json_get(d, "cosine")));
    top.embedding = fmax(top.embedding, largest_of(asc_json_get(d, "embedding_a")));
    top.saliency = fmax(top.saliency, largest_of(asc_json_get(d, "saliency_l2")));
    top.times = fmax(top.times, largest_of(asc_json_get(d, "input_x_gradient")));
    top.ablation = fmax(top.ablation, largest_of(asc_json_get(d, "feature_ablation")));
    top.ig = fmax(top.ig, largest_of(asc_json_get(d, "ig")));
}

static double tolerance(const goldens *g, double floor, double scale) {
    if (strcmp(g->device, "reference") == 0) return 1e-8 * fmax(scale, 1e-3) + 5e-9 * scale;
    /* a file that recorded none: twice the largest of three sentences in f32, of the largest score */
    return GOLDENS_FACTOR * (floor > 0.0 ? floor : 4e-6 * scale);
}

static void compare(goldens *g, const asc_json *want, const double *got, size_t n, double floor,
                    const char *what) {
    double tol = tolerance(g, floor, largest_of(want));
    if (asc_json_len(want) > n) goldens_fail(g, "%s: %zu figures", what, n);
    for (size_t i = 0; i < asc_json_len(want) && i < n; i++) {
        double w = asc_json_num(asc_json_at(want, i), NAN);
        goldens_check(g, fabs(w - got[i]) / tol, "%s, %zu: %.9g, expected %.9g", what, i, got[i], w);
    }
}

/* The scores of a method for the tokens of sentence a. */
static void method(goldens *g, asc_request *q, const char *name, const asc_json *want, double floor,
                   const char *what, double cosine) {
    asc_result *r = NULL;
    if (want == NULL) return;
    q->method = name;
    if (asc_explain(g->minilm, q, &r) != ASC_OK) {
        goldens_fail(g, "%s: %s", what, asc_error_message(g->ctx));
        return;
    }
    compare(g, want, r->scores, r->n_prompt, floor, what);
    goldens_check(g, fabs(r->value - cosine) / tolerance(g, top.cosine, fabs(cosine)),
                  "%s: cosine %.9g, expected %.9g", what, r->value, cosine);
    asc_result_destroy(g->ctx, r);
}

bool goldens_minilm_open(goldens *g) {
    const char *folder = getenv("ASC_MINILM");
    if (folder == NULL || folder[0] == '\0') folder = "models/all-MiniLM-L6-v2";
    if (g->minilm != NULL) return true;
    if (asc_model_open(g->ctx, folder, NULL, &g->minilm) == ASC_OK) return true;
    snprintf(g->first, sizeof g->first, "%.300s (scripts/fetch-minilm.sh, ASC_MINILM)",
             asc_error_message(g->ctx));
    return false;
}

void goldens_minilm(goldens *g, const asc_json *line) {
    static int32_t ids[MAX];
    static double embedding[WIDTH], rows[3 * WIDTH];
    char what[160];
    asc_view name = asc_json_str(asc_json_get(line, "name"));
    const asc_json *m = asc_json_get(line, "methods"), *ig = asc_json_get(m, "ig");
    double cosine = asc_json_num(asc_json_get(line, "cosine"), NAN);
    size_t n = goldens_ids(asc_json_get(line, "ids_a"), ids, MAX);
    asc_request q = {.struct_size = sizeof q,
                     .features = ASC_FEATURES_TOKEN,
                     .prompt = asc_json_str(asc_json_get(line, "sentence_a")),
                     .similar_to = asc_json_str(asc_json_get(line, "sentence_b"))};
    snprintf(what, sizeof what, ASC_VIEW_FMT ", embedding", ASC_VIEW_ARG(name));
    if (asc_model_embedding_width(g->minilm) != WIDTH ||
        asc_model_embed_text(g->minilm, ids, n, embedding) != ASC_OK) {
        goldens_fail(g, "%s: %s", what, asc_error_message(g->ctx));
        return;
    }
    compare(g, asc_json_get(line, "embedding_a"), embedding, WIDTH, top.embedding, what);
    const asc_id_text texts[] = {{ids, NULL, n}, {ids, NULL, n > 1 ? n - 1 : n}, {ids, NULL, n}};
    snprintf(what, sizeof what, ASC_VIEW_FMT ", embedding of several", ASC_VIEW_ARG(name));
    if (asc_model_embed_texts(g->minilm, texts, 3, rows) != ASC_OK) {
        goldens_fail(g, "%s: %s", what, asc_error_message(g->ctx));
        return;
    }
    for (size_t i = 0; i < 3; i += 2)
        compare(g, asc_json_get(line, "embedding_a"), rows + i * WIDTH, WIDTH, top.embedding, what);
    snprintf(what, sizeof what, ASC_VIEW_FMT ", saliency", ASC_VIEW_ARG(name));
    method(g, &q, "saliency", asc_json_get(m, "saliency_l2"), top.saliency, what, cosine);
    snprintf(what, sizeof what, ASC_VIEW_FMT ", input x gradient", ASC_VIEW_ARG(name));
    method(g, &q, "input-x-gradient", asc_json_get(m, "input_x_gradient"), top.times, what, cosine);
    snprintf(what, sizeof what, ASC_VIEW_FMT ", ablation", ASC_VIEW_ARG(name));
    method(g, &q, "feature-ablation", asc_json_get(m, "feature_ablation"), top.ablation, what, cosine);
    for (size_t i = 0; i < asc_json_len(ig); i++) {
        const asc_json *one = asc_json_at(ig, i);
        char rule[64];
        asc_view r = asc_json_str(asc_json_get(one, "rule")),
                 base = asc_json_str(asc_json_get(one, "baseline"));
        snprintf(rule, sizeof rule, ASC_VIEW_FMT, ASC_VIEW_ARG(r));
        q.rule = rule;
        q.steps = (size_t)asc_json_int(asc_json_get(one, "n"), 0);
        q.baseline = asc_view_eqs(base, "zero") ? ASC_BASELINE_ZERO : ASC_BASELINE_PAD;
        if (!asc_view_eqs(base, "zero") && !asc_view_eqs(base, "pad")) {
            goldens_fail(g, ASC_VIEW_FMT ": baseline '" ASC_VIEW_FMT "' is not known", ASC_VIEW_ARG(name),
                         ASC_VIEW_ARG(base));
            continue;
        }
        snprintf(what, sizeof what, ASC_VIEW_FMT ", ig " ASC_VIEW_FMT, ASC_VIEW_ARG(name),
                 ASC_VIEW_ARG(base));
        method(g, &q, "integrated-gradients", asc_json_get(one, "scores"), top.ig, what, cosine);
    }
}
