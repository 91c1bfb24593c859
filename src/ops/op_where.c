/* op_where.c - y = a where cond is not 0, else b, with broadcasting over all three. Gradient: g to the chosen
 * input, 0 to the other and to cond. A NaN condition is not 0 and chooses a. The value not chosen never
 * matters, NaN or not. */
#include "pointwise.h"

#define EXPR a != 0 ? b : c

static double value(double a, double b, double c) { return EXPR; }
static void ref(const asc_ref_args *args) { asc_ref_ternary(args, value); }

asc_tensor *asc_where(asc_ctx *ctx, asc_tensor *cond, asc_tensor *a, asc_tensor *b) {
    return asc_apply(ctx, &asc_op_where, &(asc_attrs){.i = {0}}, (asc_tensor *[]){cond, a, b}, 3);
}

static void vjp(asc_vjp_args *a) {
    asc_tensor *cond = a->in[0], *zero = asc_scalar(a->ctx, 0);
    if (a->need[1]) a->gin[1] = asc_unbroadcast(a->ctx, asc_where(a->ctx, cond, a->g, zero), a->in[1]);
    if (a->need[2]) a->gin[2] = asc_unbroadcast(a->ctx, asc_where(a->ctx, cond, zero, a->g), a->in[2]);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_tensor *ta = a->tin[1], *tb = a->tin[2], *zero = asc_scalar(a->ctx, 0);
    if (ta == NULL && tb == NULL) return NULL;
    asc_tensor *t = asc_where(a->ctx, a->in[0], ta != NULL ? ta : zero, tb != NULL ? tb : zero);
    return asc_tangent_like(a->ctx, t, a->y);
}

static bool sample(int i, asc_sample *out) {
    const asc_shape shapes[][3] = {
        {ASC_SCALAR_SHAPE, ASC_SCALAR_SHAPE, ASC_SCALAR_SHAPE},
        {ASC_SHAPE(7), ASC_SHAPE(7), ASC_SHAPE(7)},
        {ASC_SHAPE(3, 1), ASC_SHAPE(1, 5), ASC_SHAPE(2, 1, 1)},
        {ASC_SCALAR_SHAPE, ASC_SHAPE(2, 3), ASC_SHAPE(3)},
        {ASC_SHAPE(2, 67), ASC_SHAPE(2, 67), ASC_SCALAR_SHAPE},
    };
    if (i < 0 || i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    *out = (asc_sample){.n_in = 3, .no_grad = {true}, .lo = {0, -2, -2}, .hi = {1, 2, 2}};
    for (int k = 0; k < 3; k++) out->in_shape[k] = shapes[i][k];
    return true;
}

const asc_op asc_op_where = {
    ASC_OP_FIELDS_OF(WHERE, where, 3, 3, asc_infer_float, sample),
    ASC_OP_RULES,
    ASC_POINTWISE_FIELDS,
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE,
    .doc = "Choice by a condition, with broadcasting; a where cond is not 0.",
    .formula = "y = cond != 0 ? a : b",
};
