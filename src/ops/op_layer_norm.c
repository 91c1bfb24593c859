/* layer_norm: y = n w + b, n = c r, c = a - mean(a), r = 1 / sqrt(mean(c^2) + eps), over the last axis; w and
 * b [D]. Gradient: with u = g w, da = r (u - mean(u) - n mean(n u)), the op layer_norm_grad; dw = sum over
 * rows of g n; db = sum over rows of g. Forward mode: the matrix u -> da is symmetric, so the push-forward of
 * t is w times layer_norm_grad of t with weights of one. Edge cases: a constant row gives b (c = 0); rows of
 * one element always do. The variance is that of the centred values (two passes), so a large common offset
 * costs no digits beyond those of a - mean(a). Source: Ba, Kiros and Hinton 2016, "Layer Normalization"
 * (biased variance). */
#include <math.h>

#include "norm.h"
#include "ops.h"
#include "rows.h"

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_rows(ctx, c);
    if (st == ASC_OK) st = asc_infer_per_column(ctx, c, 1, "the weight");
    return st != ASC_OK ? st : asc_infer_per_column(ctx, c, 2, "the bias");
}

static void ref_row(const asc_row *r, const asc_attrs *attrs) {
    const double *a = r->in[0], n = (double)r->n;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < r->n; i++) sum += a[i * r->step[0]];
    const double mean = sum / n;
    for (int64_t i = 0; i < r->n; i++) {
        const double c = a[i * r->step[0]] - mean;
        squares += c * c;
    }
    const double rstd = 1 / sqrt(squares / n + attrs->f[0]);
    for (int64_t i = 0; i < r->n; i++)
        r->out[i * r->out_step] =
            (a[i * r->step[0]] - mean) * rstd * r->in[1][i * r->step[1]] + r->in[2][i * r->step[2]];
}

static void ref(const asc_ref_args *a) { asc_ref_rows(a, ref_row); }

/* The rows before weight and bias. */
static asc_tensor *normal(asc_ctx *ctx, asc_tensor *a, asc_tensor *weight, double eps) {
    return asc_layer_norm(ctx, a, weight, asc_norm_fill(ctx, a, 0), eps);
}

static void vjp(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    const double eps = a->attrs->f[0];
    if (a->need[0]) a->gin[0] = asc_layer_norm_grad(ctx, a->in[0], a->in[1], a->g, eps);
    if (a->need[1]) {
        asc_tensor *n = normal(ctx, a->in[0], asc_norm_fill(ctx, a->in[0], 1), eps);
        a->gin[1] = asc_column_sum(ctx, asc_mul(ctx, a->g, n));
    }
    if (a->need[2]) a->gin[2] = asc_column_sum(ctx, a->g);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_ctx *ctx = a->ctx;
    const double eps = a->attrs->f[0];
    asc_tensor *t = NULL;
    if (a->tin[0] != NULL) {
        asc_tensor *tn = asc_layer_norm_grad(ctx, a->in[0], asc_norm_fill(ctx, a->in[0], 1), a->tin[0], eps);
        t = asc_mul(ctx, tn, a->in[1]);
    }
    if (a->tin[1] != NULL) t = asc_add_or(ctx, t, normal(ctx, a->in[0], a->tin[1], eps));
    if (a->tin[2] != NULL) t = asc_add_or(ctx, t, asc_broadcast(ctx, a->tin[2], a->y->shape));
    return t;
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    asc_tensor *c = asc_norm_centred(ctx, in[0]);
    asc_tensor *n = asc_mul(ctx, c, asc_norm_rstd(ctx, c, attrs->f[0]));
    return asc_add(ctx, asc_mul(ctx, n, in[1]), in[2]);
}

static void cost(const asc_call *c, asc_cost *out) { asc_cost_rows(c, 8, out); }

static bool sample(int i, asc_sample *out) {
    if (!asc_norm_sample(i, out)) return false;
    out->in_shape[out->n_in] = out->in_shape[1];
    out->lo[out->n_in] = -1;
    out->hi[out->n_in++] = 1;
    return true;
}

asc_tensor *asc_layer_norm(asc_ctx *ctx, asc_tensor *a, asc_tensor *weight, asc_tensor *bias, double eps) {
    return asc_apply(ctx, &asc_op_layer_norm, &(asc_attrs){.f = {eps}}, (asc_tensor *[]){a, weight, bias}, 3);
}

static const asc_attr_def attr_defs[] = {{"eps", ASC_ATTR_FLOAT, 0}};

const asc_op asc_op_layer_norm = {
    ASC_OP_FIELDS(LAYER_NORM, layer_norm, 3, 3),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .doc = "Rows shifted to mean 0 and scaled to variance 1, then weighted and shifted by column.",
    .formula = "y = (a - mean a) w / sqrt(var a + eps) + b",
};
