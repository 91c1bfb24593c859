/* op_straight_through.c - y = value, while gradients go to `carrier` as if y were it (the straight-through
 * estimator of Bengio et al., 2013): what rounding to a grid needs to have a gradient at all. The derivative
 * is by definition not that of the value; whoever uses the op says so in the result. */
#include "pointwise.h"

#define EXPR a

static double value(double a, double b) {
    (void)b;
    return EXPR;
}
static void ref(const asc_ref_args *args) { asc_ref_binary(args, value); }

asc_tensor *asc_straight_through(asc_ctx *ctx, asc_tensor *v, asc_tensor *carrier) {
    return asc_apply(ctx, &asc_op_straight_through, &(asc_attrs){.i = {0}}, (asc_tensor *[]){v, carrier}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    if (!asc_shape_eq(&c->in_shape[0], &c->in_shape[1]))
        return asc_infer_fail(ctx, c, "value and carrier differ in shape");
    return asc_infer_float(ctx, c);
}

static void vjp(asc_vjp_args *a) {
    if (a->need[1]) a->gin[1] = a->g;
}

static asc_tensor *jvp(asc_jvp_args *a) { return a->tin[1]; }

static bool sample(int i, asc_sample *out) {
    const asc_shape shapes[] = {ASC_SCALAR_SHAPE, ASC_SHAPE(7), ASC_SHAPE(2, 67), ASC_SHAPE(3, 1, 5)};
    if (i < 0 || i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    *out = (asc_sample){
        .n_in = 2, .in_shape = {shapes[i], shapes[i]}, .no_grad = {true, true}, .lo = {-2, -2}, .hi = {2, 2}};
    return true;
}

const asc_op asc_op_straight_through = {
    ASC_OP_FIELDS(STRAIGHT_THROUGH, straight_through, 2, 2),
    ASC_OP_RULES,
    ASC_POINTWISE_FIELDS,
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_INPLACE,
    .doc = "One value forwards, another's gradient backwards: rounding with a straight-through gradient.",
    .formula = "y = value; dy = d carrier",
};
