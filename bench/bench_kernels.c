/* bench_kernels.c - the kernels of the cpu device that are not matrix products: GB/s as a ratio to memcpy on
 * arrays of the same size, and attention in GFLOP/s as a ratio to the FMA peak.
 *
 * usage: bench_kernels [repeats] [threads]     (default 15, 1)
 * Every figure is the best of `repeats` short runs, kernel and yardstick measured in turn: on a shared
 * machine the best run is the one that was least disturbed. Shapes are those of SmolLM2-135M unless they are
 * printed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
/* Sixteen independent chains of FMA: more than latency (4) times units (2). The empty statement keeps them
 * apart. */
#define CHAINS(vec, fma)                                                                                     \
    vec c[16] = {{0}}, x = {0};                                                                              \
    for (long i = 0; i < n; i++) {                                                                           \
        _Pragma("GCC unroll 16") for (int k = 0; k < 16; k++) {                                              \
            c[k] = fma(x, x, c[k]);                                                                          \
            __asm__ volatile("" : "+v"(c[k]));                                                               \
        }                                                                                                    \
    }
__attribute__((target("avx512f"))) static void fma_avx512(long n) { CHAINS(__m512, _mm512_fmadd_ps) }
__attribute__((target("avx2,fma"))) static void fma_avx2(long n) { CHAINS(__m256, _mm256_fmadd_ps) }
#endif

typedef struct job {
    const char *what;
    int opcode;
    int n_in;
    asc_shape in[5];
    asc_attrs attrs;
    double flops; /* 0: judged by bytes */
} job;

static int repeats = 15, threads = 1;

/* Processor time where there is one thread: time in which others have the core does not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* GFLOP/s of one thread. */
static double fma_peak(void) {
    const long n = 40000;
    double flops = 0;
    double start = now();
#if defined(__x86_64__)
    if (asc_cpu_vector_isa() == ASC_ISA_AVX512) {
        fma_avx512(n);
        flops = 16.0 * 16 * 2 * (double)n;
    } else if (asc_cpu_vector_isa() == ASC_ISA_AVX2) {
        fma_avx2(n);
        flops = 16.0 * 8 * 2 * (double)n;
    }
#endif
    return flops / (now() - start) * 1e-9;
}

static double time_kernel(const asc_kernel *k, const asc_kargs *a, int loops) {
    double start = now();
    for (int i = 0; i < loops; i++) k->run(a);
    return (now() - start) / loops;
}

static double time_copy(float *dst, const float *src, size_t bytes, int loops) {
    double start = now();
    for (int i = 0; i < loops; i++) {
        memcpy(dst, src, bytes);
        __asm__ volatile("" : : "r"(dst) : "memory");
    }
    return (now() - start) / loops;
}

static float *array(int64_t n) {
    float *p = NULL;
    if (posix_memalign((void **)&p, 64, (size_t)n * sizeof(float) + 256) != 0) exit(4);
    for (int64_t i = 0; i < n; i++) p[i] = (float)((i * 7919) % 1009) / 512.0f - 1.0f;
    return p;
}

