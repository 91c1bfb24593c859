/* toy_nets.h - Captum's toy nets written out, nets for property tests, and short calls of attribution. */
#ifndef ASC_TEST_TOY_NETS_H
#define ASC_TEST_TOY_NETS_H

#include "harness.h"
#include "ascribe/attribute.h"
#include "ops.h"
#include <math.h>

/* BasicModel_MultiLayer behind the sum of its inputs: identity, ones with bias [-10,1,1,1], relu, ones with
 * bias
 * [-1,1]. self: if not NULL the output is [o, 2o]. */
static inline void toy_multilayer(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    static const float ones[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, b1[4] = {-10, 1, 1, 1},
                       b2[2] = {-1, 1};
    asc_tensor *x = in[0];
    for (int i = 1; i < *(int *)self; i++) x = asc_add(ctx, x, in[i]);
    x = asc_site(f, "linear0", asc_shift(ctx, x, 0.0));
    x = asc_matmul(ctx, x, asc_from_f32(ctx, ASC_SHAPE(4, 3), ones), false, true);
    x = asc_site(f, "linear1", asc_add(ctx, x, asc_from_f32(ctx, ASC_SHAPE(4), b1)));
    x = asc_site(f, "relu", asc_relu(ctx, x));
    x = asc_matmul(ctx, x, asc_from_f32(ctx, ASC_SHAPE(2, 4), ones), false, true);
    out[0] = asc_site(f, "linear2", asc_add(ctx, x, asc_from_f32(ctx, ASC_SHAPE(2), b2)));
}

/* BasicModel_ConvNet_One_Conv as one matrix: 3x3 ones over the sum of the 4x4 inputs, two channels with bias
 * -50 and -75, relu, 8 -> 4 with rows [1 x 5, -1 x 3], relu. */
static inline void toy_one_conv(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    float w[8 * 16] = {0}, b[8], v[4 * 8];
    for (int o = 0; o < 8; o++) {
        int y = o % 4 / 2, x = o % 2;
        b[o] = o < 4 ? -50 : -75;
        for (int i = 0; i < 9; i++) w[o * 16 + (y + i / 3) * 4 + x + i % 3] = 1;
        for (int k = 0; k < 4; k++) v[k * 8 + o] = o < 5 ? 1 : -1;
    }
    asc_tensor *x = in[0];
    for (int i = 1; i < *(int *)self; i++) x = asc_add(ctx, x, in[i]);
    x = asc_reshape(ctx, x, ASC_SHAPE(asc_tensor_shape(x).dims[0], 16));
    x = asc_matmul(ctx, x, asc_from_f32(ctx, ASC_SHAPE(8, 16), w), false, true);
    x = asc_site(f, "relu1", asc_relu(ctx, asc_add(ctx, x, asc_from_f32(ctx, ASC_SHAPE(8), b))));
    out[0] = asc_relu(ctx, asc_matmul(ctx, x, asc_from_f32(ctx, ASC_SHAPE(4, 8), v), false, true));
}

/* A fixed pseudo-random number in [-1, 1). */
static inline float toy_number(uint64_t i) {
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (float)((double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1.0);
}

enum { TOY_IN = 6, TOY_HIDDEN = 10, TOY_OUT = 3 };
/* tanh(x W + b) V: 6 (or up to 16, as the input is) -> 10 -> 3, nothing additive about it. */
static inline void toy_mlp(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    float w[TOY_HIDDEN * 16], b[TOY_HIDDEN], v[TOY_OUT * TOY_HIDDEN];
    (void)self;
    int64_t width = asc_tensor_shape(in[0]).dims[1];
    for (int i = 0; i < TOY_HIDDEN * width; i++) w[i] = toy_number((uint64_t)i);
    for (int i = 0; i < TOY_HIDDEN; i++) b[i] = toy_number(1000 + (uint64_t)i);
    for (int i = 0; i < TOY_OUT * TOY_HIDDEN; i++) v[i] = toy_number(2000 + (uint64_t)i);
    asc_tensor *x = asc_matmul(ctx, in[0], asc_from_f32(ctx, ASC_SHAPE(TOY_HIDDEN, width), w), false, true);
    x = asc_site(f, "hidden", asc_tanh(ctx, asc_add(ctx, x, asc_from_f32(ctx, ASC_SHAPE(TOY_HIDDEN), b))));
    out[0] = asc_matmul(ctx, x, asc_from_f32(ctx, ASC_SHAPE(TOY_OUT, TOY_HIDDEN), v), false, true);
}

/* Sum of a curved function of each element: additive. */
static inline void toy_additive(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    float c[TOY_IN] = {1, -2, 3, 0.5f, 0, 4};
    int axis[] = {-1};
    (void)self;
    asc_tensor *x = asc_mul(ctx, asc_square(ctx, in[0]), asc_from_f32(ctx, ASC_SHAPE(TOY_IN), c));
    out[0] = asc_sum(ctx, x, 1, axis, false);
}

static inline asc_net *toy_net(asc_ctx *ctx, asc_net_fn fn, int *n_inputs, asc_shape shape) {
    asc_port ports[] = {{"x1", ASC_ELEM_F32, shape, true},
                        {"x2", ASC_ELEM_F32, shape, true},
                        {"x3", ASC_ELEM_F32, shape, true}};
    static const char *const names[] = {"y"};
    asc_net_def d = {.struct_size = sizeof d,
                     .inputs = ports,
                     .n_inputs = (size_t)*n_inputs,
                     .outputs = names,
                     .n_outputs = 1,
                     .forward = fn,
                     .self = n_inputs};
    asc_net *net;
    assert_ok(ctx, asc_net_create(ctx, &d, &net));
    return net;
}

static inline void toy_near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.17g is not %.17g", got, want);
}

/* Runs q and compares the scores of attributed value k; want NULL = only runs. Returns the result. */
static inline asc_attribution *toy_check(asc_ctx *ctx, asc_net *net, const asc_attr_request *q, size_t k,
                                         const double *want, size_t n, double tolerance) {
    asc_attribution *r;
    assert_ok(ctx, asc_attribute(net, q, &r));
    for (size_t i = 0; want != NULL && i < n; i++) {
        if (!(fabs(r->scores[k].data[i] - want[i]) <= tolerance)) {
            fail_msg("%s: score %zu of value %zu is %.9g, not %.9g", q->method, i, k, r->scores[k].data[i],
                     want[i]);
        }
    }
    return r;
}

static inline void toy_scores(asc_ctx *ctx, asc_net *net, const asc_attr_request *q, size_t k,
                              const double *want, size_t n, double tolerance) {
    asc_attribution_destroy(ctx, toy_check(ctx, net, q, k, want, n, tolerance));
}

#endif
