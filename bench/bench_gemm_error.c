/* bench_gemm_error.c - rounding errors of the matrix kernels against f64, in units of 2^-24 sum |a||b|:
 * largest and root mean square, on several kinds of numbers. docs/decisions/highest-by-tiles.md has the
 * table.
 *
 * usage: bench_gemm_error [least K] [largest K] [f32|q4_1|q8_0] [nk|kn]     (default 64 4096 f32 nk)
 * nk: y = a W^T, kn: y = a W, the product of gradients; blocks of stored weights lie along the second.
 * Of stored weights the values are what was meant to be multiplied: rounding them is no error. */
#include "half.h"
#include "kernel.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 96, N = 192, N_WAYS = 5 };
static bool kn;

/* Where weight (n, i) lies. */
static int64_t at(int64_t n, int64_t i, int64_t k) { return kn ? i * N + n : n * k + i; }

typedef enum kind {
    NORMAL,
    POSITIVE,
    ELEMENTS,
    ROWS,
    CANCELLING,
    BF16_LIKE,
    NEAR_ONE,
    ONE_SIDED,
    N_KINDS
} kind;
static const char *const kind_names[N_KINDS] = {"normal",     "positive", "1e-20..1e20", "rows so",
                                                "cancelling", "few bits", "w about 1",   "w one-sided"};

static uint64_t state = 88172645463325252u;
static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}
static double normal(void) { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()); }

/* a and w so that the sums have what the kind says; w is [N,k], or [k,N]. */
static void draw(kind what, int64_t k, float *a, float *w) {
    for (int64_t m = 0; m < M; m++) {
        const double row = what == ROWS ? pow(10, 40 * uniform() - 20) : 1;
        for (int64_t i = 0; i < k; i++) {
            double x = what == POSITIVE ? uniform() : normal();
            if (what == ELEMENTS) x *= pow(10, 40 * uniform() - 20);
            if (what == CANCELLING && i >= k / 2) x = -(double)a[m * k + i - k / 2] * (1 + 1e-4 * normal());
            if (what == BF16_LIKE) x = rint(x * 8) / 8;
            a[m * k + i] = (float)(x * row);
        }
    }
    for (int64_t n = 0; n < N; n++)
        for (int64_t i = 0; i < k; i++) {
            double x = what == POSITIVE ? uniform() : normal();
            if (what == CANCELLING && i >= k / 2) x = w[at(n, i - k / 2, k)];
            if (what == NEAR_ONE) x = 1 + 1e-3 * x;
            if (what == ONE_SIDED)
                x = (kn ? n : i) % 32 == 0 ? 1 : 0.05 * uniform(); /* a block's range is for one of it */
            w[at(n, i, k)] = (float)x;
        }
}

/* w to blocks of the type, least to largest number of each, and back. */
static void store(asc_dtype t, float *w, int64_t n, uint8_t *out) {
    const int64_t bytes = asc_dtype_of(t)->block_bytes;
    for (int64_t b = 0; b < n / 32; b++) {
        const float *x = w + 32 * b;
        uint8_t *p = out + b * bytes;
        float least = x[0], most = x[0];
        for (int i = 1; i < 32; i++) {
            least = fminf(least, x[i]);
            most = fmaxf(most, x[i]);
        }
        const bool bytewise = t == ASC_DTYPE_Q8_0;
        const float d = bytewise ? fmaxf(most, -least) / 127 : (most - least) / 15;
        const uint16_t half[2] = {asc_f32_to_f16(d), asc_f32_to_f16(least)};
        memset(p, 0, (size_t)bytes);
        memcpy(p, half, bytewise ? 2 : 4);
        for (int i = 0; i < 32; i++) {
            const float q = d > 0 ? rintf(bytewise ? x[i] / d : (x[i] - least) / d) : 0;
            if (bytewise)
                p[2 + i] = (uint8_t)(int8_t)q;
            else
                p[4 + i % 16] |= (uint8_t)((int)q << (i < 16 ? 0 : 4));
        }
    }
    asc_dtype_expand(t)(out, w, n);
}

