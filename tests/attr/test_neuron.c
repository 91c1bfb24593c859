/* test_neuron.c - inner values as what is explained, sites inside of attention and MLP: against transformers
 * in float64 (scripts/refs/neuron_fixtures.py), differences of values, every mode, refusals, memory running
 * out. */
#include "prompt_lines.h"
#include <math.h>
#include <string.h>

static const int32_t target[1] = {13}, few[3] = {3, 5, 4};

static asc_request request(const char *method) {
    return (asc_request){.struct_size = sizeof(asc_request),
                         .method = method,
                         .prompt_ids = ids,
                         .n_prompt_ids = N,
                         .features = ASC_FEATURES_TOKEN};
}

/* ---- transformers ---- */

static asc_request asked(line *l) {
    static const char *const methods[][2] = {{"value", "saliency"},
                                             {"saliency", "saliency"},
                                             {"ixg", "input-x-gradient"},
                                             {"ablation", "feature-ablation"},
                                             {"site_ixg", "input-x-gradient"},
                                             {"site_saliency", "saliency"}};
    asc_request q = request(NULL);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(l->kind, methods[i][0]) == 0) q.method = methods[i][1];
    assert_non_null(q.method);
    q.baseline = ASC_BASELINE_TOKEN;
    q.baseline_token = BASE;
    if (strncmp(l->kind, "site", 4) != 0) {
        snprintf(l->asked, sizeof l->asked, "%s:%d@%d", l->site, l->index, l->token == N - 1 ? -1 : l->token);
        q.neuron = l->asked;
        return q;
    }
    snprintf(l->asked, sizeof l->asked, l->index < 0 ? "%s" : "%s:head=%d", l->site, l->index);
    q.site = l->asked;
    if (strncmp(l->model, "encoders", 8) == 0) {
        q.label = (asc_view){"1", 1};
    } else {
        q.target_ids = target;
        q.n_target_ids = 1;
    }
    return q;
}

static void compare(asc_ctx *ctx, asc_model *m, line *l, double tolerance) {
    asc_request q = asked(l);
    asc_result *r = NULL;
    assert_ok(ctx, asc_explain(m, &q, &r));
    for (int i = 0; i < l->n; i++) {
        const bool ablation = strcmp(l->kind, "ablation") == 0, value = strcmp(l->kind, "value") == 0;
        double have = value ? r->value : ablation ? r->features[i].score : r->scores[i];
        if (!(fabs(have - l->v[i]) <= tolerance * l->scale))
            fail_msg("%s %s %s token %d: %.10g, transformers %.10g", l->model, l->kind, l->asked, i, have,
                     l->v[i]);
    }
    asc_result_destroy(ctx, r);
}

static void against_transformers(void **state) {
    (void)state;
    /* models: values by kinds, sites by kinds */
    lines_check("attr/neurons.txt", false, 4 * (5 * 4 + 4 * 2), compare);
}

/* ---- what holds without anyone's numbers ---- */

static double value_of(asc_ctx *ctx, asc_model *m, asc_request q, const int32_t *prompt, size_t n) {
    asc_result *r = NULL;
    q.prompt_ids = prompt;
    q.n_prompt_ids = n;
    q.method = "saliency";
    assert_ok(ctx, asc_explain(m, &q, &r));
    double v = r->value;
    asc_result_destroy(ctx, r);
    return v;
}

