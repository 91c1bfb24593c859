/* op_atan2.c - the angle of the point (b, a) in radians, -pi to pi, with broadcasting, as the C library's
 * atan2. Gradient: to a g b / (a^2 + b^2), to b -g a / (a^2 + b^2); 0 at the origin. */
#include "pointwise.h"

#define EXPR atan2(a, b)
ASC_BINARY_REF
ASC_BINARY_SAMPLES(0.2, 2, 0)
ASC_BINARY_BUILDER(atan2)

static asc_tensor *over_square(asc_ctx *ctx, asc_tensor *t, asc_tensor *a, asc_tensor *b) {
    asc_tensor *square = asc_add(ctx, asc_square(ctx, a), asc_square(ctx, b));
    asc_tensor *origin = asc_equal(ctx, square, asc_scalar(ctx, 0));
    return asc_div(ctx, t, asc_where(ctx, origin, asc_scalar(ctx, 1), square));
}

static void vjp(asc_vjp_args *v) {
    asc_ctx *ctx = v->ctx;
    asc_tensor *a = v->in[0], *b = v->in[1], *t = over_square(ctx, v->g, a, b);
    if (v->need[0]) v->gin[0] = asc_unbroadcast(ctx, asc_mul(ctx, t, b), a);
    if (v->need[1]) v->gin[1] = asc_unbroadcast(ctx, asc_neg(ctx, asc_mul(ctx, t, a)), b);
}

static asc_tensor *jvp(asc_jvp_args *v) {
    asc_ctx *ctx = v->ctx;
    asc_tensor *a = v->in[0], *b = v->in[1], *t = NULL;
    if (v->tin[0] != NULL) t = asc_mul(ctx, v->tin[0], b);
    if (v->tin[1] != NULL) t = asc_add_or(ctx, t, asc_neg(ctx, asc_mul(ctx, v->tin[1], a)));
    return t == NULL ? NULL : over_square(ctx, t, a, b);
}

const asc_op asc_op_atan2 = {
    ASC_BINARY_FIELDS(ATAN2, atan2),  ASC_OP_RULES,
    .flags = ASC_OP_INPLACE,          .doc = "Angle of the point (b, a) in radians, with broadcasting.",
    .formula = "y = angle of (b, a)",
};
