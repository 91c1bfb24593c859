/* rms_norm_grad: z = r (u - n mean(n u)), u = g w, n = a r, r = 1 / sqrt(mean(a^2) + eps): d/da of rms_norm
 * pulled back along g. Gradient, cotangent h: z is linear in u with a symmetric matrix, so du = r (h - n
 * mean(n h)), dg = w du and dw = sum over rows of g du; the derivative by a is asc_norm_second (norm.h). The
 * same two expressions give forward mode. Edge cases: as rms_norm; the result is never -0, so that
 * zero rows of g give +0. Source: derived from the definition. */
#include <math.h>

#include "norm.h"
#include "ops.h"
#include "rows.h"

static void ref_row(const asc_row *r, const asc_attrs *attrs) {
    const double *a = r->in[0], *w = r->in[1], *g = r->in[2];
    double squares = 0, along = 0;
    for (int64_t i = 0; i < r->n; i++) {
        const double x = a[i * r->step[0]];
        squares += x * x;
        along += x * g[i * r->step[2]] * w[i * r->step[1]];
    }
    const double n = (double)r->n, rstd = 1 / sqrt(squares / n + attrs->f[0]), mean = along * rstd / n;
    for (int64_t i = 0; i < r->n; i++)
        r->out[i * r->out_step] =
            rstd * (g[i * r->step[2]] * w[i * r->step[1]] - a[i * r->step[0]] * rstd * mean) + 0.0;
}

static void ref(const asc_ref_args *a) { asc_ref_rows(a, ref_row); }

/* <h, z> differentiated by a. */
static asc_tensor *second(asc_ctx *ctx, asc_tensor *a, asc_tensor *w, asc_tensor *g, asc_tensor *h,
                          double eps) {
    return asc_norm_second(ctx, a, asc_norm_rstd(ctx, a, eps), asc_mul(ctx, g, w), h);
}

static const asc_norm_grad_ops ops = {asc_rms_norm_grad, second};
static void vjp(asc_vjp_args *a) { asc_norm_grad_vjp(a, &ops); }
static asc_tensor *jvp(asc_jvp_args *a) { return asc_norm_grad_jvp(a, &ops); }

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    asc_tensor *r = asc_norm_rstd(ctx, in[0], attrs->f[0]);
    return asc_norm_first(ctx, in[0], r, asc_mul(ctx, in[2], in[1]));
}

static void cost(const asc_call *c, asc_cost *out) { asc_cost_rows(c, 10, out); }

asc_tensor *asc_rms_norm_grad(asc_ctx *ctx, asc_tensor *a, asc_tensor *weight, asc_tensor *g, double eps) {
    return asc_apply(ctx, &asc_op_rms_norm_grad, &(asc_attrs){.f = {eps}}, (asc_tensor *[]){a, weight, g}, 3);
}

static const asc_attr_def attr_defs[] = {{"eps", ASC_ATTR_FLOAT, 0}};

const asc_op asc_op_rms_norm_grad = {
    ASC_OP_FIELDS_OF(RMS_NORM_GRAD, rms_norm_grad, 3, 3, asc_norm_grad_infer, asc_norm_grad_sample),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_1 | ASC_OP_LINEAR_2,
    .doc = "Gradient of rms_norm by its input.",
    .formula = "z = r (g w - a r mean(a r g w)), r = 1 / sqrt(mean(a^2) + eps)",
};
