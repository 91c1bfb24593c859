/* onnx_op_microsoft.c - operators of the domain com.microsoft that onnxruntime's optimiser and quantiser
 * write (their definitions: docs/ContribOperators.md of onnxruntime). */
#include "onnx_quant.h"

static asc_tensor *plus(asc_onnx_call *c, asc_tensor *x, size_t i) {
    return asc_onnx_has(c, i) ? asc_add(c->ctx, x, asc_onnx_t(c, i)) : x;
}

asc_status asc_onnx_BiasGelu(asc_onnx_call *c) {
    return asc_onnx_set_like(c, 0, asc_gelu(c->ctx, plus(c, asc_onnx_t(c, 0), 1)));
}

asc_status asc_onnx_FastGelu(asc_onnx_call *c) {
    return asc_onnx_set_like(c, 0, asc_gelu_tanh(c->ctx, plus(c, asc_onnx_t(c, 0), 1)));
}

asc_status asc_onnx_QuickGelu(asc_onnx_call *c) {
    asc_tensor *x = asc_onnx_t(c, 0);
    asc_tensor *gate =
        asc_sigmoid(c->ctx, asc_scale(c->ctx, x, asc_onnx_attr_float(c, "alpha", (double)1.702F)));
    return asc_onnx_set_like(c, 0, asc_mul(c->ctx, x, gate));
}

asc_status asc_onnx_FusedMatMul(asc_onnx_call *c) {
    bool ta = asc_onnx_attr_int(c, "transA", 0) != 0, tb = asc_onnx_attr_int(c, "transB", 0) != 0;
    if (asc_onnx_attr_int(c, "transBatchA", 0) != 0 || asc_onnx_attr_int(c, "transBatchB", 0) != 0)
        return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "transposed batch axes");
    asc_tensor *a = asc_onnx_t(c, 0), *b = asc_onnx_t(c, 1);
    asc_tensor *y = ta || tb ? asc_matmul(c->ctx, a, b, ta, tb) : asc_onnx_matmul(c, a, b);
    return asc_onnx_set_like(c, 0, asc_scale(c->ctx, y, asc_onnx_attr_float(c, "alpha", 1.0)));
}

/* input + skip (+ bias), normalised over the last axis; output 3 is the sum. */
asc_status asc_onnx_SkipLayerNormalization(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape w = asc_onnx_shape(c, 2);
    asc_tensor *sum = plus(c, asc_add(ctx, asc_onnx_t(c, 0), asc_onnx_t(c, 1)), 4);
    asc_tensor *beta = asc_onnx_has(c, 3) ? asc_onnx_t(c, 3) : asc_full(ctx, w, 0.0);
    double eps = asc_onnx_attr_float(c, "epsilon", (double)1e-12F);
    asc_onnx_set_like(c, 0, asc_layer_norm(ctx, sum, asc_onnx_t(c, 2), beta, eps));
    if (asc_onnx_wants(c, 1) || asc_onnx_wants(c, 2))
        return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "mean and deviation as outputs");
    return asc_onnx_set_like(c, 3, sum);
}

/* Input i, whose scale and zero point are the next two, as real numbers. */
static asc_tensor *real(asc_onnx_call *c, size_t i) {
    asc_tensor *scale = asc_onnx_scale_along(c, i + 1, 1, 0), *x = asc_onnx_t(c, i);
    x = asc_onnx_minus(c, x, asc_onnx_scale_along(c, i + 2, 1, 0));
    return scale != NULL ? asc_mul(c->ctx, x, scale) : x;
}

/* Output 0: y on the grid of scale and zero point in inputs i and i + 1, with the zero point's type. */
static asc_status quantised(asc_onnx_call *c, asc_tensor *y, size_t i) {
    asc_tensor *scale = asc_onnx_scale_along(c, i, 1, 0), *zero = asc_onnx_scale_along(c, i + 1, 1, 0);
    int type = zero != NULL ? asc_onnx_elem(c, i + 1) : ASC_ONNX_UINT8;
    if (scale == NULL) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "no scale");
    return asc_onnx_set(c, 0, asc_onnx_to_grid(c, asc_div(c->ctx, y, scale), zero, type), type);
}

