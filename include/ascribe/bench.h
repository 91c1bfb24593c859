/* ascribe/bench.h - what the machine can do at most, measured: the yardstick for what the library reaches. */
#ifndef ASCRIBE_BENCH_H
#define ASCRIBE_BENCH_H

#include "ascribe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_peaks {
    double flops_per_second;  /* f32 multiply-adds, counted as two, all threads, from registers */
    double bytes_per_second;  /* read from memory, all threads, from a block larger than the caches */
    const char *instructions; /* "avx512", "avx2", "baseline" */
} asc_peaks;

/* Runs two small loops for about `seconds` each on the context's threads; the best of several rounds counts.
 * RESOURCE_EXHAUSTED (it needs 256 MiB for a moment). */
ASC_API ASC_MUST_USE asc_status asc_measure_peaks(asc_ctx *ctx, double seconds, asc_peaks *out);

/* f32 multiply-adds a second (counted as two) that all threads of the context sustain over about `seconds`:
 * all the work over all the time. Processors lower their clock under vector loads, so what a run reached is
 * to be compared with readings right before and after it. */
ASC_API ASC_MUST_USE asc_status asc_measure_fma(asc_ctx *ctx, double seconds, double *out_flops_per_second);

#ifdef __cplusplus
}
#endif
#endif
