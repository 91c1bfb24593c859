/* norms.inl - RMS and layer normalisation of rows, and their gradients by the input. One row, one thread. Row
 * sums are in double (the kernels wait for memory anyway), so what is left is the rounding of the last few
 * operations. Gradients end with + 0, which makes +0 of -0: a row of zeros then gives +0 whatever the signs of
 * weights and inputs, so that padding with zeros may be done before or after. */
#include "kutil.h"
#include "vec.h"

typedef struct norm_job {
    const float *a, *w, *b, *g; /* rows, column weights, column bias, cotangent rows */
    float *y;
    int64_t rows, d, group;
    double eps;
    void (*row)(const struct norm_job *j, int64_t row);
} norm_job;

VEC_INLINE vf norm_get(const float *p, int64_t i, int64_t n) {
    return n == VW ? vload(p + i) : vloadn(p + i, n);
}
VEC_INLINE void norm_put(float *p, int64_t i, vf v, int64_t n) {
    if (n == VW)
        vstore(p + i, v);
    else
        vstoren(p + i, v, n);
}

/* v - m with missing lanes left 0, so that they do not count in sums. */
VEC_INLINE vd2 norm_centre(vf v, double m, int64_t n) {
    vd2 c = vd_sub(vd_of(v), vd_set1(m));
    return n == VW ? c : vd_of(vsel(vfirst(n), vd_to_f(c), vzero()));
}

static void rms_row(const norm_job *j, int64_t row) {
    const float *a = j->a + row * j->d;
    float *y = j->y + row * j->d;
    vd2 s = vd_zero();
    for (int64_t i = 0; i < j->d; i += VW) {
        vd2 x = vd_of(norm_get(a, i, asc_kmin(VW, j->d - i)));
        s = vd_fma(x, x, s);
    }
    vf r = vset1((float)(1 / sqrt(vd_sum(s) / (double)j->d + j->eps)));
    for (int64_t i = 0; i < j->d; i += VW) {
        int64_t n = asc_kmin(VW, j->d - i);
        norm_put(y, i, (norm_get(a, i, n) * r) * norm_get(j->w, i, n), n);
    }
}

/* da = r (u - n mean(n u)), u = g w, n = a r: n and its products stay near 1 where r^3 would leave the range
 * of f32. */
static void rms_grad_row(const norm_job *j, int64_t row) {
    const float *a = j->a + row * j->d, *g = j->g + row * j->d;
    float *y = j->y + row * j->d;
    vd2 aa = vd_zero(), au = vd_zero();
    for (int64_t i = 0; i < j->d; i += VW) {
        int64_t n = asc_kmin(VW, j->d - i);
        vd2 x = vd_of(norm_get(a, i, n));
        aa = vd_fma(x, x, aa);
        au = vd_fma(x, vd_of(norm_get(g, i, n) * norm_get(j->w, i, n)), au);
    }
    double r = 1 / sqrt(vd_sum(aa) / (double)j->d + j->eps);
    vf k = vset1((float)(r * vd_sum(au) / (double)j->d)), vr = vset1((float)r);
    for (int64_t i = 0; i < j->d; i += VW) {
        int64_t n = asc_kmin(VW, j->d - i);
        vf u = norm_get(g, i, n) * norm_get(j->w, i, n);
        norm_put(y, i, vfnma(norm_get(a, i, n) * vr, k, u) * vr + vzero(), n);
    }
}

static double row_mean(const float *a, int64_t d) {
    vd2 s = vd_zero();
    for (int64_t i = 0; i < d; i += VW) s = vd_add(s, vd_of(norm_get(a, i, asc_kmin(VW, d - i))));
    return vd_sum(s) / (double)d;
}

static double row_rstd(const float *a, int64_t d, double mean, double eps) {
    vd2 s = vd_zero();
    for (int64_t i = 0; i < d; i += VW) {
        int64_t n = asc_kmin(VW, d - i);
        vd2 c = norm_centre(norm_get(a, i, n), mean, n);
        s = vd_fma(c, c, s);
    }
    return 1 / sqrt(vd_sum(s) / (double)d + eps);
}

