/* bench_attribution.c - attribution on small nets: the jobs that are compared with Captum.
 *
 * usage: bench_attribution [--threads N] [--mode MODE] [JOB ...]        (default: every job)
 * Columns: job, seconds per call (best of the runs), calls, peak resident memory of the process so far in MB.
 * The peer does the same work: scripts/peers/captum_jobs.py. For memory run one job per process.
 */
#include "ascribe/attribute.h"
#include "ascribe/ops.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(asc_ctx *ctx, asc_status st) {
    if (st == ASC_OK) return;
    fprintf(stderr, "bench_attribution: %s\n", asc_error_message(ctx));
    exit(1);
}

/* Peak resident memory. getrusage would count what the parent had before this program was started. */
static double peak_mb(void) {
    char line[256];
    double kb = 0.0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) kb = strtod(line + 6, NULL);
    }
    if (f != NULL) fclose(f);
    return kb / 1024.0;
}

static uint32_t state = 1;
static float draw(void) { /* in [-1, 1), the same numbers in every run */
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 8388608.0f - 1.0f;
}

static void add(asc_ctx *ctx, asc_params *p, const char *name, asc_shape shape, float scale) {
    asc_array a = {.elem = ASC_ELEM_F32, .shape = shape};
    int64_t n = asc_array_count(&a);
    float *data = malloc((size_t)n * sizeof *data);
    if (data == NULL) exit(1);
    for (int64_t i = 0; i < n; i++) data[i] = scale * draw();
    a.data = data;
    check(ctx, asc_params_add(p, name, &a));
    free(data);
}

static void linear(asc_ctx *ctx, asc_params *p, const char *name, int64_t in, int64_t out) {
    char text[64];
    snprintf(text, sizeof text, "%s.weight", name);
    add(ctx, p, text, ASC_SHAPE(out, in), 0.5f);
    snprintf(text, sizeof text, "%s.bias", name);
    add(ctx, p, text, ASC_SHAPE(out), 0.1f);
}

static void mlp(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    (void)self;
    asc_tensor *x = asc_nn_activation(f, "r1", asc_nn_linear(f, "l1", in[0]), ASC_ACT_RELU);
    x = asc_nn_activation(f, "r2", asc_nn_linear(f, "l2", x), ASC_ACT_RELU);
    out[0] = asc_nn_linear(f, "l3", x);
}

static asc_tensor *conv(asc_frame *f, const char *name, asc_tensor *x, int64_t stride, int64_t pad) {
    asc_conv_shape s = {.stride = {stride, stride}, .pad = {pad, pad}};
    return asc_nn_conv(f, name, x, &s);
}

/* ResNet-18 in structure, widths 8, 16, 24, 32. */
static void resnet(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    static const int64_t three[] = {3, 3}, two[] = {2, 2}, one[] = {1, 1};
    asc_ctx *ctx = asc_frame_ctx(f);
    (void)self;
    asc_tensor *x = asc_nn_activation(f, "stem.r", conv(f, "stem", in[0], 2, 3), ASC_ACT_RELU);
    x = asc_nn_max_pool(f, "pool", x, three, two, one);
    for (int s = 0; s < 4; s++) {
        for (int b = 0; b < 2; b++) {
            char a[32], c[32], d[32], r[32], r2[32];
            int64_t stride = s > 0 && b == 0 ? 2 : 1;
            snprintf(a, sizeof a, "s%d.b%d.c1", s, b);
            snprintf(c, sizeof c, "s%d.b%d.c2", s, b);
            snprintf(d, sizeof d, "s%d.b%d.down", s, b);
            snprintf(r, sizeof r, "s%d.b%d.r1", s, b);
            snprintf(r2, sizeof r2, "s%d.b%d.r2", s, b);
            asc_tensor *y = asc_nn_activation(f, r, conv(f, a, x, stride, 1), ASC_ACT_RELU);
            y = conv(f, c, y, 1, 1);
            x = stride == 2 ? conv(f, d, x, 2, 0) : x;
            x = asc_nn_activation(f, r2, asc_add(ctx, x, y), ASC_ACT_RELU);
        }
    }
    int axes[] = {2, 3};
    out[0] = asc_nn_linear(f, "fc", asc_mean(ctx, x, 2, axes, false));
}

static void convolution(asc_ctx *ctx, asc_params *p, const char *name, int64_t in, int64_t out, int64_t k) {
    char text[64];
    snprintf(text, sizeof text, "%s.weight", name);
    add(ctx, p, text, ASC_SHAPE(out, in, k, k), 1.5f / (float)(k * k * in));
    snprintf(text, sizeof text, "%s.bias", name);
    add(ctx, p, text, ASC_SHAPE(out), 0.1f);
}

static void resnet_weights(asc_ctx *ctx, asc_params *p) {
    static const int64_t width[] = {8, 16, 24, 32};
    convolution(ctx, p, "stem", 3, 8, 7);
    for (int s = 0; s < 4; s++) {
        for (int b = 0; b < 2; b++) {
            char name[32];
            int64_t in = b == 0 && s > 0 ? width[s - 1] : width[s];
            snprintf(name, sizeof name, "s%d.b%d.c1", s, b);
            convolution(ctx, p, name, in, width[s], 3);
            snprintf(name, sizeof name, "s%d.b%d.c2", s, b);
            convolution(ctx, p, name, width[s], width[s], 3);
            snprintf(name, sizeof name, "s%d.b%d.down", s, b);
            if (s > 0 && b == 0) convolution(ctx, p, name, in, width[s], 1);
        }
    }
    linear(ctx, p, "fc", 32, 10);
}

