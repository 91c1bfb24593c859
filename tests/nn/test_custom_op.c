/* An op of the caller's own in a net: values, gradients of any order, rules of shapes, refusals. */
#include "harness.h"
#include "ascribe/ops.h"
#include "grad.h"
#include "net.h"
#include <math.h>

/* out[i] = sum over j of in0[i,j]^power, power = *self; in0 [B,n] -> [B]. */
static bool row_shape(void *self, const asc_shape *in, int n_in, asc_shape *out) {
    (void)self;
    *out = ASC_SHAPE(in[0].dims[0]);
    return n_in == 1 && in[0].rank == 2;
}

static void row_forward(void *self, const asc_values *in, int n_in, const asc_values *out) {
    (void)n_in;
    for (int64_t i = 0; i < out->shape.dims[0]; i++) {
        double sum = 0;
        for (int64_t j = 0; j < in[0].shape.dims[1]; j++)
            sum += pow(in[0].data[i * in[0].strides[0] + j * in[0].strides[1]], *(double *)self);
        out->data[i * out->strides[0]] = sum;
    }
}

static void row_vjp(void *self, asc_ctx *ctx, asc_tensor *y, asc_tensor *g, asc_tensor *const *in, int n_in,
                    asc_tensor **gin) {
    (void)y, (void)n_in;
    const double power = *(double *)self;
    asc_tensor *less = asc_full(ctx, ASC_SCALAR_SHAPE, power - 1);
    asc_tensor *slope = asc_scale(ctx, asc_pow(ctx, in[0], less), power);
    gin[0] = asc_mul(ctx, asc_reshape(ctx, g, ASC_SHAPE(-1, 1)), slope);
}

static void forward(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    out[0] = asc_site(f, "power", asc_custom(asc_frame_ctx(f), self, in, 1));
}

static asc_net *net_of(asc_ctx *ctx, const asc_custom_op *op, asc_status want) {
    const asc_port port = {"x", ASC_ELEM_F32, {2, {-1, 3}}, true};
    const char *outputs[] = {"y"};
    void *self;
    memcpy(&self, &op, sizeof self);
    asc_net_def d = {.struct_size = sizeof d,
                     .inputs = &port,
                     .n_inputs = 1,
                     .outputs = outputs,
                     .n_outputs = 1,
                     .forward = forward,
                     .self = self};
    asc_net *net;
    asc_status st = asc_net_create(ctx, &d, &net);
    if (st != want) fail_msg("%s: %s", asc_status_name(st), asc_error_message(ctx));
    return net;
}

static const double x_data[6] = {1, 2, 3, 0.5, 1.5, 2.5};

static void test_values_and_gradients(void **state) {
    (void)state;
    double power = 3;
    const asc_custom_op op = {.struct_size = sizeof op,
                              .name = "power sum",
                              .self = &power,
                              .shape = row_shape,
                              .forward = row_forward,
                              .vjp = row_vjp};
    const char *devices[] = {"reference", "cpu"};
    for (int k = 0; k < 2; k++) {
        const double tolerance = k == 0 ? 1e-13 : 1e-5;
        asc_ctx *ctx = test_ctx(devices[k], "deferred");
        asc_net *net = net_of(ctx, &op, ASC_OK);
        assert_true(net->outputs[0].batch && net->outputs[0].shape.rank == 1);
        asc_scope_begin(ctx);
        asc_tensor *x = asc_from_f64(ctx, ASC_SHAPE(2, 3), x_data), *y, *g, *gg, *t;
        double v[6];
        assert_ok(ctx, net->forward(net, &x, NULL, &y));
        assert_ok(ctx, asc_read_f64(ctx, y, v, 2));
        assert_true(fabs(v[0] - 36) < 36 * tolerance && fabs(v[1] - 19.125) < 20 * tolerance);
        asc_grad(ctx, y, asc_full(ctx, ASC_SHAPE(2), 1.0), &x, 1, &g);
        assert_ok(ctx, asc_read_f64(ctx, g, v, 6));
        for (int i = 0; i < 6; i++) assert_true(fabs(v[i] - 3 * x_data[i] * x_data[i]) < 30 * tolerance);
        asc_grad(ctx, g, asc_full(ctx, ASC_SHAPE(2, 3), 1.0), &x, 1, &gg);
        assert_ok(ctx, asc_read_f64(ctx, gg, v, 6));
        for (int i = 0; i < 6; i++) assert_true(fabs(v[i] - 6 * x_data[i]) < 30 * tolerance);
        t = asc_full(ctx, ASC_SHAPE(2, 3), 1.0);
        assert_ok(ctx, asc_read_f64(ctx, asc_jvp(ctx, y, &x, &t, 1), v, 2));
        assert_true(fabs(v[0] - 42) < 42 * tolerance && fabs(v[1] - 26.25) < 27 * tolerance);
        assert_ok(ctx, asc_scope_end(ctx));
        asc_net_close(net);
        test_ctx_end(ctx);
    }
}

static bool negative_shape(void *self, const asc_shape *in, int n_in, asc_shape *out) {
    (void)self, (void)in, (void)n_in;
    *out = ASC_SHAPE(-1);
    return true;
}

static bool no_shape(void *self, const asc_shape *in, int n_in, asc_shape *out) {
    (void)self, (void)in, (void)n_in, (void)out;
    return false;
}

static void wrong_vjp(void *self, asc_ctx *ctx, asc_tensor *y, asc_tensor *g, asc_tensor *const *in, int n_in,
                      asc_tensor **gin) {
    (void)self, (void)ctx, (void)y, (void)in, (void)n_in;
    gin[0] = g;
}

static void gradient_fails(asc_ctx *ctx, const asc_custom_op *op, asc_status want, const char *words) {
    asc_net *net = net_of(ctx, op, ASC_OK);
    asc_scope_begin(ctx);
    asc_tensor *x = asc_from_f64(ctx, ASC_SHAPE(2, 3), x_data), *y, *g;
    double v[6];
    assert_ok(ctx, net->forward(net, &x, NULL, &y));
    asc_grad(ctx, y, asc_full(ctx, ASC_SHAPE(2), 1.0), &x, 1, &g);
    assert_int_equal(asc_read_f64(ctx, g, v, 6), want);
    assert_non_null(strstr(asc_error_message(ctx), words));
    (void)!asc_scope_end(ctx);
    asc_net_close(net);
}

static void test_refusals(void **state) {
    (void)state;
    double power = 3;
    asc_ctx *ctx = test_ctx("cpu", "deferred");
    asc_custom_op op = {.struct_size = sizeof op,
                        .name = "power sum",
                        .self = &power,
                        .shape = row_shape,
                        .forward = row_forward};
    gradient_fails(ctx, &op, ASC_UNIMPLEMENTED, "'power sum' has no gradient");
    op.vjp = wrong_vjp;
    gradient_fails(ctx, &op, ASC_INVALID_ARGUMENT, "another shape");
    op.shape = no_shape;
    assert_null(net_of(ctx, &op, ASC_INVALID_ARGUMENT));
    assert_non_null(strstr(asc_error_message(ctx), "power sum: the inputs do not fit"));
    op.shape = negative_shape;
    assert_null(net_of(ctx, &op, ASC_INVALID_ARGUMENT));
    op.forward = NULL;
    assert_null(net_of(ctx, &op, ASC_INVALID_ARGUMENT));
    op.struct_size = 3;
    assert_null(net_of(ctx, &op, ASC_INVALID_ARGUMENT));
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_gradients),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