static void layer_row(const norm_job *j, int64_t row) {
    const float *a = j->a + row * j->d;
    float *y = j->y + row * j->d;
    double mean = row_mean(a, j->d);
    vf r = vset1((float)row_rstd(a, j->d, mean, j->eps));
    for (int64_t i = 0; i < j->d; i += VW) {
        int64_t n = asc_kmin(VW, j->d - i);
        vf c = vd_to_f(norm_centre(norm_get(a, i, n), mean, n));
        norm_put(y, i, vfma(c * r, norm_get(j->w, i, n), norm_get(j->b, i, n)), n);
    }
}

/* da = r (u - mean(u) - n mean(n u)), u = g w, n = r (a - mean(a)) */
static void layer_grad_row(const norm_job *j, int64_t row) {
    const float *a = j->a + row * j->d, *g = j->g + row * j->d;
    float *y = j->y + row * j->d;
    double mean = row_mean(a, j->d), r = row_rstd(a, j->d, mean, j->eps);
    vd2 su = vd_zero(), scu = vd_zero();
    for (int64_t i = 0; i < j->d; i += VW) {
        int64_t n = asc_kmin(VW, j->d - i);
        vd2 u = vd_of(norm_get(g, i, n) * norm_get(j->w, i, n));
        su = vd_add(su, u);
        scu = vd_fma(norm_centre(norm_get(a, i, n), mean, n), u, scu);
    }
    double mu = vd_sum(su) / (double)j->d;
    vf k = vset1((float)(r * vd_sum(scu) / (double)j->d)), vr = vset1((float)r);
    for (int64_t i = 0; i < j->d; i += VW) {
        int64_t n = asc_kmin(VW, j->d - i);
        vf u = vd_to_f(norm_centre(norm_get(g, i, n) * norm_get(j->w, i, n), mu, n));
        vf c = vd_to_f(norm_centre(norm_get(a, i, n), mean, n));
        norm_put(y, i, vfnma(c * vr, k, u) * vr + vzero(), n);
    }
}

static void norm_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const norm_job *j = self;
    int64_t end = asc_kmin((u + 1) * j->group, j->rows);
    for (int64_t row = u * j->group; row < end; row++) j->row(j, row);
}

static void norm_run(const asc_kargs *a, norm_job *j) {
    j->a = a->in[0];
    j->w = a->in[1];
    j->y = a->out;
    j->d = asc_klast(&a->call->shape);
    j->eps = asc_kfloat(a->call, "eps");
    if (j->d == 0) return;
    j->rows = asc_kelems(&a->call->shape) / j->d;
    j->group = asc_kmax(1, ASC_K_BLOCK / j->d);
    asc_kpar(asc_kceil(j->rows, j->group), asc_kthreads(a, (double)(j->rows * j->d)), false, norm_unit, j);
}

static void run_rms_norm(const asc_kargs *a) { norm_run(a, &(norm_job){.row = rms_row}); }
static void run_rms_norm_grad(const asc_kargs *a) {
    norm_run(a, &(norm_job){.row = rms_grad_row, .g = a->in[2]});
}
static void run_layer_norm(const asc_kargs *a) { norm_run(a, &(norm_job){.row = layer_row, .b = a->in[2]}); }
static void run_layer_norm_grad(const asc_kargs *a) {
    norm_run(a, &(norm_job){.row = layer_grad_row, .g = a->in[2]});
}

#define NORM_KERNEL(OPCODE, op)                                                                              \
    const asc_kernel VEC_NAME(asc_kernel_##op) = {.name = #op,                                               \
                                                  .opcode = ASC_OPCODE_##OPCODE,                             \
                                                  .isa = VEC_ISA_ENUM,                                       \
                                                  .fits = asc_kfits_f32,                                     \
                                                  .run = run_##op};
NORM_KERNEL(RMS_NORM, rms_norm)
NORM_KERNEL(RMS_NORM_GRAD, rms_norm_grad)
NORM_KERNEL(LAYER_NORM, layer_norm)
NORM_KERNEL(LAYER_NORM_GRAD, layer_norm_grad)
