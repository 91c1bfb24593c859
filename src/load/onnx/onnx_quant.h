/* onnx_quant.h - what the quantised operators of ONNX and of com.microsoft share. */
#ifndef ASC_ONNX_QUANT_H
#define ASC_ONNX_QUANT_H

#include "onnx_parts.h"

/* Input i, a scale or zero point: of one value for all, or of one a slice along `axis` of `rank` dimensions.
 * NULL when it is left out. */
asc_tensor *asc_onnx_scale_along(asc_onnx_call *c, size_t i, int rank, int axis);
/* x - zero; x when zero is NULL. */
asc_tensor *asc_onnx_minus(asc_onnx_call *c, asc_tensor *x, asc_tensor *zero);
/* round(x) + zero (NULL = 0), cut to the range of `type`; x is in units of the grid. The gradient goes
 * straight through inside the range. */
asc_tensor *asc_onnx_to_grid(asc_onnx_call *c, asc_tensor *x, asc_tensor *zero, int type);

typedef struct asc_onnx_quantised {
    asc_tensor *y, *scale, *zero;
} asc_onnx_quantised;
/* x on the grid of uint8 that spans its values and 0. */
asc_onnx_quantised asc_onnx_quantise(asc_onnx_call *c, asc_tensor *x);

#endif
