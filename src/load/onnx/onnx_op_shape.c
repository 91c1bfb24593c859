/* onnx_op_shape.c - constants, shapes, and moves of whole arrays: Constant, Identity, Shape, Reshape,
 * Transpose, Concat. */
#include "onnx_ops.h"

static asc_status numbers(asc_onnx_call *c, const asc_onnx_attr *a, bool ints) {
    bool list = a->type == ASC_ONNX_ATTR_INTS || a->type == ASC_ONNX_ATTR_FLOATS;
    double one = ints ? (double)a->i : a->f;
    asc_shape s = list ? ASC_SHAPE((int64_t)a->n) : ASC_SCALAR_SHAPE;
    return asc_onnx_set_host(c, 0, s, list ? a->floats : &one, ints ? ASC_ONNX_INT64 : ASC_ONNX_FLOAT);
}

/* The value of a stored tensor, wherever it stands in the file. */
static asc_status stored(asc_onnx_call *c, const asc_onnx_tensor *t) {
    asc_onnx_value *v = asc_onnx_new_value(c);
    if (v == NULL) return c->st;
    *v = (asc_onnx_value){.kind = ASC_ONNX_TENSOR, .elem = t->elem, .shape = t->shape, .init = t};
    if (t->elem == ASC_ONNX_STRING) {
        v->kind = ASC_ONNX_STRINGS;
        v->strings = t->strings;
    }
    return asc_onnx_set_value(c, 0, v);
}

asc_status asc_onnx_Constant(asc_onnx_call *c) {
    const asc_onnx_attr *a = asc_onnx_attr_find(c, "value");
    if (a != NULL && a->t != NULL) return stored(c, a->t);
    if ((a = asc_onnx_attr_find(c, "value_float")) != NULL) return numbers(c, a, false);
    if ((a = asc_onnx_attr_find(c, "value_floats")) != NULL) return numbers(c, a, false);
    if ((a = asc_onnx_attr_find(c, "value_int")) != NULL) return numbers(c, a, true);
    if ((a = asc_onnx_attr_find(c, "value_ints")) != NULL) return numbers(c, a, true);
    a = asc_onnx_attr_find(c, "value_string");
    const asc_onnx_attr *all = asc_onnx_attr_find(c, "value_strings");
    if (a != NULL && a->type != ASC_ONNX_ATTR_STRING) a = NULL;
    if (all != NULL && all->type != ASC_ONNX_ATTR_STRINGS) all = NULL;
    if (a != NULL || all != NULL) {
        asc_onnx_value *v = asc_onnx_new_value(c);
        if (v == NULL) return c->st;
        *v = (asc_onnx_value){.kind = ASC_ONNX_STRINGS, .elem = ASC_ONNX_STRING};
        v->shape = all != NULL ? ASC_SHAPE((int64_t)all->n) : ASC_SCALAR_SHAPE;
        v->strings = all != NULL ? all->strings : &a->s;
        return asc_onnx_set_value(c, 0, v);
    }
    return asc_onnx_fail(c, ASC_UNIMPLEMENTED, "a constant without a dense value");
}

asc_status asc_onnx_Identity(asc_onnx_call *c) { return asc_onnx_set_value(c, 0, asc_onnx_in(c, 0)); }

asc_status asc_onnx_Shape(asc_onnx_call *c) {
    asc_shape s = asc_onnx_shape(c, 0);
    int64_t from = asc_onnx_attr_int(c, "start", 0), to = asc_onnx_attr_int(c, "end", s.rank);
    if (from < 0) from += s.rank;
    if (to < 0) to += s.rank;
    if (from < 0) from = 0;
    if (to > s.rank) to = s.rank;
    double d[ASC_MAX_RANK];
    int64_t n = 0;
    for (int64_t i = from; i < to; i++) d[n++] = (double)s.dims[i];
    return asc_onnx_set_host(c, 0, ASC_SHAPE(n), d, ASC_ONNX_INT64);
}

asc_status asc_onnx_Reshape(asc_onnx_call *c) {
    int64_t dims[ASC_MAX_RANK];
    asc_shape old = asc_onnx_shape(c, 0), s = {0};
    bool zeros = asc_onnx_attr_int(c, "allowzero", 0) != 0;
    s.rank = c->opset < 5 ? asc_onnx_attr_ints(c, "shape", dims, ASC_MAX_RANK)
                          : asc_onnx_ints(c, 1, dims, ASC_MAX_RANK);
    if (s.rank < 0) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "no shape");
    for (int i = 0; i < s.rank; i++) {
        s.dims[i] = dims[i];
        if (dims[i] < -1) return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "dimension %lld", (long long)dims[i]);
        if (dims[i] == 0 && !zeros && i < old.rank) s.dims[i] = old.dims[i];
    }
    return asc_onnx_set_like(c, 0, asc_reshape(c->ctx, asc_onnx_t(c, 0), s));
}

asc_status asc_onnx_Transpose(asc_onnx_call *c) {
    int64_t perm[ASC_MAX_RANK];
    int p[ASC_MAX_RANK], rank = asc_onnx_shape(c, 0).rank;
    int n = asc_onnx_attr_ints(c, "perm", perm, ASC_MAX_RANK);
    if (n >= 0 && n != rank)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "perm has %d entries for %d dimensions", n, rank);
    for (int i = 0; i < rank; i++) p[i] = n < 0 ? rank - 1 - i : asc_onnx_axis(c, perm[i], rank);
    if (c->st != ASC_OK) return c->st;
    return asc_onnx_set_like(c, 0, asc_transpose(c->ctx, asc_onnx_t(c, 0), rank, p));
}

asc_status asc_onnx_Concat(asc_onnx_call *c) {
    int axis =
        asc_onnx_axis(c, asc_onnx_attr_int(c, "axis", c->opset < 4 ? 1 : 0), asc_onnx_shape(c, 0).rank);
    asc_tensor **ts = asc_onnx_memory(c, c->n_in + 1, sizeof(asc_tensor *));
    if (ts == NULL || c->st != ASC_OK) return c->st;
    for (size_t i = 0; i < c->n_in; i++) ts[i] = asc_onnx_t(c, i);
    if (c->st != ASC_OK) return c->st;
    return asc_onnx_set_like(c, 0, asc_concat_many(c->ctx, ts, c->n_in, axis));
}
