/* op_top_k.c - positions (i32) of the k largest (or smallest) values of each row (last axis), best first, the
 * lower position first among equals. A NaN counts as larger than every number. k = the length sorts the row.
 * The values follow by take_along. Integer-valued: no gradient. k beyond the length is an error. */
#include "move.h"
#include <math.h>

static const asc_attr_def attr_defs[] = {{"k", ASC_ATTR_INT, 0}, {"largest", ASC_ATTR_BOOL, 1}};

asc_tensor *asc_top_k(asc_ctx *ctx, asc_tensor *a, int64_t k, bool largest) {
    return asc_apply(ctx, &asc_op_top_k, &(asc_attrs){.i = {k, largest}}, &a, 1);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    const asc_shape *in = &c->in_shape[0];
    asc_status st = asc_infer_need_f32(ctx, c, 0);
    if (st != ASC_OK) return st;
    if (in->rank == 0) return asc_infer_fail(ctx, c, "the input has no axis");
    const int64_t n = in->dims[in->rank - 1], k = c->attrs->i[0];
    if (k < 0 || k > n) return asc_infer_fail(ctx, c, "%lld of %lld", (long long)k, (long long)n);
    if (n > INT32_MAX) return asc_infer_fail(ctx, c, "the axis is too long for i32 positions");
    c->dtype = ASC_DTYPE_I32;
    c->shape = *in;
    c->shape.dims[in->rank - 1] = k;
    return ASC_OK;
}

/* One row: x has n values, y room for k positions. */
typedef struct row {
    const double *x;
    double *y;
    int64_t x_step, y_step;
    bool largest;
} row;

/* Whether position a comes before position b: a total order, so any way of sorting gives the same. */
static bool before(const row *r, double a, double b) {
    const double x = r->x[(int64_t)a * r->x_step], y = r->x[(int64_t)b * r->x_step];
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y) ? a < b : isnan(x) == r->largest;
    return x == y ? a < b : (x > y) == r->largest;
}

/* A heap in y[0..n) whose root is the one that comes last: sinks the entry at i. */
static void sink(const row *r, int64_t i, int64_t n) {
    for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && before(r, r->y[child * r->y_step], r->y[(child + 1) * r->y_step])) child++;
        double *up = &r->y[i * r->y_step], *down = &r->y[child * r->y_step], keep = *up;
        if (!before(r, *up, *down)) return;
        *up = *down;
        *down = keep;
        i = child;
    }
}

/* The k best in a heap, then sorted in place: no memory but the result's. */
static void of_row(const row *r, int64_t n, int64_t k) {
    for (int64_t i = 0; i < k; i++) r->y[i * r->y_step] = (double)i;
    for (int64_t i = k / 2; i-- > 0;) sink(r, i, k);
    for (int64_t i = k; i < n; i++) {
        if (!before(r, (double)i, r->y[0])) continue;
        r->y[0] = (double)i;
        sink(r, 0, k);
    }
    for (int64_t m = k - 1; m > 0; m--) {
        double *end = &r->y[m * r->y_step], keep = *end;
        *end = r->y[0];
        r->y[0] = keep;
        sink(r, 0, m);
    }
}

static void ref(const asc_ref_args *a) {
    const asc_nd *in = &a->in[0], *out = &a->out;
    const int last = in->rank - 1;
    int64_t idx[ASC_MAX_RANK] = {0}, off[2] = {0}, strides[2][ASC_MAX_RANK] = {{0}};
    if (asc_nd_elems(out) == 0) return;
    for (int k = 0; k < last; k++) {
        strides[0][k] = out->strides[k];
        strides[1][k] = in->strides[k];
    }
    do {
        row r = {in->data + off[1], out->data + off[0], in->strides[last], out->strides[last],
                 a->attrs->i[1] != 0};
        of_row(&r, in->dims[last], out->dims[last]);
    } while (asc_nd_next(last, in->dims, idx, 2, (const int64_t(*)[ASC_MAX_RANK])strides, off));
}

static void cost(const asc_call *c,
                 asc_cost *out) { /* a comparison an element, and log2(k) for what is kept */
    asc_cost_move(c, out);
    out->flops = (double)asc_shape_elems(&c->in_shape[0]) * (1 + log2(1 + (double)c->attrs->i[0]));
}

static bool sample(int i, asc_sample *out) {
    static const asc_case cases[] = {
        {{.rank = 1, .dims = {7}}, {.i = {3, 1}}},      {{.rank = 1, .dims = {1}}, {.i = {1, 0}}},
        {{.rank = 2, .dims = {3, 5}}, {.i = {5, 0}}},   {{.rank = 3, .dims = {2, 3, 5}}, {.i = {2, 1}}},
        {{.rank = 2, .dims = {2, 67}}, {.i = {67, 1}}}, {{.rank = 2, .dims = {2, 3}}, {.i = {0, 1}}},
        {{.rank = 2, .dims = {0, 3}}, {.i = {2, 1}}},
    };
    return asc_sample_apart(i, cases, ASC_N_CASES(cases), out);
}

const asc_op asc_op_top_k = {
    ASC_OP_FIELDS(TOP_K, top_k, 1, 1),
    ASC_OP_ATTRS,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_NO_GRAD,
    .doc = "Positions of the k largest or smallest values of each row, as i32, best first; NaN is largest.",
    .formula = "y[..,j] = position of the j-th largest (smallest) of a[..,:]",
};
