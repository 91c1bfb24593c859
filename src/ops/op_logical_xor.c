/* op_logical_xor.c - 1 where one of a and b is 0 and the other is not, else 0 (f32), with broadcasting; NaN
 * counts as true. Piecewise constant: no gradient. */
#include "pointwise.h"

#define EXPR (a != 0) != (b != 0) ? 1.0 : 0.0
ASC_BINARY_REF
ASC_BINARY_SAMPLES(-2, 2, 1e-3)
ASC_BINARY_BUILDER(logical_xor)

const asc_op asc_op_logical_xor = {
    ASC_BINARY_FIELDS(LOGICAL_XOR, logical_xor),
    .flags = ASC_OP_INPLACE | ASC_OP_NO_GRAD,
    .doc = "1 where exactly one of a and b is not 0, else 0, with broadcasting; NaN counts as true.",
    .formula = "y = (a != 0) != (b != 0)",
};
