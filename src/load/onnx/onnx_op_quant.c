/* onnx_op_quant.c - quantised operators, computed on whole numbers held in floats: exact as long as sums stay
 * below 2^24 in f32 (2^53 on the reference device). Rounding to the grid has a straight-through gradient
 * inside the range of the type and none outside; nets with such operators say so (asc_onnx_notes). */
#include "onnx_quant.h"

static void range_of(asc_onnx_call *c, int type, double *lo, double *hi) {
    switch (type) {
    case ASC_ONNX_UINT8:
        *lo = 0, *hi = 255;
        break;
    case ASC_ONNX_INT8:
        *lo = -128, *hi = 127;
        break;
    case ASC_ONNX_UINT16:
        *lo = 0, *hi = 65535;
        break;
    case ASC_ONNX_INT16:
        *lo = -32768, *hi = 32767;
        break;
    default:
        *lo = *hi = 0;
        asc_onnx_fail(c, ASC_UNIMPLEMENTED, "quantisation to %s", asc_onnx_type_name(type));
    }
}

static asc_tensor *scalar(asc_onnx_call *c, double x) { return asc_full(c->ctx, ASC_SCALAR_SHAPE, x); }

asc_tensor *asc_onnx_scale_along(asc_onnx_call *c, size_t i, int rank, int axis) {
    if (!asc_onnx_has(c, i)) return NULL;
    asc_tensor *t = asc_onnx_t(c, i);
    if (asc_tensor_poisoned(t) || t->shape.rank != 1) return t;
    if (t->shape.dims[0] == 1) return asc_reshape(c->ctx, t, ASC_SCALAR_SHAPE);
    asc_shape s = {.rank = rank};
    for (int k = 0; k < rank; k++) s.dims[k] = k == axis ? t->shape.dims[0] : 1;
    return asc_reshape(c->ctx, t, s);
}

asc_tensor *asc_onnx_minus(asc_onnx_call *c, asc_tensor *x, asc_tensor *zero) {
    return zero != NULL ? asc_sub(c->ctx, x, zero) : x;
}

asc_tensor *asc_onnx_to_grid(asc_onnx_call *c, asc_tensor *x, asc_tensor *zero, int type) {
    double lo, hi;
    asc_ctx *ctx = c->ctx;
    range_of(c, type, &lo, &hi);
    asc_tensor *fine = zero != NULL ? asc_add(ctx, x, zero) : x, *low = scalar(c, lo), *high = scalar(c, hi);
    asc_tensor *whole = asc_round(ctx, x);
    if (zero != NULL) whole = asc_add(ctx, whole, zero);
    whole = asc_minimum(ctx, asc_maximum(ctx, whole, low), high);
    return asc_straight_through(ctx, whole, asc_minimum(ctx, asc_maximum(ctx, fine, low), high));
}

static int axis_of(asc_onnx_call *c) {
    int rank = asc_onnx_shape(c, 0).rank;
    if (asc_onnx_attr_int(c, "block_size", 0) != 0)
        asc_onnx_fail(c, ASC_UNIMPLEMENTED, "blocked quantisation");
    bool per_axis = asc_onnx_has(c, 1) && asc_onnx_shape(c, 1).rank == 1 && asc_onnx_shape(c, 1).dims[0] > 1;
    return per_axis ? asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", 1), rank) : 0;
}

asc_status asc_onnx_QuantizeLinear(asc_onnx_call *c) {
    int rank = asc_onnx_shape(c, 0).rank, axis = axis_of(c);
    int type =
        asc_onnx_has(c, 2) ? asc_onnx_elem(c, 2) : (int)asc_onnx_attr_int(c, "output_dtype", ASC_ONNX_UINT8);
    asc_tensor *scale = asc_onnx_scale_along(c, 1, rank, axis),
               *zero = asc_onnx_scale_along(c, 2, rank, axis);
    if (scale == NULL) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "no scale");
    asc_tensor *x = asc_div(c->ctx, asc_onnx_t(c, 0), scale);
    return asc_onnx_set(c, 0, asc_onnx_to_grid(c, x, zero, type), type);
}

asc_status asc_onnx_DequantizeLinear(asc_onnx_call *c) {
    int rank = asc_onnx_shape(c, 0).rank, axis = axis_of(c);
    asc_tensor *scale = asc_onnx_scale_along(c, 1, rank, axis),
               *zero = asc_onnx_scale_along(c, 2, rank, axis);
    if (scale == NULL) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "no scale");
    asc_tensor *y = asc_mul(c->ctx, asc_onnx_minus(c, asc_onnx_t(c, 0), zero), scale);
    return asc_onnx_set(c, 0, y, asc_onnx_elem(c, 1));
}

/* Largest (or smallest) element and 0. */
static asc_tensor *extreme(asc_onnx_call *c, asc_tensor *x, bool largest) {
    asc_ctx *ctx = c->ctx;
    asc_tensor *flat = asc_reshape(ctx, x, ASC_SHAPE(-1)), *zero = scalar(c, 0.0);
    if (largest) return asc_maximum(ctx, asc_max(ctx, flat, 0, false), zero);
    return asc_minimum(ctx, asc_neg(ctx, asc_max(ctx, asc_neg(ctx, flat), 0, false)), zero);
}

