/* What Captum gets wrong without a word, shown right here, one test each. Those that have a test elsewhere:
 * ops without a rule and fall-backs (test_rules_deep_lift: fall_backs_are_noted; test_rules_lrp_ops), softmax
 * and max-pool rules by row (test_rules_deep_lift: rows_are_not_coupled, test_ruled_methods:
 * batches_equal_rows), backgrounds of Shapley values (test_sampling: test_background), permutation of a batch
 * of one (test_perturbation: test_permutation). */
#include "toy_models.h"
#include "toy_nets.h"

static int64_t class0 = 0;
static int one = 1;

static asc_attr_request request(const char *method, const asc_array *in, size_t n) {
    return (asc_attr_request){.struct_size = sizeof(asc_attr_request),
                              .method = method,
                              .inputs = in,
                              .n_inputs = n,
                              .target = {.n_rows = 1, .rank = 1, .index = &class0}};
}

static double sum(const asc_scores *s) {
    double v = 0.0;
    for (int64_t i = 0; i < asc_shape_elems(&s->shape); i++) v += s->data[i];
    return v;
}

/* 1: two left points of a curved path: the sum is off, and the result says by how much. */
static void completeness_is_checked(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, TOY_IN));
    const double x[TOY_IN] = {1, -1, 0.5, 2, -0.5, 1.5};
    asc_array in = {ASC_ELEM_F64, {2, {1, TOY_IN}}, x};
    asc_attr_request q = request("integrated-gradients", &in, 1);
    q.rule = "riemann-left";
    q.steps = 2;
    asc_attribution *r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
    assert_int_equal(r->n_delta, 1);
    toy_near(r->delta[0], sum(&r->scores[0]) - (r->value[0] - r->baseline_value[0]), 1e-6);
    assert_true(fabs(r->delta[0]) > 0.01 && r->n_notes > 0);
    asc_attribution_destroy(ctx, r);
    q.rule = NULL; /* adaptive: goes on until it holds */
    q.steps = 0;
    q.tolerance = 1e-4;
    r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
    assert_true(fabs(r->delta[0]) < 1e-3 && r->converged);
    asc_attribution_destroy(ctx, r);
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* 3 x0 - 2 x1 + x2, one number per example. */
static void linear(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    static const float w[3] = {3, -2, 1};
    (void)self;
    out[0] = asc_matmul(ctx, asc_site(f, "x", asc_shift(ctx, in[0], 0.0)),
                        asc_from_f32(ctx, ASC_SHAPE(1, 3), w), false, true);
}

