/* test_encoder_walks.c - text encoders from the inside: attention methods, tables of layers, patching between
 * two texts, against torch in f64 (scripts/refs/encoder_walk_fixtures.py); in every mode, priced, and of
 * texts. */
#include "ascribe/attr.h"
#include "encoder_cases.h"
#include "model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 32 };
/* As in test_encoder.c; gradients and products of four layers of it. */
static const double TOLERANCE = 2e-5;

typedef struct question {
    int32_t ids[MAX], types[MAX], other[MAX], target[MAX];
    asc_request q;
} question;

static void ask(question *s, const asc_json *c, const char *method) {
    s->q = (asc_request){.struct_size = sizeof s->q, .method = method, .features = ASC_FEATURES_TOKEN};
    s->q.prompt_ids = s->ids;
    s->q.n_prompt_ids = encoder_ids(asc_json_get(c, "ids"), s->ids);
    if (encoder_ids(asc_json_get(c, "types"), s->types) > 0) s->q.prompt_types = s->types;
    if (strstr(method, "patching") != NULL) {
        s->q.corrupted_ids = s->other;
        s->q.n_corrupted_ids = encoder_ids(asc_json_get(c, "other"), s->other);
    }
    if (asc_json_get(c, "target_ids") != NULL) {
        s->q.target_ids = s->target;
        s->q.n_target_ids = encoder_ids(asc_json_get(c, "target_ids"), s->target);
        return;
    }
    s->q.label = asc_view_of("1");
    s->q.output = ASC_OUTPUT_LOGIT;
    if (asc_json_get(c, "versus") != NULL) s->q.versus = asc_view_of("0");
}

static asc_view name_of(const asc_json *c) { return asc_json_str(asc_json_get(c, "model")); }

static void compare(const asc_json *c, const char *what, const asc_result *r, const asc_json *want,
                    const double *scores) {
    asc_view name = name_of(c);
    assert_int_equal(asc_json_len(want), r->n_prompt);
    for (size_t i = 0; i < r->n_features; i++) {
        const double w = asc_json_num(asc_json_at(want, r->features[i].first_token), NAN),
                     got = scores != NULL ? scores[i] : r->features[i].score;
        if (!(fabs(got - w) <= TOLERANCE))
            fail_msg(ASC_VIEW_FMT ", %s, feature %zu: %.9g, expected %.9g", ASC_VIEW_ARG(name), what, i, got,
                     w);
    }
}

/* Rows of the result's table against the case's sites. */
static void compare_rows(const asc_json *c, const char *key, const asc_result *r) {
    const asc_json *sites = asc_json_get(c, "sites");
    size_t seen = 0;
    for (size_t s = 0; s < asc_json_len(sites); s++) {
        const asc_json *one = asc_json_at(sites, s), *want = asc_json_get(one, key);
        asc_view site = asc_json_str(asc_json_get(one, "site"));
        const bool heads = asc_view_eqs(site, "heads");
        for (size_t h = 0; h < (heads ? asc_json_len(want) : 1); h++) {
            char name[64];
            snprintf(name, sizeof name, heads ? "blocks.%d." ASC_VIEW_FMT ".%zu" : "blocks.%d." ASC_VIEW_FMT,
                     (int)asc_json_int(asc_json_get(one, "layer"), -1), ASC_VIEW_ARG(site), h);
            for (size_t i = 0; i < r->n_inner; i++) {
                if (strcmp(r->inner[i].name, name) != 0) continue;
                compare(c, name, r, heads ? asc_json_at(want, h) : want, r->inner_scores + i * r->n_features);
                seen++;
            }
        }
    }
    assert_int_equal(seen, r->n_inner);
}

