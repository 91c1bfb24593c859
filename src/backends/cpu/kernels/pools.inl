/* pools.inl - max_pool, max_pool_index, avg_pool and its gradient, pool_take, pool_put: one thread a plane. A
 * row of windows is built up tap by tap, in row-major order of the taps, so that loops run along the row; the
 * order of additions is that of the taps (avg_pool), of the windows (avg_pool_grad, pool_put). */
#include "kutil.h"
#include "vec.h"
#include "window.h"

enum { POOL_ROW = 256, POOL_TAPS = 32 }; /* windows of a row at once; taps whose limits are kept */

typedef struct pool_job {
    asc_geometry geo;
    const float *x;
    const int32_t *index;
    float *y;
    int32_t *at;
    int64_t n_in, n_out; /* elements of a plane */
    bool include_pad;
    int64_t first[POOL_TAPS], end[POOL_TAPS]; /* windows of a row whose tap is inside */
} pool_job;

static void pool_limits(const pool_job *j, int64_t t, int64_t *first, int64_t *end) {
    const asc_geometry *g = &j->geo;
    if (t < POOL_TAPS) {
        *first = j->first[t];
        *end = j->end[t];
    } else {
        asc_window_valid(t * g->dilation[2] - g->before[2], g->stride[2], g->in[2], g->out[2], first, end);
    }
}

static pool_job pool_job_of(const asc_kargs *a, bool back) {
    const asc_call *c = a->call;
    const asc_shape *big = back ? &c->shape : &c->in_shape[0], *small = back ? &c->in_shape[0] : &c->shape;
    pool_job j = {
        .x = a->in[0], .n_in = asc_kspan(big, 2, big->rank), .n_out = asc_kspan(small, 2, small->rank)};
    if (c->n_in > 1) {
        j.index = a->in[1];
        return j;
    }
    asc_geometry_of(c->attrs, big->rank - 2, big->dims + 2, c->attrs->i + ASC_WIN_KERNEL,
                    c->attrs->i[ASC_WIN_CEIL] != 0, &j.geo);
    const asc_geometry *g = &j.geo;
    for (int64_t t = 0; t < asc_kmin(g->kernel[2], POOL_TAPS); t++)
        asc_window_valid(t * g->dilation[2] - g->before[2], g->stride[2], g->in[2], g->out[2], &j.first[t],
                         &j.end[t]);
    return j;
}

static void pool_planes(const asc_kargs *a, pool_job *j, void (*fn)(void *self, int64_t u, int thread)) {
    const int64_t planes = a->call->shape.dims[0] * a->call->shape.dims[1];
    asc_kpar(planes, asc_kthreads(a, (double)(planes * asc_kmax(j->n_in, j->n_out))), false, fn, j);
}

/* best and at over `n` windows, x at the tap of the first; place: plane index of that element. */
VEC_INLINE void pool_max_tap(const float *x, int64_t n, const int64_t step, int32_t place, float *best,
                             int32_t *at) {
    for (int64_t i = 0; i < n; i++) {
        const float v = x[i * step], b = best[i];
        const bool take = (at[i] < 0) | (v > b) | ((v != v) & (b == b));
        best[i] = take ? v : b;
        at[i] = take ? place + (int32_t)(i * step) : at[i];
    }
}

/* Without places: -infinity to begin with is smaller than or equal to everything. */
VEC_INLINE void pool_max_value(const float *x, int64_t n, const int64_t step, float *best) {
    for (int64_t i = 0; i < n; i++) {
        const float v = x[i * step], b = best[i];
        best[i] = (v > b) | ((v != v) & (b == b)) ? v : b;
    }
}

