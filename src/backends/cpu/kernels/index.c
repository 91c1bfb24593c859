/* index.c - kernels that choose elements by i32 indices, make constants, or change the type; and sin and cos,
 * which leave the argument reduction to the C library. An index outside counts for the nearest valid one, as
 * the ops define. */
#include <math.h>

#include "kutil.h"

static int64_t index_of(int32_t i, int64_t n) { return i < 0 ? 0 : asc_kmin(i, n - 1); }

enum { SCATTER_COLUMNS = 256 };

typedef struct scatter_job {
    const float *rows;
    const int32_t *index;
    float *out;
    int64_t n_rows, n_out, d;
} scatter_job;

/* A strip of columns of the result: one owner, additions in the order of the rows. */
static void scatter_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const scatter_job *j = self;
    int64_t c0 = u * SCATTER_COLUMNS, n = asc_kmin(SCATTER_COLUMNS, j->d - c0);
    for (int64_t r = 0; r < j->n_out; r++) memset(j->out + r * j->d + c0, 0, (size_t)n * sizeof(float));
    for (int64_t r = 0; r < j->n_rows; r++) {
        float *y = j->out + index_of(j->index[r], j->n_out) * j->d + c0;
        const float *x = j->rows + r * j->d + c0;
        for (int64_t i = 0; i < n; i++) y[i] += x[i];
    }
}

static void run_scatter_add(const asc_kargs *a) {
    const asc_shape *x = &a->call->in_shape[0];
    int lead = a->call->in_shape[1].rank;
    scatter_job j = {.rows = a->in[0], .index = a->in[1], .out = a->out, .n_rows = asc_kspan(x, 0, lead)};
    j.d = asc_kspan(x, lead, x->rank);
    j.n_out = a->call->shape.dims[0];
    double work = (double)(j.n_rows + j.n_out) * (double)j.d;
    asc_kpar(asc_kceil(j.d, SCATTER_COLUMNS), asc_kthreads(a, work), false, scatter_unit, &j);
}

static void run_take_last(const asc_kargs *a) {
    const float *x = a->in[0];
    const int32_t *index = a->in[1];
    float *y = a->out;
    int64_t n = asc_klast(&a->call->in_shape[0]), rows = asc_kelems(&a->call->shape);
    for (int64_t r = 0; r < rows; r++) y[r] = x[r * n + index_of(index[r], n)];
}

static void run_put_last(const asc_kargs *a) {
    const float *g = a->in[0];
    const int32_t *index = a->in[1];
    float *y = a->out;
    int64_t n = asc_klast(&a->call->shape), rows = asc_kelems(&a->call->in_shape[0]);
    if (rows * n > 0) memset(y, 0, (size_t)(rows * n) * sizeof(float));
    for (int64_t r = 0; r < rows && n > 0; r++) y[r * n + index_of(index[r], n)] = g[r];
}

static void run_full(const asc_kargs *a) {
    float *y = a->out, v = (float)asc_kfloat(a->call, "value");
    int64_t n = asc_kelems(&a->call->shape);
    for (int64_t i = 0; i < n; i++) y[i] = v;
}

static void run_iota(const asc_kargs *a) {
    float *y = a->out;
    double start = asc_kfloat(a->call, "start"), step = asc_kfloat(a->call, "step");
    int64_t n = asc_kelems(&a->call->shape);
    for (int64_t i = 0; i < n; i++) y[i] = (float)(start + (double)i * step);
}

static int32_t cut_to_int(float x) {
    if (x != x) return 0;
    if (x < -2147483648.0f) return INT32_MIN;
    return x >= 2147483648.0f ? INT32_MAX : (int32_t)x;
}

static void run_cast(const asc_kargs *a) {
    int64_t n = asc_kelems(&a->call->shape);
    if (a->call->in_dtype[0] == a->call->dtype) {
        if (n > 0 && a->out != a->in[0]) memcpy(a->out, a->in[0], (size_t)n * sizeof(float));
    } else if (a->call->dtype == ASC_DTYPE_F32) {
        const int32_t *x = a->in[0];
        float *y = a->out;
        for (int64_t i = 0; i < n; i++) y[i] = (float)x[i];
    } else {
        const float *x = a->in[0];
        int32_t *y = a->out;
        for (int64_t i = 0; i < n; i++) y[i] = cut_to_int(x[i]);
    }
}

static bool plain(asc_dtype t) { return t == ASC_DTYPE_F32 || t == ASC_DTYPE_I32; }
static bool cast_fits(const asc_call *c) { return plain(c->dtype) && plain(c->in_dtype[0]); }
static bool index_fits(const asc_call *c) {
    return c->dtype == ASC_DTYPE_F32 && c->in_dtype[0] == ASC_DTYPE_F32 && c->in_dtype[1] == ASC_DTYPE_I32;
}

typedef struct trig_job {
    const float *x;
    float *y;
    int64_t n;
    float (*fn)(float);
} trig_job;

enum { TRIG_BLOCK = 1024 };

static void trig_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const trig_job *j = self;
    int64_t end = asc_kmin((u + 1) * TRIG_BLOCK, j->n);
    for (int64_t i = u * TRIG_BLOCK; i < end; i++) j->y[i] = j->fn(j->x[i]);
}

static void trig_run(const asc_kargs *a, float (*fn)(float)) {
    trig_job j = {a->in[0], a->out, asc_kelems(&a->call->shape), fn};
    asc_kpar(asc_kceil(j.n, TRIG_BLOCK), asc_kthreads(a, (double)j.n * 8), false, trig_unit, &j);
}

static void run_sin(const asc_kargs *a) { trig_run(a, sinf); }
static void run_cos(const asc_kargs *a) { trig_run(a, cosf); }

#define INDEX_KERNEL(OPCODE, op, when)                                                                       \
    const asc_kernel asc_kernel_##op = {                                                                     \
        .name = #op, .opcode = ASC_OPCODE_##OPCODE, .isa = ASC_ISA_BASELINE, .fits = when, .run = run_##op};
INDEX_KERNEL(SCATTER_ADD, scatter_add, index_fits)
INDEX_KERNEL(TAKE_LAST, take_last, index_fits)
INDEX_KERNEL(PUT_LAST, put_last, index_fits)
INDEX_KERNEL(FULL, full, asc_kfits_f32)
INDEX_KERNEL(IOTA, iota, asc_kfits_f32)
INDEX_KERNEL(CAST, cast, cast_fits)
INDEX_KERNEL(SIN, sin, asc_kfits_f32)
INDEX_KERNEL(COS, cos, asc_kfits_f32)
