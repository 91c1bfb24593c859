/* op_is_nan.c - 1 where a is not a number, else 0 (f32). Piecewise constant: no gradient. */
#include "pointwise.h"

#define EXPR a != a ? 1.0 : 0.0
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 1e-3)
ASC_UNARY_BUILDER(is_nan)

const asc_op asc_op_is_nan = {
    ASC_UNARY_FIELDS(IS_NAN, is_nan),         .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE | ASC_OP_NO_GRAD, .doc = "1 where a is NaN, else 0.",
    .formula = "y = a != a ? 1 : 0",
};
