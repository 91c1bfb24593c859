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

#define OP(E, name, proto) asc_tensor *asc_##name proto;
#include "ops.def"
#undef OP

#endif
