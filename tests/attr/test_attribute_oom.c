/* test_attribute_oom.c - every allocation of an attribution on a net is made to fail, for each method: the
 * call says so, nothing leaks, and the context and the net are good for the next call. ASC_OOM_ALL=1 tries
 * each allocation, otherwise a spread of them. */
#include "harness.h"
#include "ascribe/attr.h"
#include "toy_nets.h"

enum { N_EXAMPLES = 2, WIDTH = 4, ROOM = N_EXAMPLES * WIDTH };

typedef struct scene {
    const char *method;
    const char *at; /* NULL = the inputs, or what the method needs */
    bool masks, versus, adaptive;
    const char *mode; /* NULL = deferred */
    bool positions;   /* on a net with sites that have positions, as Grad-CAM wants them */
} scene;

/* [B,1,4] -> [B,3], with positions at its site. */
static void positions_fn(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    float v[TOY_OUT * WIDTH];
    (void)self;
    for (int i = 0; i < TOY_OUT * WIDTH; i++) v[i] = toy_number((uint64_t)i);
    asc_tensor *x = asc_site(f, "hidden", asc_tanh(ctx, asc_relu(ctx, in[0])));
    x = asc_reshape(ctx, x, ASC_SHAPE(asc_tensor_shape(x).dims[0], WIDTH));
    out[0] = asc_matmul(ctx, x, asc_from_f32(ctx, ASC_SHAPE(TOY_OUT, WIDTH), v), false, true);
}

/* sum: weighted sum of all scores, to tell results apart. */
static asc_status attribute(asc_ctx *ctx, asc_net *net, const scene *s, double *sum) {
    static const int64_t window[] = {2}, target[] = {0, 2}, versus[] = {1, 0};
    static const float x[ROOM] = {0.5f, -1, 2, 0.25f, 1, 0.75f, -0.5f, 3}, x0[ROOM] = {0.25f, 1};
    static const int32_t groups[WIDTH] = {3, 3, -1, 9};
    static const double stdev = 0.1;
    const char *at = s->at != NULL ? s->at : "hidden";
    asc_attribution *r = NULL;
    asc_array in = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(N_EXAMPLES, WIDTH), .data = x};
    asc_array baseline = {.elem = ASC_ELEM_F32, .shape = ASC_SHAPE(N_EXAMPLES, WIDTH), .data = x0};
    if (s->positions) in.shape = baseline.shape = ASC_SHAPE(N_EXAMPLES, 1, WIDTH);
    asc_array mask = {.elem = ASC_ELEM_I32, .shape = ASC_SHAPE(WIDTH), .data = groups};
    bool needs_site = false;
    for (size_t i = 0; asc_method_at(i) != NULL; i++) {
        if (strcmp(asc_method_at(i)->name, s->method) == 0) needs_site = asc_method_traits_at(i).needs_site;
    }
    asc_attr_request q = {
        .struct_size = sizeof q,
        .method = s->method,
        .inputs = &in,
        .n_inputs = 1,
        .baselines = &baseline,
        .n_baselines = 1,
        .at = &at,
        .n_at = s->at != NULL || needs_site ? 1 : 0,
        .target = {.n_rows = N_EXAMPLES, .rank = 1, .index = target, .versus = s->versus ? versus : NULL},
        .neuron = {.value = "hidden", .n_rows = s->positions ? 0 : 1, .rank = 1},
        .base = "saliency",
        .rule = s->adaptive ? "adaptive" : NULL,
        .steps = s->adaptive ? 0 : 3,
        .max_evaluations = 40,
        .samples = 4,
        .stdevs = &stdev,
        .n_stdevs = 1,
        .window = window,
        .n_window = 1,
        .masks = s->masks ? &mask : NULL,
        .n_masks = s->masks ? 1 : 0,
        .seed = 3};
    if (!s->positions) q.neuron.index = target;
    asc_status st = asc_attribute(net, &q, &r);
    assert_true((r != NULL) == (st == ASC_OK));
    *sum = 0;
    for (size_t k = 0; r != NULL && k < r->n_scores; k++) {
        asc_array all = {.elem = ASC_ELEM_F64, .shape = r->scores[k].shape};
        for (int64_t i = 0; i < asc_array_count(&all); i++) *sum += (double)(i + 1) * r->scores[k].data[i];
    }
    asc_attribution_destroy(ctx, r);
    return st;
}

