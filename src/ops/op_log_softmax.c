/* log_softmax: y_i = a_i - m - log sum_j exp(a_j - m), m = max_j a_j, over the last axis.
 * Gradient: dy_i/da_j = delta_ij - p_j with p = exp(y), so da = g - p sum(g) and the push-forward of t is t -
 * sum(p t). p is recomputed from y rather than from a: one exp, and exactly the probabilities that y stands
 * for. Edge cases: very unlikely entries keep their value (log of a softmax would give -inf below 1e-308);
 * -inf stays -inf; a row that is all -inf or holds NaN gives NaN. Source: the definition. */
#include <math.h>

#include "ops.h"
#include "rows.h"

static void ref_row(const asc_row *r, const asc_attrs *attrs) {
    (void)attrs;
    double m = r->in[0][0], sum = 0;
    for (int64_t i = 1; i < r->n; i++) m = fmax(m, r->in[0][i * r->step[0]]);
    for (int64_t i = 0; i < r->n; i++) sum += exp(r->in[0][i * r->step[0]] - m);
    const double log_sum = log(sum);
    for (int64_t i = 0; i < r->n; i++) r->out[i * r->out_step] = r->in[0][i * r->step[0]] - m - log_sum;
}

static void ref(const asc_ref_args *a) { asc_ref_rows(a, ref_row); }

static void vjp(asc_vjp_args *a) {
    if (!a->need[0]) return;
    asc_tensor *p = asc_exp(a->ctx, a->y);
    a->gin[0] = asc_sub(a->ctx, a->g, asc_mul(a->ctx, p, asc_row_sum(a->ctx, a->g)));
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_tensor *t = a->tin[0];
    if (t == NULL) return NULL;
    return asc_sub(a->ctx, t, asc_row_sum(a->ctx, asc_mul(a->ctx, asc_exp(a->ctx, a->y), t)));
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs;
    (void)n_in;
    asc_tensor *shifted = asc_sub(ctx, in[0], asc_max(ctx, in[0], -1, true));
    return asc_sub(ctx, shifted, asc_log(ctx, asc_row_sum(ctx, asc_exp(ctx, shifted))));
}

static void cost(const asc_call *c, asc_cost *out) { asc_cost_rows(c, 5, out); }

asc_tensor *asc_log_softmax(asc_ctx *ctx, asc_tensor *a) {
    return asc_apply(ctx, &asc_op_log_softmax, &(asc_attrs){0}, &a, 1);
}

const asc_op asc_op_log_softmax = {
    ASC_OP_FIELDS_OF(LOG_SOFTMAX, log_softmax, 1, 1, asc_infer_rows, asc_sample_scores),
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .doc = "Log-probabilities (nats) from scores along the last axis.",
    .formula = "y_i = a_i - max a - log sum_j exp(a_j - max a)",
};
