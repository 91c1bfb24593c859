/* op_prod.c - y = product of a along one axis; 1 for an axis of length 0. Gradient: g times the product of
 * the others, right with one zero or several, since nothing is divided: it is the gradient of the
 * decomposition, a tree of products of halves. Multiplied in order of the axis. */
#include "move.h"

static const asc_attr_def attr_defs[] = {{"axis", ASC_ATTR_INT, 0}, {"keep", ASC_ATTR_BOOL, 1}};

asc_tensor *asc_prod(asc_ctx *ctx, asc_tensor *a, int axis, bool keep) {
    return asc_apply(ctx, &asc_op_prod, &(asc_attrs){.i = {asc_axis_from_front(a, axis), keep}}, &a, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    const int64_t axis = c->attrs->i[0];
    if (axis < 0 || axis >= c->in_shape[0].rank)
        return asc_infer_fail(ctx, c, "no axis %lld in rank %d", (long long)axis, c->in_shape[0].rank);
    asc_call full = *c; /* the rule of max, but for an empty axis */
    if (full.in_shape[0].dims[axis] == 0) full.in_shape[0].dims[axis] = 1;
    asc_status st = asc_infer_axis(ctx, &full, axis, c->attrs->i[1] != 0, ASC_DTYPE_F32);
    c->dtype = full.dtype;
    c->shape = full.shape;
    return st;
}

static double product(const double *x, int64_t stride, int64_t n) {
    double y = 1;
    for (int64_t i = 0; i < n; i++) y *= x[i * stride];
    return y;
}

static void ref(const asc_ref_args *a) {
    if (asc_nd_elems(&a->in[0]) != 0)
        asc_ref_axis(a, (int)a->attrs->i[0], a->attrs->i[1] != 0, product);
    else
        asc_nd_fill(&a->out, 1);
}

/* Halves multiplied with each other until one is left; an odd one waits beside. */
static asc_tensor *decompose(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *const *in, int n_in) {
    (void)n_in;
    const int axis = (int)attrs->i[0];
    asc_tensor *x = in[0], *rest = NULL;
    asc_shape shape = asc_tensor_shape(x), kept = shape;
    kept.dims[axis] = 1;
    int64_t n = shape.dims[axis];
    for (; n > 1; n /= 2) {
        if (n % 2 != 0) {
            asc_tensor *one = asc_slice(ctx, x, axis, n - 1, 1);
            rest = rest == NULL ? one : asc_mul(ctx, rest, one);
        }
        x = asc_mul(ctx, asc_slice(ctx, x, axis, 0, n / 2), asc_slice(ctx, x, axis, n / 2, n / 2));
    }
    if (n == 0) x = asc_full(ctx, kept, 1);
    if (rest != NULL) x = asc_mul(ctx, x, rest);
    if (attrs->i[1] != 0) return asc_reshape(ctx, x, kept);
    for (int k = axis; k + 1 < kept.rank; k++) kept.dims[k] = kept.dims[k + 1];
    kept.dims[--kept.rank] = 0;
    return asc_reshape(ctx, x, kept);
}

/* The vector of partial derivatives times the tangent: the gradient with cotangent 1. */
static asc_tensor *jvp(asc_jvp_args *a) {
    if (a->tin[0] == NULL) return NULL;
    int axis = (int)a->attrs->i[0];
    asc_vjp_args v = {.ctx = a->ctx, .y = a->y, .in = a->in, .attrs = a->attrs, .n_in = 1, .need = {true}};
    v.g = asc_full(a->ctx, asc_tensor_shape(a->y), 1);
    asc_vjp_decomposed(&v);
    return asc_sum(a->ctx, asc_mul(a->ctx, v.gin[0], a->tin[0]), 1, &axis, a->attrs->i[1] != 0);
}

static bool sample(int i, asc_sample *out) {
    if (i == 5) {
        *out = (asc_sample){.n_in = 1, .in_dtype = {ASC_DTYPE_F32}, .in_shape = {ASC_SHAPE(2, 0)}, .hi = {1}};
        out->attrs.i[0] = 1;
        return true;
    }
    return asc_sample_axis(i, out);
}

const asc_op asc_op_prod = {
    ASC_OP_FIELDS(PROD, prod, 1, 1),
    ASC_OP_ATTRS,
    .vjp = asc_vjp_decomposed,
    .jvp = jvp,
    .decompose = decompose,
    .fuse = ASC_FUSE_REDUCE,
    .cost = asc_cost_reduce,
    .doc = "Product along an axis; 1 for an empty one.",
    .formula = "y = product along axis of a",
};
