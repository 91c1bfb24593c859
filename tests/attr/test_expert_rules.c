/* test_expert_rules.c - relevance and multipliers of pairs on mixtures of experts: against torch in float64,
 * in f32 in every mode; relevance conserved behind every block's norms as far as biases go, multipliers
 * complete however near a choice is to changing; and integrated gradients' own errors there. */
#include "harness.h"
#include "method.h"
#include "ops.h"
#include "rules.h"
#include <math.h>

enum { P = 8 };
static const int32_t prompt[P] = {5, 17, 30, 9, 31, 22, 5, 3}, target[] = {12, 7};
static const char *const families[] = {"mixtral", "qwen3moe"};

/* Double without epsilon against 1e-9 in denominators, as in test_prompt_rules.c. */
static const double TIGHT = 2e-6, EXACT = 1e-9;

static void read_line(const char *family, const char *what, double *out, size_t n) {
    static char line[4096];
    char name[64];
    FILE *f = fopen(test_data("attr/moe_rules.txt"), "r");
    assert_non_null(f);
    const size_t len = (size_t)snprintf(name, sizeof name, "%s_%s ", family, what);
    size_t got = 0;
    while (got == 0 && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, name, len) != 0) continue;
        char *at = line + len, *end = at;
        for (; got < n; got++, at = end) {
            out[got] = strtod(at, &end);
            if (end == at) break;
        }
    }
    fclose(f);
    assert_int_equal(got, n);
}

static asc_model *open_model(asc_ctx *ctx, const char *family) {
    char path[64];
    asc_model *m = NULL;
    snprintf(path, sizeof path, "decoders/%s.gguf", family);
    assert_ok(ctx, asc_model_open(ctx, test_data(path), NULL, &m));
    return m;
}

static asc_request request(const char *method) {
    return (asc_request){.struct_size = sizeof(asc_request),
                         .method = method,
                         .prompt_ids = prompt,
                         .n_prompt_ids = P,
                         .target_ids = target,
                         .n_target_ids = 2,
                         .features = ASC_FEATURES_TOKEN};
}

static void compare(const char *what, const double *have, const double *want, double tolerance) {
    double largest = 0.0;
    for (size_t i = 0; i < P; i++) largest = fmax(largest, fabs(want[i]));
    for (size_t i = 0; i < P; i++) {
        if (!(fabs(have[i] - want[i]) <= tolerance * largest))
            fail_msg("%s [%zu]: %.12g, by torch %.12g", what, i, have[i], want[i]);
    }
}

