/* quadrature.h - fixed rules on [0, 1]. */
#ifndef ASC_QUADRATURE_H
#define ASC_QUADRATURE_H

#include "ctx.h"

typedef enum asc_rule {
    ASC_RULE_GAUSS_LEGENDRE,
    ASC_RULE_RIEMANN_LEFT,
    ASC_RULE_RIEMANN_RIGHT,
    ASC_RULE_RIEMANN_MIDDLE,
    ASC_RULE_RIEMANN_TRAPEZOID,
    ASC_RULE_ADAPTIVE
} asc_rule;
/* "gauss-legendre", "riemann-left", ..., "adaptive"; Captum's spellings (gausslegendre, riemann_left) too. -1
 * = unknown. */
int asc_rule_from_name(const char *name);
const char *asc_rule_name(asc_rule r);
/* INVALID_ARGUMENT unless the rule can have n points; to be asked before anything is made for them. */
ASC_MUST_USE asc_status asc_rule_check_steps(asc_ctx *ctx, asc_rule rule, size_t n);
/* n >= 1 nodes and weights (trapezoid: n >= 2); weights add up to 1. Gauss-Legendre nodes by Newton's method
 * on the Legendre recurrence, to the last bit or two; the others by their definitions. */
ASC_MUST_USE asc_status asc_rule_nodes(asc_ctx *ctx, asc_rule rule, size_t n, double *nodes, double *weights);
/* The same in new memory: *nodes, which the caller frees (NULL on error), and the weights behind them, of
 * which *weights tells unless it is NULL. */
ASC_MUST_USE asc_status asc_rule_nodes_make(asc_ctx *ctx, asc_rule rule, size_t n, double **nodes,
                                            const double **weights);

#endif
