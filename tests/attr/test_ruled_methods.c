/* test_ruled_methods.c - DeepLift, DeepLiftShap, LRP, Guided Backprop, Deconvolution and Guided Grad-CAM as
 * methods: Captum's numbers (captum_expected.tsv), sites and units, batches and chunks, notes and refusals.
 */
#include "attr/toy_nets.h"

/* BasicModel_ConvNet_One_Conv on the sum of its inputs, with a site behind the convolution and the ReLU. */
static void conv_net(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    const asc_window win = {.kernel = {3, 3, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
    const float bias[2] = {-50, -75};
    float w[18], v[32];
    for (int i = 0; i < 18; i++) w[i] = 1;
    for (int i = 0; i < 32; i++) v[i] = i % 8 < 5 ? 1 : -1;
    asc_tensor *x = in[0];
    for (int i = 1; i < *(int *)self; i++) x = asc_add(ctx, x, in[i]);
    x = asc_conv(ctx, x, asc_from_f32(ctx, ASC_SHAPE(2, 1, 3, 3), w), asc_from_f32(ctx, ASC_SHAPE(2), bias),
                 &win, 1);
    x = asc_site(f, "conv1", x);
    x = asc_site(f, "relu1", asc_relu(ctx, x));
    x = asc_reshape(ctx, x, ASC_SHAPE(asc_tensor_shape(x).dims[0], 8));
    x = asc_site(f, "fc1", asc_matmul(ctx, x, asc_from_f32(ctx, ASC_SHAPE(4, 8), v), false, true));
    out[0] = asc_relu(ctx, x);
}

/* relu([l1(x1), x3 l2(x2)]) summed: ReLULinearModel with x3 = 1. */
static void relu_linear(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    const float w1[3] = {3, 1, 0}, w2[3] = {2, 3, 0};
    (void)self;
    asc_tensor *a = asc_matmul(ctx, in[0], asc_from_f32(ctx, ASC_SHAPE(1, 3), w1), false, true);
    asc_tensor *b = asc_matmul(ctx, in[1], asc_from_f32(ctx, ASC_SHAPE(1, 3), w2), false, true);
    asc_tensor *h = asc_site(f, "cat", asc_concat(ctx, (asc_tensor *[]){a, b}, 2, 1));
    h = asc_site(f, "relu", asc_relu(ctx, h));
    out[0] = asc_site(f, "l3", asc_matmul(ctx, h, asc_full(ctx, ASC_SHAPE(2, 1), 1), false, false));
}

static const double x1[] = {-10, 1, -5}, x2[] = {3, 3, 1}, zeros[] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
static double ramp[32];

typedef struct setting {
    asc_ctx *ctx;
    asc_net *net;
    asc_array in[2], base[2];
    int64_t target;
    asc_attr_request q;
} setting;

static void open_relu_linear(setting *s, const char *device, const char *method) {
    static int two = 2;
    *s = (setting){.ctx = test_ctx(device, "deferred")};
    s->net = toy_net(s->ctx, relu_linear, &two, ASC_SHAPE(-1, 3));
    s->in[0] = (asc_array){ASC_ELEM_F64, {2, {1, 3}}, x1};
    s->in[1] = (asc_array){ASC_ELEM_F64, {2, {1, 3}}, x2};
    s->q = (asc_attr_request){.struct_size = sizeof s->q, .method = method, .inputs = s->in, .n_inputs = 2};
}

static void open_conv(setting *s, const char *method, int n_inputs) {
    static int count;
    count = n_inputs;
    for (int i = 0; i < 16; i++) {
        ramp[i] = i;
        ramp[16 + i] = 1;
    }
    *s = (setting){.ctx = test_ctx("reference", "deferred")};
    s->net = toy_net(s->ctx, conv_net, &count, ASC_SHAPE(-1, 1, 4, 4));
    for (int i = 0; i < 2; i++) s->in[i] = (asc_array){ASC_ELEM_F64, {4, {1, 1, 4, 4}}, ramp + 16 * i};
    s->q = (asc_attr_request){.struct_size = sizeof s->q,
                              .method = method,
                              .inputs = s->in,
                              .n_inputs = (size_t)n_inputs,
                              .target = {.n_rows = 1, .rank = 1, .index = &s->target}};
}

static void close_setting(setting *s) {
    asc_net_close(s->net);
    test_ctx_end(s->ctx);
}

static void deep_lift_at_inputs_sites_and_units(void **state) {
    (void)state;
    setting s;
    open_relu_linear(&s, "reference", "deep-lift");
    const double want2[] = {6, 9, 0}, cat[] = {0, 15}, relu[] = {0, 1};
    toy_scores(s.ctx, s.net, &s.q, 0, zeros, 3, 1e-14);
    asc_attribution *r = toy_check(s.ctx, s.net, &s.q, 1, want2, 3, 1e-14);
    toy_near(r->delta[0], 0, 1e-14);
    assert_true(r->complete && r->converged);
    asc_attribution_destroy(s.ctx, r);
    const char *at[] = {"cat"};
    s.q.at = at;
    s.q.n_at = 1;
    toy_scores(s.ctx, s.net, &s.q, 0, cat, 2, 1e-14);
    s.q.no_multiply = true;
    toy_scores(s.ctx, s.net, &s.q, 0, relu, 2, 1e-14);
    s.q.no_multiply = false;
    at[0] = "l3"; /* the explained value itself */
    toy_scores(s.ctx, s.net, &s.q, 0, (double[]){15}, 1, 1e-14);
    s.q.n_at = 0;
    s.target = 1;
    s.q.target =
        (asc_target){.value = "relu", .n_rows = 1, .rank = 1, .index = &s.target}; /* NeuronDeepLift */
    toy_scores(s.ctx, s.net, &s.q, 1, want2, 3, 1e-14);
    close_setting(&s);
}

static void deep_lift_shap_averages(void **state) {
    (void)state;
    static const double rows1[] = {1, 0, 2, -9, 1, 1}, rows2[] = {0.5, 1, 1, 2, -2, 0};
    setting s;
    open_relu_linear(&s, "reference", "deep-lift");
    double each[2][6], f0[2], mean[6];
    for (int b = 0; b < 2; b++) {
        s.base[0] = (asc_array){ASC_ELEM_F64, {2, {1, 3}}, rows1 + 3 * b};
        s.base[1] = (asc_array){ASC_ELEM_F64, {2, {1, 3}}, rows2 + 3 * b};
        s.q.baselines = s.base;
        s.q.n_baselines = 2;
        asc_attribution *r = toy_check(s.ctx, s.net, &s.q, 0, NULL, 0, 0);
        for (int i = 0; i < 6; i++) each[b][i] = r->scores[i / 3].data[i % 3];
        f0[b] = r->baseline_value[0];
        asc_attribution_destroy(s.ctx, r);
    }
    for (int i = 0; i < 6; i++) mean[i] = (each[0][i] + each[1][i]) / 2;
    s.base[0] = (asc_array){ASC_ELEM_F64, {2, {2, 3}}, rows1};
    s.base[1] = (asc_array){ASC_ELEM_F64, {2, {2, 3}}, rows2};
    s.q.method = "deep-lift-shap";
    for (size_t chunk = 0; chunk < 3; chunk++) {
        s.q.rows_per_pass = chunk;
        toy_scores(s.ctx, s.net, &s.q, 0, mean, 3, 1e-13);
        asc_attribution *r = toy_check(s.ctx, s.net, &s.q, 1, mean + 3, 3, 1e-13);
        assert_int_equal(r->n_delta, 2);
        toy_near(r->delta[0], 0, 1e-13);
        toy_near(r->delta[1], 0, 1e-13);
        toy_near(r->baseline_value[0], (f0[0] + f0[1]) / 2, 1e-13);
        asc_attribution_destroy(s.ctx, r);
    }
    asc_attribution *r;
    s.base[1].shape.dims[0] = 1;
    assert_ok(s.ctx, asc_attribute(s.net, &s.q, &r)); /* one row serves both */
    asc_attribution_destroy(s.ctx, r);
    s.q.n_baselines = 0;
    assert_int_equal(asc_attribute(s.net, &s.q, &r), ASC_INVALID_ARGUMENT);
    close_setting(&s);
}

enum { FIVE = 5 * TOY_IN };

/* Rows alone, together and in chunks; f32 against f64. */
static void batches_equal_rows(void **state) {
    (void)state;
    static const char *const methods[] = {"deep-lift", "lrp", "guided-backprop", "deconvolution"};
    static int one = 1;
    double x[FIVE], all[FIVE];
    for (int i = 0; i < FIVE; i++) x[i] = (double)toy_number(77 + (uint64_t)i);
    int64_t target = 1;
    for (int m = 0; m < 4; m++) {
        for (int device = 0; device < 2; device++) {
            asc_ctx *ctx = test_ctx(device == 0 ? "reference" : "cpu", "deferred");
            asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, TOY_IN));
            asc_array in = {ASC_ELEM_F64, {2, {5, TOY_IN}}, x};
            asc_attr_request q = {.struct_size = sizeof q,
                                  .method = methods[m],
                                  .inputs = &in,
                                  .n_inputs = 1,
                                  .target = {.n_rows = 1, .rank = 1, .index = &target}};
            double largest = 0;
            for (size_t chunk = 0; chunk < 4; chunk++) {
                q.rows_per_pass = chunk;
                asc_attribution *r = toy_check(ctx, net, &q, 0, (device == 0 && chunk == 0) ? NULL : all,
                                               FIVE, device == 0 ? 1e-13 : 4e-6);
                if ((device == 0 && chunk == 0)) memcpy(all, r->scores[0].data, sizeof all);
                for (int i = 0; i < FIVE; i++) largest = fmax(largest, fabs(all[i]));
                asc_attribution_destroy(ctx, r);
            }
            q.rows_per_pass = 0;
            for (int64_t e = 0; e < 5; e++) {
                in = (asc_array){ASC_ELEM_F64, {2, {1, TOY_IN}}, x + e * TOY_IN};
                toy_scores(ctx, net, &q, 0, all + e * TOY_IN, (size_t)TOY_IN, device == 0 ? 1e-13 : 4e-6);
            }
            assert_true(largest > 0.1);
            asc_net_close(net);
            test_ctx_end(ctx);
        }
    }
}

