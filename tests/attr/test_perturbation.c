/* Perturbation methods on Captum's toy nets: its own numbers (captum's tests of feature ablation, occlusion,
 * Shapley values, KernelShap, Lime), masks across inputs, several outputs, sites, whole batches, refusals. */
#include "toy_nets.h"

static int64_t class0 = 0;
static int one = 1, two = 2, three = 3;

static asc_attr_request request(const char *method, const asc_array *in, size_t n) {
    return (asc_attr_request){.struct_size = sizeof(asc_attr_request),
                              .method = method,
                              .inputs = in,
                              .n_inputs = n,
                              .target = {.n_rows = 1, .rank = 1, .index = &class0}};
}

static const double ml_x[6] = {2, 10, 3, 20, 50, 30};
static const int32_t ml_mask[6] = {0, 0, 1, 1, 1, 0};

static void test_shapley(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_multilayer, &one, ASC_SHAPE(-1, 3));
    asc_array in = {ASC_ELEM_F64, {2, {2, 3}}, ml_x}, mask = {ASC_ELEM_I32, {2, {1, 3}}, ml_mask};
    const double plain[6] = {7, 32.5, 10.5, 76.0 + 2.0 / 3.0, 196.0 + 2.0 / 3.0, 116.0 + 2.0 / 3.0},
                 grouped[6] = {39.5, 39.5, 10.5, 275, 275, 115};
    asc_attr_request q = request("shapley-values", &in, 1);
    toy_scores(ctx, net, &q, 0, plain, 6, 1e-4);
    q.masks = &mask;
    q.n_masks = 1;
    toy_scores(ctx, net, &q, 0, grouped, 6, 1e-4);
    q.method = "kernel-shap"; /* 2 features: all sets are run */
    toy_scores(ctx, net, &q, 0, grouped, 6, 1e-4);
    q.n_masks = 0;
    toy_scores(ctx, net, &q, 0, plain, 6, 1e-4);
    q.method = "shapley-value-sampling";
    toy_scores(ctx, net, &q, 0, plain, 6, 1e-4); /* 8 sets are fewer rows than 25 orders */
    q.compat_captum = true;
    q.samples = 4000;
    asc_attribution *r = toy_check(ctx, net, &q, 0, plain, 6, 0.5);
    assert_true(r->stochastic && r->complete && r->n_delta == 2);
    for (int i = 0; i < 2; i++) assert_true(fabs(r->delta[i]) < 1e-3);
    for (int i = 0; i < 6; i++) toy_near(r->scores[0].data[i], plain[i], 4.5 * r->scores[0].error[i]);
    asc_attribution_destroy(ctx, r);
    /* a linear stretch of the net: exact with any number of samples */
    const double x[3] = {20, 50, 30}, x0[3] = {10, 20, 10}, linear[3] = {40, 120, 80};
    asc_array one_row = {ASC_ELEM_F64, {2, {1, 3}}, x}, base = {ASC_ELEM_F64, {2, {1, 3}}, x0};
    const char *methods[] = {"shapley-values", "kernel-shap", "shapley-value-sampling"};
    for (int i = 0; i < 3; i++) {
        q = request(methods[i], &one_row, 1);
        q.baselines = &base;
        q.n_baselines = 1;
        q.samples = 6;
        toy_scores(ctx, net, &q, 0, linear, 3, 1e-4);
        q.compat_captum = true;
        q.samples = 500;
        toy_scores(ctx, net, &q, 0, linear, 3, 1e-2);
    }
    asc_net_close(net);
    test_ctx_end(ctx);
}

static const double mi_1[6] = {23, 100, 0, 20, 50, 30}, mi_2[6] = {20, 50, 30, 0, 100, 0},
                    mi_3[6] = {0, 100, 10, 2, 10, 3};
static const asc_array mi[3] = {
    {ASC_ELEM_F64, {2, {2, 3}}, mi_1}, {ASC_ELEM_F64, {2, {2, 3}}, mi_2}, {ASC_ELEM_F64, {2, {2, 3}}, mi_3}};

