/* onnx_parts.h - pieces that operator files of several topics share: axes, choices along an axis, windows. */
#ifndef ASC_ONNX_PARTS_H
#define ASC_ONNX_PARTS_H

#include "onnx_ops.h"

/* A scalar constant in c->ctx. */
asc_tensor *asc_onnx_const(asc_onnx_call *c, double value);
/* Input i can be read without computing anything. */
bool asc_onnx_known(const asc_onnx_call *c, size_t i);
/* Axes of a tensor of that rank, from input `input` when the operator's version is `since` or later, else
 * from attribute "axes": checked, made positive, each at most once. Returns their number; -1 when they are
 * left out or an error was set. */
int asc_onnx_axes(asc_onnx_call *c, int since, size_t input, int rank, int out[ASC_MAX_RANK]);
/* [outer, dims[axis], inner] */
asc_shape asc_onnx_three(const asc_shape *s, int axis);
/* Product of dims[from..to). */
int64_t asc_onnx_span(const asc_shape *s, int from, int to);
/* t with axis `from` at place `to`, the others in their order. */
asc_tensor *asc_onnx_move_axis(asc_onnx_call *c, asc_tensor *t, int from, int to);
/* Room for n places of elements, until the end of the run; NULL after an error (too many). */
int32_t *asc_onnx_places(asc_onnx_call *c, int64_t n);
/* Positions index[0..n) of an axis, each inside it. */
asc_tensor *asc_onnx_choose(asc_onnx_call *c, asc_tensor *t, int axis, const int32_t *index, int64_t n);
asc_tensor *asc_onnx_reversed(asc_onnx_call *c, asc_tensor *t, int axis);
/* Input i as i32 indices into an axis of n: negative ones count from the end. One outside is an error where
 * the input is known, and reads the nearest element where it is not. */
asc_tensor *asc_onnx_wrapped(asc_onnx_call *c, size_t i, int64_t n);
/* t of shape [N] as [1,N,1,..]: along axis `axis` of `rank` axes. */
asc_tensor *asc_onnx_along(asc_onnx_call *c, asc_tensor *t, int axis, int rank);
/* The axes merged into one, behind all others (kept in their order). */
asc_tensor *asc_onnx_merged(asc_onnx_call *c, asc_tensor *t, int n_axes, const int *axes);
/* t cast to i32. */
asc_tensor *asc_onnx_i32(asc_onnx_call *c, asc_tensor *t);

/* onnx_op_reduce.c */
asc_tensor *asc_onnx_max_over(asc_onnx_call *c, asc_tensor *t, int n_axes, const int *axes, bool keep);

/* onnx_op_conv.c. Strides, dilations and padding (pads, auto_pad) of a window of n = x.rank - 2 axes. False
 * after an error. */
bool asc_onnx_window(asc_onnx_call *c, const asc_shape *x, const int64_t *kernel, asc_window *out);

/* onnx_op_activation.c: softmax and relatives along one axis, or, before opset 13, over all axes from it on.
 */
asc_status asc_onnx_rows(asc_onnx_call *c, asc_tensor *(*op)(asc_ctx *, asc_tensor *));

#endif
