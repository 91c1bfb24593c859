/* bench_gemm.c - GFLOP/s of the matrix kernels, expansion of stored weights included, and their ratio to the
 * FMA peak; then that of every level of precision, with the same count of operations, so that a ratio says
 * how much faster a level is.
 *
 * usage: bench_gemm [type] [threads] [repeats] [least rows] [most columns] [isa] [k n ...]
 * (default q4_1, all cores, 15, what there is; oneDNN takes what it finds unless DNNL_MAX_CPU_ISA says less)
 * Every figure is the best of `repeats` short runs, the candidates and the peak measured in turn: on a shared
 * machine the best run is the one that was least disturbed. Shapes are those of SmolLM2-135M, or pairs of k
 * and n. */
#include "fma_peak.h"
#include "half.h"
#include "kernel.h"
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_PLAIN = 5, N_WAYS = N_PLAIN + ASC_N_PRECISIONS };

typedef struct problem {
    int64_t m, n, k;
    bool tb;
    asc_dtype t;
    float *a, *w32, *y;
    uint8_t *w;
    void *scratch;
    size_t scratch_bytes;
    int threads;
    asc_isa isa;
} problem;

/* kernel NULL: the one that the device would take for the level. */
static void run_kernel(const problem *p, const asc_kernel *kernel, asc_precision level) {
    asc_attrs attrs = {.i = {0, p->tb}};
    asc_call c = {.op = &asc_op_matmul, .attrs = &attrs, .n_in = 2, .level = level};
    c.in_dtype[0] = c.dtype = ASC_DTYPE_F32;
    c.in_dtype[1] = p->t;
    c.in_shape[0] = ASC_SHAPE(p->m, p->k);
    c.in_shape[1] = p->tb ? ASC_SHAPE(p->n, p->k) : ASC_SHAPE(p->k, p->n);
    c.shape = ASC_SHAPE(p->m, p->n);
    if (kernel == NULL) kernel = asc_kernel_pick(&c, p->isa);
    if (kernel->scratch != NULL && kernel->scratch(&c, p->threads) > p->scratch_bytes) exit(1);
    asc_kargs args = {
        .call = &c, .in = {p->a, p->w}, .out = p->y, .scratch = p->scratch, .n_threads = p->threads};
    kernel->run(&args);
}

static double run_way(const problem *p, int way) {
    switch (way) {
    case 0:
        return peak_run(p->threads);
    case 1:
        run_kernel(p, &asc_kernel_matmul_avx512, ASC_PRECISION_HIGHEST);
        break;
    case 2:
        run_kernel(p, &asc_kernel_matmul_onednn, ASC_PRECISION_HIGHEST);
        break;
    case 3: /* oneDNN's own threads, on a matrix that somebody expanded before */
        dnnl_sgemm('N', p->tb ? 'T' : 'N', p->m, p->n, p->k, 1.0f, p->a, p->k, p->w32, p->tb ? p->k : p->n,
                   0.0f, p->y, p->n);
        break;
    case 4: /* six products of pieces, which `highest` takes where matmul_stored_amx does not fit */
        run_kernel(p, &asc_kernel_matmul_bf16_amx, ASC_PRECISION_HIGHEST);
        break;
    default:
        run_kernel(p, NULL, (asc_precision)(way - N_PLAIN));
    }
    return 2.0 * (double)p->m * (double)p->n * (double)p->k;
}

static void *buffer(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (p == NULL) exit(1);
    memset(p, 0, bytes);
    return p;
}

/* Ordinary numbers: bytes that would do for a quant or a scale are denormal as f32, and each product of such
 * a number takes a hundred times as long. */
static void weights(asc_dtype t, uint8_t *w, size_t bytes) {
    const size_t size = (size_t)asc_dtype_of(t)->block_bytes;
    for (size_t i = 0; i < bytes; i++) w[i] = (uint8_t)(i * 7 % 61); /* small scales, no NaN */
    if (asc_dtype_of(t)->block_elems > 1) return;
    for (size_t i = 0; i < bytes / size; i++) {
        const float x = (float)((int)(i * 7 % 61) - 30) / 32;
        const uint16_t bits = t == ASC_DTYPE_F16 ? asc_f32_to_f16(x) : asc_f32_to_bf16(x);
        if (t == ASC_DTYPE_F32)
            memcpy(w + i * size, &x, size);
        else
            memcpy(w + i * size, &bits, size);
    }
}

