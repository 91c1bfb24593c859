/* op_floor.c - y = the largest whole number not above a. Piecewise constant: no gradient. Zeros, infinities
 * and NaN stay as they are. */
#include "pointwise.h"

#define EXPR floor(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 1e-3)
ASC_UNARY_BUILDER(floor)

const asc_op asc_op_floor = {
    ASC_UNARY_FIELDS(FLOOR, floor),
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE | ASC_OP_NO_GRAD,
    .doc = "Largest whole number not above a.",
    .formula = "y = floor(a)",
};
