/* bench_peaks.c - the machine's f32 multiply-add peak and its memory bandwidth, by two loops that do nothing
 * else. */
#include "ascribe/bench.h"
#include "alloc.h"
#include "cpu.h"
#include <omp.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { CHAINS = 16, INNER = 20000 }; /* enough independent chains to hide the latency of two units */

typedef double (*fma_loop)(
    void); /* runs once, returns the floating-point operations done; the sum keeps it alive */

static volatile _Atomic float sink; /* written, never read: the results must not look unused */

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static double loop_avx512(void) {
    __m512 a[CHAINS], x = _mm512_set1_ps(0.999f), y = _mm512_set1_ps(1e-3f), s = _mm512_setzero_ps();
    for (int k = 0; k < CHAINS; k++) a[k] = _mm512_set1_ps((float)k);
    for (int i = 0; i < INNER; i++) {
#pragma GCC unroll 16
        for (int k = 0; k < CHAINS; k++) a[k] = _mm512_fmadd_ps(a[k], x, y);
    }
    for (int k = 0; k < CHAINS; k++) s = _mm512_add_ps(s, a[k]);
    sink = _mm512_reduce_add_ps(s);
    return 2.0 * 16 * CHAINS * INNER;
}

__attribute__((target("avx2,fma"))) static double loop_avx2(void) {
    enum { N = 12 }; /* 16 registers: twelve chains and the two factors */
    __m256 a[N], x = _mm256_set1_ps(0.999f), y = _mm256_set1_ps(1e-3f), s = _mm256_setzero_ps();
    float out[8];
    for (int k = 0; k < N; k++) a[k] = _mm256_set1_ps((float)k);
    for (int i = 0; i < INNER; i++) {
#pragma GCC unroll 12
        for (int k = 0; k < N; k++) a[k] = _mm256_fmadd_ps(a[k], x, y);
    }
    for (int k = 0; k < N; k++) s = _mm256_add_ps(s, a[k]);
    _mm256_storeu_ps(out, s);
    sink = out[0];
    return 2.0 * 8 * N * INNER;
}
#endif

static double loop_baseline(void) {
    float a[CHAINS];
    for (int k = 0; k < CHAINS; k++) a[k] = (float)k;
    for (int i = 0; i < INNER; i++) {
        for (int k = 0; k < CHAINS; k++) a[k] = a[k] * 0.999f + 1e-3f;
    }
    float s = 0;
    for (int k = 0; k < CHAINS; k++) s += a[k];
    sink = s;
    return 2.0 * CHAINS * INNER;
}

static fma_loop choose(const char **name) {
    asc_isa isa = asc_cpu_vector_isa();
    *name = asc_isa_name(isa);
#if defined(__x86_64__)
    if (isa == ASC_ISA_AVX512) return loop_avx512;
    if (isa == ASC_ISA_AVX2) return loop_avx2;
#endif
    return loop_baseline;
}

static double best_flops(asc_ctx *ctx, double seconds, fma_loop loop) {
    double best = 0;
    uint64_t begin = asc_now_ns();
    do {
        double work = 0;
        uint64_t t0 = asc_now_ns();
#pragma omp parallel num_threads(ctx->n_threads) reduction(+ : work)
        for (int i = 0; i < 20; i++) work += loop();
        double rate = work / ((double)(asc_now_ns() - t0) * 1e-9);
        if (rate > best) best = rate;
    } while ((double)(asc_now_ns() - begin) * 1e-9 < seconds);
    return best;
}

asc_status asc_measure_fma(asc_ctx *ctx, double seconds, double *out_flops_per_second) {
    const char *name;
    fma_loop loop = choose(&name);
    double work = 0;
    uint64_t begin = asc_now_ns(), end = begin;
    do {
#pragma omp parallel num_threads(ctx->n_threads) reduction(+ : work)
        for (int i = 0; i < 20; i++) work += loop();
        end = asc_now_ns();
    } while ((double)(end - begin) * 1e-9 < seconds);
    *out_flops_per_second = work / ((double)(end - begin) * 1e-9);
    return asc_poll_cancel(ctx);
}

static uint64_t sum_words(const uint64_t *p, size_t n) {
    uint64_t s[8] = {0}; /* independent sums, so that the adds do not wait for each other */
    for (size_t i = 0; i + 8 <= n; i += 8) {
        for (size_t k = 0; k < 8; k++) s[k] += p[i + k];
    }
    return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

asc_status asc_measure_peaks(asc_ctx *ctx, double seconds, asc_peaks *out) {
    const size_t bytes = (size_t)256 << 20;
    double best = 0;
    int rounds = 0;
    *out = (asc_peaks){0};
    uint64_t *block = asc_alloc_buffer(ctx, ASC_MEM_SCRATCH, bytes);
    if (block == NULL) return ASC_RESOURCE_EXHAUSTED;
    memset(block, 1, bytes);
    uint64_t begin = asc_now_ns();
    do {
        uint64_t total = 0, t0 = asc_now_ns();
#pragma omp parallel num_threads(ctx->n_threads) reduction(+ : total)
        {
            size_t n = bytes / 8 / (size_t)omp_get_num_threads(), at = n * (size_t)omp_get_thread_num();
            total += sum_words(block + at, n);
        }
        double rate = (double)bytes / ((double)(asc_now_ns() - t0) * 1e-9);
        sink = (float)total;
        if (rate > best) best = rate;
        rounds++; /* on a busy machine a single one says little */
    } while (rounds < 5 || (double)(asc_now_ns() - begin) * 1e-9 < seconds);
    asc_free(ctx, block);
    out->bytes_per_second = best;
    out->flops_per_second = best_flops(ctx, seconds, choose(&out->instructions));
    return asc_poll_cancel(ctx);
}
