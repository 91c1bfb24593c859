/* layer_norm_grad: z = r (u - mean(u) - n mean(n u)), u = g w, n = c r, c = a - mean(a), r = 1 /
 * sqrt(mean(c^2) + eps): d/da of layer_norm pulled back along g. Gradient, cotangent h: z is linear in u with
 * a symmetric matrix, so du = layer_norm_grad(a, 1, h), dg = w du and dw = sum over rows of g du. By a: both
 * u and h enter through their centred parts only, and z is then what rms_norm_grad is of c; asc_norm_second
 * (norm.h) of centred arguments is itself centred, so dc = da. Edge cases: as layer_norm. Source: derived
 * from the definition. */
#include <math.h>

#include "norm.h"
#include "ops.h"
#include "rows.h"

static void ref_row(const asc_row *r, const asc_attrs *attrs) {
    const double *a = r->in[0], *w = r->in[1], *g = r->in[2], n = (double)r->n;
    double sum_a = 0, sum_u = 0, squares = 0, along = 0;
    for (int64_t i = 0; i < r->n; i++) {
        sum_a += a[i * r->step[0]];
        sum_u += g[i * r->step[2]] * w[i * r->step[1]];
    }
    const double mean_a = sum_a / n, mean_u = sum_u / n;
    for (int64_t i = 0; i < r->n; i++) {
        const double c = a[i * r->step[0]] - mean_a;
        squares += c * c;
        along += c * (g[i * r->step[2]] * w[i * r->step[1]] - mean_u);
    }
    const double rstd = 1 / sqrt(squares / n + attrs->f[0]), mean_nu = along * rstd / n;
    for (int64_t i = 0; i < r->n; i++) {
        const double u = g[i * r->step[2]] * w[i * r->step[1]] - mean_u;
        r->out[i * r->out_step] = rstd * (u - (a[i * r->step[0]] - mean_a) * rstd * mean_nu) + 0.0;
    }
}

static void ref(const asc_ref_args *a) { asc_ref_rows(a, ref_row); }

/* <h, z> differentiated by a. */
static asc_tensor *second(asc_ctx *ctx, asc_tensor *a, asc_tensor *w, asc_tensor *g, asc_tensor *h,
                          double eps) {
    asc_tensor *c = asc_norm_centred(ctx, a), *u = asc_norm_centred(ctx, asc_mul(ctx, g, w));
    return asc_norm_second(ctx, c, asc_norm_rstd(ctx, c, eps), u, asc_norm_centred(ctx, h));
}

static const asc_norm_grad_ops ops = {asc_layer_norm_grad, second};
static void vjp(asc_vjp_args *a) { asc_norm_grad_vjp(a, &ops); }
static asc_tensor *jvp(asc_jvp_args *a) { return asc_norm_grad_jvp(a, &ops); }

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    asc_tensor *c = asc_norm_centred(ctx, in[0]);
    asc_tensor *u = asc_norm_centred(ctx, asc_mul(ctx, in[2], in[1]));
    return asc_norm_first(ctx, c, asc_norm_rstd(ctx, c, attrs->f[0]), u);
}

static void cost(const asc_call *c, asc_cost *out) { asc_cost_rows(c, 14, out); }

asc_tensor *asc_layer_norm_grad(asc_ctx *ctx, asc_tensor *a, asc_tensor *weight, asc_tensor *g, double eps) {
    return asc_apply(ctx, &asc_op_layer_norm_grad, &(asc_attrs){.f = {eps}}, (asc_tensor *[]){a, weight, g},
                     3);
}

static const asc_attr_def attr_defs[] = {{"eps", ASC_ATTR_FLOAT, 0}};

const asc_op asc_op_layer_norm_grad = {
    ASC_OP_FIELDS_OF(LAYER_NORM_GRAD, layer_norm_grad, 3, 3, asc_norm_grad_infer, asc_norm_grad_sample),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_1 | ASC_OP_LINEAR_2,
    .doc = "Gradient of layer_norm by its input.",
    .formula = "z = r (g w - mean(g w) - n mean(n g w)), n = (a - mean a) r, r = 1 / sqrt(var a + eps)",
};
