/* onnx_op_gather.c - elements chosen by indices. Places that the computation does not depend on smoothly
 * (conditions, duplicates) are found on the host. */
#include "onnx_parts.h"
#include <math.h>

asc_status asc_onnx_Gather(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    const int swap[] = {1, 0, 2};
    asc_shape s = asc_onnx_shape(c, 0), at = asc_onnx_shape(c, 1), to = {0};
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", 0), s.rank);
    if (c->st != ASC_OK) return c->st;
    if (s.rank + at.rank - 1 > ASC_MAX_RANK)
        return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "a result of %d dimensions", s.rank + at.rank - 1);
    int64_t n = asc_shape_elems(&at);
    for (int i = 0; i < axis; i++) to.dims[to.rank++] = s.dims[i];
    for (int i = 0; i < at.rank; i++) to.dims[to.rank++] = at.dims[i];
    for (int i = axis + 1; i < s.rank; i++) to.dims[to.rank++] = s.dims[i];
    asc_tensor *t = asc_onnx_t(c, 0), *index = asc_onnx_wrapped(c, 1, s.dims[axis]);
    if (c->st != ASC_OK) return c->st;
    if (n == 1 && asc_onnx_known(c, 1)) { /* a part, not a copy by a table */
        double i = asc_onnx_number(c, 1, 0);
        int64_t from = (int64_t)(i < 0 ? i + (double)s.dims[axis] : i);
        return asc_onnx_set_like(c, 0, asc_reshape(ctx, asc_slice(ctx, t, axis, from, 1), to));
    }
    asc_shape three = asc_onnx_three(&s, axis);
    index = asc_reshape(ctx, index, ASC_SHAPE(n));
    if (three.dims[0] == 1) {
        t = asc_gather(ctx, asc_reshape(ctx, t, ASC_SHAPE(three.dims[1], three.dims[2])), index);
    } else {
        t = asc_gather(ctx, asc_transpose(ctx, asc_reshape(ctx, t, three), 3, swap), index);
        t = asc_transpose(ctx, t, 3, swap);
    }
    return asc_onnx_set_like(c, 0, asc_reshape(ctx, t, to));
}

asc_status asc_onnx_GatherElements(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0);
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", 0), s.rank);
    if (c->st != ASC_OK) return c->st;
    asc_tensor *index = asc_onnx_wrapped(c, 1, s.dims[axis]);
    return asc_onnx_set_like(c, 0, asc_take_along(c->ctx, asc_onnx_t(c, 0), index, axis));
}

/* Tuples of indices (the last axis of input 1) into axes [first, first + k) of s, as places in these axes
 * merged; NULL after an error. */
static int32_t *tuples(asc_onnx_call *c, const asc_shape *s, int first, int64_t k, int64_t *n) {
    asc_shape at = asc_onnx_shape(c, 1);
    const double *d = asc_onnx_doubles(c, 1);
    *n = asc_onnx_span(&at, 0, at.rank - 1);
    if (d == NULL || asc_onnx_span(s, first, first + (int)k) > INT32_MAX) {
        asc_onnx_fail(c, ASC_UNIMPLEMENTED, "indices into so many elements");
        return NULL;
    }
    int32_t *out = asc_onnx_places(c, *n);
    for (int64_t i = 0; i < *n && out != NULL; i++) {
        int64_t place = 0;
        for (int64_t j = 0; j < k; j++) {
            int64_t len = s->dims[first + j];
            double x = d[i * k + j] < 0 ? d[i * k + j] + (double)len : d[i * k + j];
            if (!(x >= 0 && x < (double)len)) {
                asc_onnx_fail(c, ASC_OUT_OF_RANGE, "index %.0f into %lld elements", d[i * k + j],
                              (long long)len);
                return NULL;
            }
            place = place * len + (int64_t)x;
        }
        out[i] = (int32_t)place;
    }
    return out;
}

