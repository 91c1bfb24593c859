/* op_logical_not.c - 1 where a is 0 (of either sign), else 0; NaN counts as true. Truth values are f32 0 and
 * 1, as comparisons give them. Piecewise constant: no gradient. */
#include "pointwise.h"

#define EXPR a == 0 ? 1.0 : 0.0
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 1e-3)
ASC_UNARY_BUILDER(logical_not)

const asc_op asc_op_logical_not = {
    ASC_UNARY_FIELDS(LOGICAL_NOT, logical_not),
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE | ASC_OP_NO_GRAD,
    .doc = "1 where a is 0, else 0; NaN counts as true.",
    .formula = "y = a == 0 ? 1 : 0",
};
