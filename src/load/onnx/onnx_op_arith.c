/* onnx_op_arith.c - Add, Sub, Mul, Div with broadcasting, in both forms: NumPy's (opset 7 on) and the older
 * one, in which the second operand is laid along axes `axis`.. of the first when `broadcast` is set. */
#include "onnx_ops.h"

/* The second operand, shaped so that NumPy's broadcasting does what the operator's version says. */
static asc_tensor *second(asc_onnx_call *c, asc_tensor *a, asc_tensor *b) {
    if (c->opset >= 7 || asc_tensor_poisoned(a) || asc_tensor_poisoned(b)) return b;
    if (asc_onnx_attr_int(c, "broadcast", 0) == 0 || b->shape.rank == 0) return b;
    int64_t axis = asc_onnx_attr_int(c, "axis", a->shape.rank - b->shape.rank);
    if (axis < 0) axis += a->shape.rank;
    if (axis < 0 || axis + b->shape.rank > a->shape.rank) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "axis %lld for %d and %d dimensions", (long long)axis,
                      a->shape.rank, b->shape.rank);
        return b;
    }
    asc_shape s = b->shape;
    s.rank = a->shape.rank - (int)axis;
    for (int i = b->shape.rank; i < s.rank; i++) s.dims[i] = 1;
    return asc_reshape(c->ctx, b, s);
}

asc_status asc_onnx_binary(asc_onnx_call *c, asc_tensor *(*op)(asc_ctx *, asc_tensor *, asc_tensor *),
                           int elem) {
    asc_tensor *a = asc_onnx_t(c, 0), *b = asc_onnx_t(c, 1), *y = op(c->ctx, a, second(c, a, b));
    int type = asc_onnx_elem(c, 0);
    if (elem != 0) return asc_onnx_set(c, 0, y, elem);
    /* 8 and 16 bits wrap around; wider integers keep what the device holds. */
    bool small = !asc_onnx_type_is_float(type) && asc_onnx_type_bytes(type) <= 2 && type != ASC_ONNX_BOOL;
    return asc_onnx_set(c, 0, small ? asc_onnx_convert(c, y, ASC_ONNX_INT64, type) : y, type);
}

asc_status asc_onnx_Add(asc_onnx_call *c) { return asc_onnx_binary(c, asc_add, 0); }
asc_status asc_onnx_Sub(asc_onnx_call *c) { return asc_onnx_binary(c, asc_sub, 0); }
asc_status asc_onnx_Mul(asc_onnx_call *c) { return asc_onnx_binary(c, asc_mul, 0); }

asc_status asc_onnx_Div(asc_onnx_call *c) {
    bool floats = asc_onnx_type_is_float(asc_onnx_elem(c, 0));
    return asc_onnx_binary(c, floats ? asc_div : asc_trunc_div, 0);
}
