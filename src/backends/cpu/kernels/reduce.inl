/* reduce.inl - sum and mean over any axes, max and arg_max over one. The order of addition is that of the
 * elements in VW lanes of double (innermost axis reduced) or one after the other (innermost axis kept): the
 * number of threads plays no part, since an output element has one owner. */
#include "kutil.h"
#include "vec.h"

/* Kept dimensions, then reduced dimensions; strides of the input. */
typedef struct sum_job {
    const float *a;
    float *y;
    asc_kwalk kept, red;
    int64_t out_rows, red_rows, n; /* rows of n: reduced (inner_red) or kept */
    bool inner_red;
    int64_t group, split;
    double factor;
} sum_job;

enum { SUM_COLUMNS = 256 };

static double sum_of_row(const float *a, int64_t n) {
    vd2 s0 = vd_zero(), s1 = vd_zero();
    int64_t i = 0;
    for (; i + 2 * VW <= n; i += 2 * VW) {
        s0 = vd_add(s0, vd_of(vload(a + i)));
        s1 = vd_add(s1, vd_of(vload(a + i + VW)));
    }
    for (; i < n; i += VW) s0 = vd_add(s0, vd_of(vloadn(a + i, asc_kmin(VW, n - i))));
    return vd_sum(vd_add(s0, s1));
}

static void sum_inner_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const sum_job *j = self;
    int64_t end = asc_kmin((u + 1) * j->group, j->out_rows), k, r;
    for (int64_t o = u * j->group; o < end; o++) {
        double s = 0;
        asc_kwalk_at(&j->kept, j->kept.rank, o, &k);
        for (int64_t i = 0; i < j->red_rows; i++) {
            asc_kwalk_at(&j->red, j->red.rank - 1, i, &r);
            s += sum_of_row(j->a + k + r, j->n);
        }
        j->y[o] = (float)(s * j->factor);
    }
}

static void sum_outer_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const sum_job *j = self;
    int64_t o = u / j->split, begin = u % j->split * SUM_COLUMNS, n = asc_kmin(SUM_COLUMNS, j->n - begin), k,
            r;
    double acc[SUM_COLUMNS] = {0};
    asc_kwalk_at(&j->kept, j->kept.rank - 1, o, &k);
    for (int64_t i = 0; i < j->red_rows; i++) {
        asc_kwalk_at(&j->red, j->red.rank, i, &r);
        const float *a = j->a + k + r + begin;
        for (int64_t c = 0; c < n; c++) acc[c] += (double)a[c];
    }
    for (int64_t c = 0; c < n; c++) j->y[o * j->n + begin + c] = (float)(acc[c] * j->factor);
}

static void sum_zero(float *y, int64_t n, double value) {
    for (int64_t i = 0; i < n; i++) y[i] = (float)value;
}

static void sum_run(const asc_kargs *a, bool mean) {
    const asc_shape *s = &a->call->in_shape[0];
    const int64_t *axes = a->call->attrs->i + asc_kslot(a->call, "axes");
    bool reduced[ASC_MAX_RANK] = {false};
    for (int64_t i = 0; i < axes[0]; i++) reduced[asc_kaxis(s, axes[1 + i])] = true;
    sum_job j = {.a = a->in[0], .y = a->out, .kept.n_arrays = 1, .red.n_arrays = 1, .factor = 1};
    int64_t strides[ASC_MAX_RANK], n_red = 1, elems = asc_kelems(s), outs = asc_kelems(&a->call->shape);
    int inner = -1; /* last dimension that is not 1 */
    for (int d = s->rank - 1, st = 0; d >= 0; d--) {
        strides[d] = asc_kspan(s, d + 1, s->rank);
        if (st == 0 && s->dims[d] != 1) inner = d, st = 1;
        if (reduced[d]) n_red *= s->dims[d];
    }
    if (mean) j.factor = 1 / (double)n_red;
    if (elems == 0 || inner < 0) {
        if (elems == 0)
            sum_zero(j.y, outs, 0 * j.factor);
        else
            j.y[0] = j.a[0];
        return;
    }
    for (int d = 0; d < s->rank; d++) {
        if (s->dims[d] != 1) asc_kwalk_push(reduced[d] ? &j.red : &j.kept, s->dims[d], &strides[d]);
    }
    j.inner_red = reduced[inner];
    int threads = asc_kthreads(a, (double)elems);
    if (j.inner_red) {
        j.n = j.red.dims[j.red.rank - 1];
        j.red_rows = n_red / j.n;
        j.out_rows = outs;
        j.group = asc_kmax(1, ASC_K_BLOCK / n_red);
        asc_kpar(asc_kceil(outs, j.group), threads, false, sum_inner_unit, &j);
    } else {
        j.n = j.kept.dims[j.kept.rank - 1];
        j.red_rows = n_red;
        j.split = asc_kceil(j.n, SUM_COLUMNS);
        asc_kpar(outs / j.n * j.split, threads, false, sum_outer_unit, &j);
    }
}

