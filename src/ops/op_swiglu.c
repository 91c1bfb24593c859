/* op_swiglu.c - y = silu(gate) up, the gated linear unit of most decoders; same shapes, no broadcasting.
 * Gradient: by swiglu_grad, which computes both parts at once. -inf in gate gives 0 times up. */
#include "pointwise.h"

#define EXPR (a < -800 ? 0.0 : a / (1.0 + exp(-a))) * b
ASC_BINARY_REF

asc_tensor *asc_swiglu(asc_ctx *ctx, asc_tensor *gate, asc_tensor *up) {
    return asc_apply(ctx, &asc_op_swiglu, &(asc_attrs){.i = {0}}, (asc_tensor *[]){gate, up}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    if (!asc_shape_eq(&c->in_shape[0], &c->in_shape[1]))
        return asc_infer_fail(ctx, c, "gate and up differ in shape");
    return asc_infer_float(ctx, c);
}

static void vjp(asc_vjp_args *a) {
    asc_shape shape = asc_tensor_shape(a->in[0]);
    if (shape.rank == ASC_MAX_RANK) { /* no room for the axis that packs both parts */
        asc_tensor *slope = asc_mul(a->ctx, asc_silu_slope(a->ctx, a->in[0]), a->in[1]);
        if (a->need[0]) a->gin[0] = asc_mul(a->ctx, a->g, slope);
        if (a->need[1]) a->gin[1] = asc_mul(a->ctx, a->g, asc_silu(a->ctx, a->in[0]));
        return;
    }
    asc_tensor *both = asc_swiglu_grad(a->ctx, a->in[0], a->in[1], a->g);
    for (int k = 0; k < 2; k++)
        if (a->need[k]) a->gin[k] = asc_reshape(a->ctx, asc_slice(a->ctx, both, 0, k, 1), shape);
}

static asc_tensor *jvp(asc_jvp_args *a) { /* tg up silu'(gate) + silu(gate) tu */
    asc_tensor *t = NULL;
    if (a->tin[0] != NULL)
        t = asc_mul(a->ctx, asc_mul(a->ctx, a->tin[0], a->in[1]), asc_silu_slope(a->ctx, a->in[0]));
    if (a->tin[1] != NULL) t = asc_add_or(a->ctx, t, asc_mul(a->ctx, asc_silu(a->ctx, a->in[0]), a->tin[1]));
    return t;
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    return asc_mul(ctx, asc_silu(ctx, in[0]), in[1]);
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 13;
}

static bool sample(int i, asc_sample *out) {
    const asc_shape shapes[] = {ASC_SCALAR_SHAPE, ASC_SHAPE(7), ASC_SHAPE(3, 5), ASC_SHAPE(2, 67)};
    if (i < 0 || i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    *out = (asc_sample){.n_in = 2, .in_shape = {shapes[i], shapes[i]}, .lo = {-3, -2}, .hi = {3, 2}};
    return true;
}

const asc_op asc_op_swiglu = {
    ASC_OP_FIELDS(SWIGLU, swiglu, 2, 2),
    ASC_OP_RULES,
    .decompose = decompose,
    ASC_POINTWISE_FIELDS,
    .cost = cost,
    .flags = ASC_OP_INPLACE | ASC_OP_LINEAR_1,
    .doc = "Gated linear unit with silu; gate and up have one shape.",
    .formula = "y = silu(gate) up",
};
