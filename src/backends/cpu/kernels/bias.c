/* bias.c - matmul_bias: any kernel of matmul, then one pass over the result that adds the bias. The bits are
 * those of matmul followed by add; the pass reads and writes M N numbers where the product does 2 M N K
 * operations. */
#include "kutil.h"

/* The product without the bias. */
static asc_call product_of(const asc_call *c) {
    asc_call p = *c;
    p.op = &asc_op_matmul;
    p.n_in = 2;
    return p;
}

typedef struct bias_job {
    float *y;
    const float *bias;
    int64_t rows, n, group;
} bias_job;

static void bias_unit(void *self, int64_t u, int thread) {
    (void)thread;
    const bias_job *j = self;
    const int64_t end = asc_kmin((u + 1) * j->group, j->rows);
    for (int64_t r = u * j->group; r < end; r++) {
        float *y = j->y + r * j->n;
        for (int64_t i = 0; i < j->n; i++) y[i] += j->bias[i];
    }
}

static bool fits_with(const asc_call *c, const asc_kernel *k) {
    const asc_call p = product_of(c);
    return k->fits == NULL || k->fits(&p);
}

static size_t scratch_with(const asc_call *c, int n_threads, const asc_kernel *k) {
    const asc_call p = product_of(c);
    return k->scratch == NULL ? 0 : k->scratch(&p, n_threads);
}

static void run_with(const asc_kargs *a, const asc_kernel *k) {
    const asc_call p = product_of(a->call);
    const int64_t elems = asc_kelems(&p.shape);
    asc_kargs args = *a;
    args.call = &p;
    k->run(&args);
    if (elems == 0) return;
    bias_job j = {.y = a->out, .bias = a->in[2], .n = asc_klast(&p.shape)};
    j.rows = elems / j.n;
    j.group = asc_kmax(1, ASC_K_BLOCK / j.n);
    asc_kpar(asc_kceil(j.rows, j.group), asc_kthreads(a, (double)elems), false, bias_unit, &j);
}

#define BIAS_KERNEL(of, level)                                                                               \
    static bool fits_##of(const asc_call *c) { return fits_with(c, &asc_kernel_##of); }                      \
    static size_t scratch_##of(const asc_call *c, int n) { return scratch_with(c, n, &asc_kernel_##of); }    \
    static void run_##of(const asc_kargs *a) { run_with(a, &asc_kernel_##of); }                              \
    const asc_kernel asc_kernel_bias_##of = {.name = "bias_" #of,                                            \
                                             .opcode = ASC_OPCODE_MATMUL_BIAS,                               \
                                             .isa = level,                                                   \
                                             .fits = fits_##of,                                              \
                                             .scratch = scratch_##of,                                        \
                                             .run = run_##of};

BIAS_KERNEL(gemv_avx512, ASC_ISA_AVX512)
BIAS_KERNEL(matmul_avx512, ASC_ISA_AVX512)
BIAS_KERNEL(gemv_avx2, ASC_ISA_AVX2)
BIAS_KERNEL(gemv_base, ASC_ISA_BASELINE)
BIAS_KERNEL(matmul_onednn, ASC_ISA_BASELINE)
