/* onnx_op_activation.c - activations, with their attributes, and functions of rows (softmax). */
#include "onnx_parts.h"
#include <float.h>
#include <math.h>

#define UNARY(name, op)                                                                                      \
    asc_status asc_onnx_##name(asc_onnx_call *c) { return asc_onnx_unary(c, op); }
UNARY(Sigmoid, asc_sigmoid)
UNARY(Tanh, asc_tanh)
UNARY(Softplus, asc_softplus)
UNARY(Softsign, asc_softsign)
UNARY(HardSwish, asc_hard_swish)
UNARY(Mish, asc_mish)

asc_status asc_onnx_LeakyRelu(asc_onnx_call *c) {
    double alpha = asc_onnx_attr_float(c, "alpha", (double)0.01F);
    return asc_onnx_set_like(c, 0, asc_leaky_relu(c->ctx, asc_onnx_t(c, 0), alpha));
}

asc_status asc_onnx_Elu(asc_onnx_call *c) {
    return asc_onnx_set_like(c, 0, asc_elu(c->ctx, asc_onnx_t(c, 0), asc_onnx_attr_float(c, "alpha", 1.0)));
}

asc_status asc_onnx_Celu(asc_onnx_call *c) {
    double alpha = asc_onnx_attr_float(c, "alpha", 1.0);
    if (!(alpha != 0)) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "alpha %g", alpha);
    return asc_onnx_set_like(c, 0, asc_celu(c->ctx, asc_onnx_t(c, 0), alpha));
}

asc_status asc_onnx_Selu(asc_onnx_call *c) {
    bool old = c->opset < 6; /* which rounded its defaults more coarsely */
    double alpha =
        asc_onnx_attr_float(c, "alpha", old ? (double)1.6732F : (double)1.67326319217681884765625F);
    double gamma =
        asc_onnx_attr_float(c, "gamma", old ? (double)1.0507F : (double)1.05070102214813232421875F);
    return asc_onnx_set_like(c, 0, asc_selu(c->ctx, asc_onnx_t(c, 0), alpha, gamma));
}

asc_status asc_onnx_HardSigmoid(asc_onnx_call *c) {
    double alpha = asc_onnx_attr_float(c, "alpha", (double)0.2F), beta = asc_onnx_attr_float(c, "beta", 0.5);
    return asc_onnx_set_like(c, 0, asc_hard_sigmoid(c->ctx, asc_onnx_t(c, 0), alpha, beta));
}

asc_status asc_onnx_Gelu(asc_onnx_call *c) {
    if (asc_onnx_attr_is(c, "approximate", "none", "none")) return asc_onnx_unary(c, asc_gelu);
    if (asc_onnx_attr_is(c, "approximate", "none", "tanh")) return asc_onnx_unary(c, asc_gelu_tanh);
    return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "approximate is neither none nor tanh");
}

/* x sigmoid(alpha x) */
asc_status asc_onnx_Swish(asc_onnx_call *c) {
    asc_tensor *x = asc_onnx_t(c, 0);
    double alpha = asc_onnx_attr_float(c, "alpha", 1.0);
    if (alpha == 1.0) return asc_onnx_set_like(c, 0, asc_silu(c->ctx, x));
    return asc_onnx_set_like(c, 0, asc_mul(c->ctx, x, asc_sigmoid(c->ctx, asc_scale(c->ctx, x, alpha))));
}

/* The slope is one number a channel before opset 7, and broadcasts to x from there on. */
asc_status asc_onnx_PRelu(asc_onnx_call *c) {
    asc_shape x = asc_onnx_shape(c, 0), s = asc_onnx_shape(c, 1);
    asc_tensor *slope = asc_onnx_t(c, 1);
    int64_t n = asc_shape_elems(&s);
    if (c->opset < 7 && x.rank > 1 && n == x.dims[1]) slope = asc_onnx_along(c, slope, 1, x.rank);
    return asc_onnx_set_like(c, 0, asc_prelu(c->ctx, asc_onnx_t(c, 0), slope));
}

/* x - bias above lambd, x + bias below -lambd, else 0. */
asc_status asc_onnx_Shrink(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_tensor *x = asc_onnx_t(c, 0), *zero = asc_onnx_const(c, 0);
    double lambd = asc_onnx_attr_float(c, "lambd", 0.5), bias = asc_onnx_attr_float(c, "bias", 0.0);
    asc_tensor *low =
        asc_where(ctx, asc_less(ctx, x, asc_onnx_const(c, -lambd)), asc_shift(ctx, x, bias), zero);
    asc_tensor *high = asc_less(ctx, asc_onnx_const(c, lambd), x);
    return asc_onnx_set_like(c, 0, asc_where(ctx, high, asc_shift(ctx, x, -bias), low));
}

