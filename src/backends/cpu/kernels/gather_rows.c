/* gather_rows.c - rows of a (stored) table and the cast of stored weights to f32, for each instruction set.
 * Only the rows asked for are expanded. The work is in the expansion functions, so this file itself needs no
 * special instructions. An index outside the table reads its first or last row, as in the reference. */
#include "expand.h"
#include "kernel.h"

static void gather(const asc_kargs *a, asc_isa isa) {
    const asc_shape *table = &a->call->in_shape[0];
    const asc_dtype_info *info = asc_dtype_of(a->call->in_dtype[0]);
    const asc_expand_fn expand = asc_expand_for(a->call->in_dtype[0], isa);
    const int32_t *index = a->in[1];
    const int64_t n_rows = asc_shape_elems(&a->call->in_shape[1]), n_table = table->dims[0];
    int64_t width = 1;
    for (int i = 1; i < table->rank; i++) width *= table->dims[i];
    const int64_t row_bytes = width / info->block_elems * info->block_bytes;
#pragma omp parallel for num_threads(a->n_threads) schedule(static)
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t row = index[i] < 0 ? 0 : index[i] >= n_table ? n_table - 1 : index[i];
        expand((const uint8_t *)a->in[0] + row * row_bytes, (float *)a->out + i * width, width);
    }
}

static void cast(const asc_kargs *a, asc_isa isa) {
    enum { STEP = 8192 }; /* elements; a multiple of every block size */
    const asc_dtype_info *info = asc_dtype_of(a->call->in_dtype[0]);
    const asc_expand_fn expand = asc_expand_for(a->call->in_dtype[0], isa);
    const int64_t n = asc_shape_elems(&a->call->in_shape[0]);
#pragma omp parallel for num_threads(a->n_threads) schedule(static)
    for (int64_t at = 0; at < n; at += STEP) {
        int64_t len = n - at < STEP ? n - at : STEP;
        expand((const uint8_t *)a->in[0] + at / info->block_elems * info->block_bytes, (float *)a->out + at,
               len);
    }
}

static bool gather_fits(const asc_call *c) { return asc_dtype_expand(c->in_dtype[0]) != NULL; }

static bool cast_fits(const asc_call *c) {
    return c->dtype == ASC_DTYPE_F32 && asc_dtype_expand(c->in_dtype[0]) != NULL;
}

#define KERNELS(suffix, level)                                                                               \
    static void run_gather_##suffix(const asc_kargs *a) { gather(a, level); }                                \
    static void run_cast_##suffix(const asc_kargs *a) { cast(a, level); }                                    \
    const asc_kernel asc_kernel_gather_##suffix = {.name = "gather_" #suffix,                                \
                                                   .opcode = ASC_OPCODE_GATHER,                              \
                                                   .isa = level,                                             \
                                                   .fits = gather_fits,                                      \
                                                   .run = run_gather_##suffix};                              \
    const asc_kernel asc_kernel_cast_stored_##suffix = {.name = "cast_stored_" #suffix,                      \
                                                        .opcode = ASC_OPCODE_CAST,                           \
                                                        .isa = level,                                        \
                                                        .fits = cast_fits,                                   \
                                                        .run = run_cast_##suffix};
KERNELS(avx512, ASC_ISA_AVX512)
KERNELS(avx2, ASC_ISA_AVX2)
KERNELS(baseline, ASC_ISA_BASELINE)