/* Captum's test_multi_input_* with one mask per example that crosses the inputs. */
static void test_crossing_masks(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_multilayer, &three, ASC_SHAPE(-1, 3));
    const int32_t m1[6] = {1, 1, 1, 0, 1, 0}, m2[3] = {0, 1, 2}, m3[6] = {0, 1, 2, 0, 0, 0};
    const asc_array masks[3] = {
        {ASC_ELEM_I32, {2, {2, 3}}, m1}, {ASC_ELEM_I32, {2, {1, 3}}, m2}, {ASC_ELEM_I32, {2, {2, 3}}, m3}};
    const double b[3] = {2, 3, 4};
    const asc_array base[3] = {
        {ASC_ELEM_F64, {0, {0}}, &b[0]}, {ASC_ELEM_F64, {0, {0}}, &b[1]}, {ASC_ELEM_F64, {0, {0}}, &b[2]}};
    asc_attr_request q = request("kernel-shap", mi, 3);
    q.masks = masks;
    q.n_masks = 3;
    q.samples = 300;
    const double zero_1[6] = {1088.667, 1088.667, 1088.667, 255, 595, 255},
                 zero_2[6] = {76.6667, 1088.667, 156.6667, 255, 595, 0},
                 with_1[6] = {1040, 1040, 1040, 184, 580, 184}, with_3[6] = {52, 1040, 132, 184, 184, 184};
    toy_scores(ctx, net, &q, 0, zero_1, 6, 2e-3);
    toy_scores(ctx, net, &q, 1, zero_2, 6, 2e-3);
    q.baselines = base;
    q.n_baselines = 3;
    toy_scores(ctx, net, &q, 0, with_1, 6, 2e-3);
    toy_scores(ctx, net, &q, 2, with_3, 6, 2e-3);
    /* Lime, penalty 1: 500 draws gave Captum these numbers to within 1; all 8 sets give what draws tend to */
    const double lime_0[6] = {1086.28, 1086.28, 1086.28, 250.8907, 590.9789, 250.8907},
                 lime_b[6] = {48.2441, 1036.423, 128.3161, 180.3035, 575.8969, -8.3229},
                 sklearn_b[3] = {48.12396375, 1036.12105437, 128.14128141};
    q.method = "lime";
    q.penalty = 1.0;
    toy_scores(ctx, net, &q, 1, lime_b, 6, 1.0);
    toy_scores(ctx, net, &q, 1, sklearn_b, 3, 1e-3); /* Lasso of scikit-learn 1.9 on the 8 sets */
    q.n_baselines = 0;
    toy_scores(ctx, net, &q, 0, lime_0, 6, 1.0);
    q.compat_captum = true; /* draws, as Captum: more scatter */
    toy_scores(ctx, net, &q, 0, lime_0, 6, 4.0);
    asc_net_close(net);
    test_ctx_end(ctx);
}

