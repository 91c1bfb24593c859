/* gemm_fill.h - the weight side of gemm_avx512.c: a panel of W brought into slabs of 48 columns. */
#ifndef ASC_GEMM_FILL_H
#define ASC_GEMM_FILL_H

#include "dtype.h"

/* y [m,n] = a [m,k] W, all row-major; W is [n,k] if tb, else [k,n]. */
typedef struct asc_gemm_job {
    const float *a;
    float *y;
    int64_t m, n, k;
    const uint8_t *w;
    asc_dtype t;
    asc_expand_fn expand;
    bool tb;
    int64_t depth, width; /* of a panel: values of k (whole blocks of t if tb), columns */
} asc_gemm_job;

enum {
    ASC_GEMM_SLAB = 48,
    ASC_GEMM_RUN = 256, /* elements of a row that are expanded at once: whole blocks of every format */
    ASC_GEMM_FILL_FLOATS = 16 * (ASC_GEMM_RUN + 16) /* scratch of a fill, also enough for a row of a panel */
};

/* Writes W[k0 .. k0+depth)[n0 .. n0+width) as out[slab][depth][48]; columns behind the last are 0. k0 is a
 * multiple of job->depth. tmp: ASC_GEMM_FILL_FLOATS. */
void asc_gemm_fill_avx512(const asc_gemm_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                          float *out, float *tmp);
/* The same on any processor. */
void asc_gemm_fill_any(const asc_gemm_job *job, int64_t k0, int64_t depth, int64_t n0, int64_t width,
                       float *out, float *tmp);

#endif
