/* matmul_check.h - what tests of matrix kernels share: random operands in every type, the f64 reference of
 * the op, a kernel run by itself. */
#ifndef ASC_MATMUL_CHECK_H
#define ASC_MATMUL_CHECK_H

#include "harness.h"
#include "kernel.h"
#include <float.h>
#include <math.h>

typedef struct rng {
    uint64_t s;
} rng;

static inline uint32_t next(rng *r) {
    r->s = r->s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->s >> 33);
}

static inline float uniform(rng *r) { return (float)next(r) * 0x1p-30f - 1.0f; }

static inline void *buffer(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    assert_non_null(p);
    memset(p, 0xA5, (bytes + 127) / 64 * 64);
    return p;
}

static inline bool finite_block(const float *v, int n) {
    for (int i = 0; i < n; i++) {
        if (!(fabsf(v[i]) < 1e6f)) return false;
    }
    return true;
}

/* Random blocks whose values are finite and below a million; *values receives them in f32. The block formats
 * get random bits, so every scale, sign and quant occurs. */
static inline uint8_t *stored(rng *r, asc_dtype t, int64_t n, float **values) {
    const asc_dtype_info *info = asc_dtype_of(t);
    size_t bytes = 0;
    assert_true(asc_dtype_bytes(t, n, &bytes));
    uint8_t *w = buffer(bytes);
    *values = buffer((size_t)n * sizeof(float));
    for (int64_t b = 0; b < n / info->block_elems; b++) {
        uint8_t *p = w + b * info->block_bytes;
        float *v = *values + b * info->block_elems;
        do {
            if (t == ASC_DTYPE_F32) {
                *(float *)(void *)p = uniform(r);
            } else {
                for (int i = 0; i < info->block_bytes; i++) p[i] = (uint8_t)next(r);
            }
            asc_dtype_expand(t)(p, v, info->block_elems);
        } while (!finite_block(v, info->block_elems));
    }
    return w;
}

typedef struct problem {
    asc_call call;
    asc_attrs attrs;
    const void *in[2];
    const float *in32[2]; /* values */
    int64_t n_out;
} problem;

static inline void matmul_init(problem *p, asc_ctx *ctx, asc_dtype t, asc_shape a, asc_shape b, bool ta,
                               bool tb) {
    *p = (problem){.attrs = {.i = {ta, tb}}};
    p->call = (asc_call){.op = &asc_op_matmul, .n_in = 2, .in_dtype = {ASC_DTYPE_F32, t}, .in_shape = {a, b}};
    p->call.attrs = &p->attrs;
    assert_ok(ctx, asc_op_matmul.infer(ctx, &p->call));
    p->n_out = asc_shape_elems(&p->call.shape);
}

static inline double *widen(const float *x, int64_t n, bool magnitude) {
    double *d = buffer((size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++) d[i] = magnitude ? fabs((double)x[i]) : (double)x[i];
    return d;
}

static inline asc_nd nd_of(const asc_shape *s, double *data) {
    asc_nd nd = {.data = data, .rank = s->rank};
    memcpy(nd.dims, s->dims, sizeof nd.dims);
    asc_shape_strides(s, nd.strides);
    return nd;
}

/* The op's reference kernel; with `magnitude` on absolute values, which is the scale of the rounding errors.
 */
static inline double *reference(const problem *p, bool magnitude) {
    asc_ref_args r = {.attrs = &p->attrs, .n_in = 2, .n_threads = 1};
    double *in[2], *out = buffer((size_t)p->n_out * sizeof(double));
    for (int k = 0; k < 2; k++) {
        in[k] = widen(p->in32[k], asc_shape_elems(&p->call.in_shape[k]), magnitude);
        r.in[k] = nd_of(&p->call.in_shape[k], in[k]);
    }
    r.out = nd_of(&p->call.shape, out);
    asc_op_matmul.ref(&r);
    for (int k = 0; k < 2; k++) free(in[k]);
    return out;
}

static inline float *run(const asc_kernel *kernel, const asc_call *call, const void *const *in, int64_t n_out,
                         int threads) {
    asc_kargs a = {.call = call, .n_threads = threads};
    for (int k = 0; k < call->n_in; k++) a.in[k] = in[k];
    size_t scratch = kernel->scratch != NULL ? kernel->scratch(call, threads) : 0;
    a.scratch = buffer(scratch);
    a.out = buffer((size_t)n_out * sizeof(float));
    kernel->run(&a);
    free(a.scratch);
    return a.out;
}

static inline int64_t inner(const problem *p) {
    const asc_shape *a = &p->call.in_shape[0];
    return a->dims[a->rank - (p->attrs.i[0] != 0 ? 2 : 1)];
}

/* Rounding: at most K + 8 roundings of relative size 2^-24 on the way of each product. A kernel that adds d q
 * and m apart, where w = d q + m, works with terms up to four times as large. */
static inline void compare(const problem *p, const asc_kernel *kernel, const float *y) {
    double *want = reference(p, false), *scale = reference(p, true);
    const double eps = 4 * ((double)inner(p) + 8) * 0x1p-24;
    for (int64_t i = 0; i < p->n_out; i++) {
        double tol = eps * scale[i] + 1e-37;
        if (isnan(want[i])   ? !isnan(y[i])
            : isinf(want[i]) ? (double)y[i] != want[i]
                             : !(fabs((double)y[i] - want[i]) <= tol)) {
            fail_msg("%s, %s, tb %d, M %lld, K %lld: element %lld is %.9g, not %.9g +- %.2g", kernel->name,
                     asc_dtype_of(p->call.in_dtype[1])->name, (int)p->attrs.i[1],
                     (long long)p->call.in_shape[0].dims[0], (long long)inner(p), (long long)i, (double)y[i],
                     want[i], tol);
        }
    }
    free(want);
    free(scale);
}

/* Bit by bit; a NaN is like any other. */
static inline bool same_bits(const float *a, const float *b, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (isnan(a[i]) ? !isnan(b[i]) : memcmp(a + i, b + i, sizeof *a) != 0) return false;
    }
    return true;
}

