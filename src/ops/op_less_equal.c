/* op_less_equal.c - 1 where a <= b, else 0 (f32), with broadcasting. Piecewise constant: no gradient.
 * False when either is NaN. */
#include "pointwise.h"

#define EXPR a <= b ? 1.0 : 0.0
ASC_BINARY_REF
ASC_BINARY_SAMPLES(-2, 2, 1e-3)
ASC_BINARY_BUILDER(less_equal)

const asc_op asc_op_less_equal = {
    ASC_BINARY_FIELDS(LESS_EQUAL, less_equal),
    .flags = ASC_OP_INPLACE | ASC_OP_NO_GRAD,
    .doc = "1 where a is at most b, else 0, with broadcasting; false with NaN.",
    .formula = "y = a <= b ? 1 : 0",
};