static void run_sum(const asc_kargs *a) { sum_run(a, false); }
static void run_mean(const asc_kargs *a) { sum_run(a, true); }

/* max and min, and their places: [outer, n, inner] over n. The first NaN, if any, wins; the first of equals, or with
 * `last` the last of equals and of NaNs. The smallest is the largest of -x, which loses nothing. */
typedef struct max_job {
    const float *a;
    float *y;
    int32_t *index;
    int64_t outer, n, inner, group;
    float sign; /* 1, or -1 for the smallest */
    bool last;
} max_job;

static bool max_better(float x, float best, bool last) {
    if (x != x) return best == best || last;
    return x > best || (last && x == best);
}

/* Position of the best of the run at a. */
static int64_t max_place(const max_job *j, const float *a) {
    const float sign = j->sign;
    float best = sign * a[0];
    int64_t at = 0;
    if (j->inner != 1 || j->n < 4 * VW) {
        for (int64_t k = 1; k < j->n; k++)
            if (max_better(sign * a[k * j->inner], best, j->last)) best = sign * a[k * j->inner], at = k;
        return at;
    }
    for (int64_t i = 0; i < j->n; i += 4 * VW) { /* skip blocks that hold nothing better */
        int64_t stop = asc_kmin(i + 4 * VW, j->n);
        if (stop - i == 4 * VW) {
            vf s = vset1(sign), x0 = s * vload(a + i), x1 = s * vload(a + i + VW),
               x2 = s * vload(a + i + 2 * VW), x3 = s * vload(a + i + 3 * VW);
            vf m = vmax(vmax(x0, x1), vmax(x2, x3)), nan = (x0 + x1) + (x2 + x3);
            float most = vhmax(m);
            /* the sum is NaN if any is (or by +inf and -inf: then the block is looked at in vain) */
            if (!(j->last ? most >= best : most > best) && vhsum(nan - nan) == 0.0f) continue;
        }
        for (int64_t k = i; k < stop; k++)
            if (max_better(sign * a[k], best, j->last)) best = sign * a[k], at = k;
    }
    return at;
}

static void max_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const max_job *j = self;
    int64_t end = asc_kmin((u + 1) * j->group, j->outer * j->inner);
    for (int64_t o = u * j->group; o < end; o++) {
        const float *a = j->a + o / j->inner * j->n * j->inner + o % j->inner;
        int64_t at = max_place(j, a);
        if (j->index != NULL)
            j->index[o] = (int32_t)at;
        else
            j->y[o] = a[at * j->inner];
    }
}

static void max_run(const asc_kargs *a, bool index, float sign) {
    const asc_shape *s = &a->call->in_shape[0];
    int axis = asc_kaxis(s, asc_kint(a->call, "axis"));
    max_job j = {.a = a->in[0], .outer = asc_kspan(s, 0, axis), .n = s->dims[axis], .sign = sign};
    j.inner = asc_kspan(s, axis + 1, s->rank);
    if (j.n == 0 || j.inner == 0) return;
    if (index) {
        j.index = a->out;
        j.last = asc_kint(a->call, "last") != 0;
    } else {
        j.y = a->out;
    }
    j.group = asc_kmax(1, ASC_K_BLOCK / j.n);
    double work = (double)(j.outer * j.inner) * (double)j.n;
    asc_kpar(asc_kceil(j.outer * j.inner, j.group), asc_kthreads(a, work), false, max_unit, &j);
}

static void run_max(const asc_kargs *a) { max_run(a, false, 1); }
static void run_arg_max(const asc_kargs *a) { max_run(a, true, 1); }
static void run_min(const asc_kargs *a) { max_run(a, false, -1); }
static void run_arg_min(const asc_kargs *a) { max_run(a, true, -1); }
static bool place_fits(const asc_call *c) {
    return c->dtype == ASC_DTYPE_I32 && c->in_dtype[0] == ASC_DTYPE_F32 && c->in_shape[0].rank > 0;
}
static bool max_fits(const asc_call *c) { return asc_kfits_f32(c) && c->in_shape[0].rank > 0; }

#define REDUCE_KERNEL(OPCODE, op, when)                                                                      \
    const asc_kernel VEC_NAME(asc_kernel_##op) = {                                                           \
        .name = #op, .opcode = ASC_OPCODE_##OPCODE, .isa = VEC_ISA_ENUM, .fits = when, .run = run_##op};
REDUCE_KERNEL(SUM, sum, asc_kfits_f32)
REDUCE_KERNEL(MEAN, mean, asc_kfits_f32)
REDUCE_KERNEL(MAX, max, max_fits)
REDUCE_KERNEL(MIN, min, max_fits)
REDUCE_KERNEL(ARG_MAX, arg_max, place_fits)
REDUCE_KERNEL(ARG_MIN, arg_min, place_fits)
