/* kernel_check.h - runs every fast kernel that takes a call on this machine against the op's reference in
 * f64, on the same f32 inputs, and compares element by element with an error model. Also demands: nothing
 * written outside the result, the same bits for 1 and 2 threads, and the same bits in place. Used by
 * test_cpu_kernels.c and test_cpu_sdpa.c. */
#ifndef ASC_TEST_KERNEL_CHECK_H
#define ASC_TEST_KERNEL_CHECK_H

#include "harness.h"

#include <float.h>
#include <math.h>

#include "kernel.h"

typedef struct kcheck {
    asc_ctx *ctx;
    asc_call call;
    asc_attrs attrs;
    int64_t n_in[ASC_MAX_IN], n_out;
    float *in[ASC_MAX_IN];    /* f32, or i32 in the same storage */
    double *in64[ASC_MAX_IN]; /* the same values */
    double *want;
    double *tol;     /* allowed absolute error of each element */
    bool exact_zero; /* the sign of a zero counts */
    int kernels;     /* how many were compared */
} kcheck;

static uint64_t kc_state = 88172645463325252u;
static inline double kc_uniform(double lo, double hi) {
    kc_state ^= kc_state << 13;
    kc_state ^= kc_state >> 7;
    kc_state ^= kc_state << 17;
    return lo + (hi - lo) * ((double)(kc_state >> 11) / 9007199254740992.0);
}

static inline int64_t kc_elems(const asc_shape *s) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) n *= s->dims[i];
    return n;
}

static inline void *kc_alloc(size_t bytes) {
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes + 256) != 0) fail_msg("out of memory");
    return p;
}

static inline asc_nd kc_nd(double *data, const asc_shape *s) {
    asc_nd nd = {.data = data, .rank = s->rank};
    int64_t step = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        nd.dims[i] = s->dims[i];
        nd.strides[i] = step;
        step *= s->dims[i];
    }
    return nd;
}

/* Sets up a call; false (and nothing to end) if the op refuses it. Inputs are drawn uniformly from [lo, hi).
 */
static inline bool kc_begin(kcheck *k, asc_ctx *ctx, const asc_op *op, const asc_sample *s) {
    *k = (kcheck){.ctx = ctx, .attrs = s->attrs};
    k->call = (asc_call){.op = op, .attrs = &k->attrs, .n_in = s->n_in};
    for (int i = 0; i < s->n_in; i++) {
        k->call.in_dtype[i] = s->in_dtype[i];
        k->call.in_shape[i] = s->in_shape[i];
        if (s->in_dtype[i] != ASC_DTYPE_F32 && s->in_dtype[i] != ASC_DTYPE_I32) return false;
    }
    if (op->infer(ctx, &k->call) != ASC_OK) fail_msg("%s: %s", op->name, asc_error_message(ctx));
    k->n_out = kc_elems(&k->call.shape);
    k->want = kc_alloc((size_t)k->n_out * sizeof(double));
    k->tol = kc_alloc((size_t)k->n_out * sizeof(double));
    for (int i = 0; i < s->n_in; i++) {
        k->n_in[i] = kc_elems(&s->in_shape[i]);
        k->in[i] = kc_alloc((size_t)k->n_in[i] * sizeof(float));
        k->in64[i] = kc_alloc((size_t)k->n_in[i] * sizeof(double));
        for (int64_t e = 0; e < k->n_in[i]; e++) {
            double v = kc_uniform(s->lo[i], s->hi[i]);
            if (s->in_dtype[i] == ASC_DTYPE_I32)
                ((int32_t *)(void *)k->in[i])[e] = (int32_t)floor(v);
            else
                k->in[i][e] = (float)v;
        }
    }
    return true;
}

/* Computes the reference; call after the inputs are final. */
static inline void kc_reference(kcheck *k) {
    asc_ref_args a = {.attrs = &k->attrs, .n_in = k->call.n_in, .n_threads = 1};
    for (int i = 0; i < k->call.n_in; i++) {
        for (int64_t e = 0; e < k->n_in[i]; e++)
            k->in64[i][e] = k->call.in_dtype[i] == ASC_DTYPE_I32 ? (double)((int32_t *)(void *)k->in[i])[e]
                                                                 : (double)k->in[i][e];
        a.in[i] = kc_nd(k->in64[i], &k->call.in_shape[i]);
    }
    a.out = kc_nd(k->want, &k->call.shape);
    k->call.op->ref(&a);
    for (int64_t e = 0; e < k->n_out; e++) k->tol[e] = 0;
}

