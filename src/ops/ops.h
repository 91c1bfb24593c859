/* ops.h - builders of all ops, one prototype per line of ops.def. Each returns a tensor owned by the current
 * scope, never NULL (see ascribe/tensor.h on errors). */
#ifndef ASC_OPS_H
#define ASC_OPS_H

#include "op.h"

#define OP(E, name, proto) asc_tensor *asc_##name proto;
#include "ops.def"
#undef OP

#endif