static void bench(asc_ctx *ctx, const job *j, asc_isa isa) {
    asc_call c = {.op = asc_ops[j->opcode], .attrs = &j->attrs, .n_in = j->n_in};
    float *in[5] = {0};
    double bytes = 0;
    for (int i = 0; i < j->n_in; i++) {
        c.in_shape[i] = j->in[i];
        c.in_dtype[i] = j->opcode == ASC_OPCODE_ROPE && i == 1 ? ASC_DTYPE_I32 : ASC_DTYPE_F32;
        in[i] = array(asc_shape_elems(&j->in[i]));
        bytes += (double)asc_shape_elems(&j->in[i]) * 4;
    }
    if (c.op->infer(ctx, &c) != ASC_OK) {
        printf("%s: %s\n", j->what, asc_error_message(ctx));
        exit(4);
    }
    const int64_t n_out = asc_shape_elems(&c.shape);
    bytes += (double)n_out * 4;
    const asc_kernel *k = asc_kernel_pick(&c, isa);
    if (j->opcode == ASC_OPCODE_ROPE)
        for (int32_t i = 0; i < j->in[1].dims[0]; i++) memcpy(&in[1][i], &i, sizeof i);
    asc_kargs a = {.call = &c, .n_threads = threads, .out = array(n_out)};
    for (int i = 0; i < j->n_in; i++) a.in[i] = in[i];
    a.scratch = array(k->scratch != NULL ? (int64_t)k->scratch(&c, threads) / 4 : 1);
    const size_t half = (size_t)bytes / 2; /* the copy moves as many bytes as the kernel */
    float *src = array((int64_t)half / 4 + 1), *dst = array((int64_t)half / 4 + 1);
    double best = time_kernel(k, &a, 1), copy = 1e9, peak = 0;
    const int loops = best > 2e-3 ? 1 : (int)(2e-3 / best) + 1;
    for (int r = 0; r < repeats; r++) {
        best = fmin(best, time_kernel(k, &a, loops));
        if (j->flops > 0)
            peak = fmax(peak, fma_peak() * threads);
        else
            copy = fmin(copy, time_copy(dst, src, half, loops));
    }
    if (j->flops > 0)
        printf("%-34s %-9s %9.1f us %8.1f GFLOP/s   %5.1f %% of FMA peak (%.0f)\n", j->what,
               asc_isa_name(k->isa), best * 1e6, j->flops / best * 1e-9, 100 * j->flops / best * 1e-9 / peak,
               peak);
    else
        printf("%-34s %-9s %9.1f us %8.1f GB/s      %5.2f of memcpy (%.1f)\n", j->what, asc_isa_name(k->isa),
               best * 1e6, bytes / best * 1e-9, copy / best, bytes / copy * 1e-9);
    fflush(stdout);
    for (int i = 0; i < j->n_in; i++) free(in[i]);
    free(a.out);
    free(a.scratch);
    free(src);
    free(dst);
}

static void attention(asc_ctx *ctx, int64_t b, int64_t t, int64_t s, int64_t h, int64_t g, int64_t d,
                      asc_isa isa) {
    const asc_shape q = ASC_SHAPE(b, t, h, d), k = ASC_SHAPE(b, s, g, d);
    const double pairs = (double)(b * h) * ((double)t * (double)(s - t) + (double)t * (double)(t + 1) / 2);
    char what[64];
    for (int grad = 0; grad < 2; grad++) {
        snprintf(what, sizeof what, "sdpa%s B%lld T%lld S%lld H%lld/%lld D%lld", grad != 0 ? "_grad" : "",
                 (long long)b, (long long)t, (long long)s, (long long)h, (long long)g, (long long)d);
        job j = {what,
                 grad != 0 ? ASC_OPCODE_SDPA_GRAD : ASC_OPCODE_SDPA,
                 grad != 0 ? 5 : 3,
                 {q, k, k, q, q},
                 {.i = {1, 0}, .f = {1 / sqrt((double)d), 0}},
                 pairs * (double)d * (grad != 0 ? 10 : 4)};
        bench(ctx, &j, isa);
    }
}

