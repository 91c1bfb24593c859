/* op_swiglu_grad.c - both gradients of swiglu in one pass over gate x, up u and cotangent g (one shape [..]):
 * y [2,..] = (g u s'(x), g s(x)) with s = silu. Own gradient for a cotangent (p, q):
 *   x: p g u s''(x) + q g s'(x),   u: p g s'(x),   g: p u s'(x) + q s(x).
 * Far to the left s and s' are 0; at x = inf s' is 1. NaN stays NaN. */
#include "pointwise.h"

asc_tensor *asc_swiglu_grad(asc_ctx *ctx, asc_tensor *gate, asc_tensor *up, asc_tensor *g) {
    return asc_apply(ctx, &asc_op_swiglu_grad, &(asc_attrs){.i = {0}}, (asc_tensor *[]){gate, up, g}, 3);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    for (int k = 1; k < 3; k++)
        if (!asc_shape_eq(&c->in_shape[0], &c->in_shape[k]))
            return asc_infer_fail(ctx, c, "gate, up and g differ in shape");
    asc_status st = asc_infer_float(ctx, c);
    if (st != ASC_OK) return st;
    asc_shape one = c->in_shape[0];
    if (one.rank == ASC_MAX_RANK) return asc_infer_fail(ctx, c, "at most %d axes", ASC_MAX_RANK - 1);
    c->shape.rank = one.rank + 1;
    c->shape.dims[0] = 2;
    for (int k = 0; k < one.rank; k++) c->shape.dims[k + 1] = one.dims[k];
    return ASC_OK;
}

static double to_gate(double x, double u, double g) {
    if (x < -800) return 0;
    double e = exp(-fabs(x)), s = x >= 0 ? 1 / (1 + e) : e / (1 + e),
           rest = x >= 0 ? e / (1 + e) : 1 / (1 + e);
    double bend = x > 800 ? 0 : x * rest; /* the product would be inf 0 at inf */
    return g * u * s * (1 + bend);
}

static double to_up(double x, double u, double g) {
    (void)u;
    return x < -800 ? 0 : g * (x / (1 + exp(-x)));
}

static void ref(const asc_ref_args *args) {
    asc_ref_args half = *args;
    half.out.rank = args->out.rank - 1;
    for (int k = 0; k < half.out.rank; k++) {
        half.out.dims[k] = args->out.dims[k + 1];
        half.out.strides[k] = args->out.strides[k + 1];
    }
    asc_ref_ternary(&half, to_gate);
    half.out.data += args->out.strides[0];
    asc_ref_ternary(&half, to_up);
}

/* [2,..] from two parts of one shape. */
static asc_tensor *pack(asc_ctx *ctx, asc_tensor *first, asc_tensor *second, asc_shape shape) {
    asc_tensor *part[2] = {asc_reshape(ctx, first, shape), asc_reshape(ctx, second, shape)};
    return asc_concat(ctx, part, 2, 0);
}

/* [1,..] */
static asc_shape packed_row(const asc_tensor *y) {
    asc_shape row = asc_tensor_shape(y);
    row.dims[0] = 1;
    return row;
}

static void vjp(asc_vjp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[0], *u = a->in[1], *g = a->in[2];
    asc_shape shape = asc_tensor_shape(x);
    asc_tensor *p = asc_reshape(ctx, asc_slice(ctx, a->g, 0, 0, 1), shape);
    asc_tensor *q = asc_reshape(ctx, asc_slice(ctx, a->g, 0, 1, 1), shape);
    asc_tensor *slope = asc_silu_slope(ctx, x);
    if (a->need[0]) {
        asc_tensor *curved = asc_mul(ctx, asc_mul(ctx, p, u), asc_silu_curve(ctx, x));
        a->gin[0] = asc_mul(ctx, g, asc_add(ctx, curved, asc_mul(ctx, q, slope)));
    }
    if (a->need[1]) a->gin[1] = asc_mul(ctx, asc_mul(ctx, p, g), slope);
    if (a->need[2])
        a->gin[2] = asc_add(ctx, asc_mul(ctx, asc_mul(ctx, p, u), slope), asc_mul(ctx, q, asc_silu(ctx, x)));
}

static asc_tensor *jvp(asc_jvp_args *a) {
    asc_ctx *ctx = a->ctx;
    asc_tensor *x = a->in[0], *u = a->in[1], *g = a->in[2], *tx = a->tin[0], *tu = a->tin[1], *tg = a->tin[2];
    if (tx == NULL && tu == NULL && tg == NULL) return NULL;
    asc_tensor *slope = asc_silu_slope(ctx, x), *first = NULL, *second = NULL;
    if (tx != NULL) {
        first = asc_mul(ctx, asc_mul(ctx, asc_mul(ctx, g, u), tx), asc_silu_curve(ctx, x));
        second = asc_mul(ctx, asc_mul(ctx, g, tx), slope);
    }
    if (tu != NULL) first = asc_add_or(ctx, first, asc_mul(ctx, asc_mul(ctx, g, tu), slope));
    if (tg != NULL) {
        first = asc_add_or(ctx, first, asc_mul(ctx, asc_mul(ctx, tg, u), slope));
        second = asc_add_or(ctx, second, asc_mul(ctx, tg, asc_silu(ctx, x)));
    }
    if (second == NULL) second = asc_full(ctx, asc_tensor_shape(x), 0);
    return pack(ctx, first, second, packed_row(a->y));
}

static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)attrs, (void)n_in;
    asc_shape shape = asc_tensor_shape(in[0]), row = {.rank = shape.rank + 1, .dims = {1}};
    for (int k = 0; k < shape.rank; k++) row.dims[k + 1] = shape.dims[k];
    asc_tensor *first = asc_mul(ctx, asc_mul(ctx, in[2], in[1]), asc_silu_slope(ctx, in[0]));
    return pack(ctx, first, asc_mul(ctx, in[2], asc_silu(ctx, in[0])), row);
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_pointwise(c, out);
    out->flops *= 10;
}

static bool sample(int i, asc_sample *out) {
    const asc_shape shapes[] = {ASC_SCALAR_SHAPE, ASC_SHAPE(7), ASC_SHAPE(3, 5), ASC_SHAPE(2, 67)};
    if (i < 0 || i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    *out = (asc_sample){.n_in = 3, .lo = {-3, -2, -1}, .hi = {3, 2, 1}};
    for (int k = 0; k < 3; k++) {
        out->in_dtype[k] = ASC_DTYPE_F32;
        out->in_shape[k] = shapes[i];
    }
    return true;
}

const asc_op asc_op_swiglu_grad = {
    ASC_OP_FIELDS(SWIGLU_GRAD, swiglu_grad, 3, 3),
    ASC_OP_RULES,
    .decompose = decompose,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_LINEAR_2,
    .doc = "Gradients of swiglu for gate and up, packed along a new first axis.",
    .formula = "y[0] = g up silu'(gate), y[1] = g silu(gate)",
};
