/* op_clip.c - y = a cut to lo..hi: max with lo first, then min with hi, so hi wins where lo > hi. Gradient: g
 * where lo < a < hi, else 0, at the ends too: as relu has 0 at 0 (clip(a, 0, inf) is relu, clip(a, 0, 6)
 * relu6) and as torch 2.15 has it. NaN stays NaN (gradient 0). lo = -inf or hi = inf leave that side open. */
#include "pointwise.h"

#define EXPR (a < s0 ? s0 : a) > s1 ? s1 : (a < s0 ? s0 : a)
ASC_UNARY_PARAMS_REF

static const asc_attr_def attr_defs[] = {{"lo", ASC_ATTR_FLOAT, 0}, {"hi", ASC_ATTR_FLOAT, 1}};

asc_tensor *asc_clip(asc_ctx *ctx, asc_tensor *a, double lo, double hi) {
    return asc_apply(ctx, &asc_op_clip, &(asc_attrs){.f = {lo, hi}}, &a, 1);
}

static asc_tensor *chain(asc_ctx *ctx, asc_tensor *x, const asc_attrs *attrs, asc_tensor *g) {
    asc_tensor *zero = asc_scalar(ctx, 0), *lo = asc_scalar(ctx, attrs->f[0]);
    asc_tensor *hi = asc_scalar(ctx, attrs->f[1]);
    if (attrs->f[0] > -HUGE_VAL) g = asc_where(ctx, asc_less(ctx, lo, x), g, zero);
    if (attrs->f[1] < HUGE_VAL) g = asc_where(ctx, asc_less(ctx, x, hi), g, zero);
    return g;
}
ASC_UNARY_PARAM_RULES

static bool sample(int i, asc_sample *out) {
    static const double cases[][2] = {{-1, 1}, {-0.5, 1.5}, {-HUGE_VAL, 0.75}, {-1.25, HUGE_VAL}, {-1, 0.5}};
    return asc_sample_unary(i, out, -2, 2, 1e-3) && asc_sample_params(out, cases[i], 2);
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 2;
}

const asc_op asc_op_clip = {
    ASC_UNARY_FIELDS(CLIP, clip),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .cost = cost,
    .flags = ASC_OP_INPLACE,
    .doc = "Values cut to lo..hi; NaN stays NaN; the gradient at the ends is 0.",
    .formula = "y = min(max(a, lo), hi)",
};
