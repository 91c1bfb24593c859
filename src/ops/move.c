/* move.c - the shared parts of the ops that move values. */
#include "move.h"

void asc_nd_copy(const asc_nd *dst, const double *src, const int64_t *strides) {
    int64_t idx[ASC_MAX_RANK] = {0}, off[2] = {0}, both[2][ASC_MAX_RANK] = {{0}};
    if (asc_nd_elems(dst) == 0) return;
    for (int k = 0; k < dst->rank; k++) {
        both[0][k] = dst->strides[k];
        both[1][k] = strides[k];
    }
    const int outer = dst->rank > 0 ? dst->rank - 1 : 0; /* the last axis is walked without idx */
    const int64_t n = dst->rank > 0 ? dst->dims[outer] : 1, to = both[0][outer], from = both[1][outer];
    do {
        double *d = dst->data + off[0];
        const double *s = src + off[1];
        for (int64_t i = 0; i < n; i++) d[i * to] = s[i * from];
    } while (asc_nd_next(outer, dst->dims, idx, 2, (const int64_t(*)[ASC_MAX_RANK])both, off));
}

bool asc_nd_dense(const asc_nd *a) {
    int64_t n = 1;
    for (int k = a->rank - 1; k >= 0; k--) {
        if (a->dims[k] != 1 && a->strides[k] != n) return false;
        n *= a->dims[k];
    }
    return true;
}

void asc_nd_fill(const asc_nd *dst, double value) {
    static const int64_t still[ASC_MAX_RANK] = {0};
    asc_nd_copy(dst, &value, still);
}

asc_nd asc_nd_part(const asc_nd *a, int64_t axis, int64_t start, int64_t len) {
    asc_nd part = *a;
    part.dims[axis] = len;
    if (len > 0) part.data += start * a->strides[axis]; /* nothing is left to point at in an empty part */
    return part;
}

int64_t asc_nd_row(double i, int64_t n) {
    if (!(i > 0)) return 0;
    return i < (double)(n - 1) ? (int64_t)i : n - 1;
}

asc_attrs asc_attrs_of_shape(const asc_shape *shape) {
    asc_attrs attrs = {.i = {shape->rank}};
    for (int k = 0; k < shape->rank && k < ASC_MAX_RANK; k++) attrs.i[k + 1] = shape->dims[k];
    return attrs;
}

bool asc_shape_of_attrs(const asc_attrs *attrs, asc_shape *out) {
    *out = (asc_shape){0};
    if (attrs->i[0] < 0 || attrs->i[0] > ASC_MAX_RANK) return false;
    out->rank = (int)attrs->i[0];
    for (int k = 0; k < out->rank; k++) {
        out->dims[k] = attrs->i[k + 1];
        if (out->dims[k] < 0) return false;
    }
    return true;
}

asc_status asc_infer_plain(asc_ctx *ctx, asc_call *c, int k) {
    c->dtype = c->in_dtype[k];
    if (c->dtype == ASC_DTYPE_F32 || c->dtype == ASC_DTYPE_I32) return ASC_OK;
    return asc_infer_fail(ctx, c, "input %d must be f32 or i32; cast stored weights first", k);
}

asc_status asc_infer_need_i32(asc_ctx *ctx, const asc_call *c, int k) {
    if (c->in_dtype[k] == ASC_DTYPE_I32) return ASC_OK;
    return asc_infer_fail(ctx, c, "input %d must be i32", k);
}

asc_status asc_infer_need_axis(asc_ctx *ctx, const asc_call *c, int k, int64_t axis) {
    if (axis >= 0 && axis < c->in_shape[k].rank) return ASC_OK;
    return asc_infer_fail(ctx, c, "no axis %lld in rank %d", (long long)axis, c->in_shape[k].rank);
}

bool asc_along_fits(const asc_shape *from, const asc_shape *index, int64_t axis) {
    if (from->rank != index->rank) return false;
    for (int k = 0; k < from->rank; k++)
        if (k != axis && index->dims[k] > from->dims[k]) return false;
    return true;
}

bool asc_sample_along(int i, asc_sample *out, int64_t *axis) {
    static const struct {
        asc_shape from, index;
        int64_t axis;
    } cases[] = {
        {{.rank = 1, .dims = {5}}, {.rank = 1, .dims = {7}}, 0},
        {{.rank = 2, .dims = {3, 5}}, {.rank = 2, .dims = {3, 4}}, 1},
        {{.rank = 2, .dims = {5, 3}}, {.rank = 2, .dims = {6, 2}}, 0},
        {{.rank = 3, .dims = {2, 5, 3}}, {.rank = 3, .dims = {1, 2, 3}}, 1},
        {{.rank = 2, .dims = {0, 3}}, {.rank = 2, .dims = {0, 3}}, 0},
    };
    if (i < 0 || i >= (int)(sizeof cases / sizeof cases[0])) return false;
    *axis = cases[i].axis;
    *out = asc_sample_indexed(cases[i].from, cases[i].index, (double)cases[i].from.dims[cases[i].axis]);
    return true;
}

bool asc_sample_moved(int i, const asc_case *cases, int n_cases, asc_sample *out) {
    if (!asc_sample_case(i, cases, n_cases, out)) return false;
    if (i == n_cases - 1) asc_sample_integers(out);
    return true;
}

asc_sample asc_sample_indexed(asc_shape values, asc_shape index, double n) {
    return (asc_sample){.n_in = 2,
                        .in_dtype = {ASC_DTYPE_F32, ASC_DTYPE_I32},
                        .in_shape = {values, index},
                        .lo = {-2},
                        .hi = {2, n},
                        .no_grad = {false, true}};
}

void asc_sample_integers(asc_sample *out) {
    for (int k = 0; k < out->n_in; k++) {
        out->in_dtype[k] = ASC_DTYPE_I32;
        out->lo[k] = -9;
        out->hi[k] = 9;
        out->no_grad[k] = true;
    }
}

double asc_cost_bytes(asc_dtype dtype, double n) {
    const asc_dtype_info *info = asc_dtype_of(dtype);
    return n * info->block_bytes / info->block_elems;
}
