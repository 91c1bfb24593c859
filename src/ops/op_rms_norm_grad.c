/* rms_norm_grad: z = r (u - n mean(n u)), u = g w, n = a r, r = 1 / sqrt(mean(a^2) + eps): d/da of rms_norm
 * pulled back along g. Gradient, cotangent h: z is linear in u with a symmetric matrix, so du = r (h - n
 * mean(n h)), dg = w du and dw = sum over rows of g du; the derivative by a is asc_norm_second (norm.h). The
 * same two expressions give forward mode. Edge cases: as rms_norm; the result is never -0, so that
 * zero rows of g give +0. Source: derived from the definition. */
#include <math.h>

#include "norm.h"
#include "ops.h"
#include "rows.h"

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_rows(ctx, c);
    if (st == ASC_OK) st = asc_infer_per_column(ctx, c, 1, "the weight");
    return st != ASC_OK ? st : asc_infer_like_rows(ctx, c, 2, "g");
}

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

static void vjp(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[0], *w = a->in[1], *g = a->in[2], *h = a->g;
    const double eps = a->attrs->f[0];
    if (a->need[0]) a->gin[0] = asc_norm_second(ctx, x, asc_norm_rstd(ctx, x, eps), asc_mul(ctx, g, w), h);
    if (!a->need[1] && !a->need[2]) return;
    asc_tensor *du = asc_rms_norm_grad(ctx, x, asc_norm_fill(ctx, x, 1), h, eps);
    if (a->need[1]) a->gin[1] = asc_column_sum(ctx, asc_mul(ctx, g, du));
    if (a->need[2]) a->gin[2] = asc_mul(ctx, du, w);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[0], *w = a->in[1], *g = a->in[2], *t = NULL;
    const double eps = a->attrs->f[0];
    if (a->tin[0] != NULL)
        t = asc_norm_second(ctx, x, asc_norm_rstd(ctx, x, eps), asc_mul(ctx, g, w), a->tin[0]);
    if (a->tin[1] != NULL) t = asc_add_or(ctx, t, asc_rms_norm_grad(ctx, x, a->tin[1], g, eps));
    if (a->tin[2] != NULL) t = asc_add_or(ctx, t, asc_rms_norm_grad(ctx, x, w, a->tin[2], eps));
    return t;
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    asc_tensor *r = asc_norm_rstd(ctx, in[0], attrs->f[0]);
    return asc_norm_first(ctx, in[0], r, asc_mul(ctx, in[2], in[1]));
}

static void cost(const asc_call *c, asc_cost *out) { asc_cost_rows(c, 10, out); }

static bool sample(int i, asc_sample *out) {
    static const asc_shape shapes[] = {{2, {3, 7}}, {1, {5}}, {3, {2, 1, 4}}, {2, {2, 1}}};
    static const double eps[] = {1e-5, 1e-6, 0.1, 1e-2};
    if (i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    const asc_shape w = {1, {shapes[i].dims[shapes[i].rank - 1]}};
    *out = (asc_sample){.attrs = {.f = {eps[i]}},
                        .n_in = 3,
                        .in_shape = {shapes[i], w, shapes[i]},
                        .lo = {-2, 0.5, -1},
                        .hi = {2, 1.5, 1},
                        .min_gap = 1e-2};
    return true;
}

asc_tensor *asc_rms_norm_grad(asc_ctx *ctx, asc_tensor *a, asc_tensor *weight, asc_tensor *g, double eps) {
    return asc_apply(ctx, &asc_op_rms_norm_grad, &(asc_attrs){.f = {eps}}, (asc_tensor *[]){a, weight, g}, 3);
}

static const asc_attr_def attr_defs[] = {{"eps", ASC_ATTR_FLOAT, 0}};

const asc_op asc_op_rms_norm_grad = {
    .name = "rms_norm_grad",
    .opcode = ASC_OPCODE_RMS_NORM_GRAD,
    .min_in = 3,
    .max_in = 3,
    .attrs = attr_defs,
    .n_attrs = 1,
    .infer = infer,
    .ref = ref,
    .vjp = vjp,
    .jvp = jvp,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .sample = sample,
    .flags = ASC_OP_LINEAR_1 | ASC_OP_LINEAR_2,
    .doc = "Gradient of rms_norm by its input.",
    .formula = "z = r (g w - a r mean(a r g w)), r = 1 / sqrt(mean(a^2) + eps)",
};