static void relevance(void **state) {
    (void)state;
    const double at_input[16] = {0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11, 0, 0, 0, 0};
    const double at_conv[8] = {0, 4, 31, 40, 0, 0, -6, -15};
    setting s;
    open_conv(&s, "lrp", 1);
    asc_attribution *r = toy_check(s.ctx, s.net, &s.q, 0, at_input, 16, 1e-4);
    toy_near(r->value[0], 54, 1e-9);
    toy_near(r->delta[0], 0, 1e-4);
    assert_true(r->n_notes >= 1);
    if (strstr(r->notes[0], "y 54") == NULL) fail_msg("%s", r->notes[0]);
    asc_attribution_destroy(s.ctx, r);
    const char *at[] = {"conv1"};
    s.q.at = at;
    s.q.n_at = 1;
    toy_scores(s.ctx, s.net, &s.q, 0, at_conv, 8, 1e-4);
    const asc_rule_choice bad = {.rule = "epsilom"};
    s.q.rules = &bad;
    s.q.n_rules = 1;
    assert_int_equal(asc_attribute(s.net, &s.q, &r), ASC_INVALID_ARGUMENT);
    s.q.n_rules = 0;
    s.q.fallback = "guess";
    assert_int_equal(asc_attribute(s.net, &s.q, &r), ASC_INVALID_ARGUMENT);
    close_setting(&s);
}

