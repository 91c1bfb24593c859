/* ascribe/ops.h - the ops that nets are made of: one builder for each line of ascribe/ops.def.
 *
 * A builder checks its inputs, records the op and returns its result, which belongs to the current scope; it
 * never returns NULL (ascribe/tensor.h says what happens after an error). Values are f32 unless the table
 * says i32. docs/ops.md has the formula and the gradient of each.
 */
#ifndef ASCRIBE_OPS_H
#define ASCRIBE_OPS_H

#include "ascribe/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ASC_MAX_SPATIAL = 3 };

/* A window that moves over the spatial axes of [B,C,spatial 1..3], for convolutions and pools. Tap t of the
 * window at output position o reads input position o stride + t dilation - before. A negative `before` or
 * `after` cuts off instead of adding. Positions outside the input read as 0 (conv, avg_pool) or not at all
 * (max_pool). One number per spatial axis, outermost first; entries behind the last axis are ignored. stride
 * and dilation 0 mean 1. Convolutions take the kernel's size from their weight (conv_grad_weight from here).
 */
typedef struct asc_window {
    int64_t kernel[ASC_MAX_SPATIAL], stride[ASC_MAX_SPATIAL], dilation[ASC_MAX_SPATIAL];
    int64_t before[ASC_MAX_SPATIAL], after[ASC_MAX_SPATIAL]; /* padding */
    bool ceil; /* pools: a last window that hangs over the padded end counts, unless it starts behind the
                  input */
} asc_window;

/* Types that asc_cast makes. */
enum { ASC_TYPE_F32 = 0, ASC_TYPE_I32 = 6 };

/* The kinds of asc_bitwise. */
enum {
    ASC_BITWISE_AND,
    ASC_BITWISE_OR,
    ASC_BITWISE_XOR,
    ASC_BITWISE_LEFT,  /* a times 2^b */
    ASC_BITWISE_RIGHT, /* a / 2^b, rounded down */
    ASC_N_BITWISE
};

/* The kinds of asc_random. */
enum { ASC_RANDOM_UNIFORM, ASC_RANDOM_NORMAL, ASC_N_RANDOM };

/* Numbers of an array as an op of your own sees them: element (i, j, ..) is data[i strides[0] + j strides[1]
 * ..]. Integers come as doubles too. */
typedef struct asc_values {
    double *data;
    asc_shape shape;
    int64_t strides[ASC_MAX_RANK];
} asc_values;

/* An op of your own, for asc_custom: up to 8 inputs, one f32 result. It runs on every device, in f64. */
typedef struct asc_custom_op {
    size_t struct_size;
    const char *name; /* in errors; lent */
    void *self;       /* handed to the functions */
    /* Shape of the result; false = the inputs do not fit together. NULL: that of input 0, which all share. */
    bool (*shape)(void *self, const asc_shape *in, int n_in, asc_shape *out);
    /* Writes every element of out; called from the context's thread, must not call the library. */
    void (*forward)(void *self, const asc_values *in, int n_in, const asc_values *out);
    /* The gradient, as recorded ops: gin[k] receives the cotangent of in[k] (its shape; NULL counts as zero)
     * given g, that of the result y. Gradients of gradients and forward derivatives follow from it. NULL: the
     * op has no gradient, and asking for one is an error that names it. */
    void (*vjp)(void *self, asc_ctx *ctx, asc_tensor *y, asc_tensor *g, asc_tensor *const *in, int n_in,
                asc_tensor **gin);
} asc_custom_op;

#if defined(__GNUC__)
#pragma push_macro("OP") /* the includer may have one of its own */
#endif
#undef OP
#define OP(E, name, proto) ASC_API asc_tensor *asc_##name proto;
#include "ascribe/ops.def"
#undef OP
#if defined(__GNUC__)
#pragma pop_macro("OP")
#endif

/* arg_max and arg_min with the last of equals (of NaNs) instead of the first. */
ASC_API asc_tensor *asc_arg_max_last(asc_ctx *ctx, asc_tensor *a, int axis);
ASC_API asc_tensor *asc_arg_min_last(asc_ctx *ctx, asc_tensor *a, int axis);

#ifdef __cplusplus
}
#endif
#endif
