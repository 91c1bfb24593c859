/* gemm_fill.c - see gemm_fill.h; plain loops. */
#include "gemm_fill.h"
#include <string.h>

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }

/* Column j of row k of a panel. */
static float *place(float *out, int64_t depth, int64_t k, int64_t j) {
    return out + j / ASC_GEMM_SLAB * ASC_GEMM_SLAB * depth + k * ASC_GEMM_SLAB + j % ASC_GEMM_SLAB;
}

void asc_gemm_fill_any(const asc_gemm_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                       float *out, float *tmp) {
    const asc_dtype_info *info = asc_dtype_of(job->t);
    const int64_t block = info->block_elems, bytes = info->block_bytes;
    const int64_t padded = (width + ASC_GEMM_SLAB - 1) / ASC_GEMM_SLAB * ASC_GEMM_SLAB;
    for (int64_t j = width; j < padded; j++)
        for (int64_t k = 0; k < depth; k++) *place(out, depth, k, j) = 0;
    if (job->tb) {
        for (int64_t j = 0; j < width; j++) {
            for (int64_t q = 0; q < depth; q += ASC_GEMM_RUN) {
                const int64_t len = min64(depth - q, ASC_GEMM_RUN);
                job->expand(job->w + ((n0 + j) * job->k + k0 + q) / block * bytes, tmp, len);
                for (int64_t k = 0; k < len; k++) *place(out, depth, q + k, j) = tmp[k];
            }
        }
        return;
    }
    for (int64_t k = 0; k < depth; k++) {
        const int64_t row = (k0 + k) * job->n;
        for (int64_t j = 0; j < width;) { /* from block border to block border */
            const int64_t from = (n0 + j) / block * block, to = min64(from + ASC_GEMM_RUN, job->n);
            job->expand(job->w + (row + from) / block * bytes, tmp, (to - from + block - 1) / block * block);
            for (const int64_t end = min64(width, to - n0); j < end;) { /* slab by slab */
                const int64_t next = min64(end, (j / ASC_GEMM_SLAB + 1) * ASC_GEMM_SLAB);
                memcpy(place(out, depth, k, j), tmp + n0 + j - from, (size_t)(next - j) * sizeof *out);
                j = next;
            }
        }
    }
}
