/* onnx_op_random.c - random numbers by the library's generator: the same for the same seed, node and shape,
 * other numbers than other programs draw. Without a seed attribute the context's seed counts. */
#include "onnx_parts.h"

static asc_tensor *draws(asc_onnx_call *c, asc_shape s, int kind) {
    uint64_t seed = c->ctx->seed;
    if (asc_onnx_attr_find(c, "seed") != NULL) {
        float f = (float)asc_onnx_attr_float(c, "seed", 0);
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        seed = bits;
    }
    return asc_random(c->ctx, s, kind, seed, (uint32_t)c->node->index);
}

static int elem_of(asc_onnx_call *c, int fallback) {
    int64_t elem = asc_onnx_attr_int(c, "dtype", fallback);
    if (elem < 1 || elem > 63 || asc_onnx_type_bytes((int)elem) == 0)
        asc_onnx_fail(c, ASC_UNIMPLEMENTED, "dtype %lld", (long long)elem);
    return (int)elem;
}

static asc_status random_of(asc_onnx_call *c, asc_shape s, int elem, bool normal) {
    double from = asc_onnx_attr_float(c, normal ? "mean" : "low", 0);
    double size = normal ? asc_onnx_attr_float(c, "scale", 1) : asc_onnx_attr_float(c, "high", 1) - from;
    asc_tensor *x = draws(c, s, normal ? ASC_RANDOM_NORMAL : ASC_RANDOM_UNIFORM);
    return asc_onnx_set(c, 0, asc_shift(c->ctx, asc_scale(c->ctx, x, size), from), elem);
}

static asc_shape shape_of(asc_onnx_call *c) {
    asc_shape s = {0};
    int n = asc_onnx_attr_ints(c, "shape", s.dims, ASC_MAX_RANK);
    if (n < 0) asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "no shape");
    s.rank = n < 0 ? 0 : n;
    if (asc_shape_elems(&s) < 0) {
        asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "a negative or too large shape");
        s = ASC_SCALAR_SHAPE;
    }
    return s;
}

asc_status asc_onnx_RandomNormal(asc_onnx_call *c) {
    return random_of(c, shape_of(c), elem_of(c, ASC_ONNX_FLOAT), true);
}
asc_status asc_onnx_RandomUniform(asc_onnx_call *c) {
    return random_of(c, shape_of(c), elem_of(c, ASC_ONNX_FLOAT), false);
}
asc_status asc_onnx_RandomNormalLike(asc_onnx_call *c) {
    return random_of(c, asc_onnx_shape(c, 0), elem_of(c, asc_onnx_elem(c, 0)), true);
}
asc_status asc_onnx_RandomUniformLike(asc_onnx_call *c) {
    return random_of(c, asc_onnx_shape(c, 0), elem_of(c, asc_onnx_elem(c, 0)), false);
}

asc_status asc_onnx_Bernoulli(asc_onnx_call *c) {
    asc_tensor *u = draws(c, asc_onnx_shape(c, 0), ASC_RANDOM_UNIFORM);
    return asc_onnx_set(c, 0, asc_less(c->ctx, u, asc_onnx_t(c, 0)), elem_of(c, asc_onnx_elem(c, 0)));
}

/* Classes drawn by the inverse of the distribution: how many of its steps lie at or below a uniform number.
 */
asc_status asc_onnx_Multinomial(asc_onnx_call *c) {
    asc_ctx *ctx = c->ctx;
    const int last = -1;
    asc_shape s = asc_onnx_shape(c, 0);
    int64_t n = asc_onnx_attr_int(c, "sample_size", 1);
    int elem = elem_of(c, ASC_ONNX_INT32);
    if (s.rank != 2 || n < 0 || s.dims[1] < 1)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "%lld samples from %d dimensions", (long long)n,
                             s.rank);
    asc_tensor *steps = asc_cumsum(ctx, asc_softmax(ctx, asc_onnx_t(c, 0)), 1, false, false);
    asc_tensor *u =
        asc_reshape(ctx, draws(c, ASC_SHAPE(s.dims[0], n), ASC_RANDOM_UNIFORM), ASC_SHAPE(s.dims[0], n, 1));
    asc_tensor *below = asc_less_equal(ctx, asc_reshape(ctx, steps, ASC_SHAPE(s.dims[0], 1, s.dims[1])), u);
    asc_tensor *at = asc_clip(ctx, asc_sum(ctx, below, 1, &last, false), 0, (double)(s.dims[1] - 1));
    return asc_onnx_set(c, 0, at, elem);
}