static inline void kc_end(kcheck *k) {
    for (int i = 0; i < k->call.n_in; i++) {
        free(k->in[i]);
        free(k->in64[i]);
    }
    free(k->want);
    free(k->tol);
}

/* Distance to the next f32 number. */
static inline double kc_ulp(double x) {
    double a = fabs(x);
    if (!(a < (double)FLT_MAX)) return ldexp(1, 104);
    return a < (double)FLT_MIN ? ldexp(1, -149) : ldexp(1, ilogb(a) - 23);
}

static inline bool kc_same(float got, double want, double tol, bool exact_zero) {
    if (isnan(want)) return isnan(got);
    if (isnan(got)) return false;
    if (isinf(want)) return (double)got == want;
    if (isinf(got)) return fabs(want) + tol + ldexp(1, 103) > (double)FLT_MAX && (got > 0) == (want > 0);
    if (exact_zero && want == 0 && got == 0.0f && (signbit(want) != 0) != (signbit(got) != 0)) return false;
    return fabs((double)got - want) <= tol;
}

static inline void kc_run(const kcheck *k, const asc_kernel *kn, float *out, int threads, int in_place) {
    asc_kargs a = {.call = &k->call, .out = out, .n_threads = threads};
    for (int i = 0; i < k->call.n_in; i++) a.in[i] = k->in[i];
    if (in_place >= 0) {
        memcpy(out, k->in[in_place], (size_t)k->n_out * sizeof(float));
        a.in[in_place] = out;
    }
    size_t need = kn->scratch != NULL ? kn->scratch(&k->call, threads) : 0;
    uint8_t *scratch = kc_alloc(need);
    memset(scratch, 0x7f, need + 64); /* as if another kernel had used it: large numbers, and a guard */
    a.scratch = scratch;
    kn->run(&a);
    for (int i = 0; i < 64; i++)
        if (scratch[need + (size_t)i] != 0x7f) fail_msg("%s: writes behind its scratch", kn->name);
    free(scratch);
}

static inline float *kc_out(int64_t n) {
    float *out = kc_alloc((size_t)n * sizeof(float));
    memset(out, 0xa5, (size_t)n * sizeof(float) + 64);
    return out;
}

static inline void kc_compare(kcheck *k, const asc_kernel *kn) {
    const size_t bytes = (size_t)k->n_out * sizeof(float);
    char shape[128];
    float *one = kc_out(k->n_out), *more = kc_out(k->n_out);
    asc_shape_text(&k->call.shape, shape);
    kc_run(k, kn, one, 1, -1);
    for (int64_t e = 0; e < k->n_out; e++) {
        float got = k->call.dtype == ASC_DTYPE_I32 ? (float)((int32_t *)(void *)one)[e] : one[e];
        if (!kc_same(got, k->want[e], k->tol[e], k->exact_zero))
            fail_msg(
                "%s (%s) %s: element %lld is %.9g, not %.17g (error %.3g, allowed %.3g; first input %.9g)",
                kn->name, asc_isa_name(kn->isa), shape, (long long)e, (double)got, k->want[e],
                fabs((double)got - k->want[e]), k->tol[e],
                k->call.n_in > 0 && e < k->n_in[0] ? (double)k->in[0][e] : 0.0);
    }
    for (int i = 0; i < 64; i++)
        if (((uint8_t *)one)[bytes + (size_t)i] != 0xa5)
            fail_msg("%s %s: writes behind its result", kn->name, shape);
    kc_run(k, kn, more, 2, -1);
    if (memcmp(one, more, bytes) != 0) fail_msg("%s %s: other bits with 2 threads", kn->name, shape);
    for (int i = 0; (k->call.op->flags & ASC_OP_INPLACE) != 0 && i < k->call.n_in; i++) {
        if (!asc_shape_eq(&k->call.in_shape[i], &k->call.shape)) continue;
        kc_run(k, kn, more, 1, i);
        if (memcmp(one, more, bytes) != 0)
            fail_msg("%s %s: other bits in place of input %d", kn->name, shape, i);
    }
    free(one);
    free(more);
    k->kernels++;
}

/* All kernels of the op that this machine can run and that accept the call. */
static inline void kc_compare_all(kcheck *k) {
    for (size_t i = 0; i < asc_n_kernels; i++) {
        const asc_kernel *kn = asc_kernels[i];
        if (kn->opcode == k->call.op->opcode && kn->isa <= asc_cpu_best_isa() &&
            (kn->fits == NULL || kn->fits(&k->call)))
            kc_compare(k, kn);
    }
}

#endif