asc_status asc_onnx_ThresholdedRelu(asc_onnx_call *c) {
    asc_tensor *x = asc_onnx_t(c, 0);
    asc_tensor *above = asc_less(c->ctx, asc_onnx_const(c, asc_onnx_attr_float(c, "alpha", 1.0)), x);
    return asc_onnx_set_like(c, 0, asc_where(c->ctx, above, x, asc_onnx_const(c, 0)));
}

/* Bounds that are known become attributes of the op. */
asc_status asc_onnx_Clip(asc_onnx_call *c) {
    asc_tensor *x = asc_onnx_t(c, 0);
    if (c->opset < 11) {
        double lo = asc_onnx_attr_float(c, "min", -HUGE_VAL), hi = asc_onnx_attr_float(c, "max", HUGE_VAL);
        if (lo <= -(double)FLT_MAX) lo = -HUGE_VAL;
        if (hi >= (double)FLT_MAX) hi = HUGE_VAL;
        return asc_onnx_set_like(c, 0, asc_clip(c->ctx, x, lo, hi));
    }
    bool lo = asc_onnx_has(c, 1), hi = asc_onnx_has(c, 2);
    if ((!lo || asc_onnx_known(c, 1)) && (!hi || asc_onnx_known(c, 2))) {
        double from = asc_onnx_number(c, 1, -HUGE_VAL), to = asc_onnx_number(c, 2, HUGE_VAL);
        return asc_onnx_set_like(c, 0, asc_clip(c->ctx, x, from, to));
    }
    if (lo) x = asc_maximum(c->ctx, x, asc_onnx_t(c, 1));
    if (hi) x = asc_minimum(c->ctx, x, asc_onnx_t(c, 2));
    return asc_onnx_set_like(c, 0, x);
}

asc_status asc_onnx_rows(asc_onnx_call *c, asc_tensor *(*op)(asc_ctx *, asc_tensor *)) {
    asc_tensor *x = asc_onnx_t(c, 0);
    if (asc_tensor_poisoned(x)) return asc_onnx_set_like(c, 0, x);
    asc_shape s = x->shape;
    bool one = c->opset >= 13;
    int64_t wanted = asc_onnx_attr_int(c, "axis", one ? -1 : 1);
    /* axis 1 of one dimension stands behind it, as in Flatten */
    int axis = asc_onnx_axis(c, wanted, one || s.rank > 1 || wanted != 1 ? s.rank : 2);
    if (c->st != ASC_OK) return c->st;
    if (one || axis == s.rank - 1) {
        x = asc_onnx_move_axis(c, op(c->ctx, asc_onnx_move_axis(c, x, axis, s.rank - 1)), s.rank - 1, axis);
        return asc_onnx_set_like(c, 0, x);
    }
    asc_shape flat = ASC_SHAPE(asc_onnx_span(&s, 0, axis), asc_onnx_span(&s, axis, s.rank));
    return asc_onnx_set_like(c, 0, asc_reshape(c->ctx, op(c->ctx, asc_reshape(c->ctx, x, flat)), s));
}

asc_status asc_onnx_Softmax(asc_onnx_call *c) { return asc_onnx_rows(c, asc_softmax); }
asc_status asc_onnx_LogSoftmax(asc_onnx_call *c) { return asc_onnx_rows(c, asc_log_softmax); }

/* 1 at the first of the largest, 0 elsewhere. */
static asc_tensor *hardmax(asc_ctx *ctx, asc_tensor *x) {
    if (asc_tensor_poisoned(x)) return x;
    asc_shape s = x->shape, one = s;
    int64_t n = s.dims[s.rank - 1];
    one.dims[s.rank - 1] = 1;
    asc_tensor *at = asc_cast(ctx, asc_arg_max(ctx, x, s.rank - 1), ASC_DTYPE_F32);
    return asc_equal(ctx, asc_reshape(ctx, at, one), asc_iota(ctx, n, 0, 1));
}
asc_status asc_onnx_Hardmax(asc_onnx_call *c) { return asc_onnx_rows(c, hardmax); }
