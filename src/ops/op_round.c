/* op_round.c - y = the whole number nearest to a; of two equally near the even one (the machine's rounding
 * mode, which nothing here changes). Piecewise constant: no gradient. Infinities and NaN stay as they are. */
#include "pointwise.h"

#define EXPR rint(a)
ASC_UNARY_REF
ASC_UNARY_SAMPLES(-2, 2, 1e-3)
ASC_UNARY_BUILDER(round)

const asc_op asc_op_round = {
    ASC_UNARY_FIELDS(ROUND, round),
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE | ASC_OP_NO_GRAD,
    .doc = "Nearest whole number, the even one of two equally near.",
    .formula = "y = round(a)",
};
