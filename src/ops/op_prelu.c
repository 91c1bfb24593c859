/* op_prelu.c - y = a for a > 0, else slope a; the slope is a tensor that broadcasts (one number, one a
 * channel). Gradient: to a g where a > 0, else slope g; to the slope g a where a <= 0, else 0. */
#include "pointwise.h"

#define EXPR a > 0 ? a : b *a
ASC_BINARY_REF
ASC_BINARY_SAMPLES(-2, 2, 1e-3)

asc_tensor *asc_prelu(asc_ctx *ctx, asc_tensor *a, asc_tensor *slope) {
    return asc_apply(ctx, &asc_op_prelu, &(asc_attrs){.i = {0}}, (asc_tensor *[]){a, slope}, 2);
}

/* t times dy/da, and t times dy/dslope. */
static asc_tensor *by_input(asc_ctx *ctx, asc_tensor *x, asc_tensor *slope, asc_tensor *t) {
    return asc_where(ctx, asc_less_equal(ctx, x, asc_scalar(ctx, 0)), asc_mul(ctx, slope, t), t);
}
static asc_tensor *by_slope(asc_ctx *ctx, asc_tensor *x, asc_tensor *t) {
    return asc_mul(ctx, t, asc_minimum(ctx, x, asc_scalar(ctx, 0)));
}

static void vjp(asc_vjp_args *a) {
    asc_tensor *x = a->in[0], *slope = a->in[1];
    if (a->need[0]) a->gin[0] = asc_unbroadcast(a->ctx, by_input(a->ctx, x, slope, a->g), x);
    if (a->need[1]) a->gin[1] = asc_unbroadcast(a->ctx, by_slope(a->ctx, x, a->g), slope);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[0], *slope = a->in[1], *t = NULL;
    if (a->tin[0] != NULL) t = asc_tangent_like(ctx, by_input(ctx, x, slope, a->tin[0]), a->y);
    if (a->tin[1] != NULL) t = asc_add_or(ctx, t, asc_tangent_like(ctx, by_slope(ctx, x, a->tin[1]), a->y));
    return t;
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    asc_tensor *left = asc_less_equal(ctx, in[0], asc_scalar(ctx, 0));
    return asc_where(ctx, left, asc_mul(ctx, in[1], in[0]), in[0]);
}

const asc_op asc_op_prelu = {
    ASC_BINARY_FIELDS(PRELU, prelu),
    ASC_OP_RULES,
    .decompose = decompose,
    .flags = ASC_OP_INPLACE,
    .doc = "Positive part plus a slope times the negative part, with broadcasting; at 0 the slope counts.",
    .formula = "y = a > 0 ? a : slope a",
};