/* Adds what one product shows. */
static void errors(int64_t k, const float *a, const float *w, const float *y, double *most, double *squares) {
    for (int64_t m = 0; m < M; m++)
        for (int64_t n = 0; n < N; n++) {
            double sum = 0, size = 0;
            for (int64_t i = 0; i < k; i++) {
                const double p = (double)a[m * k + i] * (double)w[at(n, i, k)];
                sum += p;
                size += fabs(p);
            }
            const double e = fabs((double)y[m * N + n] - sum) / (size * 0x1p-24);
            if (e > *most) *most = e;
            *squares += e * e;
        }
}

int main(int argc, char **argv) {
    const int64_t least = argc > 1 ? atoi(argv[1]) : 64, largest = argc > 2 ? atoi(argv[2]) : 4096;
    static const int64_t ks[] = {64, 192, 576, 1536, 4096};
    const int t = asc_dtype_from_name(argc > 3 ? argv[3] : "f32");
    if (t != ASC_DTYPE_F32 && t != ASC_DTYPE_Q4_1 && t != ASC_DTYPE_Q8_0) return 2;
    static const asc_kernel *const kernels[N_WAYS] = {
        &asc_kernel_matmul_avx512, &asc_kernel_matmul_onednn, &asc_kernel_matmul_bf16_amx,
        &asc_kernel_matmul_bf16_amx, &asc_kernel_matmul_stored_amx};
    static const char *const names[N_WAYS] = {"FMA chains", "oneDNN", "six products", "five products",
                                              "whole numbers"};
    kn = argc > 4 && strcmp(argv[4], "kn") == 0;
    const asc_isa isa = asc_cpu_best_isa();
    for (size_t s = 0; s < sizeof ks / sizeof ks[0]; s++) {
        const int64_t k = ks[s];
        if (k < least || k > largest) continue;
        float *a = malloc((size_t)(M * k) * sizeof(float)), *w = malloc((size_t)(N * k) * sizeof(float));
        float *y = aligned_alloc(64, M * N * sizeof(float));
        uint8_t *blocks = malloc((size_t)(N * k) * sizeof(float));
        for (int what = 0; what < N_KINDS; what++) {
            double most[N_WAYS] = {0}, squares[N_WAYS] = {0};
            const int rounds = k < 1000 ? 8 : 2;
            for (int r = 0; r < rounds; r++) {
                draw((kind)what, k, a, w);
                if (t != ASC_DTYPE_F32) store((asc_dtype)t, w, N * k, blocks);
                for (int v = 0; v < N_WAYS; v++) {
                    if (kernels[v]->isa > isa || (v == 3 && !(kn && t == ASC_DTYPE_Q4_1))) continue;
                    asc_attrs attrs = {.i = {0, !kn}};
                    asc_call c = {.op = &asc_op_matmul, .attrs = &attrs, .n_in = 2};
                    c.level = v == 2 ? ASC_PRECISION_BF16X6 : ASC_PRECISION_HIGHEST;
                    c.in_dtype[0] = c.dtype = ASC_DTYPE_F32;
                    c.in_dtype[1] = (asc_dtype)t;
                    c.in_shape[0] = ASC_SHAPE(M, k);
                    c.in_shape[1] = kn ? ASC_SHAPE(k, N) : ASC_SHAPE(N, k);
                    c.shape = ASC_SHAPE(M, N);
                    if (kernels[v]->fits != NULL && !kernels[v]->fits(&c)) continue;
                    const size_t bytes = kernels[v]->scratch != NULL ? kernels[v]->scratch(&c, 1) : 0;
                    void *scratch = aligned_alloc(64, (bytes + 127) / 64 * 64);
                    if (a == NULL || w == NULL || y == NULL || blocks == NULL || scratch == NULL) return 1;
                    const void *second = t == ASC_DTYPE_F32 ? (const void *)w : blocks;
                    asc_kargs args = {
                        .call = &c, .in = {a, second}, .out = y, .scratch = scratch, .n_threads = 1};
                    kernels[v]->run(&args);
                    errors(k, a, w, y, &most[v], &squares[v]);
                    free(scratch);
                }
            }
            printf("K %5lld  %-12s", (long long)k, kind_names[what]);
            for (int v = 0; v < N_WAYS; v++)
                if (squares[v] > 0)
                    printf(" | %s max %6.3f rms %6.4f", names[v], most[v],
                           sqrt(squares[v] / (rounds * (double)M * N)));
            printf("\n");
            fflush(stdout);
        }
        free(a);
        free(w);
        free(blocks);
        free(y);
    }
    return 0;
}
