/* op_sign.c - y = -1, 0 or 1 by the sign of a. Piecewise constant: no gradient. A zero of either sign stays
 * as it is, NaN stays NaN. */
#include "pointwise.h"

#define EXPR a > 0 ? 1.0 : a < 0 ? -1.0 : a
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 1e-3)
ASC_UNARY_BUILDER(sign)

const asc_op asc_op_sign = {
    ASC_UNARY_FIELDS(SIGN, sign),
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE | ASC_OP_NO_GRAD,
    .doc = "Sign: -1, 0 or 1; NaN stays NaN.",
    .formula = "y = a / |a|, 0 at 0",
};