static void measure(problem *p, int repeats) {
    uint64_t best[N_WAYS];
    double flop[N_WAYS];
    for (int v = 0; v < N_WAYS; v++) best[v] = UINT64_MAX;
    for (int r = 0; r < repeats; r++) {
        for (int v = 0; v < N_WAYS; v++) {
            if (v == 1 && (p->m < 9 || p->isa < ASC_ISA_AVX512)) continue;
            if (v == 4 && (p->m < 9 || p->isa < ASC_ISA_AMX)) continue;
            uint64_t start = clock_ns(p->threads);
            flop[v] = run_way(p, v);
            uint64_t ns = clock_ns(p->threads) - start;
            if (ns < best[v]) best[v] = ns;
        }
    }
    double peak = flop[0] / (double)best[0];
    printf("%-5s k %5lld n %5lld m %4lld  peak %6.1f |", p->tb ? "a W^T" : "a W", (long long)p->k,
           (long long)p->n, (long long)p->m, peak);
    static const char *const names[N_PLAIN] = {"", "avx512", "panels+oneDNN", "sgemm, expanded before",
                                               "six products"};
    for (int v = 1; v < N_WAYS; v++) {
        if (best[v] == UINT64_MAX) continue;
        double rate = flop[v] / (double)best[v];
        const char *name = v < N_PLAIN ? names[v] : asc_precision_name((asc_precision)(v - N_PLAIN));
        printf("%s %s %6.1f (%.2f)", v == N_PLAIN ? " |" : "", name, rate, rate / peak);
    }
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv) {
    enum { N_SHAPES = 8, MOST_ROWS = 896 };
    int64_t shapes[N_SHAPES][2] = {{576, 576}, {576, 192}, {576, 1536}, {1536, 576}, {576, 49152}};
    size_t n_shapes = 5;
    static const int64_t rows[] = {1, 2, 4, 8, 16, 56, 224, 504, 896};
    int t = asc_dtype_from_name(argc > 1 ? argv[1] : "q4_1");
    if (t < 0 || asc_dtype_expand((asc_dtype)t) == NULL) return 2;
    problem p = {.t = (asc_dtype)t, .threads = argc > 2 ? atoi(argv[2]) : asc_cpu_count()};
    const int isa = asc_isa_from_name(argc > 6 ? argv[6] : "auto");
    if (isa < 0 || isa > (int)asc_cpu_best_isa()) return 2;
    p.isa = (asc_isa)isa;
    int repeats = argc > 3 ? atoi(argv[3]) : 15;
    int64_t min_m = argc > 4 ? atoi(argv[4]) : 1, max_n = argc > 5 ? atoi(argv[5]) : 1 << 20;
    if (argc > 8) n_shapes = 0;
    for (int i = 7; i + 1 < argc && n_shapes < N_SHAPES; i += 2, n_shapes++) {
        shapes[n_shapes][0] = atoi(argv[i]);
        shapes[n_shapes][1] = atoi(argv[i + 1]);
    }
    size_t w_elems = 0, w_bytes = 0, most_k = 0, most_n = 0;
    for (size_t s = 0; s < n_shapes; s++) {
        const size_t k = (size_t)shapes[s][0], n = (size_t)shapes[s][1];
        if (k > most_k) most_k = k;
        if (n > most_n) most_n = n;
        if (k * n > w_elems) w_elems = k * n;
    }
    if (!asc_dtype_bytes(p.t, (int64_t)w_elems, &w_bytes)) return 2;
    omp_set_num_threads(p.threads);
    p.a = buffer(sizeof(float) * MOST_ROWS * most_k);
    p.y = buffer(sizeof(float) * MOST_ROWS * most_n);
    p.w32 = buffer(sizeof(float) * w_elems);
    p.w = buffer(w_bytes);
    p.scratch_bytes = ((size_t)p.threads + 1) * (16 << 20);
    p.scratch = buffer(p.scratch_bytes);
    for (size_t i = 0; i < MOST_ROWS * most_k; i++) p.a[i] = (float)((int)(i % 17) - 8);
    weights(p.t, p.w, w_bytes);
    asc_dtype_expand(p.t)(p.w, p.w32, (int64_t)w_elems);
    for (int tb = 1; tb >= 0; tb--) {
        for (size_t s = 0; s < n_shapes; s++) {
            for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
                if (rows[r] < min_m || shapes[s][1] > max_n) continue;
                p.tb = tb != 0;
                p.m = rows[r];
                p.k = shapes[s][0];
                p.n = shapes[s][1];
                measure(&p, p.n > 4096 && argc <= 8 ? 3 : repeats);
            }
        }
    }
    return 0;
}
