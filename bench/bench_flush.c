/* bench_flush.c - what recording and cutting cost beside arithmetic: a net's forward and backward pass on the
 * null device, which computes nothing.
 *
 * usage: bench_flush [LAYERS]        (default 100)
 * Columns: ops in the cut, nanoseconds an op to record, nanoseconds an op to cut a pattern seen before,
 * microseconds an op to make its executable the first time, nanoseconds an op of a captured function's run.
 * Best of 200.
 */
#include "ascribe/compile.h"
#include "ascribe/ops.h"
#include "exec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int layers = 100;
static asc_tensor *weights[1024];

static void check(asc_ctx *ctx, asc_status st) {
    if (st == ASC_OK) return;
    fprintf(stderr, "bench_flush: %s\n", asc_error_message(ctx));
    exit(1);
}

static void net(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *scalars, asc_tensor **out) {
    int axes[] = {0, 1};
    asc_tensor *x = in[0];
    (void)self;
    for (int i = 0; i < layers; i++) {
        asc_tensor *h = asc_silu(ctx, asc_matmul(ctx, x, weights[i], false, false));
        x = asc_add(ctx, x, asc_scale(ctx, h, scalars[0]));
    }
    out[0] = asc_sum(ctx, x, 2, axes, false);
    asc_grad(ctx, out[0], NULL, &in[0], 1, &out[1]);
}

int main(int argc, char **argv) {
    asc_ctx_options o = {.struct_size = sizeof o, .device = "null", .n_threads = 1};
    asc_ctx *ctx;
    float v[64] = {0};
    if (argc > 1) layers = atoi(argv[1]);
    if (layers < 1 || layers > 1024) return 2;
    check(NULL, asc_ctx_create(&o, &ctx));
    asc_scope_begin(ctx);
    for (int i = 0; i < layers; i++) weights[i] = asc_from_f32(ctx, ASC_SHAPE(8, 8), v);
    double record = 1e30, cut = 1e30, first = 0.0, run = 1e30, n = 0.0;
    for (int i = 0; i < 200; i++) {
        const double scalars[] = {0.5 + i};
        asc_scope_begin(ctx);
        asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(8, 8), v), *out[2];
        uint64_t before = asc_exec_stats_of(ctx).nodes_run, t0 = asc_now_ns();
        net(ctx, NULL, &x, scalars, out);
        uint64_t t1 = asc_now_ns();
        check(ctx, asc_run(ctx, out, 2));
        uint64_t t2 = asc_now_ns();
        n = (double)(asc_exec_stats_of(ctx).nodes_run - before);
        if ((double)(t1 - t0) < record) record = (double)(t1 - t0);
        if (i == 0) first = (double)(t2 - t1);
        if (i > 0 && (double)(t2 - t1) < cut) cut = (double)(t2 - t1);
        check(ctx, asc_scope_end(ctx));
    }
    asc_compile_def d = {.struct_size = sizeof d, .fn = net, .n_in = 1, .n_scalars = 1, .n_out = 2};
    asc_compiled *c;
    check(ctx, asc_compile(ctx, &d, &c));
    for (int i = 0; i < 200; i++) {
        const double scalars[] = {0.5 + i};
        asc_scope_begin(ctx);
        asc_tensor *x = asc_from_f32(ctx, ASC_SHAPE(8, 8), v), *out[2];
        uint64_t t0 = asc_now_ns();
        check(ctx, asc_compiled_call(c, &x, scalars, out));
        uint64_t t1 = asc_now_ns();
        if (i > 0 && (double)(t1 - t0) < run) run = (double)(t1 - t0);
        check(ctx, asc_scope_end(ctx));
    }
    printf("%6.0f ops  record %6.0f ns  cut %6.0f ns  first %6.2f us  captured %6.1f ns an op\n", n,
           record / n, cut / n, first / n / 1e3, run / n);
    asc_compiled_destroy(c);
    check(ctx, asc_scope_end(ctx));
    asc_ctx_destroy(ctx);
    return 0;
}
