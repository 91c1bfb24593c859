/* bias.c - matmul_bias: any kernel of matmul, with the bias added to its parts while they are in a cache, or
 * in one pass behind kernels that take no epilogue. The bits are those of matmul followed by add. */
#include "kutil.h"

/* The product without the bias. */
static asc_call product_of(const asc_call *c) {
    asc_call p = *c;
    p.op = &asc_op_matmul;
    p.n_in = 2;
    return p;
}

/* The addition as an epilogue of the product, before the epilogue that the caller has. */
typedef struct bias_post {
    asc_epilogue base;
    const asc_epilogue *next; /* NULL = none */
    float *y;
    const float *bias;
    int64_t rows, n, group;
} bias_post;

static void bias_block(const asc_epilogue *base, int64_t m0, int64_t m1, int64_t n0, int64_t n1, int thread) {
    const bias_post *j = (const bias_post *)(const void *)base;
    for (int64_t r = m0; r < m1; r++) {
        float *y = j->y + r * j->n;
        for (int64_t i = n0; i < n1; i++) y[i] += j->bias[i];
    }
    if (j->next != NULL) j->next->block(j->next, m0, m1, n0, n1, thread);
}

static void bias_unit(void *self, int64_t u, int thread) {
    const bias_post *j = self;
    bias_block(&j->base, u * j->group, asc_kmin((u + 1) * j->group, j->rows), 0, j->n, thread);
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
    bias_post j = {.base = {.block = bias_block}, .next = a->post, .y = a->out, .bias = a->in[2]};
    j.n = asc_klast(&p.shape);
    args.post = k->takes_post ? &j.base : NULL;
    k->run(&args);
    if (elems == 0 || k->takes_post) return;
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
                                             .run = run_##of,                                                \
                                             .takes_post = true};

BIAS_KERNEL(matmul_stored_amx, ASC_ISA_AMX)
BIAS_KERNEL(matmul_bf16_amx, ASC_ISA_AMX)
BIAS_KERNEL(matmul_int8_vnni512, ASC_ISA_AVX512)
BIAS_KERNEL(matmul_int8_avx512, ASC_ISA_AVX512)
BIAS_KERNEL(matmul_int8_vnni256, ASC_ISA_AVX2)
BIAS_KERNEL(matmul_int8_avx2, ASC_ISA_AVX2)
BIAS_KERNEL(matmul_int8_base, ASC_ISA_BASELINE)
BIAS_KERNEL(matmul_bf16_avx512, ASC_ISA_AVX512)
BIAS_KERNEL(matmul_bf16_avx2, ASC_ISA_AVX2)
BIAS_KERNEL(matmul_bf16_base, ASC_ISA_BASELINE)
BIAS_KERNEL(gemv_amx, ASC_ISA_AMX)
BIAS_KERNEL(gemv_avx512, ASC_ISA_AVX512)
BIAS_KERNEL(matmul_few_avx512, ASC_ISA_AVX512)
BIAS_KERNEL(matmul_avx512, ASC_ISA_AVX512)
BIAS_KERNEL(gemv_avx2, ASC_ISA_AVX2)
BIAS_KERNEL(gemv_base, ASC_ISA_BASELINE)
BIAS_KERNEL(matmul_onednn, ASC_ISA_BASELINE)
