/* bench_conv.c - GFLOP/s of the convolutions of ResNet-18 at 224x224, forward and backward-data, and their
 * ratio to the FMA peak; beside them oneDNN with plain layouts, and with the layouts that it wants, reorders
 * of x and y included, weights reordered beforehand.
 *
 * usage: bench_conv [batch] [threads] [repeats] [- [layer]]   (default 16, all cores, 5; - leaves oneDNN out)
 * Every figure is the best of `repeats` runs, the candidates and the peak measured in turn. */
#include "fma_peak.h"
#include "kernel.h"
#include "ops.h"
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct layer {
    const char *name;
    int64_t c, m, size, kernel, stride, times; /* times: how many of it ResNet-18 has */
} layer;

static const layer layers[] = {
    {"7x7/2", 3, 64, 224, 7, 2, 1},   {"3x3", 64, 64, 56, 3, 1, 4},   {"3x3/2", 64, 128, 56, 3, 2, 1},
    {"1x1/2", 64, 128, 56, 1, 2, 1},  {"3x3", 128, 128, 28, 3, 1, 3}, {"3x3/2", 128, 256, 28, 3, 2, 1},
    {"1x1/2", 128, 256, 28, 1, 2, 1}, {"3x3", 256, 256, 14, 3, 1, 3}, {"3x3/2", 256, 512, 14, 3, 2, 1},
    {"1x1/2", 256, 512, 14, 1, 2, 1}, {"3x3", 512, 512, 7, 3, 1, 3},
};
enum { N_LAYERS = sizeof layers / sizeof layers[0], OURS = 0, PLAIN, BLOCKED, N_WAYS };

static void *buffer(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 4095) / 4096 * 4096);
    if (p == NULL) exit(1);
    memset(p, 0, bytes);
    return p;
}

