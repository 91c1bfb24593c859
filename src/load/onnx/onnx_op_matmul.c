/* onnx_op_matmul.c - matrix products. */
#include "onnx_ops.h"

asc_tensor *asc_onnx_matmul(asc_onnx_call *c, asc_tensor *a, asc_tensor *b) {
    if (asc_tensor_poisoned(a)) return a;
    if (asc_tensor_poisoned(b)) return b;
    int ra = a->shape.rank, rb = b->shape.rank;
    if (ra == 0 || rb == 0) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a scalar operand");
        return a;
    }
    if (ra == 1) a = asc_reshape(c->ctx, a, ASC_SHAPE(1, a->shape.dims[0]));
    if (rb == 1) b = asc_reshape(c->ctx, b, ASC_SHAPE(b->shape.dims[0], 1));
    asc_tensor *y = asc_matmul(c->ctx, a, b, false, false);
    if (asc_tensor_poisoned(y)) return y;
    asc_shape s = y->shape;
    if (rb == 1) s.rank--;
    if (ra == 1) {
        if (rb != 1) s.dims[s.rank - 2] = s.dims[s.rank - 1];
        s.rank--;
    }
    return ra == 1 || rb == 1 ? asc_reshape(c->ctx, y, s) : y;
}

asc_status asc_onnx_MatMul(asc_onnx_call *c) {
    return asc_onnx_set_like(c, 0, asc_onnx_matmul(c, asc_onnx_t(c, 0), asc_onnx_t(c, 1)));
}

asc_status asc_onnx_Gemm(asc_onnx_call *c) {
    asc_tensor *a = asc_onnx_t(c, 0), *b = asc_onnx_t(c, 1);
    bool ta = asc_onnx_attr_int(c, "transA", 0) != 0, tb = asc_onnx_attr_int(c, "transB", 0) != 0;
    double alpha = asc_onnx_attr_float(c, "alpha", 1.0), beta = asc_onnx_attr_float(c, "beta", 1.0);
    asc_tensor *y = asc_matmul(c->ctx, a, b, ta, tb);
    if (alpha != 1.0) y = asc_scale(c->ctx, y, alpha);
    if (asc_onnx_has(c, 2) && beta != 0.0) {
        asc_tensor *add = asc_onnx_t(c, 2);
        if (beta != 1.0) add = asc_scale(c->ctx, add, beta);
        y = asc_add(c->ctx, y, add);
    }
    return asc_onnx_set_like(c, 0, y);
}
