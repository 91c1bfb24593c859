/* softmax: y_i = exp(a_i - m) / sum_j exp(a_j - m), m = max_j a_j, over the last axis.
 * Gradient: dy_i/da_j = y_i (delta_ij - y_j), a symmetric matrix, so the pull-back of g and the push-forward
 * of t are the same expression, y (x - sum(x y)), which is the op softmax_grad. Edge cases: subtracting the
 * maximum keeps exp in range for any finite row, +-1e30 included; -inf entries get 0; a row that is all -inf,
 * or holds +inf or NaN, gives NaN, as 0/0 should. An empty row stays empty. Source: the definition; the shift
 * by m changes nothing because it cancels. */
#include <math.h>

#include "ops.h"
#include "rows.h"

static void ref_row(const asc_row *r, const asc_attrs *attrs) {
    (void)attrs;
    double m = r->in[0][0], sum = 0;
    for (int64_t i = 1; i < r->n; i++) m = fmax(m, r->in[0][i * r->step[0]]);
    for (int64_t i = 0; i < r->n; i++) {
        const double e = exp(r->in[0][i * r->step[0]] - m);
        r->out[i * r->out_step] = e;
        sum += e;
    }
    for (int64_t i = 0; i < r->n; i++) r->out[i * r->out_step] /= sum;
}

static void ref(const asc_ref_args *a) { asc_ref_rows(a, ref_row); }

static void vjp(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = asc_softmax_grad(a->ctx, a->y, a->g);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_softmax_grad(a->ctx, a->y, a->tin[0]);
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs;
    (void)n_in;
    asc_tensor *e = asc_exp(ctx, asc_sub(ctx, in[0], asc_max(ctx, in[0], -1, true)));
    return asc_div(ctx, e, asc_row_sum(ctx, e));
}

static void cost(const asc_call *c, asc_cost *out) { asc_cost_rows(c, 5, out); }

asc_tensor *asc_softmax(asc_ctx *ctx, asc_tensor *a) {
    return asc_apply(ctx, &asc_op_softmax, &(asc_attrs){0}, &a, 1);
}

const asc_op asc_op_softmax = {
    ASC_OP_FIELDS_OF(SOFTMAX, softmax, 1, 1, asc_infer_rows, asc_sample_scores),
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .doc = "Probabilities from scores along the last axis.",
    .formula = "y_i = exp(a_i - max a) / sum_j exp(a_j - max a)",
};
