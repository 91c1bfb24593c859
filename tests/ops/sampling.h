/* sampling.h - values for the sample cases of ops (asc_sample), for every test that compares two ways of
 * computing one. Rules: f32 inputs are uniform in [lo, hi), rounded to binary32 so that every device sees the
 * same numbers, and kept min_gap apart from each other and from 0; i32 inputs are whole numbers in [lo, hi);
 * an f32 input that is not to be differentiated and has the range 0 to 1 is a mask of zeros and ones; f16,
 * bf16 and q8_0 inputs are values that the format can hold, with their bytes beside them. */
#ifndef ASC_TEST_SAMPLING_H
#define ASC_TEST_SAMPLING_H

#include "exec.h"
#include "half.h"
#include "harness.h"
#include "hash.h"
#include "ops.h"
#include <math.h>

typedef struct test_inputs {
    int n_in;
    int64_t elems[ASC_MAX_IN];
    double *value[ASC_MAX_IN]; /* row-major */
    void *stored[ASC_MAX_IN];  /* bytes of a stored type, else NULL */
} test_inputs;

typedef struct test_rng {
    uint64_t seed, index;
} test_rng;

static inline double test_uniform(test_rng *r, double lo, double hi) {
    return lo + (hi - lo) * asc_uniform(r->seed, 77, r->index++);
}

/* Whether v is far enough from 0 and from everything drawn before. */
static inline bool test_apart(const test_inputs *in, int k, int64_t n, double v, double gap) {
    if (fabs(v) < gap) return false;
    for (int j = 0; j <= k; j++)
        for (int64_t i = 0; i < (j < k ? in->elems[j] : n); i++)
            if (fabs(v - in->value[j][i]) < gap) return false;
    return true;
}

static inline double test_draw_f32(test_rng *r, const asc_sample *s, const test_inputs *in, int k,
                                   int64_t n) {
    if (s->no_grad[k] && s->lo[k] == 0 && s->hi[k] == 1) return test_uniform(r, 0, 1) < 0.5 ? 0 : 1;
    for (int tries = 0; tries < 10000; tries++) {
        double v = (double)(float)test_uniform(r, s->lo[k], s->hi[k]);
        if (s->min_gap == 0 || test_apart(in, k, n, v, s->min_gap)) return v;
    }
    fail_msg("no room for values %g apart", s->min_gap);
    return 0;
}

/* Blocks of 32 whole numbers times a power of two: every value is held exactly. */
static inline void test_store_q8_0(double *value, unsigned char *out, int64_t n) {
    for (int64_t b = 0; b < n / 32; b++, value += 32, out += 34) {
        double most = 1e-6;
        for (int i = 0; i < 32; i++) most = fmax(most, fabs(value[i]));
        double d = exp2(ceil(log2(most / 127)));
        uint16_t half = asc_f32_to_f16((float)d);
        memcpy(out, &half, 2);
        for (int i = 0; i < 32; i++) {
            int8_t q = (int8_t)lrint(value[i] / d);
            memcpy(out + 2 + i, &q, 1);
            value[i] = q * d;
        }
    }
}

static inline void test_store(asc_dtype type, double *value, int64_t n, void **out) {
    size_t bytes = 0;
    assert_true(asc_dtype_bytes(type, n, &bytes));
    *out = calloc(bytes + 64, 1);
    if (type == ASC_DTYPE_Q8_0) {
        test_store_q8_0(value, *out, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint16_t h =
            type == ASC_DTYPE_F16 ? asc_f32_to_f16((float)value[i]) : asc_f32_to_bf16((float)value[i]);
        value[i] = (double)(type == ASC_DTYPE_F16 ? asc_f16_to_f32(h) : asc_bf16_to_f32(h));
        memcpy((char *)*out + 2 * i, &h, 2);
    }
}

/* Draws all inputs of s; free with test_inputs_free. */
static inline test_inputs test_inputs_draw(const asc_sample *s, uint64_t seed) {
    test_inputs in = {.n_in = s->n_in};
    test_rng r = {.seed = seed};
    for (int k = 0; k < s->n_in; k++) {
        int64_t n = asc_shape_elems(&s->in_shape[k]);
        asc_dtype type = s->in_dtype[k];
        in.value[k] = calloc((size_t)n + 1, sizeof(double));
        for (int64_t i = 0; i < n; i++) {
            if (type == ASC_DTYPE_I32)
                in.value[k][i] = floor(test_uniform(&r, s->lo[k], s->hi[k]));
            else if (type == ASC_DTYPE_F32)
                in.value[k][i] = test_draw_f32(&r, s, &in, k, i);
            else
                in.value[k][i] = test_uniform(&r, s->lo[k], s->hi[k]);
        }
        in.elems[k] = n;
        if (type == ASC_DTYPE_F16 || type == ASC_DTYPE_BF16 || type == ASC_DTYPE_Q8_0)
            test_store(type, in.value[k], n, &in.stored[k]);
        else if (type != ASC_DTYPE_F32 && type != ASC_DTYPE_I32)
            fail_msg("sampling.h draws no %s", asc_dtype_of(type)->name);
    }
    return in;
}

static inline void test_inputs_free(test_inputs *in) {
    for (int k = 0; k < in->n_in; k++) {
        free(in->value[k]);
        free(in->stored[k]);
    }
}

/* Input k as a leaf of the context. Stored bytes must outlive it. */
static inline asc_tensor *test_inputs_leaf(asc_ctx *ctx, const asc_sample *s, const test_inputs *in, int k) {
    if (in->stored[k] != NULL) return asc_from_stored(ctx, s->in_dtype[k], s->in_shape[k], in->stored[k]);
    if (s->in_dtype[k] == ASC_DTYPE_F32) return asc_from_f64(ctx, s->in_shape[k], in->value[k]);
    int32_t *v = calloc((size_t)in->elems[k] + 1, sizeof *v);
    for (int64_t i = 0; i < in->elems[k]; i++) v[i] = (int32_t)in->value[k][i];
    asc_tensor *t = asc_from_i32(ctx, s->in_shape[k], v);
    free(v);
    return t;
}

/* The call that sample s of op describes, inferred. */
static inline asc_call test_call(asc_ctx *ctx, const asc_op *op, const asc_sample *s) {
    asc_call c = {.op = op, .attrs = &s->attrs, .n_in = s->n_in};
    for (int k = 0; k < s->n_in; k++) {
        c.in_dtype[k] = s->in_dtype[k];
        c.in_shape[k] = s->in_shape[k];
    }
    assert_ok(ctx, op->infer(ctx, &c));
    return c;
}

/* A row-major view of data. */
static inline asc_nd test_nd(const asc_shape *shape, double *data) {
    asc_nd nd = {.data = data, .rank = shape->rank};
    for (int k = 0; k < shape->rank; k++) nd.dims[k] = shape->dims[k];
    asc_shape_strides(shape, nd.strides);
    return nd;
}

/* Runs the op's reference kernel on row-major data: no graph, no device. `out` holds the result's elements.
 */
static inline void test_ref(const asc_call *c, double *const *value, double *out) {
    asc_ref_args a = {.attrs = c->attrs, .n_in = c->n_in, .n_threads = 1};
    for (int k = 0; k < c->n_in; k++) a.in[k] = test_nd(&c->in_shape[k], value[k]);
    a.out = test_nd(&c->shape, out);
    c->op->ref(&a);
}

#endif