/* Left out means: the value in the prompt without the token, at its last one. */
static void removal_is_the_shorter_prompt(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", NULL);
    asc_model *m = NULL;
    asc_result *r = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
    asc_request q = request("feature-ablation");
    q.neuron = "blocks.2.mlp.act:7";
    assert_ok(ctx, asc_explain(m, &q, &r));
    assert_string_equal(r->neuron_site, "blocks.2.mlp.act");
    assert_true(r->neuron_index == 7 && r->neuron_token == N - 1 && r->n_target == 0 &&
                isnan(r->target_prob));
    double whole = value_of(ctx, m, q, ids, N);
    for (size_t i = 0; i < N; i++) {
        int32_t rest[N];
        size_t n = 0;
        for (size_t k = 0; k < N; k++)
            if (k != i) rest[n++] = ids[k];
        assert_true(fabs(r->features[i].score - (whole - value_of(ctx, m, q, rest, n))) < 1e-12);
    }
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* Methods that promise it add up; an embedding's own column depends on nothing else; later tokens do not
 * reach an earlier one. */
static void promises(void **state) {
    (void)state;
    static const char *const methods[] = {
        "shapley-values", "integrated-gradients", "kernel-shap", "shapley-value-sampling",
        "hierarchical",   "gradient-shap",        "lime"};
    asc_ctx *ctx = test_ctx("reference", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        asc_request q = request(methods[i]);
        asc_result *r = NULL;
        q.neuron = "blocks.1.attn.heads:5@-1";
        q.samples = strcmp(methods[i], "hierarchical") == 0 ? 0 : 64;
        assert_ok(ctx, asc_explain(m, &q, &r));
        if (r->complete && strcmp(methods[i], "gradient-shap") != 0 &&
            !(fabs(r->residual) < (r->error_bound > 1e-9 ? r->error_bound * N : 1e-9)))
            fail_msg("%s: residual %g", methods[i], r->residual);
        assert_true(isfinite(r->value) && isfinite(r->features[0].score));
        asc_result_destroy(ctx, r);
        q.dry_run = true;
        r = NULL;
        assert_ok(ctx, asc_explain(m, &q, &r));
        assert_true(r->flops > 0.0);
        asc_result_destroy(ctx, r);
    }
    asc_request q = request("input-x-gradient");
    asc_result *r = NULL;
    q.neuron = "embed:3@4";
    assert_ok(ctx, asc_explain(m, &q, &r));
    for (size_t i = 0; i < N; i++) assert_true(fabs(r->scores[i] - (i == 4 ? r->value : 0.0)) < 1e-15);
    asc_result_destroy(ctx, r);
    r = NULL;
    q.neuron = "blocks.1.out:3@4";
    q.site = "blocks.0.mlp.act";
    assert_ok(ctx, asc_explain(m, &q, &r));
    for (size_t i = 0; i < N; i++)
        assert_true((fabs(r->scores[i]) > 1e-6) == (i <= 4 && r->scores[i] != 0.0));
    for (size_t i = 5; i < N; i++) assert_true(fabs(r->scores[i]) < 1e-15);
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* Heads side by side make up the site; gradient times value is a sum over columns. */
static void heads_add_up(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", NULL);
    asc_model *m = NULL;
    double sum[N] = {0}, all[N] = {0};
    assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
    for (int per_token = 0; per_token < 2; per_token++) {
        memset(sum, 0, sizeof sum);
        for (int h = -1; h < m->decoder.cfg.n_heads; h++) {
            char site[64];
            asc_result *r = NULL;
            asc_request q = request("input-x-gradient");
            snprintf(site, sizeof site, h < 0 ? "blocks.1.attn.heads" : "blocks.1.attn.heads:head=%d", h);
            q.site = site;
            q.target_ids = target;
            q.n_target_ids = 1;
            q.per_token = per_token == 1;
            assert_ok(ctx, asc_explain(m, &q, &r));
            for (size_t i = 0; i < N; i++) {
                if (h < 0 && per_token) assert_true(fabs(all[i] - r->matrix[i]) < 1e-12);
                if (h < 0) all[i] = r->scores[i];
                if (h >= 0) sum[i] += per_token ? r->matrix[i] : r->scores[i];
            }
            asc_result_destroy(ctx, r);
        }
        for (size_t i = 0; i < N; i++) assert_true(fabs(all[i] - sum[i]) < 1e-12);
    }
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* A product without a bias behind a site hands gradient times value on unchanged: the sums before and behind
 * it are equal, and those of one head are its row in the table of layers, which torch's numbers are held
 * against. */
static void before_and_behind_a_product(void **state) {
    (void)state;
    static const char *const pairs[][2] = {{"blocks.1.mlp.act", "blocks.1.mlp.out"},
                                           {"blocks.2.attn.heads", "blocks.2.attn.out"}};
    asc_ctx *ctx = test_ctx("reference", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
    asc_request q = request("input-x-gradient");
    q.target_ids = target;
    q.n_target_ids = 1;
    for (size_t k = 0; k < 2; k++) {
        asc_result *a = NULL, *b = NULL;
        q.site = pairs[k][0];
        assert_ok(ctx, asc_explain(m, &q, &a));
        q.site = pairs[k][1];
        assert_ok(ctx, asc_explain(m, &q, &b));
        for (size_t i = 0; i < N; i++) assert_true(fabs(a->scores[i] - b->scores[i]) < 1e-12);
        asc_result_destroy(ctx, a);
        asc_result_destroy(ctx, b);
    }
    asc_result *one = NULL, *table = NULL;
    q.site = "blocks.1.attn.heads:head=2";
    assert_ok(ctx, asc_explain(m, &q, &one));
    q.site = NULL;
    q.layers = "heads";
    assert_ok(ctx, asc_explain(m, &q, &table));
    const size_t row = (size_t)m->decoder.cfg.n_heads + 2;
    assert_string_equal(table->inner[row].name, "blocks.1.heads.2");
    for (size_t i = 0; i < N; i++)
        assert_true(fabs(one->scores[i] - table->inner_scores[row * N + i]) < 1e-12);
    asc_result_destroy(ctx, one);
    asc_result_destroy(ctx, table);
    asc_model_close(m);
    test_ctx_end(ctx);
}

static void refusals(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL, *moe = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
    assert_ok(ctx, asc_model_open(ctx, test_data("decoders/mixtral.gguf"), NULL, &moe));
    static const struct {
        const char *neuron, *method, *site;
        asc_status st;
    } cases[] = {{"blocks.0.out", "saliency", NULL, ASC_INVALID_ARGUMENT},
                 {"blocks.0.out:", "saliency", NULL, ASC_INVALID_ARGUMENT},
                 {":3", "saliency", NULL, ASC_NOT_FOUND},
                 {"blocks.0.out:-1", "saliency", NULL, ASC_INVALID_ARGUMENT},
                 {"blocks.0.out:1@", "saliency", NULL, ASC_INVALID_ARGUMENT},
                 {"blocks.0.out:1@-0", "saliency", NULL, ASC_INVALID_ARGUMENT},
                 {"blocks.0.out:99999999999", "saliency", NULL, ASC_INVALID_ARGUMENT},
                 {"blocks.0.out:100000", "saliency", NULL, ASC_OUT_OF_RANGE},
                 {"blocks.0.out:1@9", "saliency", NULL, ASC_OUT_OF_RANGE},
                 {"blocks.0.out:1@-10", "saliency", NULL, ASC_OUT_OF_RANGE},
                 {"blocks.7.out:1", "saliency", NULL, ASC_NOT_FOUND},
                 {"final_norm:1", "saliency", NULL, ASC_UNIMPLEMENTED},
                 {"blocks.0.out:1", "lrp", NULL, ASC_UNIMPLEMENTED},
                 {"blocks.0.out:1", "deep-lift", NULL, ASC_UNIMPLEMENTED},
                 {"blocks.0.out:1@2", "feature-ablation", NULL, ASC_INVALID_ARGUMENT},
                 {"blocks.0.out:1", "saliency", "blocks.0.out", ASC_INVALID_ARGUMENT},
                 {"blocks.0.out:1", "saliency", "blocks.1.attn.in", ASC_INVALID_ARGUMENT},
                 {NULL, "saliency", "blocks.0.out:head=0", ASC_INVALID_ARGUMENT},
                 {NULL, "saliency", "blocks.0.attn.heads:head=99", ASC_OUT_OF_RANGE},
                 {NULL, "saliency", "blocks.0.attn.heads:head=", ASC_OUT_OF_RANGE},
                 {NULL, "saliency", "blocks.0.attn.heads:head=-1", ASC_OUT_OF_RANGE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_request q = request(cases[i].method);
        asc_result *r = NULL;
        q.neuron = cases[i].neuron;
        q.site = cases[i].site;
        asc_status st = asc_explain(m, &q, &r);
        if (st != cases[i].st) fail_msg("case %zu: %s: %s", i, asc_status_name(st), asc_error_message(ctx));
        assert_null(r);
        asc_error_clear(ctx);
    }
    for (int i = 0; i < 8; i++) {
        asc_request q = request("saliency");
        asc_result *r = NULL;
        q.neuron = "blocks.0.out:1";
        if (i == 0) q.target_ids = target, q.n_target_ids = 1;
        if (i == 1) q.versus_ids = target, q.n_versus_ids = 1;
        if (i == 2) q.span_end = 1;
        if (i == 3) q.per_token = true;
        if (i == 4) q.output = ASC_OUTPUT_LOGIT;
        if (i == 5) q.generate = 2;
        if (i == 6) q.layers = "out";
        if (i == 7) q.method = "feature-ablation", q.baseline = ASC_BASELINE_MASK;
        assert_true(asc_explain(m, &q, &r) != ASC_OK && r == NULL);
        asc_error_clear(ctx);
    }
    for (int i = 0; i < 2; i++) {
        asc_request q = request("saliency");
        asc_result *r = NULL;
        if (i == 0) q.neuron = "blocks.0.mlp.act:1";
        if (i == 1) q.site = "blocks.0.mlp.act";
        q.prompt_ids = few;
        q.n_prompt_ids = 3;
        assert_int_equal(asc_explain(moe, &q, &r), ASC_UNIMPLEMENTED);
        asc_error_clear(ctx);
    }
    asc_model_close(moe);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* The bound that only a block-by-block pass would fit is refused, and one that fits gives the same. */
static void memory(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
    asc_request q = request("integrated-gradients");
    asc_result *r = NULL;
    q.neuron = "blocks.2.mlp.out:3@-2";
    q.memory_bytes = 1;
    assert_int_equal(asc_explain(m, &q, &r), ASC_RESOURCE_EXHAUSTED);
    asc_error_clear(ctx);
    q.memory_bytes = 0;
    assert_ok(ctx, asc_explain(m, &q, &r));
    assert_true(fabs(r->residual) <= r->error_bound * N);
    asc_result_destroy(ctx, r);
    asc_model_close(m);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_transformers),
                                       cmocka_unit_test(removal_is_the_shorter_prompt),
                                       cmocka_unit_test(promises),
                                       cmocka_unit_test(heads_add_up),
                                       cmocka_unit_test(before_and_behind_a_product),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
