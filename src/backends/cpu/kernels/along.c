/* along.c - kernels of one axis of [outer, n, inner] arrays: take_along, put_along, cumsum. The first two
 * take calls whose other axes agree in length (the usual ones); a shorter index falls back to the reference.
 */
#include "kutil.h"

typedef struct along_job {
    const float *in;
    const int32_t *index;
    float *out;
    int64_t n_in, n_index, n_out, inner,
        blocks; /* lengths of the axis; a unit is one of `blocks` pieces of inner */
    bool exclusive, reverse;
} along_job;

enum { ALONG_BLOCK = 256 }; /* columns that share a unit */

static int64_t nearest(int32_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }

/* The outer index of unit u and its columns [*begin, *end). */
static int64_t columns(const along_job *j, int64_t u, int64_t *begin, int64_t *end) {
    *begin = u % j->blocks * ALONG_BLOCK;
    *end = asc_kmin(*begin + ALONG_BLOCK, j->inner);
    return u / j->blocks;
}

static void take_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const along_job *j = self;
    int64_t begin, end, o = columns(j, u, &begin, &end);
    const float *in = j->in + o * j->n_in * j->inner;
    for (int64_t m = 0; m < j->n_index; m++) {
        const int64_t row = (o * j->n_index + m) * j->inner;
        for (int64_t i = begin; i < end; i++)
            j->out[row + i] = in[nearest(j->index[row + i], j->n_in) * j->inner + i];
    }
}

/* Adds in the order of the values, as the reference. */
static void put_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const along_job *j = self;
    int64_t begin, end, o = columns(j, u, &begin, &end);
    float *out = j->out + o * j->n_out * j->inner;
    for (int64_t m = 0; m < j->n_out; m++)
        for (int64_t i = begin; i < end; i++) out[m * j->inner + i] = 0;
    for (int64_t m = 0; m < j->n_index; m++) {
        const int64_t row = (o * j->n_index + m) * j->inner;
        for (int64_t i = begin; i < end; i++)
            out[nearest(j->index[row + i], j->n_out) * j->inner + i] += j->in[row + i];
    }
}

static void cumsum_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const along_job *j = self;
    int64_t begin, end, o = columns(j, u, &begin, &end);
    double sum[ALONG_BLOCK] = {0};
    for (int64_t m = 0; m < j->n_in; m++) {
        const int64_t row = (o * j->n_in + (j->reverse ? j->n_in - 1 - m : m)) * j->inner;
        for (int64_t i = begin; i < end; i++) {
            const double next = sum[i - begin] + (double)j->in[row + i];
            j->out[row + i] = (float)(j->exclusive ? sum[i - begin] : next);
            sum[i - begin] = next;
        }
    }
}

static void along_run(const asc_kargs *a, along_job *j, const asc_shape *s, int axis,
                      void (*unit)(void *, int64_t, int)) {
    const int64_t outer = asc_kspan(s, 0, axis);
    j->in = a->in[0];
    j->out = a->out;
    j->inner = asc_kspan(s, axis + 1, s->rank);
    j->blocks = asc_kceil(j->inner, ALONG_BLOCK);
    const double work = (double)(outer * j->inner) * (double)(j->n_in + j->n_index + j->n_out);
    asc_kpar(outer * j->blocks, asc_kthreads(a, work), false, unit, j);
}

static void run_take(const asc_kargs *a) {
    const asc_shape *from = &a->call->in_shape[0], *to = &a->call->shape;
    const int axis = (int)asc_kint(a->call, "axis");
    along_job j = {.index = a->in[1], .n_in = from->dims[axis], .n_index = to->dims[axis]};
    along_run(a, &j, to, axis, take_unit);
}

static void run_put(const asc_kargs *a) {
    const asc_shape *from = &a->call->in_shape[0], *to = &a->call->shape;
    const int axis = (int)asc_kint(a->call, "axis");
    along_job j = {.index = a->in[1], .n_index = from->dims[axis], .n_out = to->dims[axis]};
    along_run(a, &j, to, axis, put_unit);
}

static void run_cumsum(const asc_kargs *a) {
    const int axis = (int)asc_kint(a->call, "axis");
    along_job j = {.n_in = a->call->shape.dims[axis]};
    j.exclusive = asc_kint(a->call, "exclusive") != 0;
    j.reverse = asc_kint(a->call, "reverse") != 0;
    along_run(a, &j, &a->call->shape, axis, cumsum_unit);
}

/* f32 by i32, and equal lengths but on the axis. */
static bool fits(const asc_call *c) {
    const int64_t axis = asc_kint(c, "axis");
    if (c->dtype != ASC_DTYPE_F32 || c->in_dtype[0] != ASC_DTYPE_F32) return false;
    for (int k = 0; k < c->shape.rank; k++)
        if (k != axis && c->in_shape[0].dims[k] != c->shape.dims[k]) return false;
    return true;
}

#define ALONG_KERNEL(OPCODE, op, fn)                                                                         \
    const asc_kernel asc_kernel_##op = {                                                                     \
        .name = #op, .opcode = ASC_OPCODE_##OPCODE, .isa = ASC_ISA_BASELINE, .fits = fits, .run = fn};
ALONG_KERNEL(TAKE_ALONG, take_along, run_take)
ALONG_KERNEL(PUT_ALONG, put_along, run_put)
ALONG_KERNEL(CUMSUM, cumsum, run_cumsum)
