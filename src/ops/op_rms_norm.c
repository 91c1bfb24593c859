/* rms_norm: y = a r w, r = 1 / sqrt(mean(a^2) + eps), over the last axis; w [D] scales the columns.
 * Gradient: with u = g w and n = a r, dr/da = -r^3 a / D gives da = r (u - n mean(n u)), the op
 * rms_norm_grad; dw = sum over rows of g n. Forward mode: the matrix du -> da is symmetric, so the
 * push-forward of t is w r (t - n mean(n t)), that is w times rms_norm_grad with weights of one. Edge cases:
 * an all-zero row gives 0 (r = eps^-1/2); eps = 0 with such a row gives NaN. Source: Zhang and Sennrich 2019,
 * "Root Mean Square Layer Normalization", with eps inside the root as language models have it. */
#include <math.h>

#include "norm.h"
#include "ops.h"
#include "rows.h"

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_rows(ctx, c);
    return st != ASC_OK ? st : asc_infer_per_column(ctx, c, 1, "the weight");
}

static void ref_row(const asc_row *r, const asc_attrs *attrs) {
    double sum = 0;
    for (int64_t i = 0; i < r->n; i++) sum += r->in[0][i * r->step[0]] * r->in[0][i * r->step[0]];
    const double rstd = 1 / sqrt(sum / (double)r->n + attrs->f[0]);
    for (int64_t i = 0; i < r->n; i++)
        r->out[i * r->out_step] = r->in[0][i * r->step[0]] * rstd * r->in[1][i * r->step[1]];
}

static void ref(const asc_ref_args *a) { asc_ref_rows(a, ref_row); }

static void vjp(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    const double eps = a->attrs->f[0];
    if (a->need[0]) a->gin[0] = asc_rms_norm_grad(ctx, a->in[0], a->in[1], a->g, eps);
    if (!a->need[1]) return;
    asc_tensor *n = asc_rms_norm(ctx, a->in[0], asc_norm_fill(ctx, a->in[0], 1), eps);
    a->gin[1] = asc_column_sum(ctx, asc_mul(ctx, a->g, n));
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_ctx *ctx = a->ctx;
    const double eps = a->attrs->f[0];
    asc_tensor *t = NULL;
    if (a->tin[0] != NULL) {
        asc_tensor *tn = asc_rms_norm_grad(ctx, a->in[0], asc_norm_fill(ctx, a->in[0], 1), a->tin[0], eps);
        t = asc_mul(ctx, tn, a->in[1]);
    }
    return a->tin[1] == NULL ? t : asc_add_or(ctx, t, asc_rms_norm(ctx, a->in[0], a->tin[1], eps));
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    return asc_mul(ctx, asc_mul(ctx, in[0], asc_norm_rstd(ctx, in[0], attrs->f[0])), in[1]);
}

static void cost(const asc_call *c, asc_cost *out) { asc_cost_rows(c, 4, out); }

asc_tensor *asc_rms_norm(asc_ctx *ctx, asc_tensor *a, asc_tensor *weight, double eps) {
    return asc_apply(ctx, &asc_op_rms_norm, &(asc_attrs){.f = {eps}}, (asc_tensor *[]){a, weight}, 2);
}

static const asc_attr_def attr_defs[] = {{"eps", ASC_ATTR_FLOAT, 0}};

const asc_op asc_op_rms_norm = {
    ASC_OP_FIELDS_OF(RMS_NORM, rms_norm, 2, 2, infer, asc_norm_sample),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_1,
    .doc = "Rows divided by their root mean square, columns scaled by a weight.",
    .formula = "y = a w / sqrt(mean(a^2) + eps)",
};