static void test_ablation(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_multilayer, &three, ASC_SHAPE(-1, 3));
    const double b1[3] = {3, 0, 0}, b2[3] = {0, 1, 0}, b3[3] = {1, 2, 3};
    const asc_array base[3] = {
        {ASC_ELEM_F64, {2, {1, 3}}, b1}, {ASC_ELEM_F64, {2, {1, 3}}, b2}, {ASC_ELEM_F64, {2, {1, 3}}, b3}};
    const double want_2[6] = {80, 196, 120, 0, 396, 0}, want_3[6] = {-4, 392, 28, 4, 32, 0};
    asc_attr_request q = request("feature-ablation", mi, 3);
    q.baselines = base;
    q.n_baselines = 3;
    for (size_t rows = 0; rows < 5; rows++) {
        q.rows_per_pass = rows;
        toy_scores(ctx, net, &q, 1, want_2, 6, 1e-4);
        toy_scores(ctx, net, &q, 2, want_3, 6, 1e-4);
    }
    /* no target: both numbers are explained, in a dimension of their own behind the examples */
    q.target = (asc_target){0};
    asc_attribution *r = toy_check(ctx, net, &q, 1, NULL, 0, 0);
    assert_int_equal(r->n_outputs, 2);
    assert_true(r->scores[1].shape.rank == 3 && r->scores[1].shape.dims[1] == 2);
    for (int i = 0; i < 3; i++) toy_near(r->scores[1].data[i], want_2[i], 1e-4);
    for (int i = 0; i < 3; i++) toy_near(r->scores[1].data[6 + i], want_2[3 + i], 1e-4);
    for (int i = 0; i < 3; i++) toy_near(r->scores[1].data[3 + i], want_2[i], 1e-4);
    asc_attribution_destroy(ctx, r);
    asc_net_close(net);
    /* the layer form: values of a site in groups */
    net = toy_net(ctx, toy_multilayer, &one, ASC_SHAPE(-1, 3));
    const int32_t groups[3] = {0, 0, 1};
    const double layer[3] = {280, 280, 120};
    const char *at = "linear0";
    asc_array in = {ASC_ELEM_F64, {2, {1, 3}}, ml_x + 3}, mask = {ASC_ELEM_I32, {2, {1, 3}}, groups};
    q = request("feature-ablation", &in, 1);
    q.at = &at;
    q.n_at = 1;
    q.masks = &mask;
    q.n_masks = 1;
    toy_scores(ctx, net, &q, 0, layer, 3, 1e-4);
    /* the neuron form: a unit of a site is explained */
    q = request("feature-ablation", &in, 1);
    q.target.value = "linear1";
    const double neuron[3] = {20, 50, 30};
    toy_scores(ctx, net, &q, 0, neuron, 3, 1e-4);
    asc_net_close(net);
    test_ctx_end(ctx);
}

