/* bench_forkjoin.c - what it costs to wake the threads and wait for them, which sets ASC_CPU_SMALL_NS.
 * Prints the best and the median of 2,000 empty parallel regions. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "cpu.h"

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    enum { N = 2000 };
    static double ns[N];
    const int threads = asc_cpu_count();
    static volatile int turn;
    for (int i = 0; i < N; i++) {
        struct timespec t0, t1;
        clock_gettime(CLOCK_MONOTONIC, &t0);
#pragma omp parallel num_threads(threads)
        turn = 1;
        clock_gettime(CLOCK_MONOTONIC, &t1);
        ns[i] = (double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec);
    }
    qsort(ns, N, sizeof ns[0], compare);
    printf("%d threads: best %.0f ns, 10%% %.0f ns, median %.0f ns\n", threads, ns[0], ns[N / 10], ns[N / 2]);
    return turn != 1;
}
