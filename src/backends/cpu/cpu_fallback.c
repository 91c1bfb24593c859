/* cpu_fallback.c - ops without a fast kernel: inputs are widened to f64 in scratch (pointwise ops: in blocks
 * on the stack), the op's reference kernel runs, and the result is narrowed. Slow, but right for every op.
 * Conversions between host and device numbers live here too. */
#include "cpu_device.h"
#include "kutil.h"
#include <math.h>
#include <string.h>

static double f64_to_int(double x, double lo, double hi) {
    return isnan(x) ? 0 : trunc(fmin(fmax(x, lo), hi));
}

/* One element of a plain type as a double, and back. */
static inline double load(asc_dtype t, const void *src, int64_t i) {
    switch (t) {
    case ASC_DTYPE_F32:
        return (double)((const float *)src)[i];
    case ASC_DTYPE_F64:
        return ((const double *)src)[i];
    case ASC_DTYPE_I8:
        return (double)((const int8_t *)src)[i];
    case ASC_DTYPE_I16:
        return (double)((const int16_t *)src)[i];
    case ASC_DTYPE_I32:
        return (double)((const int32_t *)src)[i];
    case ASC_DTYPE_I64:
        return (double)((const int64_t *)src)[i];
    case ASC_DTYPE_BOOL:
        return (double)(((const uint8_t *)src)[i] != 0);
    default:
        return NAN;
    }
}

static inline void store(asc_dtype t, void *dst, int64_t i, double x) {
    switch (t) {
    case ASC_DTYPE_F32:
        ((float *)dst)[i] = (float)x;
        break;
    case ASC_DTYPE_F64:
        ((double *)dst)[i] = x;
        break;
    case ASC_DTYPE_I32:
        ((int32_t *)dst)[i] = (int32_t)f64_to_int(x, INT32_MIN, INT32_MAX);
        break;
    case ASC_DTYPE_BOOL:
        ((uint8_t *)dst)[i] = x != 0;
        break;
    default:
        break;
    }
}

/* Stored weights, a stretch of whole blocks at a time through the stack. */
static void convert_stored(asc_dtype from, const void *src, asc_dtype to, void *dst, int64_t n) {
    enum { STEP = 1024 }; /* a multiple of every block size */
    asc_expand_fn expand = asc_dtype_expand(from);
    const asc_dtype_info *info = asc_dtype_of(from);
    float buf[STEP];
    for (int64_t at = 0; at < n; at += STEP) {
        int64_t len = n - at < STEP ? n - at : STEP;
        expand((const uint8_t *)src + at / info->block_elems * info->block_bytes, buf, len);
        for (int64_t i = 0; i < len; i++) store(to, dst, at + i, (double)buf[i]);
    }
}

void asc_cpu_convert(asc_dtype from, const void *src, asc_dtype to, void *dst, int64_t n) {
    if (to == ASC_DTYPE_F32 && asc_dtype_expand(from) != NULL) {
        asc_dtype_expand(from)(src, dst, n);
    } else if (asc_dtype_of(from)->is_weight_only) {
        convert_stored(from, src, to, dst, n);
    } else {
        for (int64_t i = 0; i < n; i++) store(to, dst, i, load(from, src, i));
    }
}

/* Pointwise ops whose inputs have the result's elements, or one, go through the stack a block at a time. */
enum { FALLBACK_BLOCK = 512, FALLBACK_IN = 3 };

static bool in_blocks(const asc_call *c) {
    const int64_t n = asc_shape_elems(&c->shape);
    if (c->op->fuse != ASC_FUSE_POINTWISE || c->n_in > FALLBACK_IN || c->dtype != ASC_DTYPE_F32) return false;
    for (int k = 0; k < c->n_in; k++) {
        const int64_t n_k = asc_shape_elems(&c->in_shape[k]);
        if (c->in_dtype[k] != ASC_DTYPE_F32 || (n_k != n && n_k != 1)) return false;
    }
    return true;
}

typedef struct block_job {
    const asc_kargs *a;
    int64_t n, n_in[FALLBACK_IN];
} block_job;

static void block_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const block_job *j = self;
    const asc_call *c = j->a->call;
    const int64_t at = u * FALLBACK_BLOCK, n = j->n - at < FALLBACK_BLOCK ? j->n - at : FALLBACK_BLOCK;
    double y[FALLBACK_BLOCK], x[FALLBACK_IN][FALLBACK_BLOCK];
    asc_ref_args ref = {.attrs = c->attrs, .n_in = c->n_in, .n_threads = 1};
    ref.out = (asc_nd){.data = y, .rank = 1, .dims = {n}, .strides = {1}};
    for (int k = 0; k < c->n_in; k++) {
        const float *in = j->a->in[k];
        const int64_t n_k = j->n_in[k] == 1 ? 1 : n;
        for (int64_t i = 0; i < n_k; i++) x[k][i] = (double)in[(j->n_in[k] == 1 ? 0 : at) + i];
        ref.in[k] = (asc_nd){.data = x[k], .rank = 1, .dims = {n_k}, .strides = {1}};
    }
    c->op->ref(&ref);
    for (int64_t i = 0; i < n; i++) ((float *)j->a->out)[at + i] = (float)y[i];
}

static void run_blocks(const asc_kargs *a) {
    block_job j = {.a = a, .n = asc_shape_elems(&a->call->shape)};
    for (int k = 0; k < a->call->n_in; k++) j.n_in[k] = asc_shape_elems(&a->call->in_shape[k]);
    asc_kpar(asc_kceil(j.n, FALLBACK_BLOCK), asc_kthreads(a, 8 * (double)j.n), false, block_unit, &j);
}

size_t asc_cpu_fallback_scratch(const asc_call *c) {
    if (in_blocks(c)) return 0;
    size_t total = asc_cpu_array_bytes(ASC_DTYPE_F64, asc_shape_elems(&c->shape));
    for (int k = 0; k < c->n_in; k++) {
        size_t bytes = asc_cpu_array_bytes(ASC_DTYPE_F64, asc_shape_elems(&c->in_shape[k]));
        if (!asc_add_size(total, bytes, &total)) return SIZE_MAX;
    }
    return total;
}

static void *widen(const asc_shape *shape, void *at, asc_nd *out) {
    out->data = at;
    out->rank = shape->rank;
    memcpy(out->dims, shape->dims, sizeof out->dims);
    asc_shape_strides(shape, out->strides);
    return (uint8_t *)at + asc_cpu_array_bytes(ASC_DTYPE_F64, asc_shape_elems(shape));
}

void asc_cpu_fallback_run(const asc_kargs *a) {
    const asc_call *c = a->call;
    if (in_blocks(c)) {
        run_blocks(a);
        return;
    }
    asc_ref_args ref = {.attrs = c->attrs, .n_in = c->n_in, .n_threads = a->n_threads};
    void *at = widen(&c->shape, a->scratch, &ref.out);
    for (int k = 0; k < c->n_in; k++) {
        at = widen(&c->in_shape[k], at, &ref.in[k]);
        asc_cpu_convert(c->in_dtype[k], a->in[k], ASC_DTYPE_F64, ref.in[k].data,
                        asc_shape_elems(&c->in_shape[k]));
    }
    c->op->ref(&ref);
    asc_cpu_convert(ASC_DTYPE_F64, ref.out.data, c->dtype, a->out, asc_shape_elems(&c->shape));
}
