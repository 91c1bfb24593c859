/* onnx_op_act.c - activations: functions of one element. */
#include "onnx_ops.h"

asc_status asc_onnx_unary(asc_onnx_call *c, asc_tensor *(*op)(asc_ctx *, asc_tensor *)) {
    return asc_onnx_set_like(c, 0, op(c->ctx, asc_onnx_t(c, 0)));
}

asc_status asc_onnx_Relu(asc_onnx_call *c) { return asc_onnx_unary(c, asc_relu); }
