/* op_cumsum.c - running sums along one axis: y[i] = sum of a[j] for j <= i; exclusive: for j < i; reverse:
 * from the end, for j >= i or j > i. Linear; the transpose is the same sum in the other direction, so
 * gradient: cumsum of g with reverse turned. A NaN or infinity reaches everything behind it. Added one by one
 * in order. */
#include "move.h"

static const asc_attr_def attr_defs[] = {
    {"axis", ASC_ATTR_INT, 0}, {"exclusive", ASC_ATTR_BOOL, 1}, {"reverse", ASC_ATTR_BOOL, 2}};

asc_tensor *asc_cumsum(asc_ctx *ctx, asc_tensor *a, int axis, bool exclusive, bool reverse) {
    asc_attrs attrs = {.i = {asc_axis_from_front(a, axis), exclusive, reverse}};
    return asc_apply(ctx, &asc_op_cumsum, &attrs, &a, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    asc_status st = asc_infer_need_axis(ctx, c, 0, c->attrs->i[0]);
    return st == ASC_OK ? asc_infer_same(ctx, c) : st;
}

static void run(double *y, int64_t y_step, const double *x, int64_t x_step, int64_t n, bool exclusive) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double more = x[i * x_step];
        y[i * y_step] = exclusive ? sum : sum + more;
        sum += more;
    }
}

static void ref(const asc_ref_args *a) {
    const int axis = (int)a->attrs->i[0];
    const bool reverse = a->attrs->i[2] != 0;
    int64_t idx[ASC_MAX_RANK] = {0}, off[2] = {0}, dims[ASC_MAX_RANK], strides[2][ASC_MAX_RANK] = {{0}};
    if (asc_nd_elems(&a->out) == 0) return;
    int64_t n = a->out.dims[axis], y_step = a->out.strides[axis], x_step = a->in[0].strides[axis];
    for (int k = 0; k < a->out.rank; k++) { /* every axis but this one */
        dims[k] = k == axis ? 1 : a->out.dims[k];
        strides[0][k] = a->out.strides[k];
        strides[1][k] = a->in[0].strides[k];
    }
    do {
        double *y = a->out.data + off[0];
        const double *x = a->in[0].data + off[1];
        if (reverse)
            run(y + (n - 1) * y_step, -y_step, x + (n - 1) * x_step, -x_step, n, a->attrs->i[1] != 0);
        else
            run(y, y_step, x, x_step, n, a->attrs->i[1] != 0);
    } while (asc_nd_next(a->out.rank, dims, idx, 2, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

static void vjp(asc_vjp_args *a) {
    const int64_t *i = a->attrs->i;
    if (a->need[0]) a->gin[0] = asc_cumsum(a->ctx, a->g, (int)i[0], i[1] != 0, i[2] == 0);
}

static asc_tensor *jvp(asc_jvp_args *a) {
    const int64_t *i = a->attrs->i;
    return a->tin[0] == NULL ? NULL : asc_cumsum(a->ctx, a->tin[0], (int)i[0], i[1] != 0, i[2] != 0);
}

static bool sample(int i, asc_sample *out) {
    static const asc_case cases[] = {
        {{.rank = 1, .dims = {7}}, {.i = {0, 0, 0}}},     {{.rank = 1, .dims = {1}}, {.i = {0, 1, 0}}},
        {{.rank = 2, .dims = {3, 5}}, {.i = {1, 0, 1}}},  {{.rank = 3, .dims = {2, 3, 5}}, {.i = {1, 1, 1}}},
        {{.rank = 2, .dims = {67, 2}}, {.i = {0, 1, 0}}}, {{.rank = 2, .dims = {0, 2}}, {.i = {0, 0, 1}}},
    };
    return asc_sample_case(i, cases, ASC_N_CASES(cases), out);
}

const asc_op asc_op_cumsum = {
    ASC_OP_FIELDS(CUMSUM, cumsum, 1, 1),
    ASC_OP_ATTRS,
    ASC_OP_RULES,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_LINEAR_0,
    .doc = "Running sums along an axis, with or without the element itself, from either end.",
    .formula = "y[i] = sum_(j <= i) a[j]; j < i if exclusive, j >= i or j > i if reverse",
};
