/* op_reshape.c - y = the elements of a, in row-major order, in another shape of as many elements. Gradient: g
 * reshaped back. The builder works out one dimension given as -1. */
#include "move.h"
#include <string.h>

static const asc_attr_def attr_defs[] = {{"shape", ASC_ATTR_INTS, 0}};

asc_tensor *asc_reshape(asc_ctx *ctx, asc_tensor *a, asc_shape shape) {
    int open = -1;
    int64_t rest = 1;
    for (int k = 0; k < shape.rank && k < ASC_MAX_RANK; k++) {
        if (shape.dims[k] == -1 && open < 0)
            open = k;
        else if (shape.dims[k] <= 0 || __builtin_mul_overflow(rest, shape.dims[k], &rest))
            rest = 0; /* nothing to divide by: -1 stays and the shape rule rejects it */
        if (rest == 0) break;
    }
    int64_t n = asc_tensor_elems(a);
    if (open >= 0 && rest > 0 && n % rest == 0) shape.dims[open] = n / rest;
    asc_attrs attrs = asc_attrs_of_shape(&shape);
    return asc_apply(ctx, &asc_op_reshape, &attrs, &a, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    char text[128];
    asc_status st = asc_infer_plain(ctx, c, 0);
    if (st != ASC_OK) return st;
    if (!asc_shape_of_attrs(c->attrs, &c->shape))
        return asc_infer_fail(ctx, c,
                              "not a shape, or a dimension of -1 that does not follow from the others");
    if (asc_shape_elems(&c->shape) != asc_shape_elems(&c->in_shape[0]))
        return asc_infer_fail(ctx, c, "%s has another number of elements", asc_shape_text(&c->shape, text));
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    const asc_nd *x = &a->in[0], *y = &a->out;
    int64_t xi[ASC_MAX_RANK] = {0}, yi[ASC_MAX_RANK] = {0}, from = 0, to = 0;
    if (asc_nd_elems(y) == 0) return;
    if (asc_nd_dense(x) && asc_nd_dense(y)) {
        memcpy(y->data, x->data, (size_t)asc_nd_elems(y) * sizeof *y->data);
        return;
    }
    do { /* two walks, each by its own shape */
        y->data[to] = x->data[from];
        asc_nd_next(x->rank, x->dims, xi, 1, &x->strides, &from);
    } while (asc_nd_next(y->rank, y->dims, yi, 1, &y->strides, &to));
}

static void vjp(asc_vjp_args *a) {
    if (a->need[0]) a->gin[0] = asc_reshape(a->ctx, a->g, asc_tensor_shape(a->in[0]));
}

static asc_tensor *jvp(asc_jvp_args *a) {
    return a->tin[0] == NULL ? NULL : asc_reshape(a->ctx, a->tin[0], asc_tensor_shape(a->y));
}

static bool sample(int i, asc_sample *out) {
    static const asc_case cases[] = {
        /* the new shape as a list: its rank, then its dimensions */
        {{.rank = 0}, {.i = {2, 1, 1}}},
        {{.rank = 1, .dims = {7}}, {.i = {3, 1, 7, 1}}},
        {{.rank = 3, .dims = {2, 3, 5}}, {.i = {2, 6, 5}}},
        {{.rank = 2, .dims = {3, 4}}, {.i = {4, 2, 1, 2, 3}}},
        {{.rank = 2, .dims = {1, 1}}, {.i = {0}}},
        {{.rank = 2, .dims = {3, 5}}, {.i = {1, 15}}},
    };
    return asc_sample_moved(i, cases, ASC_N_CASES(cases), out);
}

const asc_op asc_op_reshape = {
    ASC_OP_FIELDS(RESHAPE, reshape, 1, 1),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_VIEW,
    .cost = asc_cost_move,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Same elements in row-major order, another shape; one dimension may be given as -1.",
    .formula = "y = a, reshaped",
};