asc_onnx_quantised asc_onnx_quantise(asc_onnx_call *c, asc_tensor *x) {
    asc_ctx *ctx = c->ctx;
    asc_tensor *low = extreme(c, x, false), *high = extreme(c, x, true), *span = asc_sub(ctx, high, low);
    /* All zeros span nothing: any scale holds them, onnxruntime takes 1. A baseline is such an input. */
    asc_onnx_quantised q = {.scale = asc_where(ctx, asc_equal(ctx, span, scalar(c, 0.0)), scalar(c, 1.0),
                                               asc_scale(ctx, span, 1.0 / 255.0))};
    q.zero = asc_onnx_to_grid(c, asc_neg(ctx, asc_div(ctx, low, q.scale)), NULL, ASC_ONNX_UINT8);
    q.y = asc_onnx_to_grid(c, asc_div(ctx, x, q.scale), q.zero, ASC_ONNX_UINT8);
    return q;
}

asc_status asc_onnx_DynamicQuantizeLinear(asc_onnx_call *c) {
    asc_onnx_quantised q = asc_onnx_quantise(c, asc_onnx_t(c, 0));
    asc_onnx_set(c, 0, q.y, ASC_ONNX_UINT8);
    asc_onnx_set(c, 1, q.scale, ASC_ONNX_FLOAT);
    return asc_onnx_set(c, 2, q.zero, ASC_ONNX_UINT8);
}

/* Operand i of a product less its zero point (input z): one for all, or one a row (a) or column (b). */
static asc_tensor *operand(asc_onnx_call *c, size_t i, size_t z, bool rows) {
    int rank = asc_onnx_shape(c, i).rank;
    return asc_onnx_minus(c, asc_onnx_t(c, i), asc_onnx_scale_along(c, z, rank, rows ? rank - 2 : rank - 1));
}

asc_status asc_onnx_MatMulInteger(asc_onnx_call *c) {
    asc_tensor *y = asc_onnx_matmul(c, operand(c, 0, 2, true), operand(c, 1, 3, false));
    return asc_onnx_set(c, 0, y, ASC_ONNX_INT32);
}

/* The product of whole numbers in units of the result's grid, rounded to it. */
static asc_status requantise(asc_onnx_call *c, asc_tensor *y, asc_tensor *a_scale, asc_tensor *b_scale,
                             asc_tensor *y_scale, asc_tensor *y_zero, int type) {
    if (a_scale == NULL || b_scale == NULL || y_scale == NULL)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a scale is missing");
    asc_tensor *unit = asc_div(c->ctx, asc_mul(c->ctx, a_scale, b_scale), y_scale);
    return asc_onnx_set(c, 0, asc_onnx_to_grid(c, asc_mul(c->ctx, y, unit), y_zero, type), type);
}

asc_status asc_onnx_QLinearMatMul(asc_onnx_call *c) {
    asc_tensor *y = asc_onnx_matmul(c, operand(c, 0, 2, true), operand(c, 3, 5, false));
    if (asc_tensor_poisoned(y)) return asc_onnx_set(c, 0, y, ASC_ONNX_UINT8);
    int rank = y->shape.rank;
    return requantise(c, y, asc_onnx_scale_along(c, 1, rank, rank - 2),
                      asc_onnx_scale_along(c, 4, rank, rank - 1), asc_onnx_scale_along(c, 6, rank, rank - 2),
                      asc_onnx_scale_along(c, 7, rank, rank - 2), asc_onnx_elem(c, 7));
}

/* A convolution of whole numbers, each operand less its zero point; weights may have one an output channel.
 */
static asc_tensor *conv(asc_onnx_call *c, size_t x, size_t x_zero, size_t w, size_t w_zero) {
    asc_shape xs = asc_onnx_shape(c, x), ws = asc_onnx_shape(c, w);
    asc_window win;
    if (c->st == ASC_OK && ws.rank != xs.rank)
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an input of %d dimensions, a weight of %d", xs.rank, ws.rank);
    if (c->st != ASC_OK || !asc_onnx_window(c, &xs, ws.dims + 2, &win)) return NULL;
    asc_tensor *a = asc_onnx_minus(c, asc_onnx_t(c, x), asc_onnx_scale_along(c, x_zero, xs.rank, 1));
    asc_tensor *b = asc_onnx_minus(c, asc_onnx_t(c, w), asc_onnx_scale_along(c, w_zero, ws.rank, 0));
    return asc_conv(c->ctx, a, b, NULL, &win, asc_onnx_attr_int(c, "group", 1));
}

asc_status asc_onnx_ConvInteger(asc_onnx_call *c) {
    asc_tensor *y = conv(c, 0, 2, 1, 3);
    return y != NULL ? asc_onnx_set(c, 0, y, ASC_ONNX_INT32) : c->st;
}

asc_status asc_onnx_QLinearConv(asc_onnx_call *c) {
    asc_tensor *y = conv(c, 0, 2, 3, 5);
    if (y == NULL) return c->st;
    int rank = asc_onnx_shape(c, 0).rank, type = asc_onnx_elem(c, 7);
    if (asc_onnx_has(c, 8)) y = asc_add(c->ctx, y, asc_onnx_along(c, asc_onnx_t(c, 8), 1, rank));
    return requantise(c, y, asc_onnx_scale_along(c, 1, rank, 1), asc_onnx_scale_along(c, 4, rank, 1),
                      asc_onnx_scale_along(c, 6, rank, 1), asc_onnx_scale_along(c, 7, rank, 1), type);
}
