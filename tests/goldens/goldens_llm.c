/* goldens_llm.c - captum_llm_golden.json and the language models' rows of captum_expected.tsv: Captum's
 * LLMAttribution and LLMGradientAttribution on a model that is made here from its description.
 *
 * A case "METHOD|FEATURES|OUTPUT" has the scores of the answer and of each of its tokens. Tolerance: Captum's
 * numbers are differences of f32 log-probabilities, each off by some eps |log p| sqrt(d_ff): that, and 1e-5
 * at least, covers a token's, their sum the answer's; probabilities the same times themselves. Along a path
 * one of the 2,048 hidden units may lie within rounding of its kink at a point and fall on the other side:
 * that moves a score by the unit's share times the point's weight. So Captum's numbers are up to 9e-5 (50
 * points) and 1e-4 (200 points, with both ends) from the same sum in torch's float64, on which torch's own
 * float32, one row at a time, agrees to 1e-7: a share of 0.02, and a quarter more over the number of points.
 * A gradient at one point: torch's float32 was up to 9e-5 from its float64 (which this library gives), twice
 * that. */
#include "ascribe/attr.h"
#include "dummy_llm.h"
#include "file.h"
#include "goldens_array.h"
#include "goldens_draws.h"
#include "goldens_expected.h"
#include "goldens_literal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, START = 0 };
static const double TOLERANCE = 1e-5;

typedef struct question {
    asc_request q;
    int32_t prompt[MOST], answer[MOST], skip[MOST];
    asc_span frozen[MOST];
    size_t bytes; /* of the prompt so far, whose text is "<0><97>": ids in brackets */
    char method[64];
} question;

static int32_t code_of(asc_view word) { return word.len == 1 ? (unsigned char)word.ptr[0] : 1; }

static int32_t token_of(const asc_json *j) {
    asc_view v = asc_json_str(j);
    return asc_view_eqs(v, "<sos>") ? START : code_of(v);
}

static void skip(question *x, int32_t id) { x->skip[x->q.n_skip_tokens++] = id; }

/* By its place: a value of a template may be the same word as one of the template itself. */
static void add(question *x, int32_t id, bool frozen) {
    size_t start = x->bytes;
    x->bytes += (size_t)snprintf(NULL, 0, "<%d>", id);
    if (frozen) x->frozen[x->q.n_frozen++] = (asc_span){start, x->bytes};
    x->prompt[x->q.n_prompt_ids++] = id;
}

/* Words of a template: {} takes the next value and is a feature, others are frozen. */
static bool fill(question *x, asc_view template, const int32_t *values, size_t n) {
    size_t k = 0;
    x->q.baseline = ASC_BASELINE_TOKEN; /* a slot without text leaves two blanks, and no word between them */
    x->q.baseline_token = 1;
    add(x, START, true);
    for (size_t at = 0; at < template.len && x->q.n_prompt_ids < MOST;) {
        size_t end = at;
        while (end < template.len && template.ptr[end] != ' ') end++;
        asc_view word = {template.ptr + at, end - at};
        bool slot = asc_view_eqs(word, "{}");
        if (slot && k == n) return false;
        add(x, slot ? values[k++] : code_of(word), !slot);
        at = end + 1;
    }
    return k == n;
}

/* "LayerIG n_steps=200 riemann_middle", "ShapleyValues", ... */
static bool set_method(question *x, asc_view name) {
    char text[64], word[64] = "", rule[64] = "";
    size_t steps = 0;
    snprintf(text, sizeof text, ASC_VIEW_FMT, ASC_VIEW_ARG(asc_view_cut(name, 60)));
    x->q.rule = NULL;
    if (sscanf(text, "LayerIG n_steps=%zu %60s", &steps, rule) >= 1) {
        x->q.steps = steps;
        snprintf(x->method, sizeof x->method, "integrated-gradients");
        static const char *const rules[][2] = {{"", "gauss-legendre"},
                                               {"gausslegendre", "gauss-legendre"},
                                               {"riemann_middle", "riemann-middle"},
                                               {"riemann_left", "riemann-left"},
                                               {"riemann_right", "riemann-right"},
                                               {"riemann_trapezoid", "riemann-trapezoid"}};
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
            if (strcmp(rule, rules[i][0]) == 0) x->q.rule = rules[i][1];
        x->q.compat_captum = true;
        x->q.method = x->method;
        return x->q.rule != NULL;
    }
    sscanf(text, "%60s n_samples=%zu", word, &x->q.samples);
    snprintf(x->method, sizeof x->method, "%s",
             strcmp(word, "LayerGradXAct") == 0 ? "input-x-gradient" : word);
    x->q.method = x->method;
    const golden_class *k = golden_class_find(asc_view_of(word));
    x->q.compat_captum = k != NULL && k->stochastic; /* as many draws as Captum's */
    return asc_method_find(x->method) >= 0;
}

