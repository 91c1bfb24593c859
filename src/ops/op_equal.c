/* op_equal.c - 1 where a = b, else 0 (f32), with broadcasting. Piecewise constant: no gradient.
 * NaN equals nothing, +0 equals -0. */
#include "pointwise.h"

#define EXPR a == b ? 1.0 : 0.0
ASC_BINARY_REF
ASC_BINARY_SAMPLES(-2, 2, 1e-3)
ASC_BINARY_BUILDER(equal)

const asc_op asc_op_equal = {
    ASC_BINARY_FIELDS(EQUAL, equal),
    .flags = ASC_OP_INPLACE | ASC_OP_NO_GRAD,
    .doc = "1 where a equals b, else 0, with broadcasting; NaN equals nothing.",
    .formula = "y = a == b ? 1 : 0",
};
