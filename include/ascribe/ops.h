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
