/* bf16_repair.inl - results of bf16 products that are computed again in f32, in chains of 192 fused
 * multiply-adds: infinities, NaN and what is so small that flushed pieces could show. Included behind
 * bf16_rows.inl. */
#include "gemm_fill.h"
#include <math.h>

/* Results that are not finite, or so small that flushed pieces could show (docs/errors.md). */
enum { TINY = (127 - 80) << 23 }; /* bits of 2^-80 */
static inline bool is_odd(float y) { return !isfinite(y) || (y != 0 && fabsf(y) < 0x1p-80f); }
/* The same of 16; x - x is not 0 where x is not finite. */
ALWAYS_INLINE void gather_odd(const vf *v, vu *odd) {
    *odd |= (vu)(*v - *v) | (vu)(((vu)*v & 0x7FFFFFFFu) - 1 < (uint32_t)TINY - 1);
}

/* Column n of W. */
static void column_of(const asc_gemm_job *g, int64_t n, float *out, float *tmp) {
    const asc_dtype_info *info = asc_dtype_of(g->t);
    const int64_t block = info->block_elems;
    if (g->tb) {
        g->expand(g->w + n * g->k / block * info->block_bytes, out, g->k);
        return;
    }
    for (int64_t k = 0; k < g->k; k++) {
        g->expand(g->w + (k * g->n + n) / block * info->block_bytes, tmp, block);
        out[k] = tmp[n % block];
    }
}

/* f32 products for what is odd among rows [m, m + rows), at most 32, columns [n, n + cols). column: k floats,
 * tmp: a block. */
static void repair(const asc_gemm_job *g, int64_t m, int64_t rows, int64_t n, int64_t cols, float *column,
                   float *tmp) {
    for (int64_t j = n; j < n + cols; j++) {
        float *y = g->y + m * g->n + j, sum[ASC_BF16_SIDE];
        bool any = false;
        for (int64_t r = 0; r < rows; r++) any |= is_odd(y[r * g->n]);
        if (!any) continue;
        column_of(g, j, column, tmp);
        for (int64_t q = 0; q < g->k; q += 192) {
            const int64_t end = q + 192 < g->k ? q + 192 : g->k;
            float link[ASC_BF16_SIDE] = {0};
            for (int64_t k = q; k < end; k++)
                for (int64_t r = 0; r < rows; r++)
                    link[r] = fmaf(g->a[(m + r) * g->k + k], column[k], link[r]);
            for (int64_t r = 0; r < rows; r++) sum[r] = q == 0 ? link[r] : sum[r] + link[r];
        }
        for (int64_t r = 0; r < rows; r++)
            if (is_odd(y[r * g->n])) y[r * g->n] = sum[r];
    }
}