static void pointwise(asc_ctx *ctx, int64_t rows, asc_isa isa) {
    const asc_shape x = ASC_SHAPE(rows, 1536), w = ASC_SHAPE(1536), col = ASC_SHAPE(rows, 1),
                    heads = ASC_SHAPE(rows, 24, 64);
    const asc_shape turned = ASC_SHAPE(1, rows, 24, 64);
    const job jobs[] = {
        {"add", ASC_OPCODE_ADD, 2, {x, x}, {.i = {0}}, 0},
        {"add a row", ASC_OPCODE_ADD, 2, {x, w}, {.i = {0}}, 0},
        {"mul by a column", ASC_OPCODE_MUL, 2, {x, col}, {.i = {0}}, 0},
        {"scale", ASC_OPCODE_SCALE, 1, {x}, {.f = {0.5}}, 0},
        {"exp", ASC_OPCODE_EXP, 1, {x}, {.i = {0}}, 0},
        {"log", ASC_OPCODE_LOG, 1, {x}, {.i = {0}}, 0},
        {"tanh", ASC_OPCODE_TANH, 1, {x}, {.i = {0}}, 0},
        {"silu", ASC_OPCODE_SILU, 1, {x}, {.i = {0}}, 0},
        {"gelu", ASC_OPCODE_GELU, 1, {x}, {.i = {0}}, 0},
        {"gelu_tanh", ASC_OPCODE_GELU_TANH, 1, {x}, {.i = {0}}, 0},
        {"swiglu", ASC_OPCODE_SWIGLU, 2, {x, x}, {.i = {0}}, 0},
        {"swiglu_grad", ASC_OPCODE_SWIGLU_GRAD, 3, {x, x, x}, {.i = {0}}, 0},
        {"rms_norm", ASC_OPCODE_RMS_NORM, 2, {x, w}, {.f = {1e-5}}, 0},
        {"rms_norm_grad", ASC_OPCODE_RMS_NORM_GRAD, 3, {x, w, x}, {.f = {1e-5}}, 0},
        {"layer_norm", ASC_OPCODE_LAYER_NORM, 3, {x, w, w}, {.f = {1e-5}}, 0},
        {"softmax", ASC_OPCODE_SOFTMAX, 1, {x}, {.i = {0}}, 0},
        {"softmax_grad", ASC_OPCODE_SOFTMAX_GRAD, 2, {x, x}, {.i = {0}}, 0},
        {"log_softmax", ASC_OPCODE_LOG_SOFTMAX, 1, {x}, {.i = {0}}, 0},
        {"rope", ASC_OPCODE_ROPE, 3, {turned, ASC_SHAPE(rows), ASC_SHAPE(32)}, {.f = {1}}, 0},
        {"rope interleaved",
         ASC_OPCODE_ROPE,
         3,
         {turned, ASC_SHAPE(rows), ASC_SHAPE(32)},
         {.i = {1}, .f = {1}},
         0},
        {"sum of rows", ASC_OPCODE_SUM, 1, {x}, {.i = {1, 1}}, 0},
        {"sum of columns", ASC_OPCODE_SUM, 1, {x}, {.i = {1, 0}}, 0},
        {"arg_max", ASC_OPCODE_ARG_MAX, 1, {x}, {.i = {1}}, 0},
        {"transpose", ASC_OPCODE_TRANSPOSE, 1, {x}, {.i = {2, 1, 0}}, 0},
        {"transpose heads", ASC_OPCODE_TRANSPOSE, 1, {heads}, {.i = {3, 1, 0, 2}}, 0},
        {"slice of columns", ASC_OPCODE_SLICE, 1, {x}, {.i = {1, 5, 700}}, 0},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) bench(ctx, &jobs[i], isa);
}

int main(int argc, char **argv) {
    if (argc > 1) repeats = atoi(argv[1]);
    if (argc > 2) threads = atoi(argv[2]);
    if (repeats < 1 || threads < 1) {
        fprintf(stderr, "usage: bench_kernels [repeats] [threads]\n");
        return 2;
    }
    asc_ctx *ctx = NULL;
    if (asc_ctx_create(&(asc_ctx_options){.struct_size = sizeof(asc_ctx_options)}, &ctx) != ASC_OK) return 4;
    const asc_isa best = asc_cpu_vector_isa();
    printf("attention, causal, %d thread(s)\n", threads);
    attention(ctx, 1, 56, 56, 9, 3, 64, best);
    attention(ctx, 16, 56, 56, 9, 3, 64, best);
    attention(ctx, 1, 512, 512, 9, 3, 64, best);
    attention(ctx, 1, 2048, 2048, 9, 3, 64, best);
    attention(ctx, 1, 512, 512, 8, 2, 128, best);
    attention(ctx, 1, 1, 1000, 9, 3, 64, best);
    if (best > ASC_ISA_AVX2) attention(ctx, 1, 512, 512, 9, 3, 64, ASC_ISA_AVX2);
    printf("[56, 1536]: in the second-level cache\n");
    pointwise(ctx, 56, best);
    printf("[4096, 1536]: 25 MB an array\n");
    pointwise(ctx, 4096, best);
    asc_ctx_destroy(ctx);
    return 0;
}
