/* deep_lift_rows.c - softmax and log-softmax: shift by the larger of both rows' maxima, a constant that
 * changes neither result; then exp and sum (and reciprocal and product, or logarithm) by their own rules.
 * Each row only meets the same row of the baseline. */
#include "reduce.h"
#include "rows.h"
#include "rule_parts.h"

typedef struct softmax_parts {
    asc_tensor *e, *e0, *s, *s0; /* exp of the shifted rows, their sums [.., 1] */
    asc_tensor *slope;           /* mean slope of exp */
} softmax_parts;

static void parts_of(asc_vjp_args *a, softmax_parts *p) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[0], *x0 = a->in0[0];
    asc_tensor *top = asc_maximum(ctx, asc_max(ctx, x, -1, true), asc_max(ctx, x0, -1, true));
    p->e = asc_exp(ctx, asc_sub(ctx, x, top));
    p->e0 = asc_exp(ctx, asc_sub(ctx, x0, top));
    p->s = asc_row_sum(ctx, p->e);
    p->s0 = asc_row_sum(ctx, p->e0);
    /* Entries that are -inf in both rows (masks) do not move, though their difference is NaN. */
    asc_tensor *gone = asc_rule_is_zero(ctx, asc_add(ctx, p->e, p->e0));
    asc_tensor *d = asc_where(ctx, gone, asc_rule_const(ctx, 0), asc_sub(ctx, x, x0));
    p->slope = asc_dl_exp_slope(ctx, d, p->e, p->e0);
}

/* y = e r with r = 1 / sum e. Multiplier of e_j: g_j (r + r0)/2 - r r0 sum_i g_i (e_i + e0_i)/2. */
void asc_dl_softmax(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    softmax_parts p;
    parts_of(a, &p);
    asc_tensor *r = asc_recip(ctx, p.s), *r0 = asc_recip(ctx, p.s0);
    asc_tensor *by_r = asc_row_sum(ctx, asc_mul(ctx, a->g, asc_rule_mean2(ctx, p.e, p.e0)));
    asc_tensor *by_e =
        asc_sub(ctx, asc_mul(ctx, a->g, asc_rule_mean2(ctx, r, r0)), asc_mul(ctx, asc_mul(ctx, r, r0), by_r));
    a->gin[0] = asc_mul(ctx, by_e, p.slope);
}

/* y_j = x_j - log sum e */
void asc_dl_log_softmax(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    softmax_parts p;
    parts_of(a, &p);
    asc_tensor *all = asc_mul(ctx, asc_row_sum(ctx, a->g), asc_dl_log_slope(ctx, p.s, p.s0));
    a->gin[0] = asc_sub(ctx, a->g, asc_mul(ctx, p.slope, all));
}

/* log-sum-exp over any axes. The constant is the larger of the two results, above every entry but for log n.
 */
void asc_dl_log_sum_exp(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    const asc_shape kept = asc_reduce_kept(a->in[0], a->attrs);
    asc_tensor *y = asc_reshape(ctx, a->y, kept), *y0 = asc_reshape(ctx, a->y0, kept),
               *top = asc_maximum(ctx, y, y0);
    asc_tensor *e = asc_exp(ctx, asc_sub(ctx, a->in[0], top)),
               *e0 = asc_exp(ctx, asc_sub(ctx, a->in0[0], top));
    asc_tensor *gone = asc_rule_is_zero(ctx, asc_add(ctx, e, e0));
    asc_tensor *d = asc_where(ctx, gone, asc_rule_const(ctx, 0), asc_sub(ctx, a->in[0], a->in0[0]));
    asc_tensor *by_sum =
        asc_dl_log_slope(ctx, asc_exp(ctx, asc_sub(ctx, y, top)), asc_exp(ctx, asc_sub(ctx, y0, top)));
    by_sum = asc_mul(ctx, by_sum, asc_reshape(ctx, a->g, kept));
    a->gin[0] = asc_mul(ctx, asc_dl_exp_slope(ctx, d, e, e0), by_sum);
}
