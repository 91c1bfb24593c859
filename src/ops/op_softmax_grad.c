/* softmax_grad: z = y (g - sum(g y)) over the last axis: the pull-back of g through softmax, whose result is
 * y. y is an input of its own here, so the gradient treats it as free. With cotangent h of z, s = sum(g y), u
 * = sum(h y): <h, z> = sum(h y g) - u s, hence  dg = y (h - u) = softmax_grad(y, h)  and  dy = h g - h s - g
 * u. Edge cases: no division, so finite inputs give finite results. Source: derived from the definition. */
#include "ops.h"
#include "rows.h"

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_rows(ctx, c);
    return st != ASC_OK ? st : asc_infer_like_rows(ctx, c, 1, "g");
}

static void ref_row(const asc_row *r, const asc_attrs *attrs) {
    (void)attrs;
    double s = 0;
    for (int64_t i = 0; i < r->n; i++) s += r->in[1][i * r->step[1]] * r->in[0][i * r->step[0]];
    for (int64_t i = 0; i < r->n; i++)
        r->out[i * r->out_step] = r->in[0][i * r->step[0]] * (r->in[1][i * r->step[1]] - s);
}

static void ref(const asc_ref_args *a) { asc_ref_rows(a, ref_row); }

static asc_tensor *dot(asc_ctx *ctx, asc_tensor *a, asc_tensor *b) {
    return asc_row_sum(ctx, asc_mul(ctx, a, b));
}

static void vjp(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *y = a->in[0], *g = a->in[1], *h = a->g;
    if (a->need[1]) a->gin[1] = asc_softmax_grad(ctx, y, h);
    if (!a->need[0]) return;
    asc_tensor *from_h = asc_mul(ctx, h, asc_sub(ctx, g, dot(ctx, g, y)));
    a->gin[0] = asc_sub(ctx, from_h, asc_mul(ctx, g, dot(ctx, h, y)));
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *y = a->in[0], *g = a->in[1], *ty = a->tin[0], *t = NULL;
    if (ty != NULL) {
        asc_tensor *first = asc_mul(ctx, ty, asc_sub(ctx, g, dot(ctx, g, y)));
        t = asc_sub(ctx, first, asc_mul(ctx, y, dot(ctx, g, ty)));
    }
    return a->tin[1] == NULL ? t : asc_add_or(ctx, t, asc_softmax_grad(ctx, y, a->tin[1]));
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs;
    (void)n_in;
    return asc_mul(ctx, in[0], asc_sub(ctx, in[1], dot(ctx, in[1], in[0])));
}

static void cost(const asc_call *c, asc_cost *out) { asc_cost_rows(c, 4, out); }

static bool sample(int i, asc_sample *out) {
    static const asc_shape shapes[] = {{2, {3, 5}}, {1, {1}}, {3, {2, 1, 7}}};
    if (i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    *out = (asc_sample){.n_in = 2, .in_shape = {shapes[i], shapes[i]}, .lo = {0, -2}, .hi = {1, 2}};
    return true;
}

asc_tensor *asc_softmax_grad(asc_ctx *ctx, asc_tensor *y, asc_tensor *g) {
    return asc_apply(ctx, &asc_op_softmax_grad, &(asc_attrs){0}, (asc_tensor *[]){y, g}, 2);
}

const asc_op asc_op_softmax_grad = {
    ASC_OP_FIELDS(SOFTMAX_GRAD, softmax_grad, 2, 2),
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_1,
    .doc = "Gradient of softmax: pulls g back through rows of probabilities y.",
    .formula = "z_i = y_i (g_i - sum_j g_j y_j)",
};
