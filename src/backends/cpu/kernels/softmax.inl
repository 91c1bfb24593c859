/* softmax.inl - softmax, its gradient and log-softmax over rows (last axis), any width. One row, one thread;
 * sums in double. The maximum may miss a NaN, but exp(NaN - max) puts it into the sum, so that the whole row
 * becomes NaN. */
#include "kutil.h"
#include "vmath.inl"

typedef struct soft_job {
    const float *a, *g;
    float *y;
    int64_t rows, d, group;
    void (*row)(const float *a, const float *g, float *y, int64_t d);
} soft_job;

static float soft_max_of(const float *a, int64_t d) {
    vf m0 = vset1(-INFINITY), m1 = m0;
    int64_t i = 0;
    for (; i + 2 * VW <= d; i += 2 * VW) {
        m0 = vmax(m0, vload(a + i));
        m1 = vmax(m1, vload(a + i + VW));
    }
    float m = vhmax(vmax(m0, m1));
    for (; i < d; i++) m = a[i] > m ? a[i] : m;
    return m;
}

/* exp(a - m) with missing lanes 0. */
VEC_INLINE vf soft_exp(const float *a, int64_t i, vf m, int64_t n) {
    if (n == VW) return vexp_weight(vload(a + i) - m);
    return vsel(vfirst(n), vexp_weight(vloadn(a + i, n) - m), vzero());
}

static void softmax_row(const float *a, const float *g, float *y, int64_t d) {
    (void)g;
    vf m = vset1(soft_max_of(a, d));
    vd2 s = vd_zero();
    for (int64_t i = 0; i < d; i += VW) {
        int64_t n = asc_kmin(VW, d - i);
        vf e = soft_exp(a, i, m, n);
        s = vd_add(s, vd_of(e));
        vstoren(y + i, e, n);
    }
    vf r = vset1((float)(1 / vd_sum(s)));
    for (int64_t i = 0; i < d; i += VW) {
        int64_t n = asc_kmin(VW, d - i);
        vstoren(y + i, vloadn(y + i, n) * r, n);
    }
}

static void log_softmax_row(const float *a, const float *g, float *y, int64_t d) {
    (void)g;
    float mx = soft_max_of(a, d);
    vf m = vset1(mx);
    vd2 s = vd_zero();
    for (int64_t i = 0; i < d; i += VW) s = vd_add(s, vd_of(soft_exp(a, i, m, asc_kmin(VW, d - i))));
    /* one rounding in all, at the end; max + log(sum) first would lose the logarithm when max is large */
    vd2 first = vd_set1((double)mx), second = vd_set1(log(vd_sum(s)));
    for (int64_t i = 0; i < d; i += VW) {
        int64_t n = asc_kmin(VW, d - i);
        vstoren(y + i, vd_to_f(vd_sub(vd_sub(vd_of(vloadn(a + i, n)), first), second)), n);
    }
}

static void softmax_grad_row(const float *a, const float *g, float *y, int64_t d) {
    vd2 s = vd_zero();
    for (int64_t i = 0; i < d; i += VW) {
        int64_t n = asc_kmin(VW, d - i);
        s = vd_fma(vd_of(vloadn(a + i, n)), vd_of(vloadn(g + i, n)), s);
    }
    vf c = vset1((float)vd_sum(s));
    for (int64_t i = 0; i < d; i += VW) {
        int64_t n = asc_kmin(VW, d - i);
        vstoren(y + i, vloadn(a + i, n) * (vloadn(g + i, n) - c), n);
    }
}

static void soft_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const soft_job *j = self;
    int64_t end = asc_kmin((u + 1) * j->group, j->rows);
    for (int64_t r = u * j->group; r < end; r++)
        j->row(j->a + r * j->d, j->g == NULL ? NULL : j->g + r * j->d, j->y + r * j->d, j->d);
}

static void soft_run(const asc_kargs *a, soft_job *j) {
    j->a = a->in[0];
    j->y = a->out;
    j->d = asc_klast(&a->call->shape);
    if (j->d == 0) return;
    j->rows = asc_kelems(&a->call->shape) / j->d;
    j->group = asc_kmax(1, ASC_K_BLOCK / j->d);
    asc_kpar(asc_kceil(j->rows, j->group), asc_kthreads(a, (double)(j->rows * j->d)), false, soft_unit, j);
}

static void run_softmax(const asc_kargs *a) { soft_run(a, &(soft_job){.row = softmax_row}); }
static void run_softmax_grad(const asc_kargs *a) {
    soft_run(a, &(soft_job){.row = softmax_grad_row, .g = a->in[1]});
}
static void run_log_softmax(const asc_kargs *a) { soft_run(a, &(soft_job){.row = log_softmax_row}); }

#define SOFT_KERNEL(OPCODE, op)                                                                              \
    const asc_kernel VEC_NAME(asc_kernel_##op) = {.name = #op,                                               \
                                                  .opcode = ASC_OPCODE_##OPCODE,                             \
                                                  .isa = VEC_ISA_ENUM,                                       \
                                                  .fits = asc_kfits_f32,                                     \
                                                  .run = run_##op};
SOFT_KERNEL(SOFTMAX, softmax)
SOFT_KERNEL(SOFTMAX_GRAD, softmax_grad)
SOFT_KERNEL(LOG_SOFTMAX, log_softmax)