/* Element i is `want` within tol: NaN is NaN, and what f32 cannot hold is infinite. */
static inline void near_element(const problem *p, const char *what, int64_t i, float y, double want,
                                double tol) {
    if (isnan(want)                    ? !isnan(y)
        : fabs(want) > (double)FLT_MAX ? !(isinf(y) && (y > 0) == (want > 0))
                                       : !(fabs((double)y - want) <= tol))
        fail_msg("%s, %s, M %lld, N %lld, K %lld: element %lld is %.9g, not %.9g +- %.2g", what,
                 asc_dtype_of(p->call.in_dtype[1])->name, (long long)p->call.in_shape[0].dims[0],
                 (long long)p->call.shape.dims[1], (long long)inner(p), (long long)i, (double)y, want, tol);
}

/* With 2 to 5 threads the bits of `first`. */
static inline void same_by_threads(const asc_kernel *kernel, const problem *p, const float *first,
                                   const char *what) {
    for (int threads = 2; threads <= 5; threads++) {
        float *y = run(kernel, &p->call, p->in, p->n_out, threads);
        if (!same_bits(first, y, p->n_out))
            fail_msg("%s, %s: other bits with %d threads", what, asc_dtype_of(p->call.in_dtype[1])->name,
                     threads);
        free(y);
    }
}

static inline float *random_floats(rng *r, int64_t n) {
    float *x = buffer((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) x[i] = uniform(r);
    return x;
}

/* Activations x times weights w as they are stored, whose values are `values`. */
static inline void operands(problem *p, const float *x, const void *w, const float *values) {
    p->in[0] = p->in32[0] = x;
    p->in[1] = w;
    p->in32[1] = values;
}

/* An epilogue that adds 1 to each element of the result. */
typedef struct plus_one {
    asc_epilogue post;
    float *y;
    int64_t n;
} plus_one;

static inline void add_one(const asc_epilogue *post, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                           int thread) {
    const plus_one *p = (const plus_one *)(const void *)post;
    assert_true(thread >= 0 && thread < 3);
    for (int64_t m = m0; m < m1; m++)
        for (int64_t n = n0; n < n1; n++) p->y[m * p->n + n] += 1;
}

/* An epilogue sees each element once, after all of its sum. */
static inline void epilogue_check(const asc_kernel *kernel, const problem *p, const void *const in[2]) {
    const asc_shape *s = &p->call.shape;
    float *y = run(kernel, &p->call, in, p->n_out, 1);
    plus_one post = {{add_one}, buffer((size_t)p->n_out * sizeof(float)), s->dims[s->rank - 1]};
    asc_kargs a = {.call = &p->call, .in = {in[0], in[1]}, .out = post.y, .n_threads = 3, .post = &post.post};
    a.scratch = buffer(kernel->scratch(&p->call, 3));
    kernel->run(&a);
    for (int64_t e = 0; e < p->n_out; e++) assert_true(post.y[e] == y[e] + 1);
    free(y);
    free(post.y);
    free(a.scratch);
}

/* The first y becomes *all; each one behind it is of the first few of its rows, has the same bits, and is
 * freed. */
static inline void same_rows(float **all, float *y, int64_t n_out) {
    if (*all == NULL) {
        *all = y;
        return;
    }
    assert_memory_equal(*all, y, (size_t)n_out * sizeof(float));
    free(y);
}

/* A problem at `highest`: m rows times stored weights, [n,k] with tb. */
static inline void highest_init(problem *p, asc_ctx *ctx, asc_dtype t, bool tb, int64_t m, int64_t n,
                                int64_t k) {
    matmul_init(p, ctx, t, ASC_SHAPE(m, k), tb ? ASC_SHAPE(n, k) : ASC_SHAPE(k, n), false, tb);
    p->call.level = ASC_PRECISION_HIGHEST;
}

/* A kernel of tiles at `highest`: a row's bits are those of the row among fewer. */
static inline void rows_check(const asc_kernel *kernel, asc_ctx *ctx, rng *r, asc_dtype t, bool tb, int64_t n,
                              int64_t k) {
    static const int64_t rows[] = {1100, 448, 57, 48, 10, 9, 1};
    float *values, *x = random_floats(r, rows[0] * k), *all = NULL;
    uint8_t *w = stored(r, t, n * k, &values);
    const void *in[2] = {x, w};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        problem p;
        highest_init(&p, ctx, t, tb, rows[i], n, k);
        p.call.many_rows = rows[i] < 9;
        assert_ptr_equal(asc_kernel_pick(&p.call, ASC_ISA_AMX), kernel);
        same_rows(&all, run(kernel, &p.call, in, p.n_out, 2), p.n_out);
    }
    free(all);
    free(x);
    free(w);
    free(values);
}

/* epilogue_check at `highest` with stored weights. */
static inline void stored_epilogue_check(const asc_kernel *kernel, asc_ctx *ctx, rng *r, asc_dtype t, bool tb,
                                         int64_t m, int64_t n, int64_t k) {
    problem p;
    highest_init(&p, ctx, t, tb, m, n, k);
    float *values, *x = random_floats(r, m * k);
    uint8_t *w = stored(r, t, n * k, &values);
    const void *in[2] = {x, w};
    epilogue_check(kernel, &p, in);
    free(x);
    free(w);
    free(values);
}

#endif
