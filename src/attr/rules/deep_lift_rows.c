/* deep_lift_rows.c - softmax, log-softmax, log-sum-exp: shift by the larger of both rows' maxima, a constant
 * that changes no result; then exp and sum (and reciprocal and product, or logarithm) by their own rules.
 * Each row only meets the same row of the baseline.
 *
 * The product rule of the softmax weighs with 1 / sum exp at the row with the smaller maximum, which grows as
 * exp of the distance of the maxima: beyond FAR its scores are huge, cancel, and soon overflow. There y =
 * exp(x - log sum exp) is taken instead: mean slope of exp, and of the logarithm of the sum, all of them
 * bounded. Both are complete. */
#include "reduce.h"
#include "rows.h"
#include "rule_parts.h"

/* exp of it times the roundoff is what is left of the digits: half of them. */
static const double FAR_F32 = 16, FAR_F64 = 30;

typedef struct softmax_parts {
    asc_tensor *e, *e0, *s, *s0; /* exp of the shifted rows, their sums [.., 1] */
    asc_tensor *slope;           /* mean slope of exp */
    asc_tensor *gone; /* not 0 where both rows have -inf (masks): nothing moves, though x - x0 is NaN */
    asc_tensor *gap;  /* distance of the maxima [.., 1] */
} softmax_parts;

static asc_tensor *where_not(asc_ctx *ctx, asc_tensor *gone, asc_tensor *t) {
    return asc_where(ctx, gone, asc_rule_const(ctx, 0), t);
}

static void parts_of(asc_vjp_args *a, softmax_parts *p) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[0], *x0 = a->in0[0];
    asc_tensor *m = asc_max(ctx, x, -1, true), *m0 = asc_max(ctx, x0, -1, true),
               *top = asc_maximum(ctx, m, m0);
    p->gap = asc_abs(ctx, asc_sub(ctx, m, m0));
    p->e = asc_exp(ctx, asc_sub(ctx, x, top));
    p->e0 = asc_exp(ctx, asc_sub(ctx, x0, top));
    p->s = asc_row_sum(ctx, p->e);
    p->s0 = asc_row_sum(ctx, p->e0);
    p->gone = asc_rule_is_zero(ctx, asc_add(ctx, p->e, p->e0));
    p->slope = asc_dl_exp_slope(ctx, where_not(ctx, p->gone, asc_sub(ctx, x, x0)), p->e, p->e0);
}

/* Multipliers of the x_i for log sum exp, given its change: mean slope of the logarithm times that of exp.
 * The sums may underflow; their logarithms do not. */
static asc_tensor *by_log_sum(asc_ctx *ctx, const softmax_parts *p, asc_tensor *rise) {
    asc_tensor *d = asc_sub(ctx, p->s, p->s0), *t = asc_div(ctx, d, asc_add(ctx, p->s, p->s0));
    asc_tensor *close = asc_less(ctx, asc_abs(ctx, t), asc_rule_const(ctx, 0.1));
    asc_tensor *slope = asc_rule_ratio(ctx, rise, d, close, asc_dl_log_slope(ctx, p->s, p->s0));
    return asc_mul(ctx, p->slope, slope);
}

static asc_tensor *row_log_sum(asc_ctx *ctx, asc_tensor *x) {
    return asc_log_sum_exp(ctx, x, 1, (int[]){-1}, true);
}

/* y = exp(z), z = x - log sum exp x. */
static asc_tensor *softmax_by_logs(asc_vjp_args *a, const softmax_parts *p) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *l = row_log_sum(ctx, a->in[0]), *l0 = row_log_sum(ctx, a->in0[0]),
               *rise = asc_sub(ctx, l, l0);
    asc_tensor *dz = asc_sub(ctx, asc_sub(ctx, a->in[0], a->in0[0]), rise);
    asc_tensor *by_z = asc_mul(ctx, a->g, asc_dl_exp_slope(ctx, where_not(ctx, p->gone, dz), a->y, a->y0));
    return asc_sub(ctx, by_z, asc_mul(ctx, by_log_sum(ctx, p, rise), asc_row_sum(ctx, by_z)));
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
    asc_tensor *far = asc_less(ctx, asc_rule_const(ctx, asc_rules_of(a)->f64 ? FAR_F64 : FAR_F32), p.gap);
    a->gin[0] = asc_where(ctx, far, softmax_by_logs(a, &p), asc_mul(ctx, by_e, p.slope));
}

/* y_j = x_j - log sum exp x */
void asc_dl_log_softmax(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    softmax_parts p;
    parts_of(a, &p);
    asc_tensor *rise = asc_sub(ctx, row_log_sum(ctx, a->in[0]), row_log_sum(ctx, a->in0[0]));
    a->gin[0] = asc_sub(ctx, a->g, asc_mul(ctx, by_log_sum(ctx, &p, rise), asc_row_sum(ctx, a->g)));
}

/* Over any axes. The constant is the larger of the two results, above every entry. */
void asc_dl_log_sum_exp(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    const asc_shape kept = asc_reduce_kept(a->in[0], a->attrs);
    asc_tensor *y = asc_reshape(ctx, a->y, kept), *y0 = asc_reshape(ctx, a->y0, kept);
    asc_tensor *top = asc_maximum(ctx, y, y0);
    softmax_parts p = {.e = asc_exp(ctx, asc_sub(ctx, a->in[0], top)),
                       .e0 = asc_exp(ctx, asc_sub(ctx, a->in0[0], top)),
                       .s = asc_exp(ctx, asc_sub(ctx, y, top)),
                       .s0 = asc_exp(ctx, asc_sub(ctx, y0, top))};
    p.gone = asc_rule_is_zero(ctx, asc_add(ctx, p.e, p.e0));
    asc_tensor *d = where_not(ctx, p.gone, asc_sub(ctx, a->in[0], a->in0[0]));
    p.slope = asc_dl_exp_slope(ctx, d, p.e, p.e0);
    a->gin[0] = asc_mul(ctx, by_log_sum(ctx, &p, asc_sub(ctx, y, y0)), asc_reshape(ctx, a->g, kept));
}
