/* onnx_op_rms.c - RMSNormalization (opset 23): x / sqrt(mean(x^2) + eps) over the axes from `axis` on, times
 * a scale that broadcasts. */
#include "onnx_parts.h"

asc_status asc_onnx_RMSNormalization(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0);
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", -1), s.rank);
    double eps = asc_onnx_attr_float(c, "epsilon", (double)1e-5F);
    if (c->st != ASC_OK) return c->st;
    int64_t width = asc_onnx_span(&s, axis, s.rank);
    asc_tensor *rows = asc_reshape(ctx, asc_onnx_t(c, 0), ASC_SHAPE(asc_onnx_span(&s, 0, axis), width));
    asc_tensor *y = asc_rms_norm(ctx, rows, asc_full(ctx, ASC_SHAPE(width), 1.0), eps);
    return asc_onnx_set_like(c, 0, asc_mul(ctx, asc_reshape(ctx, y, s), asc_onnx_t(c, 1)));
}
