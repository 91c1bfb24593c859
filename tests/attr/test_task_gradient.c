/* Gradient methods on nets: Captum's own numbers on its toy nets, sites, batches, chunks, refusals. */
#include "harness.h"
#include "ascribe/attribute.h"
#include "ops.h"
#include <math.h>

/* relu(relu(x1) - 1 - relu(x2)): Captum's BasicModel2; BasicModel3 has the 1 inside: relu(relu(x1 - 1) -
 * relu(x2)). */
static void basic2(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    bool three = self != NULL;
    asc_tensor *a =
        three ? asc_relu(ctx, asc_shift(ctx, in[0], -1.0)) : asc_shift(ctx, asc_relu(ctx, in[0]), -1.0);
    a = asc_site(f, "a", a);
    out[0] = asc_relu(ctx, asc_sub(ctx, a, asc_relu(ctx, in[1])));
}

/* Captum's BasicModel_MultiLayer: identity, ones with bias [-10,1,1,1], relu, ones with bias [-1,1]. */
static void multilayer(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    (void)self;
    static const float w1[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, b1[4] = {-10, 1, 1, 1}, b2[2] = {-1, 1};
    asc_tensor *x = asc_site(f, "linear0", asc_shift(ctx, in[0], 0.0));
    x = asc_matmul(ctx, x, asc_from_f32(ctx, ASC_SHAPE(4, 3), w1), false, true);
    x = asc_site(f, "linear1", asc_add(ctx, x, asc_from_f32(ctx, ASC_SHAPE(4), b1)));
    x = asc_site(f, "relu", asc_relu(ctx, x));
    x = asc_matmul(ctx, x, asc_from_f32(ctx, ASC_SHAPE(2, 4), w1), false, true);
    out[0] = asc_site(f, "linear2", asc_add(ctx, x, asc_from_f32(ctx, ASC_SHAPE(2), b2)));
}

static asc_net *make(asc_ctx *ctx, asc_net_fn fn, void *self, size_t n_inputs, asc_shape shape) {
    asc_port ports[] = {{"x1", ASC_ELEM_F32, shape, true}, {"x2", ASC_ELEM_F32, shape, true}};
    static const char *const names[] = {"y"};
    asc_net_def d = {.struct_size = sizeof d,
                     .inputs = ports,
                     .n_inputs = n_inputs,
                     .outputs = names,
                     .n_outputs = 1,
                     .forward = fn,
                     .self = self};
    asc_net *net;
    assert_ok(ctx, asc_net_create(ctx, &d, &net));
    return net;
}

static void near(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g", a, b);
}

static const double x1[] = {3}, x2[] = {1};

/* Two nets that compute the same function have the same scores (Captum's pair of implementation invariance).
 */
static void test_integrated_gradients(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    for (int three = 0; three < 2; three++) {
        asc_net *net = make(ctx, basic2, three ? &three : NULL, 2, ASC_SHAPE(-1));
        asc_array in[] = {{ASC_ELEM_F64, {1, {1}}, x1}, {ASC_ELEM_F64, {1, {1}}, x2}};
        asc_attr_request q = {.struct_size = sizeof q, .inputs = in, .n_inputs = 2};
        asc_attribution *r;
        assert_ok(ctx, asc_attribute(net, &q, &r)); /* adaptive */
        near(r->scores[0].data[0], 1.5, 0.02);
        near(r->scores[1].data[0], -0.5, 0.02);
        assert_true(r->converged);
        near(r->delta[0], 0, 0.02);
        near(r->value[0], 1, 0);
        asc_attribution_destroy(ctx, r);
        q.rule = "gauss-legendre";
        q.steps = 1000;
        q.no_multiply = true;
        assert_ok(ctx, asc_attribute(net, &q, &r));
        near(r->scores[0].data[0], 0.5, 1e-3);
        near(r->scores[1].data[0], -0.5, 1e-3);
        asc_attribution_destroy(ctx, r);
        asc_net_close(net);
    }
    test_ctx_end(ctx);
}

static const double x_ml[] = {0, 100, 0, 1, -2, 3};

static void test_sites_and_chunks(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("reference", "deferred");
    asc_net *net = make(ctx, multilayer, NULL, 1, ASC_SHAPE(-1, 3));
    asc_array in = {ASC_ELEM_F64, {2, {2, 3}}, x_ml};
    int64_t zero = 0;
    const char *at[] = {"relu", "linear0"};
    asc_attr_request q = {.struct_size = sizeof q,
                          .method = "input-x-gradient",
                          .inputs = &in,
                          .n_inputs = 1,
                          .at = at,
                          .n_at = 2,
                          .target = {.n_rows = 1, .rank = 1, .index = &zero}};
    asc_attribution *r;
    assert_ok(ctx, asc_attribute(net, &q, &r));
    const double relu[] = {90, 101, 101, 101, 0, 3, 3, 3}, input[] = {0, 400, 0, 3, -6, 9};
    for (int i = 0; i < 8; i++) near(r->scores[0].data[i], relu[i], 1e-12);
    for (int i = 0; i < 6; i++) near(r->scores[1].data[i], input[i], 1e-12);
    near(r->value[0], 392, 1e-12);
    asc_attribution_destroy(ctx, r);
    /* along the path between site values, however rows are grouped, on both devices */
    double first[8] = {0};
    for (size_t rows = 0; rows < 4; rows++) {
        q.method = "integrated-gradients";
        q.n_at = 1;
        q.steps = 50;
        q.rows_per_pass = rows;
        assert_ok(ctx, asc_attribute(net, &q, &r));
        for (int i = 0; i < 8; i++) {
            if (rows == 0) first[i] = r->scores[0].data[i];
            assert_true(r->scores[0].data[i] == first[i]);
        }
        near(r->scores[0].data[0], 90, 1e-9);
        near(r->scores[0].data[1], 100, 1e-9);
        near(r->delta[0], 0, 1e-9);
        asc_attribution_destroy(ctx, r);
    }
    /* the neuron form: Captum's NeuronGradient of linear1[0] and linear2[0] */
    q = (asc_attr_request){.struct_size = sizeof q,
                           .method = "saliency",
                           .inputs = &in,
                           .n_inputs = 1,
                           .target = {.value = "linear1", .n_rows = 1, .rank = 1, .index = &zero}};
    assert_ok(ctx, asc_attribute(net, &q, &r));
    for (int i = 0; i < 6; i++) near(r->scores[0].data[i], 1, 0);
    asc_attribution_destroy(ctx, r);
    q.target.value = "linear2";
    assert_ok(ctx, asc_attribute(net, &q, &r));
    for (int i = 0; i < 3; i++) near(r->scores[0].data[i], 4, 0);
    asc_attribution_destroy(ctx, r);
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* An option that a method does not read is named, one that it reads is not. */
static void test_unread_options(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = make(ctx, multilayer, NULL, 1, ASC_SHAPE(-1, 3));
    asc_array in = {ASC_ELEM_F64, {2, {2, 3}}, x_ml};
    int64_t zero = 0;
    double sd = 0;
    asc_attribution *r;
    asc_attr_request q = {.struct_size = sizeof q,
                          .method = "saliency",
                          .inputs = &in,
                          .n_inputs = 1,
                          .norm = "abs",
                          .steps = 9,
                          .target = {.n_rows = 1, .rank = 1, .index = &zero}};
    assert_ok(ctx, asc_attribute(net, &q, &r));
    assert_int_equal(r->n_notes, 1);
    assert_non_null(strstr(r->notes[0], "'steps'"));
    asc_attribution_destroy(ctx, r);
    q.method = "integrated-gradients"; /* it reads baselines, which is another word than base */
    q.norm = NULL;
    q.rule = "gauss-legendre";
    q.base = "saliency";
    assert_ok(ctx, asc_attribute(net, &q, &r));
    assert_int_equal(r->n_notes, 1);
    assert_non_null(strstr(r->notes[0], "'base'"));
    asc_attribution_destroy(ctx, r);
    q = (asc_attr_request){.struct_size = sizeof q,
                           .method = "noise-tunnel",
                           .base = "integrated_gradients", /* Captum's spellings are found too */
                           .inputs = &in,
                           .n_inputs = 1,
                           .rule = "gauss-legendre",
                           .steps = 9,
                           .samples = 2,
                           .stdevs = &sd,
                           .n_stdevs = 1,
                           .target = {.n_rows = 1, .rank = 1, .index = &zero}};
    assert_ok(ctx, asc_attribute(net, &q, &r));
    for (size_t i = 0; i < r->n_notes; i++) assert_null(strstr(r->notes[i], "does not read"));
    asc_attribution_destroy(ctx, r);
    asc_net_close(net);
    test_ctx_end(ctx);
}

/* A stop ends the call that runs and those behind it, until it is taken back. */
static void test_cancel(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = make(ctx, multilayer, NULL, 1, ASC_SHAPE(-1, 3));
    asc_array in = {ASC_ELEM_F64, {2, {2, 3}}, x_ml};
    int64_t zero = 0;
    asc_attribution *r;
    asc_attr_request q = {.struct_size = sizeof q,
                          .method = "feature-ablation",
                          .inputs = &in,
                          .n_inputs = 1,
                          .rows_per_pass = 1,
                          .target = {.n_rows = 1, .rank = 1, .index = &zero}};
    asc_cancel(ctx);
    for (int i = 0; i < 2; i++) assert_int_equal(asc_attribute(net, &q, &r), ASC_CANCELLED);
    asc_cancel_reset(ctx);
    assert_ok(ctx, asc_attribute(net, &q, &r));
    asc_attribution_destroy(ctx, r);
    asc_net_close(net);
    test_ctx_end(ctx);
}

static void test_targets(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_net *net = make(ctx, multilayer, NULL, 1, ASC_SHAPE(-1, 3));
    asc_array in = {ASC_ELEM_F64, {2, {2, 3}}, x_ml};
    int64_t each[] = {1, 0}, other[] = {0, 1}, beyond = 2, last = -1;
    double w[] = {0.5, -2};
    asc_attribution *r;
    asc_attr_request q = {
        .struct_size = sizeof q, .method = "saliency", .inputs = &in, .n_inputs = 1, .norm = "signed"};
    q.target = (asc_target){.n_rows = 2, .rank = 1, .index = each};
    assert_ok(ctx, asc_attribute(net, &q, &r));
    near(r->value[0], 394, 0);
    near(r->value[1], 8, 0);
    asc_attribution_destroy(ctx, r);
    q.target.versus = other;
    assert_ok(ctx, asc_attribute(net, &q, &r));
    near(r->value[0], 2, 0);
    near(r->value[1], -2, 0);
    assert_int_equal(r->n_notes, 1); /* the difference does not depend on x: said, not silent */
    asc_attribution_destroy(ctx, r);
    q.target = (asc_target){.weights = w, .weight_rows = 1};
    assert_ok(ctx, asc_attribute(net, &q, &r));
    near(r->value[0], 196 - 788, 1e-4);
    near(r->scores[0].data[0], -1.5 * 4, 1e-5);
    asc_attribution_destroy(ctx, r);
    q.target = (asc_target){.n_rows = 1, .rank = 1, .index = &last, .transform = ASC_TRANSFORM_LOG_SOFTMAX};
    assert_ok(ctx, asc_attribute(net, &q, &r));
    near(r->value[0], -log(1 + exp(-2.0)), 1e-6);
    asc_attribution_destroy(ctx, r);
    q.target = (asc_target){.n_rows = 1, .rank = 1, .index = &beyond};
    assert_int_equal(asc_attribute(net, &q, &r), ASC_OUT_OF_RANGE);
    assert_null(r);
    q.target = (asc_target){0};
    assert_int_equal(asc_attribute(net, &q, &r), ASC_INVALID_ARGUMENT); /* two numbers left */
    q.at = (const char *const[]){"linear9"};
    q.n_at = 1;
    assert_int_equal(asc_attribute(net, &q, &r), ASC_NOT_FOUND);
    asc_net_close(net);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integrated_gradients), cmocka_unit_test(test_sites_and_chunks),
        cmocka_unit_test(test_targets), cmocka_unit_test(test_unread_options), cmocka_unit_test(test_cancel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
