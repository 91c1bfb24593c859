/* deep_lift_slopes.c - mean slopes of elementwise ops between two arguments: (f(x) - f(x0)) / (x - x0), the
 * rescale rule (Shrikumar, Greenside and Kundaje 2017, section 3.5.2), and f'(x) where x = x0.
 *
 * As written the quotient loses digits when x and x0 are close: the rounding of f is divided by their
 * distance. So:
 * - exp, log, tanh, sigmoid, sin, cos, sqrt, rsqrt, recip, square: identities in which nothing cancels.
 * - other smooth functions: the quotient where |x - x0| >= tau, below it the mean of f' by three Gauss nodes,
 * which is the same number up to f(7) |x - x0|^6 / 2,016,000. tau = 0.25 in f32 and 0.02 in f64 is where both
 * errors are near the unit roundoff for functions that vary over a unit length, as activations do.
 * - piecewise linear functions: their values are exact, and so is the quotient; f' only where x = x0.
 * - two inputs that move: what each changes, averaged over which of them moves first (for a product, the mean
 * rule).
 * - anything else: the quotient, and f'(x) where |x - x0| <= rel (|x| + |x0|), rel = 1e-6 in f32 and 1e-10 in
 * f64: a kink inside so small an interval changes a sum by no more than rounding does. */
#include "rule_parts.h"

static asc_tensor *times(asc_vjp_args *a, asc_tensor *slope) { return asc_mul(a->ctx, a->g, slope); }

static asc_tensor *difference(asc_vjp_args *a) { return asc_sub(a->ctx, a->in[0], a->in0[0]); }

static asc_tensor *small(asc_ctx *ctx, asc_tensor *d, double bound) {
    return asc_less(ctx, asc_abs(ctx, d), asc_rule_const(ctx, bound));
}

/* g rise / d for input k, and the op's own derivative where `flag` is set. */
static void quotient(asc_vjp_args *a, int k, asc_tensor *rise, asc_tensor *d, asc_tensor *flag) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *own[ASC_MAX_IN];
    if ((a->y->op->flags & ASC_OP_NO_GRAD) != 0) {
        own[k] = asc_rule_const(ctx, 0);
    } else {
        asc_rule_own_at(a, a->in, a->y, a->g, own);
        if (a->st != ASC_OK) return;
    }
    asc_tensor *safe = asc_where(ctx, flag, asc_rule_const(ctx, 1), d);
    asc_tensor *v = asc_mul(ctx, a->g, asc_div(ctx, rise, safe));
    a->gin[k] = asc_where(ctx, flag, own[k], asc_unbroadcast(ctx, v, a->in[k]));
}

/* With only input k moved: from its partner to itself, once before the other input moves and once after. */
static asc_tensor *own_change(asc_vjp_args *a, int k) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *first[ASC_MAX_IN], *last[ASC_MAX_IN];
    for (int i = 0; i < a->n_in; i++) {
        first[i] = a->in0[i];
        last[i] = a->in[i];
    }
    first[k] = a->in[k];
    last[k] = a->in0[k];
    asc_tensor *before = asc_sub(ctx, asc_apply(ctx, a->y->op, a->attrs, first, a->n_in), a->y0);
    asc_tensor *after = asc_sub(ctx, a->y, asc_apply(ctx, a->y->op, a->attrs, last, a->n_in));
    return asc_rule_mean2(ctx, before, after);
}

static asc_tensor *nearly_equal(asc_vjp_args *a, int k, asc_tensor *d) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *size = asc_add(ctx, asc_abs(ctx, a->in[k]), asc_abs(ctx, a->in0[k]));
    return asc_less_equal(ctx, asc_abs(ctx, d), asc_scale(ctx, size, asc_rules_of(a)->f64 ? 1e-10 : 1e-6));
}

/* The inputs that move and can have a cotangent: their number, or -1 where an integer moves as well. */
static int moving_inputs(const asc_vjp_args *a, int which[ASC_MAX_IN]) {
    int n = 0;
    for (int k = 0; k < a->n_in; k++) {
        if (a->moving[k] && !a->need[k]) return -1;
        if (a->need[k]) which[n++] = k;
    }
    return n;
}

