/* onnx_ops.h - pieces that several onnx_op_*.c files use. */
#ifndef ASC_ONNX_OPS_H
#define ASC_ONNX_OPS_H

#include "onnx_call.h"

/* onnx_op_arith.c: output 0 = op(input 0, input 1) with the broadcasting of the operator's version; elem 0 =
 * the type of input 0. */
asc_status asc_onnx_binary(asc_onnx_call *c, asc_tensor *(*op)(asc_ctx *, asc_tensor *, asc_tensor *),
                           int elem);
/* onnx_op_act.c: output 0 = op(input 0), same type. */
asc_status asc_onnx_unary(asc_onnx_call *c, asc_tensor *(*op)(asc_ctx *, asc_tensor *));

/* onnx_op_matmul.c: the product by NumPy's rule: a vector on the left is a row, on the right a column, and
 * its axis goes away again. */
asc_tensor *asc_onnx_matmul(asc_onnx_call *c, asc_tensor *a, asc_tensor *b);

/* Values brought into the range of an ONNX type: truncated and wrapped integers, 0 and 1, rounded to f16 and
 * bf16 left as they are. */
asc_tensor *asc_onnx_convert(asc_onnx_call *c, asc_tensor *t, int from, int to);

#endif
