/* op_less.c - 1 where a < b, else 0 (f32), with broadcasting. Piecewise constant: no gradient.
 * False when either is NaN. */
#include "pointwise.h"

#define EXPR a < b ? 1.0 : 0.0
ASC_BINARY_REF
ASC_BINARY_SAMPLES(-2, 2, 1e-3)
ASC_BINARY_BUILDER(less)

const asc_op asc_op_less = {
    ASC_BINARY_FIELDS(LESS, less),
    .flags = ASC_OP_INPLACE | ASC_OP_NO_GRAD,
    .doc = "1 where a is less than b, else 0, with broadcasting; false with NaN.",
    .formula = "y = a < b ? 1 : 0",
};