asc_status asc_onnx_GatherND(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0), at = asc_onnx_shape(c, 1), to = {0};
    int64_t b = asc_onnx_attr_int(c, "batch_dims", 0), k = at.rank > 0 ? at.dims[at.rank - 1] : 0, n;
    if (c->st != ASC_OK) return c->st;
    if (b < 0 || b >= at.rank || b >= s.rank || k < 1 || k > s.rank - b ||
        b + at.rank - 1 + s.rank - b - k > 2 * ASC_MAX_RANK)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%lld indices a place, %lld batch axes, %d dimensions",
                             (long long)k, (long long)b, s.rank);
    if (at.rank - 1 + s.rank - b - k > ASC_MAX_RANK)
        return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "a result of %lld dimensions",
                             (long long)(at.rank - 1 + s.rank - b - k));
    for (int i = 0; i < at.rank - 1; i++) to.dims[to.rank++] = at.dims[i];
    for (int i = (int)(b + k); i < s.rank; i++) to.dims[to.rank++] = s.dims[i];
    int32_t *place = tuples(c, &s, (int)b, k, &n);
    int64_t batch = asc_onnx_span(&s, 0, (int)b), rows = asc_onnx_span(&s, (int)b, (int)(b + k));
    if (place == NULL) return c->st;
    if (batch > 0 && (n % batch != 0 || rows > INT32_MAX / batch))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "the batch axes of data and indices differ");
    for (int64_t i = 0; i < n && batch > 0; i++) place[i] += (int32_t)(i / (n / batch) * rows);
    asc_shape flat = ASC_SHAPE(batch * rows, asc_onnx_span(&s, (int)(b + k), s.rank));
    asc_tensor *t = asc_onnx_choose(c, asc_reshape(c->ctx, asc_onnx_t(c, 0), flat), 0, place, n);
    return asc_onnx_set_like(c, 0, asc_reshape(c->ctx, t, to));
}

asc_status asc_onnx_OneHot(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0), v = asc_onnx_shape(c, 2), wide = {0};
    double depth = asc_onnx_number(c, 1, 0);
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", -1), s.rank + 1);
    if (c->st != ASC_OK) return c->st;
    if (s.rank == ASC_MAX_RANK || v.rank != 1 || v.dims[0] != 2 ||
        !(depth >= 1 && depth <= (double)INT32_MAX))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "depth %g, %d dimensions", depth, s.rank);
    int64_t n = (int64_t)depth;
    for (int i = 0; i <= s.rank; i++) wide.dims[wide.rank++] = i == axis ? 1 : s.dims[i < axis ? i : i - 1];
    asc_tensor *at = asc_reshape(ctx, asc_onnx_t(c, 0), wide), *values = asc_onnx_t(c, 2);
    asc_tensor *below = asc_less(ctx, at, asc_onnx_const(c, 0));
    at = asc_add(ctx, at, asc_scale(ctx, below, (double)n));
    /* Whole numbers are compared; other types are cut towards 0. */
    if (asc_onnx_type_is_float(asc_onnx_elem(c, 0))) at = asc_trunc_div(ctx, at, asc_onnx_const(c, 1));
    asc_tensor *hit = asc_equal(ctx, at, asc_onnx_along(c, asc_iota(ctx, n, 0, 1), axis, wide.rank));
    asc_tensor *on = asc_reshape(ctx, asc_slice(ctx, values, 0, 1, 1), ASC_SCALAR_SHAPE);
    asc_tensor *off = asc_reshape(ctx, asc_slice(ctx, values, 0, 0, 1), ASC_SCALAR_SHAPE);
    return asc_onnx_set(c, 0, asc_where(ctx, hit, on, off), asc_onnx_elem(c, 2));
}

asc_status asc_onnx_Compress(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0), cs = asc_onnx_shape(c, 1);
    asc_tensor *t = asc_onnx_t(c, 0);
    const double *d = asc_onnx_doubles(c, 1);
    int axis = 0;
    if (asc_onnx_attr_find(c, "axis") == NULL) {
        s = ASC_SHAPE(asc_shape_elems(&s));
        t = asc_reshape(c->ctx, t, s);
    } else {
        axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", 0), s.rank);
    }
    int64_t n = asc_shape_elems(&cs), count = 0;
    if (c->st != ASC_OK || d == NULL) return c->st;
    if (n > s.dims[axis]) n = s.dims[axis];
    int32_t *index = asc_onnx_places(c, n);
    if (index == NULL) return c->st;
    for (int64_t i = 0; i < n; i++) {
        if (d[i] != 0) index[count++] = (int32_t)i;
    }
    return asc_onnx_set_like(c, 0, asc_onnx_choose(c, t, axis, index, count));
}

asc_status asc_onnx_NonZero(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0);
    const double *d = asc_onnx_doubles(c, 0);
    int64_t n = asc_shape_elems(&s), count = 0, k = 0, strides[ASC_MAX_RANK];
    int rank = s.rank == 0 ? 1 : s.rank;
    if (d == NULL) return c->st;
    for (int64_t i = 0; i < n; i++) count += d[i] != 0;
    double *out = asc_onnx_memory(c, (size_t)(rank * count), sizeof *out);
    if (out == NULL) return c->st;
    if (s.rank == 0) s = ASC_SHAPE(1);
    asc_shape_strides(&s, strides);
    for (int64_t i = 0; i < n; i++) {
        if (d[i] == 0) continue;
        for (int a = 0; a < rank; a++) out[a * count + k] = (double)(i / strides[a] % s.dims[a]);
        k++;
    }
    return asc_onnx_set_host(c, 0, ASC_SHAPE(rank, count), out, ASC_ONNX_INT64);
}
