/* ops.h - builders of all ops (ascribe/ops.h) and the descriptors behind them. */
#ifndef ASC_OPS_H
#define ASC_OPS_H

#include "ascribe/ops.h"
#include "op.h"
#include "window.h"

_Static_assert((int)ASC_TYPE_F32 == (int)ASC_DTYPE_F32 && (int)ASC_TYPE_I32 == (int)ASC_DTYPE_I32,
               "the public names of the two types");

/* op_concat.c. n >= 1 arrays along an axis: asc_concat takes 8 at a time. */
asc_tensor *asc_concat_many(asc_ctx *ctx, asc_tensor *const *ts, size_t n, int axis);

#endif