static float *numbers(int64_t n) {
    float *p = buffer((size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++) p[i] = (float)((int)(i * 7 % 31) - 15) / 16;
    return p;
}

/* One direction of one layer by oneDNN: reorders around a convolution. */
typedef struct peer {
    dnnl_primitive_t in, conv, out; /* in, out: NULL if the layout is already right */
    dnnl_memory_t src, src_own, weights, dst, dst_own;
} peer;

static void must(dnnl_status_t st) {
    if (st != dnnl_success) {
        printf("oneDNN: error %d\n", (int)st);
        exit(1);
    }
}

static dnnl_primitive_t reorder(dnnl_engine_t e, const dnnl_memory_desc_t *from,
                                const dnnl_memory_desc_t *to) {
    dnnl_primitive_desc_t d;
    dnnl_primitive_t p;
    must(dnnl_reorder_primitive_desc_create(&d, from, e, to, e, NULL));
    must(dnnl_primitive_create(&p, d));
    dnnl_primitive_desc_destroy(d);
    return p;
}

static void run2(dnnl_primitive_t p, dnnl_stream_t s, int a, dnnl_memory_t ma, int b, dnnl_memory_t mb) {
    dnnl_exec_arg_t args[] = {{a, ma}, {b, mb}};
    must(dnnl_primitive_execute(p, s, 2, args));
}

static peer peer_make(dnnl_engine_t e, dnnl_stream_t s, const layer *l, int64_t batch, bool back,
                      bool blocked, float *x, float *w, float *y) {
    const int64_t out = (l->size - 1) / l->stride + 1, pad = l->kernel / 2;
    const dnnl_dims_t dx = {batch, l->c, l->size, l->size}, dw = {l->m, l->c, l->kernel, l->kernel},
                      dy = {batch, l->m, out, out}, stride = {l->stride, l->stride}, p0 = {pad, pad};
    const dnnl_dims_t p1 = {(out - 1) * l->stride + l->kernel - l->size - pad,
                            (out - 1) * l->stride + l->kernel - l->size - pad};
    dnnl_memory_desc_t x_plain, w_plain, y_plain, x_any, w_any, y_any;
    must(dnnl_memory_desc_init_by_tag(&x_plain, 4, dx, dnnl_f32, dnnl_nchw));
    must(dnnl_memory_desc_init_by_tag(&w_plain, 4, dw, dnnl_f32, dnnl_oihw));
    must(dnnl_memory_desc_init_by_tag(&y_plain, 4, dy, dnnl_f32, dnnl_nchw));
    must(dnnl_memory_desc_init_by_tag(&x_any, 4, dx, dnnl_f32, blocked ? dnnl_format_tag_any : dnnl_nchw));
    must(dnnl_memory_desc_init_by_tag(&w_any, 4, dw, dnnl_f32, dnnl_format_tag_any));
    must(dnnl_memory_desc_init_by_tag(&y_any, 4, dy, dnnl_f32, blocked ? dnnl_format_tag_any : dnnl_nchw));
    dnnl_convolution_desc_t d, hint;
    dnnl_primitive_desc_t pd, pd_hint;
    must(dnnl_convolution_forward_desc_init(&hint, dnnl_forward_training, dnnl_convolution_direct, &x_any,
                                            &w_any, NULL, &y_any, stride, p0, p1));
    must(dnnl_primitive_desc_create(&pd_hint, &hint, NULL, e, NULL));
    if (back) {
        must(dnnl_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &x_any, &w_any, &y_any,
                                                      stride, p0, p1));
        must(dnnl_primitive_desc_create(&pd, &d, NULL, e, pd_hint));
    } else {
        pd = pd_hint;
    }
    const dnnl_memory_desc_t *mx = dnnl_primitive_desc_query_md(
                                 pd, back ? dnnl_query_diff_src_md : dnnl_query_src_md, 0),
                             *mw = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0),
                             *my = dnnl_primitive_desc_query_md(
                                 pd, back ? dnnl_query_diff_dst_md : dnnl_query_dst_md, 0);
    peer p = {0};
    dnnl_memory_t wm;
    must(dnnl_primitive_create(&p.conv, pd));
    must(dnnl_memory_create(&wm, &w_plain, e, w));
    must(dnnl_memory_create(&p.weights, mw, e, DNNL_MEMORY_ALLOCATE));
    run2(reorder(e, &w_plain, mw), s, DNNL_ARG_FROM, wm, DNNL_ARG_TO, p.weights);
    const dnnl_memory_desc_t *from = back ? my : mx, *to = back ? mx : my,
                             *from_plain = back ? &y_plain : &x_plain, *to_plain = back ? &x_plain : &y_plain;
    must(dnnl_memory_create(&p.src, from_plain, e, back ? y : x));
    must(dnnl_memory_create(&p.dst, to_plain, e, back ? x : y));
    p.src_own = p.src;
    p.dst_own = p.dst;
    if (!dnnl_memory_desc_equal(from, from_plain)) {
        must(dnnl_memory_create(&p.src_own, from, e, DNNL_MEMORY_ALLOCATE));
        p.in = reorder(e, from_plain, from);
    }
    if (!dnnl_memory_desc_equal(to, to_plain)) {
        must(dnnl_memory_create(&p.dst_own, to, e, DNNL_MEMORY_ALLOCATE));
        p.out = reorder(e, to, to_plain);
    }
    return p;
}

static void peer_run(const peer *p, dnnl_stream_t s, bool back) {
    if (p->in != NULL) run2(p->in, s, DNNL_ARG_FROM, p->src, DNNL_ARG_TO, p->src_own);
    dnnl_exec_arg_t args[] = {{back ? DNNL_ARG_DIFF_DST : DNNL_ARG_SRC, p->src_own},
                              {DNNL_ARG_WEIGHTS, p->weights},
                              {back ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DST, p->dst_own}};
    must(dnnl_primitive_execute(p->conv, s, 3, args));
    if (p->out != NULL) run2(p->out, s, DNNL_ARG_FROM, p->dst_own, DNNL_ARG_TO, p->dst);
}

typedef struct total {
    double flops, ns[N_WAYS], peak_ns; /* peak_ns: at the peak measured beside each layer */
} total;

