/* op_log_sum_exp.c - y = log of the sum of e^a over axes, the largest value taken out first, so that nothing
 * overflows. All -inf (or an empty axis) gives -inf, a NaN gives NaN, inf gives inf. Gradient: g e^(a - y),
 * the softmax over the axes; 0 where a is -inf, also when all are. */
#include "move.h"
#include <math.h>

static const asc_attr_def attr_defs[] = {{"axes", ASC_ATTR_INTS, 0},
                                         {"keep", ASC_ATTR_BOOL, ASC_REDUCE_KEEP}};

asc_tensor *asc_log_sum_exp(asc_ctx *ctx, asc_tensor *a, int n_axes, const int *axes, bool keep) {
    asc_attrs attrs = asc_reduce_attrs(a, n_axes, axes, keep);
    return asc_apply(ctx, &asc_op_log_sum_exp, &attrs, &a, 1);
}

/* Walks the elements that are reduced into one: their dims, and strides of the input. */
typedef struct run {
    int rank;
    int64_t dims[ASC_MAX_RANK], strides[1][ASC_MAX_RANK];
} run;

static double of_run(const double *x, const run *r) {
    int64_t idx[ASC_MAX_RANK] = {0}, off = 0;
    double most = -INFINITY, sum = 0;
    do most = x[off] > most || isnan(x[off]) ? x[off] : most;
    while (!isnan(most) && asc_nd_next(r->rank, r->dims, idx, 1, r->strides, &off));
    if (isnan(most) || isinf(most)) return most;
    for (int k = 0; k < ASC_MAX_RANK; k++) idx[k] = 0;
    off = 0;
    do sum += exp(x[off] - most);
    while (asc_nd_next(r->rank, r->dims, idx, 1, r->strides, &off));
    return most + log(sum);
}

static void ref(const asc_ref_args *a) {
    const asc_nd *in = &a->in[0], *out = &a->out;
    const bool keep = a->attrs->i[ASC_REDUCE_KEEP] != 0;
    int64_t idx[ASC_MAX_RANK] = {0}, off[2] = {0}, dims[ASC_MAX_RANK], strides[2][ASC_MAX_RANK] = {{0}};
    run r = {.rank = 0};
    int rank = 0, o = 0;
    if (asc_nd_elems(in) == 0) {
        asc_nd_fill(out, -INFINITY);
        return;
    }
    for (int k = 0; k < in->rank; k++) {
        const bool reduced = asc_reduces_axis(a->attrs, k);
        if (reduced) {
            r.dims[r.rank] = in->dims[k];
            r.strides[0][r.rank++] = in->strides[k];
        } else {
            dims[rank] = in->dims[k];
            strides[0][rank] = out->strides[o];
            strides[1][rank++] = in->strides[k];
        }
        if (!reduced || keep) o++;
    }
    do out->data[off[0]] = of_run(in->data + off[1], &r);
    while (asc_nd_next(rank, dims, idx, 2, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

/* e^(a - y) divided by its sum, which is 1 but for the rounding of y: a large y in f32 would cost digits. y =
 * -inf (all are) counts as 0, and the sum as 1, so that nothing is NaN. */
static asc_tensor *weights(asc_ctx *ctx, asc_tensor *in, asc_tensor *y, const asc_attrs *attrs) {
    int axes[ASC_MAX_RANK] = {0}, n = (int)attrs->i[0];
    for (int k = 0; k < n; k++) axes[k] = (int)attrs->i[k + 1];
    y = asc_reshape(ctx, y, asc_reduce_kept(in, attrs));
    asc_tensor *none = asc_equal(ctx, y, asc_full(ctx, ASC_SCALAR_SHAPE, -INFINITY));
    asc_tensor *level = asc_where(ctx, none, asc_full(ctx, ASC_SCALAR_SHAPE, 0), y);
    asc_tensor *e = asc_exp(ctx, asc_sub(ctx, in, level)), *sum = asc_sum(ctx, e, n, axes, true);
    return asc_div(ctx, e, asc_where(ctx, none, asc_full(ctx, ASC_SCALAR_SHAPE, 1), sum));
}

static void vjp(asc_vjp_args *a) {
    if (!a->need[0]) return;
    asc_tensor *g = asc_reshape(a->ctx, a->g, asc_reduce_kept(a->in[0], a->attrs));
    a->gin[0] = asc_mul(a->ctx, g, weights(a->ctx, a->in[0], a->y, a->attrs));
}

static asc_tensor *jvp(asc_jvp_args *a) {
    if (a->tin[0] == NULL) return NULL;
    int axes[ASC_MAX_RANK] = {0}, n = (int)a->attrs->i[0];
    for (int k = 0; k < n; k++) axes[k] = (int)a->attrs->i[k + 1];
    asc_tensor *part = asc_mul(a->ctx, a->tin[0], weights(a->ctx, a->in[0], a->y, a->attrs));
    return asc_sum(a->ctx, part, n, axes, a->attrs->i[ASC_REDUCE_KEEP] != 0);
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_reduce(c, out);
    out->flops *= 12;
}

const asc_op asc_op_log_sum_exp = {
    ASC_REDUCE_FIELDS(LOG_SUM_EXP, log_sum_exp),
    .cost = cost,
    .doc = "Logarithm of the sum of exponentials over axes, without overflow; -inf over nothing.",
    .formula = "y = log(sum over axes of e^a)",
};
