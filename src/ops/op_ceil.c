/* op_ceil.c - y = the smallest whole number not below a. Piecewise constant: no gradient. Zeros, infinities
 * and NaN stay as they are; what lies between -1 and 0 becomes -0. */
#include "pointwise.h"

#define EXPR ceil(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 1e-3)
ASC_UNARY_BUILDER(ceil)

const asc_op asc_op_ceil = {
    ASC_UNARY_FIELDS(CEIL, ceil),
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE | ASC_OP_NO_GRAD,
    .doc = "Smallest whole number not below a.",
    .formula = "y = ceil(a)",
};