static void base(question *x) {
    *x = (question){.q = {.struct_size = sizeof x->q,
                          .features = ASC_FEATURES_TOKEN,
                          .prompt_ids = x->prompt,
                          .target_ids = x->answer,
                          .skip_tokens = x->skip,
                          .frozen = x->frozen,
                          .per_token = true}};
}

/* What an f32 log-probability may be off by. */
static double noise(double log_p) { return fmax(TOLERANCE, 6e-8 * sqrt(2048.0) * fabs(log_p)); }

static double gap(double a, double b, double tolerance) { return fabs(a - b) / tolerance; }

/* d: draws of each number, first the answer's, then those of its tokens; NULL: nothing is drawn. */
static double away(double got, double want, double tolerance, const golden_draws *d, size_t i) {
    return d != NULL ? golden_draws_distance(&d[i], want, tolerance) : gap(got, want, tolerance);
}

static void compare(goldens *g, const char *name, const asc_json *want, const asc_result *r, bool prob,
                    const golden_draws *d) {
    const double path = r->steps > 0                              ? 0.025 / (double)r->steps
                        : strncmp(name, "LayerGradXAct", 13) == 0 ? 2e-4
                                                                  : 0.0;
    double total = 0.0;
    const asc_json *whole = asc_json_get(want, "seq_attr"), *each = asc_json_get(want, "token_attr");
    size_t n = asc_json_len(whole);
    if (n != r->n_features) {
        goldens_fail(g, "%s: %zu features, not %zu", name, r->n_features, n);
        return;
    }
    for (size_t k = 0; k < r->n_matrix; k++)
        total += path > 0.0 ? path : noise(prob ? log(r->token_values[k]) : r->token_values[k]);
    if (prob) total *= fabs(r->value);
    for (size_t i = 0; i < n; i++)
        goldens_check(g, away(r->features[i].score, asc_json_num(asc_json_at(whole, i), NAN), total, d, i),
                      "%s: feature %zu", name, i);
    for (size_t k = 0; k < asc_json_len(each); k++) {
        if (k >= r->n_matrix) {
            goldens_fail(g, "%s: %zu answer tokens, not %zu", name, r->n_matrix, asc_json_len(each));
            return;
        }
        double p = r->token_values[k], one = path > 0.0 ? path * (prob ? p : 1.0)
                                             : prob     ? p * noise(log(p))
                                                        : noise(p);
        for (size_t i = 0; i < n; i++)
            goldens_check(g,
                          away(r->matrix[k * n + i], asc_json_num(asc_json_at(asc_json_at(each, k), i), NAN),
                               one, d, (k + 1) * n + i),
                          "%s: answer token %zu, feature %zu", name, k, i);
    }
}

/* What a case asks; false: of a kind that is not known here. */
static bool understand(question *x, asc_view key, const asc_json *want) {
    const char *bar = memchr(key.ptr, '|', key.len);
    const asc_json *in = asc_json_get(want, "input_tokens"), *out = asc_json_get(want, "output_tokens");
    int32_t values[MOST];
    size_t n = asc_json_len(in), id = 0;
    if (bar == NULL || n > MOST / 4 || asc_json_len(out) > MOST / 2) return false;
    asc_view method = {key.ptr, (size_t)(bar - key.ptr)}, rest = {bar + 1, key.len - method.len - 1};
    char how[128];
    snprintf(how, sizeof how, ASC_VIEW_FMT, ASC_VIEW_ARG(asc_view_cut(rest, 100)));
    base(x);
    if (!set_method(x, method)) return false;
    for (size_t i = 0; i < n; i++) values[i] = token_of(asc_json_at(in, i));
    for (size_t i = 0; i < asc_json_len(out); i++)
        x->answer[x->q.n_target_ids++] = token_of(asc_json_at(out, i));
    x->q.output = strstr(how, "|prob") != NULL ? ASC_OUTPUT_PROB : ASC_OUTPUT_LOGPROB;
    if (strncmp(how, "template", 8) == 0) return fill(x, asc_view_of("{} b {} {} e {}"), values, n);
    if (strncmp(how, "tokens", 6) != 0) return false;
    if (strstr(how, "skip sos") != NULL) {
        x->prompt[x->q.n_prompt_ids++] = START;
        skip(x, START);
    }
    memcpy(x->prompt + x->q.n_prompt_ids, values, n * sizeof *values);
    x->q.n_prompt_ids += n;
    const char *b = strstr(how, "baseline=");
    if (b != NULL) sscanf(b, "baseline=%zu", &id);
    if (strcmp(x->method, "input-x-gradient") != 0) {
        x->q.baseline = ASC_BASELINE_TOKEN;
        x->q.baseline_token = (int32_t)id;
    }
    return true;
}

