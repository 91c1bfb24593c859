/* gemm_ahead.h - the weights of the next panel, fetched into the L2 cache while tiles multiply by this one: a
 * panel is filled faster than memory gives its weights, and multiply-adds leave memory idle. */
#ifndef ASC_GEMM_AHEAD_H
#define ASC_GEMM_AHEAD_H

#include "gemm_fill.h"

/* A walk over stretches of bytes, one cache line a step. Behind its end it stays on a line. */
typedef struct asc_gemm_ahead {
    const uint8_t *at, *end; /* in this stretch */
    int64_t stride, gap;     /* from start to start; from end to start */
    int64_t left;            /* stretches after this one */
} asc_gemm_ahead;

/* W[k .. k+depth)[n .. n+width); depth 0: nothing is fetched. */
static inline asc_gemm_ahead asc_gemm_ahead_of(const asc_gemm_job *job, int64_t k, int64_t depth, int64_t n,
                                               int64_t width) {
    const asc_dtype_info *info = asc_dtype_of(job->t);
    const int64_t block = info->block_elems, bytes = info->block_bytes;
    if (depth == 0) return (asc_gemm_ahead){.at = job->w, .end = job->w};
    const int64_t row = job->tb ? n : k, col = job->tb ? k : n, long_row = job->tb ? job->k : job->n;
    const int64_t from = (row * long_row + col) / block * bytes,
                  len = (job->tb ? depth : width) / block * bytes;
    asc_gemm_ahead a = {.at = job->w + from, .stride = long_row / block * bytes};
    a.end = a.at + len;
    a.gap = a.stride - len;
    a.left = (job->tb ? width : depth) - 1;
    return a;
}

static inline void asc_gemm_ahead_step(asc_gemm_ahead *a) {
    __builtin_prefetch(a->at, 0, 2);
    if (a->at < a->end) a->at += 64;
    if (a->at >= a->end && a->left > 0) {
        a->at = a->end + a->gap;
        a->end += a->stride;
        a->left--;
    }
}

#endif
