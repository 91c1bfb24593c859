/* bench_gemv.c - matrix times few rows, the work of generating one token: bytes of stored weights per second,
 * and their ratio to the speed at which this machine reads memory, measured in the same program.
 *
 * usage: bench_gemv [threads] [repeats]      (with ASC_VECTORS=1 the kernels of processors without tiles)
 * Weights are spread over more memory than the caches hold... see SPAN. Every figure is the best of `repeats`
 * runs. */
#include "kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SPAN = 192 << 20 }; /* bytes walked through before any is read again */

static volatile float sink;

/* With one thread, time on the processor: what others took from it does not count. */
static double seconds(int threads) {
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *buffer(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (p == NULL) exit(1);
    memset(p, 1, bytes);
    return p;
}

/* Sum of n floats, in four streams of 16 so that nothing waits for an addition. */
static float sum_of(const float *at, size_t n) {
    float a[64] = {0}, sum = 0;
    for (size_t i = 0; i + 64 <= n; i += 64) {
        __builtin_prefetch(at + i + 512);
        __builtin_prefetch(at + i + 528);
        __builtin_prefetch(at + i + 544);
        __builtin_prefetch(at + i + 560);
        for (int l = 0; l < 64; l++) a[l] += at[i + (size_t)l];
    }
    for (int l = 0; l < 64; l++) sum += a[l];
    return sum;
}

static void read_all(const uint8_t *p, size_t bytes, int threads) {
    const size_t each = bytes / (size_t)threads / 64 * 64;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        sink = sum_of((const float *)(const void *)(p + each * (size_t)t), each / sizeof(float));
    }
}

typedef struct job {
    uint8_t *w;
    size_t w_bytes, at;
    float *x, *y;
    void *scratch;
    int threads;
} job;

static double one(job *j, const asc_kernel *kernel, asc_dtype t, int64_t m, int64_t n, int64_t k) {
    asc_attrs attrs = {.i = {0, 1}};
    asc_call c = {.attrs = &attrs, .n_in = 2, .in_dtype = {ASC_DTYPE_F32, t}, .dtype = ASC_DTYPE_F32};
    c.in_shape[0] = ASC_SHAPE(m, k);
    c.in_shape[1] = ASC_SHAPE(n, k);
    c.shape = ASC_SHAPE(m, n);
    size_t bytes = 0;
    if (!asc_dtype_bytes(t, n * k, &bytes)) exit(1);
    if (j->at + bytes > j->w_bytes) j->at = 0;
    asc_kargs a = {.call = &c, .in = {j->x, j->w + j->at}, .out = j->y, .scratch = j->scratch};
    a.n_threads = j->threads;
    j->at += bytes;
    double start = seconds(j->threads);
    kernel->run(&a);
    return (double)bytes / (seconds(j->threads) - start);
}

int main(int argc, char **argv) {
    static const int64_t shapes[][2] = {{192, 576}, {576, 576}, {1536, 576}, {576, 1536}, {49152, 576}};
    static const char *const types[] = {"q4_1", "q8_0", "q4_0", "q6_k", "f16"};
    job j = {.threads = argc > 1 ? atoi(argv[1]) : asc_cpu_count(), .w_bytes = SPAN};
    const int repeats = argc > 2 ? atoi(argv[2]) : 12;
    j.w = buffer(SPAN);
    j.x = buffer(8 * 1536 * sizeof(float));
    j.y = buffer((size_t)8 * 49152 * sizeof(float));
    for (size_t i = 0; i < SPAN; i++) j.w[i] = (uint8_t)(i * 7 % 61); /* small scales, normal values */
    for (int i = 0; i < 8 * 1536; i++) j.x[i] = (float)(i % 17 - 8);
    j.scratch = buffer((size_t)64 << 20);
    double read = 0;
    for (int r = 0; r < repeats; r++) {
        double start = seconds(j.threads);
        read_all(j.w, SPAN, j.threads);
        double rate = SPAN / (seconds(j.threads) - start);
        if (rate > read) read = rate;
    }
    printf("%d threads read memory at %.1f GB/s\n", j.threads, read * 1e-9);
    fflush(stdout);
    const asc_isa isa = getenv("ASC_VECTORS") != NULL ? asc_cpu_vector_isa() : asc_cpu_best_isa();
    const asc_kernel *gemv = isa == ASC_ISA_AMX      ? &asc_kernel_gemv_amx
                             : isa == ASC_ISA_AVX512 ? &asc_kernel_gemv_avx512
                             : isa == ASC_ISA_AVX2   ? &asc_kernel_gemv_avx2
                                                     : &asc_kernel_gemv_base;
    const asc_kernel *gemm = isa >= ASC_ISA_AVX512 ? &asc_kernel_matmul_avx512 : &asc_kernel_matmul_onednn;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        asc_dtype type = (asc_dtype)asc_dtype_from_name(types[t]);
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            if (shapes[s][1] % asc_dtype_of(type)->block_elems != 0) continue;
            printf("%-5s n %5d k %4d |", types[t], (int)shapes[s][0], (int)shapes[s][1]);
            for (int64_t m = 1; m <= (shapes[s][0] > 4096 ? 1 : 8); m *= 2) {
                double best = 0, best_mm = 0;
                const double stop = seconds(j.threads) + 0.05 * repeats;
                for (int r = 0; r < 4 * repeats && seconds(j.threads) < stop; r++) {
                    double rate = one(&j, gemv, type, m, shapes[s][0], shapes[s][1]);
                    if (rate > best) best = rate;
                    rate = one(&j, gemm, type, m, shapes[s][0], shapes[s][1]);
                    if (rate > best_mm) best_mm = rate;
                }
                printf(" m %d %6.2f GB/s (%.2f, as gemm %.2f)", (int)m, best * 1e-9, best / read,
                       best_mm / read);
            }
            printf("\n");
            fflush(stdout);
        }
    }
    return 0;
}
