/* test_site_paths.c - prompts: integrated gradients of inner values, conductance of sites and through one
 * unit, against Captum on transformers in float64 (scripts/refs/site_path_fixtures.py); sums that have to
 * come out, errors that hold, refusals, memory running out. */
#include "oom_attempt.h"
#include "prompt_lines.h"
#include <math.h>
#include <string.h>

enum { STEPS = 12 };
static const int32_t target[2] = {13, 6};

static asc_request request(const char *method) {
    return (asc_request){.struct_size = sizeof(asc_request),
                         .method = method,
                         .prompt_ids = ids,
                         .n_prompt_ids = N,
                         .target_ids = target,
                         .n_target_ids = 1,
                         .baseline = ASC_BASELINE_TOKEN,
                         .baseline_token = BASE,
                         .features = ASC_FEATURES_TOKEN};
}

/* ---- Captum ---- */

static asc_request asked(line *l) {
    const bool unit = strncmp(l->kind, "neuron", 6) == 0, ig = strstr(l->kind, "_ig") != NULL;
    asc_request q = request(ig ? "integrated-gradients" : unit ? "neuron-conductance" : "conductance");
    q.rule = l->rule;
    q.steps = STEPS;
    q.compat_captum = true; /* its trapezoid's weights */
    if (unit)
        snprintf(l->asked, sizeof l->asked, "%s:%d@%d", l->site, l->index, l->token);
    else if (l->index < -1)
        snprintf(l->asked, sizeof l->asked, "%s:head=%d", l->site, -2 - l->index);
    else
        snprintf(l->asked, sizeof l->asked, "%s", l->site);
    *(unit ? &q.neuron : &q.site) = l->asked;
    if (unit && ig) {
        q.target_ids = NULL;
        q.n_target_ids = 0;
    } else if (strncmp(l->model, "encoders", 8) == 0) {
        q.target_ids = NULL;
        q.n_target_ids = 0;
        q.label = (asc_view){"1", 1};
    }
    return q;
}

static void compare(asc_ctx *ctx, asc_model *m, line *l, double tolerance) {
    asc_request q = asked(l);
    asc_result *r = NULL;
    assert_int_equal(l->n, N);
    assert_ok(ctx, asc_explain(m, &q, &r));
    for (int i = 0; i < N; i++)
        if (!(fabs(r->scores[i] - l->v[i]) <= tolerance * l->scale + 1e-12))
            fail_msg("%s %s %s %s token %d: %.10g, Captum %.10g", l->model, l->kind, l->rule, l->asked, i,
                     r->scores[i], l->v[i]);
    asc_result_destroy(ctx, r);
}

static void against_captum(void **state) {
    (void)state;
    /* models: sites by kinds and rules, units likewise */
    lines_check("attr/site_paths.txt", true, 12 + 12 + 2 * (14 + 12), compare);
}

/* ---- what holds without anyone's numbers ---- */

/* Integrated gradients of a site add up to what replacing its rows changes: with an answer of several tokens,
 * a contrast, one head, an inner value. The default rule says its own error. */