asc_status asc_onnx_QLinearAdd(asc_onnx_call *c) {
    return quantised(c, asc_add(c->ctx, real(c, 0), real(c, 3)), 6);
}
asc_status asc_onnx_QLinearMul(asc_onnx_call *c) {
    return quantised(c, asc_mul(c->ctx, real(c, 0), real(c, 3)), 6);
}
asc_status asc_onnx_QLinearSigmoid(asc_onnx_call *c) {
    return quantised(c, asc_sigmoid(c->ctx, real(c, 0)), 3);
}
asc_status asc_onnx_QLinearLeakyRelu(asc_onnx_call *c) {
    double alpha = asc_onnx_attr_float(c, "alpha", (double)0.01F);
    return quantised(c, asc_leaky_relu(c->ctx, real(c, 0), alpha), 3);
}

asc_status asc_onnx_QLinearGlobalAveragePool(asc_onnx_call *c) {
    int rank = asc_onnx_shape(c, 0).rank, axes[ASC_MAX_RANK], n = 0;
    bool last = asc_onnx_attr_int(c, "channels_last", 0) != 0;
    for (int i = 1; i < rank; i++) {
        if (i != (last ? rank - 1 : 1)) axes[n++] = i;
    }
    if (n == 0) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an input of %d dimensions", rank);
    return quantised(c, asc_mean(c->ctx, real(c, 0), n, axes, true), 3);
}

/* Scale and zero point of the result, then value, scale and zero point of each operand. */
asc_status asc_onnx_QLinearConcat(asc_onnx_call *c) {
    size_t n = c->n_in > 2 ? (c->n_in - 2) / 3 : 0;
    asc_tensor **ts = asc_onnx_memory(c, n + 1, sizeof(asc_tensor *));
    if (n == 0 || c->n_in != 2 + 3 * n) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%zu inputs", c->n_in);
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", 0), asc_onnx_shape(c, 2).rank);
    for (size_t i = 0; ts != NULL && i < n; i++) ts[i] = real(c, 2 + 3 * i);
    return c->st != ASC_OK ? c->st : quantised(c, asc_concat_many(c->ctx, ts, n, axis), 0);
}

/* alpha A B (+ C, whole numbers in units of both scales); without a scale of the result it is real. */
asc_status asc_onnx_QGemm(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    bool ta = asc_onnx_attr_int(c, "transA", 0) != 0, tb = asc_onnx_attr_int(c, "transB", 0) != 0;
    asc_tensor *a_scale = asc_onnx_scale_along(c, 1, 1, 0), *b_scale = asc_onnx_scale_along(c, 4, 2, 1);
    asc_tensor *a = asc_onnx_minus(c, asc_onnx_t(c, 0), asc_onnx_scale_along(c, 2, 1, 0));
    asc_tensor *b = asc_onnx_minus(c, asc_onnx_t(c, 3), asc_onnx_scale_along(c, 5, 2, tb ? 0 : 1));
    if (a_scale == NULL || b_scale == NULL)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a scale is missing");
    asc_tensor *y = asc_scale(ctx, asc_matmul(ctx, a, b, ta, tb), asc_onnx_attr_float(c, "alpha", 1.0));
    y = asc_mul(ctx, plus(c, y, 6), asc_mul(ctx, a_scale, b_scale));
    return asc_onnx_has(c, 7) ? quantised(c, y, 7) : asc_onnx_set(c, 0, y, ASC_ONNX_FLOAT);
}

/* (a - zero) (b - zero) times both scales, plus the bias in input `bias`. */
static asc_status product(asc_onnx_call *c, asc_tensor *a, asc_tensor *a_scale, size_t b, size_t b_scale,
                          size_t b_zero, size_t bias) {
    asc_tensor *w = asc_onnx_minus(c, asc_onnx_t(c, b), asc_onnx_scale_along(c, b_zero, 2, 1));
    asc_tensor *w_scale = asc_onnx_scale_along(c, b_scale, 2, 1);
    if (a_scale == NULL || w_scale == NULL)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a scale is missing");
    asc_tensor *y = asc_mul(c->ctx, asc_mul(c->ctx, asc_onnx_matmul(c, a, w), a_scale), w_scale);
    return asc_onnx_set(c, 0, plus(c, y, bias), ASC_ONNX_FLOAT);
}

asc_status asc_onnx_MatMulIntegerToFloat(asc_onnx_call *c) {
    asc_tensor *a = asc_onnx_minus(c, asc_onnx_t(c, 0), asc_onnx_scale_along(c, 4, 1, 0));
    return product(c, a, asc_onnx_scale_along(c, 2, 1, 0), 1, 3, 5, 6);
}

asc_status asc_onnx_DynamicQuantizeMatMul(asc_onnx_call *c) {
    asc_onnx_quantised q = asc_onnx_quantise(c, asc_onnx_t(c, 0));
    return product(c, asc_sub(c->ctx, q.y, q.zero), q.scale, 1, 2, 3, 4);
}