static void test_occlusion(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_one_conv, &two, ASC_SHAPE(-1, 1, 4, 4));
    double a[16], b[16];
    for (int i = 0; i < 16; i++) a[i] = i, b[i] = 1;
    asc_array in[2] = {{ASC_ELEM_F64, {4, {1, 1, 4, 4}}, a}, {ASC_ELEM_F64, {4, {1, 1, 4, 4}}, b}};
    const int64_t window[6] = {1, 2, 3, 1, 1, 2}, stride[6] = {1, 2, 1, 1, 1, 2};
    const double first[16] = {17, 17, 17, 17, 17, 17, 17, 17, 64, 65.5, 65.5, 67, 64, 65.5, 65.5, 67},
                 second[16] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0};
    asc_attr_request q = request("occlusion", in, 2);
    q.window = window;
    q.stride = stride;
    q.n_window = 6;
    for (size_t rows = 0; rows < 15; rows += 7) {
        q.rows_per_pass = rows;
        toy_scores(ctx, net, &q, 0, first, 16, 1e-4);
        toy_scores(ctx, net, &q, 1, second, 16, 1e-4);
    }
    const struct {
        int64_t window[6], stride[6];
        size_t n;
    } bad[] = {{{1, 5, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, 6},
               {{1, 2, 2, 1, 1, 1}, {1, 3, 1, 1, 1, 1}, 6},
               {{1, 2, 2, 0, 1, 1}, {1, 1, 1, 1, 1, 1}, 6},
               {{1, 2, 2, 1, 1, 1}, {1, 1, 1, 1, 0, 1}, 6},
               {{1, 2, 2}, {1, 1, 1}, 3},
               {{0}, {0}, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        asc_attribution *r;
        q.window = bad[i].window;
        q.stride = bad[i].stride;
        q.n_window = bad[i].n;
        assert_int_equal(asc_attribute(net, &q, &r), ASC_INVALID_ARGUMENT);
        assert_null(r);
    }
    asc_net_close(net);
    /* stride left out, and windows on a table: Captum's test_multi_input_ablation_with_mask */
    net = toy_net(ctx, toy_multilayer, &three, ASC_SHAPE(-1, 3));
    const int64_t table[3] = {3, 1, 2};
    const double want_1[6] = {492, 492, 492, 400, 400, 400}, want_2[6] = {80, 200, 120, 0, 400, 0};
    q = request("occlusion", mi, 3);
    q.window = table;
    q.n_window = 3;
    toy_scores(ctx, net, &q, 0, want_1, 6, 1e-4);
    toy_scores(ctx, net, &q, 1, want_2, 6, 1e-4);
    /* its test_multi_input_ablation_with_baselines: the last window of the third input is cropped */
    const int64_t steps[3] = {2, 1, 2};
    const double b1[6] = {1, 4, 7, 3, 6, 9}, b2 = 3, b3[2] = {4, 6},
                 with_1[6] = {444, 444, 444, 328, 328, 328}, with_2[6] = {68, 188, 108, -12, 388, -12},
                 with_3[6] = {368, 368, 24, 0, 0, -12};
    double wide[6];
    for (int i = 0; i < 6; i++) wide[i] = b3[i / 3];
    const asc_array base[3] = {
        {ASC_ELEM_F64, {2, {2, 3}}, b1}, {ASC_ELEM_F64, {0, {0}}, &b2}, {ASC_ELEM_F64, {2, {2, 3}}, wide}};
    q.stride = steps;
    q.baselines = base;
    q.n_baselines = 3;
    toy_scores(ctx, net, &q, 0, with_1, 6, 1e-4);
    toy_scores(ctx, net, &q, 1, with_2, 6, 1e-4);
    toy_scores(ctx, net, &q, 2, with_3, 6, 1e-4);
    asc_net_close(net);
    test_ctx_end(ctx);
}

static void test_permutation(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = toy_net(ctx, toy_additive, &one, ASC_SHAPE(-1, TOY_IN));
    double x[2 * TOY_IN];
    for (int i = 0; i < 2 * TOY_IN; i++) x[i] = (double)toy_number((uint64_t)i + 77);
    asc_array in = {ASC_ELEM_F64, {2, {2, TOY_IN}}, x};
    asc_attr_request q = request("feature-permutation", &in, 1);
    q.target = (asc_target){0};
    /* two examples: the only permutation that moves anything swaps them */
    const double c[TOY_IN] = {1, -2, 3, 0.5, 0, 4};
    double want[2 * TOY_IN];
    for (int i = 0; i < TOY_IN; i++) {
        want[i] = c[i] * (x[i] * x[i] - x[TOY_IN + i] * x[TOY_IN + i]);
        want[TOY_IN + i] = -want[i];
    }
    for (q.samples = 0; q.samples < 6; q.samples += 5) {
        asc_attribution *r = toy_check(ctx, net, &q, 0, want, 2 * TOY_IN, 1e-5);
        assert_true((r->scores[0].error != NULL) == (q.samples > 1));
        asc_attribution_destroy(ctx, r);
    }
    asc_array alone = {ASC_ELEM_F64, {2, {1, TOY_IN}}, x};
    asc_attribution *r;
    q.inputs = &alone;
    assert_int_equal(asc_attribute(net, &q, &r), ASC_INVALID_ARGUMENT);
    assert_non_null(strstr(asc_error_message(ctx), "at least 2 examples"));
    q.compat_captum = true;
    const double zeros[TOY_IN] = {0};
    r = toy_check(ctx, net, &q, 0, zeros, TOY_IN, 0);
    assert_int_equal(r->n_notes, 1);
    asc_attribution_destroy(ctx, r);
    asc_net_close(net);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapley), cmocka_unit_test(test_crossing_masks),
                                       cmocka_unit_test(test_ablation), cmocka_unit_test(test_occlusion),
                                       cmocka_unit_test(test_permutation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
