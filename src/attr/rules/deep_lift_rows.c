/* deep_lift_rows.c - ops of whole rows: softmax, log-softmax, log-sum-exp, norms. Each row only meets the
 * same row of the baseline.
 *
 * The first three shift by the larger of both rows' maxima, a constant that changes no result; then exp and
 * sum (and reciprocal and product, or logarithm) by mean slopes. Products with a reciprocal (softmax, norms)
 * have two factors of which one shrinks as the other grows: the mean of both is then huge, and so are scores
 * that cancel. There the orders of change are weighed, not averaged; both ways are complete. */
#include "norm.h"
#include "reduce.h"
#include "rows.h"
#include "rule_parts.h"

typedef struct softmax_parts {
    asc_tensor *e, *e0, *s, *s0; /* exp of the shifted rows, their sums [.., 1] */
    asc_tensor *slope;           /* mean slope of exp */
    asc_tensor *gone; /* not 0 where both rows have -inf (masks): nothing moves, though x - x0 is NaN */
} softmax_parts;

static asc_tensor *where_not(asc_ctx *ctx, asc_tensor *gone, asc_tensor *t) {
    return asc_where(ctx, gone, asc_rule_const(ctx, 0), t);
}

static void parts_of(asc_vjp_args *a, softmax_parts *p) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[0], *x0 = a->in0[0];
    asc_tensor *m = asc_max(ctx, x, -1, true), *m0 = asc_max(ctx, x0, -1, true),
               *top = asc_maximum(ctx, m, m0);
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

/* y = e r with r = 1 / sum e: what e and r change, averaged over which of them moves first, each order by the
 * weight that keeps its terms bounded, s / (s + s0) for e first at r and s0 / (s + s0) for e first at r0. The
 * multiplier of e_k is then (2 g_k - sum_i g_i (y_i + y0_i)) / (s + s0). Equal weights, the rule of other
 * products, would weigh with 1 / s at the row with the smaller maximum, which grows as exp of the distance.
 */
void asc_dl_softmax(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    softmax_parts p;
    parts_of(a, &p);
    asc_tensor *both = asc_row_sum(ctx, asc_mul(ctx, a->g, asc_add(ctx, a->y, a->y0)));
    asc_tensor *by_e = asc_div(ctx, asc_sub(ctx, asc_scale(ctx, a->g, 2), both), asc_add(ctx, p.s, p.s0));
    a->gin[0] = asc_mul(ctx, by_e, p.slope);
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

/* y = c r w (+ b), c = x or x - mean, r = 1 / sqrt(q), q = mean c^2 + eps. With order weights r0 / (r + r0)
 * for c first at r and r / (r + r0) for c first at r0, and n = c r: y - y0 = w (2 r r0 (c - c0) + (n + n0) (r
 * - r0)) / (r + r0),   r - r0 = -(q - q0) (r r0)^2 / (r + r0). */
void asc_dl_norm(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    const bool centred = a->y->op->opcode == ASC_OPCODE_LAYER_NORM;
    if (asc_rule_n_moving(a) != 1 || !a->need[0]) {
        asc_vjp_decomposed_rules(a);
        return;
    }
    asc_tensor *c = centred ? asc_norm_centred(ctx, a->in[0]) : a->in[0],
               *c0 = centred ? asc_norm_centred(ctx, a->in0[0]) : a->in0[0];
    asc_tensor *r = asc_norm_rstd(ctx, c, a->attrs->f[0]), *r0 = asc_norm_rstd(ctx, c0, a->attrs->f[0]);
    asc_tensor *s = asc_div(ctx, asc_mul(ctx, r, r0), asc_add(ctx, r, r0)), *g = asc_mul(ctx, a->g, a->in[1]);
    asc_tensor *both = asc_add(ctx, asc_mul(ctx, c, r), asc_mul(ctx, c0, r0));
    asc_tensor *by_q = asc_mul(ctx, asc_row_mean(ctx, asc_mul(ctx, g, both)), asc_square(ctx, s));
    asc_tensor *m =
        asc_sub(ctx, asc_mul(ctx, g, asc_scale(ctx, s, 2)), asc_mul(ctx, asc_add(ctx, c, c0), by_q));
    a->gin[0] = centred ? asc_sub(ctx, m, asc_row_mean(ctx, m)) : m;
}