static asc_status whole(asc_ctx *ctx, const scene *s, double *sum) {
    asc_port port = {"x", ASC_ELEM_F32, {2, {-1, WIDTH}}, true};
    static const char *const names[] = {"y"};
    if (s->positions) port.shape = ASC_SHAPE(-1, 1, WIDTH);
    asc_net_def d = {.struct_size = sizeof d,
                     .inputs = &port,
                     .n_inputs = 1,
                     .outputs = names,
                     .n_outputs = 1,
                     .forward = s->positions ? positions_fn : toy_mlp};
    asc_net *net = NULL;
    asc_status st = asc_net_create(ctx, &d, &net);
    if (st == ASC_OK) st = attribute(ctx, net, s, sum);
    asc_net_close(net);
    return st;
}

/* One run with allocation `fail_at` failing; returns how many there were. want: the sum of a run without
 * failures (set by fail_at 0). Caches may do without their memory: then the result is the same. */
static long attempt(const scene *s, long fail_at, double *want) {
    test_alloc a = {.fail_at = fail_at};
    double sum = 0;
    asc_ctx_options o = {
        .struct_size = sizeof o, .alloc = test_alloc_fn, .alloc_self = &a, .n_threads = 1, .mode = s->mode};
    asc_ctx *ctx = NULL;
    asc_status st = asc_ctx_create(&o, &ctx);
    if (st == ASC_OK) {
        st = whole(ctx, s, &sum);
        if (fail_at == 0) *want = sum;
        if (st == ASC_OK && sum != *want)
            fail_msg("allocation %ld of %s: its failure changes the scores", fail_at, s->method);
        if (st != ASC_OK) {
            if (st != ASC_RESOURCE_EXHAUSTED || asc_error_code(ctx) != st ||
                strstr(asc_error_message(ctx), "out of memory") == NULL)
                fail_msg("allocation %ld of %s: %s, '%s'", fail_at, s->method, asc_status_name(st),
                         asc_error_message(ctx));
            long here = a.count; /* that one failure over, the same context serves again */
            assert_ok(ctx, whole(ctx, s, &sum));
            assert_true(sum == *want);
            a.count = here;
        }
        if (ctx->rt_destroy != NULL) ctx->rt_destroy(ctx);
        ctx->rt_destroy = NULL;
        if (ctx->mem.live_allocs != 0)
            fail_msg("allocation %ld of %s: %zu blocks leak", fail_at, s->method, ctx->mem.live_allocs);
    } else {
        assert_int_equal(st, ASC_RESOURCE_EXHAUSTED);
    }
    asc_ctx_destroy(ctx);
    if (a.live != 0) fail_msg("allocation %ld of %s: %ld blocks leak", fail_at, s->method, a.live);
    return a.count;
}

static void sweep(const scene *s) {
    bool all = getenv("ASC_OOM_ALL") != NULL;
    double want = 0;
    long n = attempt(s, 0, &want), step = all || n < 80 ? 1 : n / 80 + 1;
    assert_true(n > 20);
    for (long k = 1; k <= n; k += step) attempt(s, k, &want);
}

static void every_method(void **state) {
    (void)state;
    size_t n = 0;
    for (size_t i = 0; asc_method_at(i) != NULL; i++) {
        if (!asc_method_traits_at(i).nets) continue;
        const char *name = asc_method_at(i)->name;
        sweep(&(scene){.method = name, .positions = strstr(name, "grad-cam") != NULL});
        n++;
    }
    assert_true(n >= 22);
}

static void other_paths(void **state) {
    (void)state;
    static const scene scenes[] = {
        {.method = "feature-ablation", .masks = true, .mode = "eager"},
        {.method = "feature-ablation", .at = "hidden"},
        {.method = "shapley-value-sampling", .masks = true},
        {.method = "integrated-gradients", .adaptive = true, .versus = true},
        {.method = "integrated-gradients", .at = "hidden"},
        {.method = "noise-tunnel", .at = "hidden"},
        {.method = "deep-lift", .at = "hidden", .mode = "eager"},
        {.method = "integrated-gradients", .mode = "compiled", .versus = true},
        {.method = "conductance", .at = "hidden", .mode = "compiled"},
        {.method = "deep-lift", .mode = "compiled"},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) sweep(&scenes[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_method), cmocka_unit_test(other_paths)};
    return cmocka_run_group_tests_name("attribute_oom", tests, NULL, NULL);
}