static void against_torch(void **state) {
    (void)state;
    static const struct {
        const char *device, *mode;
        double tolerance;
    } places[] = {{"reference", "deferred", 2e-6}, /* f32: relevance divides by sums in which terms cancel */
                  {"cpu", "deferred", 2e-3},
                  {"cpu", "eager", 2e-3},
                  {"cpu", "compiled", 2e-3}};
    for (size_t k = 0; k < 8; k++) {
        const char *family = families[k % 2];
        asc_ctx *ctx = test_ctx(places[k / 2].device, places[k / 2].mode);
        asc_model *m = open_model(ctx, family);
        asc_result *r = NULL;
        asc_request q = request("lrp");
        double want[P], value = NAN, have[P];
        assert_ok(ctx, asc_explain(m, &q, &r));
        read_line(family, "value", &value, 1);
        assert_true(fabs(r->value - value) < (k < 2 ? EXACT : 1e-4));
        read_line(family, "lrp", want, P);
        for (size_t i = 0; i < P; i++) have[i] = r->features[i].score;
        compare(family, have, want, places[k / 2].tolerance);
        for (int l = 0; l < (int)r->n_inner; l++) {
            char line[32];
            snprintf(line, sizeof line, "out_%d", l);
            read_line(family, line, want, P);
            compare(r->inner[l].name, r->inner_scores + l * P, want, k < 2 ? TIGHT : 2e-3);
        }
        assert_int_equal(r->n_inner, 2);
        asc_result_destroy(ctx, r);
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

/* A matrix of experts is a layer: no relevance is lost in it, whatever the rule, when there is no bias. */
static void one_layer(void **state) {
    (void)state;
    static const char *const rules[] = {"epsilon", "gamma", "z-plus", "alpha-beta", "w-square", "flat"};
    for (size_t k = 0; k < 6; k++) {
        asc_ctx *ctx = test_ctx("reference", NULL);
        const float xs[] = {0.5f, 2, 1, 0.25f, 3, 0.5f}, ws[] = {1, 2, -1, 3, 1, 2, 2, 1, 4, 1, -2, 3};
        const int32_t at[] = {1, 0, 1};
        const asc_rule_choice choice = {.rule = rules[k]};
        const asc_rule_options o = {.choices = &choice, .n_choices = 1};
        asc_rules r = {0};
        double before[9], after[6], sum = 0.0;
        asc_scope_begin(ctx);
        asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(3, 2), xs),
                   *w = asc_from_f32(ctx, ASC_SHAPE(2, 3, 2), ws);
        asc_tensor *y = asc_expert_matmul(ctx, x, w, asc_from_i32(ctx, ASC_SHAPE(3), at), true), *g = NULL;
        assert_ok(ctx, asc_rules_init_lrp(ctx, &o, &r));
        asc_grad_with_rules(ctx, &r.grad, y, y, &x, 1, &g);
        assert_ok(ctx, asc_read_f64(ctx, y, before, 9));
        assert_ok(ctx, asc_read_f64(ctx, g, after, 6));
        for (size_t i = 0; i < 9; i++) sum += i < 6 ? after[i] - before[i] : -before[i];
        if (!(fabs(sum) < 1e-7)) fail_msg("%s: %.9g of the relevance is lost", rules[k], sum);
        asc_rules_deinit(&r);
        assert_ok(ctx, asc_scope_close(ctx, ASC_OK));
        test_ctx_end(ctx);
    }
}

static const struct {
    const char *device, *mode;
    double tolerance;
} pair_places[] = {{"reference", "deferred", 1e-9},
                   {"cpu", "deferred", 2e-4},
                   {"cpu", "eager", 2e-4},
                   {"cpu", "compiled", 2e-4}};

/* torch's secants give up digits where values are close: 1e-9. f32: quotients of differences, two blocks. The
 * fixture's script makes sure that choices do change. */
static void pairs_against_torch(void **state) {
    (void)state;
    for (size_t k = 0; k < 8; k++) {
        const char *family = families[k % 2];
        asc_ctx *ctx = test_ctx(pair_places[k / 2].device, pair_places[k / 2].mode);
        asc_model *m = open_model(ctx, family);
        asc_result *r = NULL;
        asc_request q = request("deep-lift");
        double want[P], values[2] = {NAN, NAN}, have[P];
        q.baseline = ASC_BASELINE_TOKEN;
        q.baseline_token = 1;
        assert_ok(ctx, asc_explain(m, &q, &r));
        read_line(family, "deep_lift_values", values, 2);
        assert_true(fabs(r->value - values[0]) < (k < 2 ? EXACT : 1e-4));
        assert_true(fabs(r->baseline_value - values[1]) < (k < 2 ? EXACT : 1e-4));
        read_line(family, "deep_lift", want, P);
        for (size_t i = 0; i < P; i++) have[i] = r->features[i].score;
        compare(family, have, want, pair_places[k / 2].tolerance);
        assert_true(r->converged && fabs(r->residual) < (k < 2 ? EXACT : 1e-3));
        asc_result_destroy(ctx, r);
        r = NULL;
        q.method = "deep-lift-shap";
        q.baseline = ASC_BASELINE_AUTO;
        q.samples = 4;
        assert_ok(ctx, asc_explain(m, &q, &r));
        assert_true(fabs(r->residual) < (k < 2 ? EXACT : 1e-3));
        asc_result_destroy(ctx, r);
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

/* A router h R by softmax, the better of two experts' matrices, as in the models: f = sum of share * (h W).
 */
static asc_tensor *tiny_mixture(asc_ctx *ctx, asc_tensor *h) {
    static const float router[] = {1, 0, 0.5f, 0, 1, 0.25f}, w[] = {3, -1, 2, -2, 1, 4};
    int all[] = {0, 1};
    asc_tensor *p =
        asc_softmax(ctx, asc_matmul(ctx, h, asc_from_f32(ctx, ASC_SHAPE(2, 3), router), false, true));
    asc_tensor *at = asc_top_k(ctx, p, 1, true), *share = asc_take_along(ctx, p, at, -1);
    asc_tensor *rows = asc_reshape(ctx, h, ASC_SHAPE(1, 1, 3));
    asc_tensor *y = asc_expert_matmul(ctx, rows, asc_from_f32(ctx, ASC_SHAPE(2, 1, 3), w), at, true);
    return asc_sum(ctx, asc_mul(ctx, asc_reshape(ctx, y, ASC_SHAPE(1, 1)), share), 2, all, false);
}

/* Runs on either side of a change of choice, ever closer to it: complete each time, and no score is larger
 * than what the value jumps by and the slopes of either side allow. */
static void near_a_change(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", NULL);
    for (double gap = 1.0; gap > 1e-6; gap /= 10) {
        const double at[3] = {1 + gap, 1, 0.5}, at0[3] = {1 - gap, 1 + gap, 0.75};
        const asc_rule_options o = {0};
        double m[3], f, f0, sum = 0.0, most = 0.0;
        asc_rules r = {0};
        asc_scope_begin(ctx);
        asc_tensor *x = asc_from_f64(ctx, ASC_SHAPE(1, 3), at), *x0 = asc_from_f64(ctx, ASC_SHAPE(1, 3), at0);
        asc_tensor *y = tiny_mixture(ctx, x), *y0 = tiny_mixture(ctx, x0), *g = NULL;
        assert_ok(ctx, asc_rules_init_deep_lift(ctx, &o, &r));
        asc_grad_paired(ctx, &r.grad, y, y0, NULL, &x, &x0, 1, &g);
        assert_ok(ctx, asc_read_f64(ctx, g, m, 3));
        assert_ok(ctx, asc_read_f64(ctx, y, &f, 1));
        assert_ok(ctx, asc_read_f64(ctx, y0, &f0, 1));
        for (size_t i = 0; i < 3; i++) {
            sum += m[i] * (at[i] - at0[i]);
            most = fmax(most, fabs(m[i] * (at[i] - at0[i])));
        }
        if (!(fabs(sum - (f - f0)) < 1e-12)) fail_msg("gap %g: %.12g of %.12g", gap, sum, f - f0);
        if (!(most < fabs(f - f0) + 6 * gap + 1.5)) fail_msg("gap %g: a score of %g", gap, most);
        asc_rules_deinit(&r);
        assert_ok(ctx, asc_scope_close(ctx, ASC_OK));
    }
    test_ctx_end(ctx);
}

/* Integrated gradients state what jumps on the path leave. */
static void choices_that_change(void **state) {
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        asc_ctx *ctx = test_ctx("cpu", NULL);
        asc_model *m = open_model(ctx, families[k]);
        asc_result *r = NULL;
        asc_request q = request("integrated-gradients");
        q.baseline = ASC_BASELINE_TOKEN;
        q.baseline_token = 1;
        q.tolerance = 0.01;
        q.max_evaluations = 500;
        assert_ok(ctx, asc_explain(m, &q, &r));
        double error = 0.0;
        for (size_t i = 0; i < P; i++) error += r->features[i].error;
        assert_true(fabs(r->residual) <= error + 1e-4 || !r->converged);
        asc_result_destroy(ctx, r);
        asc_model_close(m);
        test_ctx_end(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_torch),       cmocka_unit_test(one_layer),
        cmocka_unit_test(pairs_against_torch), cmocka_unit_test(near_a_change),
        cmocka_unit_test(choices_that_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
