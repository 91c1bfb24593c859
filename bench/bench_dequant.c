/* bench_dequant.c - how fast stored weights expand to f32, one thread: GB/s of f32 written, per storage type,
 * into a panel that fits the second-level cache and into one that does not. */
#include "ctx.h"
#include "dtype.h"
#include <stdio.h>
#include <stdlib.h>

/* Best of several runs, in GB/s. */
static double rate(asc_expand_fn fn, const uint8_t *src, float *dst, int64_t n) {
    double best = 0;
    for (int run = 0; run < 40; run++) {
        int64_t reps = ((int64_t)1 << 22) / n;
        uint64_t start = asc_now_ns();
        for (int64_t r = 0; r < reps; r++) fn(src, dst, n);
        double seconds = (double)(asc_now_ns() - start) * 1e-9;
        double gbs = (double)(reps * n) * sizeof(float) / seconds * 1e-9;
        if (gbs > best) best = gbs;
    }
    return best;
}

int main(void) {
    const int64_t small = 1 << 16, large = 1 << 22; /* 256 KiB and 16 MiB of f32 */
    uint8_t *src = malloc((size_t)large * 4);
    float *dst = malloc((size_t)large * sizeof *dst);
    if (src == NULL || dst == NULL) return 1;
    uint32_t x = 1;
    for (int64_t i = 0; i < large * 4; i++) {
        x = x * 1664525u + 1013904223u;
        src[i] = (uint8_t)(x >> 24);
    }
    printf("%-8s %10s %10s   GB/s of f32 written, one thread\n", "type", "256 KiB", "16 MiB");
    for (int t = 0; t < ASC_N_DTYPES; t++) {
        asc_expand_fn fn = asc_dtype_expand((asc_dtype)t);
        if (fn == NULL) continue;
        printf("%-8s %10.2f %10.2f\n", asc_dtype_of((asc_dtype)t)->name, rate(fn, src, dst, small),
               rate(fn, src, dst, large));
    }
    free(src);
    free(dst);
    return 0;
}