static void guided(void **state) {
    (void)state;
    const double gb[16] = {0, 1, 1, 1, 1, 3, 3, 2, 1, 3, 3, 2, 1, 2, 2, 1};
    const double deconv[16] = {2, 3, 3, 1, 3, 5, 5, 2, 3, 5, 5, 2, 1, 2, 2, 1};
    const double cam1[16] = {0, 0, 4, 4, 0, 0, 12, 8, 28, 84, 97.5, 65, 28, 56, 65, 32.5};
    const double cam2[16] = {14.5, 29, 38, 19, 29, 58, 76, 38, 65, 130, 148, 74, 32.5, 65, 74, 37};
    setting s;
    open_conv(&s, "guided-backprop", 1);
    toy_scores(s.ctx, s.net, &s.q, 0, gb, 16, 0);
    s.q.target.value = "fc1"; /* NeuronGuidedBackprop */
    toy_scores(s.ctx, s.net, &s.q, 0, gb, 16, 0);
    s.q.target.value = NULL;
    s.q.method = "deconvolution";
    toy_scores(s.ctx, s.net, &s.q, 0, deconv, 16, 0);
    close_setting(&s);
    for (int n = 1; n < 3; n++) {
        open_conv(&s, "guided-grad-cam", n);
        const char *at[] = {n == 1 ? "relu1" : "conv1"};
        s.q.at = at;
        s.q.n_at = 1;
        toy_scores(s.ctx, s.net, &s.q, 0, n == 1 ? cam1 : cam2, 16, 1e-12);
        s.q.n_at = 0;
        s.q.neuron.value = at[0];
        toy_scores(s.ctx, s.net, &s.q, 0, n == 1 ? cam1 : cam2, 16, 1e-12);
        asc_attribution *r;
        s.q.neuron.value = "fc1";
        assert_int_equal(asc_attribute(s.net, &s.q, &r), ASC_INVALID_ARGUMENT);
        s.q.neuron.value = NULL;
        assert_int_equal(asc_attribute(s.net, &s.q, &r), ASC_INVALID_ARGUMENT);
        close_setting(&s);
    }
}