/* The input that moves, or -1 with another rule applied. */
static int only_moving(asc_vjp_args *a) {
    int which[ASC_MAX_IN];
    const int n = moving_inputs(a, which);
    if (n == 1) return which[0];
    if (n == 2) {
        asc_dl_secant(a);
    } else {
        asc_rule_general(a);
    }
    return -1;
}

void asc_dl_secant(asc_vjp_args *a) {
    int which[ASC_MAX_IN];
    const int n = moving_inputs(a, which);
    if (n != 1 && n != 2) {
        asc_rule_general(a);
        return;
    }
    for (int i = 0; i < n && a->st == ASC_OK; i++) {
        const int k = which[i];
        asc_tensor *d = asc_sub(a->ctx, a->in[k], a->in0[k]);
        asc_tensor *rise = n == 1 ? asc_sub(a->ctx, a->y, a->y0) : own_change(a, k);
        quotient(a, k, rise, d, nearly_equal(a, k, d));
    }
}

void asc_dl_piecewise(asc_vjp_args *a) {
    const int k = only_moving(a);
    if (k < 0) return;
    asc_tensor *d = asc_sub(a->ctx, a->in[k], a->in0[k]);
    quotient(a, k, asc_sub(a->ctx, a->y, a->y0), d, asc_rule_is_zero(a->ctx, d));
}

void asc_dl_smooth(asc_vjp_args *a) {
    static const double node[3] = {0.11270166537925831, 0.5, 0.88729833462074169};
    static const double weight[3] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
    asc_ctx *ctx = a->ctx;
    if (only_moving(a) < 0) return;
    asc_tensor *d = difference(a), *near = NULL;
    for (int i = 0; i < 3; i++) {
        asc_tensor *gin[ASC_MAX_IN], *at[ASC_MAX_IN] = {0};
        for (int k = 0; k < a->n_in; k++) at[k] = a->in[k];
        at[0] = asc_add(ctx, a->in0[0], asc_scale(ctx, d, node[i]));
        asc_rule_own_at(a, at, asc_apply(ctx, a->y->op, a->attrs, at, a->n_in),
                        asc_scale(ctx, a->g, weight[i]), gin);
        if (a->st != ASC_OK) return;
        near = near == NULL ? gin[0] : asc_add(ctx, near, gin[0]);
    }
    asc_tensor *rise = asc_mul(ctx, a->g, asc_sub(ctx, a->y, a->y0));
    a->gin[0] = asc_rule_ratio(ctx, rise, d, small(ctx, d, asc_rules_of(a)->f64 ? 0.02 : 0.25), near);
}

/* x^2 - x0^2 = (x + x0)(x - x0): the rule of a product as well. */
void asc_dl_square(asc_vjp_args *a) { a->gin[0] = times(a, asc_add(a->ctx, a->in[0], a->in0[0])); }

/* 1/x - 1/x0 = -(x - x0) / (x x0) */
void asc_dl_recip(asc_vjp_args *a) { a->gin[0] = times(a, asc_neg(a->ctx, asc_mul(a->ctx, a->y, a->y0))); }

/* s - s0 = (x - x0) / (s + s0). Where both are 0 nothing moves, and the slope, infinite, is left out. */
void asc_dl_sqrt(asc_vjp_args *a) {
    asc_tensor *sum = asc_add(a->ctx, a->y, a->y0), *zero = asc_rule_const(a->ctx, 0);
    a->gin[0] = asc_rule_ratio(a->ctx, a->g, sum, asc_rule_is_zero(a->ctx, sum), zero);
}

/* r - r0 = -(x - x0) r r0 (r r0 / (r + r0)) */
void asc_dl_rsqrt(asc_vjp_args *a) {
    asc_tensor *p = asc_mul(a->ctx, a->y, a->y0), *q = asc_div(a->ctx, p, asc_add(a->ctx, a->y, a->y0));
    a->gin[0] = times(a, asc_neg(a->ctx, asc_mul(a->ctx, p, q)));
}