/* One convolution and a mean: what a picture's memory is compared on. */
static void small_conv(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    int axes[] = {2, 3};
    (void)self;
    asc_tensor *x = asc_nn_activation(f, "r", conv(f, "c", in[0], 2, 1), ASC_ACT_RELU);
    out[0] = asc_nn_linear(f, "fc", asc_mean(ctx, x, 2, axes, false));
}

typedef struct job {
    const char *name, *method;
    asc_net_fn net;
    asc_shape input; /* of one example */
    size_t steps, samples;
    int64_t window[3], stride[3];
    int patch;
} job;

static const job jobs[] = {
    {"ig-mlp", "integrated-gradients", mlp, {1, {10}}, .steps = 50},
    {"kernel-shap-mlp", "kernel-shap", mlp, {1, {10}}, .samples = 50},
    {"shapley-mlp", "shapley-value-sampling", mlp, {1, {100}}, .samples = 25},
    {"occlusion-resnet", "occlusion", resnet, {3, {3, 64, 64}}, .window = {3, 16, 16}, .stride = {3, 8, 8}},
    {"ablation-picture", "feature-ablation", small_conv, {3, {3, 224, 224}}, .patch = 8},
};

static asc_net *open_net(asc_ctx *ctx, const job *j, asc_params *p) {
    asc_port port = {.name = "x", .elem = ASC_ELEM_F32, .shape = {.rank = j->input.rank + 1}, .batch = true};
    const char *out = "y";
    asc_net *net;
    port.shape.dims[0] = -1;
    for (int d = 0; d < j->input.rank; d++) port.shape.dims[d + 1] = j->input.dims[d];
    if (j->net == mlp) {
        linear(ctx, p, "l1", j->input.dims[0], 10);
        linear(ctx, p, "l2", 10, 10);
        linear(ctx, p, "l3", 10, 3);
    } else if (j->net == resnet) {
        resnet_weights(ctx, p);
    } else {
        convolution(ctx, p, "c", 3, 8, 3);
        linear(ctx, p, "fc", 8, 10);
    }
    asc_net_def d = {.struct_size = sizeof d,
                     .inputs = &port,
                     .n_inputs = 1,
                     .outputs = &out,
                     .n_outputs = 1,
                     .forward = j->net,
                     .params = p};
    check(ctx, asc_net_create(ctx, &d, &net));
    return net;
}

static void run(asc_ctx *ctx, const job *j) {
    asc_params *p;
    check(ctx, asc_params_create(ctx, &p));
    asc_net *net = open_net(ctx, j, p);
    asc_array in = {.elem = ASC_ELEM_F32, .shape = {.rank = j->input.rank + 1}},
              mask = {.elem = ASC_ELEM_I32};
    in.shape.dims[0] = 1;
    for (int d = 0; d < j->input.rank; d++) in.shape.dims[d + 1] = j->input.dims[d];
    size_t n = (size_t)asc_array_count(&in);
    float *x = malloc(n * sizeof *x);
    int32_t *ids = malloc(n * sizeof *ids);
    if (x == NULL || ids == NULL) exit(1);
    for (size_t i = 0; i < n; i++) x[i] = draw();
    in.data = x;
    int64_t one = 1;
    asc_attr_request q = {.struct_size = sizeof q,
                          .method = j->method,
                          .inputs = &in,
                          .n_inputs = 1,
                          .target = {.n_rows = 1, .rank = 1, .index = &one},
                          .rule = j->steps > 0 ? "gauss-legendre" : NULL,
                          .steps = j->steps,
                          .samples = j->samples};
    if (j->window[0] > 0) {
        q.window = j->window;
        q.stride = j->stride;
        q.n_window = 3;
    }
    if (j->patch > 0) { /* the same patch of all channels is one feature */
        int64_t h = j->input.dims[1], w = j->input.dims[2];
        for (int64_t i = 0; i < h * w; i++)
            ids[i] = (int32_t)(i / w / j->patch * (w / j->patch) + i % w / j->patch);
        mask.shape = (asc_shape){.rank = 4, .dims = {1, 1, h, w}};
        mask.data = ids;
        q.masks = &mask;
        q.n_masks = 1;
    }
    double best = 1e30, begun = now();
    int calls = 0;
    while (calls < 3 || (now() - begun < 2.0 && calls < 2000)) {
        asc_attribution *r;
        double t = now();
        check(ctx, asc_attribute(net, &q, &r));
        t = now() - t;
        if (calls > 0 && t < best) best = t; /* the first call touches fresh memory */
        asc_attribution_destroy(ctx, r);
        calls++;
    }
    printf("%-18s %12.3e s  %5d calls  %6.1f MB\n", j->name, best, calls, peak_mb());
    free(x);
    free(ids);
    asc_net_close(net);
    asc_params_destroy(p);
}

int main(int argc, char **argv) {
    asc_ctx_options o = {.struct_size = sizeof o, .n_threads = 2};
    asc_ctx *ctx;
    int first = 1;
    for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2) {
        if (strcmp(argv[first], "--threads") == 0) o.n_threads = atoi(argv[first + 1]);
        if (strcmp(argv[first], "--mode") == 0) o.mode = argv[first + 1];
    }
    check(NULL, asc_ctx_create(&o, &ctx));
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        bool wanted = first >= argc;
        for (int k = first; k < argc; k++) wanted = wanted || strcmp(argv[k], jobs[i].name) == 0;
        if (wanted) run(ctx, &jobs[i]);
    }
    asc_ctx_destroy(ctx);
    return 0;
}