static void site_integrals_are_complete(void **state) {
    (void)state;
    static const char *const sites[] = {"blocks.1.mlp.act",           "blocks.1.out",      "blocks.0.attn.in",
                                        "blocks.1.attn.heads:head=1", "blocks.2.attn.out", "blocks.1.mlp.in"};
    for (int d = 0; d < 2; d++) {
        asc_ctx *ctx = test_ctx(d == 0 ? "reference" : "cpu", NULL);
        asc_model *m = NULL;
        assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
        for (size_t k = 0; k < 6 * 3; k++) {
            asc_request q = request("integrated-gradients");
            asc_result *r = NULL;
            q.site = sites[k % 6];
            if (k / 6 == 0) q.n_target_ids = 2;
            if (k / 6 == 1) q.versus_ids = target + 1, q.n_versus_ids = 1;
            if (k / 6 == 2) {
                q.target_ids = NULL;
                q.n_target_ids = 0;
                q.neuron = "blocks.2.mlp.out:5";
            }
            assert_ok(ctx, asc_explain(m, &q, &r));
            double error = 0.0;
            for (size_t i = 0; i < N; i++) error += r->score_errors[i];
            if (!(r->complete && r->converged && fabs(r->residual) <= error && fabs(r->sum) > 1e-6))
                fail_msg("%s, case %zu: residual %g of %g, errors %g", q.site, k / 6, r->residual, r->sum,
                         error);
            assert_string_equal(r->site, q.site);
            asc_result_destroy(ctx, r);
        }
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

/* Conductance of a site that cuts the model makes up the whole change, and so do all heads' and all units'
 * shares of one; errors hold against four times the steps. */
static void flows_add_up(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
    for (int l = -1; l < 3; l++) {
        char site[32] = "embed";
        asc_request q = request("conductance");
        asc_result *r = NULL, *fine = NULL;
        if (l >= 0) snprintf(site, sizeof site, "blocks.%d.out", l);
        q.site = site;
        assert_ok(ctx, asc_explain(m, &q, &r));
        q.steps = 200;
        assert_ok(ctx, asc_explain(m, &q, &fine));
        assert_true(r->complete && r->steps == 50 && fine->converged);
        double error = 0.0;
        for (size_t i = 0; i < N; i++) {
            error += r->score_errors[i];
            if (!(fabs(r->scores[i] - fine->scores[i]) <= r->score_errors[i]))
                fail_msg("%s token %zu: off by %g, said %g", site, i, r->scores[i] - fine->scores[i],
                         r->score_errors[i]);
        }
        assert_true(fabs(r->residual) <= error && fabs(fine->residual) < fabs(r->residual) + 1e-9);
        asc_result_destroy(ctx, r);
        asc_result_destroy(ctx, fine);
    }
    double heads[N] = {0};
    for (int h = -1; h < m->decoder.cfg.n_heads; h++) {
        char site[48] = "blocks.1.attn.heads";
        asc_request q = request("conductance");
        asc_result *r = NULL;
        if (h >= 0) snprintf(site, sizeof site, "blocks.1.attn.heads:head=%d", h);
        q.site = site;
        q.n_target_ids = 2;
        assert_ok(ctx, asc_explain(m, &q, &r));
        assert_false(r->complete);
        for (size_t i = 0; i < N; i++) heads[i] += h < 0 ? -r->scores[i] : r->scores[i];
        asc_result_destroy(ctx, r);
    }
    for (size_t i = 0; i < N; i++) assert_true(fabs(heads[i]) < 1e-12);
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* Integrated gradients of the embeddings are what flows through all units of a site that cuts the model at
 * the last token, where only that token's row reaches the answer. */
static void units_add_up(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", NULL);
    asc_model *m = NULL;
    double sum[N] = {0};
    assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
    asc_request q = request("integrated-gradients");
    asc_result *whole = NULL;
    q.rule = "gauss-legendre";
    q.steps = 5;
    assert_ok(ctx, asc_explain(m, &q, &whole));
    q.method = "neuron-conductance";
    for (int64_t i = 0; i < m->decoder.cfg.d_model; i++) {
        char unit[48];
        asc_result *r = NULL;
        snprintf(unit, sizeof unit, "blocks.2.out:%lld", (long long)i);
        q.neuron = unit;
        assert_ok(ctx, asc_explain(m, &q, &r));
        assert_null(r->neuron_site);
        assert_true(strncmp(r->through, unit, strlen(unit)) == 0 && strstr(r->through, "@8") != NULL);
        for (size_t t = 0; t < N; t++) sum[t] += r->scores[t];
        asc_result_destroy(ctx, r);
    }
    for (size_t t = 0; t < N; t++) assert_true(fabs(sum[t] - whole->scores[t]) < 1e-11);
    asc_result_destroy(ctx, whole);
    asc_model_close(m);
    test_ctx_end(ctx);
}

static void refusals(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
    static const struct {
        const char *method, *site, *neuron, *rule;
        bool per_token;
        size_t memory;
        asc_status st;
    } cases[] = {{"conductance", NULL, NULL, NULL, false, 0, ASC_INVALID_ARGUMENT},
                 {"conductance", "blocks.0.out", NULL, "adaptive", false, 0, ASC_INVALID_ARGUMENT},
                 {"conductance", "blocks.9.out", NULL, NULL, false, 0, ASC_NOT_FOUND},
                 {"conductance", "blocks.0.out", NULL, NULL, true, 0, ASC_UNIMPLEMENTED},
                 {"conductance", "blocks.0.out", NULL, NULL, false, 1, ASC_RESOURCE_EXHAUSTED},
                 {"conductance", "blocks.0.out", "blocks.1.out:3", NULL, false, 0, ASC_UNIMPLEMENTED},
                 {"integrated-gradients", "blocks.0.out", NULL, NULL, true, 0, ASC_UNIMPLEMENTED},
                 {"integrated-gradients", "blocks.0.out", NULL, NULL, false, 1, ASC_RESOURCE_EXHAUSTED},
                 {"integrated-gradients", "final_norm", NULL, NULL, false, 0, ASC_UNIMPLEMENTED},
                 {"neuron-conductance", NULL, NULL, NULL, false, 0, ASC_INVALID_ARGUMENT},
                 {"neuron-conductance", NULL, "blocks.0.out", NULL, false, 0, ASC_INVALID_ARGUMENT},
                 {"neuron-conductance", NULL, "blocks.0.out:3@9", NULL, false, 0, ASC_OUT_OF_RANGE},
                 {"neuron-conductance", "blocks.0.out", "blocks.0.out:3", NULL, false, 0, ASC_UNIMPLEMENTED},
                 {"lrp", "blocks.0.out", NULL, NULL, false, 0, ASC_UNIMPLEMENTED},
                 {"deep-lift", "blocks.0.out", NULL, NULL, false, 0, ASC_UNIMPLEMENTED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asc_request q = request(cases[i].method);
        asc_result *r = NULL;
        q.site = cases[i].site;
        q.neuron = cases[i].neuron;
        q.rule = cases[i].rule;
        q.per_token = cases[i].per_token;
        q.memory_bytes = cases[i].memory;
        asc_status st = asc_explain(m, &q, &r);
        if (st != cases[i].st) fail_msg("case %zu: %s: %s", i, asc_status_name(st), asc_error_message(ctx));
        assert_null(r);
        asc_error_clear(ctx);
    }
    asc_model_close(m);
    test_ctx_end(ctx);
}

/* A price is found without running anything, and says how many passes there will be. */
static void prices(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", NULL);
    asc_model *m = NULL;
    assert_ok(ctx, asc_model_open(ctx, test_data(LLAMA), NULL, &m));
    for (int k = 0; k < 3; k++) {
        asc_request q = request(k == 0   ? "integrated-gradients"
                                : k == 1 ? "conductance"
                                         : "neuron-conductance");
        asc_result *r = NULL, *dry = NULL;
        if (k < 2) q.site = "blocks.1.mlp.act";
        if (k == 2) q.neuron = "blocks.1.mlp.act:3";
        if (k == 0) q.rule = "gauss-legendre";
        q.steps = 20;
        assert_ok(ctx, asc_explain(m, &q, &r));
        q.dry_run = true;
        assert_ok(ctx, asc_explain(m, &q, &dry));
        if (dry->n_forward != r->n_forward || dry->n_backward != r->n_backward)
            fail_msg("%s: %llu and %llu passes, priced %llu and %llu", q.method,
                     (unsigned long long)r->n_forward, (unsigned long long)r->n_backward,
                     (unsigned long long)dry->n_forward, (unsigned long long)dry->n_backward);
        assert_true(dry->flops > 0.5 * r->flops && dry->flops < 2.0 * r->flops);
        asc_result_destroy(ctx, r);
        asc_result_destroy(ctx, dry);
    }
    asc_model_close(m);
    test_ctx_end(ctx);
}

static asc_status small_run(asc_ctx *ctx) {
    asc_model *m = NULL;
    asc_status st = asc_model_open(ctx, test_data(LLAMA), NULL, &m);
    for (int k = 0; st == ASC_OK && k < 3; k++) {
        asc_request q = request(k == 0   ? "integrated-gradients"
                                : k == 1 ? "conductance"
                                         : "neuron-conductance");
        asc_result *r = NULL;
        if (k < 2) q.site = "blocks.1.mlp.act";
        if (k == 2) q.neuron = "blocks.1.mlp.act:3";
        if (k == 0) q.rule = "gauss-legendre";
        q.steps = 2;
        st = asc_explain(m, &q, &r);
        asc_result_destroy(ctx, r);
    }
    asc_model_close(m);
    return st;
}

static void failures_are_clean(void **state) {
    (void)state;
    oom_spread(small_run, 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_captum),    cmocka_unit_test(site_integrals_are_complete),
        cmocka_unit_test(flows_add_up),      cmocka_unit_test(units_add_up),
        cmocka_unit_test(refusals),          cmocka_unit_test(prices),
        cmocka_unit_test(failures_are_clean)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
