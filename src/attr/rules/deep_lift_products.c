/* deep_lift_products.c - rules for ops of several inputs that move: products, quotients, choices, extrema.
 * With one moving input the products are linear and keep their own VJP. */
#include "rule_parts.h"

/* y - y0 = (a - a0) (b + b0)/2 + (b - b0) (a + a0)/2: a bilinear op's own VJP with both inputs at their
 * means. What a third input (a bias) adds is linear. */
void asc_dl_product(asc_vjp_args *a) {
    asc_tensor *mean[ASC_MAX_IN];
    for (int k = 0; k < a->n_in; k++) {
        mean[k] = a->need[k] ? asc_rule_mean2(a->ctx, a->in[k], a->in0[k]) : a->in[k];
        if (a->moving[k] && !a->need[k]) {
            asc_rule_fall_back(a);
            return;
        }
    }
    asc_rule_own_at(a, mean, a->y, a->g, a->gin);
}

/* The product of a and r = 1/b. */
void asc_dl_div(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    if (!a->moving[1]) {
        asc_rule_own(a);
        return;
    }
    asc_tensor *r = asc_recip(ctx, a->in[1]), *r0 = asc_recip(ctx, a->in0[1]);
    if (a->need[0])
        a->gin[0] = asc_unbroadcast(ctx, asc_mul(ctx, a->g, asc_rule_mean2(ctx, r, r0)), a->in[0]);
    asc_tensor *by_r = asc_mul(ctx, a->g, asc_rule_mean2(ctx, a->in[0], a->in0[0]));
    asc_tensor *slope = asc_neg(ctx, asc_mul(ctx, r, r0));
    if (a->need[1]) a->gin[1] = asc_unbroadcast(ctx, asc_mul(ctx, by_r, slope), a->in[1]);
}

/* 0 or 1 */
static asc_tensor *indicator(asc_ctx *ctx, asc_tensor *cond) {
    asc_tensor *is_zero = asc_rule_is_zero(ctx, cond);
    return asc_shift(ctx, asc_neg(ctx, is_zero), 1);
}

/* c a + (1 - c) b as two products, where the condition c, 0 or 1, depends on the input too. */
void asc_dl_where(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    if (!a->moving[0]) {
        asc_rule_own(a);
        return;
    }
    asc_tensor *c = indicator(ctx, a->in[0]), *c0 = indicator(ctx, a->in0[0]),
               *part = asc_rule_mean2(ctx, c, c0);
    asc_tensor *rest = asc_shift(ctx, asc_neg(ctx, part), 1);
    if (a->need[1]) a->gin[1] = asc_unbroadcast(ctx, asc_mul(ctx, a->g, part), a->in[1]);
    if (a->need[2]) a->gin[2] = asc_unbroadcast(ctx, asc_mul(ctx, a->g, rest), a->in[2]);
    if (!a->need[0]) return;
    asc_tensor *gap =
        asc_sub(ctx, asc_rule_mean2(ctx, a->in[1], a->in0[1]), asc_rule_mean2(ctx, a->in[2], a->in0[2]));
    asc_tensor *d = asc_sub(ctx, a->in[0], a->in0[0]), *still = asc_rule_is_zero(ctx, d);
    asc_tensor *slope = asc_rule_ratio(ctx, asc_sub(ctx, c, c0), d, still, asc_rule_const(ctx, 0));
    a->gin[0] = asc_unbroadcast(ctx, asc_mul(ctx, a->g, asc_mul(ctx, gap, slope)), a->in[0]);
}

/* A comparison is a step function of a - b: the quotient of their changes, 0 where nothing changes. */
void asc_dl_compare(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *gap = asc_sub(ctx, a->in[0], a->in[1]), *gap0 = asc_sub(ctx, a->in0[0], a->in0[1]);
    asc_tensor *d = asc_sub(ctx, gap, gap0), *rise = asc_mul(ctx, a->g, asc_sub(ctx, a->y, a->y0));
    asc_tensor *m = asc_rule_ratio(ctx, rise, d, asc_rule_is_zero(ctx, d), asc_rule_const(ctx, 0));
    if (a->need[0]) a->gin[0] = asc_unbroadcast(ctx, m, a->in[0]);
    if (a->need[1]) a->gin[1] = asc_unbroadcast(ctx, asc_neg(ctx, m), a->in[1]);
}

/* With M the further of y and y0 (the larger of maxima, the smaller of minima): M - y0 belongs to what was
 * chosen from x, y - M to what was chosen from x0. Only one of the two is not 0, and what it belongs to has
 * moved at least as far, so the quotient by x - x0 stays between 0 and 1 per window. Overlapping windows add
 * up. Elements that did not move receive no contribution; their multiplier is the derivative at x. */
void asc_dl_extremum(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    const bool least = a->y->op->opcode == ASC_OPCODE_MINIMUM || a->y->op->opcode == ASC_OPCODE_MIN;
    asc_tensor *far = least ? asc_minimum(ctx, a->y, a->y0) : asc_maximum(ctx, a->y, a->y0);
    asc_tensor *at_x[ASC_MAX_IN], *at_x0[ASC_MAX_IN], *own[ASC_MAX_IN];
    asc_rule_own_at(a, a->in, a->y, asc_mul(ctx, a->g, asc_sub(ctx, far, a->y0)), at_x);
    asc_tensor *g0 = a->g0 != NULL ? a->g0 : a->g;
    asc_rule_own_at(a, a->in0, a->y0, asc_mul(ctx, g0, asc_sub(ctx, a->y, far)), at_x0);
    asc_rule_own_at(a, a->in, a->y, a->g, own);
    for (int k = 0; k < a->n_in; k++) {
        if (!a->need[k]) continue;
        asc_tensor *d = asc_sub(ctx, a->in[k], a->in0[k]);
        a->gin[k] = asc_rule_ratio(ctx, asc_add(ctx, at_x[k], at_x0[k]), d, asc_rule_is_zero(ctx, d), own[k]);
    }
}