/* tanh(d) / d; the series below 1e-4 is exact to 2e-17. */
static asc_tensor *tanh_by(asc_ctx *ctx, asc_tensor *d) {
    asc_tensor *series = asc_shift(ctx, asc_scale(ctx, asc_square(ctx, d), -1.0 / 3), 1);
    return asc_rule_ratio(ctx, asc_tanh(ctx, d), d, small(ctx, d, 1e-4), series);
}

/* e - e0 = (e + e0) tanh((x - x0) / 2) */
asc_tensor *asc_dl_exp_slope(asc_ctx *ctx, asc_tensor *d, asc_tensor *e, asc_tensor *e0) {
    return asc_mul(ctx, asc_rule_mean2(ctx, e, e0), tanh_by(ctx, asc_scale(ctx, d, 0.5)));
}

void asc_dl_exp(asc_vjp_args *a) {
    a->gin[0] = times(a, asc_dl_exp_slope(a->ctx, difference(a), a->y, a->y0));
}

/* tanh x - tanh x0 = tanh(x - x0) (1 - tanh x tanh x0) */
void asc_dl_tanh(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *rest = asc_shift(ctx, asc_neg(ctx, asc_mul(ctx, a->y, a->y0)), 1);
    a->gin[0] = times(a, asc_mul(ctx, tanh_by(ctx, difference(a)), rest));
}

static asc_tensor *one_minus(asc_ctx *ctx, asc_tensor *a) { return asc_shift(ctx, asc_neg(ctx, a), 1); }

/* s - s0 = tanh((x - x0) / 2) (s (1 - s0) + s0 (1 - s)) */
void asc_dl_sigmoid(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *sum =
        asc_add(ctx, asc_mul(ctx, a->y, one_minus(ctx, a->y0)), asc_mul(ctx, a->y0, one_minus(ctx, a->y)));
    asc_tensor *by = tanh_by(ctx, asc_scale(ctx, difference(a), 0.5));
    a->gin[0] = times(a, asc_scale(ctx, asc_mul(ctx, sum, by), 0.5));
}

/* log x - log x0 = 2 atanh t, t = (x - x0) / (x + x0); atanh(t) / t by its series where |t| < 0.1 (nine
 * terms: 1e-19), else by the logarithm of the ratio. */
asc_tensor *asc_dl_log_slope(asc_ctx *ctx, asc_tensor *x, asc_tensor *x0) {
    asc_tensor *d = asc_sub(ctx, x, x0), *sum = asc_add(ctx, x, x0), *t = asc_div(ctx, d, sum);
    asc_tensor *tt = asc_square(ctx, t), *series = asc_rule_const(ctx, 1.0 / 17);
    for (int k = 15; k >= 1; k -= 2) series = asc_shift(ctx, asc_mul(ctx, series, tt), 1.0 / k);
    series = asc_div(ctx, asc_scale(ctx, series, 2), sum);
    return asc_rule_ratio(ctx, asc_log(ctx, asc_div(ctx, x, x0)), d, small(ctx, t, 0.1), series);
}

void asc_dl_log(asc_vjp_args *a) { a->gin[0] = times(a, asc_dl_log_slope(a->ctx, a->in[0], a->in0[0])); }

/* sin(h) / h with h = (x - x0) / 2. */
static asc_tensor *half_sine_by(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *h = asc_scale(ctx, difference(a), 0.5);
    asc_tensor *series = asc_shift(ctx, asc_scale(ctx, asc_square(ctx, h), -1.0 / 6), 1);
    return asc_rule_ratio(ctx, asc_sin(ctx, h), h, small(ctx, h, 1e-4), series);
}

/* sin x - sin x0 = 2 cos((x + x0) / 2) sin((x - x0) / 2) */
void asc_dl_sin(asc_vjp_args *a) {
    asc_tensor *middle = asc_rule_mean2(a->ctx, a->in[0], a->in0[0]);
    a->gin[0] = times(a, asc_mul(a->ctx, asc_cos(a->ctx, middle), half_sine_by(a)));
}

void asc_dl_cos(asc_vjp_args *a) {
    asc_tensor *middle = asc_rule_mean2(a->ctx, a->in[0], a->in0[0]);
    a->gin[0] = times(a, asc_neg(a->ctx, asc_mul(a->ctx, asc_sin(a->ctx, middle), half_sine_by(a))));
}