/* Log-probabilities and logits of one pass: the model itself. */
static void check_model(goldens *g, asc_model *m, const asc_json *want) {
    float z[256];
    int32_t ids[MOST];
    const asc_json *p = asc_json_get(want, "logprob_first8"), *l = asc_json_get(want, "logits_first4");
    size_t n = goldens_ids(asc_json_at(asc_json_get(want, "input_ids"), 0), ids, MOST);
    double sum = 0.0;
    if (asc_model_logits(m, ids, n, 1, z) != ASC_OK) {
        goldens_fail(g, "logits: %s", asc_error_message(g->ctx));
        return;
    }
    for (size_t v = 0; v < 256; v++) sum += exp((double)z[v]);
    for (size_t i = 0; i < asc_json_len(p); i++)
        goldens_check(g, gap((double)z[i] - log(sum), asc_json_num(asc_json_at(p, i), NAN), TOLERANCE),
                      "log-probability %zu", i);
    for (size_t i = 0; i < asc_json_len(l); i++)
        goldens_check(g, gap((double)z[i], asc_json_num(asc_json_at(l, i), NAN), TOLERANCE), "logit %zu", i);
}

/* A recorded draw against many of ours. */
static void drawn(goldens *g, asc_model *m, question *x, const char *name, const asc_json *want, int runs) {
    static golden_draws d[(MOST / 2 + 1) * MOST];
    asc_result *r = NULL;
    bool ok = true;
    memset(d, 0, sizeof d);
    for (int s = 0; s < runs && ok; s++) {
        asc_result_destroy(g->ctx, r);
        r = NULL;
        x->q.seed = (uint64_t)s + 1;
        ok = asc_explain(m, &x->q, &r) == ASC_OK && r->n_features <= MOST && r->n_matrix <= MOST / 2;
        for (size_t i = 0; ok && i < r->n_features; i++) {
            golden_draws_add(&d[i], r->features[i].score);
            for (size_t k = 0; k < r->n_matrix; k++)
                golden_draws_add(&d[(k + 1) * r->n_features + i], r->matrix[k * r->n_features + i]);
        }
    }
    if (ok)
        compare(g, name, want, r, x->q.output == ASC_OUTPUT_PROB, d);
    else
        goldens_fail(g, "%s: %s", name, asc_error_message(g->ctx));
    asc_result_destroy(g->ctx, r);
}

static void one_case(goldens *g, asc_model *m, asc_view key, const asc_json *want) {
    static question x;
    char name[80];
    asc_result *r = NULL;
    snprintf(name, sizeof name, ASC_VIEW_FMT, ASC_VIEW_ARG(asc_view_cut(key, 70)));
    if (asc_view_eqs(key, "logprob check")) {
        check_model(g, m, want);
        return;
    }
    if (asc_json_get(want, "seq_attr") == NULL)
        return; /* the embedding's first row: part of the check above */
    if (!understand(&x, key, want)) {
        goldens_fail(g, "%s: a case of another kind", name);
        return;
    }
    if (asc_explain(m, &x.q, &r) != ASC_OK) {
        goldens_fail(g, "%s: %s", name, asc_error_message(g->ctx));
    } else if (!x.q.compat_captum || x.q.rule != NULL) {
        compare(g, name, want, r, x.q.output == ASC_OUTPUT_PROB, NULL);
    } else if (!g->quick) {
        goldens few = *g;
        drawn(&few, m, &x, name, want, GOLDEN_FEW);
        if (few.bad > g->bad)
            drawn(g, m, &x, name, want, GOLDEN_MANY);
        else
            *g = few;
    }
    asc_result_destroy(g->ctx, r);
}

