/* fma_peak.h - the multiply-add rate of this machine, and the clock that benches of kernels use. */
#ifndef ASC_BENCH_FMA_PEAK_H
#define ASC_BENCH_FMA_PEAK_H

#include "cpu.h"
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { PEAK_STEPS = 60000 };

/* Registers start from numbers that stay ordinary: each chain x / 2 + 1 / 2 runs to 1. What a caller left in
 * them may be denormal, and then a multiply-add takes a hundred times as long. */
static const float half = 0.5f;

/* Twelve independent chains of FMA: more than latency (4) times units (2). In one statement, so that nothing
 * spills. */
__attribute__((target("avx512f"))) static void fma_steps(long n) {
    __asm__ volatile("vzeroall\n\tvbroadcastss %1, %%zmm12\n\tvbroadcastss %1, %%zmm13\n\t1:\n\t"
                     "vfmadd213ps %%zmm12, %%zmm13, %%zmm0\n\tvfmadd213ps %%zmm12, %%zmm13, %%zmm1\n\t"
                     "vfmadd213ps %%zmm12, %%zmm13, %%zmm2\n\tvfmadd213ps %%zmm12, %%zmm13, %%zmm3\n\t"
                     "vfmadd213ps %%zmm12, %%zmm13, %%zmm4\n\tvfmadd213ps %%zmm12, %%zmm13, %%zmm5\n\t"
                     "vfmadd213ps %%zmm12, %%zmm13, %%zmm6\n\tvfmadd213ps %%zmm12, %%zmm13, %%zmm7\n\t"
                     "vfmadd213ps %%zmm12, %%zmm13, %%zmm8\n\tvfmadd213ps %%zmm12, %%zmm13, %%zmm9\n\t"
                     "vfmadd213ps %%zmm12, %%zmm13, %%zmm10\n\tvfmadd213ps %%zmm12, %%zmm13, %%zmm11\n\t"
                     "dec %0\n\tjnz 1b"
                     : "+r"(n)
                     : "m"(half)
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "cc");
}

__attribute__((target("avx2,fma"))) static void fma_steps_avx2(long n) {
    __asm__ volatile("vzeroall\n\tvbroadcastss %1, %%ymm12\n\tvbroadcastss %1, %%ymm13\n\t1:\n\t"
                     "vfmadd213ps %%ymm12, %%ymm13, %%ymm0\n\tvfmadd213ps %%ymm12, %%ymm13, %%ymm1\n\t"
                     "vfmadd213ps %%ymm12, %%ymm13, %%ymm2\n\tvfmadd213ps %%ymm12, %%ymm13, %%ymm3\n\t"
                     "vfmadd213ps %%ymm12, %%ymm13, %%ymm4\n\tvfmadd213ps %%ymm12, %%ymm13, %%ymm5\n\t"
                     "vfmadd213ps %%ymm12, %%ymm13, %%ymm6\n\tvfmadd213ps %%ymm12, %%ymm13, %%ymm7\n\t"
                     "vfmadd213ps %%ymm12, %%ymm13, %%ymm8\n\tvfmadd213ps %%ymm12, %%ymm13, %%ymm9\n\t"
                     "vfmadd213ps %%ymm12, %%ymm13, %%ymm10\n\tvfmadd213ps %%ymm12, %%ymm13, %%ymm11\n\t"
                     "dec %0\n\tjnz 1b"
                     : "+r"(n)
                     : "m"(half)
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "cc");
}

/* With one thread, time on the processor: what others took from it does not count. */
static uint64_t clock_ns(int threads) {
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Multiplications and additions done. */
static double peak_run(int threads) {
    const bool wide = asc_cpu_vector_isa() == ASC_ISA_AVX512;
#pragma omp parallel num_threads(threads)
    {
        if (wide) {
            fma_steps(PEAK_STEPS);
        } else {
            fma_steps_avx2(PEAK_STEPS);
        }
    }
    return (double)threads * PEAK_STEPS * 12 * (wide ? 32 : 16);
}

#endif