/* 2: every rule integrates a constant to 1; with compat_captum the trapezoid's n points give (n-1)/n. */
static void rules_integrate_constants(void **state) {
    (void)state;
    static const char *const rules[] = {"gauss-legendre", "riemann-left", "riemann-right", "riemann-middle",
                                        "riemann-trapezoid"};
    static const char *const methods[] = {"integrated-gradients", "conductance", "internal-influence"};
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_net *net = toy_net(ctx, linear, &one, ASC_SHAPE(-1, 3));
    const double x[3] = {2, 5, -7}, w[3] = {3, -2, 1};
    const char *site = "x";
    asc_array in = {ASC_ELEM_F64, {2, {1, 3}}, x};
    for (size_t m = 0; m < 3; m++) {
        asc_attr_request q = request(methods[m], &in, 1);
        double want[3];
        for (int i = 0; i < 3; i++) want[i] = m < 2 ? w[i] * x[i] : w[i];
        q.at = &site;
        q.n_at = m == 0 ? 0 : 1;
        for (size_t i = 0; i < 5; i++) {
            q.rule = rules[i];
            /* conductance at the input's copy takes differences of the site along the path: the ends count */
            q.steps = 4;
            if (m != 1 || i == 4) toy_scores(ctx, net, &q, 0, want, 3, 1e-4);
        }
        q.rule = "riemann-trapezoid";
        q.compat_captum = true;
        for (int i = 0; i < 3; i++) want[i] *= 0.75;
        if (m != 1) toy_scores(ctx, net, &q, 0, want, 3, 1e-4);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* 3: the default's conductance has no pieces missing at the ends: it adds up at any layer. */
static void conductance_adds_up(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_net *net = toy_net(ctx, toy_multilayer, &one, ASC_SHAPE(-1, 3));
    const double x[3] = {2, 10, 3};
    const char *const sites[] = {"linear0", "linear1", "relu"};
    asc_array in = {ASC_ELEM_F64, {2, {1, 3}}, x};
    for (size_t i = 0; i < 3; i++) {
        asc_attr_request q = request("conductance", &in, 1);
        q.at = &sites[i];
        q.n_at = 1;
        asc_attribution *r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
        double rise = r->value[0] - r->baseline_value[0];
        assert_true(fabs(sum(&r->scores[0]) - rise) < 0.02 * fabs(rise));
        asc_attribution_destroy(ctx, r);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* 1 - relu(1 - x) by ops alone: no module that anything could be hooked to. */
static void functional(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    int axis[] = {-1};
    (void)self;
    asc_tensor *y = asc_relu(ctx, asc_shift(ctx, asc_neg(ctx, in[0]), 1.0));
    out[0] = asc_sum(ctx, asc_shift(ctx, asc_neg(ctx, y), 1.0), 1, axis, true);
}

/* 4, 5: rules belong to ops. x = (3, 0.5, -1): f = 3 - (0, 0.5, 2), from f(0) = 0. */
static void functional_ops_have_rules(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_net *net = toy_net(ctx, functional, &one, ASC_SHAPE(-1, 3));
    const double x[3] = {3, 0.5, -1}, lift[3] = {1, 0.5, -1}, nothing[3] = {0, 0, 0}, slope[3] = {0, 1, 1};
    asc_array in = {ASC_ELEM_F64, {2, {1, 3}}, x};
    asc_attr_request q = request("saliency", &in, 1);
    q.norm = "signed";
    toy_scores(ctx, net, &q, 0, slope, 3, 1e-6);
    q.norm = NULL;
    q.method = "deep-lift"; /* the plain gradient times the difference would be 0, 0.5, -1 */
    toy_scores(ctx, net, &q, 0, lift, 3, 1e-6);
    q.method = "guided-backprop"; /* what comes back to the relu is negative */
    toy_scores(ctx, net, &q, 0, nothing, 3, 0);
    q.method = "deconvolution";
    toy_scores(ctx, net, &q, 0, nothing, 3, 0);
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* 8: a module used twice is two places of the computation. */
static void modules_are_used_twice(void **state) {
    (void)state;
    static const char *const models[] = {"BasicModelWithReusedModules", "BasicModelWithReusedLinear"};
    asc_ctx *ctx = test_ctx("reference", "deferred");
    const double x[6] = {1, 2, 3, -1, 0.5, 2};
    asc_array in = {ASC_ELEM_F64, {2, {2, 3}}, x};
    for (size_t m = 0; m < 2; m++) {
        toy *t;
        assert_ok(ctx, toy_open(ctx, test_data("goldens/captum_model_weights.jsonl"), models[m], NULL, NULL,
                                NULL, &in, 1, &t));
        asc_attr_request q = request("deep-lift", &in, 1);
        asc_attribution *r = toy_check(ctx, t->net, &q, 0, NULL, 0, 0);
        for (size_t e = 0; e < 2; e++) assert_true(fabs(r->delta[e]) < 1e-5);
        assert_true(r->complete);
        asc_attribution_destroy(ctx, r);
        q.method = "lrp";
        toy_scores(ctx, t->net, &q, 0, NULL, 0, 0);
        toy_close(ctx, t);
    }
    test_ctx_end(ctx);
}

/* 10: rules are a matter of the call; 14: no call leaves anything behind, nor does one that fails. */
static void calls_leave_nothing_behind(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_net *net = toy_net(ctx, toy_multilayer, &one, ASC_SHAPE(-1, 3));
    const double x[3] = {2, -10, 13};
    const asc_rule_choice gamma = {.rule = "gamma", .a = 2.0}, wrong = {.rule = "no such rule"};
    asc_array in = {ASC_ELEM_F64, {2, {1, 3}}, x};
    asc_attr_request plain = request("lrp", &in, 1), q = plain;
    asc_attribution *first = toy_check(ctx, net, &plain, 0, NULL, 0, 0), *r;
    q.rules = &gamma;
    q.n_rules = 1;
    r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
    assert_true(memcmp(r->scores[0].data, first->scores[0].data, sizeof x) != 0);
    toy_scores(ctx, net, &q, 0, r->scores[0].data, 3, 0); /* the second call has them as well */
    asc_attribution_destroy(ctx, r);
    q.rules = &wrong;
    assert_int_not_equal(asc_attribute(net, &q, &r), ASC_OK);
    int64_t far = 99;
    q = plain;
    q.target.index = &far;
    assert_int_not_equal(asc_attribute(net, &q, &r), ASC_OK);
    assert_null(r);
    toy_scores(ctx, net, &plain, 0, first->scores[0].data, 3, 0);
    asc_attribution_destroy(ctx, first);
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* 12: examples, then outputs, then dimensions of the input, for every method of several outputs. */
static void one_shape_for_several_outputs(void **state) {
    (void)state;
    static const char *const methods[] = {"feature-ablation", "shapley-values", "shapley-value-sampling",
                                          "kernel-shap", "lime"};
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_net *net = toy_net(ctx, toy_multilayer, &one, ASC_SHAPE(-1, 3));
    const double x[12] = {2, 10, 3, 20, 50, 30, 1, 2, 3, 4, 5, 6};
    asc_array in = {ASC_ELEM_F64, {2, {4, 3}}, x};
    for (size_t m = 0; m < 5; m++) {
        asc_attr_request q = request(methods[m], &in, 1);
        q.target = (asc_target){0};
        asc_attribution *r = toy_check(ctx, net, &q, 0, NULL, 0, 0);
        const asc_shape *s = &r->scores[0].shape;
        assert_true(s->rank == 3 && s->dims[0] == 4 && s->dims[1] == 2 && s->dims[2] == 3);
        asc_attribution_destroy(ctx, r);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* 13: gaps between group numbers are no features; masks for some of the inputs are an error, not zeros. */
static void masks(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    int two = 2;
    asc_net *net = toy_net(ctx, toy_multilayer, &two, ASC_SHAPE(-1, 3));
    const double x[3] = {20, 50, 30}, y[3] = {0, 1, 2};
    const int32_t close[3] = {0, 0, 1}, gaps[3] = {3, 3, 9}, other[3] = {2, 2, 2};
    asc_array in[2] = {{ASC_ELEM_F64, {2, {1, 3}}, x}, {ASC_ELEM_F64, {2, {1, 3}}, y}};
    asc_array dense[2] = {{ASC_ELEM_I32, {2, {1, 3}}, close}, {ASC_ELEM_I32, {2, {1, 3}}, other}},
              sparse[2] = {{ASC_ELEM_I32, {2, {1, 3}}, gaps}, {ASC_ELEM_I32, {2, {1, 3}}, other}};
    static const char *const methods[] = {"feature-ablation", "shapley-values", "kernel-shap"};
    for (size_t m = 0; m < 3; m++) {
        asc_attr_request q = request(methods[m], in, 2);
        q.masks = dense;
        q.n_masks = 2;
        asc_attribution *r = toy_check(ctx, net, &q, 0, NULL, 0, 0), *none;
        q.masks = sparse;
        toy_scores(ctx, net, &q, 0, r->scores[0].data, 3, 1e-9 * fabs(r->value[0]));
        q.n_masks = 1;
        assert_int_equal(asc_attribute(net, &q, &none), ASC_INVALID_ARGUMENT);
        assert_non_null(strstr(asc_error_message(ctx), "mask"));
        asc_attribution_destroy(ctx, r);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* 15: nothing is overwritten: a layer's values are those it had, not what the relu behind it made of them. */
static void layer_values_stay(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_multilayer, &one, ASC_SHAPE(-1, 3));
    const double x[3] = {2, -5, 4}, want[4] = {-9, 2, 2, 2};
    const char *site = "linear1";
    asc_array in = {ASC_ELEM_F64, {2, {1, 3}}, x};
    asc_attr_request q = request("layer-activation", &in, 1);
    q.target = (asc_target){0};
    q.at = &site;
    q.n_at = 1;
    toy_scores(ctx, net, &q, 0, want, 4, 1e-6);
    asc_net_close(net);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completeness_is_checked),
        cmocka_unit_test(rules_integrate_constants),
        cmocka_unit_test(conductance_adds_up),
        cmocka_unit_test(functional_ops_have_rules),
        cmocka_unit_test(modules_are_used_twice),
        cmocka_unit_test(calls_leave_nothing_behind),
        cmocka_unit_test(one_shape_for_several_outputs),
        cmocka_unit_test(masks),
        cmocka_unit_test(layer_values_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