static void measure(const layer *l, int64_t batch, int threads, int repeats, bool back, bool peers,
                    total *sum) {
    const int64_t out = (l->size - 1) / l->stride + 1, n_x = batch * l->c * l->size * l->size,
                  n_w = l->m * l->c * l->kernel * l->kernel, n_y = batch * l->m * out * out,
                  pad = l->kernel / 2;
    float *x = numbers(n_x), *w = numbers(n_w), *y = numbers(n_y);
    asc_attrs attrs = {.i = {0}};
    for (int d = 0; d < 2; d++) {
        attrs.i[ASC_WIN_STRIDE + d] = l->stride;
        attrs.i[ASC_WIN_DILATION + d] = 1;
        attrs.i[ASC_WIN_BEFORE + d] = attrs.i[ASC_WIN_AFTER + d] = pad;
        if (back) attrs.i[ASC_WIN_SIZE + d] = l->size;
    }
    attrs.i[ASC_WIN_GROUPS] = 1;
    const asc_shape sx = ASC_SHAPE(batch, l->c, l->size, l->size), sy = ASC_SHAPE(batch, l->m, out, out);
    asc_call c = {.op = back ? &asc_op_conv_grad_input : &asc_op_conv,
                  .attrs = &attrs,
                  .n_in = 2,
                  .in_dtype = {ASC_DTYPE_F32, ASC_DTYPE_F32},
                  .in_shape = {back ? sy : sx, ASC_SHAPE(l->m, l->c, l->kernel, l->kernel)},
                  .dtype = ASC_DTYPE_F32,
                  .shape = back ? sx : sy};
    const asc_kernel *k = asc_kernel_pick(&c, asc_cpu_best_isa());
    asc_kargs args = {.call = &c, .in = {back ? y : x, w}, .out = back ? x : y, .n_threads = threads};
    args.scratch = buffer(k->scratch(&c, threads));
    peer p[N_WAYS] = {{0}};
    dnnl_engine_t e;
    dnnl_stream_t s;
    must(dnnl_engine_create(&e, dnnl_cpu, 0));
    must(dnnl_stream_create(&s, e, dnnl_stream_default_flags));
    for (int way = PLAIN; way < N_WAYS && peers; way++)
        p[way] = peer_make(e, s, l, batch, back, way == BLOCKED, x, w, y);
    uint64_t best[N_WAYS] = {UINT64_MAX, UINT64_MAX, UINT64_MAX}, best_peak = UINT64_MAX;
    double peak_flops = 0;
    for (int r = 0; r < repeats; r++) {
        uint64_t start = clock_ns(threads), ns;
        peak_flops = peak_run(threads);
        if ((ns = clock_ns(threads) - start) < best_peak) best_peak = ns;
        for (int way = 0; way < (peers ? N_WAYS : 1); way++) {
            start = clock_ns(threads);
            if (way == OURS)
                k->run(&args);
            else
                peer_run(&p[way], s, back);
            if ((ns = clock_ns(threads) - start) < best[way]) best[way] = ns;
        }
    }
    const double flops = 2.0 * (double)n_y * (double)(l->c * l->kernel * l->kernel),
                 peak = peak_flops / (double)best_peak;
    static const char *const names[N_WAYS] = {"ours", "oneDNN plain", "oneDNN blocked"};
    printf("%-8s %-6s %3lld -> %3lld @%3lld  peak %6.1f |", back ? "backward" : "forward", l->name,
           (long long)l->c, (long long)l->m, (long long)l->size, peak);
    for (int way = 0; way < (peers ? N_WAYS : 1); way++)
        printf("  %s %6.1f (%.2f)", names[way], flops / (double)best[way], flops / (double)best[way] / peak);
    printf("\n");
    fflush(stdout);
    const double times = (double)l->times;
    sum->flops += times * flops;
    sum->peak_ns += times * flops / peak;
    for (int way = 0; way < N_WAYS; way++) sum->ns[way] += times * (double)best[way];
    free(x);
    free(w);
    free(y);
    free(args.scratch);
}

int main(int argc, char **argv) {
    const int64_t batch = argc > 1 ? atoi(argv[1]) : 16;
    const int threads = argc > 2 ? atoi(argv[2]) : asc_cpu_count(), repeats = argc > 3 ? atoi(argv[3]) : 5;
    const bool peers = argc <= 4;
    const int only = argc > 5 ? atoi(argv[5]) : -1;
    omp_set_num_threads(threads);
    for (int back = 0; back < 2; back++) {
        total sum = {0};
        for (int i = 0; i < N_LAYERS; i++)
            if (only < 0 || only == i) measure(&layers[i], batch, threads, repeats, back != 0, peers, &sum);
        printf("%s, the whole net: of the peak ours %.2f", back ? "backward" : "forward",
               sum.peak_ns / sum.ns[OURS]);
        if (peers)
            printf(", oneDNN plain %.2f, blocked %.2f", sum.peak_ns / sum.ns[PLAIN],
                   sum.peak_ns / sum.ns[BLOCKED]);
        printf(" (%.1f GFLOP)\n", sum.flops / 1e9);
    }
    return 0;
}
