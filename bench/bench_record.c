/* bench_record.c - what recording costs: processor time per recorded op (graph and node pool warm), and per
 * op of a deferred cut whose pattern was seen before, the kernels themselves kept tiny. Limits: 100 ns and 1
 * us. */
#include "exec.h"
#include "ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCK = 200, ROUNDS = 400 };

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct leaves {
    asc_tensor *x, *w, *gain, *one;
} leaves;

static asc_tensor *leaf(asc_ctx *ctx, asc_shape shape) {
    float v[256];
    for (int i = 0; i < 256; i++) v[i] = 0.25f;
    return asc_from_f32(ctx, shape, v);
}

/* Five ops a step, as a decoder has them. */
static asc_tensor *steps(asc_ctx *ctx, const leaves *l, int n) {
    asc_tensor *h = l->x;
    for (int i = 0; i < n; i++) {
        asc_tensor *y = asc_rms_norm(ctx, h, l->gain, 1e-5);
        y = asc_matmul(ctx, y, l->w, false, true);
        y = asc_mul(ctx, y, l->one);
        y = asc_reshape(ctx, y, ASC_SHAPE(1, 4, 8));
        h = asc_add(ctx, y, h);
    }
    return h;
}

static int report(const char *what, double *ns, double limit) {
    qsort(ns, ROUNDS, sizeof ns[0], compare);
    printf("%-34s best %6.1f ns  median %6.1f ns  limit %6.0f ns\n", what, ns[0], ns[ROUNDS / 2], limit);
    return ns[ROUNDS / 2] > limit;
}

int main(void) {
    static double record[ROUNDS], flush[ROUNDS];
    asc_ctx_options o = {.struct_size = sizeof o, .mode = "deferred", .n_threads = 1};
    asc_ctx *ctx;
    if (asc_ctx_create(&o, &ctx) != ASC_OK) return 1;
    asc_scope_begin(ctx);
    leaves l = {leaf(ctx, ASC_SHAPE(1, 4, 8)), leaf(ctx, ASC_SHAPE(8, 8)), leaf(ctx, ASC_SHAPE(8)),
                leaf(ctx, ASC_SHAPE(1))};
    for (int round = -20; round < ROUNDS; round++) {
        asc_scope_begin(ctx);
        double t0 = now_ns();
        asc_tensor *y = steps(ctx, &l, BLOCK / 5);
        double t1 = now_ns();
        if (asc_run(ctx, &y, 1) != ASC_OK) return 1;
        double t2 = now_ns();
        if (asc_scope_end(ctx) != ASC_OK) return 1;
        if (round >= 0) record[round] = (t1 - t0) / BLOCK, flush[round] = (t2 - t1) / BLOCK;
    }
    double kernels = asc_exec_stats_of(ctx).seconds * 1e9 / (double)(ROUNDS + 20) / BLOCK;
    int over = report("record an op", record, 100);
    over += report("cut a seen pattern, per op", flush, 1000);
    printf("%-34s mean %6.1f ns, part of the above\n", "  inside the device, per op", kernels);
    printf("%zu bytes a node\n", sizeof(struct asc_tensor));
    if (asc_scope_end(ctx) != ASC_OK) return 1;
    asc_ctx_destroy(ctx);
    return over;
}