static void pool_max_row(const pool_job *j, const float *x, const int64_t *o, int64_t begin, int64_t n,
                         float *best, int32_t *at) {
    const asc_geometry *g = &j->geo;
    for (int64_t i = 0; i < n; i++) best[i] = -INFINITY;
    for (int64_t i = 0; i < n && at != NULL; i++) at[i] = -1;
    for (int64_t t = 0; t < g->kernel[0] * g->kernel[1]; t++) {
        const int64_t i0 = o[0] * g->stride[0] - g->before[0] + t / g->kernel[1] * g->dilation[0],
                      i1 = o[1] * g->stride[1] - g->before[1] + t % g->kernel[1] * g->dilation[1];
        if (i0 < 0 || i0 >= g->in[0] || i1 < 0 || i1 >= g->in[1]) continue;
        for (int64_t t2 = 0; t2 < g->kernel[2]; t2++) {
            const int64_t off = t2 * g->dilation[2] - g->before[2], s = g->stride[2];
            int64_t first, end;
            pool_limits(j, t2, &first, &end);
            first = asc_kmax(first, begin);
            end = asc_kmin(end, begin + n);
            if (first >= end) continue;
            const int64_t place = (i0 * g->in[1] + i1) * g->in[2] + first * s + off, len = end - first;
            float *b = best + first - begin;
            if (at == NULL && s == 1)
                pool_max_value(x + place, len, 1, b);
            else if (at == NULL && s == 2)
                pool_max_value(x + place, len, 2, b);
            else if (at == NULL)
                pool_max_value(x + place, len, s, b);
            else if (s == 2)
                pool_max_tap(x + place, len, 2, (int32_t)place, b, at + first - begin);
            else
                pool_max_tap(x + place, len, s, (int32_t)place, b, at + first - begin);
        }
    }
}

static void pool_max_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const pool_job *j = self;
    const asc_geometry *g = &j->geo;
    const float *x = j->x + u * j->n_in;
    float row[POOL_ROW];
    int64_t o[2], to = u * j->n_out;
    for (o[0] = 0; o[0] < g->out[0]; o[0]++)
        for (o[1] = 0; o[1] < g->out[1]; o[1]++)
            for (int64_t begin = 0; begin < g->out[2]; begin += POOL_ROW) {
                const int64_t n = asc_kmin(POOL_ROW, g->out[2] - begin);
                pool_max_row(j, x, o, begin, n, j->at != NULL ? row : j->y + to,
                             j->at != NULL ? j->at + to : NULL);
                to += n;
            }
}

static void run_max_pool(const asc_kargs *a) {
    pool_job j = pool_job_of(a, false);
    j.y = a->out;
    pool_planes(a, &j, pool_max_unit);
}

static void run_max_pool_index(const asc_kargs *a) {
    pool_job j = pool_job_of(a, false);
    j.at = a->out;
    pool_planes(a, &j, pool_max_unit);
}

/* What avg_pool divides by along axis d at position o: elements, or positions of the padded input. */
static int64_t pool_count(const pool_job *j, int d, int64_t o) {
    const asc_geometry *g = &j->geo;
    const int64_t start = o * g->stride[d] - g->before[d], step = g->dilation[d],
                  limit = g->in[d] + (j->include_pad ? g->after[d] : 0);
    if (start >= 0 && start + (g->kernel[d] - 1) * step < limit) return g->kernel[d];
    const int64_t skip = start < 0 && !j->include_pad ? (-start + step - 1) / step : 0,
                  end = start < limit ? asc_kmin((limit - start - 1) / step + 1, g->kernel[d]) : 0;
    return asc_kmax(end - skip, 0);
}

/* Taps of a row of windows: adds x to acc, or acc to x (the gradient). */
static void pool_add_row(const pool_job *j, const int64_t *o, int64_t begin, int64_t n, float *plane,
                         float *acc, bool back) {
    const asc_geometry *g = &j->geo;
    for (int64_t t = 0; t < g->kernel[0] * g->kernel[1]; t++) {
        const int64_t i0 = o[0] * g->stride[0] - g->before[0] + t / g->kernel[1] * g->dilation[0],
                      i1 = o[1] * g->stride[1] - g->before[1] + t % g->kernel[1] * g->dilation[1];
        if (i0 < 0 || i0 >= g->in[0] || i1 < 0 || i1 >= g->in[1]) continue;
        for (int64_t t2 = 0; t2 < g->kernel[2]; t2++) {
            const int64_t off = t2 * g->dilation[2] - g->before[2], s = g->stride[2];
            int64_t first, end;
            pool_limits(j, t2, &first, &end);
            first = asc_kmax(first, begin);
            end = asc_kmin(end, begin + n);
            float *x = plane + (i0 * g->in[1] + i1) * g->in[2] + first * s + off, *b = acc + first - begin;
            const int64_t len = end - first;
            if (!back && s == 2)
                for (int64_t i = 0; i < len; i++) b[i] += x[i * 2];
            else if (!back)
                for (int64_t i = 0; i < len; i++) b[i] += x[i * s];
            else
                for (int64_t i = 0; i < len; i++) x[i * s] += b[i];
        }
    }
}