static void against_torch(void **state) {
    static const struct {
        const char *method, *own, *rows;
    } ways[] = {{"attention-rollout", "rollout", NULL},
                {"gradient-x-attention", "attention", NULL},
                {"input-x-gradient", "gradient_embed", "gradient"},
                {"attribution-patching", "linear_embed", "linear"},
                {"activation-patching", NULL, "patching"},
                {"feature-ablation", "masked", NULL}}; /* words that stand there, unseen */
    asc_ctx *ctx = *state;
    asc_json *root = encoder_json(ctx, "walks.json");
    const asc_json *cases = asc_json_get(root, "cases");
    for (size_t k = 0; k < asc_json_len(cases); k++) {
        const asc_json *c = asc_json_at(cases, k);
        char name[64];
        snprintf(name, sizeof name, ASC_VIEW_FMT, ASC_VIEW_ARG(name_of(c)));
        asc_model *m = encoder_open(ctx, name);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            question s;
            asc_result *r;
            ask(&s, c, ways[w].method);
            if (ways[w].rows != NULL) s.q.layers = "all";
            if (strcmp(ways[w].method, "feature-ablation") == 0) s.q.baseline = ASC_BASELINE_MASK;
            const bool contrast = s.q.versus.ptr != NULL,
                       rollout = strcmp(ways[w].method, "attention-rollout") == 0;
            if (contrast && rollout) { /* knows none */
                assert_int_equal(asc_explain(m, &s.q, &r), ASC_UNIMPLEMENTED);
                s.q.versus = (asc_view){NULL, 0};
            }
            if (asc_explain(m, &s.q, &r) != ASC_OK)
                fail_msg("%s, %s: %s", name, ways[w].method, asc_error_message(ctx));
            if (!(contrast && rollout))
                assert_true(fabs(r->value - asc_json_num(asc_json_get(c, "value"), NAN)) < TOLERANCE);
            if (strstr(ways[w].method, "patching") != NULL)
                assert_true(fabs(r->baseline_value - asc_json_num(asc_json_get(c, "other_value"), NAN)) <
                            TOLERANCE);
            if (ways[w].own != NULL) compare(c, ways[w].method, r, asc_json_get(c, ways[w].own), NULL);
            if (ways[w].rows != NULL) assert_true(r->n_inner > 0);
            if (ways[w].rows != NULL) compare_rows(c, ways[w].rows, r);
            for (size_t i = 0; ways[w].own == NULL && i < r->n_inner;
                 i++) { /* all tokens of a stream at once */
                if (strstr(r->inner[i].name, "attn") != NULL || strstr(r->inner[i].name, "mlp") != NULL ||
                    strstr(r->inner[i].name, "heads") != NULL)
                    continue;
                assert_true(fabs(r->inner[i].total - (r->value - r->baseline_value)) < TOLERANCE);
            }
            asc_result_destroy(ctx, r);
        }
        asc_model_close(m);
    }
    asc_json_free(root);
}

/* Tables by other rules, in every mode, priced, and within little memory. */
static void modes_agree(void **state) {
    static const char *const methods[] = {
        "lrp", "deep-lift", "gradient-shap", "activation-patching", "attention-rollout", "kernel-shap"};
    asc_json *root = encoder_json(*state, "walks.json");
    for (size_t k = 0; k < 3 * sizeof methods / sizeof *methods; k++) {
        const asc_json *c = asc_json_at(asc_json_get(root, "cases"), k % 3);
        const char *method = methods[k / 3];
        double seen[2][256] = {{0}};
        char name[64];
        snprintf(name, sizeof name, ASC_VIEW_FMT, ASC_VIEW_ARG(name_of(c)));
        for (int mode = 0; mode < 2; mode++) {
            asc_ctx_options o = {.struct_size = sizeof o, .mode = mode == 0 ? "eager" : "compiled"};
            asc_ctx *ctx;
            asc_result *r;
            question s;
            assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
            asc_model *m = encoder_open(ctx, name);
            ask(&s, c, method);
            if (strcmp(method, "kernel-shap") == 0)
                s.q.baseline = ASC_BASELINE_MASK;
            else
                s.q.layers = "out,heads";
            s.q.seed = 5;
            if (strcmp(method, "attention-rollout") == 0) s.q.versus = (asc_view){NULL, 0};
            if (asc_explain(m, &s.q, &r) != ASC_OK)
                fail_msg("%s, %s: %s", name, method, asc_error_message(ctx));
            for (size_t i = 0; r->n_inner == 0 && i < r->n_features; i++)
                seen[mode][i] = r->features[i].score;
            size_t n = r->n_inner * r->n_features < 256 ? r->n_inner * r->n_features : 256;
            for (size_t i = 0; i < n; i++) {
                seen[mode][i] = r->inner_scores[i];
                assert_true(isfinite(r->inner_scores[i]));
            }
            asc_result_destroy(ctx, r);
            s.q.dry_run = true;
            if (asc_explain(m, &s.q, &r) != ASC_OK)
                fail_msg("%s, %s priced: %s", name, method, asc_error_message(ctx));
            assert_true(r->n_forward > 0);
            asc_result_destroy(ctx, r);
            asc_model_close(m);
            asc_ctx_destroy(ctx);
        }
        for (size_t i = 0; i < 256; i++)
            assert_true(fabs(seen[0][i] - seen[1][i]) <= 1e-5 * (1.0 + fabs(seen[0][i])));
    }
    asc_json_free(root);
}

