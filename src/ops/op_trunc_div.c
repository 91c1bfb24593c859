/* op_trunc_div.c - the quotient of a and b cut towards 0, with broadcasting: the division of whole numbers
 * held in floats. Exact in f32 for whole numbers up to 2^24: a quotient that is not whole is at least 1/b
 * away from the next whole number, which is more than half a unit in its last place. Division by 0 gives an
 * infinity or NaN. Piecewise constant: no gradient. */
#include "pointwise.h"

#define EXPR trunc(a / b)
ASC_BINARY_REF
ASC_BINARY_SAMPLES(-2, 2, 1e-3)
ASC_BINARY_BUILDER(trunc_div)

const asc_op asc_op_trunc_div = {
    ASC_BINARY_FIELDS(TRUNC_DIV, trunc_div),
    .flags = ASC_OP_INPLACE | ASC_OP_NO_GRAD,
    .doc = "Quotient cut towards 0, with broadcasting: division of whole numbers.",
    .formula = "y = trunc(a / b)",
};