/* Any failed allocation is an error, and nothing is lost. */
static void no_memory(void **state) {
    (void)state;
    static const char *const methods[] = {"deep-lift", "lrp", "guided-backprop"};
    static int one = 1;
    double x[TOY_IN];
    for (size_t i = 0; i < TOY_IN; i++) x[i] = (double)toy_number(i);
    int64_t target = 0;
    for (int m = 0; m < 3; m++) {
        for (long fail_at = 1, done = 0; !done; fail_at += 1 + fail_at / 40) {
            test_alloc a = {0};
            asc_ctx_options o = {
                .struct_size = sizeof o, .device = "reference", .alloc = test_alloc_fn, .alloc_self = &a};
            asc_ctx *ctx = NULL;
            assert_int_equal(asc_ctx_create(&o, &ctx), ASC_OK);
            asc_net *net = toy_net(ctx, toy_mlp, &one, ASC_SHAPE(-1, TOY_IN));
            asc_array in = {ASC_ELEM_F64, {2, {1, TOY_IN}}, x};
            asc_attr_request q = {.struct_size = sizeof q,
                                  .method = methods[m],
                                  .inputs = &in,
                                  .n_inputs = 1,
                                  .target = {.n_rows = 1, .rank = 1, .index = &target}};
            asc_attribution *r = NULL;
            a.count = 0;
            a.fail_at = fail_at;
            asc_status st = asc_attribute(net, &q, &r);
            a.fail_at = 0;
            if (st == ASC_OK) {
                done = 1;
            } else {
                assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
                assert_null(r);
            }
            asc_attribution_destroy(ctx, r);
            asc_net_close(net);
            test_ctx_end(ctx);
            assert_int_equal(a.live, 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_lift_at_inputs_sites_and_units),
        cmocka_unit_test(deep_lift_shap_averages),
        cmocka_unit_test(batches_equal_rows),
        cmocka_unit_test(relevance),
        cmocka_unit_test(guided),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
