/* onnx_op_scatter.c - values put at places of a copy of an array. The places are read on the host: which
 * updates meet decides how the result is composed. Updates that meet are taken in rounds of one for each
 * place, so every reduction is a pointwise op per round and has its gradient. */
#include "onnx_parts.h"

typedef enum reduction { LAST, ADD, MUL, MAX, MIN } reduction;

enum { MAX_ROUNDS = 64 }; /* of updates that meet at one place, but for additions */

static bool reduction_of(asc_onnx_call *c, reduction *out) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    asc_view v = asc_onnx_attr_string(c, "reduction", "none");
    for (int i = 0; i < 5; i++) {
        if (!asc_view_eqs(v, names[i])) continue;
        *out = (reduction)i;
        return true;
    }
    asc_onnx_fail(c, ASC_UNIMPLEMENTED, "reduction '" ASC_VIEW_FMT "'", ASC_VIEW_ARG(asc_view_cut(v, 40)));
    return false;
}

/* One round: rows `pick` of updates [M,D] go to the different rows `place` of data [V,D]. */
static asc_tensor *round_of(asc_onnx_call *c, asc_tensor *data, asc_tensor *updates, const int32_t *pick,
                            const int32_t *place, int64_t n, reduction how) {
    asc_ctx *ctx = c->ctx;
    int64_t rows = data->shape.dims[0];
    asc_tensor *some = asc_onnx_choose(c, updates, 0, pick, n), *at = asc_from_i32(ctx, ASC_SHAPE(n), place);
    asc_tensor *spread = asc_scatter_add(ctx, some, at, rows);
    asc_tensor *hit = asc_scatter_add(ctx, asc_full(ctx, ASC_SHAPE(n, 1), 1.0), at, rows);
    asc_tensor *both = how == MUL   ? asc_mul(ctx, data, spread)
                       : how == MAX ? asc_maximum(ctx, data, spread)
                       : how == MIN ? asc_minimum(ctx, data, spread)
                                    : spread;
    return asc_where(ctx, hit, both, data);
}

/* data [V,D] with updates [M,D] put at rows place[0..M). */
static asc_tensor *put_rows(asc_onnx_call *c, asc_tensor *data, asc_tensor *updates, const int32_t *place,
                            int64_t m, reduction how) {
    if (asc_tensor_poisoned(data) || asc_tensor_poisoned(updates) || m == 0) return data;
    int64_t rows = data->shape.dims[0], left = m;
    if (how == ADD) {
        asc_tensor *at = asc_from_i32(c->ctx, ASC_SHAPE(m), place);
        return asc_add(c->ctx, data, asc_scatter_add(c->ctx, updates, at, rows));
    }
    int32_t *pick = asc_onnx_places(c, m), *to = asc_onnx_places(c, m);
    int32_t *last = asc_onnx_places(c, rows);
    bool *done = asc_onnx_memory(c, (size_t)m, sizeof *done);
    if (pick == NULL || to == NULL || last == NULL || done == NULL) return data;
    for (int round = 0; left > 0; round++) {
        int64_t n = 0;
        if (round == MAX_ROUNDS) {
            asc_onnx_fail(c, ASC_UNIMPLEMENTED, "more than %d updates of one element", MAX_ROUNDS);
            return data;
        }
        for (int64_t i = 0; i < m; i++) { /* the last open update of each place */
            if (!done[i]) last[place[i]] = (int32_t)i;
        }
        for (int64_t i = 0; i < m; i++) {
            if (done[i] || last[place[i]] != i) continue;
            pick[n] = (int32_t)i;
            to[n++] = place[i];
            done[i] = true;
        }
        left = how == LAST ? 0 : left - n;
        data = round_of(c, data, updates, pick, to, n, how);
    }
    return data;
}