static void texts(void **state) {
    asc_ctx *ctx = *state;
    asc_result *r;
    asc_model *m = encoder_open(ctx, "heads/bert-words");
    asc_request q = {.struct_size = sizeof q,
                     .prompt = asc_view_of("a [MASK] film about rain"),
                     .corrupted = asc_view_of("a [MASK] houses about rain"),
                     .target = asc_view_of("great"),
                     .method = "activation-patching",
                     .layers = "out"};
    if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    assert_int_equal(r->n_features, 4);
    assert_true(fabs(r->features[0].score) < 1e-9); /* the same word */
    assert_true(fabs(r->features[1].score - (r->value - r->baseline_value)) < 1e-6);
    asc_result_destroy(ctx, r);
    static const struct {
        const char *other, *says;
    } bad[] = {{"a [MASK] film about rain", "is the prompt"},
               {"a [MASK] film about", "6 tokens"},
               {"a great film about rain", "mask token"}};
    for (size_t i = 0; i < 3; i++) {
        q.corrupted = asc_view_of(bad[i].other);
        assert_int_equal(asc_explain(m, &q, &r), ASC_INVALID_ARGUMENT);
        if (strstr(asc_error_message(ctx), bad[i].says) == NULL)
            fail_msg("no '%s' in: %s", bad[i].says, asc_error_message(ctx));
    }
    asc_model_close(m);
    m = encoder_open(ctx, "gguf/bert.gguf");
    q = (asc_request){.struct_size = sizeof q,
                      .prompt = asc_view_of("a great film about rain"),
                      .similar_to = asc_view_of("old houses"),
                      .method = "attention-rollout"};
    if (asc_explain(m, &q, &r) != ASC_OK) fail_msg("%s", asc_error_message(ctx));
    double sum = 0.0;
    for (size_t i = 0; i < r->n_prompt; i++) sum += r->scores[i];
    assert_true(fabs(sum - 1.0) < 1e-5); /* rows of softmax, and the mean of rows, add up to 1 */
    asc_result_destroy(ctx, r);
    asc_model_close(m);
}

/* Numbers of cpu lie within their errors of those in f64: of words hidden so that no neighbour within a
 * window is seen, of products in front of a normalisation, whose parts cancel; dry runs of many texts. */
static void errors_hold(void **state) {
    (void)state;
    static const struct {
        const char *model, *text, *second, *method, *layers;
        asc_baseline baseline;
    } cases[] = {
        {"heads/modernbert-span", "who sat", "the cat sat on the mat", "shapley-value-sampling", NULL,
         ASC_BASELINE_MASK},
        {"heads/modernbert-span", "who sat", "the cat sat on the mat", "input-x-gradient", NULL, 0},
        {"heads/modernbert-span", "who sat", "the cat sat on the mat", "input-x-gradient", "out,attn.out", 0},
        {"heads/modernbert-words", "the [MASK] sat on the mat", NULL, "input-x-gradient", "out", 0},
        {"heads/bert-span", "who sat", "the cat sat on the mat", "gradient-shap", NULL, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_ctx *ctx[2] = {test_ctx("cpu", NULL), test_ctx("reference", NULL)};
        asc_model *m[2];
        asc_result *r[2], *dry;
        for (int k = 0; k < 2; k++) {
            m[k] = encoder_open(ctx[k], cases[i].model);
            asc_request q = {.struct_size = sizeof q,
                             .prompt = asc_view_of(cases[i].text),
                             .method = cases[i].method,
                             .layers = cases[i].layers,
                             .baseline = cases[i].baseline,
                             .samples = 20};
            if (cases[i].second != NULL) q.second = asc_view_of(cases[i].second);
            if (asc_explain(m[k], &q, &r[k]) != ASC_OK) fail_msg("%zu: %s", i, asc_error_message(ctx[k]));
            q.dry_run = true;
            if (asc_explain(m[k], &q, &dry) != ASC_OK) fail_msg("dry %zu: %s", i, asc_error_message(ctx[k]));
            asc_result_destroy(ctx[k], dry);
        }
        /* a standard error of sampling would hide what f32 does: the same sets are drawn in both */
        const double rounding = r[0]->stochastic ? 2e-5 : 0.0;
        for (size_t f = 0; f < r[0]->n_features; f++) {
            const asc_feature *a = &r[0]->features[f], *b = &r[1]->features[f];
            if (!(fabs(a->score - b->score) <= (rounding > 0.0 ? rounding : a->error)))
                fail_msg("%zu, feature %zu: %.9g +- %.3g, f64 %.9g", i, f, a->score, a->error, b->score);
        }
        for (size_t k = 0; k < r[0]->n_inner; k++) {
            const asc_inner_row *a = &r[0]->inner[k], *b = &r[1]->inner[k];
            if (!(fabs(a->total - b->total) <= a->error))
                fail_msg("%zu, row %zu: %.9g +- %.3g, f64 %.9g", i, k, a->total, a->error, b->total);
        }
        for (int k = 0; k < 2; k++) {
            asc_result_destroy(ctx[k], r[k]);
            asc_model_close(m[k]);
            asc_ctx_destroy(ctx[k]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_torch), cmocka_unit_test(modes_agree),
                                       cmocka_unit_test(texts), cmocka_unit_test(errors_hold)};
    return cmocka_run_group_tests(tests, encoder_setup, encoder_teardown);
}