void goldens_llm(goldens *g, const char *path) {
    char *text = NULL;
    size_t len = 0;
    asc_json *root = NULL;
    dummy_llm d;
    void *iter = NULL;
    asc_view key;
    const asc_json *v;
    if (asc_file_read(g->ctx, path, (size_t)1 << 28, &text, &len) != ASC_OK ||
        goldens_parse(g->ctx, text, len, &root) != ASC_OK) {
        goldens_fail(g, "%s", asc_error_message(g->ctx));
        asc_free(g->ctx, text);
        return;
    }
    asc_scope_begin(g->ctx);
    if (dummy_llm_begin(g->ctx, &d) != ASC_OK) goldens_fail(g, "%s", asc_error_message(g->ctx));
    while (asc_json_next(root, &iter, &key, &v)) one_case(g, &d.m, key, v);
    dummy_llm_end(&d);
    if (asc_scope_end(g->ctx) != ASC_OK) goldens_fail(g, "%s", asc_error_message(g->ctx));
    asc_json_free(root);
    asc_free(g->ctx, text);
}

/* ---- rows of captum_expected.tsv ---- */

/* "TextTemplateInput('{} b {}', values=[a,c])" with all baselines empty, "'m n' skip_tokens=[0]". */
static bool read_row(question *x, const expected_row *row, asc_json *options) {
    char in[512], out[256], method[64], template[256], values[256];
    int32_t ids[MOST];
    size_t n = 0;
    base(x);
    snprintf(method, sizeof method, ASC_VIEW_FMT, ASC_VIEW_ARG(asc_view_cut(row->col[COL_METHOD], 60)));
    snprintf(in, sizeof in, ASC_VIEW_FMT, ASC_VIEW_ARG(asc_view_cut(row->col[COL_INPUTS], 500)));
    snprintf(out, sizeof out, ASC_VIEW_FMT, ASC_VIEW_ARG(asc_view_cut(row->col[COL_TARGET], 250)));
    if (sscanf(method, "LLMAttribution(%60[A-Za-z])", x->method) != 1) return false;
    if (sscanf(in, "TextTemplateInput('%250[^']', values=[%250[^]]", template, values) != 2) return false;
    if (out[0] != '\'' || strncmp(row->col[COL_BASELINES].ptr, "['']*", 5) != 0) return false;
    for (char *w = strtok(values, ", "); w != NULL && n < MOST / 4; w = strtok(NULL, ", "))
        ids[n++] = code_of(asc_view_of(w));
    out[strcspn(out + 1, "'") + 1] = '\0';
    for (char *w = strtok(out + 1, " "); w != NULL && x->q.n_target_ids < MOST / 2; w = strtok(NULL, " "))
        x->answer[x->q.n_target_ids++] = code_of(asc_view_of(w));
    x->q.method = x->method;
    x->q.samples = (size_t)asc_json_int(asc_json_get(options, "n_samples"), 0);
    const char *alpha = memmem(row->col[COL_OTHER].ptr, row->col[COL_OTHER].len, "alpha=", 6);
    if (alpha != NULL) x->q.alpha = atof(alpha + 6);
    return fill(x, asc_view_of(template), ids, n) && asc_method_find(x->method) >= 0;
}

bool expected_llm(goldens *g, expected_row *row, uint64_t seed, ours *out) {
    static question x;
    dummy_llm d;
    asc_result *r = NULL;
    asc_json *options = golden_arguments(g->ctx, row->col[COL_OTHER]);
    bool understood = read_row(&x, row, options), tokens = asc_view_eqs(row->col[COL_CHECKED], "token_attr");
    asc_json_free(options);
    if (!understood) {
        row->why = "language models: a call of another kind";
        return false;
    }
    x.q.seed = seed;
    x.q.per_token = tokens;
    asc_scope_begin(g->ctx);
    bool ok = dummy_llm_begin(g->ctx, &d) == ASC_OK && asc_explain(&d.m, &x.q, &r) == ASC_OK;
    if (ok && tokens) {
        asc_shape s = ASC_SHAPE((int64_t)r->n_matrix, (int64_t)r->n_features);
        ours_add(out, r->matrix, &s);
    } else if (ok) {
        double scores[MOST];
        asc_shape s = ASC_SHAPE((int64_t)r->n_features);
        for (size_t i = 0; i < r->n_features && i < MOST; i++) scores[i] = r->features[i].score;
        ours_add(out, scores, &s);
    }
    asc_result_destroy(g->ctx, r);
    dummy_llm_end(&d);
    if (asc_scope_end(g->ctx) != ASC_OK) goldens_fail(g, "%s", asc_error_message(g->ctx));
    return ok;
}