/* ScatterElements, and Scatter before it: every update has a place of its own. */
static asc_status scatter(asc_onnx_call *c, reduction how) {
    asc_ctx *ctx = c->ctx;
    asc_shape s = asc_onnx_shape(c, 0), at = asc_onnx_shape(c, 1), us = asc_onnx_shape(c, 2);
    int axis = asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", 0), s.rank);
    if (c->st != ASC_OK) return c->st;
    int64_t total = asc_shape_elems(&s), m = asc_shape_elems(&at), strides[ASC_MAX_RANK],
            idx[ASC_MAX_RANK] = {0};
    bool fits = at.rank == s.rank && asc_shape_eq(&at, &us) && total <= INT32_MAX && m <= INT32_MAX;
    for (int i = 0; i < s.rank && fits; i++) fits = i == axis || at.dims[i] <= s.dims[i];
    if (!fits)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "data, indices and updates do not fit each other");
    const double *d = asc_onnx_doubles(c, 1);
    int32_t *place = d != NULL ? asc_onnx_places(c, m) : NULL;
    if (place == NULL) return c->st;
    asc_shape_strides(&s, strides);
    for (int64_t i = 0; i < m; i++) {
        int64_t len = s.dims[axis], off = 0;
        double x = d[i] < 0 ? d[i] + (double)len : d[i];
        if (!(x >= 0 && x < (double)len))
            return asc_onnx_fail(c, ASC_OUT_OF_RANGE, "index %.0f into %lld elements", d[i], (long long)len);
        for (int k = 0; k < s.rank; k++) off += (k == axis ? (int64_t)x : idx[k]) * strides[k];
        place[i] = (int32_t)off;
        for (int k = s.rank - 1; k >= 0 && ++idx[k] == at.dims[k]; k--) idx[k] = 0;
    }
    asc_tensor *data = asc_reshape(ctx, asc_onnx_t(c, 0), ASC_SHAPE(total, 1));
    asc_tensor *updates = asc_reshape(ctx, asc_onnx_t(c, 2), ASC_SHAPE(m, 1));
    return asc_onnx_set_like(c, 0, asc_reshape(ctx, put_rows(c, data, updates, place, m, how), s));
}

asc_status asc_onnx_ScatterElements(asc_onnx_call *c) {
    reduction how;
    return reduction_of(c, &how) ? scatter(c, how) : c->st;
}
asc_status asc_onnx_Scatter(asc_onnx_call *c) { return scatter(c, LAST); }

/* Every tuple of indices names a slice. */
asc_status asc_onnx_ScatterND(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    reduction how;
    asc_shape s = asc_onnx_shape(c, 0), at = asc_onnx_shape(c, 1), us = asc_onnx_shape(c, 2);
    int64_t k = at.rank > 0 ? at.dims[at.rank - 1] : 0;
    if (!reduction_of(c, &how)) return c->st;
    if (k < 1 || k > s.rank)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%lld indices into %d dimensions", (long long)k,
                             s.rank);
    int64_t m = asc_onnx_span(&at, 0, at.rank - 1), rows = asc_onnx_span(&s, 0, (int)k),
            inner = asc_onnx_span(&s, (int)k, s.rank);
    if (rows > INT32_MAX || m > INT32_MAX || asc_shape_elems(&us) != m * inner)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%lld updates for %lld slices of %lld elements",
                             (long long)asc_shape_elems(&us), (long long)m, (long long)inner);
    const double *d = asc_onnx_doubles(c, 1);
    int32_t *place = d != NULL ? asc_onnx_places(c, m) : NULL;
    if (place == NULL) return c->st;
    for (int64_t i = 0; i < m; i++) {
        int64_t row = 0;
        for (int64_t j = 0; j < k; j++) {
            double x = d[i * k + j] < 0 ? d[i * k + j] + (double)s.dims[j] : d[i * k + j];
            if (!(x >= 0 && x < (double)s.dims[j]))
                return asc_onnx_fail(c, ASC_OUT_OF_RANGE, "index %.0f into %lld elements", d[i * k + j],
                                     (long long)s.dims[j]);
            row = row * s.dims[j] + (int64_t)x;
        }
        place[i] = (int32_t)row;
    }
    asc_tensor *data = asc_reshape(ctx, asc_onnx_t(c, 0), ASC_SHAPE(rows, inner));
    asc_tensor *updates = asc_reshape(ctx, asc_onnx_t(c, 2), ASC_SHAPE(m, inner));
    return asc_onnx_set_like(c, 0, asc_reshape(ctx, put_rows(c, data, updates, place, m, how), s));
}
