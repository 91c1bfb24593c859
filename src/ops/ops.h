/* ops.h - builders of all ops, one prototype per line of ops.def. Each returns a tensor owned by the current
 * scope, never NULL (see ascribe/tensor.h on errors). */
#ifndef ASC_OPS_H
#define ASC_OPS_H

#include "op.h"
#include "window.h"

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

#define OP(E, name, proto) asc_tensor *asc_##name proto;
#include "ops.def"
#undef OP

/* arg_max and arg_min with the last of equals (of NaNs) instead of the first. */
asc_tensor *asc_arg_max_last(asc_ctx *ctx, asc_tensor *a, int axis);
asc_tensor *asc_arg_min_last(asc_ctx *ctx, asc_tensor *a, int axis);

#endif