static void pool_avg_rows(const pool_job *j, float *plane, const float *g_in, float *out, bool back) {
    const asc_geometry *g = &j->geo;
    float acc[POOL_ROW];
    int64_t o[2], to = 0;
    for (o[0] = 0; o[0] < g->out[0]; o[0]++)
        for (o[1] = 0; o[1] < g->out[1]; o[1]++) {
            const int64_t rows = pool_count(j, 0, o[0]) * pool_count(j, 1, o[1]);
            for (int64_t begin = 0; begin < g->out[2]; begin += POOL_ROW) {
                const int64_t n = asc_kmin(POOL_ROW, g->out[2] - begin);
                for (int64_t i = 0; i < n; i++) {
                    const float count = (float)(rows * pool_count(j, 2, begin + i));
                    acc[i] = back && count > 0 ? g_in[to + i] / count : 0;
                }
                pool_add_row(j, o, begin, n, plane, acc, back);
                for (int64_t i = 0; i < n && !back; i++) {
                    const float count = (float)(rows * pool_count(j, 2, begin + i));
                    out[to + i] = count > 0 ? acc[i] / count : 0;
                }
                to += n;
            }
        }
}

static void pool_avg_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const pool_job *j = self;
    pool_avg_rows(j, (float *)(uintptr_t)(j->x + u * j->n_in), NULL, j->y + u * j->n_out, false);
}

static void pool_avg_grad_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const pool_job *j = self;
    memset(j->y + u * j->n_in, 0, (size_t)j->n_in * sizeof(float));
    pool_avg_rows(j, j->y + u * j->n_in, j->x + u * j->n_out, NULL, true);
}

static void run_avg_pool(const asc_kargs *a) {
    pool_job j = pool_job_of(a, false);
    j.y = a->out;
    j.include_pad = a->call->attrs->i[ASC_WIN_INCLUDE_PAD] != 0;
    pool_planes(a, &j, pool_avg_unit);
}

static void run_avg_pool_grad(const asc_kargs *a) {
    pool_job j = pool_job_of(a, true);
    j.y = a->out;
    j.include_pad = a->call->attrs->i[ASC_WIN_INCLUDE_PAD] != 0;
    pool_planes(a, &j, pool_avg_grad_unit);
}

static void pool_take_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const pool_job *j = self;
    const float *x = j->x + u * j->n_in;
    const int32_t *at = j->index + u * j->n_out;
    float *y = j->y + u * j->n_out;
    for (int64_t i = 0; i < j->n_out; i++) y[i] = at[i] >= 0 && at[i] < j->n_in ? x[at[i]] : 0;
}

static void pool_put_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const pool_job *j = self;
    const float *g = j->x + u * j->n_out;
    const int32_t *at = j->index + u * j->n_out;
    float *y = j->y + u * j->n_in;
    memset(y, 0, (size_t)j->n_in * sizeof(float));
    for (int64_t i = 0; i < j->n_out; i++)
        if (at[i] >= 0 && at[i] < j->n_in) y[at[i]] += g[i];
}

static void run_pool_take(const asc_kargs *a) {
    pool_job j = pool_job_of(a, false);
    j.y = a->out;
    pool_planes(a, &j, pool_take_unit);
}

static void run_pool_put(const asc_kargs *a) {
    pool_job j = pool_job_of(a, true);
    j.y = a->out;
    pool_planes(a, &j, pool_put_unit);
}

#define POOL_KERNEL(OPCODE, op)                                                                              \
    const asc_kernel VEC_NAME(asc_kernel_##op) = {                                                           \
        .name = #op, .opcode = ASC_OPCODE_##OPCODE, .isa = VEC_ISA_ENUM, .run = run_##op};
POOL_KERNEL(MAX_POOL, max_pool)
POOL_KERNEL(MAX_POOL_INDEX, max_pool_index)
POOL_KERNEL(AVG_POOL, avg_pool)
POOL_KERNEL(AVG_POOL_GRAD, avg_pool_grad)
POOL_KERNEL(POOL_TAKE, pool_take)
POOL_KERNEL(POOL_PUT, pool_put)
